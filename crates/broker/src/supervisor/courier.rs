//! Carries answers to the engine until each is proved to have arrived, or never will.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskState, Subject};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::id::{AskId, TurnId};
use countersign_engine::opencode::{ClientError, Replied, Reply};
use countersign_store::{NewTurn, Parcel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;
use crate::follow_up::{denial_words, turn_after};
use crate::standstill::{self, Step};
use crate::supervisor::Shared;
use crate::supervisor::cancel::cancel_turn;
use crate::supervisor::flights::{Finding, Landing};
use crate::supervisor::foreign::fell_with;
use crate::supervisor::held::{Doing, Holding};
use crate::supervisor::message_id;
use crate::supervisor::reconcile::ToolShows;
use crate::supervisor::run::EngineRun;
use crate::supervisor::turn::{send_or_hold, send_turn};

/// How long an announcement is waited for before a reply counts as lost.
const ANNOUNCEMENT_PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait before an engine that cannot be reached is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How many tries a tool that should have been refused may go on for before it counts as allowed.
const PATIENT_TRIES: u32 = 3;
/// For how long an engine that is followed is told the same again before nobody believes any more that it takes it.
pub(super) const TRY_FOR: Duration = Duration::from_mins(2);
/// How many replies are under way at once.
const AT_ONCE: usize = 16;
/// How often the outbox is looked at when nothing wakes us.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What the model reads when a person said no and not why.
pub(crate) const DENIED: &str =
    "A person denied this. Do not try it again in another way; ask what to do instead.";
/// What the model reads when nobody said anything. It is not a person's no.
pub(crate) const NOBODY_ANSWERED: &str =
    "Nobody answered this request in time, so it was not allowed. No person has looked at it.";

/// Carries what is in the outbox for this life of the engine until `over`.
///
/// Each delivery is a task of its own: one that waits for the ledger must never be in the way of the loop
/// that reads the ledger. Nothing leaves while the engine is not listened to: a denial takes other asks of its
/// session with it, and those have to be in the ledger first.
pub(super) async fn carry(run: Arc<EngineRun>, over: CancellationToken) {
    let mut head = run.shared.store.head();
    let mut following = run.following();
    let mut under_way: JoinSet<()> = JoinSet::new();
    let carried: Arc<Mutex<HashSet<AskId>>> = Arc::default();
    loop {
        tokio::select! {
            () = over.cancelled() => return,
            heard = following.wait_for(|following| *following) => if heard.is_err() { return },
        }
        head.mark_unchanged();
        let mut wait = LOOK_AGAIN;
        // What comes back while the outbox is read is in it as it was before.
        let away = lock(&carried).clone();
        match run.shared.store.parcels(run.link.run).await {
            Ok(parcels) => {
                let now = run.shared.clock.now();
                let held_back = held_back(&parcels, &away);
                for parcel in parcels {
                    let due_in = parcel.due_at.since(now);
                    if under_way.len() >= AT_ONCE {
                        break;
                    }
                    if away.contains(&parcel.ask.id) || held_back.contains(&parcel.ask.id) {
                        continue;
                    }
                    if !due_in.is_zero() {
                        wait = wait.min(due_in);
                    } else if lock(&carried).insert(parcel.ask.id) {
                        under_way.spawn(deliver(Arc::clone(&run), parcel, Arc::clone(&carried)));
                    }
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the outbox cannot be read"
                );
                wait = RETRY;
            }
        }
        tokio::select! {
            () = over.cancelled() => return,
            Some(_) = under_way.join_next() => {}
            changed = head.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// The denials that have to wait: one that overtook another answer of its session would take it down.
fn held_back(parcels: &[Parcel], carried: &HashSet<AskId>) -> HashSet<AskId> {
    let denies = |parcel: &Parcel| wording(&parcel.ask) == Some("reject");
    let goes_first = |parcel: &Parcel| !parcel.perhaps_sent || carried.contains(&parcel.ask.id);
    let answered_at = |parcel: &Parcel| parcel.ask.state.answer().map(|answer| answer.at);
    parcels
        .iter()
        .filter(|denial| denies(denial))
        .filter(|denial| {
            parcels.iter().any(|other| {
                let is_sibling = other.ask.session == denial.ask.session
                    && other.ask.id != denial.ask.id
                    && matches!(other.ask.subject, Subject::Permission { .. });
                // Of two denials the earlier goes first.
                let is_before = !denies(other) || answered_at(other) < answered_at(denial);
                is_sibling && is_before && goes_first(other)
            })
        })
        .map(|denial| denial.ask.id)
        .collect()
}

/// Tries to deliver one parcel.
async fn deliver(run: Arc<EngineRun>, parcel: Parcel, carried: Arc<Mutex<HashSet<AskId>>>) {
    let id = parcel.ask.id;
    let mut tried = run.try_deliver(&parcel).await;
    if let Err(BrokerError::Engine(error)) = &tried
        && run.flights().tried_for(&parcel.ask.native_id) >= TRY_FOR
    {
        let message = error.sentence();
        let why = Undeliverable::Unconfirmed { message };
        tried = run.give_up_on(&parcel.ask, why).await;
    }
    if let Err(error) = tried {
        tracing::warn!(ask.id = %id, error = &error as &dyn std::error::Error, "a delivery failed and is tried again");
        let retry_at = run.shared.clock.now().after(RETRY);
        if let Err(error) = run.shared.store.postpone(id, retry_at).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger does not answer"
            );
        }
    }
    lock(&carried).remove(&id);
}

fn lock(carried: &Mutex<HashSet<AskId>>) -> MutexGuard<'_, HashSet<AskId>> {
    carried.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the engine will announce if it takes our reply to `ask`; nothing if there is no reply.
pub(crate) fn wording(ask: &Ask) -> Option<&'static str> {
    let yes = match &ask.state {
        AskState::Answered(answer, _)
        | AskState::Delivered(answer, _)
        | AskState::Undeliverable(answer, _) => answer.choice.is_yes(),
        AskState::Expired { .. } => false,
        AskState::Open | AskState::Withdrawn { .. } => return None,
    };
    Some(match (&ask.subject, yes) {
        (Subject::Permission { .. }, true) => "once",
        (Subject::Permission { .. }, false) => "reject",
        (Subject::Question { .. }, true) => "replied",
        (Subject::Question { .. }, false) => "rejected",
        // No engine asks for one, and none is told.
        (Subject::WorkspaceWrite { .. }, _) => return None,
    })
}

impl EngineRun {
    async fn try_deliver(&self, parcel: &Parcel) -> Result<(), BrokerError> {
        let ask = &parcel.ask;
        let Some(wording) = wording(ask) else {
            return Ok(());
        };
        let shared = &self.shared;
        let now = shared.clock.now();
        if Digest::of_json(&ask.raw) != ask.digest {
            let message = "what was asked is not what is in the ledger".to_owned();
            shared
                .store
                .give_up(ask.id, &Undeliverable::Refused { message }, now)
                .await?;
            return Ok(());
        }
        // A reply was taken and never announced: it was announced while nobody listened, or dropped.
        if self.flights().is_unannounced(&ask.native_id) {
            if self.holding(ask).await == Holding::NotHeld {
                return self.look_again(ask, true).await;
            }
            if self.flights().tried_for(&ask.native_id) >= TRY_FOR {
                let message = "opencode accepted the reply and never announced it".to_owned();
                return self
                    .give_up_on(ask, Undeliverable::Unconfirmed { message })
                    .await;
            }
        }
        let retry_at = now.after(ANNOUNCEMENT_PATIENCE);
        if !shared.store.begin_sending(ask.id, retry_at, now).await? {
            return Ok(());
        }
        if wording == "reject" {
            self.take_unheard_permissions().await?;
        }
        self.flights()
            .depart(&ask.native_id, wording, parcel.perhaps_sent);
        standstill::before(Step::Answer).await;
        let sent = self.send(ask).await;
        standstill::after(Step::Answer).await;
        let landing = match sent {
            Ok(Replied::Accepted) => Landing::Accepted,
            Ok(Replied::Unknown) => Landing::Unknown,
            Err(error @ ClientError::Refused { status, .. }) if (400..500).contains(&status) => {
                let message = error.sentence();
                return self
                    .give_up_on(ask, Undeliverable::Refused { message })
                    .await;
            }
            Err(error) => {
                let certainly_not = matches!(error, ClientError::Unreachable { .. });
                if !certainly_not {
                    self.flights().land(&ask.native_id, Landing::Unanswered);
                }
                return Err(BrokerError::Engine(error));
            }
        };
        let finding = self.flights().land(&ask.native_id, landing);
        match finding {
            Finding::Wait => Ok(()),
            Finding::Delivered => self.prove(ask, announcement(ask)).await,
            Finding::AnsweredElsewhere { reply } => self.foreign(ask, &reply).await,
            Finding::LookAgain { perhaps_ours } => self.look_again(ask, perhaps_ours).await,
        }
    }

    async fn send(&self, ask: &Ask) -> Result<Replied, ClientError> {
        let client = &self.link.client;
        let (directory, request) = (&ask.directory, &ask.native_id);
        let choice = ask.state.answer().map(|answer| &answer.choice);
        match (&ask.subject, choice) {
            (_, Some(Choice::Choices { choices })) => {
                client.reply_question(directory, request, choices).await
            }
            (Subject::Question { .. } | Subject::WorkspaceWrite { .. }, _) => {
                client.reject_question(directory, request).await
            }
            (Subject::Permission { .. }, Some(Choice::AllowOnce | Choice::AllowAlways { .. })) => {
                client
                    .reply_permission(directory, request, &Reply::Once)
                    .await
            }
            (Subject::Permission { .. }, Some(Choice::Deny { reason })) => {
                let message = reason.clone().unwrap_or_else(|| DENIED.to_owned());
                client
                    .reply_permission(directory, request, &Reply::Reject { message })
                    .await
            }
            // This engine's options are never picked by their ids; what cannot be is a no.
            (Subject::Permission { .. }, Some(Choice::Option { .. })) => {
                let message = DENIED.to_owned();
                client
                    .reply_permission(directory, request, &Reply::Reject { message })
                    .await
            }
            (Subject::Permission { .. }, None) => {
                let reply = Reply::Reject {
                    message: NOBODY_ANSWERED.to_owned(),
                };
                client.reply_permission(directory, request, &reply).await
            }
        }
    }

    /// The engine does not know the request: the list and the tool tell delivered, answered elsewhere and
    /// gone apart.
    async fn look_again(&self, ask: &Ask, perhaps_ours: bool) -> Result<(), BrokerError> {
        // Where the list cannot be read, it is gone: the engine has just said that it does not know the request.
        if self.holding(ask).await == Holding::Held {
            // It is there after all; the parcel is due again soon.
            return Ok(());
        }
        let yes = matches!(wording(ask), Some("once" | "replied"));
        let why = match self.tool_shows(ask).await? {
            ToolShows::Allowed | ToolShows::Running if yes && perhaps_ours => {
                return self.found_delivered(ask, "allowed").await;
            }
            // The engine may be about to write the refusal down; it is looked at again when it is due.
            ToolShows::Running if perhaps_ours && tries(ask) <= PATIENT_TRIES => return Ok(()),
            ToolShows::RefusedWithReason if !yes && perhaps_ours => {
                return self.found_delivered(ask, "refused").await;
            }
            ToolShows::Refused
                if !yes
                    && perhaps_ours
                    && fell_with(&self.shared.store, ask, "reject")
                        .await?
                        .is_none() =>
            {
                return self.found_delivered(ask, "refused").await;
            }
            ToolShows::Allowed | ToolShows::Running => return self.foreign(ask, "once").await,
            ToolShows::RefusedWithReason | ToolShows::Refused => {
                return self.foreign(ask, "reject").await;
            }
            ToolShows::Stopped => Undeliverable::TurnCancelled,
            ToolShows::Nothing => Undeliverable::Forgotten,
        };
        self.flights().settle(&ask.native_id);
        self.shared
            .store
            .give_up(ask.id, &why, self.shared.clock.now())
            .await?;
        Ok(())
    }

    async fn found_delivered(&self, ask: &Ask, status: &str) -> Result<(), BrokerError> {
        self.settle_delivered(
            ask,
            &Evidence::ToolState {
                status: status.to_owned(),
            },
        )
        .await
    }

    /// Gives an answer up that the engine does not take. Its tool would wait for ever, so the turn is stopped.
    async fn give_up_on(&self, ask: &Ask, why: Undeliverable) -> Result<(), BrokerError> {
        let Shared { store, clock, .. } = &self.shared;
        self.flights().settle(&ask.native_id);
        if store.give_up(ask.id, &why, clock.now()).await?
            && let Some(session) = store.session(ask.session).await?
        {
            let stopped = cancel_turn(store, clock, &self.link, &session).await;
            self.end_unless_stopped(stopped)?;
        }
        Ok(())
    }

    /// Settles a delivery as proved. What the engine could not carry is written down in the same transaction, and said
    /// then.
    pub(super) async fn settle_delivered(
        &self,
        ask: &Ask,
        evidence: &Evidence,
    ) -> Result<(), BrokerError> {
        let Shared { store, clock, .. } = &self.shared;
        self.flights().settle(&ask.native_id);
        let has_felled = store.count_fallen_with(ask).await? > 0;
        let follow_up = follow_up(ask, has_felled);
        if store
            .mark_delivered_before(ask.id, evidence, follow_up.clone(), clock.now())
            .await?
        {
            tracing::info!(ask.id = %ask.id, "the answer to `{}` was delivered", ask.id);
            standstill::after(Step::Delivery).await;
            if let Some((turn, _)) = follow_up {
                self.say_follow_up(ask, turn.id).await?;
            }
        }
        Ok(())
    }

    /// An ask fell with `denied`, which was delivered before that was known: its reason was lost after all.
    pub(super) async fn follow_up_late(&self, denied: AskId) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let Some(denied) = store.ask(denied).await? else {
            return Ok(());
        };
        let is_delivered = matches!(denied.state, AskState::Delivered(..));
        if let Some((turn, by)) = follow_up(&denied, true).filter(|_| is_delivered) {
            let (id, now) = (turn.id, self.shared.clock.now());
            let (_, is_new) = store.begin_turn(denied.workspace, turn, &by, now).await?;
            if is_new {
                self.say_follow_up(&denied, id).await?;
            }
        }
        Ok(())
    }

    /// Says a reason that is written down, unless its session is at work: then the session's rest sends it.
    async fn say_follow_up(&self, ask: &Ask, turn: TurnId) -> Result<(), BrokerError> {
        let Shared { store, clock, .. } = &self.shared;
        let (Some(session), Some(turn)) =
            (store.session(ask.session).await?, store.turn(turn).await?)
        else {
            return Ok(());
        };
        // A prompt that comes just as a turn is being stopped would be lost.
        match self.doing(&session).await {
            Doing::Idle => send_turn(store, clock, &self.link, &session, &turn)
                .await
                .map(drop),
            Doing::Busy => Ok(()),
            // The ledger knows less than the engine, and enough not to lose it.
            Doing::Unknown => send_or_hold(store, clock, &self.link, &session, &turn).await,
        }
    }
}

