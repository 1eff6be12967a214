//! Reconciles the ledger with what the engine says it holds: at the start, and after every gap.

use std::collections::{BTreeSet, HashMap, HashSet};

use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_core::id::SessionId;
use countersign_core::session::{Activity, Session, Turn};
use countersign_engine::opencode::{Part, Status, ToolReference};
use serde::Deserialize as _;

use crate::error::BrokerError;
use crate::supervisor::Shared;
use crate::supervisor::intake::item;
use crate::supervisor::run::EngineRun;
use crate::supervisor::turn::send_turn;

/// How many messages of a session are read after a gap.
const MISSED_MESSAGES: u32 = 100;

/// What a tool call shows about the request for leave that it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolShows {
    /// It ran: somebody allowed it.
    Allowed,
    /// It runs: somebody allowed it, or its end is not written down yet.
    Running,
    /// It was refused by a reply that said why, as all of ours do.
    RefusedWithReason,
    /// It was refused without a word: it fell with another one, or the reply was not ours.
    Refused,
    /// It was stopped with its turn.
    Stopped,
    /// Nothing.
    Nothing,
}

impl EngineRun {
    /// Reads the engine's lists and makes the ledger agree with them.
    pub(super) async fn reconcile(&self) -> Result<(), BrokerError> {
        self.reconcile_asks().await?;
        self.reconcile_sessions().await
    }

    /// Reads what the engine waits for and makes the ledger agree with it.
    pub(super) async fn reconcile_asks(&self) -> Result<(), BrokerError> {
        // The asks of the ledger first: one that is opened meanwhile is not taken for one that is gone.
        let live = self.shared.store.live_asks(self.link.run).await?;
        let held = self.take_held().await?;
        for ask in live {
            // What is answered is the courier's: it reads the lists itself before it gives up.
            if ask.state == AskState::Open && !held.contains(&ask.native_id) {
                self.dropped(&ask).await?;
            }
        }
        Ok(())
    }

    /// Reads what the engine's sessions are doing and makes the ledger agree with it.
    pub(super) async fn reconcile_sessions(&self) -> Result<(), BrokerError> {
        self.take_statuses().await?;
        self.send_unsent_turns().await
    }

    /// Takes in everything that the engine waits for, and returns what it calls that.
    pub(super) async fn take_held(&self) -> Result<HashSet<String>, BrokerError> {
        let mut held = HashSet::new();
        for directory in self.directories().await? {
            held.extend(self.take_permissions(&directory).await?);
            let questions = self.link.client.questions(&directory).await;
            for (question, raw) in questions.map_err(BrokerError::Engine)? {
                held.insert(question.id.clone());
                self.take_question(question, raw).await?;
            }
        }
        Ok(held)
    }

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

    /// What the engine's sessions are doing, in all directories.
    pub(super) async fn statuses(&self) -> Result<HashMap<String, Status>, BrokerError> {
        let mut statuses = HashMap::new();
        for directory in self.directories().await? {
            let some = self.link.client.statuses(&directory).await;
            statuses.extend(some.map_err(BrokerError::Engine)?);
        }
        Ok(statuses)
    }

