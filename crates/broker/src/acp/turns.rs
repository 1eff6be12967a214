//! The turns of a session, one at a time: each is said to the agent once, and ends when the agent says so.

use std::time::Duration;

use countersign_core::ask::Withdrawal;
use countersign_core::id::TurnId;
use countersign_core::session::{Activity, Item, Session, Turn, TurnOutcome};
use countersign_engine::acp::message::{Params, RpcError, RpcId};
use countersign_engine::acp::session::{self, PromptAnswer, StopReason, read_prompt};
use countersign_store::{AskFilter, StoreError};
use tokio::time::Instant;

use crate::acp::driver::Driver;
use crate::acp::noise::Moment;
use crate::acp::progress::{Ended, Progress};
use crate::acp::settings::Readiness;
use crate::acp::wire::Purpose;
use crate::acp::{answers, failed};
use crate::standstill::{self, Step};

/// How long an agent has to end a turn that was cancelled.
const CANCEL_LIMIT: Duration = Duration::from_secs(10);
/// More asks than one turn has.
const ASKS_OF_A_TURN: i64 = 200;
/// The longest title that is made of a prompt, in characters.
const TITLE_LENGTH: usize = 80;

impl Driver {
    /// Takes up the oldest turn that has not ended: prompts the agent, unless it was prompted before.
    pub(super) async fn take_up_turn(&mut self) -> Result<(), StoreError> {
        for turn in self.shared().store.open_turns(self.session.id).await? {
            let is_with_agent = self.out.was_accepted(&turn.id.to_string());
            if turn.cancelled_at.is_some() && !is_with_agent {
                self.end_in_ledger_alone(turn.id).await?;
                continue;
            }
            let readiness = if is_with_agent {
                Readiness::Ready
            } else {
                self.ready_for(&turn).await?
            };
            match readiness {
                Readiness::Ready => {
                    let store = &self.shared().store;
                    // From here on nobody takes it back.
                    if !store.claim_turn(turn.id, self.shared().clock.now()).await? {
                        continue;
                    }
                    self.prompt(&turn).await?;
                }
                Readiness::Waiting => break,
                Readiness::Impossible(why) => {
                    self.end_unsaid(&turn, why).await?;
                    continue;
                }
            }
            if is_with_agent {
                // It is a turn of an earlier server: what that server knew of it is in the ledger.
                self.progress = Progress::of_earlier_server();
                self.has_denied = self.has_denied_since(&turn).await?;
            }
            if turn.cancelled_at.is_some() {
                self.cancel().await?;
            }
            break;
        }
        self.look_for_turns = false;
        Ok(())
    }

    /// Ends a turn that cannot be said to the agent.
    async fn end_unsaid(&mut self, turn: &Turn, why: String) -> Result<(), StoreError> {
        self.show(turn).await?;
        let shared = self.agents.shared();
        let now = shared.clock.now();
        shared
            .store
            .end_turn(self.session.workspace, turn.id, &failed(why), now)
            .await?;
        shared
            .store
            .set_activity(self.session.id, Activity::Idle, now)
            .await?;
        self.turns_taken += 1;
        self.settings.forget_turn();
        Ok(())
    }

    /// Ends a turn as cancelled that the agent never heard of.
    async fn end_in_ledger_alone(&mut self, turn: TurnId) -> Result<(), StoreError> {
        let shared = self.agents.shared();
        let outcome = TurnOutcome::Cancelled;
        shared
            .store
            .end_turn(self.session.workspace, turn, &outcome, shared.clock.now())
            .await?;
        Ok(())
    }

    async fn has_denied_since(&mut self, turn: &Turn) -> Result<bool, StoreError> {
        let filter = AskFilter {
            session: Some(self.session.id),
            ..AskFilter::default()
        };
        let asks = self.shared().store.asks(filter, ASKS_OF_A_TURN).await?;
        Ok(asks
            .iter()
            .any(|ask| ask.opened_at >= turn.started_at && answers::is_no(ask)))
    }

    /// Shows what was said.
    async fn show(&mut self, turn: &Turn) -> Result<(), StoreError> {
        let item = Item::Prompt {
            text: turn.prompt.clone(),
            follows: turn.follows,
        };
        let key = format!("{}/prompt", turn.id);
        self.page().put(&key, &item).await
    }

    async fn prompt(&mut self, turn: &Turn) -> Result<(), StoreError> {
        let id = turn.id.to_string();
        self.show(turn).await?;
        let parts = if self.out.was_accepted(&id) {
            None
        } else {
            Some(self.tell_of(turn).await?)
        };
        self.name_after(turn).await?;
        let shared = self.agents.shared();
        shared
            .store
            .set_activity(self.session.id, Activity::Busy, shared.clock.now())
            .await?;
        self.turn = Some(turn.id);
        self.turns_taken += 1;
        self.is_unsaid = false;
        self.has_denied = false;
        self.progress = Progress::default();
        self.is_following_up = turn.follows.is_some();
        self.has_told_expiry = false;
        self.tells_history = false;
        self.settings.forget_turn();
        match parts {
            // The agent has it from an earlier server.
            None => Ok(()),
            Some(Ok(parts)) => {
                standstill::before(Step::Prompt).await;
                let line = session::prompt(&id, &self.session.native_id, parts);
                self.out.push(Purpose::Prompt(turn.id), id, line);
                Ok(())
            }
            Some(Err(why)) => self.end_turn(&failed(why)).await,
        }
    }