/// A reason that the engine did not hand to the model follows as a prompt: opencode drops it when other
/// asks fell with the denial, and has no place for one in a declined question.
fn follow_up(ask: &Ask, has_felled: bool) -> Option<(NewTurn, Actor)> {
    let answer = ask.state.answer()?;
    let reason = answer.choice.reason()?;
    let is_lost = match ask.subject {
        Subject::Permission { .. } => has_felled,
        Subject::Question { .. } | Subject::WorkspaceWrite { .. } => true,
    };
    let id = turn_after(ask.id).filter(|_| is_lost)?;
    let turn = NewTurn {
        id,
        session: ask.session,
        native_id: message_id(id),
        prompt: denial_words(ask, reason),
        model: None,
        mode: None,
        agent: None,
        follows: Some(ask.id),
    };
    Some((turn, answer.by.clone()))
}

/// How often the answer to `ask` was tried.
fn tries(ask: &Ask) -> u32 {
    ask.state.delivery().map_or(0, |delivery| delivery.attempts)
}

/// The announcement that proves our reply to `ask`.
pub(crate) fn announcement(ask: &Ask) -> &'static str {
    match wording(ask) {
        Some("replied") => "question.replied",
        Some("rejected") => "question.rejected",
        _ => "permission.replied",
    }
}
