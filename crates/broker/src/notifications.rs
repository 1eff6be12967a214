//! Notifications: the events are looked through for what people want to be told of, and each target works off what is to
//! be told to it.
//!
//! What is to be told is a row before the cursor goes past its event, so a killed server misses nothing; an attempt is
//! counted before it is made, so nothing is tried for ever. A receiver may get the same notification twice, with the same
//! id. Paired browsers that want to be told are targets, too. See `consumer.rs`, `queue.rs` and `devices.rs`.

mod consumer;
mod details;
mod devices;
mod queue;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{NotificationId, WorkspaceId};
use countersign_core::notification::{Message, Notification, NotificationState, device_of};
use countersign_core::time::Clock;
use countersign_notify::{Attempt, Surroundings, Target};
use countersign_store::{NotificationFilter, Record, Store, StoreError};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::devices::Devices;
use crate::Broker;
use crate::error::BrokerError;
use crate::settings::Settings;
use crate::supervisor::Supervisors;

/// What the events are looked through as.
const CONSUMER: &str = "notifications";
/// The folder of the data directory that has the worktrees of workspaces.
const WORKTREES: &str = "worktrees";
/// How often the clock is looked at while something waits: a clock can be set, so no longer sleep.
const LOOK: Duration = Duration::from_secs(1);
/// More dead letters than anybody puts back at once.
const MOST_RETRIED: i64 = 10_000;

/// Who is told of what. Clones are of the same.
#[derive(Clone)]
pub(crate) struct Notifications {
    targets: Arc<[Queue]>,
    devices: Arc<Devices>,
    /// Whether the events are looked through.
    follows: Arc<AtomicBool>,
    store: Store,
    clock: Clock,
    supervisors: Supervisors,
    /// Where agents work besides the workspaces.
    worktrees: PathBuf,
    ending: CancellationToken,
}

/// A target, and the wake-up of who works for it.
struct Queue {
    target: Target,
    more: Notify,
}

/// How a try of a target ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetTried {
    /// It took the message.
    Took,
    /// It did not, for this reason, and this is the last of what it said.
    DidNot {
        /// Why.
        problem: String,
        /// What it said.
        output: Option<String>,
    },
}

impl Notifications {
    /// Takes up where the last server was. From when this returns on, nothing that happens is missed.
    pub(crate) async fn take_up(
        settings: &Settings,
        store: &Store,
        clock: &Clock,
        supervisors: &Supervisors,
        (tasks, ending): (&TaskTracker, &CancellationToken),
    ) -> Result<Self, StoreError> {
        let targets = settings.notify.clone();
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        let buried = store.bury_strays(&names, clock.now()).await?;
        if buried > 0 {
            tracing::warn!(
                count = buried,
                "notifications for targets that are configured no more are dead letters now"
            );
        }
        let devices = store.push_devices(None, clock.now()).await?;
        let follows = !targets.is_empty() || !devices.is_empty();
        if !follows {
            // Whoever is configured one day is not told of all that happened until then.
            store.forget_cursor(CONSUMER).await?;
        } else if store.cursor(CONSUMER).await?.is_none() {
            let head = store.refresh_head().await?;
            store.move_cursor(CONSUMER, head).await?;
        }
        let queue = |target| Queue {
            target,
            more: Notify::new(),
        };
        Ok(Self {
            targets: targets.into_iter().map(queue).collect(),
            devices: Arc::new(Devices::new(settings.push.clone(), tasks.clone())),
            follows: Arc::new(AtomicBool::new(follows)),
            store: store.clone(),
            clock: clock.clone(),
            supervisors: supervisors.clone(),
            worktrees: settings.data_directory.join(WORKTREES),
            ending: ending.clone(),
        })
    }

    /// Starts the tasks, which end when the server does.
    pub(crate) fn begin(&self, tasks: &TaskTracker) {
        if !self.follows.load(Ordering::Acquire) {
            return;
        }
        tasks.spawn(self.clone().follow_events());
        for place in 0..self.targets.len() {
            tasks.spawn(self.clone().work_off(place));
        }
    }

    /// Has the events looked through from now on, if they are not yet: there was nobody to tell of them.
    pub(crate) async fn begin_following(&self) -> Result<(), StoreError> {
        if self.follows.load(Ordering::Acquire) {
            return Ok(());
        }
        let head = self.store.refresh_head().await?;
        self.store.move_cursor(CONSUMER, head).await?;
        if !self.follows.swap(true, Ordering::AcqRel) {
            self.devices.tasks.spawn(self.clone().follow_events());
        }
        Ok(())
    }

    /// Whether there is such a target.
    async fn knows(&self, target: &str) -> Result<bool, StoreError> {
        match device_of(target) {
            Some(device) => {
                let known = self.store.push_devices(Some(device), self.clock.now());
                Ok(!known.await?.is_empty())
            }
            None => Ok(self.queue(target).is_some()),
        }
    }

