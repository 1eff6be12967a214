//! Plays the modes through a server, next to somebody whose work must not be held up.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use countersign_testkit::eventually;
use countersign_testkit::hostile_agent::Mode;
use countersign_testkit::test_server::Api;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::table::{Outcome, Row};

/// How long one mode may take: some say 100 MB, and the machine may be busy.
const LIMIT: Duration = Duration::from_mins(4);
/// How often the kernel is asked for the server's memory.
const LOOK: Duration = Duration::from_millis(50);
/// How long the bystander rests between two turns.
const REST: Duration = Duration::from_millis(200);

/// Plays every mode, `at_once` of them at a time, and returns what was not as the table says.
pub(crate) async fn all(api: &Api, rows: &'static [Row], at_once: usize) -> Vec<String> {
    let room = Arc::new(Semaphore::new(at_once));
    let mut plays = JoinSet::new();
    let mut modes: HashMap<tokio::task::Id, Mode> = HashMap::new();
    for row in rows {
        let (api, room) = (api.clone(), Arc::clone(&room));
        let play = async move {
            let _place = room.acquire().await.expect("it stays open");
            play(&api, row).await;
        };
        modes.insert(plays.spawn_local(play).id(), row.mode);
    }
    let mut wrong = Vec::new();
    while let Some(played) = plays.join_next_with_id().await {
        if let Err(panicked) = played {
            let mode = modes[&panicked.id()];
            let said = panicked.into_panic();
            let said = said.downcast_ref::<String>().cloned();
            wrong.push(format!("{mode:?}: {}", said.unwrap_or_default()));
        }
    }
    wrong
}

/// A session with one mode. Panics unless it comes to what the table says.
async fn play(api: &Api, row: &Row) {
    let wish = json!({ "engine": row.mode.name() });
    let begun = api.post("/api/v1/sessions", &wish).await;
    if let Outcome::NoSession(words) = row.outcome {
        let why = begun.expect(503)["message"].to_string();
        return assert!(why.contains(words), "{why}");
    }
    let begun = begun.expect(201);
    let session = Conversation {
        api,
        id: begun["id"].as_str().expect("it has an id"),
    };
    api.prompt(session.id, "go").await;
    let turn = match row.outcome {
        Outcome::NoSession(_) => return,
        Outcome::Denied => session.denied_and_over().await,
        Outcome::Completed | Outcome::Failed(_) => session.over().await,
        Outcome::Stuck => {
            if row.noted.is_some() {
                session.has_notice().await;
            }
            session.cancelled().await
        }
        Outcome::StuckAfterDenial => {
            session.is_denied().await;
            session.cancelled().await
        }
        Outcome::StuckAsking => {
            let ask = api.wait_for_ask_of(session.id).await;
            let turn = session.cancelled().await;
            let ask = api.settled(ask["id"].as_str().expect("it is a text")).await;
            assert_eq!(ask["state"], "withdrawn", "{ask}");
            turn
        }
    };
    session.came_to(row, &turn).await;
}

struct Conversation<'a> {
    api: &'a Api,
    id: &'a str,
}

