//! The beginning of a life: the agent is started, says who it is, and opens a session, each within a time limit.
//!
//! What goes wrong is said in a sentence that tells what to do, and nothing of the life is left.

use std::path::PathBuf;
use std::time::Duration;

use countersign_core::session::{Item, Session};
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::{AgentDescription, Shape};
use countersign_engine::acp::launch::Launch;
use countersign_engine::keeper::Keeper;
use countersign_store::{Run, StoreError};
use tokio_util::sync::CancellationToken;

use crate::acp::prompting::takes;
use crate::acp::roster::find;
use crate::acp::talk::{ENDED, Failure, Talk, greet};
use crate::acp::{Agents, Lifetime, Shared};
use crate::kept::{end_soon, how_it_ended, last_words, remove_directory, run_directory};
use crate::standstill::{self, Step};

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

impl<'a> Wanted<'a> {
    /// The session of an earlier life that is wanted.
    pub(super) fn earlier(self) -> Option<&'a Session> {
        match self {
            Self::New => None,
            Self::Again(session) | Self::Loaded(session) => Some(session),
        }
    }
}

/// An agent with an open session.
pub(super) struct Opened {
    pub(super) life: Lifetime,
    /// What the agent calls the session.
    pub(super) native_id: String,
    /// Up to where the agent's output has been taken in.
    pub(super) taken: u64,
}

/// Whether a session can be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loadable {
    Now,
    Later,
}

/// A life with which nobody has spoken yet.
pub(super) struct Begun {
    pub(super) run: Run,
    pub(super) directory: PathBuf,
    pub(super) keeper: Keeper,
}

/// Why there is no session, as a sentence for people; or the ledger failed.
pub(super) type Opening = Result<Result<Opened, String>, StoreError>;

impl Agents {
    /// Begins a life of `agent` in a workspace and opens a session in it, unless that is given up. If it ends over
    /// resuming the session, another life loads it.
    pub(super) async fn open(
        &self,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
        wanted: Wanted<'_>,
        given_up: &CancellationToken,
    ) -> Opening {
        let opened = self.open_once(workspace, agent, wanted, given_up).await?;
        let opened = match (opened, wanted) {
            (Err(Failure::Resuming(why)), Wanted::Again(session)) => {
                tracing::warn!(session.id = %session.id, "a session is loaded that was not resumed: {why}");
                self.open_once(workspace, agent, Wanted::Loaded(session), given_up)
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
        given_up: &CancellationToken,
    ) -> Result<Result<Opened, Failure>, StoreError> {
        let told = match wanted.earlier() {
            None => None,
            Some(session) => self.shared().store.settings(session.id).await?,
        };
        let life = match self.begin_life(workspace, agent).await? {
            Ok(life) => life,
            Err(why) => return Ok(Err(why.into())),
        };
        let greeted = tokio::select! {
            greeted = greet(&life.keeper, agent, workspace, wanted, told.unwrap_or_default()) => greeted,
            () = self.shared().ending.cancelled() => Err(Failure::Final("Countersign was stopped".to_owned())),
            () = given_up.cancelled() => Err(Failure::Final("nobody waits for it any more".to_owned())),
        };
        match greeted {
            Ok(greeted) => Ok(Ok(Opened {
                taken: greeted.talk.taken,
                native_id: greeted.native_id,
                life: Lifetime {
                    tells_history: wanted.earlier().is_some(),
                    ..self
                        .goes_on(life, workspace, agent, greeted.talk, &greeted.description)
                        .await?
                },
            })),
            Err(failure) => {
                let why = explain(agent, &life.keeper, &life.directory, failure.sentence()).await;
                self.end_life(workspace.id, &life, &why).await?;
                Ok(Err(failure.in_other_words(why)))
            }
        }
    }

    /// Begins a life of `agent` in a workspace, with which nobody has spoken yet.
    pub(super) async fn begin_life(
        &self,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
    ) -> Result<Result<Begun, String>, StoreError> {
        let shared = self.shared();
        let Some(program) = find(agent) else {
            return Ok(Err(not_found(agent)));
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
        standstill::before(Step::Spawn).await;
        let spawned = Keeper::spawn(&shared.settings.own_program, &directory, &spec).await;
        standstill::after(Step::Spawn).await;
        let keeper = match spawned {
            Ok(keeper) => keeper,
            Err(error) => {
                let why = format!("{} could not be started: {error}", agent.title);
                self.end_run(workspace.id, &run, &directory, &why).await?;
                return Ok(Err(why));
            }
        };
        self.note_keeper(keeper.identity());
        Ok(Ok(Begun {
            run,
            directory,
            keeper,
        }))
    }

    /// The life with what is needed to go on with a talk in it.
    pub(super) async fn goes_on(
        &self,
        life: Begun,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
        talk: Talk,
        description: &AgentDescription,
    ) -> Result<Lifetime, StoreError> {
        if description.shape == Shape::Two {
            self.shared().store.set_protocol(life.run.id, 2).await?;
        }
        Ok(Lifetime {
            workspace: workspace.clone(),
            agent: agent.clone(),
            run: life.run,
            keeper: life.keeper,
            directory: life.directory,
            incoming: talk.incoming,
            input: talk.input,
            shape: description.shape,
            noise: talk.noise,
            tells_history: true,
            takes: takes(description),
            told: talk.told.bounded(),
        })
    }

    /// Waits if the agent would lose a session that it loads now, and says so in the transcript: until it would not, or
    /// until nobody waits for the session any more.
    pub(super) async fn await_loading(&self, session: &Session) -> Result<Loadable, StoreError> {
        let Shared {
            store,
            clock,
            ending,
            ..
        } = self.shared();
        let Some(agent) = self.0.roster.get(&session.engine) else {
            return Ok(Loadable::Now);
        };
        let now = clock.now();
        let left = agent.loading.possible_from(session.started_at).since(now);
        if left.is_zero() || ending.is_cancelled() {
            return Ok(Loadable::Now);
        }
        let text = format!(
            "{} would lose a session that it takes up within the minute in which it began. It waits until that is over.",
            agent.title
        );
        let key = format!("{}/loading", session.id);
        let notice = Item::Notice { text };
        store
            .put_item(session.workspace, session.id, &key, &notice, now)
            .await?;
        tokio::select! {
            () = ending.cancelled() => {}
            () = tokio::time::sleep(left) => {}
            cancelled = self.until_all_cancelled(session) => cancelled?,
        }
        Ok(Loadable::Later)
    }

    /// Waits until no turn of a session is waited for any more.
    pub(super) async fn until_all_cancelled(&self, session: &Session) -> Result<(), StoreError> {
        let store = &self.shared().store;
        let mut head = store.head();
        loop {
            head.mark_unchanged();
            let turns = store.open_turns(session.id).await?;
            if turns.iter().all(|turn| turn.cancelled_at.is_some()) || head.changed().await.is_err()
            {
                return Ok(());
            }
        }
    }

    /// Ends a life with everything that it started.
    pub(super) async fn end_life(
        &self,
        workspace: countersign_core::id::WorkspaceId,
        life: &Begun,
        why: &str,
    ) -> Result<(), StoreError> {
        end_soon(&life.keeper, &life.directory).await;
        self.end_run(workspace, &life.run, &life.directory, why)
            .await
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
pub(super) async fn explain(
    agent: &Agent,
    keeper: &Keeper,
    directory: &std::path::Path,
    why: &str,
) -> String {
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
