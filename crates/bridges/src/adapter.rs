//! What a chat platform has to be able to do: [`Adapter`], and the values that pass between it and the core.
//!
//! # For whoever writes an adapter
//!
//! An adapter translates and decides nothing. It has no state that matters: threads, cards, cursors and what is still to
//! be sent are rows of the ledger, kept by the core. To add a platform:
//!
//! 1. A module `bridges/src/<platform>.rs` (with submodules) that has a type which implements [`Adapter`], made from a
//!    base URL and a secret. Every request has a time limit. The secret is in no message, no log and no URL that is
//!    logged. [`Platform`] and `Surface` know the four platforms already; the configuration makes the
//!    adapter in `settings.rs`.
//! 2. A stage in `bridges/tests/platforms/<platform>.rs` that implements `conformance::Stage` over a fake of the platform
//!    (or the platform itself), and one test that calls `conformance::all`. The faults come from
//!    `testkit::HttpFaults`, an HTTP proxy that stands between adapter and fake and answers 429, 5xx, nothing, or carries
//!    a request out and loses the response.
//! 3. A section in `docs/bridges.md` on how it is set up.
//!
//! What the core relies on, and the conformance tests hold:
//!
//! - **Nothing is lost.** [`Adapter::follow`] hands what happens to [`Intake::take`], which returns when it is durable;
//!   only then may the platform be told that it was received (an offset, an acknowledgement, the next `since`). After an
//!   error `follow` is called again with the newest cursor.
//! - **Nothing is doubled.** [`Happening::id`] is the same when the platform delivers the same thing twice.
//!   [`Adapter::send`] carries a [`Key`] that is the same at each attempt: use it as the platform's transaction id or
//!   nonce. Where the platform has none, say so ([`Capabilities::repeatable`]) and implement [`Adapter::find_sent`].
//! - **Failures are told apart** ([`Failure`]): the core waits, tries again, gives one message up, or stops.
//! - **Nobody is pinged** but by [`Span::Person`](crate::text::Span::Person). Whatever else looks like a mention to the
//!   platform is shown and means nothing, in every block of a text.
//! - **What is shown is what was given**: rendering loses no character of a [`Block::Code`](crate::text::Block::Code).
//!   Deceptive characters are made visible by the core before.
//! - **Order**: the core sends one message of a place at a time. An adapter keeps no queue.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::Platform;
use crate::intake::{Intake, Stopped};
use crate::text::Text;

/// A chat platform, as seen from the core. See the [module](self) for what is relied on.
pub trait Adapter: Send + Sync + 'static {
    /// Which platform it is.
    fn platform(&self) -> Platform;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// A text in the platform's dialect, as it would be sent: the core measures it against [`Capabilities::longest`] and
    /// splits the text until each part fits. Buttons are not part of it.
    fn render(&self, text: &Text) -> String;

    /// Hands what happens on the platform to `intake`, from after `cursor` on, until it fails or is stopped. Without a
    /// cursor it begins with what happens from now on: old messages are nobody's wish.
    fn follow<'a>(
        &'a self,
        cursor: Option<String>,
        intake: &'a Intake,
    ) -> BoxFuture<'a, Result<Stopped, Failure>>;

    /// The place in which the conversation about a message goes on that mentioned us: a thread of it, where the platform
    /// has threads. The same message gives the same place.
    fn open_thread<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<Place, Failure>>;

    /// The place in which only we and this person are, made if it is not there.
    fn direct<'a>(&'a self, person: &'a str) -> BoxFuture<'a, Result<Place, Failure>>;

    /// Sends a message and returns what the platform calls it.
    fn send<'a>(
        &'a self,
        place: &'a Place,
        message: &'a Outgoing,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>>;

    /// Whether a message with this key was sent, after an attempt of unknown fate. Only called where sending is not
    /// [repeatable](Capabilities::repeatable).
    fn find_sent<'a>(
        &'a self,
        place: &'a Place,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        let _ = (place, key);
        Box::pin(async { Ok(Sent::CannotTell) })
    }

    /// Replaces a message of ours. Buttons that are not in `message` go away.
    fn edit<'a>(
        &'a self,
        place: &'a Place,
        id: &'a MessageId,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Makes `reaction` the one reaction of ours on a message, in place of `former`.
    fn react<'a>(
        &'a self,
        place: &'a Place,
        message: &'a MessageId,
        former: Option<Reaction>,
        reaction: Option<Reaction>,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Sends a file and returns what the platform calls the message that it is in.
    fn upload<'a>(
        &'a self,
        place: &'a Place,
        file: &'a OutgoingFile,
        key: &'a Key,
    ) -> BoxFuture<'a, Result<MessageId, Failure>>;

    /// Fetches a file that came with a message; one of more than `limit` bytes is [refused](Failure::Refused) before all
    /// of it is read.
    fn download<'a>(
        &'a self,
        file: &'a IncomingFile,
        limit: u64,
    ) -> BoxFuture<'a, Result<Bytes, Failure>>;

    /// Tells the one who pressed something what came of it, where only they see it. Every press is answered so, once.
    /// Where the platform has no such reply, a [`Tone::Done`] can be left out, for the card says it too; everything else
    /// goes to the [direct](Adapter::direct) place of the person.
    fn reply_privately<'a>(
        &'a self,
        press: &'a Pressed,
        tone: Tone,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), Failure>>;

    /// Tries the credential, and what is needed in each of these channels.
    fn check<'a>(&'a self, channels: &'a [String]) -> BoxFuture<'a, Vec<Finding>>;
}

