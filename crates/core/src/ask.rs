//! Asks and their states: `open → answered → delivered | undeliverable`, or `open → expired | withdrawn`.
//!
//! A terminal state never changes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::Answer;
use crate::delivery::{Delivery, DeliveryState, Evidence, Undeliverable};
use crate::digest::Digest;
use crate::id::{AskId, RunId, SessionId, WorkspaceId};
use crate::time::Timestamp;

/// Where an ask came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// An opencode server that Countersign started or attached to.
    Opencode,
    /// The plugin in an opencode that somebody runs in a terminal.
    OpencodePlugin,
    /// An agent that speaks the Agent Client Protocol, started by Countersign.
    Acp,
    /// The proxy between an editor and an agent that speaks the Agent Client Protocol.
    AcpProxy,
}

impl Door {
    /// The door's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opencode => "opencode",
            Self::OpencodePlugin => "opencode_plugin",
            Self::Acp => "acp",
            Self::AcpProxy => "acp_proxy",
        }
    }

    /// Reads what [`Door::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Opencode,
            Self::OpencodePlugin,
            Self::Acp,
            Self::AcpProxy,
        ]
        .into_iter()
        .find(|door| door.name() == name)
    }

    /// Whether a denial takes the session's other open asks with it.
    pub const fn denies_together(self) -> bool {
        match self {
            Self::Opencode | Self::OpencodePlugin => true,
            Self::Acp | Self::AcpProxy => false,
        }
    }

    /// Whether the agent gets to read the reason of a denial.
    ///
    /// The Agent Client Protocol has no place for one but the next prompt, and between an editor and its agent
    /// nobody else prompts.
    pub const fn tells_reasons(self) -> bool {
        match self {
            Self::Opencode | Self::OpencodePlugin | Self::Acp => true,
            Self::AcpProxy => false,
        }
    }
}

/// What leave is wanted for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A tool wants to run.
    Permission {
        /// The tool's name as the engine gives it.
        tool: String,
        /// What the tool is about to act on, word for word: what an "always" would be matched against.
        targets: Vec<String>,
        /// What a person has to see to decide, complete.
        shown: Vec<Shown>,
    },
    /// The agent wants to know something.
    Question {
        /// The parts of the question.
        questions: Vec<Question>,
    },
}

impl Subject {
    /// The tool's name; a question is the tool `question`.
    pub fn tool(&self) -> &str {
        match self {
            Self::Permission { tool, .. } => tool,
            Self::Question { .. } => "question",
        }
    }

    /// One line that says what is asked, for lists; it may be cut by whoever shows it.
    pub fn summary(&self) -> String {
        match self {
            Self::Permission { targets, shown, .. } => shown
                .iter()
                .find_map(|part| match part {
                    Shown::Command { text } => Some(text.clone()),
                    Shown::Diff { path, .. } | Shown::Path { path, .. } => Some(path.clone()),
                    Shown::Text { .. } => None,
                })
                .or_else(|| (!targets.is_empty()).then(|| targets.join(", ")))
                .or_else(|| {
                    shown.iter().find_map(|part| match part {
                        Shown::Text { text, .. } => Some(text.clone()),
                        Shown::Command { .. } | Shown::Diff { .. } | Shown::Path { .. } => None,
                    })
                })
                .unwrap_or_default(),
            Self::Question { questions } => questions
                .first()
                .map(|first| first.question.clone())
                .unwrap_or_default(),
        }
    }
}

/// One thing that a person has to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shown {
    /// A shell command, whole.
    Command {
        /// Its text.
        text: String,
    },
    /// A change of a file, as a unified diff, whole.
    Diff {
        /// The file.
        path: String,
        /// The diff.
        patch: String,
    },
    /// A path that is to be reached.
    Path {
        /// The path.
        path: String,
        /// Whether it lies outside the workspace.
        outside: bool,
    },
    /// Anything else that the engine said about it.
    Text {
        /// What it is.
        label: String,
        /// Its text.
        text: String,
    },
}

/// One part of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// A word or two to head it.
    pub header: String,
    /// The question itself.
    pub question: String,
    /// Answers that the agent suggests; free text is as good.
    pub options: Vec<QuestionOption>,
    /// Whether several may be chosen.
    pub multiple: bool,
}

