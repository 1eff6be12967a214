//! The server's HTTP API as a client calls it, in plain JSON.

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::PATIENCE;
use crate::eventually;

/// One caller of the API. Copies of it are the same caller.
#[derive(Debug, Clone)]
pub struct Api {
    url: String,
    /// What to name the server, where that is not in `url`.
    host: Option<String>,
    token: Option<String>,
    http: reqwest::Client,
}

/// An answer of the API.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its status.
    pub status: StatusCode,
    /// Its body; `null` if it is empty or not JSON.
    pub body: Value,
}

impl Reply {
    /// Returns the body, and panics unless the status is one of success.
    #[track_caller]
    pub fn expect_success(self) -> Value {
        assert!(
            self.status.is_success(),
            "the server answers {}: {}",
            self.status,
            self.body
        );
        self.body
    }

    /// Returns the body, and panics unless the status is `status`.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }
}

impl Api {
    /// Calls the server at `url`, with a token or without.
    pub fn new(url: String, token: Option<String>) -> Self {
        Self {
            url,
            host: None,
            token,
            http: crate::http::client(),
        }
    }

    /// The same, through a proxy at `url` that leaves the `Host` header as it is.
    #[must_use]
    pub fn through(&self, url: String) -> Self {
        let host = self.url.trim_start_matches("http://").to_owned();
        Self {
            url,
            host: Some(host),
            ..self.clone()
        }
    }

    /// Returns the token.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Prepares a request; `path` begins with a slash.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(host) = &self.host {
            request = request.header("host", host);
        }
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Sends a request, and returns an error if no whole answer came back.
    pub async fn send(request: RequestBuilder) -> reqwest::Result<Reply> {
        let response = request.send().await?;
        let status = response.status();
        let bytes = response.bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(Reply { status, body })
    }

    /// Returns what the server answers to a GET, and panics when it refuses.
    pub async fn get(&self, path: &str) -> Value {
        let reply = Self::send(self.request(Method::GET, path)).await;
        reply.expect("the server answers").expect_success()
    }

    /// Returns what the server answers to a POST, whatever it is.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        let reply = Self::send(self.request(Method::POST, path).json(body)).await;
        reply.expect("the server answers")
    }

    /// Makes a token for an actor of this name, and returns its secret. Only an owner can.
    pub async fn new_token(&self, name: &str, role: &str) -> String {
        let wish = json!({"name": name, "role": role});
        let made = self.post("/api/v1/tokens", &wish).await.expect(201);
        let secret = made["secret"].as_str();
        secret.expect("a new token has a secret").to_owned()
    }

    /// Waits until the engine of every workspace is ready.
    pub async fn wait_for_engine(&self) {
        eventually(PATIENCE, "every engine is ready", async || {
            let workspaces = self.get("/api/v1/workspaces").await;
            let mut workspaces = workspaces["workspaces"].as_array()?.iter();
            let ready = workspaces.all(|workspace| workspace["engine"]["state"] == "ready");
            ready.then_some(())
        })
        .await;
    }

    /// Starts a session in the first workspace and returns its id.
    pub async fn start_session(&self) -> String {
        let session = self.post("/api/v1/sessions", &json!({})).await;
        id_of(&session.expect_success())
    }

    /// Starts a session with an engine in the first workspace and returns its id.
    pub async fn start_session_with(&self, engine: &str) -> String {
        let wish = json!({ "engine": engine });
        let session = self.post("/api/v1/sessions", &wish).await;
        id_of(&session.expect(201))
    }

    /// Returns what was said and done in a session.
    pub async fn items(&self, session: &str) -> Vec<Value> {
        let list = self.get(&format!("/api/v1/sessions/{session}/items")).await;
        list["items"].as_array().expect("a list of items").clone()
    }

    /// Says `text` in a session.
    pub async fn prompt(&self, session: &str, text: &str) {
        let path = format!("/api/v1/sessions/{session}/prompt");
        let reply = self.post(&path, &json!({"text": text})).await;
        reply.expect(202);
    }

    /// Starts a session, says `text` in it, and returns its id.
    pub async fn start_and_prompt(&self, text: &str) -> String {
        let session = self.start_session().await;
        self.prompt(&session, text).await;
        session
    }

    /// Returns one session.
    pub async fn session(&self, session: &str) -> Value {
        self.get(&format!("/api/v1/sessions/{session}")).await
    }

    /// Returns one ask.
    pub async fn ask(&self, ask: &str) -> Value {
        self.get(&format!("/api/v1/asks/{ask}")).await
    }

    /// Returns the open asks, newest first.
    pub async fn open_asks(&self) -> Vec<Value> {
        let list = self.get("/api/v1/asks?state=open").await;
        let asks = list["asks"].as_array();
        asks.expect("a list of asks").clone()
    }

    /// Waits until an ask is open for which `wanted` holds, and returns it.
    pub async fn wait_for_ask(&self, description: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        eventually(PATIENCE, description, async || {
            self.open_asks().await.into_iter().find(&wanted)
        })
        .await
    }

    /// Waits until the first ask of a session is open, and returns it.
    pub async fn wait_for_ask_of(&self, session: &str) -> Value {
        let description = format!("an ask of {session} is open");
        self.wait_for_ask(&description, |ask| ask["session"] == session)
            .await
    }

    /// Answers an ask and returns whatever the server says.
    pub async fn answer(&self, ask: &str, answer: &Value) -> Reply {
        let path = format!("/api/v1/asks/{ask}/answer");
        self.post(&path, answer).await
    }

    /// Waits until an ask is over for good, and returns it.
    pub async fn settled(&self, ask: &str) -> Value {
        let path = format!("/api/v1/asks/{ask}/settled?timeout_s=30");
        eventually(PATIENCE, "the ask is settled", async || {
            let ask = self.get(&path).await;
            let state = ask["state"].as_str()?;
            let over = !matches!(state, "open" | "answered");
            over.then_some(ask)
        })
        .await
    }

    /// Waits until the newest turn of a session is over, and returns how it ended.
    pub async fn turn_outcome(&self, session: &str) -> Value {
        eventually(PATIENCE, "the turn ends", async || {
            let session = self.session(session).await;
            let outcome = session["turn"]["outcome"].clone();
            (!outcome.is_null()).then_some(outcome)
        })
        .await
    }

    /// Returns the alarms.
    pub async fn alarms(&self) -> Vec<Value> {
        let alarms = self.get("/api/v1/alarms").await;
        alarms.as_array().expect("a list of alarms").clone()
    }
}

/// Returns the id of a session, an ask or whatever else has one.
pub(super) fn id_of(thing: &Value) -> String {
    thing["id"].as_str().expect("it has an id").to_owned()
}
