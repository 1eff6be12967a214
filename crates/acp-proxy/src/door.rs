//! Countersign's door: asks are handed in, answers fetched, and what became of them reported.
//!
//! A life of the proxy is announced for each directory that the agent works in, and again whenever the server has
//! forgotten it. The server is looked for anew when it was lost: another may have taken its place.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_api::{
    DoorAlive, DoorAnswer, DoorAsk, DoorAskKind, DoorProgram, DoorReport, DoorRun, ErrorCode,
    NewDoorAsk, NewDoorRun,
};
use countersign_cli::{Connection, ConnectionOptions, Failure, Surroundings};
use countersign_core::id::{AskId, RunId};
use countersign_core::time::Clock;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::asked::Asked;
use crate::voice::{Topic, Voice};

/// How often a server of this machine is shown that this proxy is there, and one elsewhere.
const BEAT: Duration = Duration::from_secs(2);
const BEAT_AFAR: Duration = Duration::from_secs(20);
/// For how long one call waits for an answer.
const POLL: Duration = Duration::from_secs(30);

/// Why the server does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    /// It is not there, or cannot do anything now.
    #[error("{0}")]
    Away(String),
    /// It will not have this proxy.
    #[error("{0}")]
    NotWelcome(String),
    /// It does not serve the directory.
    #[error("{0}")]
    NotServed(String),
    /// It has forgotten this life, or this ask of it.
    #[error("the server has forgotten this life")]
    Forgotten,
    /// It will not have this ask.
    #[error("{0}")]
    Refused(String),
}

/// An ask that the server knows.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    directory: String,
    run: RunId,
    ask: AskId,
}

/// The way to the server.
pub(crate) struct Door {
    options: ConnectionOptions,
    surroundings: Surroundings,
    /// Where this proxy was started.
    directory: String,
    connection: Mutex<Option<Connection>>,
    lives: Mutex<HashMap<String, Arc<OnceCell<RunId>>>>,
    voice: Voice,
}

impl Door {
    pub(crate) fn new(
        options: ConnectionOptions,
        surroundings: Surroundings,
        voice: Voice,
    ) -> Self {
        let directory = surroundings.directory.as_deref();
        Self {
            directory: directory.map_or_else(String::new, |it| it.to_string_lossy().into_owned()),
            options,
            surroundings,
            connection: Mutex::default(),
            lives: Mutex::default(),
            voice,
        }
    }

