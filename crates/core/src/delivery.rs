//! Deliveries: how an answer gets to its engine, and what proves that it did.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ask::Elsewhere;
use crate::digest::Digest;
use crate::id::AskId;
use crate::time::Timestamp;

/// What the engine showed for having taken the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Evidence {
    /// The engine accepted the reply and then announced it.
    Announced {
        /// The event that it announced.
        event: String,
    },
    /// The reply's fate was unknown, and the tool was found to have gone on as answered.
    ToolState {
        /// The state that the tool was found in.
        status: String,
    },
    /// The one who handed the ask in says that the engine took the answer and announced it.
    Reported {
        /// What was reported.
        event: String,
    },
    /// The keeper wrote the reply to the agent's input, whole and once. The agent acknowledges nothing.
    Written {
        /// The JSON-RPC id that the reply carries.
        request: String,
    },
    /// The proxy that handed the ask in says that it wrote the reply to the agent's input, whole and once. The agent
    /// acknowledges nothing.
    ReportedWritten {
        /// The JSON-RPC id that the reply carries.
        request: String,
    },
    /// The files of the workspace were written.
    FilesWritten {
        /// The digest of the bytes.
        digest: Digest,
    },
    /// The server was restarted before it noted that the files were written, and the next one found them as they were to
    /// be.
    FilesFound {
        /// The digest of the bytes.
        digest: Digest,
    },
    /// What was proposed was done; no file is concerned.
    Done,
    /// A write was not allowed, and nothing was written.
    NothingWritten,
}

/// Why an answer will never reach its engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Undeliverable {
    /// The engine ended first.
    EngineGone,
    /// Somebody answered past Countersign.
    AnsweredElsewhere {
        /// What the engine was told there.
        reply: String,
        /// Where that was.
        #[serde(default)]
        at: Elsewhere,
    },
    /// The engine dropped it with another ask of its session that was denied.
    SiblingDenied {
        /// The ask that was denied.
        sibling: AskId,
    },
    /// The engine does not know the ask any more.
    Forgotten,
    /// The agent changed what it asks for before the answer left, and asks anew.
    Changed,
    /// The turn was cancelled while the answer was under way.
    TurnCancelled,
    /// The engine refused the reply.
    Refused {
        /// What it said.
        message: String,
    },
    /// The engine was told again and again, and never confirmed it; its turn is stopped.
    Unconfirmed {
        /// What happened to the last try.
        message: String,
    },
    /// The write was allowed and could not be done.
    NotWritten {
        /// Why.
        message: String,
    },
    /// The client that proposed the write went away before it was done.
    ClientGone,
    /// The server was restarted before it was known whether the write was done.
    ServerRestarted,
}

impl Undeliverable {
    /// A sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::EngineGone => "the engine ended before the answer reached it".to_owned(),
            Self::AnsweredElsewhere { reply, at } => at.sentence(reply),
            Self::SiblingDenied { sibling } => {
                format!("the engine dropped it when another ask, `{sibling}`, was denied")
            }
            Self::Forgotten => "the engine no longer knows this ask".to_owned(),
            Self::Changed => {
                "the agent changed what it asks for before the answer left, and asks anew"
                    .to_owned()
            }
            Self::TurnCancelled => "the turn was cancelled before the answer reached it".to_owned(),
            Self::Refused { message } => format!("the engine refused the answer: {message}"),
            Self::Unconfirmed { message } => {
                format!("the engine never confirmed the answer, so its turn is stopped: {message}")
            }
            Self::NotWritten { message } => format!("it could not be written: {message}"),
            Self::ClientGone => {
                "the client that proposed it went away before anything was written".to_owned()
            }
            Self::ServerRestarted => "the server was restarted before it noted that the write \
                was done, and what was to be written was not found"
                .to_owned(),
        }
    }
}

/// How far a delivery has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum DeliveryState {
    /// Waiting to be sent.
    Pending,
    /// Perhaps sent: the bytes may be with the engine, and nothing proves it yet.
    Sending {
        /// When the first byte may have left.
        since: Timestamp,
    },
    /// The engine has it.
    Delivered {
        /// When the proof was seen.
        at: Timestamp,
        /// The proof.
        evidence: Evidence,
    },
    /// It will never have it.
    Undeliverable {
        /// When that was found.
        at: Timestamp,
        /// Why.
        why: Undeliverable,
    },
}

/// The carrying of one answer to its engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// How far it has come.
    #[serde(flatten)]
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: u32,
}
