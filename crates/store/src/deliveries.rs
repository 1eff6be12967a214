//! The outbox: what is to be told to engines, worked off until each row is settled.

use std::collections::BTreeMap;

use countersign_core::actor::Actor;
use countersign_core::ask::{Ask, AskPhase};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, RunId};
use countersign_core::time::Timestamp;
use serde_json::{Value, json};

use crate::Store;
use crate::asks::{AskRow, ask_in, select_asks};
use crate::database::{on_db, on_tx};
use crate::error::StoreError;
use crate::sql::query;
use crate::turns::{NewTurn, begin_turn_in};
use crate::write::{COUNTERSIGN, Write, name_in_audit, to_json};

/// How many parcels that were never sent are looked at at once. Each look has its price, and only a few are under way
/// at the same time.
const NEXT_PARCELS: i64 = 64;
/// More than are ever under way.
const MOST_PARCELS: i64 = 500;

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
    /// What is to be told to the engine of `run`, in the order it is due: all that is perhaps sent and not
    /// settled yet, and of what was never sent the next few.
    pub async fn parcels(&self, run: RunId) -> Result<Vec<Parcel>, StoreError> {
        const NEXT: &str = select_asks!(
            "WHERE asks.run || '' = $1 AND deliveries.state = 'pending' \
             ORDER BY deliveries.due_at, deliveries.ask LIMIT $2"
        );
        const SENDING: &str = select_asks!(
            "WHERE asks.run || '' = $1 AND deliveries.state = 'sending' \
             ORDER BY deliveries.due_at, deliveries.ask LIMIT $2"
        );
        // Without the index of runs: few of the asks of a run are in the outbox.
        // In this order: what is sent between the two is in both, and in none the other way round.
        let mut parcels = BTreeMap::new();
        for (statement, limit) in [(NEXT, NEXT_PARCELS), (SENDING, MOST_PARCELS)] {
            let rows: Vec<AskRow> = on_db!(&self.db, |connection| {
                query(statement)
                    .bind(run.to_string())
                    .bind(limit)
                    .fetch_all(connection)
                    .await?
            });
            for row in rows {
                let parcel = Parcel::try_from(row)?;
                parcels.insert(parcel.ask.id, parcel);
            }
        }
        let mut parcels: Vec<Parcel> = parcels.into_values().collect();
        parcels.sort_by_key(|parcel| parcel.due_at);
        Ok(parcels)
    }

    /// Whether a parcel may have reached the engine and is not settled yet.
    pub async fn is_perhaps_sent(&self, ask: AskId) -> Result<bool, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM deliveries WHERE ask = $1 AND state = 'sending'";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(ask.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(count > 0)
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
        let begun = on_db!(&self.db, |connection| {
            query(BEGIN)
                .bind(ask.to_string())
                .bind(now.as_micros())
                .bind(retry_at.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(begun == 1)
    }

    /// Puts a parcel that certainly did not leave back for later.
    pub async fn postpone(&self, ask: AskId, retry_at: Timestamp) -> Result<(), StoreError> {
        const POSTPONE: &str =
            "UPDATE deliveries SET due_at = $2 WHERE ask = $1 AND state IN ('pending', 'sending')";
        on_db!(&self.db, |connection| {
            query(POSTPONE)
                .bind(ask.to_string())
                .bind(retry_at.as_micros())
                .execute(connection)
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
        self.mark_delivered_before(ask, evidence, None, now).await
    }

    /// The same. What the engine is to be told after it is a turn that begins in the same transaction, said by the actor
    /// that comes with it: a server that is killed loses both or neither.
    pub async fn mark_delivered_before(
        &self,
        ask: AskId,
        evidence: &Evidence,
        follow_up: Option<(NewTurn, Actor)>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut write = self.write(now).await?;
        let Some(ask) = ask_in(&mut write.tx, ask).await? else {
            return Ok(false);
        };
        let settled = deliver_in(&mut write, &ask, evidence, now).await?;
        if settled {
            if let Some((turn, by)) = follow_up {
                let by = (&*by.id.to_string(), &*name_in_audit(&by));
                begin_turn_in(&mut write, ask.workspace, turn, &[], by, now).await?;
            }
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

/// Settles a parcel as delivered within a larger write.
pub(crate) async fn deliver_in(
    write: &mut Write,
    ask: &Ask,
    evidence: &Evidence,
    now: Timestamp,
) -> Result<bool, StoreError> {
    settle_in(
        write,
        ask,
        AskPhase::Delivered,
        to_json(evidence),
        json!({ "evidence": evidence }),
        now,
    )
    .await
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

pub(crate) const SETTLE: &str = "UPDATE deliveries SET state = $2, at = $3, detail = $4 \
     WHERE ask = $1 AND state IN ('pending', 'sending')";
/// By its id alone, as an ask is claimed.
pub(crate) const MOVE_ASK: &str =
    "UPDATE asks SET state = $2 WHERE id = $1 AND state || '' = 'answered'";

async fn settle_in(
    write: &mut Write,
    ask: &Ask,
    phase: AskPhase,
    column: String,
    detail: Value,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let id = ask.id.to_string();
    let settled = on_tx!(&mut write.tx, |connection| {
        query(SETTLE)
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
        query(MOVE_ASK)
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
