//! An ask's row, joined with its answer and its delivery, and how it becomes an ask.

use countersign_core::actor::{Actor, ActorKind, Surface};
use countersign_core::answer::Answer;
use countersign_core::ask::{Ask, AskPhase, AskState, Door};
use countersign_core::delivery::{Delivery, DeliveryState};
use countersign_core::time::Timestamp;

use crate::database::row;
use crate::deliveries::Parcel;
use crate::error::StoreError;

/// The columns of [`AskRow`]; what follows chooses the rows.
macro_rules! select_asks {
    ($($rest:literal),+ $(,)?) => {
        concat!(
            "SELECT asks.id, asks.workspace, asks.door, asks.run, asks.session, asks.native_id, ",
            "asks.directory, asks.subject, asks.raw, asks.options, asks.opened_at, asks.expires_at, ",
            "asks.digest, asks.fingerprint, asks.likeness, asks.previous, asks.state, asks.ended_at, ",
            "asks.why, sessions.parent AS parent_session, sessions.agent AS requester, answers.choice, answers.surface, answers.at AS answered_at, answers.rule, ",
            "actors.id AS actor, actors.kind AS actor_kind, actors.name AS actor_name, ",
            "deliveries.state AS delivery_state, deliveries.attempts, deliveries.at AS delivery_at, ",
            "deliveries.detail AS delivery_detail, deliveries.due_at AS delivery_due_at ",
            "FROM asks JOIN sessions ON sessions.id = asks.session LEFT JOIN answers ON answers.ask = asks.id ",
            "LEFT JOIN actors ON actors.id = answers.actor ",
            "LEFT JOIN deliveries ON deliveries.ask = asks.id ",
            $($rest),+
        )
    };
}

pub(crate) use select_asks;

row! {
    pub(crate) struct AskRow {
        id: String,
        workspace: String,
        door: String,
        run: String,
        session: String,
        parent_session: Option<String>,
        requester: String,
        native_id: String,
        directory: String,
        subject: String,
        raw: String,
        options: String,
        opened_at: i64,
        expires_at: Option<i64>,
        digest: String,
        fingerprint: String,
        likeness: String,
        previous: Option<String>,
        state: String,
        ended_at: Option<i64>,
        why: Option<String>,
        choice: Option<String>,
        surface: Option<String>,
        answered_at: Option<i64>,
        rule: Option<String>,
        actor: Option<String>,
        actor_kind: Option<String>,
        actor_name: Option<String>,
        delivery_state: Option<String>,
        attempts: Option<i64>,
        delivery_at: Option<i64>,
        delivery_detail: Option<String>,
        delivery_due_at: Option<i64>,
    }
}

impl AskRow {
    fn corrupt(&self, column: &'static str) -> StoreError {
        StoreError::corrupt("asks", &self.id, column)
    }

    fn state(&self) -> Result<AskState, StoreError> {
        let ended_at = || {
            self.ended_at
                .map(Timestamp::from_micros)
                .ok_or_else(|| self.corrupt("ended_at"))
        };
        Ok(
            match AskPhase::from_name(&self.state).ok_or_else(|| self.corrupt("state"))? {
                AskPhase::Open => AskState::Open,
                AskPhase::Answered => AskState::Answered(self.answer()?, self.delivery()?),
                AskPhase::Delivered => AskState::Delivered(self.answer()?, self.delivery()?),
                AskPhase::Undeliverable => {
                    AskState::Undeliverable(self.answer()?, self.delivery()?)
                }
                AskPhase::Expired => AskState::Expired { at: ended_at()? },
                AskPhase::Withdrawn => AskState::Withdrawn {
                    at: ended_at()?,
                    why: self
                        .why
                        .as_deref()
                        .and_then(|json| serde_json::from_str(json).ok())
                        .ok_or_else(|| self.corrupt("why"))?,
                },
            },
        )
    }

    fn answer(&self) -> Result<Answer, StoreError> {
        let read = || {
            Some(Answer {
                choice: serde_json::from_str(self.choice.as_deref()?).ok()?,
                by: Actor {
                    id: self.actor.as_deref()?.parse().ok()?,
                    kind: ActorKind::from_name(self.actor_kind.as_deref()?)?,
                    name: self.actor_name.clone()?,
                },
                surface: Surface::from_name(self.surface.as_deref()?)?,
                at: Timestamp::from_micros(self.answered_at?),
                rule: match &self.rule {
                    Some(rule) => Some(rule.parse().ok()?),
                    None => None,
                },
            })
        };
        read().ok_or_else(|| self.corrupt("answer"))
    }

    fn delivery(&self) -> Result<Delivery, StoreError> {
        let read = || {
            let at = || self.delivery_at.map(Timestamp::from_micros);
            let detail = self.delivery_detail.as_deref();
            let state = match self.delivery_state.as_deref()? {
                "pending" => DeliveryState::Pending,
                "sending" => DeliveryState::Sending { since: at()? },
                "delivered" => DeliveryState::Delivered {
                    at: at()?,
                    evidence: serde_json::from_str(detail?).ok()?,
                },
                "undeliverable" => DeliveryState::Undeliverable {
                    at: at()?,
                    why: serde_json::from_str(detail?).ok()?,
                },
                _ => return None,
            };
            Some(Delivery {
                state,
                attempts: u32::try_from(self.attempts?).ok()?,
            })
        };
        read().ok_or_else(|| self.corrupt("delivery"))
    }
}

impl TryFrom<AskRow> for Parcel {
    type Error = StoreError;

    fn try_from(row: AskRow) -> Result<Self, Self::Error> {
        let due_at = row.delivery_due_at.ok_or_else(|| row.corrupt("due_at"))?;
        let attempts = row.attempts.and_then(|count| u32::try_from(count).ok());
        Ok(Self {
            attempts: attempts.ok_or_else(|| row.corrupt("attempts"))?,
            due_at: Timestamp::from_micros(due_at),
            perhaps_sent: row.delivery_state.as_deref() == Some("sending"),
            ask: row.try_into()?,
        })
    }
}

impl TryFrom<AskRow> for Ask {
    type Error = StoreError;

    fn try_from(row: AskRow) -> Result<Self, Self::Error> {
        Ok(Self {
            state: row.state()?,
            id: row.id.parse().map_err(|_| row.corrupt("id"))?,
            workspace: row
                .workspace
                .parse()
                .map_err(|_| row.corrupt("workspace"))?,
            door: Door::from_name(&row.door).ok_or_else(|| row.corrupt("door"))?,
            run: row.run.parse().map_err(|_| row.corrupt("run"))?,
            session: row.session.parse().map_err(|_| row.corrupt("session"))?,
            subject: serde_json::from_str(&row.subject).map_err(|_| row.corrupt("subject"))?,
            raw: serde_json::from_str(&row.raw).map_err(|_| row.corrupt("raw"))?,
            options: serde_json::from_str(&row.options).map_err(|_| row.corrupt("options"))?,
            opened_at: Timestamp::from_micros(row.opened_at),
            expires_at: row.expires_at.map(Timestamp::from_micros),
            digest: row.digest.parse().map_err(|_| row.corrupt("digest"))?,
            fingerprint: row
                .fingerprint
                .parse()
                .map_err(|_| row.corrupt("fingerprint"))?,
            likeness: row.likeness.parse().map_err(|_| row.corrupt("likeness"))?,
            previous: row
                .previous
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| row.corrupt("previous"))?,
            parent_session: row
                .parent_session
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| row.corrupt("parent_session"))?,
            requester: row.requester,
            native_id: row.native_id,
            directory: row.directory,
        })
    }
}