/// What a platform can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// How the options of an ask are pressed.
    pub buttons: Buttons,
    /// What commands begin with: `/`, or another sign where the platform's programs keep that for themselves. Text that
    /// begins with `/` is a command everywhere.
    pub command_sign: char,
    /// The longest message, as [rendered](Adapter::render).
    pub longest: Length,
    /// The biggest file that can be sent, in bytes.
    pub biggest_file: u64,
    /// How long to wait between two edits of the same message.
    pub edit_pause: Duration,
    /// How long to wait between two messages to the same place.
    pub send_pause: Duration,
    /// Whether sending again with the same [`Key`] gives the same message, and not another one.
    pub repeatable: bool,
}

/// How options are pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buttons {
    /// The platform has buttons: [`What::Press`] comes back with [`Button::payload`].
    Native,
    /// It has none: the adapter writes a legend below the text and seeds a reaction for each, in their order, with
    /// [`Button::sign`]; [`What::Reaction`] comes back.
    Reactions,
}

/// A length in the platform's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many bytes of UTF-8.
    Bytes(usize),
    /// So many characters.
    Characters(usize),
    /// So many units of UTF-16.
    Utf16(usize),
}

impl Length {
    /// Whether `text` is within it.
    pub fn holds(self, text: &str) -> bool {
        match self {
            Self::Bytes(most) => text.len() <= most,
            Self::Characters(most) => text.chars().count() <= most,
            Self::Utf16(most) => text.encode_utf16().count() <= most,
        }
    }
}

/// Where something is said: a channel, or a thread of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The channel, room or chat, as the platform calls it.
    pub channel: String,
    /// The thread, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

impl Place {
    /// A channel as a whole.
    pub fn channel(channel: impl Into<String>) -> Self {
        Self {
            channel: channel.into(),
            thread: None,
        }
    }

    /// The thread that a message here is in or begins, on platforms that call a thread as its first message.
    #[must_use]
    pub fn thread_of(&self, message: &MessageId) -> Self {
        Self {
            channel: self.channel.clone(),
            thread: Some(self.thread.clone().unwrap_or_else(|| message.0.clone())),
        }
    }
}

/// What the platform calls a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub String);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same at each attempt to send the same thing, and at no other: ASCII letters, digits and `_`, at most 40 of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(pub String);

/// Somebody on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// What the platform calls them, for good: not a name that they can change.
    pub id: String,
    /// What people call them.
    pub name: String,
    /// Whether it is a program. Nothing of what programs say or press is taken.
    pub is_bot: bool,
}

