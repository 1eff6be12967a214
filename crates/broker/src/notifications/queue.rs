//! Works off what one target is to be told: one attempt at a time, with pauses after failures, and a dead letter in the end.

use std::time::Duration;

use countersign_core::notification::{Message, Notification, device_of};
use countersign_notify::{Attempt, Failure};
use countersign_store::StoreError;
use rand::RngExt as _;

use super::{LOOK, Notifications, Queue};

/// How often the ledger is looked at while nothing waits, for what other replicas put there.
const IDLE_LOOK: Duration = Duration::from_secs(30);

impl Notifications {
    /// Works for the target at `place` until the server ends.
    pub(super) async fn work_off(self, place: usize) {
        let Some(queue) = self.targets.get(place) else {
            return;
        };
        loop {
            let pause = match self.next(queue).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(
                        notify.target = queue.target.name,
                        error = &error as &dyn std::error::Error,
                        "notifications could not be worked off"
                    );
                    LOOK
                }
            };
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = queue.more.notified(), if !pause.is_zero() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Makes the next attempt if one is due, and returns how long to wait for the one after.
    async fn next(&self, queue: &Queue) -> Result<Duration, StoreError> {
        let Some(next) = self.store.next_notification(&queue.target.name).await? else {
            return Ok(IDLE_LOOK);
        };
        let now = self.clock.now();
        if next.due_at > now {
            return Ok(next.due_at.since(now).min(LOOK));
        }
        self.attempt(queue, next).await?;
        Ok(Duration::ZERO)
    }

    pub(super) async fn attempt(
        &self,
        queue: &Queue,
        next: Notification,
    ) -> Result<(), StoreError> {
        let target = &queue.target;
        let id = next.id;
        if next.attempts > 0 {
            target.clear_up(id).await;
        }
        let attempts = next.attempts + 1;
        let roll = rand::rng().random::<f64>();
        if next.attempts >= target.schedule.tries {
            let problem = next.problem.as_deref();
            let problem = problem.unwrap_or("the server was killed during the last attempt");
            return self.bury(queue, &next, problem, None).await;
        }
        let now = self.clock.now();
        let pause = target.schedule.pause_after(attempts, roll);
        // If nothing is heard of this attempt, because we are killed, it is made again when it must be over.
        let retry_at = now.after(target.time_limit + pause.unwrap_or_default());
        let begun = self.store.begin_notifying(id, next.attempts, retry_at, now);
        if !begun.await? {
            return Ok(());
        }
        let details = if target.details {
            Some(self.details(&next).await?)
        } else {
            None
        };
        let message = Message::new(&next, details);
        let surroundings = self.surroundings();
        let attempt = target.send(&message, &surroundings, now, &self.ending);
        match attempt.await {
            Attempt::Sent => {
                self.store.mark_notified(id, self.clock.now()).await?;
            }
            Attempt::BrokenOff => self.store.take_back_attempt(id, self.clock.now()).await?,
            Attempt::Gone(failure) => self.part_with(queue, &next, &failure).await?,
            Attempt::Failed(failure) => {
                let pause = pause.filter(|_| !failure.lasting);
                self.put_off(queue, &next, &failure, pause).await?;
            }
        }
        Ok(())
    }

    /// Gives up on a target that is gone for good. A device is forgotten with all that waits for it.
    async fn part_with(
        &self,
        queue: &Queue,
        next: &Notification,
        failure: &Failure,
    ) -> Result<(), StoreError> {
        let Some(device) = device_of(&queue.target.name) else {
            let output = failure.output.as_deref();
            return self.bury(queue, next, &failure.problem, output).await;
        };
        tracing::info!(
            device.token = %device,
            problem = failure.problem,
            "a push service does not know a browser any more, which is not told from now on"
        );
        let removed = self
            .store
            .remove_push_device(device, None, self.clock.now());
        removed.await.map(drop)
    }

    /// Puts a failed attempt off, or gives up if there is no pause to wait for.
    async fn put_off(
        &self,
        queue: &Queue,
        next: &Notification,
        failure: &Failure,
        pause: Option<Duration>,
    ) -> Result<(), StoreError> {
        let output = failure.output.as_deref();
        let Some(pause) = pause else {
            return self.bury(queue, next, &failure.problem, output).await;
        };
        let pause = failure.retry_after.map_or(pause, |wish| wish.max(pause));
        tracing::info!(
            notification.id = %next.id,
            notify.target = queue.target.name,
            problem = failure.problem,
            "a notification is tried again later"
        );
        let retry_at = self.clock.now().after(pause);
        self.store
            .postpone_notification(next.id, retry_at, &failure.problem, output)
            .await
    }

    async fn bury(
        &self,
        queue: &Queue,
        next: &Notification,
        problem: &str,
        output: Option<&str>,
    ) -> Result<(), StoreError> {
        tracing::warn!(
            notification.id = %next.id,
            notify.target = queue.target.name,
            problem,
            "a notification is given up; `countersign notifications --dead` lists it"
        );
        let now = self.clock.now();
        self.store
            .bury_notification(next.id, problem, output, now)
            .await
            .map(drop)
    }
}
