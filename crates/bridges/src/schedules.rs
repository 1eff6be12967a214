//! Scheduled prompts: given when they are due, to a job or to a channel, once each whatever is killed when.
//!
//! How far each schedule is dealt with is a row. What a time begins has a name that follows from the schedule and the time:
//! begun twice it is the same job, or the same message. Of times that passed while no server ran the last one counts, and
//! one whose run before has not ended is left out.

mod cron;
#[cfg(test)]
mod tests;

use std::time::Duration;

use countersign_broker::{Broker, BrokerError, JobWish, NewInbound, Store, StoreError};
use countersign_core::job::{Access, JobId, JobKind, OnAsk};
use countersign_core::schedule::{Due, Missed, RunOutcome, Schedule, ScheduleTarget, ScheduledRun};
use countersign_core::time::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::Platform;
use crate::adapter::{Happening, MessageId, Outgoing, Person, Place, What};
use crate::bridge::{About, Bridge, Saying, workspace_called};
use crate::text::Text;

pub use cron::{Cron, InvalidCron};

/// How often the clock is looked at: it can be set, and a machine can sleep.
const LOOK: Duration = Duration::from_secs(5);
/// Who speaks for schedules in a chat. No platform calls anybody so.
pub(crate) const PERSON: &str = "countersign: schedule";

/// A scheduled prompt.
#[derive(Debug, Clone)]
pub struct ScheduleSettings {
    /// What people call it; no other has that name.
    pub name: String,
    /// When it is due.
    pub cron: Cron,
    /// What the agent is told.
    pub prompt: String,
    /// Where that goes.
    pub to: To,
    /// What becomes of times that passed while no server ran.
    pub missed: Missed,
}

/// Where a scheduled prompt goes.
#[derive(Debug, Clone)]
pub enum To {
    /// It becomes a job.
    Job(ScheduledJob),
    /// It is said in a channel of a bridge, and begins a session in a thread there.
    Channel {
        /// The bridge's platform.
        platform: Platform,
        /// What the platform calls the channel.
        channel: String,
    },
}

/// What the jobs of a schedule are like.
#[derive(Debug, Clone, Default)]
pub struct ScheduledJob {
    /// The workspace, by its path or name; the first if it is not said.
    pub workspace: Option<String>,
    /// The engine; the usual one if it is not said.
    pub engine: Option<String>,
    /// The model; the engine's own if it is not said.
    pub model: Option<String>,
    /// The engine's agent.
    pub agent: Option<String>,
    /// What becomes of its asks.
    pub on_ask: OnAsk,
    /// Whether each has a worktree of its own.
    pub worktree: bool,
}

impl ScheduleSettings {
    /// The schedule as it is known, said anew; its times begin now if they are other ones than before.
    fn told(&self, known: Option<Schedule>, now: Timestamp) -> Schedule {
        let (fields, time_zone) = (self.cron.fields(), self.cron.time_zone());
        let same = known.filter(|it| it.cron == fields && it.time_zone == time_zone);
        Schedule {
            name: self.name.clone(),
            cron: fields.to_owned(),
            time_zone: time_zone.to_owned(),
            to: match &self.to {
                To::Job(job) => ScheduleTarget::Job {
                    engine: job.engine.clone(),
                    workspace: job.workspace.clone(),
                },
                To::Channel { platform, channel } => ScheduleTarget::Channel {
                    bridge: platform.name().to_owned(),
                    channel: channel.clone(),
                },
            },
            missed: self.missed,
            handled_until: same.as_ref().map_or(now, |it| it.handled_until),
            next_at: self.cron.after(now),
            left_out_at: same.as_ref().and_then(|it| it.left_out_at),
            last: same.and_then(|it| it.last),
        }
    }

    /// What the run of a time is called in a chat.
    fn happening_id(&self, due: Timestamp) -> String {
        format!("schedule:{}:{}", self.name, due.as_micros())
    }

    /// What the run of a time is called as a job.
    fn job_id(&self, due: Timestamp) -> JobId {
        JobId::derived(JobKind::Task, due, &self.name)
    }
}

/// Looks at the clock, and gives prompts that are due.
pub(crate) struct Scheduler {
    broker: Broker,
    store: Store,
    bridges: Vec<Bridge>,
    ending: CancellationToken,
}

impl Scheduler {
    pub(crate) fn new(
        broker: &Broker,
        store: &Store,
        bridges: Vec<Bridge>,
        ending: CancellationToken,
    ) -> Self {
        Self {
            broker: broker.clone(),
            store: store.clone(),
            bridges,
            ending,
        }
    }

