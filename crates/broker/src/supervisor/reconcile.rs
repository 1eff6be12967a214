//! Reconciles the ledger with what the engine says it holds: at the start, and after every gap.

use std::collections::BTreeSet;
use std::time::Duration;

use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_core::id::SessionId;
use countersign_core::session::{Activity, Session, Turn};
use countersign_engine::opencode::{ClientError, Message, Part, ToolReference};
use countersign_store::NewAlarm;
use serde::Deserialize as _;

use crate::error::BrokerError;
use crate::supervisor::Shared;
use crate::supervisor::held::{Doing, Holding};
use crate::supervisor::intake::item;
use crate::supervisor::run::EngineRun;
use crate::supervisor::turn::send_turn;

/// How many messages of a session are read after a gap.
const MISSED_MESSAGES: u32 = 100;
/// How often a tool call is read before it counts as one that cannot be.
const TOOL_TRIES: u32 = 3;
/// How long to wait before a tool call is read again.
const TOOL_PAUSE: Duration = Duration::from_millis(300);

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

    /// Reads what the engine waits for and makes the ledger agree with it. Where that cannot be read, an ask stays open
    /// unless its tool call has gone on.
    pub(super) async fn reconcile_asks(&self) -> Result<(), BrokerError> {
        // The asks of the ledger first: one that is opened meanwhile is not taken for one that is gone.
        let live = self.shared.store.live_asks(self.link.run).await?;
        let held = self.take_held().await?;
        // What is answered is the courier's: it looks itself before it gives up.
        for ask in live.iter().filter(|ask| ask.state == AskState::Open) {
            match held.holding(ask) {
                Holding::Held => {}
                Holding::NotHeld => self.dropped(ask).await?,
                Holding::Unknown => {
                    if self.has_gone_on(ask).await? {
                        self.dropped(ask).await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads what the engine's sessions are doing and makes the ledger agree with it.
    pub(super) async fn reconcile_sessions(&self) -> Result<(), BrokerError> {
        self.take_statuses().await?;
        self.send_unsent_turns().await
    }

    /// Whether the tool call of an ask shows that the engine waits for nothing any more.
    async fn has_gone_on(&self, ask: &Ask) -> Result<bool, BrokerError> {
        Ok(match self.tool_shows(ask).await {
            Ok(
                ToolShows::Allowed
                | ToolShows::RefusedWithReason
                | ToolShows::Refused
                | ToolShows::Stopped,
            ) => true,
            // A tool that waits for leave is running as well.
            Ok(ToolShows::Running | ToolShows::Nothing) | Err(BrokerError::Engine(_)) => false,
            Err(error) => return Err(error),
        })
    }

    /// An open ask that the engine no longer holds: it was answered or dropped while nobody listened.
    pub(super) async fn dropped(&self, ask: &Ask) -> Result<(), BrokerError> {
        let shows = match self.tool_shows_patiently(ask).await {
            Err(BrokerError::Engine(error))
                if !matches!(error, ClientError::Unreachable { .. }) =>
            {
                return self.lose(ask, error.sentence()).await;
            }
            shows => shows?,
        };
        match shows {
            ToolShows::Allowed | ToolShows::Running => {
                let told = self.foreign(ask, "once").await;
                // Nobody heard what it was answered with: it may have been allowed for good.
                if self.link.ours {
                    self.reload().await?;
                }
                told
            }
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

    /// Ends an open ask of which nothing can be found out. On an engine of ours that is worth an alarm: somebody may have
    /// answered it there.
    async fn lose(&self, ask: &Ask, message: String) -> Result<(), BrokerError> {
        let Shared { store, clock, .. } = &self.shared;
        let what = ask.subject.summary();
        let alarm = format!("what became of `{what}` at the engine is not known: {message}");
        let why = Withdrawal::Lost { message };
        if store.withdraw(ask.id, &why, clock.now()).await? && self.link.ours {
            tracing::warn!(ask.id = %ask.id, "{alarm}");
            let alarm = NewAlarm {
                workspace: ask.workspace,
                session: Some(ask.session),
                ask: Some(ask.id),
                message: alarm,
            };
            store.raise_alarm(alarm, clock.now()).await?;
        }
        Ok(())
    }

    /// The same as [`Self::tool_shows`], tried again where it cannot be read.
    async fn tool_shows_patiently(&self, ask: &Ask) -> Result<ToolShows, BrokerError> {
        for _ in 1..TOOL_TRIES {
            match self.tool_shows(ask).await {
                Err(BrokerError::Engine(_)) => tokio::time::sleep(TOOL_PAUSE).await,
                shows => return shows,
            }
        }
        self.tool_shows(ask).await
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
        for native_id in statuses.busy.keys() {
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
            match statuses.doing(&session) {
                Doing::Busy => {}
                Doing::Idle => {
                    self.catch_up(&session).await?;
                    self.take_idle(&session).await?;
                }
                // It has come to rest if its messages say so.
                Doing::Unknown => self.catch_up(&session).await?,
            }
        }
        Ok(())
    }

    /// Writes down what was said and done in a session while nobody listened.
    async fn catch_up(&self, session: &Session) -> Result<(), BrokerError> {
        let shared = &self.shared;
        let client = &self.link.client;
        let read = client.messages(&session.directory, &session.native_id, MISSED_MESSAGES);
        let messages = match read.await {
            Ok(messages) => messages,
            Err(error) => {
                let why = error.sentence();
                tracing::warn!(session.id = %session.id, "the transcript has a gap: {why}");
                return Ok(());
            }
        };
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
        // What followed from our own prompts, and what a sub-agent did, was asked for here; what a session did before that is
        // its own affair.
        let turns = shared.store.open_turns(session.id).await?;
        let prompts: Vec<Option<&str>> = turns.iter().map(|it| Some(&*it.native_id)).collect();
        let ours = |message: &Message| {
            session.parent.is_some() || prompts.contains(&message.parent_id.as_deref())
        };
        for (_, parts) in messages.iter().filter(|(message, _)| ours(message)) {
            for part in parts {
                self.check_call(session, part).await?;
            }
        }
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
