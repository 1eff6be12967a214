//! Looks through the events, and writes down what targets are to be told of them.

use std::collections::HashMap;
use std::time::Duration;

use countersign_core::event::Event;
use countersign_core::id::{AskId, WorkspaceId};
use countersign_core::notification::{Happening, Occasion, device_target};
use countersign_core::session::Workspace;
use countersign_store::{Happened, StoreError};

use super::{CONSUMER, Notifications};

/// How many events are read at a time.
const PAGE: i64 = 500;
/// How long events gather before they are looked through: whoever answers now needs the ledger more.
const GATHER: Duration = Duration::from_millis(100);
/// How long after a failure the ledger is asked again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// After how many events that nobody is told of the cursor is moved all the same. Until then it is cheaper to look through
/// them again after a crash than to write each time.
const IDLE_EVENTS: i64 = 5_000;

/// What is known of the workspaces.
type Known = HashMap<WorkspaceId, Option<Workspace>>;

impl Notifications {
    /// Looks through the events until the server ends.
    pub(super) async fn follow_events(self) {
        let mut head = self.store.head();
        let mut known = Known::new();
        let mut position = None;
        if let Err(error) = self.wake_devices().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "devices that something waits for could not be looked up"
            );
        }
        loop {
            head.mark_unchanged();
            let pause = match self.catch_up(&mut position, &mut known).await {
                Ok(()) => None,
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "events could not be looked through for notifications"
                    );
                    Some(LOOK_AGAIN)
                }
            };
            let woken = async {
                if let Some(pause) = pause {
                    tokio::time::sleep(pause).await;
                    return;
                }
                if head.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(GATHER).await;
            };
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = woken => {}
            }
        }
    }

    /// Looks through everything from `position` on.
    async fn catch_up(
        &self,
        position: &mut Option<Position>,
        known: &mut Known,
    ) -> Result<(), StoreError> {
        let position = if let Some(position) = position {
            position
        } else {
            let written = self.store.cursor(CONSUMER).await?.unwrap_or_default();
            self.warn_of_a_gap(written).await?;
            position.insert(Position {
                written,
                read: written,
            })
        };
        loop {
            let events = self.store.events_after(position.read, PAGE).await?;
            let Some(last) = events.last().map(|event| event.seq) else {
                return Ok(());
            };
            let mut happened = Vec::new();
            for event in &events {
                self.look_at(event, known, &mut happened).await?;
            }
            if !happened.is_empty() || last - position.written >= IDLE_EVENTS {
                let now = self.clock.now();
                let added = self.store.add_notifications(CONSUMER, last, &happened, now);
                added.await?;
                position.written = last;
            }
            position.read = last;
            for new in &happened {
                self.wake(&new.target);
            }
        }
    }

    /// Adds what targets are to be told of `event`.
    async fn look_at(
        &self,
        event: &Event,
        known: &mut Known,
        happened: &mut Vec<Happened>,
    ) -> Result<(), StoreError> {
        let Some(happening) = Happening::of(&event.body) else {
            return Ok(());
        };
        let workspace = match known.entry(event.workspace) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(self.store.workspace(event.workspace).await?)
            }
        };
        let (path, name) = workspace
            .as_ref()
            .map_or(("", ""), |it| (it.path.as_str(), it.name.as_str()));
        let wants = |queue: &&super::Queue| {
            let interest = &queue.target.interest;
            interest.covers(happening.occasion, path, name)
        };
        let mut targets: Vec<String> = self
            .targets
            .iter()
            .filter(wants)
            .map(|queue| queue.target.name.clone())
            .collect();
        if happening.occasion == Occasion::AskOpened {
            let devices = self.store.push_devices(None, self.clock.now()).await?;
            let seeing = devices
                .iter()
                .filter(|it| it.sees(event.workspace) && it.was_there(event.at));
            targets.extend(seeing.map(|it| device_target(it.device.token)));
        }
        if targets.is_empty() || self.waits_for_nobody(&happening).await? {
            return Ok(());
        }
        happened.extend(targets.into_iter().map(|target| Happened {
            target,
            event: event.seq,
            at: event.at,
            workspace: event.workspace,
            happening: happening.clone(),
        }));
        Ok(())
    }

    /// Whether it is the opening of an ask that has its answer by now: a rule's, most likely, as it was opened.
    async fn waits_for_nobody(&self, happening: &Happening) -> Result<bool, StoreError> {
        if happening.occasion != Occasion::AskOpened {
            return Ok(false);
        }
        let Ok(id) = happening.subject.parse::<AskId>() else {
            return Ok(false);
        };
        let ask = self.store.ask(id).await?;
        Ok(ask.is_some_and(|ask| ask.state.answer().is_some()))
    }

    /// Says so if events are gone that were never looked through.
    async fn warn_of_a_gap(&self, written: i64) -> Result<(), StoreError> {
        if let Some(oldest) = self.store.oldest_event().await?
            && oldest > written + 1
        {
            tracing::warn!(
                count = oldest - written - 1,
                "events were forgotten before anybody could be notified of them"
            );
        }
        Ok(())
    }
}

/// How far the events were looked through.
struct Position {
    /// Up to here, as far as the ledger knows.
    written: i64,
    /// Up to here.
    read: i64,
}
