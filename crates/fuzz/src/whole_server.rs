//! A whole server, fed from outside by agents that say what no agent would, next to somebody who works on.
//!
//! Everything that is asked is denied. In the end every request has had its reply, none of them a yes, and the server
//! serves as before.

mod audit;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use countersign_testkit::hostile_agent::{LAST_COMMAND, REPLAY};
use countersign_testkit::process::anonymous_memory;
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{Seed, TestServer, eventually};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::task::{JoinSet, LocalSet};

use crate::corpus::Corpus;
use crate::mutation;

/// The name of the agent that says what it is given.
const REPLAYING: &str = "replaying";
/// How many streams are said in one turn.
const STREAMS: usize = 10;
/// How long a session is fed: its agent lives only so long.
const SESSION: Duration = Duration::from_mins(1);
/// How many asks are looked at together.
const PAGE: usize = 50;
/// How much memory the server may have more than when it was idle, in KiB.
const MORE: u64 = 64 * 1024;

/// What is attacked, and how.
#[derive(Debug, Clone)]
pub struct Attack {
    /// The program.
    pub countersign: PathBuf,
    /// The hostile agent.
    pub agent: PathBuf,
    /// Where all chance comes from.
    pub seed: Seed,
    /// How many sessions there are at once.
    pub sessions: usize,
    /// How long it lasts.
    pub time: Duration,
}

/// What was fed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fed {
    /// Streams.
    pub streams: u64,
    /// Bytes.
    pub bytes: u64,
    /// Requests of the agents that could be read.
    pub requests: u64,
    /// Replies to them.
    pub replies: u64,
}

impl Fed {
    fn add(&mut self, more: Self) {
        self.streams += more.streams;
        self.bytes += more.bytes;
        self.requests += more.requests;
        self.replies += more.replies;
    }
}

/// Attacks a server of its own, and fails if it does not withstand.
pub async fn attack(corpus: &Corpus, attack: &Attack) -> anyhow::Result<Fed> {
    LocalSet::new().run_until(attack_here(corpus, attack)).await
}

async fn attack_here(corpus: &Corpus, attack: &Attack) -> anyhow::Result<Fed> {
    let agent = attack.agent.display();
    let setup = Setup {
        engine_settings: format!(
            "[[agents]]\nname = '{REPLAYING}'\ncommand = '{agent}'\nargs = ['{REPLAY}']\n"
        ),
        ..Setup::new(&attack.countersign, Engine::None)
    };
    let mut server = setup.start().await;
    let idle = anonymous_memory(server.program().id());
    let bystander = server.api().start_session_with("demo").await;
    let end = Instant::now() + attack.time;
    let mut fed = Fed::default();
    let mut most = idle;
    while Instant::now() < end {
        let mut sessions = JoinSet::new();
        for number in 0..attack.sessions {
            let session = Attacker {
                api: server.api().clone(),
                corpus: corpus.clone(),
                dice: attack
                    .seed
                    .dice(&format!("session {number} after {}", fed.streams)),
                directory: tempfile::tempdir().context("failed to make a directory")?,
                end: end.min(Instant::now() + SESSION),
                server: server.program().id(),
                most: 0,
            };
            sessions.spawn_local(session.feed());
        }
        while !sessions.is_empty() {
            // Whatever the others say, this one gets on.
            works_on(server.api(), &bystander).await?;
            if let Some(ended) = sessions.try_join_next() {
                let (more, most_there) = ended.context("a session failed")??;
                fed.add(more);
                most = most.max(most_there);
            }
        }
    }
    works_on(server.api(), &bystander).await?;
    ensure!(
        server.api().open_asks().await.is_empty(),
        "asks are left open"
    );
    ensure!(
        most - idle < MORE,
        "the server took {} KiB more than when it was idle",
        most - idle
    );
    well(&server)?;
    server.stop().await;
    Ok(fed)
}

fn well(server: &TestServer) -> anyhow::Result<()> {
    let log = server.log();
    let panicked = log.lines().find(|line| line.contains("panicked"));
    ensure!(panicked.is_none(), "the server panicked: {panicked:?}");
    Ok(())
}

async fn works_on(api: &Api, session: &str) -> anyhow::Result<()> {
    api.prompt(session, "SAY Good day.").await;
    let turn = api.turn_outcome(session).await;
    ensure!(
        turn["outcome"] == "completed",
        "another session was held up: {turn}"
    );
    Ok(())
}

/// One session with the agent that says what it is given.
struct Attacker {
    api: Api,
    corpus: Corpus,
    dice: StdRng,
    directory: tempfile::TempDir,
    end: Instant,
    server: u32,
    most: u64,
}

impl Attacker {
    async fn feed(mut self) -> anyhow::Result<(Fed, u64)> {
        let session = self.api.start_session_with(REPLAYING).await;
        let mut fed = Fed::default();
        let mut files = Vec::new();
        while Instant::now() < self.end {
            let mut bytes = Vec::new();
            for _ in 0..STREAMS {
                bytes.extend(mutation::stream(&self.corpus, &mut self.dice));
                bytes.push(b'\n');
            }
            fed.streams += STREAMS as u64;
            fed.bytes += bytes.len() as u64;
            files.push(self.turn(&session, files.len(), &bytes).await?);
        }
        // What the last turn left open is answered before the next, and that before the one after.
        for _ in 0..2 {
            files.push(self.turn(&session, files.len(), b"").await?);
        }
        // It takes its time, and the others of this thread speak with a server that waits for nobody.
        let looked = tokio::task::spawn_blocking(move || audit::look_through(&files)).await;
        let (requests, replies) = looked.context("what was said could not be looked through")??;
        (fed.requests, fed.replies) = (requests, replies);
        Ok((fed, self.most))
    }

    /// One turn, in which the agent says `bytes` and is denied everything.
    async fn turn(
        &mut self,
        session: &str,
        number: usize,
        bytes: &[u8],
    ) -> anyhow::Result<PathBuf> {
        let file = self.directory.path().join(format!("{number}.stream"));
        std::fs::write(&file, bytes).context("failed to write a stream")?;
        self.api.prompt(session, &file.to_string_lossy()).await;
        let said = format!("the agent ends its turn; it said {}", Self::kept(&file));
        eventually(PATIENCE, &said, async || {
            self.deny_all(session).await;
            let session = self.api.session(session).await;
            (!session["turn"]["outcome"].is_null()).then_some(())
        })
        .await;
        self.most = self.most.max(anonymous_memory(self.server));
        Ok(file)
    }

    /// Says no to everything that a no can be said to, the last ask last.
    async fn deny_all(&self, session: &str) {
        let path = format!("/api/v1/asks?session={session}&state=open&limit={PAGE}");
        let list = self.api.get(&path).await;
        let asks = list["asks"].as_array().cloned().unwrap_or_default();
        let (last, others): (Vec<Value>, Vec<Value>) = asks
            .into_iter()
            .partition(|ask| ask.to_string().contains(LAST_COMMAND));
        for ask in others.iter().chain(&last) {
            let id = ask["id"].as_str().unwrap_or_default();
            // Some can only be denied by picking one of several refusals, and some are over by now.
            drop(self.api.answer(id, &json!({ "answer": "deny" })).await);
        }
    }

    /// Where a stream is that somebody may want to see if this fails.
    fn kept(file: &Path) -> String {
        let copy = std::env::temp_dir().join("countersign-fuzzed-last.stream");
        match std::fs::copy(file, &copy) {
            Ok(_) => copy.display().to_string(),
            Err(_) => file.display().to_string(),
        }
    }
}
