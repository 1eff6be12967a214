//! One write, from its plan to its announcement.

use std::sync::Arc;

use countersign_broker::{BrokerError, Ground, to_the_end};
use countersign_core::digest::Digest;
use countersign_workspace::{Act, Applied, ApplyError, Change, Names, Plan, Prepared};
use tokio::task::JoinHandle;

use crate::approvals::{Permit, Question};
use crate::aside::{Pace, briefly};
use crate::keys::Caller;
use crate::refusal::Refusal;
use crate::reloads::{Reason, Trigger};
use crate::roster::Seat;
use crate::surface::OpenWork;
use crate::trail::{Deed, Trail};

/// What it lately took to plan a write, and to have it on the disk.
static PLANNING: Pace = Pace::new();
static APPLYING: Pace = Pace::new();

/// A write that a client wants, with the words for it.
pub(crate) struct Wish {
    /// What is to change.
    pub(crate) change: Change,
    /// What the host is asked.
    pub(crate) question: String,
    /// What the host is told that it is about.
    pub(crate) paths: Paths,
    /// What is recorded when it is done.
    pub(crate) deed: Deed,
    /// What is announced then.
    pub(crate) news: News,
}

/// What a write is about.
pub(crate) enum Paths {
    /// These.
    These(Vec<String>),
    /// Where opencode's configuration of the workspace is.
    Config,
    /// Whatever it would change.
    Planned,
}

/// What is announced of a write.
pub(crate) enum News {
    /// Nothing.
    None,
    /// This, if anything changed.
    Changed(Reason, Box<dyn FnOnce(&Plan) -> Trigger + Send>),
    /// This, in any case.
    Always(Reason, Box<dyn FnOnce(&Plan) -> Trigger + Send>),
}

/// Something that was done, with what is recorded and announced of it.
pub(crate) struct Done<T> {
    /// Identifies the bytes; nothing if no file is concerned.
    pub(crate) digest: Option<Digest>,
    /// What has to be on the disk before it is recorded there.
    pub(crate) ground: Option<Ground>,
    /// What is recorded. If it is nothing, then nothing was done.
    pub(crate) deeds: Vec<Deed>,
    /// What is said to those who follow, once it is recorded.
    pub(crate) announce: Box<dyn FnOnce(&OpenWork) + Send>,
    /// What the client is told.
    pub(crate) value: T,
}

impl OpenWork {
    /// Plans what is wished for, has it approved, does it, records it and announces it.
    pub(crate) async fn write(
        self: &Arc<Self>,
        caller: &Caller,
        seat: &Arc<Seat>,
        wish: Wish,
    ) -> Result<(), Refusal> {
        let Wish {
            change,
            question,
            paths,
            deed,
            news,
        } = wish;
        let (permit, approved) = if self.asks_nobody() {
            (Permit::NotNeeded, None)
        } else {
            let on_its_way = self.coming.announce().await;
            // What cannot be done is refused before anybody is asked.
            let plan = planned(seat, change.clone()).await?;
            let preparing = self.prepare(seat, &plan);
            let question = Question {
                action: deed.action,
                summary: question,
                paths: paths.of(seat, &plan)?,
                changes: plan.files.clone(),
                fingerprint: plan.effect.digest(),
            };
            let permitting = self.permit_coming(caller, seat, question, on_its_way);
            let permit = permitting.await?;
            // What is not ready is made as it is written.
            let prepared = preparing.await.unwrap_or_default();
            (permit, Some((plan, prepared)))
        };
        let place = Arc::clone(seat);
        self.carry_out(caller, seat, permit, async move {
            let (plan, applied, names) = done(&place, change, approved).await?;
            Ok(Done {
                digest: Some(applied.digest),
                ground: names.map(|names| Ground::new(|| names.settle())),
                deeds: vec![deed],
                announce: Box::new(move |surface| surface.tell(&place, &plan, &applied, news)),
                value: (),
            })
        })
        .await
    }

