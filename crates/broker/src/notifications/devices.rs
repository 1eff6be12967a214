//! Paired browsers that are told of new asks: who they are, and who works for each.
//!
//! A device waits in the same queue as every other target. Whoever works for one looks at the ledger before each attempt:
//! a device that was signed out is told nothing, and nobody is told of an ask that has its answer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::ask::AskPhase;
use countersign_core::id::{AskId, TokenId};
use countersign_core::notification::{
    Interest, Notification, Occasion, Schedule, device_of, device_target,
};
use countersign_notify::{PushAddress, PushSender, PushSettings, Target, Vapid, Way};
use countersign_store::{PushDevice, StoreError};
use tokio::sync::{Notify, OnceCell};
use tokio_util::task::TaskTracker;

use super::{LOOK, Notifications, Queue};
use crate::error::BrokerError;

/// How long a push service may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// An ask that nobody could be told of for so long has been seen elsewhere, or has run out.
const SCHEDULE: Schedule = Schedule {
    tries: 8,
    first_pause: Duration::from_secs(2),
    longest_pause: Duration::from_mins(10),
};

/// What all devices share.
pub(super) struct Devices {
    pub(super) settings: PushSettings,
    pub(super) tasks: TaskTracker,
    sender: OnceCell<PushSender>,
    at_work: Mutex<HashMap<TokenId, Work>>,
}

/// Whoever works for a device.
struct Work {
    /// Whether to look again before going home.
    again: bool,
    more: Arc<Notify>,
}

impl Devices {
    pub(super) fn new(settings: PushSettings, tasks: TaskTracker) -> Self {
        Self {
            settings,
            tasks,
            sender: OnceCell::new(),
            at_work: Mutex::default(),
        }
    }

    fn at_work(&self) -> MutexGuard<'_, HashMap<TokenId, Work>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody wants whoever works for `device` to look again; if so, nobody works for it from now on.
    fn go_home(&self, device: TokenId) -> bool {
        let mut at_work = self.at_work();
        match at_work.get_mut(&device) {
            Some(work) if work.again => {
                work.again = false;
                false
            }
            Some(_) | None => {
                at_work.remove(&device);
                true
            }
        }
    }
}

impl Notifications {
    /// What pushes go out by; the key is made when it is first needed.
    pub(crate) async fn sender(&self) -> Result<&PushSender, BrokerError> {
        let made = async {
            let unfit = |error: &dyn std::error::Error| BrokerError::Unable(error.to_string());
            let fresh = Vapid::generate().map_err(|error| unfit(&error))?;
            let kept = self.store.push_secret(&fresh, self.clock.now()).await?;
            let contact = self.devices.settings.contact.clone();
            let vapid = Vapid::read(&kept, contact).map_err(|error| unfit(&error))?;
            PushSender::new(vapid, &self.devices.settings).map_err(|error| unfit(&error))
        };
        self.devices.sender.get_or_try_init(|| made).await
    }

    /// Wakes whoever works for a device, or has somebody begin.
    pub(super) fn wake_device(&self, device: TokenId) {
        let mut at_work = self.devices.at_work();
        if let Some(work) = at_work.get_mut(&device) {
            work.again = true;
            work.more.notify_one();
            return;
        }
        let more = Arc::new(Notify::new());
        let work = Work {
            again: false,
            more: Arc::clone(&more),
        };
        at_work.insert(device, work);
        drop(at_work);
        let own = self.clone();
        self.devices.tasks.spawn(own.work_for(device, more));
    }

    /// Has somebody work for every device that something waits for since the last server.
    pub(super) async fn wake_devices(&self) -> Result<(), StoreError> {
        let waiting = self.store.waiting_targets().await?;
        for device in waiting.iter().filter_map(|target| device_of(target)) {
            self.wake_device(device);
        }
        Ok(())
    }

    /// Works for a device until nothing waits for it.
    async fn work_for(self, device: TokenId, more: Arc<Notify>) {
        loop {
            let pause = match self.next_of(device).await {
                Ok(Some(pause)) => pause,
                Ok(None) if self.devices.go_home(device) => return,
                Ok(None) => Duration::ZERO,
                Err(error) => {
                    tracing::warn!(
                        device.token = %device,
                        error = &error as &dyn std::error::Error,
                        "notifications of a device could not be worked off"
                    );
                    LOOK
                }
            };
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = more.notified(), if !pause.is_zero() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Makes the next attempt if one is due, and returns how long to wait; nothing if nothing waits.
    async fn next_of(&self, device: TokenId) -> Result<Option<Duration>, BrokerError> {
        let Some(next) = self.store.next_notification(&device_target(device)).await? else {
            return Ok(None);
        };
        let now = self.clock.now();
        if next.due_at > now {
            return Ok(Some(next.due_at.since(now).min(LOOK)));
        }
        let known = self.store.push_devices(Some(device), now).await?.pop();
        match known.filter(|known| known.sees(next.workspace)) {
            Some(known) if self.still_waits(&next).await? => match self.queue_of(&known).await {
                Ok(queue) => self.attempt(&queue, next).await?,
                // The configuration does not allow it any more: trying again would change nothing.
                Err(BrokerError::Unable(problem)) => {
                    let buried = self.store.bury_notification(next.id, &problem, None, now);
                    buried.await?;
                }
                Err(error) => return Err(error),
            },
            Some(_) | None => self.store.drop_notification(next.id).await?,
        }
        Ok(Some(Duration::ZERO))
    }

    async fn queue_of(&self, known: &PushDevice) -> Result<Queue, BrokerError> {
        let device = &known.device;
        let private = self.devices.settings.private_endpoints;
        let address = PushAddress::read(&device.endpoint, &device.p256dh, &device.auth, private);
        let address = address.map_err(|unfit| BrokerError::Unable(unfit.to_string()))?;
        Ok(Queue {
            target: Target {
                name: device_target(device.token),
                interest: Interest {
                    occasions: BTreeSet::from([Occasion::AskOpened]),
                    workspaces: BTreeSet::new(),
                },
                details: false,
                schedule: SCHEDULE,
                time_limit: TIME_LIMIT,
                way: Way::Push(self.sender().await?.to(address)),
            },
            more: Notify::new(),
        })
    }

    /// Whether the ask of a notification is still open.
    async fn still_waits(&self, next: &Notification) -> Result<bool, StoreError> {
        let Ok(id) = next.subject.parse::<AskId>() else {
            return Ok(false);
        };
        let ask = self.store.ask(id).await?;
        Ok(ask.is_some_and(|ask| ask.state.phase() == AskPhase::Open))
    }
}
