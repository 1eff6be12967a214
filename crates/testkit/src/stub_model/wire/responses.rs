//! Responses: a list of items in, a list of items out.

use serde_json::{Value, json};

use super::{Frames, fresh_id, halves, named, words};
use crate::stub_model::conversation::{Conversation, Input, Said, Tool, list, texts};
use crate::stub_model::decision::{Arguments, Completion, ToolCall};

pub(super) fn conversation(request: &Value) -> Conversation {
    let input = &request["input"];
    let alone = input
        .as_str()
        .map(|text| Said::Prompt(vec![text.to_owned()]));
    let items =
        list(input)
            .iter()
            .filter_map(|item| match item["type"].as_str().unwrap_or("message") {
                "message" if item["role"] == "user" => Some(Said::Prompt(texts(&item["content"]))),
                "function_call_output" | "custom_tool_call_output" => {
                    Some(Said::Result(texts(&item["output"]).join("\n")))
                }
                _ => None,
            });
    let tools = list(&request["tools"]).iter().filter_map(|tool| {
        let input = match tool["type"].as_str()? {
            "custom" => Input::Freeform,
            _ => Input::Schema(tool["parameters"].clone()),
        };
        let name = tool["name"].as_str()?.to_owned();
        Some(Tool { name, input })
    });
    Conversation::new(alone.into_iter().chain(items), tools.collect())
}

pub(super) fn frames(completion: &Completion) -> Frames {
    let mut events = Events::default();
    let mut frames = Frames::default();
    let output = output(completion);
    let response = response();

    frames
        .said
        .push(events.next(json!({"type": "response.created", "response": response})));
    for (index, item) in output.iter().enumerate() {
        let (before, after) = match completion.text.as_deref() {
            Some(text) if index == 0 => events.message(item, text),
            Some(_) | None => (Vec::new(), events.call(index, item)),
        };
        frames.said.extend(before);
        frames.rest.extend(after);
        let done =
            json!({"type": "response.output_item.done", "output_index": index, "item": item});
        frames.rest.push(events.next(done));
    }
    let completed =
        json!({"type": "response.completed", "response": completed(&response, &output)});
    frames.rest.push(events.next(completed));
    frames
}

pub(super) fn whole(completion: &Completion) -> Value {
    completed(&response(), &output(completion))
}

/// Numbers the events of one stream.
#[derive(Default)]
struct Events {
    sent: u32,
}

impl Events {
    fn next(&mut self, mut event: Value) -> String {
        event["sequence_number"] = json!(self.sent);
        self.sent += 1;
        named(&event)
    }

    /// Writes the first item of a stream, a text: up to its last word, and what comes after it.
    fn message(&mut self, item: &Value, text: &str) -> (Vec<String>, Vec<String>) {
        let event = |kind: &str| json!({"type": kind, "item_id": item["id"], "output_index": 0, "content_index": 0});
        let mut opening = item.clone();
        opening["status"] = json!("in_progress");
        opening["content"] = json!([]);
        let added =
            json!({"type": "response.output_item.added", "output_index": 0, "item": opening});
        let mut part = event("response.content_part.added");
        part["part"] = output_text("");
        let mut before = vec![self.next(added), self.next(part)];
        before.extend(words(Some(text)).map(|word| {
            let mut delta = event("response.output_text.delta");
            delta["delta"] = json!(word);
            self.next(delta)
        }));
        let mut done = event("response.output_text.done");
        done["text"] = json!(text);
        let mut part = event("response.content_part.done");
        part["part"] = output_text(text);
        (before, vec![self.next(done), self.next(part)])
    }

    fn call(&mut self, index: usize, item: &Value) -> Vec<String> {
        let (kind, field) = match item["type"].as_str() {
            Some("custom_tool_call") => ("custom_tool_call_input", "input"),
            _ => ("function_call_arguments", "arguments"),
        };
        let arguments = item[field].as_str().unwrap_or_default();
        let mut opening = item.clone();
        opening["status"] = json!("in_progress");
        opening[field] = json!("");
        let added =
            json!({"type": "response.output_item.added", "output_index": index, "item": opening});
        let mut frames = vec![self.next(added)];
        let event = |step: &str| {
            let kind = format!("response.{kind}.{step}");
            json!({"type": kind, "item_id": item["id"], "output_index": index})
        };
        frames.extend(halves(arguments).map(|half| {
            let mut delta = event("delta");
            delta["delta"] = json!(half);
            self.next(delta)
        }));
        let mut done = event("done");
        done[field] = json!(arguments);
        frames.push(self.next(done));
        frames
    }
}

/// Returns the items of an answer, the text first.
fn output(completion: &Completion) -> Vec<Value> {
    let message = completion.text.as_deref().map(|text| {
        json!({
            "type": "message",
            "id": fresh_id("msg_"),
            "role": "assistant",
            "status": "completed",
            "content": [output_text(text)],
        })
    });
    let calls = completion.calls.iter().map(call);
    message.into_iter().chain(calls).collect()
}

fn call(call: &ToolCall) -> Value {
    let mut item = json!({"call_id": call.id, "name": call.name, "status": "completed"});
    match &call.arguments {
        Arguments::Json(arguments) => {
            item["type"] = json!("function_call");
            item["id"] = json!(fresh_id("fc_"));
            item["arguments"] = json!(arguments);
        }
        Arguments::Text(text) => {
            item["type"] = json!("custom_tool_call");
            item["id"] = json!(fresh_id("ctc_"));
            item["input"] = json!(text);
        }
    }
    item
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn response() -> Value {
    json!({
        "id": fresh_id("resp_"),
        "object": "response",
        "created_at": 0,
        "model": "stub",
        "status": "in_progress",
        "output": [],
        "error": null,
        "incomplete_details": null,
    })
}

fn completed(response: &Value, output: &[Value]) -> Value {
    let mut response = response.clone();
    response["status"] = json!("completed");
    response["output"] = json!(output);
    response["usage"] = json!({
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 120,
    });
    response
}
