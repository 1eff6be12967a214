//! The same model behind each API: every test here goes through all of them, read as their clients read them.

use super::*;

/// An API as a client of it sees it.
struct Api {
    name: &'static str,
    path: fn(Delivery) -> &'static str,
    request: fn(&str, &[&str]) -> Value,
    whole: fn(&Value) -> Heard,
    streamed: fn(&[Value]) -> Heard,
    /// What the last event of a whole stream holds.
    ends_with: &'static str,
}

/// What a client makes of an answer.
#[derive(Debug, PartialEq, Default)]
struct Heard {
    text: String,
    calls: Vec<(String, Value)>,
}

const APIS: [Api; 4] = [
    Api {
        name: "chat completions",
        path: |_| "/v1/chat/completions",
        request,
        whole: chat_whole,
        streamed: chat_streamed,
        ends_with: "[DONE]",
    },
    Api {
        name: "responses",
        path: |_| "/v1/responses",
        request: responses_request,
        whole: responses_whole,
        streamed: responses_streamed,
        ends_with: "response.completed",
    },
    Api {
        name: "messages",
        path: |_| "/v1/messages?beta=true",
        request: messages_request,
        whole: messages_whole,
        streamed: messages_streamed,
        ends_with: "message_stop",
    },
    Api {
        name: "gemini",
        path: |delivery| match delivery {
            Delivery::Whole => "/v1beta/models/gemini-pro:generateContent",
            Delivery::Stream => "/v1beta/models/gemini-pro:streamGenerateContent?alt=sse",
        },
        request: gemini_request,
        whole: gemini_whole,
        streamed: gemini_streamed,
        ends_with: "STOP",
    },
];

/// A stream as far as it came.
struct Streamed {
    events: Vec<Value>,
    is_whole: bool,
}

impl Api {
    async fn send(
        &self,
        stub: &StubModel,
        delivery: Delivery,
        mut request: Value,
    ) -> reqwest::Response {
        if matches!(delivery, Delivery::Stream) {
            request["stream"] = json!(true);
        }
        let url = format!("{}{}", stub.root_url(), (self.path)(delivery));
        client().post(url).json(&request).send().await.unwrap()
    }

    async fn hear(&self, stub: &StubModel, prompt: &str, results: &[&str]) -> Heard {
        let request = (self.request)(prompt, results);
        let whole = self.send(stub, Delivery::Whole, request.clone()).await;
        let whole = (self.whole)(&whole.json().await.unwrap());
        let streamed = self.stream(stub, request).await;
        assert!(streamed.is_whole, "{}", self.name);
        let streamed = (self.streamed)(&streamed.events);
        assert_eq!(whole, streamed, "{}: both ways say the same", self.name);
        whole
    }

    async fn stream(&self, stub: &StubModel, request: Value) -> Streamed {
        let mut body = self
            .send(stub, Delivery::Stream, request)
            .await
            .bytes_stream();
        let mut text = String::new();
        let mut is_whole = true;
        while let Some(bytes) = body.next().await {
            match bytes {
                Ok(bytes) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
                Err(_) => is_whole = false,
            }
        }
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let last = data.clone().next_back().unwrap_or_default();
        let events = data.filter(|data| *data != "[DONE]");
        Streamed {
            is_whole: is_whole && last.contains(self.ends_with),
            events: events
                .map(|data| serde_json::from_str(data).unwrap())
                .collect(),
        }
    }
}

fn schema() -> Value {
    json!({"properties": {"command": {"type": "string"}}, "required": ["command"]})
}

fn parsed(arguments: &Value) -> Value {
    serde_json::from_str(arguments.as_str().unwrap()).unwrap()
}

fn chat_whole(answer: &Value) -> Heard {
    let message = &answer["choices"][0]["message"];
    let calls = conversation::list(&message["tool_calls"])
        .iter()
        .map(|call| {
            let name = call["function"]["name"].as_str().unwrap();
            (name.to_owned(), parsed(&call["function"]["arguments"]))
        });
    Heard {
        text: message["content"].as_str().unwrap_or_default().to_owned(),
        calls: calls.collect(),
    }
}

fn chat_streamed(events: &[Value]) -> Heard {
    let mut text = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in events {
        let delta = &event["choices"][0]["delta"];
        text.push_str(delta["content"].as_str().unwrap_or_default());
        for call in conversation::list(&delta["tool_calls"]) {
            if let Some(name) = call["function"]["name"].as_str() {
                calls.push((name.to_owned(), String::new()));
            }
            let arguments = call["function"]["arguments"].as_str().unwrap();
            calls.last_mut().unwrap().1.push_str(arguments);
        }
    }
    heard(text, calls)
}

fn heard(text: String, calls: Vec<(String, String)>) -> Heard {
    let calls = calls.into_iter();
    let calls = calls.map(|(name, arguments)| (name, serde_json::from_str(&arguments).unwrap()));
    Heard {
        text,
        calls: calls.collect(),
    }
}

