//! The outbox: what is to be told to engines, worked off until each row is settled.

use countersign_core::ask::{Ask, AskPhase};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, RunId};
use countersign_core::time::Timestamp;
use serde_json::{Value, json};

use crate::Store;
use crate::asks::ask_in;
use crate::database::{on_db, on_tx};
use crate::error::StoreError;
use crate::write::{COUNTERSIGN, Write, to_json};

/// Something that an engine is to be told: the answer to an ask, or that nobody answered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parcel {
    /// The ask, answered or expired.
    pub ask: Ask,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is due.
    pub due_at: Timestamp,
    /// Whether a try may have reached the engine.
    pub perhaps_sent: bool,
}

impl Store {
    /// What is to be told to the engine of `run` and not settled yet, in the order it is due.
    pub async fn parcels(&self, run: RunId) -> Result<Vec<Parcel>, StoreError> {
        const LIST: &str = "SELECT deliveries.ask, deliveries.attempts, deliveries.due_at, deliveries.state \
             FROM deliveries JOIN asks ON asks.id = deliveries.ask \
             WHERE deliveries.state IN ('pending', 'sending') AND asks.run = $1 \
             ORDER BY deliveries.due_at, deliveries.ask LIMIT 500";
        let rows: Vec<(String, i64, i64, String)> = on_db!(&self.db, |pool| {
            sqlx::query_as(LIST)
                .bind(run.to_string())
                .fetch_all(pool)
                .await?
        });
        let mut parcels = Vec::with_capacity(rows.len());
        for (id, attempts, due_at, state) in rows {
            let id: AskId = id
                .parse()
                .map_err(|_| StoreError::corrupt("deliveries", &id, "ask"))?;
            if let Some(ask) = self.ask(id).await? {
                parcels.push(Parcel {
                    ask,
                    attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
                    due_at: Timestamp::from_micros(due_at),
                    perhaps_sent: state == "sending",
                });
            }
        }
        Ok(parcels)
    }

    /// Notes, before the first byte leaves, that a parcel is perhaps sent from now on. False if it is
    /// settled by now: then it must not be sent.
    pub async fn begin_sending(
        &self,
        ask: AskId,
        retry_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const BEGIN: &str = "UPDATE deliveries SET state = 'sending', attempts = attempts + 1, \
             at = $2, due_at = $3 WHERE ask = $1 AND state IN ('pending', 'sending')";
        let begun = on_db!(&self.db, |pool| {
            sqlx::query(BEGIN)
                .bind(ask.to_string())
                .bind(now.as_micros())
                .bind(retry_at.as_micros())
                .execute(pool)
                .await?
                .rows_affected()
        });
        Ok(begun == 1)
    }

    /// Puts a parcel that certainly did not leave back for later.
    pub async fn postpone(&self, ask: AskId, retry_at: Timestamp) -> Result<(), StoreError> {
        const POSTPONE: &str =
            "UPDATE deliveries SET due_at = $2 WHERE ask = $1 AND state IN ('pending', 'sending')";
        on_db!(&self.db, |pool| {
            sqlx::query(POSTPONE)
                .bind(ask.to_string())
                .bind(retry_at.as_micros())
                .execute(pool)
                .await?;
        });
        Ok(())
    }

    /// Settles a parcel: the engine has it, and this is the proof.
    pub async fn mark_delivered(
        &self,
        ask: AskId,
        evidence: &Evidence,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut write = self.write(now).await?;
        let Some(ask) = ask_in(&mut write.tx, ask).await? else {
            return Ok(false);
        };
        let detail = json!({ "evidence": evidence });
        let settled = settle_in(
            &mut write,
            &ask,
            AskPhase::Delivered,
            to_json(evidence),
            detail,
            now,
        )
        .await?;
        if settled {
            self.commit(write).await?;
        }
        Ok(settled)
    }

    /// Settles a parcel: the engine will never have it, and this is why.
    pub async fn give_up(
        &self,
        ask: AskId,
        why: &Undeliverable,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut write = self.write(now).await?;
        let Some(ask) = ask_in(&mut write.tx, ask).await? else {
            return Ok(false);
        };
        let settled = give_up_in(&mut write, &ask, why, now).await?;
        if settled {
            self.commit(write).await?;
        }
        Ok(settled)
    }
}

/// Settles a parcel as undeliverable within a larger write.
pub(crate) async fn give_up_in(
    write: &mut Write,
    ask: &Ask,
    why: &Undeliverable,
    now: Timestamp,
) -> Result<bool, StoreError> {
    settle_in(
        write,
        ask,
        AskPhase::Undeliverable,
        to_json(why),
        json!({ "why": why }),
        now,
    )
    .await
}

async fn settle_in(
    write: &mut Write,
    ask: &Ask,
    phase: AskPhase,
    column: String,
    detail: Value,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const SETTLE: &str = "UPDATE deliveries SET state = $2, at = $3, detail = $4 \
         WHERE ask = $1 AND state IN ('pending', 'sending')";
    const MOVE_ASK: &str = "UPDATE asks SET state = $2 WHERE id = $1 AND state = 'answered'";

    let id = ask.id.to_string();
    let settled = on_tx!(&mut write.tx, |connection| {
        sqlx::query(SETTLE)
            .bind(&id)
            .bind(phase.name())
            .bind(now.as_micros())
            .bind(column)
            .execute(connection)
            .await?
            .rows_affected()
    });
    if settled == 0 {
        return Ok(false);
    }
    // An ask that expired stays expired, whatever becomes of telling the engine so.
    let moved = on_tx!(&mut write.tx, |connection| {
        sqlx::query(MOVE_ASK)
            .bind(&id)
            .bind(phase.name())
            .execute(connection)
            .await?
            .rows_affected()
    });
    if moved == 1 {
        write.event(
            ask.workspace,
            EventBody::AskChanged {
                ask: ask.id,
                session: ask.session,
                state: phase,
            },
        );
    }
    let action = match phase {
        AskPhase::Delivered => "delivery.proved",
        AskPhase::Open
        | AskPhase::Answered
        | AskPhase::Undeliverable
        | AskPhase::Expired
        | AskPhase::Withdrawn => "delivery.given_up",
    };
    write.deed(ask.workspace, COUNTERSIGN, action, ask.id, detail);
    Ok(true)
}