    /// Keeps `schedules` until the server ends.
    pub(crate) async fn keep(self, schedules: Vec<ScheduleSettings>) {
        if let Err(error) = self.retire(&schedules).await {
            warn("former schedules", &error);
        }
        while !schedules.is_empty() {
            let mut next = self.broker.clock().now().after(LOOK);
            for settings in &schedules {
                match self.look(settings).await {
                    Ok(schedule) => next = next.min(schedule.next_at.unwrap_or(next)),
                    Err(error) => warn(&settings.name, &error),
                }
            }
            let pause = next.since(self.broker.clock().now());
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = tokio::time::sleep(pause.max(SHORTEST)) => {}
            }
        }
    }

    /// What the configuration names no more is not due any more.
    async fn retire(&self, schedules: &[ScheduleSettings]) -> Result<(), StoreError> {
        for mut known in self.store.schedules().await? {
            let is_named = schedules.iter().any(|it| it.name == known.name);
            if !is_named && known.next_at.take().is_some() {
                self.store.keep_schedule(&known).await?;
            }
        }
        Ok(())
    }

    /// Deals with what of a schedule is due, and tells how it stands then.
    async fn look(&self, settings: &ScheduleSettings) -> Result<Schedule, StoreError> {
        let now = self.broker.clock().now();
        let known = self.store.schedule(&settings.name).await?;
        let mut schedule = settings.told(known.clone(), now);
        if let Some(last) = &mut schedule.last
            && last.outcome == RunOutcome::Announced
        {
            last.outcome = self.hand_on(settings, last.due_at).await?;
        }
        if let Some(due) = settings.cron.last(schedule.handled_until, now) {
            let late = now.since(due);
            let is_at_work = match &schedule.last {
                Some(last) => self.is_at_work(settings, last).await?,
                None => false,
            };
            let outcome = match settings.missed.decide(late, is_at_work) {
                Due::Overlaps => None,
                Due::IsMissed if !self.has_begun(settings, due).await? => Some(RunOutcome::Missed),
                Due::IsMissed | Due::Begin => match self.begin(settings, due).await? {
                    // The server ends; the next one begins it.
                    None => return Ok(schedule),
                    begun => begun,
                },
            };
            tracing::info!(schedule = settings.name, %due, ?outcome, "a scheduled prompt was due");
            schedule.handled_until = due;
            match outcome {
                Some(outcome) => {
                    let due_at = due;
                    schedule.last = Some(ScheduledRun { due_at, outcome });
                }
                // The one before stays the last, for it keeps the next one from beginning as well.
                None => schedule.left_out_at = Some(due),
            }
        }
        if known.as_ref() != Some(&schedule) {
            self.store.keep_schedule(&schedule).await?;
        }
        Ok(schedule)
    }

    /// Gives the prompt of a time; nothing comes of it if the server ends.
    async fn begin(
        &self,
        settings: &ScheduleSettings,
        due: Timestamp,
    ) -> Result<Option<RunOutcome>, StoreError> {
        let failed = |why: String| Ok(Some(RunOutcome::Failed { why }));
        let (platform, channel) = match &settings.to {
            To::Job(job) => {
                return match self.hand_in(settings, job, due).await {
                    Ok(run) => Ok(Some(RunOutcome::Begun { run })),
                    Err(BrokerError::Stopping) => Ok(None),
                    Err(BrokerError::Store(error)) => Err(error),
                    Err(error) => failed(error.to_string()),
                };
            }
            To::Channel { platform, channel } => (*platform, channel),
        };
        let Some(bridge) = self.bridge(platform) else {
            return failed(format!("there is no bridge to {platform}"));
        };
        let place = bridge.chat_place(&Place::channel(channel));
        let id = settings.happening_id(due);
        let text = Text::plain(&format!("⏰ {}: {}", settings.name, settings.prompt));
        let saying = Saying::Say(Outgoing::plain(text));
        let about = About {
            subject: Some(id.clone()),
            token: None,
        };
        bridge.say(&id, &place, channel, &saying, about).await?;
        Ok(Some(RunOutcome::Announced))
    }

    async fn hand_in(
        &self,
        settings: &ScheduleSettings,
        job: &ScheduledJob,
        due: Timestamp,
    ) -> Result<String, BrokerError> {
        let wish = JobWish {
            id: Some(settings.job_id(due)),
            kind: JobKind::Task,
            prompt: settings.prompt.clone(),
            title: Some(settings.name.clone()),
            directory: None,
            workspace: workspace_called(&self.broker, job.workspace.as_deref())?,
            engine: job.engine.clone(),
            model: job.model.clone(),
            agent: job.agent.clone(),
            mode: None,
            effort: None,
            on_ask: job.on_ask,
            ask_expires_seconds: None,
            deadline_seconds: None,
            idle_limit_seconds: None,
            priority: None,
            resume: None,
            access: Access::default(),
            worktree: job.worktree,
            group: Some(format!("schedule {}", settings.name)),
            attachments: Vec::new(),
        };
        // Whoever wrote the configuration has it done.
        let owner = self.broker.local_owner();
        let context = self.broker.hand_in_job(&owner, wish).await?;
        Ok(context.job.id.to_string())
    }

    /// Hands what is said in a channel on to the agent, as soon as the platform has it.
    async fn hand_on(
        &self,
        settings: &ScheduleSettings,
        due: Timestamp,
    ) -> Result<RunOutcome, StoreError> {
        let failed = |why: String| Ok(RunOutcome::Failed { why });
        let To::Channel { platform, channel } = &settings.to else {
            return failed("it was said in a channel, and becomes a job from now on".to_owned());
        };
        let Some(bridge) = self.bridge(*platform) else {
            return failed(format!("there is no bridge to {platform}"));
        };
        let id = settings.happening_id(due);
        let said = self.store.chat_messages_about(bridge.name(), &id).await?;
        let Some(said) = said.into_iter().next() else {
            return failed("what was to be said in the channel is forgotten".to_owned());
        };
        let Some(message) = said.message else {
            let given_up = self.store.given_up_saying(bridge.name(), &id).await?;
            return given_up.map_or(Ok(RunOutcome::Announced), failed);
        };
        let happening = Happening {
            id: id.clone(),
            place: Place::channel(channel),
            is_direct: false,
            by: Person {
                id: PERSON.to_owned(),
                name: settings.name.clone(),
                is_bot: false,
            },
            what: What::Message {
                message: MessageId(message),
                text: settings.prompt.clone(),
                mentions_us: true,
                files: Vec::new(),
            },
        };
        let inbound = NewInbound {
            id: id.clone(),
            place: bridge.chat_place(&happening.place),
            body: serde_json::to_string(&happening).expect("a happening is JSON"),
        };
        let now = self.broker.clock().now();
        self.store
            .take_in(bridge.name(), &[inbound], None, now)
            .await?;
        bridge.came.notify_one();
        Ok(RunOutcome::Begun { run: id })
    }

    /// Whether the run of a time was begun already, by a server that was killed before it noted that.
    async fn has_begun(
        &self,
        settings: &ScheduleSettings,
        due: Timestamp,
    ) -> Result<bool, StoreError> {
        match &settings.to {
            To::Job(_) => Ok(self.store.job(&settings.job_id(due)).await?.is_some()),
            To::Channel { platform, .. } => {
                let id = settings.happening_id(due);
                let said = self.store.chat_messages_about(platform.name(), &id).await?;
                Ok(!said.is_empty())
            }
        }
    }

    /// Whether what a time began has not ended.
    async fn is_at_work(
        &self,
        settings: &ScheduleSettings,
        last: &ScheduledRun,
    ) -> Result<bool, StoreError> {
        match (&last.outcome, &settings.to) {
            (RunOutcome::Announced, _) => Ok(true),
            (RunOutcome::Begun { run }, To::Job(_)) => {
                let Ok(id) = run.parse() else {
                    return Ok(false);
                };
                let job = self.store.job(&id).await?;
                Ok(job.is_some_and(|job| !job.state.is_terminal()))
            }
            (RunOutcome::Begun { run }, To::Channel { platform, .. }) => {
                match self.store.inbound_turn(platform.name(), run).await? {
                    Some((_, true)) => Ok(true),
                    Some((turn, false)) => {
                        let turn = self.store.turn(turn).await?;
                        Ok(turn.is_some_and(|turn| turn.outcome.is_none()))
                    }
                    None => Ok(false),
                }
            }
            (RunOutcome::Missed | RunOutcome::Failed { .. }, _) => Ok(false),
        }
    }

    fn bridge(&self, platform: Platform) -> Option<&Bridge> {
        let mut bridges = self.bridges.iter();
        bridges.find(|it| it.settings.platform == platform)
    }
}

/// The clock is not looked at more often than this, whatever it says.
const SHORTEST: Duration = Duration::from_millis(50);

fn warn(what: &str, error: &StoreError) {
    tracing::warn!(
        schedule = what,
        error = error as &dyn std::error::Error,
        "a schedule could not be looked at"
    );
}
