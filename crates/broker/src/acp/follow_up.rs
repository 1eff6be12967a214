//! What an agent is told after a refusal, as a prompt of its own: the reason, or that nobody answered.

use countersign_core::actor::ActorKind;
use countersign_core::ask::{Ask, AskState, Subject};
use countersign_store::{NewTurn, StoreError};

use crate::acp::driver::Driver;
use crate::follow_up::{denial_words, turn_after};

impl Driver {
    /// The protocol has no place for the reason of a refusal: it follows as the next prompt. Nothing follows in a turn
    /// that somebody has cancelled meanwhile.
    pub(super) async fn follow_up(&mut self, ask: &Ask) -> Result<(), StoreError> {
        let (Some(id), None) = (turn_after(ask.id), self.cancelled_until) else {
            return Ok(());
        };
        let is_expired = matches!(ask.state, AskState::Expired { .. });
        let prompt = if is_expired {
            self.words_after_expiry(ask)
        } else if is_denied_by_job(ask) && (self.is_following_up || self.has_told_expiry) {
            None
        } else {
            words_after_denial(ask)
        };
        let Some(prompt) = prompt else {
            return Ok(());
        };
        let new = NewTurn {
            id,
            session: self.session.id,
            native_id: id.to_string(),
            prompt,
            model: None,
            mode: None,
            agent: None,
            follows: Some(ask.id),
        };
        let shared = self.agents.shared();
        let (workspace, now) = (self.session.workspace, shared.clock.now());
        match ask.state.answer() {
            Some(answer) => {
                shared
                    .store
                    .begin_turn(workspace, new, &answer.by, now)
                    .await?
            }
            None => shared.store.begin_own_turn(workspace, new, now).await?,
        };
        self.has_told_expiry |= is_expired || is_denied_by_job(ask);
        self.look_for_turns = true;
        Ok(())
    }

    /// What the agent is told when nobody answered. It is said once in a turn, and never because of what the agent asks
    /// when it is said: where nobody answers there would be no end of it.
    fn words_after_expiry(&self, ask: &Ask) -> Option<String> {
        if self.is_following_up || self.has_told_expiry {
            return None;
        }
        let what = ask.subject.summary();
        match ask.subject {
            Subject::Permission { .. } => Some(format!(
                "Nobody answered in time whether `{what}` may be done, so it was refused. No person has looked at it."
            )),
            Subject::Question { .. } => Some(format!(
                "Nobody answered in time: `{what}` No person has looked at it."
            )),
            // No agent asks for one.
            Subject::WorkspaceWrite { .. } => None,
        }
    }
}

/// What the agent is told when somebody denied what it asked for and said why. A rule's no is not explained: an agent
/// that tries again for every explanation would never come to an end.
fn words_after_denial(ask: &Ask) -> Option<String> {
    let answer = ask.state.answer().filter(|answer| answer.rule.is_none())?;
    let reason = answer.choice.reason()?;
    Some(denial_words(ask, reason))
}

/// Whether it was denied because the ask's job says so, and by nobody who looked at it. That is told once in a turn, as it
/// is when nobody answers.
fn is_denied_by_job(ask: &Ask) -> bool {
    let answer = ask.state.answer();
    answer.is_some_and(|answer| answer.by.kind == ActorKind::Rule && answer.rule.is_none())
}
