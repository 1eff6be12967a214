//! Ledgers of any size to measure with, on the disk that is measured.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use countersign_core::actor::ActorKind;
use countersign_core::answer::Choice;
use countersign_core::ask::{Door, Shown, Subject};
use countersign_core::delivery::Evidence;
use countersign_core::digest::Digest;
use countersign_core::grant::Role;
use countersign_core::id::{ActorId, RunId, WorkspaceId};
use countersign_core::token::TokenKind;
use countersign_store::{NewToken, Store};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::clock;

/// Answered asks that a session has, over its whole life.
const PER_SESSION: i64 = 40;
/// Open asks that a session has.
const OPEN_PER_SESSION: i64 = 4;
/// Rows that are written in one transaction.
const AT_ONCE: i64 = 10_000;
/// How far back the asks reach, evenly.
const REACH: Duration = Duration::from_hours(90 * 24);
/// The secret of every ledger's one token, which may do everything. The ledgers end with the run.
pub(crate) const TOKEN: &str = "cs_bench";

/// A statement that inserts a row for each number `i` from `?1` to before `?2`.
macro_rules! numbered {
    ($insert:literal, $select:literal) => {
        concat!(
            $insert,
            " WITH RECURSIVE numbers (i) AS \
             (SELECT ?1 UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < ?2) ",
            $select
        )
    };
}

/// How many asks there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asks {
    /// All of them.
    pub(crate) total: usize,
    /// The newest ones, which nobody has answered; all others were delivered.
    pub(crate) open: usize,
}

/// A data directory and a workspace that end with this value.
#[derive(Debug)]
pub(crate) struct Ledger {
    root: TempDir,
    asks: Asks,
    /// When the first ask was opened, in microseconds.
    first_at: i64,
}

/// What asks belong to.
struct Origin {
    workspace: WorkspaceId,
    run: RunId,
    actor: ActorId,
}