impl Conversation<'_> {
    async fn asks(&self, filter: &str) -> Vec<Value> {
        let path = format!("/api/v1/asks?session={}{filter}", self.id);
        let list = self.api.get(&path).await;
        list["asks"].as_array().expect("a list of asks").clone()
    }

    /// Says no to the newest open ask, which may be gone by then.
    async fn deny(&self) {
        if let Some(ask) = self.asks("&state=open&limit=1").await.first() {
            let id = ask["id"].as_str().expect("it is a text");
            self.api.answer(id, &json!({ "answer": "deny" })).await;
        }
    }

    /// How the turn ended, if it has.
    async fn outcome(&self) -> Option<Value> {
        let session = self.api.session(self.id).await;
        let outcome = session["turn"]["outcome"].clone();
        (!outcome.is_null()).then_some(outcome)
    }

    /// Says no to whatever is asked until the turn is over.
    async fn over(&self) -> Value {
        eventually(LIMIT, "the turn ends", async || {
            self.deny().await;
            self.outcome().await
        })
        .await
    }

    async fn is_denied(&self) {
        eventually(LIMIT, "a denial is delivered", async || {
            self.deny().await;
            let delivered = self.asks("&state=delivered&limit=1").await;
            (!delivered.is_empty()).then_some(())
        })
        .await;
    }

    async fn denied_and_over(&self) -> Value {
        self.is_denied().await;
        self.over().await
    }

    async fn cancelled(&self) -> Value {
        let path = format!("/api/v1/sessions/{}/cancel", self.id);
        self.api.post(&path, &json!({})).await.expect(200);
        eventually(LIMIT, "the turn is cancelled", async || {
            self.outcome().await
        })
        .await
    }

    /// What the transcript says about the agent.
    async fn notices(&self) -> Vec<String> {
        let items = self.api.items(self.id).await.into_iter();
        items
            .filter(|item| item["kind"] == "notice")
            .filter_map(|item| item["text"].as_str().map(str::to_owned))
            .collect()
    }

    async fn has_notice(&self) {
        eventually(LIMIT, "something is noted", async || {
            (!self.notices().await.is_empty()).then_some(())
        })
        .await;
    }

    async fn came_to(&self, row: &Row, turn: &Value) {
        let (outcome, words) = match row.outcome {
            Outcome::Denied | Outcome::Completed => ("completed", ""),
            Outcome::Failed(words) | Outcome::NoSession(words) => ("failed", words),
            Outcome::Stuck | Outcome::StuckAfterDenial | Outcome::StuckAsking => ("cancelled", ""),
        };
        assert_eq!(turn["outcome"], outcome, "{turn}");
        let reason = turn["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(words), "{reason}");
        if let Some(words) = row.noted {
            let notices = self.notices().await;
            let noted = notices.iter().any(|notice| notice.contains(words));
            assert!(noted, "{notices:#?}");
        }
    }
}

/// Somebody who works with an agent that does nothing wrong, turn after turn.
pub(crate) struct Bystander {
    api: Api,
    session: String,
    working: JoinSet<()>,
}

impl Bystander {
    pub(crate) async fn work(api: Api) -> Self {
        let session = api.start_session_with("demo").await;
        let mut working = JoinSet::new();
        working.spawn_local({
            let (api, session) = (api.clone(), session.clone());
            async move {
                loop {
                    say(&api, &session).await;
                    tokio::time::sleep(REST).await;
                }
            }
        });
        Self {
            api,
            session,
            working,
        }
    }

    /// Panics if a turn did not end well and in time.
    pub(crate) async fn has_worked(mut self) {
        if let Some(Err(ended)) = self.working.try_join_next() {
            panic!("another session was held up: {ended}");
        }
        self.working.shutdown().await;
        self.api.turn_outcome(&self.session).await;
        say(&self.api, &self.session).await;
    }
}

async fn say(api: &Api, session: &str) {
    api.prompt(session, "SAY Good day.").await;
    let turn = api.turn_outcome(session).await;
    assert_eq!(turn["outcome"], "completed", "{turn}");
}

/// The most memory that a process has had that is in no file, in KiB.
pub(crate) struct Memory {
    idle: u64,
    most: Arc<AtomicU64>,
    _looking: JoinSet<()>,
}

impl Memory {
    pub(crate) fn watch(process: u32) -> Self {
        let idle = anonymous(process);
        let most = Arc::new(AtomicU64::new(idle));
        let mut looking = JoinSet::new();
        looking.spawn_local({
            let most = Arc::clone(&most);
            async move {
                loop {
                    most.fetch_max(anonymous(process), Ordering::Relaxed);
                    tokio::time::sleep(LOOK).await;
                }
            }
        });
        Self {
            idle,
            most,
            _looking: looking,
        }
    }

    pub(crate) fn most_above_idle(&self) -> u64 {
        self.most.load(Ordering::Relaxed) - self.idle
    }
}

fn anonymous(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let count = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    count.unwrap_or_default()
}
