//! Reconciles the ledger with what the engine says it holds: at the start, and after every gap.

use std::collections::HashSet;

use countersign_core::ask::{Ask, AskState, Withdrawal};
use countersign_core::session::TurnOutcome;
use countersign_engine::opencode::{Part, PromptText, ToolReference};
use serde::Deserialize as _;

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;

/// What a tool call shows about the request for leave that it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolShows {
    /// It went on: somebody allowed it.
    Allowed,
    /// It was refused.
    Refused,
    /// It was stopped with its turn.
    Stopped,
    /// Nothing.
    Nothing,
}

impl EngineRun {
    /// Reads the engine's lists and makes the ledger agree with them.
    pub(super) async fn reconcile(&self) -> Result<(), BrokerError> {
        let client = &self.link.client;
        let directory = &self.shared.workspace.path;
        // The asks of the ledger first: one that is opened meanwhile is not taken for one that is gone.
        let live = self.shared.store.live_asks(self.link.run).await?;
        let permissions = client
            .permissions(directory)
            .await
            .map_err(BrokerError::Engine)?;
        let questions = client
            .questions(directory)
            .await
            .map_err(BrokerError::Engine)?;
        let held: HashSet<String> = permissions
            .iter()
            .map(|(permission, _)| permission.id.clone())
            .chain(questions.iter().map(|(question, _)| question.id.clone()))
            .collect();
        for (permission, raw) in permissions {
            self.take_permission(permission, raw).await?;
        }
        for (question, raw) in questions {
            self.take_question(question, raw).await?;
        }
        for ask in live {
            // What is answered is the courier's: it reads the lists itself before it gives up.
            if ask.state == AskState::Open && !held.contains(&ask.native_id) {
                self.dropped(&ask).await?;
            }
        }
        self.reconcile_sessions().await?;
        self.send_unsent_turns().await
    }

    /// An open ask that the engine no longer holds: it was answered or dropped while nobody listened.
    async fn dropped(&self, ask: &Ask) -> Result<(), BrokerError> {
        match self.tool_shows(ask).await? {
            ToolShows::Allowed => self.foreign(ask, "once").await,
            ToolShows::Refused => self.foreign(ask, "reject").await,
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

    async fn reconcile_sessions(&self) -> Result<(), BrokerError> {
        let directory = &self.shared.workspace.path;
        let statuses = self
            .link
            .client
            .statuses(directory)
            .await
            .map_err(BrokerError::Engine)?;
        for native_id in statuses.keys() {
            let session = self.session(native_id).await?;
            self.take_busy(&session).await?;
        }
        for session in self
            .shared
            .store
            .busy_sessions(self.shared.workspace.id)
            .await?
        {
            if !statuses.contains_key(&session.native_id) {
                self.take_idle(&session).await?;
            }
        }
        Ok(())
    }

    /// Sends what was written down and, as far as is known, never sent; a repetition is harmless.
    async fn send_unsent_turns(&self) -> Result<(), BrokerError> {
        let shared = &self.shared;
        for turn in shared.store.unsent_turns(shared.workspace.id).await? {
            let Some(session) = shared.store.session(turn.session).await? else {
                continue;
            };
            let prompt = PromptText {
                message_id: turn.native_id.clone(),
                text: turn.prompt.clone(),
                model: None,
                agent: None,
            };
            match self
                .link
                .client
                .prompt(&session.directory, &session.native_id, &prompt)
                .await
            {
                Ok(()) => {
                    shared
                        .store
                        .mark_turn_sent(turn.id, shared.clock.now())
                        .await?;
                }
                Err(error) => {
                    let outcome = TurnOutcome::Failed {
                        reason: error.to_string(),
                    };
                    let now = shared.clock.now();
                    shared
                        .store
                        .end_turn(session.workspace, turn.id, &outcome, now)
                        .await?;
                }
            }
        }
        Ok(())
    }
}

/// Reads a tool call whose request for leave is no longer held.
fn shows(call: &Part) -> ToolShows {
    let Some(state) = &call.state else {
        return ToolShows::Nothing;
    };
    match state.status.as_str() {
        "error"
            if state.error.contains("rejected permission") || state.error.contains("dismissed") =>
        {
            ToolShows::Refused
        }
        "error" if state.error.contains("aborted") || state.error.contains("interrupted") => {
            ToolShows::Stopped
        }
        // One that failed by itself ran as well.
        "running" | "completed" | "error" => ToolShows::Allowed,
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
        assert_eq!(shows(&call("running", "")), ToolShows::Allowed);
        assert_eq!(shows(&call("error", "exit status 1")), ToolShows::Allowed);
        assert_eq!(shows(&call("error", rejected)), ToolShows::Refused);
        assert_eq!(
            shows(&call("error", "Tool execution aborted")),
            ToolShows::Stopped
        );
        assert_eq!(shows(&call("pending", "")), ToolShows::Nothing);
    }
}
