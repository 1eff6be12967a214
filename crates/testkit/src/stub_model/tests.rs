use futures_util::StreamExt as _;

use super::*;
use crate::http::client;

mod apis;

const SOON: Duration = Duration::from_secs(10);

fn request(prompt: &str, results: &[&str]) -> Value {
    let schema = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
    let bash = json!({"type": "function", "function": {"name": "bash", "parameters": schema}});
    let mut messages = vec![
        json!({"role": "system", "content": "TOOL bash: not this"}),
        json!({"role": "user", "content": [{"type": "text", "text": prompt}]}),
    ];
    for result in results {
        messages.push(json!({"role": "assistant", "content": null}));
        messages.push(json!({"role": "tool", "content": result}));
    }
    json!({"model": "stub", "messages": messages, "tools": [bash]})
}

async fn send(stub: &StubModel, request: &Value) -> reqwest::Response {
    let url = format!("{}/chat/completions", stub.base_url());
    client().post(url).json(request).send().await.unwrap()
}

async fn message(stub: &StubModel, request: &Value) -> Value {
    let answer: Value = send(stub, request).await.json().await.unwrap();
    answer["choices"][0]["message"].clone()
}

/// Sends it as a stream and returns the deltas until it ended, and whether it ended well.
async fn deltas(stub: &StubModel, request: &Value) -> (Vec<Value>, bool) {
    let mut request = request.clone();
    request["stream"] = json!(true);
    let mut body = send(stub, &request).await.bytes_stream();
    let mut text = String::new();
    let mut intact = true;
    while let Some(bytes) = body.next().await {
        match bytes {
            Ok(bytes) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
            Err(_) => intact = false,
        }
    }
    let frames = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let deltas = frames
        .filter(|frame| *frame != "[DONE]")
        .map(|frame| serde_json::from_str::<Value>(frame).unwrap()["choices"][0]["delta"].clone());
    (
        deltas.collect(),
        intact && text.ends_with("data: [DONE]\n\n"),
    )
}

#[tokio::test]
async fn what_came_of_the_last_tool_is_said_again_if_that_is_wished() {
    let stub = StubModel::start().await;
    let prompt = "TOOL bash: one\nTOOL bash: two\nECHO";
    let call = message(&stub, &request(prompt, &["first"])).await;
    assert!(call["tool_calls"].is_array(), "{call}");
    let last = message(&stub, &request(prompt, &["first", "## a\n\nb"])).await;
    assert_eq!(last["content"], "## a\n\nb");
}

#[tokio::test]
async fn a_script_runs_step_by_step_and_a_denial_counts_as_a_step() {
    let stub = StubModel::start().await;
    let prompt = "please\nTOOL bash: one\nTOOL bash: two\nFINAL bye";
    for (results, command) in [(&[][..], "one"), (&["denied by a person"][..], "two")] {
        let message = message(&stub, &request(prompt, results)).await;
        let function = &message["tool_calls"][0]["function"];
        assert_eq!(function["name"], "bash");
        let arguments: Value =
            serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
        assert_eq!(arguments, json!({"command": command}));
    }
    let end = message(&stub, &request(prompt, &["denied", "ok"])).await;
    assert_eq!(end, json!({"role": "assistant", "content": "bye"}));
}

#[tokio::test]
async fn parallel_calls_are_in_one_streamed_message_after_what_is_said() {
    let stub = StubModel::start().await;
    let request = request(
        "SAY now then\nTOOL bash: é\n& TOOLJSON other {\"a\":1}",
        &[],
    );
    let (deltas, intact) = deltas(&stub, &request).await;
    assert!(intact);
    let said: String = deltas
        .iter()
        .filter_map(|delta| delta["content"].as_str())
        .collect();
    assert_eq!(said, "now then");
    let mut arguments = [String::new(), String::new()];
    for call in deltas
        .iter()
        .filter_map(|delta| delta["tool_calls"][0].as_object())
    {
        let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
        arguments[index].push_str(call["function"]["arguments"].as_str().unwrap());
    }
    assert_eq!(arguments, [r#"{"command":"é"}"#, r#"{"a":1}"#]);
}

#[tokio::test]
async fn a_request_without_tools_gets_words_whatever_it_holds() {
    let stub = StubModel::start().await;
    let mut request = request("TOOL bash: rm", &[]);
    request["tools"] = Value::Null;
    let message = message(&stub, &request).await;
    assert_eq!(message["content"], "Stub title");
}

#[tokio::test]
async fn a_counted_fault_passes() {
    let stub = StubModel::start().await;
    let request = request("HTTPERR 503 2\nTOOL bash: a", &[]);
    for expected in [503, 503, 200, 200] {
        assert_eq!(send(&stub, &request).await.status(), expected);
    }
}

#[tokio::test]
async fn a_dropped_stream_breaks_off_after_what_was_said() {
    let stub = StubModel::start().await;
    let request = request("SAY half\nDROP 1\nTOOL bash: a", &[]);
    let (first, intact) = deltas(&stub, &request).await;
    assert!(!intact);
    assert_eq!(first.last().unwrap()["content"], "half");
    let (_, intact) = deltas(&stub, &request).await;
    assert!(intact);
}

#[tokio::test]
async fn a_stalled_request_is_recorded_and_never_answered() {
    let stub = StubModel::start().await;
    let request = request("STALL", &[]);
    let stalled = tokio::time::timeout(Duration::from_millis(300), send(&stub, &request));
    let waited = stub.wait_for_request(SOON, "the stalled one", |request| {
        last_user_text(request) == "STALL"
    });
    let (answer, recorded) = tokio::join!(stalled, waited);
    assert!(answer.is_err(), "no answer is what was asked for");
    assert_eq!(recorded, request);
    assert_eq!(stub.requests().len(), 1);
}