/// An answer that the agent suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionOption {
    /// What is sent when it is chosen.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// What choosing an offered option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Yes, once.
    AllowOnce,
    /// Yes, from now on.
    AllowAlways,
    /// No.
    Deny,
    /// No, from now on.
    DenyAlways,
    /// Something that the engine has a word for that nobody here knows: only a person can choose it.
    Other,
}

/// An option as the engine offers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OfferedOption {
    /// What the engine calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
    /// What somebody has to know before they pick it, where there is more to it than its kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Where somebody answered past Countersign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Elsewhere {
    /// At the engine itself.
    #[default]
    Engine,
    /// In the editor that shows the agent.
    Editor,
}

impl Elsewhere {
    /// A sentence for people about an ask that was answered there with `reply`.
    pub fn sentence(self, reply: &str) -> String {
        match self {
            Self::Engine => format!("it was answered at the engine itself, with `{reply}`"),
            Self::Editor => format!("it was answered in the editor, with `{reply}`"),
        }
    }
}

/// Why an ask ended without an answer of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Withdrawal {
    /// The turn was cancelled.
    TurnCancelled,
    /// The session ended, or the engine dropped the ask with its turn.
    SessionEnded,
    /// The engine that asked is gone.
    EngineGone,
    /// The agent changed what it asks for, and asks anew.
    Changed,
    /// Another ask of the session was denied, and the engine drops the rest.
    SiblingDenied {
        /// The one that was denied.
        sibling: AskId,
    },
    /// Somebody answered past Countersign.
    AnsweredElsewhere {
        /// What the engine was told there.
        reply: String,
        /// Where that was.
        #[serde(default)]
        at: Elsewhere,
    },
}

impl Withdrawal {
    /// A sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::TurnCancelled => "the turn was cancelled".to_owned(),
            Self::SessionEnded => "the session ended".to_owned(),
            Self::EngineGone => "the engine is gone".to_owned(),
            Self::Changed => "the agent changed what it asks for, and asks anew".to_owned(),
            Self::SiblingDenied { sibling } => {
                format!("it fell with {sibling}, another ask of its session that was denied")
            }
            Self::AnsweredElsewhere { reply, at } => at.sentence(reply),
        }
    }
}

/// Where an ask stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskState {
    /// Nobody has answered.
    Open,
    /// Answered, and on its way to the engine.
    Answered(Answer, Delivery),
    /// Answered, and the engine has it.
    Delivered(Answer, Delivery),
    /// Answered, and the engine will never have it.
    Undeliverable(Answer, Delivery),
    /// Nobody answered in time.
    Expired {
        /// When it ran out.
        at: Timestamp,
    },
    /// It is no longer wanted.
    Withdrawn {
        /// When that was found.
        at: Timestamp,
        /// Why.
        why: Withdrawal,
    },
}

/// The states' names alone: what is stored, filtered by and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskPhase {
    /// Nobody has answered.
    Open,
    /// Answered, on its way.
    Answered,
    /// The engine has the answer.
    Delivered,
    /// The engine will never have the answer.
    Undeliverable,
    /// Nobody answered in time.
    Expired,
    /// No longer wanted.
    Withdrawn,
}

impl AskPhase {
    /// Every phase.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Answered,
        Self::Delivered,
        Self::Undeliverable,
        Self::Expired,
        Self::Withdrawn,
    ];

    /// The phase's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Delivered => "delivered",
            Self::Undeliverable => "undeliverable",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Reads what [`AskPhase::name`] wrote.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Whether nothing more can happen to it.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Open | Self::Answered => false,
            Self::Delivered | Self::Undeliverable | Self::Expired | Self::Withdrawn => true,
        }
    }
}

/// Something that can happen to an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Somebody answers.
    Answer(Answer),
    /// The answer is about to be sent.
    Send(Timestamp),
    /// The engine shows that it has the answer.
    Deliver(Timestamp, Evidence),
    /// The answer will never reach the engine.
    GiveUp(Timestamp, Undeliverable),
    /// Time is up.
    Expire(Timestamp),
    /// It is no longer wanted.
    Withdraw(Timestamp, Withdrawal),
}

/// Why a step cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An answer is there already.
    #[error("it is answered already")]
    AlreadyAnswered(Box<Answer>),
    /// It ended without an answer.
    #[error("it is over")]
    Over,
    /// There is no answer to carry.
    #[error("it has no answer to deliver")]
    NotAnswered,
}