    /// Wakes whoever works for a target.
    fn wake(&self, target: &str) {
        if let Some(device) = device_of(target) {
            self.wake_device(device);
        } else if let Some(queue) = self.queue(target) {
            queue.more.notify_one();
        }
    }

    fn queue(&self, name: &str) -> Option<&Queue> {
        self.targets.iter().find(|queue| queue.target.name == name)
    }

    /// What an attempt has to know of the machine, as it is now.
    fn surroundings(&self) -> Surroundings {
        let supervisors = self.supervisors.all();
        let paths = supervisors
            .iter()
            .map(|supervisor| PathBuf::from(&supervisor.workspace().path));
        Surroundings {
            own_environment: std::env::vars_os().collect(),
            workspaces: paths.chain(self.worktrees.canonicalize()).collect(),
        }
    }
}

impl Broker {
    /// Whom the configuration says to tell. Whoever is limited to one workspace sees who is told of that one, and no
    /// other workspace that is named there.
    pub fn notification_targets(&self, caller: &Caller) -> Result<Vec<Target>, BrokerError> {
        caller.require(Grant::Administer)?;
        let targets = self.notifications.targets.iter();
        let targets = targets.map(|queue| queue.target.clone());
        let Some(only) = caller.workspace() else {
            return Ok(targets.collect());
        };
        let only = self.supervisor(only)?.workspace().clone();
        let limited = targets.filter_map(|mut target| {
            let named = &mut target.interest.workspaces;
            let is_for_all = named.is_empty();
            named.retain(|named| *named == only.path || *named == only.name);
            (is_for_all || !named.is_empty()).then_some(target)
        });
        Ok(limited.collect())
    }

    /// The newest notifications, newest first; only those that stand so, if it is said.
    pub async fn notifications(
        &self,
        caller: &Caller,
        state: Option<NotificationState>,
        limit: i64,
    ) -> Result<Vec<Notification>, BrokerError> {
        caller.require(Grant::Administer)?;
        let filter = NotificationFilter {
            state,
            workspace: caller.workspace(),
        };
        Ok(self.store.notifications(filter, limit).await?)
    }

    /// Puts a dead letter back into its target's queue.
    pub async fn retry_notification(
        &self,
        caller: &Caller,
        id: NotificationId,
    ) -> Result<Notification, BrokerError> {
        caller.require(Grant::Administer)?;
        let missing = || BrokerError::missing("notification", id);
        let found = self.store.notification(id).await?.ok_or_else(missing)?;
        if !caller.sees(found.workspace) {
            return Err(missing());
        }
        if !self.notifications.knows(&found.target).await? {
            return Err(BrokerError::Unable(format!(
                "the configuration has no target `{}`, so nobody can be told",
                found.target
            )));
        }
        let now = self.clock.now();
        let actor = caller.actor();
        if !self.store.retry_notification(id, actor, now).await? {
            return Err(BrokerError::Refused(format!(
                "{id} is no dead letter: it is {}",
                found.state.name()
            )));
        }
        self.notifications.wake(&found.target);
        self.store.notification(id).await?.ok_or_else(missing)
    }

    /// Puts every dead letter back whose target is still configured, and returns how many.
    pub async fn retry_notifications(&self, caller: &Caller) -> Result<u64, BrokerError> {
        let dead = Some(NotificationState::Dead);
        let dead = self.notifications(caller, dead, MOST_RETRIED).await?;
        let mut count = 0;
        for letter in dead {
            if !self.notifications.knows(&letter.target).await? {
                continue;
            }
            let now = self.clock.now();
            let retried = self
                .store
                .retry_notification(letter.id, caller.actor(), now);
            if retried.await? {
                count += 1;
                self.notifications.wake(&letter.target);
            }
        }
        Ok(count)
    }

    /// Tells a target that this is a test, once and at once.
    pub async fn try_target(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<TargetTried, BrokerError> {
        // A target is of the whole server.
        caller.require_everywhere(Grant::Administer)?;
        let queue = self
            .notifications
            .queue(name)
            .ok_or_else(|| BrokerError::missing("target", name))?;
        let now = self.clock.now();
        let message = Message::test(NotificationId::generate(now), now);
        let record = Record {
            action: "notification.test".to_owned(),
            subject: name.to_owned(),
            detail: json!({}),
        };
        self.store
            .record(WorkspaceId::SERVER, caller.actor(), vec![record], now)
            .await?;
        let surroundings = self.notifications.surroundings();
        // A task of its own: a client that goes away must not leave half a command behind.
        let (target, ending) = (queue.target.clone(), self.ending.clone());
        let trying = self
            .tasks
            .spawn(async move { target.send(&message, &surroundings, now, &ending).await });
        match trying.await {
            Ok(Attempt::Sent) => Ok(TargetTried::Took),
            Ok(Attempt::Failed(failure) | Attempt::Gone(failure)) => Ok(TargetTried::DidNot {
                problem: failure.problem,
                output: failure.output,
            }),
            Ok(Attempt::BrokenOff) | Err(_) => Err(BrokerError::Stopping),
        }
    }
}