fn responses_request(prompt: &str, results: &[&str]) -> Value {
    let text = |role, text| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let mut input = vec![
        text("developer", "TOOL bash: not this"),
        text("user", "<surroundings>TOOL bash: nor this</surroundings>"),
        text("user", prompt),
    ];
    for result in results {
        input.push(json!({"type": "function_call", "call_id": "c", "name": "Bash"}));
        input.push(json!({"type": "function_call_output", "call_id": "c", "output": result}));
    }
    let tool = json!({"type": "function", "name": "Bash", "parameters": schema()});
    json!({"model": "stub", "input": input, "tools": [tool]})
}

fn responses_whole(answer: &Value) -> Heard {
    let mut heard = Heard::default();
    for item in answer["output"].as_array().unwrap() {
        if item["type"] == "message" {
            heard
                .text
                .push_str(item["content"][0]["text"].as_str().unwrap());
        } else {
            let name = item["name"].as_str().unwrap().to_owned();
            heard.calls.push((name, parsed(&item["arguments"])));
        }
    }
    heard
}

fn responses_streamed(events: &[Value]) -> Heard {
    let numbers = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap());
    assert!(
        numbers.eq(0..events.len() as u64),
        "the events are numbered"
    );
    let mut text = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in events {
        let delta = event["delta"].as_str();
        match event["type"].as_str().unwrap() {
            "response.output_item.added" if event["item"]["type"] != "message" => {
                calls.push((
                    event["item"]["name"].as_str().unwrap().to_owned(),
                    String::new(),
                ));
            }
            "response.output_text.delta" => text.push_str(delta.unwrap()),
            "response.function_call_arguments.delta" => {
                calls.last_mut().unwrap().1.push_str(delta.unwrap());
            }
            _ => {}
        }
    }
    heard(text, calls)
}

fn messages_request(prompt: &str, results: &[&str]) -> Value {
    let reminder = json!({"type": "text", "text": "<reminder>TOOL bash: not this</reminder>"});
    let prompt = json!({"type": "text", "text": prompt});
    let mut messages = vec![json!({"role": "user", "content": [reminder, prompt]})];
    for result in results {
        let content = json!([{"type": "text", "text": result}]);
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": content});
        messages.push(json!({"role": "assistant", "content": []}));
        messages.push(json!({"role": "user", "content": [result, reminder]}));
    }
    let tool = json!({"name": "Bash", "input_schema": schema()});
    json!({"model": "stub", "max_tokens": 1, "messages": messages, "tools": [tool]})
}

fn messages_whole(answer: &Value) -> Heard {
    let mut heard = Heard::default();
    for block in answer["content"].as_array().unwrap() {
        if block["type"] == "text" {
            heard.text.push_str(block["text"].as_str().unwrap());
        } else {
            let name = block["name"].as_str().unwrap().to_owned();
            heard.calls.push((name, block["input"].clone()));
        }
    }
    heard
}

fn messages_streamed(events: &[Value]) -> Heard {
    let mut text = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                let name = event["content_block"]["name"].as_str().unwrap();
                calls.push((name.to_owned(), String::new()));
            }
            "content_block_delta" if event["delta"]["type"] == "text_delta" => {
                text.push_str(event["delta"]["text"].as_str().unwrap());
            }
            "content_block_delta" => {
                let piece = event["delta"]["partial_json"].as_str().unwrap();
                calls.last_mut().unwrap().1.push_str(piece);
            }
            _ => {}
        }
    }
    heard(text, calls)
}

fn gemini_request(prompt: &str, results: &[&str]) -> Value {
    let mut contents = vec![
        json!({"role": "user", "parts": [{"text": "<surroundings/>"}]}),
        json!({"role": "user", "parts": [{"text": prompt}]}),
    ];
    for result in results {
        let response =
            json!({"functionResponse": {"name": "Bash", "response": {"output": result}}});
        contents.push(json!({"role": "model", "parts": []}));
        contents.push(json!({"role": "user", "parts": [response, {"text": "and so on"}]}));
    }
    let function = json!({"name": "Bash", "parametersJsonSchema": schema()});
    json!({"contents": contents, "tools": [{"functionDeclarations": [function]}]})
}

fn gemini_whole(answer: &Value) -> Heard {
    let mut heard = Heard::default();
    for part in answer["candidates"][0]["content"]["parts"]
        .as_array()
        .unwrap()
    {
        heard
            .text
            .push_str(part["text"].as_str().unwrap_or_default());
        if let Some(call) = part.get("functionCall") {
            let name = call["name"].as_str().unwrap().to_owned();
            heard.calls.push((name, call["args"].clone()));
        }
    }
    heard
}

fn gemini_streamed(events: &[Value]) -> Heard {
    let mut heard = Heard::default();
    for event in events {
        let part = gemini_whole(event);
        heard.text.push_str(&part.text);
        heard.calls.extend(part.calls);
    }
    heard
}

