//! Ends asks without an answer: expired, or withdrawn.

use std::collections::BTreeSet;

use countersign_core::ask::{Ask, AskPhase, AskState, Withdrawal};
use countersign_core::delivery::Undeliverable;
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, RunId};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::asks::row::{AskRow, select_asks};
use crate::asks::{LIVE_OF_RUN, ask_in};
use crate::database::{on_db, on_tx};
use crate::deliveries::give_up_in;
use crate::engines::hold_run;
use crate::error::StoreError;
use crate::sql::query;
use crate::write::{COUNTERSIGN, Write, to_json};

/// Asked after every change of the ledger. The state is looked at as an expression, as the index of ends does: by the plain
/// column SQLite would look through all that waits.
pub(crate) const NEXT_EXPIRY: &str =
    "SELECT MIN(expires_at) FROM asks WHERE state || '' = 'open' AND expires_at IS NOT NULL";

impl Store {
    /// Withdraws an open ask; nothing happens to one that is answered or over.
    pub async fn withdraw(
        &self,
        id: AskId,
        why: &Withdrawal,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut write = self.write(now).await?;
        let Some(ask) = ask_in(&mut write.tx, id).await? else {
            return Ok(false);
        };
        if !withdraw_in(&mut write, &ask, why, now).await? {
            return Ok(false);
        }
        self.commit(write).await?;
        Ok(true)
    }

    /// Ends every ask whose time is up, and puts into the outbox that the engine is to be told no.
    pub async fn expire_due(&self, now: Timestamp) -> Result<usize, StoreError> {
        const DUE: &str = select_asks!(
            "WHERE asks.state || '' = 'open' AND asks.expires_at <= $1 ORDER BY asks.id LIMIT 100"
        );
        let mut write = self.write(now).await?;
        let rows: Vec<AskRow> = on_tx!(&mut write.tx, |connection| {
            query(DUE)
                .bind(now.as_micros())
                .fetch_all(connection)
                .await?
        });
        let due: Vec<Ask> = rows
            .into_iter()
            .map(Ask::try_from)
            .collect::<Result<_, _>>()?;
        let runs: BTreeSet<RunId> = due.iter().map(|ask| ask.run).collect();
        for run in runs {
            hold_run(&mut write.tx, run).await?;
        }
        let mut expired = 0;
        for ask in &due {
            if expire_in(&mut write, ask, now).await? {
                expired += 1;
            }
        }
        if expired > 0 {
            self.commit(write).await?;
        }
        Ok(expired)
    }

    /// When the next ask runs out, if one does.
    pub async fn next_expiry(&self) -> Result<Option<Timestamp>, StoreError> {
        let (next,): (Option<i64>,) = on_db!(&self.db, |connection| query(NEXT_EXPIRY)
            .fetch_one(connection)
            .await?);
        Ok(next.map(Timestamp::from_micros))
    }
}

/// Expires an ask if it is open.
pub(super) async fn expire_in(
    write: &mut Write,
    ask: &Ask,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const ADD_DELIVERY: &str = "INSERT INTO deliveries (ask, state, attempts, due_at) \
         VALUES ($1, 'pending', 0, $2)";
    let ended = end_in(write, ask, AskPhase::Expired, None, now).await?;
    if ended {
        on_tx!(&mut write.tx, |connection| {
            query(ADD_DELIVERY)
                .bind(ask.id.to_string())
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        write.deed(ask.workspace, COUNTERSIGN, "ask.expire", ask.id, json!({}));
    }
    Ok(ended)
}

/// Withdraws an ask if it is open.
pub(crate) async fn withdraw_in(
    write: &mut Write,
    ask: &Ask,
    why: &Withdrawal,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let ended = end_in(write, ask, AskPhase::Withdrawn, Some(to_json(why)), now).await?;
    if ended {
        write.deed(
            ask.workspace,
            COUNTERSIGN,
            "ask.withdraw",
            ask.id,
            json!({ "why": why }),
        );
    }
    Ok(ended)
}

async fn end_in(
    write: &mut Write,
    ask: &Ask,
    phase: AskPhase,
    why: Option<String>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    const END: &str = "UPDATE asks SET state = $2, ended_at = $3, why = $4 \
         WHERE id = $1 AND state || '' = 'open'";
    let ended = on_tx!(&mut write.tx, |connection| {
        query(END)
            .bind(ask.id.to_string())
            .bind(phase.name())
            .bind(now.as_micros())
            .bind(why)
            .execute(connection)
            .await?
            .rows_affected()
    });
    if ended == 1 {
        write.event(
            ask.workspace,
            EventBody::AskChanged {
                ask: ask.id,
                session: ask.session,
                state: phase,
            },
        );
    }
    Ok(ended == 1)
}

/// Ends every ask of a life that is over: open ones for the one reason, answered ones for the other.
pub(crate) async fn end_asks_of_run(
    write: &mut Write,
    run: RunId,
    (withdrawal, undeliverable): (&Withdrawal, &Undeliverable),
    now: Timestamp,
) -> Result<(), StoreError> {
    const DROP_REST: &str = "UPDATE deliveries SET state = 'undeliverable', at = $2, detail = $3 \
         WHERE state IN ('pending', 'sending') AND ask IN (SELECT id FROM asks WHERE run = $1)";
    let rows: Vec<AskRow> = on_tx!(&mut write.tx, |connection| {
        query(LIVE_OF_RUN)
            .bind(run.to_string())
            .fetch_all(connection)
            .await?
    });
    for row in rows {
        let ask = Ask::try_from(row)?;
        if ask.state == AskState::Open {
            withdraw_in(write, &ask, withdrawal, now).await?;
        } else {
            give_up_in(write, &ask, undeliverable, now).await?;
        }
    }
    // What is left is what the engine was to be told about asks that had expired.
    on_tx!(&mut write.tx, |connection| {
        query(DROP_REST)
            .bind(run.to_string())
            .bind(now.as_micros())
            .bind(to_json(undeliverable))
            .execute(connection)
            .await?;
    });
    Ok(())
}
