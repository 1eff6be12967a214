//! Replies that the engine announces: ours are proof, and anybody else's are noticed.

use countersign_core::ask::{Ask, AskState, Elsewhere, Subject, Withdrawal};
use countersign_core::delivery::{DeliveryState, Evidence, Undeliverable};
use countersign_core::id::{AskId, SessionId};
use countersign_core::time::Timestamp;
use countersign_engine::opencode::Reply;
use countersign_store::{AskFilter, NewAlarm, Store, StoreError};

use crate::error::BrokerError;
use crate::settings::ForeignAnswer;
use crate::supervisor::cancel::stop_session;
use crate::supervisor::courier::{TRY_FOR, wording};
use crate::supervisor::flights::Finding;
use crate::supervisor::run::EngineRun;
use crate::supervisor::{Restart, Shared};

/// How many asks of a session are looked at to find the refusal that another one fell with.
const SIBLINGS: i64 = 50;

/// The reply that allows a thing in every session from then on.
const ALWAYS: &str = "always";

/// A reply that the engine announces.
#[derive(Debug, Clone)]
pub(super) struct Announced {
    /// The request.
    pub(super) request: String,
    /// What was replied, in the engine's words.
    pub(super) reply: String,
    /// The name of the announcement.
    pub(super) event: &'static str,
}

impl EngineRun {
    /// Takes in that the engine announces a reply.
    pub(super) async fn take_reply(&self, announced: Announced) -> Result<(), BrokerError> {
        let finding = self
            .flights()
            .announce(&announced.request, &announced.reply);
        let Some(ask) = self
            .shared
            .store
            .ask_by_native_id(self.link.run, &announced.request)
            .await?
        else {
            return self.unheard_of(&announced).await;
        };
        if announced.reply == ALWAYS && self.link.ours {
            return self.forget_always(&ask, &announced).await;
        }
        match finding {
            Some(Finding::Wait | Finding::LookAgain { .. }) => Ok(()),
            Some(Finding::Delivered) => self.prove(&ask, announced.event).await,
            Some(Finding::AnsweredElsewhere { reply }) => self.foreign(&ask, &reply).await,
            None => self.unsent(&ask, &announced).await,
        }
    }

    /// Somebody told an engine of ours to allow a thing for good, which we never do. The engine would let it pass in every
    /// session from now on, so it begins another life: that ends what somebody left running there as well.
    async fn forget_always(&self, ask: &Ask, announced: &Announced) -> Result<(), BrokerError> {
        let told = self.foreign(ask, &announced.reply).await;
        let forgotten = self.reload().await;
        told.and(forgotten)
    }

    /// Has the engine begin another life after a foreign answer that may be one for good.
    pub(super) async fn reload(&self) -> Result<(), BrokerError> {
        let Shared { store, clock, .. } = &self.shared;
        self.restart(Restart::ForeignAlways);
        for ask in store.live_asks(self.link.run).await? {
            let why = Withdrawal::EngineReloaded {
                after_foreign_answer: true,
            };
            store.withdraw(ask.id, &why, clock.now()).await?;
        }
        Ok(())
    }

    /// Settles an ask's delivery with the engine's announcement as the proof.
    pub(super) async fn prove(&self, ask: &Ask, event: &str) -> Result<(), BrokerError> {
        let evidence = Evidence::Announced {
            event: event.to_owned(),
        };
        self.settle_delivered(ask, &evidence).await
    }

    /// A reply to an ask of ours that this server has not sent.
    async fn unsent(&self, ask: &Ask, announced: &Announced) -> Result<(), BrokerError> {
        if self.link.is_tidied(&announced.request) {
            return Ok(());
        }
        match &ask.state {
            // An earlier server perhaps sent this very reply.
            AskState::Answered(_, delivery)
                if delivery.attempts > 0
                    && wording(ask).is_some_and(|said| said == announced.reply) =>
            {
                let fell = fell_with(&self.shared.store, ask, &announced.reply).await?;
                match fell {
                    None => self.prove(ask, announced.event).await,
                    // Or it fell with another denial: the courier will find in the tool which it was.
                    Some(_) => Ok(()),
                }
            }
            AskState::Open | AskState::Answered(..) => self.foreign(ask, &announced.reply).await,
            // It is over here; the engine only says so too.
            AskState::Delivered(..)
            | AskState::Undeliverable(..)
            | AskState::Expired { .. }
            | AskState::Withdrawn { .. } => Ok(()),
        }
    }

