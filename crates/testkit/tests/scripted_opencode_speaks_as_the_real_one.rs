//! The stand-in is only worth something while it speaks as the real program does: both go through the same turn, and
//! what they said is compared by shape.

#![expect(clippy::unwrap_used, reason = "a failure anywhere here fails the test")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use countersign_testkit::{RealOpencode, ScriptedOpencode, StubModel, eventually};
use futures_util::StreamExt as _;
use reqwest::{Client, Method};
use serde_json::{Value, json};

const TURN: Duration = Duration::from_mins(1);

/// What was said in one turn: a name for the place, and what stood there.
type Said = Vec<(&'static str, Value)>;

/// Either of the two, over HTTP.
struct Opencode<'a> {
    url: String,
    password: &'a str,
    directory: &'a Path,
    http: Client,
}

impl Opencode<'_> {
    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.http.request(method, format!("{}{path}", self.url));
        let request = request.basic_auth("opencode", Some(self.password));
        let request = request.header("x-opencode-directory", self.directory.to_str().unwrap());
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, None).await.1
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, Some(body)).await
    }

    async fn prompt(&self, session: &str, text: &str) -> String {
        let message_id = format!("msg_{:016x}", rand::random::<u64>());
        let parts = json!([{"id": format!("prt_{message_id}"), "type": "text", "text": text}]);
        let body = json!({"messageID": message_id, "parts": parts});
        let sent = self
            .post(&format!("/session/{session}/prompt_async"), body)
            .await;
        assert_eq!(sent, (204, Value::Null));
        message_id
    }

    async fn wait_for_ask(&self) -> Value {
        eventually(TURN, "something is asked", async || {
            let pending = self.get("/permission").await;
            pending.as_array()?.first().cloned()
        })
        .await
    }

    async fn wait_for_end(&self, session: &str, prompt: &str) -> Value {
        eventually(TURN, "the turn ends", async || {
            let last = self
                .get(&format!("/session/{session}/message?limit=1"))
                .await[0]
                .clone();
            let is_idle = self.get("/session/status").await.get(session).is_none();
            let is_answer = last["info"]["parentID"] == prompt;
            let is_over = !last["info"]["time"]["completed"].is_null();
            (is_idle && is_answer && is_over).then_some(last)
        })
        .await
    }

    /// Goes through an allowed command, a denied one and an aborted one.
    async fn go_through(&self, one_command: &str) -> (Said, Vec<Value>) {
        let url = format!("{}/global/event", self.url);
        let events = self
            .http
            .get(url)
            .basic_auth("opencode", Some(self.password));
        let mut events = events.send().await.unwrap().bytes_stream();
        let mut said: Said = vec![("health", self.get("/global/health").await)];

        let (_, session) = self.post("/session", json!({"title": "turns"})).await;
        let id = session["id"].as_str().unwrap().to_owned();
        said.push(("session", session));
        said.push(("no such session", self.get("/session/ses_none").await));

        for reply in ["once", "reject"] {
            let prompt = self.prompt(&id, one_command).await;
            let ask = self.wait_for_ask().await;
            let path = format!("/permission/{}/reply", ask["id"].as_str().unwrap());
            said.push(("permission", ask));
            said.push(("status", self.get("/session/status").await[&id].clone()));
            let bogus = self.post(&path, json!({"reply": "bogus"})).await;
            said.push(("a bogus reply", json!([bogus.0, bogus.1])));
            assert_eq!(
                self.post(&path, json!({"reply": reply})).await,
                (200, json!(true))
            );
            said.push(("the end of the turn", self.wait_for_end(&id, &prompt).await));
            let again = self.post(&path, json!({"reply": reply})).await;
            said.push(("a second reply", json!([again.0, again.1])));
        }

        let prompt = self.prompt(&id, one_command).await;
        let ask = self.wait_for_ask().await;
        let aborted = self.post(&format!("/session/{id}/abort"), json!({})).await;
        assert_eq!(aborted, (200, json!(true)));
        said.push(("an aborted turn", self.wait_for_end(&id, &prompt).await));
        assert_eq!(self.get("/permission").await, json!([ask]), "a zombie");
        let path = format!("/permission/{}/reply", ask["id"].as_str().unwrap());
        assert_eq!(
            self.post(&path, json!({"reply": "reject"})).await,
            (200, json!(true))
        );

        let mut text = String::new();
        let zombie_replied = |text: &str| {
            let frames = text
                .lines()
                .filter(|line| line.contains("permission.replied"));
            frames.count() == 3
        };
        while !zombie_replied(&text) {
            let bytes = tokio::time::timeout(TURN, events.next()).await.unwrap();
            text.push_str(std::str::from_utf8(&bytes.unwrap().unwrap()).unwrap());
        }
        let frames = text.lines().filter_map(|line| line.strip_prefix("data: "));
        (
            said,
            frames
                .map(|frame| serde_json::from_str(frame).unwrap())
                .collect(),
        )
    }
}

