//! Plays the modes through a server, next to somebody whose work must not be held up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_testkit::eventually;
use countersign_testkit::hostile_agent::Mode;
use countersign_testkit::test_server::Api;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::table::{Outcome, Row};

/// How long one mode may take: some say 100 MB, and the machine may be busy.
const LIMIT: Duration = Duration::from_mins(3);
/// How long a turn of somebody else may take meanwhile.
const BYSTANDERS_LIMIT: Duration = Duration::from_secs(15);
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
        assert!(why.contains(words), "{why}");
        return is_in_the_audit(api, &row.mode.name(), words).await;
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
        Outcome::DeniedAnew(command) => {
            session.asks_anew(command).await;
            session.denied_and_over().await
        }
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

/// Panics unless the audit says why the life of an agent ended.
async fn is_in_the_audit(api: &Api, agent: &str, words: &str) {
    let mut after = 0;
    loop {
        let page = api
            .get(&format!("/api/v1/audit?limit=1000&after={after}"))
            .await;
        let entries = page["entries"].as_array().expect("it is a list");
        let says_so = |entry: &&Value| {
            let why = entry["detail"]["why"].as_str().unwrap_or_default();
            entry["action"] == "engine.end" && why.contains(agent) && why.contains(words)
        };
        if entries.iter().any(|entry| says_so(&entry)) {
            return;
        }
        let next = page["next"].as_i64();
        after = next.unwrap_or_else(|| panic!("the audit has no end of {agent}: {page:#}"));
    }
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

    /// Waits until an ask was withdrawn and another is open in its place.
    async fn asks_anew(&self, command: &str) {
        eventually(LIMIT, "it is asked anew", async || {
            let open = self.asks("&state=open").await;
            let withdrawn = self.asks("&state=withdrawn").await;
            let is_it = open.len() == 1 && open[0]["summary"] == command;
            (is_it && withdrawn.len() == 1).then_some(())
        })
        .await;
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
            Outcome::Denied | Outcome::DeniedAnew(_) | Outcome::Completed => ("completed", ""),
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
    let begin = Instant::now();
    api.prompt(session, "SAY Good day.").await;
    let turn = api.turn_outcome(session).await;
    assert_eq!(turn["outcome"], "completed", "{turn}");
    let took = begin.elapsed();
    assert!(took < BYSTANDERS_LIMIT, "a turn took {took:?}");
}