    /// A request ended otherwise than the ledger says: it fell with one that was denied, or somebody
    /// answered past the ledger.
    pub(super) async fn foreign(&self, ask: &Ask, reply: &str) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let now = self.shared.clock.now();
        if let Some(sibling) = fell_with(store, ask, reply).await? {
            self.flights().settle(&ask.native_id);
            let why = Withdrawal::SiblingDenied { sibling };
            if !store.withdraw(ask.id, &why, now).await? {
                let why = Undeliverable::SiblingDenied { sibling };
                store.give_up(ask.id, &why, now).await?;
            }
            return self.follow_up_late(sibling).await;
        }
        let reply = reply.to_owned();
        let ended = if ask.state == AskState::Open {
            store
                .withdraw(
                    ask.id,
                    &Withdrawal::AnsweredElsewhere {
                        reply: reply.clone(),
                        at: Elsewhere::Engine,
                    },
                    now,
                )
                .await?
        } else {
            store
                .give_up(
                    ask.id,
                    &Undeliverable::AnsweredElsewhere {
                        reply: reply.clone(),
                        at: Elsewhere::Engine,
                    },
                    now,
                )
                .await?
        };
        self.flights().settle(&ask.native_id);
        if ended && self.link.ours {
            let what = format!(
                "`{}` was answered with `{reply}` at the engine itself",
                ask.subject.summary()
            );
            self.alarm(Some(ask.id), ask.session, &what).await?;
        }
        Ok(())
    }

    /// A reply to a request that never reached the ledger.
    async fn unheard_of(&self, announced: &Announced) -> Result<(), BrokerError> {
        if self.link.ours && !self.link.is_tidied(&announced.request) {
            if announced.reply == ALWAYS {
                self.restart(Restart::ForeignAlways);
            }
            let message = format!(
                "the engine says that `{}` was answered with `{}`, and it was never asked here",
                announced.request, announced.reply
            );
            tracing::warn!("{message}");
            let alarm = NewAlarm {
                workspace: self.shared.workspace.id,
                session: None,
                ask: None,
                message,
            };
            self.shared
                .store
                .raise_alarm(alarm, self.shared.clock.now())
                .await?;
        }
        Ok(())
    }

    /// Raises the alarm about something that was done past us, and stops the session if that is wished.
    pub(super) async fn alarm(
        &self,
        ask: Option<AskId>,
        session: SessionId,
        what: &str,
    ) -> Result<(), BrokerError> {
        let stops = self.shared.settings.foreign_answer == ForeignAnswer::Abort;
        let done = if stops {
            "the session was stopped"
        } else {
            "the session goes on"
        };
        let message = format!("{what}, past Countersign; {done}");
        tracing::warn!(session.id = %session, "{message}");
        let alarm = NewAlarm {
            workspace: self.shared.workspace.id,
            session: Some(session),
            ask,
            message,
        };
        self.shared
            .store
            .raise_alarm(alarm, self.shared.clock.now())
            .await?;
        let Shared { store, clock, .. } = &self.shared;
        if stops && let Some(session) = store.session(session).await? {
            let stopped = stop_session(store, clock, &self.link, &session).await;
            self.end_unless_stopped(stopped)?;
        }
        Ok(())
    }

    /// Has the engine begin another life if a turn that has to be stopped could not be.
    pub(super) fn end_unless_stopped(
        &self,
        stopped: Result<(), BrokerError>,
    ) -> Result<(), BrokerError> {
        match stopped {
            Err(BrokerError::Engine(error)) => {
                tracing::warn!("a turn could not be stopped: {}", error.sentence());
                self.restart(Restart::Unstoppable);
                Ok(())
            }
            stopped => stopped,
        }
    }

    /// Refuses a request that nobody wants any more.
    pub(super) async fn tidy(&self, request: &str, subject: &Subject) {
        tidy_request(&self.link, &self.shared.workspace.path, request, subject).await;
    }
}

/// The refused ask of the same session that the engine dropped this one with, if that is what happened.
pub(crate) async fn fell_with(
    store: &Store,
    ask: &Ask,
    reply: &str,
) -> Result<Option<AskId>, StoreError> {
    if reply != "reject" || !matches!(ask.subject, Subject::Permission { .. }) {
        return Ok(None);
    }
    let filter = AskFilter {
        session: Some(ask.session),
        ..AskFilter::default()
    };
    let siblings = store.asks(filter, SIBLINGS).await?;
    Ok(siblings
        .into_iter()
        .filter(|sibling| sibling.id != ask.id && sibling.run == ask.run)
        .find(|sibling| can_fell(&sibling.state, ask.opened_at))
        .map(|sibling| sibling.id))
}

