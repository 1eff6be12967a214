//! What the engine holds and does, as far as its lists can be read.
//!
//! No list is needed for anything that is known already: one request that opencode cannot put into its answer makes the
//! whole list unreadable. What cannot be read is noted for people (`unread`), read again by the lookout, and nothing follows
//! from what it does not say.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use countersign_core::ask::{Ask, AskState, Subject, Withdrawal};
use countersign_core::session::Session;
use countersign_engine::opencode::{ClientError, Permission, Status};
use serde_json::Value;

use crate::error::BrokerError;
use crate::supervisor::Shared;
use crate::supervisor::run::EngineRun;

/// A list of the engine's, of one directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum List {
    /// The permission requests that wait.
    Permissions,
    /// The questions that wait.
    Questions,
    /// What the sessions do.
    Statuses,
}

/// The lists that cannot be read now, each with its directory and why.
pub(super) type Unread = BTreeMap<(List, String), String>;

/// Whether the engine waits for an answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    /// It does.
    Held,
    /// It does not, or no longer.
    NotHeld,
    /// The list cannot be read.
    Unknown,
}

/// What a session does, as the engine tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// A turn is under way.
    Busy,
    /// Nothing.
    Idle,
    /// The list cannot be read.
    Unknown,
}

/// The requests that the engine waits for an answer to.
#[derive(Debug, Default)]
pub(super) struct Held {
    requests: HashSet<String>,
    unread: HashSet<(List, String)>,
}

impl Held {
    /// Whether the request of `ask` is among them.
    pub(super) fn holding(&self, ask: &Ask) -> Holding {
        let list = (list_of(&ask.subject), ask.directory.clone());
        if self.requests.contains(&ask.native_id) {
            Holding::Held
        } else if self.unread.contains(&list) {
            Holding::Unknown
        } else {
            Holding::NotHeld
        }
    }
}

/// What the engine's sessions do.
#[derive(Debug, Default)]
pub(super) struct Statuses {
    /// Those that are not idle, by the engine's own ids.
    pub(super) busy: HashMap<String, Status>,
    unread: HashSet<String>,
}

impl Statuses {
    /// What `session` does.
    pub(super) fn doing(&self, session: &Session) -> Doing {
        if self.busy.contains_key(&session.native_id) {
            Doing::Busy
        } else if self.unread.contains(&session.directory) {
            Doing::Unknown
        } else {
            Doing::Idle
        }
    }
}

const fn list_of(subject: &Subject) -> List {
    match subject {
        Subject::Permission { .. } => List::Permissions,
        Subject::Question { .. } | Subject::WorkspaceWrite { .. } => List::Questions,
    }
}

impl EngineRun {
    /// Where the engine's sessions work: in the workspace, and in the worktrees of jobs. The engine lists what goes on by
    /// directory.
    pub(super) async fn directories(&self) -> Result<BTreeSet<String>, BrokerError> {
        let Shared {
            store, workspace, ..
        } = &self.shared;
        let at_work = store
            .sessions_at_work(workspace.id, Session::OPENCODE)
            .await?;
        let worktrees = at_work.into_iter().map(|session| session.directory);
        Ok(worktrees.chain([workspace.path.clone()]).collect())
    }

    /// Takes in everything that the engine says it waits for.
    pub(super) async fn take_held(&self) -> Result<Held, BrokerError> {
        let mut held = Held::default();
        let directories = self.directories().await?;
        self.unread.send_if_modified(|unread| {
            let before = unread.len();
            unread.retain(|(_, directory), _| directories.contains(directory));
            unread.len() != before
        });
        for directory in directories {
            let seen_at = self.shared.clock.now();
            match self.permissions(&directory).await {
                Some(permissions) => {
                    for (permission, raw) in permissions {
                        held.requests.insert(permission.id.clone());
                        self.take_permission(permission, raw, seen_at).await?;
                    }
                }
                None => {
                    held.unread.insert((List::Permissions, directory.clone()));
                }
            }
            let questions = self.link.client.questions(&directory).await;
            match self.noted(List::Questions, &directory, questions) {
                Some(questions) => {
                    for (question, raw) in questions {
                        held.requests.insert(question.id.clone());
                        self.take_question(question, raw, seen_at).await?;
                    }
                }
                None => {
                    held.unread.insert((List::Questions, directory));
                }
            }
        }
        Ok(held)
    }