    /// A session without a title is called after the first thing that is said in it.
    async fn name_after(&mut self, turn: &Turn) -> Result<(), StoreError> {
        if !self.session.title.is_empty() {
            return Ok(());
        }
        let first = turn
            .prompt
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty());
        let title: String = first
            .unwrap_or_default()
            .chars()
            .take(TITLE_LENGTH)
            .collect();
        let shared = self.agents.shared();
        let session = Session {
            title,
            changed_at: shared.clock.now(),
            ..self.session.clone()
        };
        self.session = shared.store.put_session(&session).await?;
        Ok(())
    }

    /// Takes in a response: that to the prompt ends the turn, that to a setting tells whether it is set, and no other
    /// means anything here.
    pub(super) async fn take_response(
        &mut self,
        id: &RpcId,
        outcome: Result<Params, RpcError>,
    ) -> Result<(), StoreError> {
        if let Some(request) = id.ours().filter(|id| self.settings.is_pending(id)) {
            return self.take_set(&request, outcome).await;
        }
        let is_ours = self
            .turn
            .is_some_and(|turn| id.ours() == Some(turn.to_string()));
        if !is_ours {
            return Ok(());
        }
        self.await_answers().await?;
        match outcome {
            Ok(result) => match read_prompt(self.shape, &result) {
                PromptAnswer::Ended(reason) => self.end_with(&reason).await,
                PromptAnswer::Taken { .. } => match self.progress.is_taken() {
                    Some(ended) => self.end_as_said(ended).await,
                    None => Ok(()),
                },
            },
            Err(_) if self.cancelled_until.is_some() => {
                self.end_turn(&TurnOutcome::Cancelled).await
            }
            Err(error) if error.wants_sign_in() => {
                let how = &self.agent.sign_in.how;
                let reason = format!("the agent wants you to sign in first: {how}");
                self.end_turn(&failed(reason)).await
            }
            Err(error) => {
                let more = error.data.as_ref().map(|data| format!(" {data}"));
                let reason = format!("the agent failed: {error}{}", more.unwrap_or_default());
                self.end_turn(&failed(reason)).await
            }
        }
    }

    /// Ends the turn for the reason that the agent gives.
    pub(super) async fn end_with(&mut self, reason: &StopReason) -> Result<(), StoreError> {
        let outcome = match reason {
            StopReason::EndTurn => TurnOutcome::Completed,
            // Some agents end the turn with every refusal.
            StopReason::Cancelled if self.cancelled_until.is_none() && self.has_denied => {
                TurnOutcome::Denied
            }
            StopReason::Cancelled => TurnOutcome::Cancelled,
            StopReason::MaxTokens => failed("the model may say no more in this turn".to_owned()),
            StopReason::MaxTurnRequests => {
                failed("the model may be asked no more in this turn".to_owned())
            }
            StopReason::Refusal => failed("the agent refuses to go on".to_owned()),
            StopReason::Other(word) => {
                let text =
                    format!("The agent ended the turn with `{word}`, which is not known here.");
                self.note("stop reason", text).await?;
                TurnOutcome::Completed
            }
        };
        self.end_turn(&outcome).await
    }

    /// Ends the turn of an agent that says so without being asked, and not always why.
    pub(super) async fn end_as_said(&mut self, ended: Ended) -> Result<(), StoreError> {
        match (ended, self.cancelled_until) {
            (Ended(Some(reason)), _) => self.end_with(&reason).await,
            (Ended(None), Some(_)) => self.end_turn(&TurnOutcome::Cancelled).await,
            (Ended(None), None) => self.end_turn(&TurnOutcome::Completed).await,
        }
    }

    pub(super) async fn end_turn(&mut self, outcome: &TurnOutcome) -> Result<(), StoreError> {
        let Some(turn) = self.turn else {
            return Ok(());
        };
        self.finish_words().await?;
        self.close_calls().await?;
        self.tell_noise(Moment::TheEnd).await?;
        self.catch_up().await?;
        // The agent has gone on without them.
        self.withdraw_all(&Withdrawal::SessionEnded).await?;
        let shared = self.agents.shared();
        let now = shared.clock.now();
        standstill::before(Step::LastMessage).await;
        shared
            .store
            .end_turn(self.session.workspace, turn, outcome, now)
            .await?;
        standstill::after(Step::LastMessage).await;
        shared
            .store
            .set_activity(self.session.id, Activity::Idle, now)
            .await?;
        shared.live.forget(self.session.id);
        self.hosting.end_turn();
        self.turn = None;
        self.cancelled_until = None;
        self.look_for_turns = true;
        self.note_taken(1).await
    }

    /// Stops what is going on: the ledger first, then the agent, which has a while to come to an end.
    pub(super) async fn cancel(&mut self) -> Result<(), StoreError> {
        for waiting in self.shared().store.open_turns(self.session.id).await? {
            // What we would say by ourselves may have been written down just after it was cancelled.
            let goes_with_it = waiting.cancelled_at.is_some() || waiting.follows.is_some();
            if Some(waiting.id) != self.turn && goes_with_it {
                self.end_in_ledger_alone(waiting.id).await?;
            }
        }
        if self.turn.is_none() {
            self.settings.forget_turn();
        }
        if let Some(turn) = self.turn
            && self.cancelled_until.is_none()
        {
            self.cancelled_until = Some(Instant::now() + CANCEL_LIMIT);
            let line = session::cancel(&self.session.native_id);
            self.out
                .push(Purpose::Other, format!("cancel-{turn}"), line);
        }
        self.cancel_hosting();
        self.withdraw_all(&Withdrawal::TurnCancelled).await
    }
}