/// Returns every path in a value, with the scalars' types: what a reader could rely on.
fn shape(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                shape(value, &format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                shape(item, &format!("{path}[]"), found);
            }
        }
        Value::Null => {}
        Value::Bool(_) => drop(found.insert(format!("{path}: bool"))),
        Value::Number(_) => drop(found.insert(format!("{path}: number"))),
        Value::String(_) => drop(found.insert(format!("{path}: string"))),
    }
}

/// Returns the shape of all events of a type.
fn event_shape(frames: &[Value], kind: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for frame in frames
        .iter()
        .filter(|frame| frame["payload"]["type"] == kind)
    {
        shape(frame, kind, &mut found);
    }
    found
}

/// Returns the order of the events that a supervisor goes by, repetitions left out.
fn order(frames: &[Value]) -> Vec<String> {
    let kinds = [
        "session.created",
        "permission.asked",
        "permission.replied",
        "session.idle",
        "session.error",
    ];
    let mut order: Vec<String> = frames
        .iter()
        .filter_map(|frame| frame["payload"]["type"].as_str())
        .filter(|kind| kinds.contains(kind))
        .map(str::to_owned)
        .collect();
    order.dedup();
    order
}

#[tokio::test]
async fn both_say_the_same_things_in_the_same_order() {
    let directory = tempfile::tempdir().unwrap();
    let model = StubModel::start().await;
    let real = RealOpencode::start(directory.path(), &model).await;
    let scripted = ScriptedOpencode::start(directory.path(), "s3cret");
    let http = countersign_testkit::http::client();

    let (url, password) = (real.url(), real.password());
    let real = Opencode {
        url,
        password,
        directory: directory.path(),
        http: http.clone(),
    };
    let (said, frames) = real.go_through("TOOL bash: echo hi").await;
    let (url, password) = (scripted.url(), "s3cret");
    let scripted = Opencode {
        url,
        password,
        directory: directory.path(),
        http,
    };
    let (scripted_said, scripted_frames) = scripted.go_through("ASK 1").await;

    for ((place, real), (_, scripted)) in said.iter().zip(&scripted_said) {
        let mut shapes = [BTreeSet::new(), BTreeSet::new()];
        shape(real, place, &mut shapes[0]);
        shape(scripted, place, &mut shapes[1]);
        let invented: Vec<_> = shapes[1].difference(&shapes[0]).collect();
        assert!(
            invented.is_empty(),
            "the real one does not say: {invented:?}"
        );
        let missing: Vec<_> = shapes[0].difference(&shapes[1]).collect();
        assert!(
            missing.is_empty(),
            "the scripted one does not say: {missing:?}"
        );
    }
    for kind in [
        "server.connected",
        "session.created",
        "permission.asked",
        "permission.replied",
        "session.status",
        "session.idle",
        "session.error",
        "message.part.delta",
    ] {
        assert_eq!(
            event_shape(&scripted_frames, kind),
            event_shape(&frames, kind)
        );
    }
    assert_eq!(order(&scripted_frames), order(&frames));
}
