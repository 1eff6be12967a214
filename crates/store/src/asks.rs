//! Asks: opened once, answered at most once, ended once.

mod answer;
mod end;
mod open;
mod row;

pub use answer::{Answered, AnsweredOpen};
pub use open::{NewAsk, Opened};

#[cfg(test)]
pub(crate) use answer::CLAIM;
#[cfg(test)]
pub(crate) use end::NEXT_EXPIRY;
pub(crate) use end::end_asks_of_run;
#[cfg(test)]
pub(crate) use open::ADD;

use countersign_core::ask::{Ask, AskPhase, Subject, Withdrawal};
use countersign_core::id::{AskId, RunId, SessionId, WorkspaceId};

use crate::Store;
pub(crate) use row::{AskRow, select_asks};

use crate::database::{Tx, on_db, on_tx};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::to_json;

/// Sorts behind every id of an ask.
const BEHIND_ALL: &str = "ask_~";

/// Which asks to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskFilter {
    /// Only those in this phase.
    pub phase: Option<AskPhase>,
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// Only those that were opened before this one.
    pub before: Option<AskId>,
}

/// The tool that leave is wanted for; questions and writes are about none.
pub(crate) fn tool_of(subject: &Subject) -> Option<&str> {
    match subject {
        Subject::Permission { tool, .. } => Some(tool),
        Subject::Question { .. } | Subject::WorkspaceWrite { .. } => None,
    }
}

/// The ask called `id`, within a transaction.
pub(crate) async fn ask_in(tx: &mut Tx, id: AskId) -> Result<Option<Ask>, StoreError> {
    const GET: &str = select_asks!("WHERE asks.id = $1");
    let row: Option<AskRow> = on_tx!(tx, |connection| {
        query(GET)
            .bind(id.to_string())
            .fetch_optional(connection)
            .await?
    });
    row.map(Ask::try_from).transpose()
}

/// The other open asks of a session that an engine drops when one of its permissions is denied.
pub(crate) async fn open_siblings_in(tx: &mut Tx, ask: &Ask) -> Result<Vec<Ask>, StoreError> {
    const LIST: &str = select_asks!(
        "WHERE asks.session || '' = $1 AND asks.run || '' = $2 AND asks.state = 'open' AND asks.id <> $3 \
         ORDER BY asks.id"
    );
    if !matches!(ask.subject, Subject::Permission { .. }) {
        return Ok(Vec::new());
    }
    let rows: Vec<AskRow> = on_tx!(tx, |connection| {
        query(LIST)
            .bind(ask.session.to_string())
            .bind(ask.run.to_string())
            .bind(ask.id.to_string())
            .fetch_all(connection)
            .await?
    });
    let mut siblings: Vec<Ask> = rows
        .into_iter()
        .map(Ask::try_from)
        .collect::<Result<_, _>>()?;
    siblings.retain(|sibling| matches!(sibling.subject, Subject::Permission { .. }));
    Ok(siblings)
}

/// The asks in a state, newest first. The condition says in its text which states there may be, as the index does: a bound
/// value finds no index that holds some of them only.
macro_rules! by_state {
    ($condition:literal) => {
        select_asks!(
            "WHERE ",
            $condition,
            " AND (CAST($2 AS TEXT) IS NULL OR asks.workspace = $2) \
             AND asks.id < $3 ORDER BY asks.id DESC LIMIT $4"
        )
    };
}

pub(crate) const LIVE: &str =
    by_state!("(asks.state = 'open' OR asks.state = 'answered') AND asks.state = $1");
pub(crate) const OVER: &str = by_state!(
    "(asks.state = 'expired' OR asks.state = 'withdrawn' OR asks.state = 'undeliverable') \
     AND asks.state = $1"
);
/// Most are: the next one is found wherever it is looked for.
pub(crate) const DELIVERED: &str = by_state!("asks.state || '' = $1");

/// The open asks of a session, newest first. They are looked for among all that wait, and so are those of a run: the indexes of
/// sessions and of runs have what is over as well, so the columns are looked at as expressions, which neither holds.
pub(crate) const OPEN_OF_SESSION: &str = select_asks!(
    "WHERE asks.session || '' = $1 AND asks.state = 'open' ORDER BY asks.id DESC LIMIT $2"
);

/// How many asks of a session were withdrawn for a reason: as an expression, or all would be looked at that ever were withdrawn.
pub(crate) const FALLEN: &str =
    "SELECT COUNT(*) FROM asks WHERE session = $1 AND state || '' = 'withdrawn' AND why = $2";

/// The asks of a run that can still change.
pub(crate) const LIVE_OF_RUN: &str = select_asks!(
    "WHERE asks.run || '' = $1 AND (asks.state = 'open' OR asks.state = 'answered') ORDER BY asks.id"
);

