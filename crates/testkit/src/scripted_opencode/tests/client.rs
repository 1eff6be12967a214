//! A supervisor's side of the wire, for the tests.

use futures_util::StreamExt as _;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{HERE, PASSWORD, SOON};
use crate::ScriptedOpencode;

/// Talks to one stand-in, about one directory.
pub(super) struct Client {
    pub(super) url: String,
    pub(super) http: reqwest::Client,
}

impl Client {
    pub(super) fn of(opencode: &ScriptedOpencode) -> Self {
        Self {
            url: opencode.url(),
            http: crate::http::client(),
        }
    }

    pub(super) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.url);
        let request = self
            .http
            .request(method, url)
            .basic_auth("opencode", Some(PASSWORD));
        request.header("x-opencode-directory", HERE)
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        self.request(Method::GET, path)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let response = self
            .request(Method::POST, path)
            .json(body)
            .send()
            .await
            .unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    pub(super) async fn reply(&self, id: &str, body: &Value) -> (StatusCode, Value) {
        self.post(&format!("/permission/{id}/reply"), body).await
    }

    pub(super) async fn prompt(&self, session: &str, text: &str) {
        let body = json!({"messageID": format!("msg_{text}"), "parts": [{"id": "prt_1", "type": "text", "text": text}]});
        let path = format!("/session/{session}/prompt_async");
        assert_eq!(self.post(&path, &body).await.0, StatusCode::NO_CONTENT);
    }

    pub(super) async fn pending(&self) -> Vec<String> {
        let pending = self.get("/permission").await;
        let ids = pending.as_array().unwrap().iter();
        ids.map(|ask| ask["id"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) async fn last_message(&self, session: &str) -> Value {
        self.get(&format!("/session/{session}/message?limit=1"))
            .await[0]
            .clone()
    }

    pub(super) async fn listen(&self) -> Listener {
        let response = self
            .request(Method::GET, "/global/event")
            .send()
            .await
            .unwrap();
        let mut listener = Listener {
            body: Box::pin(response.bytes_stream()),
            text: String::new(),
        };
        assert_eq!(
            listener.next().await.unwrap()["payload"]["type"],
            "server.connected"
        );
        listener
    }
}

/// What `/global/event` says.
pub(super) struct Listener {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>>>>,
    text: String,
}

impl Listener {
    /// Returns the next frame, or nothing when the stream was cut.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let frame = serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap();
                self.text = rest.to_owned();
                return Some(frame);
            }
            let bytes = tokio::time::timeout(SOON, self.body.next())
                .await
                .unwrap()?
                .ok()?;
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Skips to the next event of this type, and returns it.
    pub(super) async fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await.expect("the stream is open");
            if frame["payload"]["type"] == kind {
                assert_eq!(frame["directory"], HERE);
                return frame["payload"]["properties"].clone();
            }
        }
    }
}