impl Ledger {
    /// Makes a ledger below `directory`.
    pub(crate) async fn make(directory: &Path, asks: Asks) -> anyhow::Result<Self> {
        let root = tempfile::tempdir_in(directory).context("failed to make a directory")?;
        let root_path = root.path().canonicalize()?;
        std::fs::create_dir(root_path.join("data")).context("failed to make a directory")?;
        std::fs::create_dir(root_path.join("work")).context("failed to make a directory")?;
        let first_at = clock::now().before(REACH).as_micros();
        let ledger = Self {
            root,
            asks,
            first_at,
        };
        let origin = ledger.begin().await.context("failed to begin a ledger")?;
        tokio::task::block_in_place(|| ledger.fill(&origin)).context("failed to fill a ledger")?;
        Ok(ledger)
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The ids of the open asks, oldest first.
    pub(crate) fn open_asks(&self) -> Vec<String> {
        let first = self.asks.total - self.asks.open;
        (first..self.asks.total)
            .map(|index| format!("ask_0{index:025}"))
            .collect()
    }

    fn file(&self) -> PathBuf {
        self.data().join("ledger.db")
    }

    /// Makes the tables, and everything that there is one of. The engine has a name that nothing has which a server looks
    /// after, so its asks stay as they are.
    async fn begin(&self) -> anyhow::Result<Origin> {
        let store = Store::open_sqlite(&self.file()).await?;
        let now = clock::now();
        let path = self.workspace().canonicalize()?;
        let workspace = store
            .ensure_workspace(&path.to_string_lossy(), "work", now)
            .await?
            .id;
        let engine = store.ensure_engine(workspace, "no agent", now).await?;
        let run = store.begin_run(&engine, now).await?.id;
        let actor = store.actor(ActorKind::Person, "ada", now).await?;
        let token = NewToken {
            hash: Digest::of_bytes(TOKEN.as_bytes()),
            name: "bench".to_owned(),
            kind: TokenKind::Bearer,
            actor_kind: Role::Owner.actor_kind(),
            grants: Role::Owner.grants(),
            workspace: None,
            device: None,
            expires_at: None,
        };
        store.add_token(token, &actor, now).await?;
        store.close().await;
        Ok(Origin {
            workspace,
            run,
            actor: actor.id,
        })
    }

    /// Writes the asks straight into the tables: the ledger's own way makes each durable.
    fn fill(&self, origin: &Origin) -> anyhow::Result<()> {
        const CARELESS: &str =
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF";
        let mut connection = Connection::open(self.file())?;
        connection.execute_batch(CARELESS)?;
        let total = i64::try_from(self.asks.total)?;
        let first_open = i64::try_from(self.asks.total - self.asks.open)?;
        let sessions = 1 + (first_open / PER_SESSION).max((total - first_open) / OPEN_PER_SESSION);
        self.add_sessions(&connection, origin, sessions)?;
        let mut from = 0;
        while from < total {
            let to = total.min(from + AT_ONCE);
            let transaction = connection.transaction()?;
            self.add_asks(&transaction, origin, from, to, first_open)?;
            self.add_answers(&transaction, origin, from, to.min(first_open))?;
            transaction.commit()?;
            from = to;
        }
        connection.close().map_err(|(_, error)| error)?;
        // What the kernel still holds would be written in the middle of a measurement.
        std::fs::File::open(self.file())?.sync_all()?;
        Ok(())
    }

    /// Adds jobs that have ended, each with a session of its own.
    pub(crate) fn add_jobs(&self, count: usize) -> anyhow::Result<()> {
        const ACTOR: &str = "SELECT id FROM actors WHERE kind = 'person' ORDER BY id LIMIT 1";
        const SESSIONS: &str = numbered!(
            "INSERT INTO sessions (id, workspace, engine, native_id, title, directory, agent, activity, \
                 started_at, changed_at)",
            "SELECT printf('session_1%025d', i), workspaces.id, 'opencode', printf('ses_job_%d', i), \
                 'Fix the build', workspaces.path, 'build', 'idle', ?3, ?3 FROM numbers, workspaces"
        );
        const JOBS: &str = numbered!(
            "INSERT INTO jobs (id, kind, workspace, actor, title, prompt, engine, on_ask, access, directory, \
                 wants_worktree, priority, ask_expires_s, idle_limit_s, attachments, state, session, result, \
                 created_at, started_at, changed_at, ended_at)",
            "SELECT printf('task-%08d-bench0', i), 'task', workspaces.id, ?5, 'Fix the build', ?4, 'opencode', \
                 'wait', 'write', workspaces.path, 0, 0, 1800, 3600, '[]', 'completed', \
                 printf('session_1%025d', i), ?4, ?3 + i, ?3 + i, ?3 + i, ?3 + i FROM numbers, workspaces"
        );
        let connection = Connection::open(self.file())?;
        let count = i64::try_from(count)?;
        let since = clock::now().as_micros() - 1_000_000 - count;
        connection.execute(SESSIONS, rusqlite::params![0, count, since])?;
        let words = "Every test passes again. ".repeat(80);
        let actor: String = connection.query_row(ACTOR, [], |row| row.get(0))?;
        let added = connection.execute(JOBS, rusqlite::params![0, count, since, words, actor])?;
        anyhow::ensure!(i64::try_from(added)? == count, "{added} jobs were added");
        connection.close().map_err(|(_, error)| error)?;
        std::fs::File::open(self.file())?.sync_all()?;
        Ok(())
    }

    fn add_sessions(
        &self,
        connection: &Connection,
        origin: &Origin,
        count: i64,
    ) -> anyhow::Result<()> {
        const ADD: &str = numbered!(
            "INSERT INTO sessions (id, workspace, engine, native_id, title, directory, agent, activity, \
                 started_at, changed_at)",
            "SELECT printf('session_0%025d', i), ?3, 'opencode', printf('ses_%d', i), 'Fix the build', ?4, 'build', \
                 'idle', ?5, ?5 FROM numbers"
        );
        connection.execute(
            ADD,
            rusqlite::params![
                0,
                count,
                origin.workspace.to_string(),
                self.workspace().to_string_lossy().into_owned(),
                clock::now().as_micros(),
            ],
        )?;
        Ok(())
    }

    fn add_asks(
        &self,
        connection: &Connection,
        origin: &Origin,
        from: i64,
        to: i64,
        first_open: i64,
    ) -> anyhow::Result<()> {
        const ADD: &str = numbered!(
            "INSERT INTO asks (id, workspace, door, run, session, native_id, directory, subject, raw, \
                 options, opened_at, digest, fingerprint, likeness, state, tool)",
            "SELECT printf('ask_0%025d', i), ?3, ?4, ?5, \
                 printf('session_0%025d', CASE WHEN i < ?6 THEN i / ?7 ELSE (i - ?6) / ?8 END), \
                 printf('per_%d', i), ?9, ?10, ?11, '[]', ?12 + i * ?14, ?13, printf('%064x', i), ?13, \
                 CASE WHEN i < ?6 THEN 'delivered' ELSE 'open' END, 'bash' FROM numbers"
        );
        let command = "cargo test --workspace --all-targets -- --nocapture";
        let subject = Subject::Permission {
            location: countersign_core::ask::Location::default(),
            tool: "bash".to_owned(),
            targets: vec![command.to_owned()],
            shown: vec![Shown::Command {
                text: command.to_owned(),
            }],
        };
        let raw = json!({
            "permission": "bash", "patterns": [command], "metadata": { "command": command },
        });
        connection.execute(
            ADD,
            rusqlite::params![
                from,
                to,
                origin.workspace.to_string(),
                Door::Opencode.name(),
                origin.run.to_string(),
                first_open,
                PER_SESSION,
                OPEN_PER_SESSION,
                self.workspace().to_string_lossy().into_owned(),
                serde_json::to_string(&subject)?,
                raw.to_string(),
                self.first_at,
                Digest::of_json(&raw).to_string(),
                self.apart(),
            ],
        )?;
        Ok(())
    }

    /// How far the asks are apart, in microseconds.
    fn apart(&self) -> i64 {
        let total = i64::try_from(self.asks.total).unwrap_or(i64::MAX);
        i64::try_from(REACH.as_micros()).unwrap_or(i64::MAX) / total.max(1)
    }

    /// Answers and delivers the asks from `from` to before `to`, each within ten minutes.
    fn add_answers(
        &self,
        connection: &Connection,
        origin: &Origin,
        from: i64,
        to: i64,
    ) -> anyhow::Result<()> {
        const ANSWER: &str = numbered!(
            "INSERT INTO answers (ask, choice, actor, surface, at, yes, workspace, tool, opened_at)",
            "SELECT printf('ask_0%025d', i), ?3, ?4, 'web', ?5 + i * ?6 + (i * 7919 % 600) * 1000000, 1, ?7, 'bash', \
             ?5 + i * ?6 FROM numbers"
        );
        const DELIVER: &str = numbered!(
            "INSERT INTO deliveries (ask, state, attempts, due_at, at, detail)",
            "SELECT printf('ask_0%025d', i), 'delivered', 1, ?3, ?3, ?4 FROM numbers"
        );
        if from >= to {
            return Ok(());
        }
        connection.execute(
            ANSWER,
            rusqlite::params![
                from,
                to,
                serde_json::to_string(&Choice::AllowOnce)?,
                origin.actor.to_string(),
                self.first_at,
                self.apart(),
                origin.workspace.to_string(),
            ],
        )?;
        let evidence = Evidence::Announced {
            event: "permission.replied".to_owned(),
        };
        let now = clock::now().as_micros();
        connection.execute(
            DELIVER,
            rusqlite::params![from, to, now, serde_json::to_string(&evidence)?,],
        )?;
        Ok(())
    }
}