    /// Shows that this proxy is there, where it was started and in the `directories` that the agent works in: so the
    /// server knows whose the agent's tools are.
    pub(crate) async fn keep_alive(&self, directories: Vec<String>) -> Result<(), DoorError> {
        let mut all: BTreeSet<String> = lock(&self.lives).keys().cloned().collect();
        all.extend(directories);
        all.insert(self.directory.clone());
        for directory in all {
            match self.keep_life(&directory).await {
                // A directory that is not served matters only once something is asked there.
                Ok(()) | Err(DoorError::NotServed(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// How often the server is to be shown that this proxy is there. One of this machine learns by it whose processes the
    /// agent's are, so that one that was just started knows soon.
    pub(crate) fn beat(&self) -> Duration {
        let is_near = lock(&self.connection)
            .as_ref()
            .is_none_or(Connection::is_on_this_machine);
        if is_near { BEAT } else { BEAT_AFAR }
    }

    async fn keep_life(&self, directory: &str) -> Result<(), DoorError> {
        let run = self.life(directory).await?;
        let connection = self.connection()?;
        let alive = DoorAlive {
            process: process_for(&connection),
        };
        let path = format!("/api/v1/door/runs/{run}/alive");
        let told = connection.tell(&path, &alive).await;
        match told.map_err(|error| self.lost(&error)) {
            Err(DoorError::Forgotten) => {
                self.forget(directory, run);
                self.life(directory).await.map(drop)
            }
            outcome => outcome,
        }
    }

    /// Hands an ask in. The same ask again is the same ticket.
    pub(crate) async fn hand_in(&self, asked: &Asked) -> Result<Ticket, DoorError> {
        let directory = asked.session.directory.as_ref();
        let directory = directory.unwrap_or(&self.directory).clone();
        let run = self.life(&directory).await?;
        let new = NewDoorAsk {
            kind: DoorAskKind::Acp,
            request: json!(asked.request),
            session: asked.session.clone(),
            input: None,
        };
        let path = format!("/api/v1/door/runs/{run}/asks");
        let handed = self.connection()?.post::<DoorAsk>(&path, &new).await;
        match handed.map_err(|error| self.lost(&error)) {
            Ok(handed) => Ok(Ticket {
                directory,
                run,
                ask: handed.value.ask,
            }),
            Err(error) => {
                if matches!(error, DoorError::Forgotten) {
                    self.forget(&directory, run);
                }
                Err(error)
            }
        }
    }

    /// Waits a while for the answer.
    pub(crate) async fn fetch(&self, ticket: &Ticket) -> Result<DoorAnswer, DoorError> {
        let seconds = POLL.as_secs();
        let path = path_of(ticket, &format!("answer?timeout_s={seconds}"));
        let fetched = self.connection()?.get_waiting(&path, POLL).await;
        match fetched {
            Ok(fetched) => Ok(fetched.value),
            Err(error) => Err(self.lost_ticket(ticket, &error)),
        }
    }

    /// Says what became of an ask.
    pub(crate) async fn report(
        &self,
        ticket: &Ticket,
        report: &DoorReport,
    ) -> Result<(), DoorError> {
        let path = path_of(ticket, "report");
        let told = self.connection()?.tell(&path, report).await;
        told.map_err(|error| self.lost_ticket(ticket, &error))
    }

    /// Says good-bye: the asks that are open end.
    pub(crate) async fn end(&self) {
        let lives: Vec<RunId> = lock(&self.lives)
            .drain()
            .filter_map(|(_, life)| life.get().copied())
            .collect();
        for run in lives {
            let Ok(connection) = self.connection() else {
                return;
            };
            let path = format!("/api/v1/door/runs/{run}/end");
            // If the server does not hear it, it sees that this process is gone.
            let _unheard = connection.tell(&path, &json!({})).await;
        }
    }

    /// The life for a directory, announced if there is none.
    async fn life(&self, directory: &str) -> Result<RunId, DoorError> {
        let life = Arc::clone(lock(&self.lives).entry(directory.to_owned()).or_default());
        let begun = life.get_or_try_init(|| self.announce(directory)).await;
        begun.copied()
    }

    async fn announce(&self, directory: &str) -> Result<RunId, DoorError> {
        let connection = self.connection()?;
        let new = NewDoorRun {
            directory: directory.to_owned(),
            program: DoorProgram::AcpProxy,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: process_for(&connection),
        };
        let begun = connection.post::<DoorRun>("/api/v1/door/runs", &new).await;
        match begun.map_err(|error| self.lost(&error)) {
            Ok(begun) => Ok(begun.value.run),
            Err(DoorError::Refused(sentence)) => Err(DoorError::NotServed(sentence)),
            Err(error) => Err(error),
        }
    }

    fn forget(&self, directory: &str, run: RunId) {
        let mut lives = lock(&self.lives);
        if lives.get(directory).and_then(|life| life.get()) == Some(&run) {
            lives.remove(directory);
        }
    }

    fn connection(&self) -> Result<Connection, DoorError> {
        if let Some(connection) = lock(&self.connection).clone() {
            return Ok(connection);
        }
        let found = Connection::find(&self.options, &self.surroundings, &Clock::System);
        let found = found.map_err(|error| DoorError::Away(format!("{error:#}")))?;
        if found.exposes_token() {
            let text = "the token crosses the network unencrypted; use an https address";
            self.voice.say(Topic::Exposed, text);
        }
        *lock(&self.connection) = Some(found.clone());
        Ok(found)
    }

    fn lost_ticket(&self, ticket: &Ticket, error: &anyhow::Error) -> DoorError {
        let error = self.lost(error);
        if matches!(error, DoorError::Forgotten) {
            self.forget(&ticket.directory, ticket.run);
        }
        error
    }

    /// What a failure means, and whether the server has to be looked for again.
    fn lost(&self, error: &anyhow::Error) -> DoorError {
        let sentence = format!("{error:#}");
        let Some(Failure::Refused { body, .. }) = error.downcast_ref() else {
            *lock(&self.connection) = None;
            return DoorError::Away(sentence);
        };
        match body.code {
            ErrorCode::NotFound => DoorError::Forgotten,
            ErrorCode::Internal | ErrorCode::Unavailable | ErrorCode::TooMany => {
                DoorError::Away(sentence)
            }
            ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::ForbiddenOrigin => {
                // A token file may hold another one by the next time.
                *lock(&self.connection) = None;
                DoorError::NotWelcome(sentence)
            }
            ErrorCode::AlreadyAnswered
            | ErrorCode::Over
            | ErrorCode::BadRequest
            | ErrorCode::MethodNotAllowed
            | ErrorCode::Conflict
            | ErrorCode::TooLarge
            | ErrorCode::UnsupportedMediaType
            | ErrorCode::Unprocessable => DoorError::Refused(sentence),
        }
    }
}

fn path_of(ticket: &Ticket, rest: &str) -> String {
    let Ticket { run, ask, .. } = ticket;
    format!("/api/v1/door/runs/{run}/asks/{ask}/{rest}")
}

/// The number of this process, where it means something to the server.
fn process_for(connection: &Connection) -> Option<u32> {
    connection.is_on_this_machine().then(std::process::id)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No step of a change can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
