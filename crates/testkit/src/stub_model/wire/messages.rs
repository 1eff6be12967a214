//! Messages: content blocks in, content blocks out. The results of tools are in messages of the user.

use serde_json::{Value, json};

use super::{Frames, fresh_id, halves, named, words};
use crate::stub_model::conversation::{Conversation, Input, Said, Tool, list, texts};
use crate::stub_model::decision::{Completion, ToolCall};

pub(super) fn conversation(request: &Value) -> Conversation {
    let messages = list(&request["messages"]).iter();
    let by_user = messages.filter(|message| message["role"] == "user");
    let said = by_user.flat_map(|message| {
        let blocks = list(&message["content"]).iter();
        let results = blocks
            .filter(|block| block["type"] == "tool_result")
            .map(|block| Said::Result(texts(&block["content"]).join("\n")));
        let prompt = Said::Prompt(texts(&message["content"]));
        results.chain([prompt])
    });
    let tools = list(&request["tools"]).iter().filter_map(|tool| {
        Some(Tool {
            name: tool["name"].as_str()?.to_owned(),
            input: Input::Schema(tool["input_schema"].clone()),
        })
    });
    Conversation::new(said, tools.collect())
}

pub(super) fn frames(completion: &Completion) -> Frames {
    let mut frames = Frames::default();
    let start = json!({"type": "message_start", "message": message(&[], &Value::Null)});
    frames.said.push(named(&start));
    let delta = |index: usize, delta: Value| {
        named(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let stop = |index: usize| named(&json!({"type": "content_block_stop", "index": index}));
    let opening = |index: usize, block: &Value| {
        named(&json!({"type": "content_block_start", "index": index, "content_block": block}))
    };

    let mut index = 0;
    if let Some(text) = completion.text.as_deref() {
        frames.said.push(opening(index, &text_block("")));
        let words = words(Some(text));
        let words = words.map(|word| delta(index, json!({"type": "text_delta", "text": word})));
        frames.said.extend(words);
        frames.rest.push(stop(index));
        index += 1;
    }
    for call in &completion.calls {
        frames
            .rest
            .push(opening(index, &tool_use(call, &json!({}))));
        let input = halves(call.arguments.text()).map(|half| {
            delta(
                index,
                json!({"type": "input_json_delta", "partial_json": half}),
            )
        });
        frames.rest.extend(input);
        frames.rest.push(stop(index));
        index += 1;
    }
    let end = json!({"stop_reason": stop_reason(completion), "stop_sequence": null});
    let end = json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}});
    frames.rest.push(named(&end));
    frames.rest.push(named(&json!({"type": "message_stop"})));
    frames
}

pub(super) fn whole(completion: &Completion) -> Value {
    let text = completion.text.as_deref().map(text_block);
    let calls = completion.calls.iter();
    let calls = calls.map(|call| tool_use(call, &call.arguments.to_json()));
    let blocks: Vec<Value> = text.into_iter().chain(calls).collect();
    message(&blocks, &json!(stop_reason(completion)))
}

fn message(blocks: &[Value], stop_reason: &Value) -> Value {
    json!({
        "id": fresh_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": "stub",
        "content": blocks,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    })
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool_use(call: &ToolCall, input: &Value) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn stop_reason(completion: &Completion) -> &'static str {
    if completion.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    }
}
