//! One life of an engine, from the moment it can be talked to until it ends.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::event::EnginePhase;
use countersign_engine::opencode::{ClientError, Frames, Signal, StreamError, is_too_old, too_old};
use countersign_engine::process::listening_on;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;
use crate::supervisor::flights::Flights;
use crate::supervisor::held::Unread;
use crate::supervisor::intake::Intake;
use crate::supervisor::rules::SeenRules;
use crate::supervisor::{Link, Report, Restart, Shared, courier, lookout};

/// How long to wait before a broken event stream is opened again.
const REOPEN: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

/// More is not remembered of what was looked at already: it is looked at again.
const MEMORY: usize = 50_000;
/// How long the first words of an event stream are waited for.
const FIRST_WORDS: Duration = Duration::from_secs(2);

/// Why an engine is not followed.
enum Lost {
    /// It cannot be reached, or what it says cannot be taken in.
    Touch(String),
    /// It would lose answers; a sentence says so.
    TooOld(String),
}

impl From<BrokerError> for Lost {
    fn from(error: BrokerError) -> Self {
        Self::Touch(if let BrokerError::Engine(error) = error {
            error.sentence()
        } else {
            error.to_string()
        })
    }
}

impl From<ClientError> for Lost {
    fn from(error: ClientError) -> Self {
        Self::Touch(error.sentence())
    }
}

impl From<StreamError> for Lost {
    fn from(error: StreamError) -> Self {
        Self::Touch(error.to_string())
    }
}

/// A life of an engine, as its tasks share it.
pub(super) struct EngineRun {
    pub(super) shared: Shared,
    pub(super) link: Link,
    flights: Mutex<Flights>,
    /// Whether everything that the engine asks comes to our ears.
    following: watch::Sender<bool>,
    /// The lists of the engine that cannot be read now.
    pub(super) unread: watch::Sender<Unread>,
    /// Has the engine begin another life, where it is ours.
    restarts: Option<watch::Sender<Restart>>,
    /// The tool calls that acted and were looked at already.
    looked_at: Mutex<HashSet<String>>,
    /// The rules that sessions were seen to have.
    pub(super) seen_rules: Mutex<SeenRules>,
}

impl EngineRun {
    pub(super) fn new(
        shared: Shared,
        link: Link,
        restarts: Option<watch::Sender<Restart>>,
    ) -> Self {
        Self {
            shared,
            link,
            flights: Mutex::default(),
            following: watch::Sender::new(false),
            unread: watch::Sender::default(),
            restarts,
            looked_at: Mutex::default(),
            seen_rules: Mutex::default(),
        }
    }

    /// Whether everything that the engine asks comes to our ears, now and from now on.
    pub(super) fn following(&self) -> watch::Receiver<bool> {
        self.following.subscribe()
    }

    pub(super) fn flights(&self) -> MutexGuard<'_, Flights> {
        // What is known of replies stays true whatever panicked.
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the engine begin another life at once, if it is ours.
    pub(super) fn restart(&self, why: Restart) {
        if let Some(restarts) = &self.restarts {
            restarts.send_replace(why);
        }
    }

    /// Whether `what` is looked at for the first time. More than a life has are not remembered.
    pub(super) fn is_news(&self, what: String) -> bool {
        let mut looked_at = self
            .looked_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if looked_at.len() >= MEMORY {
            looked_at.clear();
        }
        looked_at.insert(what)
    }