    /// Takes in every permission that the engine waits for, and returns their ids.
    async fn take_permissions(&self, directory: &str) -> Result<HashSet<String>, BrokerError> {
        let permissions = self.link.client.permissions(directory).await;
        let mut held = HashSet::new();
        for (permission, raw) in permissions.map_err(BrokerError::Engine)? {
            held.insert(permission.id.clone());
            self.take_permission(permission, raw).await?;
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
                let held = self.link.client.permissions(&directory).await;
                for (permission, raw) in held.map_err(BrokerError::Engine)? {
                    let known = store.ask_by_native_id(self.link.run, &permission.id);
                    if known.await?.is_none() {
                        is_complete = false;
                        self.take_permission(permission, raw).await?;
                    }
                }
            }
            if is_complete {
                return Ok(());
            }
        }
    }

    /// An open ask that the engine no longer holds: it was answered or dropped while nobody listened.
    pub(super) async fn dropped(&self, ask: &Ask) -> Result<(), BrokerError> {
        match self.tool_shows(ask).await? {
            ToolShows::Allowed | ToolShows::Running => self.foreign(ask, "once").await,
            ToolShows::RefusedWithReason | ToolShows::Refused => self.foreign(ask, "reject").await,
            ToolShows::Stopped | ToolShows::Nothing => {
                let now = self.shared.clock.now();
                self.shared
                    .store
                    .withdraw(ask.id, &Withdrawal::SessionEnded, now)
                    .await?;
                Ok(())
            }
        }
    }

    /// What the tool call of an ask shows, once the engine does not hold the ask any more.
    pub(super) async fn tool_shows(&self, ask: &Ask) -> Result<ToolShows, BrokerError> {
        let Ok(tool) = ToolReference::deserialize(&ask.raw["tool"]) else {
            return Ok(ToolShows::Nothing);
        };
        let Some(session) = self.shared.store.session(ask.session).await? else {
            return Ok(ToolShows::Nothing);
        };
        let call = self
            .link
            .client
            .tool_call(&ask.directory, &session.native_id, &tool)
            .await
            .map_err(BrokerError::Engine)?;
        Ok(call.as_ref().map_or(ToolShows::Nothing, shows))
    }

    async fn take_statuses(&self) -> Result<(), BrokerError> {
        let statuses = self.statuses().await?;
        for native_id in statuses.keys() {
            let session = self.session(native_id).await?;
            self.take_busy(&session).await?;
            self.catch_up(&session).await?;
        }
        for session in self
            .shared
            .store
            .sessions_at_work(self.shared.workspace.id, Session::OPENCODE)
            .await?
        {
            if !statuses.contains_key(&session.native_id) {
                self.catch_up(&session).await?;
                self.take_idle(&session).await?;
            }
        }
        Ok(())
    }

    /// Writes down what was said and done in a session while nobody listened.
    async fn catch_up(&self, session: &Session) -> Result<(), BrokerError> {
        let shared = &self.shared;
        let messages = self
            .link
            .client
            .messages(&session.directory, &session.native_id, MISSED_MESSAGES)
            .await
            .map_err(BrokerError::Engine)?;
        let mut items = Vec::new();
        for (message, parts) in &messages {
            let from_user = message.role == "user";
            let known = |part: &Part| Some((part.id.clone(), item(part, from_user)?));
            items.extend(parts.iter().filter_map(known));
        }
        let now = shared.clock.now();
        shared
            .store
            .put_items(session.workspace, session.id, &items, now)
            .await?;
        let spoken = messages.iter().map(|(message, _)| message);
        if let Some(last) = spoken
            .rev()
            .find(|it| it.role == "assistant" && it.time.completed.is_some())
        {
            self.note_used(session, last).await?;
        }
        Ok(())
    }

    /// Sends what was written down and, as far as is known, never sent; a repetition is harmless.
    async fn send_unsent_turns(&self) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let unsent = store.unsent_turns(self.shared.workspace.id, Session::OPENCODE);
        let sessions: BTreeSet<SessionId> = unsent.await?.iter().map(|turn| turn.session).collect();
        for id in sessions {
            if let Some(session) = store.session(id).await? {
                self.send_waiting_turns(&session).await?;
            }
        }
        Ok(())
    }

    /// Sends what was on its way to a session, and of what waits for it to come to rest the oldest, once it has: the end
    /// of that one sends the next. So what waits here can be taken back.
    pub(super) async fn send_waiting_turns(&self, session: &Session) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let mut unsent = store
            .unsent_turns(session.workspace, Session::OPENCODE)
            .await?;
        unsent.retain(|turn| turn.session == session.id);
        if unsent.is_empty() {
            return Ok(());
        }
        let now = store.session(session.id).await?;
        let open = store.open_turns(session.id).await?;
        let mut is_at_rest = now.is_some_and(|it| it.activity != Activity::Busy)
            && open.iter().all(|turn| unsent.contains(turn));
        for turn in &unsent {
            let is_on_its_way = !store.is_turn_waiting(turn.id).await?;
            if (is_on_its_way || is_at_rest) && self.try_to_send(session, turn).await {
                is_at_rest = false;
            }
        }
        Ok(())
    }

    /// Sends a turn; says whether the engine has it now.
    async fn try_to_send(&self, session: &Session, turn: &Turn) -> bool {
        let shared = &self.shared;
        let sent = send_turn(&shared.store, &shared.clock, &self.link, session, turn);
        // One that the engine does not take has ended, with the reason.
        sent.await.unwrap_or_else(|error| {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a turn could not be sent"
            );
            false
        })
    }
}

/// Reads a tool call whose request for leave is no longer held.
fn shows(call: &Part) -> ToolShows {
    let Some(state) = &call.state else {
        return ToolShows::Nothing;
    };
    match state.status.as_str() {
        "error" if state.error.contains("with the following feedback") => {
            ToolShows::RefusedWithReason
        }
        "error"
            if state.error.contains("rejected permission") || state.error.contains("dismissed") =>
        {
            ToolShows::Refused
        }
        "error" if state.error.contains("aborted") || state.error.contains("interrupted") => {
            ToolShows::Stopped
        }
        // One that failed by itself ran as well.
        "completed" | "error" => ToolShows::Allowed,
        "running" => ToolShows::Running,
        _ => ToolShows::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_call_shows_what_became_of_its_request() {
        let call = |status: &str, error: &str| -> Part {
            serde_json::from_value(json!({
                "id": "prt_1", "messageID": "msg_1", "type": "tool", "tool": "bash", "callID": "call_1",
                "state": { "status": status, "error": error },
            }))
            .unwrap()
        };
        let rejected = "The user rejected permission to use this specific tool call.";
        assert_eq!(shows(&call("completed", "")), ToolShows::Allowed);
        assert_eq!(shows(&call("running", "")), ToolShows::Running);
        assert_eq!(shows(&call("error", "exit status 1")), ToolShows::Allowed);
        assert_eq!(shows(&call("error", rejected)), ToolShows::Refused);
        let corrected = "The user rejected permission to use this specific tool call with the following \
                         feedback: not now";
        assert_eq!(
            shows(&call("error", corrected)),
            ToolShows::RefusedWithReason
        );
        assert_eq!(
            shows(&call("error", "Tool execution aborted")),
            ToolShows::Stopped
        );
        assert_eq!(shows(&call("pending", "")), ToolShows::Nothing);
    }
}
