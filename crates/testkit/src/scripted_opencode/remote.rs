//! Reaches the switches of a `scripted-opencode` that somebody else has started.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::control::{AskBody, EventBody, ForeignReplyBody, ForgetBody, QuestionBody, SessionBody};
use super::{Faults, Happening, ReceivedReply, Trace};

/// The switches of a separate program.
#[derive(Debug, Clone)]
pub struct RemoteControl {
    url: String,
    http: reqwest::Client,
}

impl RemoteControl {
    /// Reaches the program that listens on this loopback port.
    pub fn at(port: u16) -> Self {
        Self {
            url: format!("http://127.0.0.1:{port}"),
            http: crate::http::client(),
        }
    }

    /// Finds the program that runs in `directory`, by its command line. It may not be listening yet.
    pub fn find(directory: &Path) -> Option<Self> {
        let directory = directory.canonicalize().ok()?;
        let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
        let port = processes
            .map(|process| process.path())
            .find_map(|process| {
                let is_here = fs::read_link(process.join("cwd")).ok()? == directory;
                let arguments = fs::read(process.join("cmdline")).ok()?;
                let arguments = String::from_utf8(arguments).ok()?;
                let mut arguments = arguments.split('\0');
                let is_scripted = arguments.next()?.ends_with("scripted-opencode");
                arguments.find(|argument| *argument == "--port")?;
                let port = arguments.next()?.parse().ok()?;
                (is_here && is_scripted).then_some(port)
            })?;
        Some(Self::at(port))
    }

    /// Returns its address as a URL without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens an ask for a permission, in the newest session unless one is named, and returns its id.
    pub async fn open_ask(
        &self,
        session: Option<&str>,
        permission: &str,
        patterns: &[&str],
        metadata: Value,
    ) -> String {
        let body = AskBody {
            session: session.map(str::to_owned),
            permission: permission.to_owned(),
            patterns: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
            metadata,
        };
        let opened: Value = self.post("ask", &body).await;
        opened["id"].as_str().expect("an ask has an id").to_owned()
    }

    /// Asks a question, in the newest session unless one is named, and returns its id.
    pub async fn open_question(
        &self,
        session: Option<&str>,
        question: &str,
        options: &[&str],
    ) -> String {
        let body = QuestionBody {
            session: session.map(str::to_owned),
            question: question.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        let opened: Value = self.post("question", &body).await;
        opened["id"].as_str().expect("an ask has an id").to_owned()
    }

    /// Brings a session of an earlier life back, as the real program would by itself.
    pub async fn restore_session(&self, id: &str) {
        let body = SessionBody { id: id.to_owned() };
        let _session: Value = self.post("session", &body).await;
    }

    /// Announces an event of any kind.
    pub async fn announce(&self, kind: &str, properties: Value) {
        let kind = kind.to_owned();
        let _done: bool = self.post("event", &EventBody { kind, properties }).await;
    }

    /// Returns what became of everything that was ever asked, oldest first.
    pub async fn happenings(&self) -> Vec<Happening> {
        let request = self.http.get(format!("{}/__control/happenings", self.url));
        read(request).await
    }

    /// Returns every reply that came in, oldest first.
    pub async fn replies(&self) -> Vec<ReceivedReply> {
        let request = self.http.get(format!("{}/__control/replies", self.url));
        read(request).await
    }

    /// Cuts every event stream that is open.
    pub async fn drop_events(&self) {
        let _done: bool = self.post("drop-events", &json!({})).await;
    }

    /// Says what goes wrong from now on.
    pub async fn set_faults(&self, faults: &Faults) {
        let _done: bool = self.post("fault", faults).await;
    }

    /// Replies to an ask behind everybody's back, and returns whether it was still open.
    pub async fn reply_as_foreigner(&self, id: &str) -> bool {
        self.post("foreign-reply", &ForeignReplyBody { id: id.to_owned() })
            .await
    }

    /// Makes it forget an ask without a word, and returns whether it was still open.
    pub async fn forget(&self, id: &str, trace: Trace) -> bool {
        let id = id.to_owned();
        self.post("forget", &ForgetBody { id, trace }).await
    }

    async fn post<T: DeserializeOwned>(&self, what: &str, body: &impl Serialize) -> T {
        let request = self.http.post(format!("{}/__control/{what}", self.url));
        read(request.json(body)).await
    }
}

async fn read<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> T {
    let response = request.send().await.expect("scripted-opencode answers");
    let response = response
        .error_for_status()
        .expect("it knows what is asked of it");
    response.json().await.expect("it answers as expected")
}