/// Something that happened on the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// The same when the same thing is delivered twice.
    pub id: String,
    /// Where.
    pub place: Place,
    /// Whether only that person and we are there.
    pub is_direct: bool,
    /// Who did it. What we did ourselves is not handed on.
    pub by: Person,
    /// What it was.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// Somebody said something.
    Message {
        /// What it is called.
        message: MessageId,
        /// The words, without the mention of us at their beginning.
        text: String,
        /// Whether it mentions us.
        mentions_us: bool,
        /// What came along.
        files: Vec<IncomingFile>,
    },
    /// Somebody gave a command by the platform's own means.
    Command {
        /// Its name, without any sign.
        name: String,
        /// The rest.
        arguments: String,
        /// What the reply is bound to.
        handle: String,
    },
    /// Somebody pressed a button.
    Press {
        /// The message that has it.
        message: MessageId,
        /// [`Button::payload`], word for word.
        payload: String,
        /// What the reply is bound to: an interaction's token, a callback's id.
        handle: String,
    },
    /// Somebody reacted to a message.
    Reaction {
        /// The message.
        message: MessageId,
        /// The sign, such as `1️⃣` or `✅`, without a skin tone.
        sign: String,
    },
}

/// A press or a command that is to be replied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pressed {
    /// Where it was.
    pub place: Place,
    /// By whom.
    pub by: Person,
    /// What the platform binds the reply to, where it does.
    pub handle: Option<String>,
}

/// How a private reply is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// What was pressed is done.
    Done,
    /// It is not done, and this is why.
    Refused,
}

/// A file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncomingFile {
    /// Its name.
    pub name: String,
    /// Its type, as far as the platform says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How big it is, as far as the platform says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where the adapter finds it.
    pub handle: String,
}

/// A file that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingFile {
    /// Its name.
    pub name: String,
    /// Its type.
    pub media_type: String,
    /// Its content.
    pub content: Bytes,
}

/// A message that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// What it says.
    pub text: Text,
    /// What can be pressed, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
}

impl Outgoing {
    /// A message without buttons.
    pub fn plain(text: Text) -> Self {
        Self {
            text,
            buttons: Vec::new(),
        }
    }
}

/// Something that can be pressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says: at most 75 characters, of which nothing is deceptive.
    pub label: String,
    /// What comes back: at most 60 bytes of ASCII.
    pub payload: String,
    /// The reaction that stands for it, where there are no buttons.
    pub sign: String,
    /// What it means.
    pub meaning: Meaning,
}

/// What a button means, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// Yes.
    Yes,
    /// No.
    No,
    /// Neither.
    Neutral,
}

/// How a turn stands, as a reaction on the message that began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// It waits for the turn before it.
    Queued,
    /// The agent works.
    Working,
    /// Somebody has to answer.
    Waiting,
    /// It ended well.
    Done,
    /// It failed.
    Failed,
    /// It was cancelled or denied.
    Stopped,
}

impl Reaction {
    /// The sign, for platforms that take any.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Queued => "🕐",
            Self::Working => "👀",
            Self::Waiting => "✋",
            Self::Done => "✅",
            Self::Failed => "💥",
            Self::Stopped => "🛑",
        }
    }
}

/// Whether a message was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// It was, and is called so.
    As(MessageId),
    /// It certainly was not.
    No,
    /// Nobody can tell: it is sent again, and says that it may be a repetition.
    CannotTell,
}

/// Why something was not done, and whether to try again. No secret is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The platform wants us to wait (429, flood control).
    #[error("the platform wants to be asked again in {after:?}: {problem}")]
    Later {
        /// For so long.
        after: Duration,
        /// What it said.
        problem: String,
    },
    /// It was certainly not done, and can be tried again: refused connections, 5xx of a platform that does nothing then.
    #[error("the platform cannot be reached: {0}")]
    Unreached(String),
    /// It may have been done: the connection broke before the response came.
    #[error("the platform did not answer: {0}")]
    Unknown(String),
    /// What it is about is not there any more: a deleted message, a channel that we are not in.
    #[error("it is not there any more: {0}")]
    Gone(String),
    /// The platform will never do it.
    #[error("the platform refuses: {0}")]
    Refused(String),
    /// The credential is not good.
    #[error("the platform does not know our credential: {0}")]
    Unauthorised(String),
}

/// What [`Adapter::check`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was tried.
    pub tried: String,
    /// What is wrong and what to do; nothing if it is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Finding {
    /// It is well.
    pub fn well(tried: impl Into<String>) -> Self {
        Self {
            tried: tried.into(),
            problem: None,
        }
    }

    /// It is not.
    pub fn wrong(tried: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            tried: tried.into(),
            problem: Some(problem.into()),
        }
    }
}