    /// Takes in what the engine waits for and has not told us yet, until there is nothing more: what is about
    /// to fall with a denial is in the ledger before it falls.
    pub(super) async fn take_unheard_permissions(&self) -> Result<(), BrokerError> {
        let Shared { store, .. } = &self.shared;
        loop {
            let mut is_complete = true;
            for directory in self.directories().await? {
                let seen_at = self.shared.clock.now();
                let held = self.permissions(&directory).await;
                for (permission, raw) in held.into_iter().flatten() {
                    let known = store.ask_by_native_id(self.link.run, &permission.id);
                    if known.await?.is_none() {
                        is_complete = false;
                        self.take_permission(permission, raw, seen_at).await?;
                    }
                }
            }
            if is_complete {
                return Ok(());
            }
        }
    }

    /// Ends the open asks of a directory, or of all, whose instance the engine threw away: it says nothing more of them.
    pub(super) async fn withdraw_disposed(
        &self,
        directory: Option<&str>,
    ) -> Result<(), BrokerError> {
        let Shared { store, clock, .. } = &self.shared;
        for ask in store.live_asks(self.link.run).await? {
            let is_concerned = directory.is_none_or(|directory| ask.directory == directory);
            if is_concerned
                && ask.state == AskState::Open
                && self.holding(&ask).await == Holding::NotHeld
            {
                let why = Withdrawal::EngineReloaded {
                    after_foreign_answer: false,
                };
                store.withdraw(ask.id, &why, clock.now()).await?;
            }
        }
        Ok(())
    }

    /// Whether the engine holds the request of `ask`.
    pub(super) async fn holding(&self, ask: &Ask) -> Holding {
        let directory = &ask.directory;
        let list = list_of(&ask.subject);
        let ids: Option<Vec<String>> = match list {
            List::Permissions => {
                let held = self.permissions(directory).await;
                held.map(|held| held.into_iter().map(|(it, _)| it.id).collect())
            }
            List::Questions | List::Statuses => {
                let held = self.link.client.questions(directory).await;
                let held = self.noted(list, directory, held);
                held.map(|held| held.into_iter().map(|(it, _)| it.id).collect())
            }
        };
        match ids {
            Some(ids) if ids.contains(&ask.native_id) => Holding::Held,
            Some(_) => Holding::NotHeld,
            None => Holding::Unknown,
        }
    }

    /// What the engine's sessions do, in all directories.
    pub(super) async fn statuses(&self) -> Result<Statuses, BrokerError> {
        let mut statuses = Statuses::default();
        for directory in self.directories().await? {
            match self.statuses_in(&directory).await {
                Some(busy) => statuses.busy.extend(busy),
                None => {
                    statuses.unread.insert(directory);
                }
            }
        }
        Ok(statuses)
    }

    /// What `session` does.
    pub(super) async fn doing(&self, session: &Session) -> Doing {
        match self.statuses_in(&session.directory).await {
            Some(busy) if busy.contains_key(&session.native_id) => Doing::Busy,
            Some(_) => Doing::Idle,
            None => Doing::Unknown,
        }
    }

    /// Whether a list could not be read when it was last tried.
    pub(super) fn has_unread(&self) -> bool {
        !self.unread.borrow().is_empty()
    }

    async fn permissions(&self, directory: &str) -> Option<Vec<(Permission, Value)>> {
        let held = self.link.client.permissions(directory).await;
        self.noted(List::Permissions, directory, held)
    }

    async fn statuses_in(&self, directory: &str) -> Option<HashMap<String, Status>> {
        let statuses = self.link.client.statuses(directory).await;
        self.noted(List::Statuses, directory, statuses)
    }

    /// What was read of a list, noting whether it could be.
    fn noted<T>(&self, list: List, directory: &str, read: Result<T, ClientError>) -> Option<T> {
        let key = (list, directory.to_owned());
        match read {
            Ok(read) => {
                self.unread
                    .send_if_modified(|unread| unread.remove(&key).is_some());
                Some(read)
            }
            Err(error) => {
                let why = error.sentence();
                self.unread.send_if_modified(|unread| {
                    let is_new = unread.get(&key) != Some(&why);
                    if is_new {
                        tracing::warn!("{why}");
                        unread.insert(key, why);
                    }
                    is_new
                });
                None
            }
        }
    }
}