impl AskState {
    /// The state's name.
    pub const fn phase(&self) -> AskPhase {
        match self {
            Self::Open => AskPhase::Open,
            Self::Answered(..) => AskPhase::Answered,
            Self::Delivered(..) => AskPhase::Delivered,
            Self::Undeliverable(..) => AskPhase::Undeliverable,
            Self::Expired { .. } => AskPhase::Expired,
            Self::Withdrawn { .. } => AskPhase::Withdrawn,
        }
    }

    /// The answer, if there is one.
    pub const fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answered(answer, _)
            | Self::Delivered(answer, _)
            | Self::Undeliverable(answer, _) => Some(answer),
            Self::Open | Self::Expired { .. } | Self::Withdrawn { .. } => None,
        }
    }

    /// The delivery, if there is an answer to deliver.
    pub const fn delivery(&self) -> Option<&Delivery> {
        match self {
            Self::Answered(_, delivery)
            | Self::Delivered(_, delivery)
            | Self::Undeliverable(_, delivery) => Some(delivery),
            Self::Open | Self::Expired { .. } | Self::Withdrawn { .. } => None,
        }
    }

    /// The state after `step`, or why it cannot be taken.
    pub fn advance(&self, step: Step) -> Result<Self, Refusal> {
        match (self, step) {
            (Self::Open, Step::Answer(answer)) => Ok(Self::Answered(
                answer,
                Delivery {
                    state: DeliveryState::Pending,
                    attempts: 0,
                },
            )),
            (Self::Open, Step::Expire(at)) => Ok(Self::Expired { at }),
            (Self::Open, Step::Withdraw(at, why)) => Ok(Self::Withdrawn { at, why }),
            (Self::Open, Step::Send(_) | Step::Deliver(..) | Step::GiveUp(..)) => {
                Err(Refusal::NotAnswered)
            }
            (Self::Answered(answer, delivery), Step::Send(since)) => Ok(Self::Answered(
                answer.clone(),
                Delivery {
                    state: DeliveryState::Sending { since },
                    attempts: delivery.attempts + 1,
                },
            )),
            (Self::Answered(answer, delivery), Step::Deliver(at, evidence)) => Ok(Self::Delivered(
                answer.clone(),
                Delivery {
                    state: DeliveryState::Delivered { at, evidence },
                    attempts: delivery.attempts,
                },
            )),
            (Self::Answered(answer, delivery), Step::GiveUp(at, why)) => Ok(Self::Undeliverable(
                answer.clone(),
                Delivery {
                    state: DeliveryState::Undeliverable { at, why },
                    attempts: delivery.attempts,
                },
            )),
            (
                Self::Answered(answer, _)
                | Self::Delivered(answer, _)
                | Self::Undeliverable(answer, _),
                Step::Answer(_) | Step::Expire(_) | Step::Withdraw(..),
            ) => Err(Refusal::AlreadyAnswered(Box::new(answer.clone()))),
            (
                Self::Delivered(..) | Self::Undeliverable(..),
                Step::Send(_) | Step::Deliver(..) | Step::GiveUp(..),
            )
            | (Self::Expired { .. } | Self::Withdrawn { .. }, _) => Err(Refusal::Over),
        }
    }
}

/// Leave that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The workspace it is about.
    pub workspace: WorkspaceId,
    /// Where it came in.
    pub door: Door,
    /// The life of the engine that asked; its request id means nothing in another.
    pub run: RunId,
    /// The session that asked.
    pub session: SessionId,
    /// The session that started the one that asks, for a sub-agent.
    pub parent_session: Option<SessionId>,
    /// Who asks: the agent's name within its engine.
    pub requester: String,
    /// What the engine itself calls the request.
    pub native_id: String,
    /// The directory that the engine works in.
    pub directory: String,
    /// What is asked.
    pub subject: Subject,
    /// What the engine sent, as it came.
    pub raw: serde_json::Value,
    /// The options that the engine offers.
    pub options: Vec<OfferedOption>,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it runs out.
    pub expires_at: Option<Timestamp>,
    /// Digest of `raw`: what was shown is bound to what was answered by it.
    pub digest: Digest,
    /// Same session, tool, arguments and directory.
    pub fingerprint: Digest,
    /// Same tool, arguments and directory, in any session.
    pub likeness: Digest,
    /// An ask of a dead engine that this one repeats.
    pub previous: Option<AskId>,
    /// Where it stands.
    pub state: AskState,
}

#[cfg(test)]
mod tests;
