//! Somebody at work with an engine, over HTTP.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use countersign_core::time::Timestamp;
use countersign_testkit::event_stream::Frame;
use countersign_testkit::test_server::Api;
use countersign_testkit::{EventStream, eventually};
use serde_json::{Value, json};

use crate::clock;
use crate::http::{Connection, request};
use crate::ledger::TOKEN;
use crate::served::Served;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Somebody with a kept connection.
pub(crate) struct Person {
    connection: Connection,
}

impl Person {
    /// Connects, and waits until the server's engine is ready.
    pub(crate) async fn meet(server: &Served) -> anyhow::Result<Self> {
        let connection = Connection::open(server.address).await?;
        let mut person = Self { connection };
        eventually(PATIENCE, "the engine is ready", async || {
            let workspaces = person.get("/api/v1/workspaces").await.ok()?;
            (workspaces["workspaces"][0]["engine"]["state"] == "ready").then_some(())
        })
        .await;
        Ok(person)
    }

    /// Starts a session and returns its id.
    pub(crate) async fn start_session(&mut self) -> anyhow::Result<String> {
        let session = self.post("/api/v1/sessions", &json!({})).await?;
        id_of(&session)
    }

    /// Says `text` in a session, waits until it asks for leave, and returns the ask's id.
    pub(crate) async fn prompt_until_ask(
        &mut self,
        session: &str,
        text: &str,
    ) -> anyhow::Result<String> {
        let path = format!("/api/v1/sessions/{session}/prompt");
        self.post(&path, &json!({ "text": text })).await?;
        let list = format!("/api/v1/asks?state=open&session={session}");
        eventually(PATIENCE, "the session asks", async || {
            let asks = self.get(&list).await.ok()?;
            asks["asks"].get(0).map(id_of)
        })
        .await
    }

    /// Allows an ask, and returns the moment before the answer was sent.
    pub(crate) async fn allow(&mut self, ask: &str) -> anyhow::Result<Timestamp> {
        let path = format!("/api/v1/asks/{ask}/answer");
        let answer = json!({ "answer": "allow_once" });
        let request = request(
            self.connection.address,
            "POST",
            &path,
            Some(TOKEN),
            Some(&answer),
        );
        let sent = clock::now();
        self.connection.exchange(&request).await?.json()?;
        Ok(sent)
    }

    /// Waits until an answer is delivered.
    pub(crate) async fn wait_for_delivery(&mut self, ask: &str) -> anyhow::Result<()> {
        let settled = self
            .get(&format!("/api/v1/asks/{ask}/settled?timeout_s=30"))
            .await?;
        ensure!(
            settled["state"] == "delivered",
            "the answer was not delivered: {settled}"
        );
        Ok(())
    }

    /// Waits until the newest turn of a session is over.
    pub(crate) async fn wait_for_turn(&mut self, session: &str) {
        let path = format!("/api/v1/sessions/{session}");
        eventually(PATIENCE, "the turn ends", async || {
            let session = self.get(&path).await.ok()?;
            (!session["turn"]["outcome"].is_null()).then_some(())
        })
        .await;
    }

    async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        self.connection.get(path, TOKEN).await
    }

    async fn post(&mut self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.connection.post(path, TOKEN, body).await
    }
}

/// Somebody who also has the page open.
pub(crate) struct Watcher {
    person: Person,
    events: EventStream,
}

impl Watcher {
    /// Connects, twice.
    pub(crate) async fn meet(server: &Served) -> anyhow::Result<Self> {
        let api = Api::new(format!("http://{}", server.address), Some(TOKEN.to_owned()));
        let mut events = EventStream::open(&api, None).await?;
        next_event(&mut events, |frame| frame.event == "hello").await?;
        Ok(Self {
            person: Person {
                connection: Connection::open(server.address).await?,
            },
            events,
        })
    }

    /// Starts a session with an engine and returns its id.
    pub(crate) async fn start_session_with(&mut self, engine: &str) -> anyhow::Result<String> {
        let wish = json!({ "engine": engine });
        let session = self.person.post("/api/v1/sessions", &wish).await?;
        id_of(&session)
    }

    /// Says `text` in a session.
    pub(crate) async fn say(&mut self, session: &str, text: &str) -> anyhow::Result<()> {
        let path = format!("/api/v1/sessions/{session}/prompt");
        self.person.post(&path, &json!({ "text": text })).await?;
        Ok(())
    }

    /// Says `text` in a session and waits until the turn is over.
    pub(crate) async fn turn(&mut self, session: &str, text: &str) -> anyhow::Result<()> {
        self.say(session, text).await?;
        self.turn_ends(session).await
    }

    /// Waits until the event stream says that the turn is over.
    pub(crate) async fn turn_ends(&mut self, session: &str) -> anyhow::Result<()> {
        let over = |frame: &Frame| {
            frame.event == "turn.changed"
                && frame.data["session"] == session
                && frame.data["ended"] == true
        };
        next_event(&mut self.events, over).await?;
        Ok(())
    }

    /// Waits for an event of this kind.
    pub(crate) async fn event(&mut self, kind: &str) -> anyhow::Result<Value> {
        next_event(&mut self.events, |frame| frame.event == kind).await
    }

    /// Says no to an ask.
    pub(crate) async fn deny(&mut self, ask: &str) -> anyhow::Result<()> {
        let path = format!("/api/v1/asks/{ask}/answer");
        self.person
            .post(&path, &json!({ "answer": "deny" }))
            .await?;
        Ok(())
    }
}

/// What the next event says that is `wanted`.
pub(crate) async fn next_event(
    events: &mut EventStream,
    wanted: impl Fn(&Frame) -> bool,
) -> anyhow::Result<Value> {
    let found = async {
        loop {
            let frame = events.next().await.context("the event stream ended")?;
            if wanted(&frame) {
                return Ok(frame.data);
            }
        }
    };
    tokio::time::timeout(PATIENCE, found)
        .await
        .context("no such event comes")?
}

fn id_of(thing: &Value) -> anyhow::Result<String> {
    let id = thing["id"].as_str().context("it has no id")?;
    Ok(id.to_owned())
}