    /// Attends to the engine until `over`: takes in what it says and carries answers to it. After every
    /// gap in what it says, its lists are read.
    pub(super) async fn attend(self: Arc<Self>, report: &Report, over: &CancellationToken) {
        let mut tasks = JoinSet::new();
        tasks.spawn(courier::carry(Arc::clone(&self), over.clone()));
        tasks.spawn(lookout::keep(Arc::clone(&self), over.clone()));
        let mut failures = 0;
        while !over.is_cancelled() {
            let listened = self.listen(report, &mut failures, over).await;
            self.following.send_replace(false);
            match listened {
                Ok(()) => break,
                Err(Lost::Touch(message)) => {
                    tracing::debug!("lost touch with the engine: {message}");
                    self.unreachable(report, failures, &message).await;
                }
                Err(Lost::TooOld(message)) => self.refuse(report, message).await,
            }
            let wait = REOPEN[failures.min(REOPEN.len() - 1)];
            failures += 1;
            tokio::select! {
                () = over.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
        }
        // A delivery under way is cut off: it is written down as perhaps sent.
        tasks.shutdown().await;
    }

    /// Follows the event stream until it breaks; an error says how.
    async fn listen(
        &self,
        report: &Report,
        failures: &mut usize,
        over: &CancellationToken,
    ) -> Result<(), Lost> {
        let mut frames = self.link.client.events().await?;
        if !self.link.ours {
            self.check_version(report).await?;
        }
        let mut intake = Intake::new(self);
        // Its first words: the engine answers before it writes. Whatever happens from here on is in the stream; whatever
        // happened before is in the lists.
        let first = tokio::time::timeout(FIRST_WORDS, next(&mut frames)).await;
        let first = match first {
            Ok(first) => Some(first?),
            // One that says nothing at first is followed all the same.
            Err(_) => None,
        };
        self.reconcile_asks().await?;
        // Answers can leave; what else was missed can take its time.
        self.flights().count_anew();
        self.following.send_replace(true);
        self.reconcile_sessions().await?;
        *failures = 0;
        let mut unread = self.unread.subscribe();
        self.reachable(report).await;
        let mut heard = first;
        loop {
            let frame = if let Some(frame) = heard.take() {
                frame
            } else {
                tokio::select! {
                    () = over.cancelled() => return Ok(()),
                    () = self.shared.look_again.notified() => {
                        self.reconcile().await?;
                        continue;
                    }
                    Ok(()) = unread.changed() => {
                        self.reachable(report).await;
                        continue;
                    }
                    frame = next(&mut frames) => frame?,
                }
            };
            if frame
                .directory
                .as_ref()
                .is_some_and(|directory| !self.shared.is_ours(directory))
            {
                continue;
            }
            if frame.signal == Signal::InstanceDisposed {
                self.link.forget_imposed();
                self.withdraw_disposed(frame.directory.as_deref()).await?;
            }
            match intake.take(frame.signal).await {
                // One thing that cannot be read is no reason to hear nothing more. What it would have told is looked for
                // by the lookout.
                Err(BrokerError::Engine(error)) => tracing::warn!("{}", error.sentence()),
                taken => taken?,
            }
        }
    }

    /// Fails if the engine is of a version that loses answers. One that somebody else runs may be another one each
    /// time that it is found again.
    async fn check_version(&self, report: &Report) -> Result<(), Lost> {
        let version = self.link.client.version().await?;
        report.status(|status| status.version = Some(version.clone()));
        if is_too_old(&version) {
            return Err(Lost::TooOld(too_old(&version)));
        }
        Ok(())
    }

    /// Notes whose descendants may not speak for a person, where the engine is not a child of ours.
    fn note_foreign_process(&self, report: &Report) {
        let port = self.link.client.endpoint().loopback_port();
        let Some(port) = port.filter(|_| !self.link.ours) else {
            return;
        };
        match listening_on(port) {
            Ok(Some(process)) => report.keeper(process),
            Ok(None) => {}
            Err(error) => tracing::warn!("the process behind port {port} is not known: {error}"),
        }
    }

    async fn reachable(&self, report: &Report) {
        let mut message = format!("opencode is ready in {}", self.shared.workspace.path);
        if let Some(why) = self.unread.borrow().values().next() {
            message = format!(
                "{message}, but {why}. Answers are delivered; requests that were opened while Countersign was not \
                 connected are missing until opencode answers this again"
            );
        }
        self.note_foreign_process(report);
        report.link.send_replace(Some(self.link.clone()));
        report.status(|status| {
            status.phase = EnginePhase::Ready;
            status.message.clone_from(&message);
        });
        self.note(EnginePhase::Ready, &message).await;
    }

    /// Has nothing to do with an engine that would lose answers, until another is found in its place.
    async fn refuse(&self, report: &Report, message: String) {
        let message = format!("{message}, and start it again");
        if report.status.borrow().message == message {
            return;
        }
        tracing::warn!("{message}");
        report.link.send_replace(None);
        report.status(|status| {
            status.phase = EnginePhase::Unreachable;
            status.message.clone_from(&message);
        });
        self.note(EnginePhase::Unreachable, &message).await;
    }

    /// A first failure is not worth a word: the stream is opened again at once.
    async fn unreachable(&self, report: &Report, failures: usize, message: &str) {
        if failures < 2 {
            return;
        }
        let message = format!("opencode cannot be reached: {message}");
        report.status(|status| {
            status.phase = EnginePhase::Unreachable;
            status.message.clone_from(&message);
        });
        self.note(EnginePhase::Unreachable, &message).await;
    }

    async fn note(&self, phase: EnginePhase, message: &str) {
        let noted = self
            .shared
            .store
            .set_run_state(
                self.shared.workspace.id,
                self.link.run,
                phase,
                message,
                self.shared.clock.now(),
            )
            .await;
        if let Err(error) = noted {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the engine's state was not noted"
            );
        }
    }
}

async fn next(frames: &mut Frames) -> Result<countersign_engine::opencode::Frame, StreamError> {
    frames.next().await
}