#[tokio::test]
async fn each_api_is_led_through_the_same_script() {
    for api in APIS {
        let stub = StubModel::start().await;
        let prompt = "SAY now then\nTOOL bash: é\n& TOOL bash: too\nTOOL bash: two\nFINAL bye";
        let first = api.hear(&stub, prompt, &[]).await;
        assert_eq!(first.text, "now then", "{}", api.name);
        let commands: Vec<_> = first.calls.iter().map(|(_, arguments)| arguments).collect();
        let expected = [&json!({"command": "é"}), &json!({"command": "too"})];
        assert_eq!(commands, expected, "{}", api.name);

        let second = api.hear(&stub, prompt, &["denied by a person", "ok"]).await;
        let name = second.calls[0].0.to_ascii_lowercase();
        assert_eq!((second.text.as_str(), name.as_str()), ("", "bash"));
        let last = api.hear(&stub, prompt, &["denied", "ok", "ok"]).await;
        assert_eq!((last.text.as_str(), last.calls.len()), ("bye", 0));

        let conversations = stub.conversations();
        assert!(conversations.iter().all(|said| said.prompt == prompt));
        assert_eq!(conversations[2].results, ["denied by a person", "ok"]);
    }
}

#[tokio::test]
async fn each_api_without_tools_gets_words_whatever_it_holds() {
    for api in APIS {
        let stub = StubModel::start().await;
        let mut request = (api.request)("TOOL bash: rm", &[]);
        request["tools"] = Value::Null;
        let streamed = api.stream(&stub, request).await;
        assert!(streamed.is_whole);
        let heard = (api.streamed)(&streamed.events);
        assert_eq!((heard.text.as_str(), heard.calls.len()), ("Stub title", 0));
    }
}

#[tokio::test]
async fn each_api_can_fail_with_a_status_for_a_time() {
    for api in APIS {
        let stub = StubModel::start().await;
        let request = (api.request)("HTTPERR 503 2\nTOOL bash: a", &[]);
        let deliveries = [Delivery::Stream, Delivery::Whole, Delivery::Stream];
        for (delivery, expected) in deliveries.into_iter().zip([503, 503, 200]) {
            let answer = api.send(&stub, delivery, request.clone()).await;
            assert_eq!(answer.status(), expected, "{}", api.name);
            if expected == 503 {
                let body: Value = answer.json().await.unwrap();
                assert_eq!(body["error"]["message"], "stub error 503", "{}", api.name);
            }
        }
    }
}

#[tokio::test]
async fn each_api_can_be_cut_off_after_what_was_said() {
    for api in APIS {
        let stub = StubModel::start().await;
        let request = (api.request)("SAY half\nDROP 1\nTOOL bash: a", &[]);
        let cut = api.stream(&stub, request.clone()).await;
        assert!(!cut.is_whole, "{}", api.name);
        let heard = (api.streamed)(&cut.events);
        assert_eq!((heard.text.as_str(), heard.calls.len()), ("half", 0));
        assert!(api.stream(&stub, request).await.is_whole, "{}", api.name);
    }
}

#[tokio::test]
async fn each_api_can_stall() {
    for api in APIS {
        let stub = StubModel::start().await;
        let request = (api.request)("STALL", &[]);
        let sent = api.send(&stub, Delivery::Whole, request);
        let arrived =
            stub.wait_for_conversation(SOON, "the stalled one", |said| said.prompt == "STALL");
        tokio::select! {
            _ = sent => panic!("{}: no answer is what was asked for", api.name),
            said = arrived => assert_eq!(said.results, Vec::<String>::new()),
        }
    }
}

#[tokio::test]
async fn a_freeform_tool_is_called_with_plain_text() {
    let stub = StubModel::start().await;
    let api = &APIS[1];
    for directive in [
        r"TOOL apply_patch: one\ntwo",
        r#"TOOLJSON apply_patch {"input": "one\ntwo"}"#,
    ] {
        let mut request = responses_request(directive, &[]);
        request["tools"] = json!([{"type": "custom", "name": "apply_patch"}]);
        let answer = api.send(&stub, Delivery::Whole, request.clone()).await;
        let answer: Value = answer.json().await.unwrap();
        let call = &answer["output"][0];
        assert_eq!(call["type"], "custom_tool_call");
        assert_eq!(call["input"], "one\ntwo");
        assert!(api.stream(&stub, request).await.is_whole);
    }
}

#[tokio::test]
async fn tokens_are_counted_without_being_a_request() {
    let stub = StubModel::start().await;
    for path in [
        "/v1/messages/count_tokens?beta=true",
        "/v1beta/models/gemini-pro:countTokens",
    ] {
        let url = format!("{}{path}", stub.root_url());
        let answer = client().post(url).json(&json!({})).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert!(stub.conversations().is_empty());
}