impl Store {
    /// The ask called `id`.
    pub async fn ask(&self, id: AskId) -> Result<Option<Ask>, StoreError> {
        const GET: &str = select_asks!("WHERE asks.id = $1");
        let row: Option<AskRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Ask::try_from).transpose()
    }

    /// Whether the ask called `id` is open.
    pub async fn is_open(&self, id: AskId) -> Result<bool, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM asks WHERE id = $1 AND state = 'open'";
        let (open,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(id.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(open > 0)
    }

    /// The ask that the engine of `run` calls `native_id`.
    pub async fn ask_by_native_id(
        &self,
        run: RunId,
        native_id: &str,
    ) -> Result<Option<Ask>, StoreError> {
        const GET: &str = select_asks!("WHERE asks.run = $1 AND asks.native_id = $2");
        let row: Option<AskRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(run.to_string())
                .bind(native_id)
                .fetch_optional(connection)
                .await?
        });
        row.map(Ask::try_from).transpose()
    }

    /// The asks that `filter` lets through, newest first, at most `limit` of them.
    pub async fn asks(&self, filter: AskFilter, limit: i64) -> Result<Vec<Ask>, StoreError> {
        // Each text fits an index; a single one with every condition optional would fit none.
        const BY_SESSION: &str = select_asks!(
            "WHERE asks.session = $1 AND (CAST($2 AS TEXT) IS NULL OR asks.state = $2) \
             AND (CAST($3 AS TEXT) IS NULL OR asks.workspace = $3) AND asks.id < $4 \
             ORDER BY asks.id DESC LIMIT $5"
        );
        const ALL: &str = select_asks!(
            "WHERE (CAST($1 AS TEXT) IS NULL OR asks.workspace = $1) AND asks.id < $2 \
             ORDER BY asks.id DESC LIMIT $3"
        );

        let before = filter
            .before
            .map_or_else(|| BEHIND_ALL.to_owned(), |id| id.to_string());
        let workspace = filter.workspace.map(|id| id.to_string());
        let rows: Vec<AskRow> = match (filter.session, filter.phase) {
            (Some(session), phase) => on_db!(&self.db, |connection| {
                query(BY_SESSION)
                    .bind(session.to_string())
                    .bind(phase.map(AskPhase::name))
                    .bind(workspace)
                    .bind(before)
                    .bind(limit)
                    .fetch_all(connection)
                    .await?
            }),
            (None, Some(phase)) => on_db!(&self.db, |connection| {
                let statement = match phase {
                    AskPhase::Open | AskPhase::Answered => LIVE,
                    AskPhase::Delivered => DELIVERED,
                    AskPhase::Expired | AskPhase::Withdrawn | AskPhase::Undeliverable => OVER,
                };
                query(statement)
                    .bind(phase.name())
                    .bind(workspace)
                    .bind(before)
                    .bind(limit)
                    .fetch_all(connection)
                    .await?
            }),
            (None, None) => on_db!(&self.db, |connection| {
                query(ALL)
                    .bind(workspace)
                    .bind(before)
                    .bind(limit)
                    .fetch_all(connection)
                    .await?
            }),
        };
        rows.into_iter().map(Ask::try_from).collect()
    }

    /// The open asks of a session, newest first, at most `limit` of them.
    pub async fn open_asks(&self, session: SessionId, limit: i64) -> Result<Vec<Ask>, StoreError> {
        let rows: Vec<AskRow> = on_db!(&self.db, |connection| {
            query(OPEN_OF_SESSION)
                .bind(session.to_string())
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Ask::try_from).collect()
    }

    /// The asks of a run that can still change: open, or answered and not yet delivered.
    pub async fn live_asks(&self, run: RunId) -> Result<Vec<Ask>, StoreError> {
        let rows: Vec<AskRow> = on_db!(&self.db, |connection| {
            query(LIVE_OF_RUN)
                .bind(run.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Ask::try_from).collect()
    }

    /// The asks of a run that were withdrawn last, newest first.
    pub async fn withdrawn_asks(&self, run: RunId, limit: i64) -> Result<Vec<Ask>, StoreError> {
        const LIST: &str = select_asks!(
            "WHERE asks.run || '' = $1 AND asks.state = 'withdrawn' ORDER BY asks.id DESC LIMIT $2"
        );
        let rows: Vec<AskRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(run.to_string())
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Ask::try_from).collect()
    }

    /// How many asks fell with the denial of `ask`.
    pub async fn count_fallen_with(&self, ask: &Ask) -> Result<i64, StoreError> {
        let why = to_json(&Withdrawal::SiblingDenied { sibling: ask.id });
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(FALLEN)
                .bind(ask.session.to_string())
                .bind(why)
                .fetch_one(connection)
                .await?
        });
        Ok(count)
    }

    /// How many asks are open in all.
    pub async fn count_all_open_asks(&self) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM asks WHERE state = 'open'";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT).fetch_one(connection).await?
        });
        Ok(count)
    }

    /// How many asks of a session are open.
    pub async fn count_open_asks(&self, session: SessionId) -> Result<i64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM asks WHERE session || '' = $1 AND state = 'open'";
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(session.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(count)
    }
}
