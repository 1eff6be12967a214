//! Writes an assistant message as a chat completion, whole or as a stream of deltas.

use std::io;

use axum::Json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};

use super::decision::{Completion, ToolCall};
use super::script::FaultKind;

/// Answers with server-sent events.
pub(super) async fn stream(completion: Completion) -> Response {
    let fault = completion.fault.map(|fault| fault.kind);
    match fault {
        Some(FaultKind::Status(code)) => return refusal(code),
        Some(FaultKind::Stall) if completion.text.is_none() => std::future::pending().await,
        Some(FaultKind::Stall | FaultKind::Drop) | None => {}
    }
    let id = format!("chatcmpl-{:012x}", rand::random::<u32>());
    let pause = completion.pause;
    let frames = frames(&id, &completion, fault.is_some());
    let written = stream::iter(frames).then(move |frame| async move {
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(frame)
    });
    let ending = stream::iter(fault).then(end_badly);
    let content_type = [(header::CONTENT_TYPE, "text/event-stream")];
    (content_type, Body::from_stream(written.chain(ending))).into_response()
}

/// Answers with one JSON object.
pub(super) async fn whole(completion: Completion) -> Response {
    match completion.fault.map(|fault| fault.kind) {
        Some(FaultKind::Status(code)) => return refusal(code),
        Some(FaultKind::Stall) => std::future::pending().await,
        Some(FaultKind::Drop) => {
            return Body::from_stream(cut()).into_response();
        }
        None => {}
    }
    let calls: Vec<Value> = completion.calls.iter().map(tool_call).collect();
    let mut message = json!({"role": "assistant", "content": completion.text});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish(&completion)});
    Json(json!({
        "id": format!("chatcmpl-{:012x}", rand::random::<u32>()),
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [choice],
        "usage": usage(),
    }))
    .into_response()
}

/// Returns the frames of a message; one that is to end badly stops before its calls.
fn frames(id: &str, completion: &Completion, ends_badly: bool) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "stub",
            "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value| {
        chunk(
            json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            Value::Null,
        )
    };

    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    let words = completion
        .text
        .iter()
        .flat_map(|text| text.split_inclusive(' '));
    frames.extend(words.map(|word| delta(json!({"content": word}))));
    if ends_badly {
        return frames;
    }
    for (index, call) in completion.calls.iter().enumerate() {
        // The arguments come apart, as they do from real models.
        let middle = call.arguments.len() / 2;
        let middle = call.arguments.floor_char_boundary(middle);
        let (start, rest) = call.arguments.split_at(middle);
        let mut head = tool_call(call);
        head["index"] = json!(index);
        head["function"]["arguments"] = json!(start);
        let tail = json!({"index": index, "function": {"arguments": rest}});
        frames.push(delta(json!({"tool_calls": [head]})));
        frames.push(delta(json!({"tool_calls": [tail]})));
    }
    let end = json!([{"index": 0, "delta": {}, "finish_reason": finish(completion)}]);
    frames.push(chunk(end, Value::Null));
    frames.push(chunk(json!([]), usage()));
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

async fn end_badly(fault: FaultKind) -> io::Result<String> {
    match fault {
        FaultKind::Stall => std::future::pending().await,
        FaultKind::Drop | FaultKind::Status(_) => {
            // What was said is flushed while the body is pending; without this it would be lost in a buffer.
            tokio::task::yield_now().await;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
    }
}

/// A body that breaks off before its first byte.
fn cut() -> impl Stream<Item = io::Result<String>> {
    stream::iter([Err(io::ErrorKind::ConnectionAborted.into())])
}

fn refusal(code: u16) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let error =
        json!({"message": format!("stub error {code}"), "type": "stub_error", "code": code});
    (status, Json(json!({"error": error}))).into_response()
}

fn tool_call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
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