/// Refuses a request that the engine still holds and the ledger has ended.
pub(super) async fn tidy_request(
    link: &crate::supervisor::Link,
    directory: &str,
    request: &str,
    subject: &Subject,
) {
    link.note_tidied(request);
    let refused = match subject {
        Subject::Permission { .. } => {
            let reply = Reply::Reject {
                message: "this request is over".to_owned(),
            };
            link.client
                .reply_permission(directory, request, &reply)
                .await
        }
        Subject::Question { .. } | Subject::WorkspaceWrite { .. } => {
            link.client.reject_question(directory, request).await
        }
    };
    if let Err(error) = refused {
        // It is tried again when the lists are next read.
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "a request that is over was not tidied up"
        );
    }
}

/// Whether an ask in this `state`, if it was refused, can have taken another with it that was `opened` then.
fn can_fell(state: &AskState, opened: Timestamp) -> bool {
    let settled = match state {
        // The engine is told a while after that, and again and again if it does not hear it.
        AskState::Expired { at } => at.after(TRY_FOR),
        AskState::Answered(answer, delivery)
        | AskState::Delivered(answer, delivery)
        | AskState::Undeliverable(answer, delivery) => match &delivery.state {
            _ if answer.choice.is_yes() => return false,
            // One that the engine never took.
            DeliveryState::Pending
            | DeliveryState::Undeliverable {
                why: Undeliverable::AnsweredElsewhere { .. } | Undeliverable::Refused { .. },
                ..
            } => return false,
            DeliveryState::Undeliverable { .. } if delivery.attempts == 0 => return false,
            // Perhaps by a server that was killed since. A busy engine may read it at any time.
            DeliveryState::Sending { .. } => return true,
            DeliveryState::Delivered { at, .. } | DeliveryState::Undeliverable { at, .. } => *at,
        },
        AskState::Open | AskState::Withdrawn { .. } => return false,
    };
    // What the engine opened before it took the refusal was written down before that, too: it tells of things in order, and
    // what is found in its lists counts from when they were read.
    settled >= opened
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::actor::{Actor, ActorKind, Surface};
    use countersign_core::answer::{Answer, Choice};
    use countersign_core::delivery::Delivery;
    use countersign_core::id::ActorId;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn answered(choice: Choice, state: DeliveryState) -> AskState {
        let by = Actor {
            id: ActorId::generate(at(0)),
            kind: ActorKind::Person,
            name: "ada".to_owned(),
        };
        let answer = Answer {
            choice,
            by,
            surface: Surface::Web,
            at: at(10),
            rule: None,
        };
        AskState::Answered(answer, Delivery { state, attempts: 1 })
    }

    #[test]
    fn a_refusal_that_is_perhaps_on_its_way_fells_whatever_is_asked_meanwhile() {
        let denial = Choice::Deny { reason: None };
        let sending = DeliveryState::Sending { since: at(11) };
        assert!(can_fell(
            &answered(denial.clone(), sending.clone()),
            at(900)
        ));
        assert!(!can_fell(&answered(denial, DeliveryState::Pending), at(9)));
        assert!(!can_fell(&answered(Choice::AllowOnce, sending), at(9)));
    }

    #[test]
    fn a_refusal_that_is_settled_fells_nothing_that_is_asked_long_after() {
        let denial = Choice::Deny { reason: None };
        let settled = DeliveryState::Delivered {
            at: at(100),
            evidence: Evidence::Announced {
                event: "permission.replied".to_owned(),
            },
        };
        let over = answered(denial.clone(), settled);
        assert!(can_fell(&over, at(50)));
        assert!(can_fell(&over, at(100)));
        assert!(!can_fell(&over, at(101)));
        let elsewhere = DeliveryState::Undeliverable {
            at: at(100),
            why: Undeliverable::AnsweredElsewhere {
                reply: "once".to_owned(),
                at: Elsewhere::Engine,
            },
        };
        assert!(!can_fell(&answered(denial, elsewhere), at(50)));
        assert!(!can_fell(&AskState::Open, at(50)));
    }
}
