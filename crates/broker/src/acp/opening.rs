//! The beginning of a life: the agent is started, says who it is, and opens a session, each within a time limit.
//!
//! What goes wrong is said in a sentence that tells what to do, and nothing of the life is left.

use std::path::PathBuf;
use std::time::Duration;

use countersign_core::session::Session;
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::Shape;
use countersign_engine::acp::launch::Launch;
use countersign_engine::keeper::Keeper;
use countersign_store::{Run, StoreError};

use crate::acp::roster::find;
use crate::acp::talk::{ENDED, Failure, greet};
use crate::acp::{Agents, Lifetime};
use crate::kept::{end_wholly, how_it_ended, last_words, remove_directory, run_directory};

/// How long an agent's end may take to be known once its output has ended.
const EXIT_LIMIT: Duration = Duration::from_secs(3);

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// A new session.
    New,
    /// A session of an earlier life.
    Again(&'a Session),
    /// A session of an earlier life, which is loaded: a process that was to resume it did not come back from that.
    Loaded(&'a Session),
}

/// An agent with an open session.
pub(super) struct Opened {
    pub(super) life: Lifetime,
    /// What the agent calls the session.
    pub(super) native_id: String,
    /// Up to where the agent's output has been taken in.
    pub(super) taken: u64,
}

/// Why there is no session, as a sentence for people; or the ledger failed.
pub(super) type Opening = Result<Result<Opened, String>, StoreError>;

impl Agents {
    /// Begins a life of `agent` in a workspace and opens a session in it. If that ends over resuming the session, another
    /// life loads it.
    pub(super) async fn open(
        &self,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
        wanted: Wanted<'_>,
    ) -> Opening {
        let opened = self.open_once(workspace, agent, wanted).await?;
        let opened = match (opened, wanted) {
            (Err(Failure::Resuming(why)), Wanted::Again(session)) => {
                tracing::warn!(session.id = %session.id, "a session is loaded that was not resumed: {why}");
                self.open_once(workspace, agent, Wanted::Loaded(session))
                    .await?
            }
            (opened, _) => opened,
        };
        Ok(opened.map_err(Failure::into_sentence))
    }

    async fn open_once(
        &self,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
        wanted: Wanted<'_>,
    ) -> Result<Result<Opened, Failure>, StoreError> {
        let shared = self.shared();
        let Some(program) = find(agent) else {
            return Ok(Err(not_found(agent).into()));
        };
        let now = shared.clock.now();
        let engine = shared
            .store
            .ensure_engine(workspace.id, &agent.name, now)
            .await?;
        let run = shared.store.begin_run(&engine, now).await?;
        let directory = run_directory(&shared.settings.data_directory, run.id);
        let spec = Launch {
            program,
            directory: PathBuf::from(&workspace.path),
            run: run.id,
            inherit: agent.inherit.clone(),
            lonely_limit_s: shared.settings.lonely_limit_s,
        }
        .spec(std::env::vars_os());
        let keeper = match Keeper::spawn(&shared.settings.own_program, &directory, &spec).await {
            Ok(keeper) => keeper,
            Err(error) => {
                let why = format!("{} could not be started: {error}", agent.title);
                self.end_run(workspace.id, &run, &directory, &why).await?;
                return Ok(Err(why.into()));
            }
        };
        self.note_keeper(keeper.identity());
        let greeted = tokio::select! {
            greeted = greet(&keeper, agent, workspace, wanted) => greeted,
            () = shared.ending.cancelled() => Err(Failure::Final("Countersign was stopped".to_owned())),
        };
        let greeted = match greeted {
            Ok(greeted) => greeted,
            Err(failure) => {
                let why = explain(agent, &keeper, &directory, failure.sentence()).await;
                end_wholly(&keeper, &directory).await;
                self.end_run(workspace.id, &run, &directory, &why).await?;
                return Ok(Err(failure.in_other_words(why)));
            }
        };
        if greeted.shape == Shape::Two {
            shared.store.set_protocol(run.id, 2).await?;
        }
        Ok(Ok(Opened {
            taken: greeted.taken,
            native_id: greeted.native_id,
            life: Lifetime {
                workspace: workspace.clone(),
                agent: agent.clone(),
                run,
                keeper,
                directory,
                incoming: greeted.incoming,
                input: greeted.input,
                shape: greeted.shape,
                noise: greeted.noise,
                tells_history: matches!(wanted, Wanted::Again(_) | Wanted::Loaded(_)),
            },
        }))
    }

    /// Ends a life in the ledger, with its asks, and removes its files.
    pub(super) async fn end_run(
        &self,
        workspace: countersign_core::id::WorkspaceId,
        run: &Run,
        directory: &std::path::Path,
        why: &str,
    ) -> Result<(), StoreError> {
        let shared = self.shared();
        shared
            .store
            .end_run(workspace, run.id, why, shared.clock.now())
            .await?;
        remove_directory(directory);
        Ok(())
    }
}

fn not_found(agent: &Agent) -> String {
    let Agent { title, install, .. } = agent;
    if install.is_empty() {
        format!("the program of {title} was not found; see its `command` in the configuration")
    } else {
        format!("{title} was not found on the PATH. To install it: {install}")
    }
}

/// Adds to a failure how the agent ended, if it did, and what it said last.
async fn explain(agent: &Agent, keeper: &Keeper, directory: &std::path::Path, why: &str) -> String {
    let said_before = why.strip_prefix(ENDED);
    let ended = said_before.is_some();
    let limit = if ended { EXIT_LIMIT } else { Duration::ZERO };
    let how = how_it_ended(keeper, limit).await;
    let mut sentence = match how {
        Some(how) if ended => format!(
            "{} ended before it was ready: {how}{}",
            agent.title,
            said_before.unwrap_or_default()
        ),
        Some(_) | None => format!("{}: {why}", agent.title),
    };
    if let Some(said) = last_words(directory) {
        sentence.push_str(". Its last words: ");
        sentence.push_str(&said);
    }
    sentence
}
