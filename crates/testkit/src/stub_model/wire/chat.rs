//! Chat completions.

use serde_json::{Value, json};

use super::{Frames, fresh_id, halves, unnamed, words};
use crate::stub_model::conversation::{Conversation, Input, Said, Tool, list, texts};
use crate::stub_model::decision::{Completion, ToolCall};

pub(super) fn conversation(request: &Value) -> Conversation {
    let said = list(&request["messages"]).iter().filter_map(|message| {
        let texts = texts(&message["content"]);
        match message["role"].as_str()? {
            "user" => Some(Said::Prompt(texts)),
            "tool" => Some(Said::Result(texts.join("\n"))),
            _ => None,
        }
    });
    let tools = list(&request["tools"]).iter().filter_map(|tool| {
        let function = &tool["function"];
        Some(Tool {
            name: function["name"].as_str()?.to_owned(),
            input: Input::Schema(function["parameters"].clone()),
        })
    });
    Conversation::new(said, tools.collect())
}

pub(super) fn frames(completion: &Completion) -> Frames {
    let id = fresh_id("chatcmpl-");
    let chunk = |choices: Value, usage: Value| {
        unnamed(&json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "stub",
            "choices": choices,
            "usage": usage,
        }))
    };
    let delta = |delta: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        chunk(json!([choice]), Value::Null)
    };

    let mut frames = Frames::default();
    let opening = json!({"role": "assistant", "content": ""});
    frames.said.push(delta(opening));
    let words = words(completion.text.as_deref());
    let words = words.map(|word| delta(json!({"content": word})));
    frames.said.extend(words);
    for (index, call) in completion.calls.iter().enumerate() {
        let [start, rest] = halves(call.arguments.text());
        let mut head = tool_call(call);
        head["index"] = json!(index);
        head["function"]["arguments"] = json!(start);
        let tail = json!({"index": index, "function": {"arguments": rest}});
        frames.rest.push(delta(json!({"tool_calls": [head]})));
        frames.rest.push(delta(json!({"tool_calls": [tail]})));
    }
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish(completion)}]);
    frames.rest.push(chunk(end, Value::Null));
    frames.rest.push(chunk(json!([]), usage()));
    frames.rest.push("data: [DONE]\n\n".to_owned());
    frames
}

pub(super) fn whole(completion: &Completion) -> Value {
    let calls: Vec<Value> = completion.calls.iter().map(tool_call).collect();
    let mut message = json!({"role": "assistant", "content": completion.text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish(completion)});
    json!({
        "id": fresh_id("chatcmpl-"),
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [choice],
        "usage": usage(),
    })
}

fn tool_call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments.text()});
    json!({"id": call.id, "type": "function", "function": function})
}

fn finish(completion: &Completion) -> &'static str {
    if completion.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    }
}

fn usage() -> Value {
    json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120})
}