    /// Does what may be done, whether or not somebody still waits for it, records it and announces it.
    pub(crate) async fn carry_out<T: Send + 'static>(
        self: &Arc<Self>,
        caller: &Caller,
        seat: &Arc<Seat>,
        permit: Permit,
        doing: impl Future<Output = Result<Done<T>, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let surface = Arc::clone(self);
        let (caller, seat) = (caller.clone(), Arc::clone(seat));
        let carrying = Box::pin(async move {
            let done = match doing.await {
                Ok(done) => done,
                Err(refusal) => {
                    surface.give_back(permit, &refusal.message).await;
                    return Err(refusal);
                }
            };
            if done.deeds.is_empty() {
                surface.give_back(permit, "nothing could be done").await;
                return Ok(done.value);
            }
            let evidence = (done.digest, done.ground);
            let recorded = Trail::record(&seat, &caller, permit, evidence, done.deeds).await;
            // Also when it is not recorded: it is there for everybody to see.
            (done.announce)(&surface);
            recorded.map_err(|error| not_recorded(&error))?;
            Ok(done.value)
        });
        let carried = to_the_end(&self.tasks, carrying).await;
        carried.ok_or_else(panicked)?
    }

    /// Has on the disk what would be written, while its approval is awaited. Whoever does not await it leaves nothing.
    fn prepare(self: &Arc<Self>, seat: &Arc<Seat>, plan: &Arc<Plan>) -> JoinHandle<Prepared> {
        let (surface, seat, plan) = (Arc::clone(self), Arc::clone(seat), Arc::clone(plan));
        self.tasks.spawn_blocking(move || {
            let Some(spare) = &surface.spare else {
                return Prepared::default();
            };
            seat.files.prepare(&plan, spare).unwrap_or_else(|error| {
                // It is said when it is written, if it is true then.
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "what would be written could not be prepared"
                );
                Prepared::default()
            })
        })
    }

    /// Notes that what somebody allowed was not done.
    async fn give_back(&self, permit: Permit, why: &str) {
        let Permit::Given(leave) = permit else { return };
        if let Err(error) = self.broker.could_not_write(leave, why).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "it could not be noted that an allowed write was not done"
            );
        }
    }

    fn tell(&self, seat: &Seat, plan: &Plan, applied: &Applied, news: News) {
        let (reason, trigger) = match news {
            News::Changed(reason, trigger) if applied.changed => (reason, trigger(plan)),
            News::Always(reason, trigger) => (reason, trigger(plan)),
            News::None | News::Changed(..) => return,
        };
        self.reloads.announce(&seat.entry.id, reason, trigger);
    }
}

impl Paths {
    fn of(self, seat: &Seat, plan: &Plan) -> Result<Vec<String>, Refusal> {
        Ok(match self {
            Self::These(paths) => paths,
            Self::Config => {
                let path = match plan.config() {
                    Some(below) => seat.files.path().join(below),
                    None => seat.files.config_path()?,
                };
                vec![path.to_string_lossy().into_owned()]
            }
            Self::Planned => {
                let home = seat.files.home().path();
                let paths = plan
                    .files
                    .iter()
                    .map(|file| file.absolute(seat.files.path(), home));
                paths
                    .map(|path| path.to_string_lossy().into_owned())
                    .collect()
            }
        })
    }
}

async fn planned(seat: &Arc<Seat>, change: Change) -> Result<Arc<Plan>, Refusal> {
    let seat = Arc::clone(seat);
    let planned = briefly(&PLANNING, move || seat.files.plan(&change)).await;
    Ok(Arc::new(planned.ok_or_else(panicked)??))
}

/// Does what was approved, or `change` where nobody had to be asked.
async fn done(
    seat: &Arc<Seat>,
    change: Change,
    approved: Option<(Arc<Plan>, Prepared)>,
) -> Result<(Arc<Plan>, Applied, Option<Names>), Refusal> {
    let seat = Arc::clone(seat);
    let doing = briefly(&APPLYING, move || {
        if let Some((plan, prepared)) = approved {
            let (applied, names) = seat.files.apply_unsettled(&plan, prepared)?;
            return Ok((plan, applied, Some(names)));
        }
        let (plan, applied) = seat.files.carry_out(&change)?;
        Ok((Arc::new(plan), applied, None))
    });
    doing.await.ok_or_else(panicked)?.map_err(not_applied)
}

/// Why files were not written.
pub(crate) fn not_applied(error: ApplyError) -> Refusal {
    match error {
        ApplyError::Changed => Refusal::new(
            409,
            "workspace_changed",
            "The workspace changed while this waited; nothing was written. Send it again",
        ),
        ApplyError::Refused(refusal) => refusal.into(),
        ApplyError::Write { .. } | ApplyError::HalfDone { .. } => Refusal::internal(&error),
    }
}

/// It is done and the ledger does not know it: the client must not believe that nothing happened.
fn not_recorded(error: &BrokerError) -> Refusal {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "something was done and could not be recorded"
    );
    Refusal::new(
        500,
        "not_recorded",
        "It was done, but the ledger failed and has no record of it. Do not send it again",
    )
}

/// The file system was asked and gave no answer.
pub(crate) fn panicked() -> Refusal {
    Refusal::new(500, "internal_error", "Unexpected server error")
}

/// Whether what a plan sets or writes was there before.
pub(crate) fn replaces(plan: &Plan) -> bool {
    plan.effect.acts.iter().any(|act| match act {
        Act::Set { was, .. } => was.is_some(),
        Act::Write { was, .. } => was.is_some(),
        Act::Append { .. } | Act::Take { .. } | Act::Remove { .. } | Act::Delete { .. } => false,
    })
}
