//! Carries a notification out of here: to a command, to a webhook, onto a desktop, to a browser.
//!
//! One call is one attempt, with a time limit and an end: nothing that was started is left running, and whatever goes
//! wrong is a sentence for the list of dead letters. When attempts are made, and how often, is decided elsewhere.

mod child;
mod command;
mod desktop;
mod push;
mod secret;
mod surroundings;
mod webhook;

pub use command::CommandTarget;
pub use push::{
    PushAddress, PushSender, PushSettings, PushTarget, UnfitPushAddress, UnfitPushKey, Vapid,
};
pub use secret::{SecretSource, UnfitSecret};
pub use surroundings::Surroundings;
pub use webhook::{UnfitAddress, WebhookTarget};

use std::fmt;
use std::time::Duration;

use countersign_core::id::NotificationId;
use countersign_core::notification::{Interest, Message, Schedule};
use countersign_core::time::Timestamp;
use tokio_util::sync::CancellationToken;

/// Whom to tell, of what, and how.
#[derive(Debug, Clone)]
pub struct Target {
    /// What people call it.
    pub name: String,
    /// What it wants to be told of.
    pub interest: Interest,
    /// Whether it is told what a happening was about.
    pub details: bool,
    /// How often it is tried.
    pub schedule: Schedule,
    /// How long one attempt may take.
    pub time_limit: Duration,
    /// How it is told.
    pub way: Way,
}

/// How a target is told.
#[derive(Debug, Clone)]
pub enum Way {
    /// A program of this machine is run.
    Command(CommandTarget),
    /// A request is sent.
    Webhook(WebhookTarget),
    /// The desktop that the server runs on shows it.
    Desktop,
    /// A paired browser shows it.
    Push(PushTarget),
}

impl Way {
    /// Its name, as it is configured.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Webhook(_) => "webhook",
            Self::Desktop => "desktop",
            Self::Push(_) => "push",
        }
    }
}

impl fmt::Display for Way {
    /// Where it leads, without anything that could be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => write!(f, "{}", command.program.display()),
            Self::Webhook(webhook) => f.write_str(&webhook.origin()),
            Self::Desktop => f.write_str("this desktop"),
            Self::Push(push) => f.write_str(&push.origin()),
        }
    }
}

/// How an attempt ended.
#[derive(Debug)]
pub enum Attempt {
    /// The target took it.
    Sent,
    /// It did not.
    Failed(Failure),
    /// The target is there no more, and will not be again.
    Gone(Failure),
    /// The server ends; whether the target took it is not known.
    BrokenOff,
}

/// Why a target did not take a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why, in a sentence that holds no secret.
    pub problem: String,
    /// The last of what the command printed, or the beginning of what the receiver answered.
    pub output: Option<String>,
    /// Whether trying again would change nothing.
    pub lasting: bool,
    /// How long the receiver wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// Something that may be otherwise the next time.
    pub(crate) fn passing(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            output: None,
            lasting: false,
            retry_after: None,
        }
    }

    /// Something that only a change of the configuration or of the machine can mend.
    pub(crate) fn lasting(problem: impl Into<String>) -> Self {
        Self {
            lasting: true,
            ..Self::passing(problem)
        }
    }

    #[must_use]
    pub(crate) fn with_output(mut self, output: &str) -> Self {
        let output = countersign_core::visible::visible(output.trim());
        self.output = (!output.is_empty()).then(|| output.into_owned());
        self
    }
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Target {
    /// Makes one attempt to tell the target.
    pub async fn send(
        &self,
        message: &Message,
        surroundings: &Surroundings,
        now: Timestamp,
        ending: &CancellationToken,
    ) -> Attempt {
        let limit = self.time_limit;
        match &self.way {
            Way::Command(command) => command.run(message, surroundings, limit, ending).await,
            Way::Webhook(webhook) => {
                let sending = webhook.post(message, surroundings, limit, now);
                tokio::select! {
                    () = ending.cancelled() => Attempt::BrokenOff,
                    attempt = sending => attempt,
                }
            }
            Way::Desktop => desktop::show(message, surroundings, limit, ending).await,
            Way::Push(push) => {
                tokio::select! {
                    () = ending.cancelled() => Attempt::BrokenOff,
                    attempt = push.post(message, limit, now) => attempt,
                }
            }
        }
    }

    /// Ends what an earlier attempt left running, because its server was killed.
    pub async fn clear_up(&self, id: NotificationId) {
        match &self.way {
            Way::Command(_) | Way::Desktop => child::end_marked(id).await,
            Way::Webhook(_) | Way::Push(_) => {}
        }
    }
}
