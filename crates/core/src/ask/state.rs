//! The states of an ask, and the steps between them. A terminal state never changes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::Answer;
use crate::ask::Withdrawal;
use crate::delivery::{Delivery, DeliveryState, Evidence, Undeliverable};
use crate::time::Timestamp;

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
