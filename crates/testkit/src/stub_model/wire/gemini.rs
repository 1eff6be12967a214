//! Generated content: parts in, parts out. The results of tools are in contents of the user.

use serde_json::{Value, json};

use super::{Frames, fresh_id, unnamed, words};
use crate::stub_model::conversation::{Conversation, Input, Said, Tool, list, texts};
use crate::stub_model::decision::Completion;

pub(super) fn conversation(request: &Value) -> Conversation {
    let contents = list(&request["contents"]).iter();
    let by_user = contents.filter(|content| content["role"] != "model");
    let said = by_user.flat_map(|content| {
        let results: Vec<Said> = list(&content["parts"]).iter().filter_map(result).collect();
        if results.is_empty() {
            vec![Said::Prompt(texts(&content["parts"]))]
        } else {
            results
        }
    });
    let declarations = list(&request["tools"])
        .iter()
        .flat_map(|tool| list(&tool["functionDeclarations"]));
    let tools = declarations.filter_map(|function| {
        let schema = function
            .get("parametersJsonSchema")
            .unwrap_or(&function["parameters"]);
        Some(Tool {
            name: function["name"].as_str()?.to_owned(),
            input: Input::Schema(schema.clone()),
        })
    });
    // Who wants JSON asks on the side: which model is to take the turn, whose turn is next.
    let wants_json = request["generationConfig"]["responseMimeType"] == "application/json";
    let tools = if wants_json {
        Vec::new()
    } else {
        tools.collect()
    };
    Conversation::new(said, tools)
}

pub(super) fn frames(completion: &Completion) -> Frames {
    let id = fresh_id("");
    let chunk = |part: Value, finish: Value| unnamed(&response(&id, &[part], &finish));
    let words = words(completion.text.as_deref());
    let calls = completion_calls(completion).into_iter();
    let end = chunk(json!({"text": ""}), json!("STOP"));
    Frames {
        said: words
            .map(|word| chunk(json!({"text": word}), Value::Null))
            .collect(),
        rest: calls
            .map(|call| chunk(call, Value::Null))
            .chain([end])
            .collect(),
    }
}

pub(super) fn whole(completion: &Completion) -> Value {
    let text = completion.text.iter().map(|text| json!({"text": text}));
    let parts: Vec<Value> = text.chain(completion_calls(completion)).collect();
    response(&fresh_id(""), &parts, &json!("STOP"))
}

fn result(part: &Value) -> Option<Said> {
    let response = part.get("functionResponse")?.get("response")?;
    let output = response["output"].as_str().map(str::to_owned);
    Some(Said::Result(output.unwrap_or_else(|| response.to_string())))
}

fn completion_calls(completion: &Completion) -> Vec<Value> {
    let calls = completion.calls.iter().map(|call| {
        let arguments = call.arguments.to_json();
        json!({"functionCall": {"id": call.id, "name": call.name, "args": arguments}})
    });
    calls.collect()
}

fn response(id: &str, parts: &[Value], finish: &Value) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if !finish.is_null() {
        candidate["finishReason"] = finish.clone();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 20,
            "totalTokenCount": 120,
        },
        "modelVersion": "stub",
        "responseId": id,
    })
}
