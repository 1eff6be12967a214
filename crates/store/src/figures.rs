//! What figures are made of: the asks of a stretch of time, counted.
//!
//! Each statement reads one index that holds all it needs, from the newest ask of the stretch back, and no more than it is
//! told. Whoever wants a long time reads it stretch by stretch, so that nobody waits long for the ledger meanwhile.

use countersign_core::actor::{Actor, ActorKind, Surface};
use countersign_core::ask::AskPhase;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;

use crate::Store;
use crate::database::{on_db, row};
use crate::error::StoreError;
use crate::sql::query;

/// A stretch of time, and whose asks of it count.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// From when on.
    pub from: Timestamp,
    /// Up to before when.
    pub to: Timestamp,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// How many are looked at, the newest ones: of those that were answered, and as many of those that were not.
    pub most: i64,
    /// Answers that took no longer are in time, in microseconds.
    pub target: i64,
    /// What was opened by then and is still open is late.
    pub late: Timestamp,
}

/// What there is in a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SliceFigures {
    /// The asks that were answered.
    pub answered: Vec<AnsweredCount>,
    /// Those that were not.
    pub unanswered: Vec<UnansweredCount>,
    /// How many answers of people took how many whole seconds.
    pub seconds: Vec<(i64, i64)>,
}

/// Asks that were answered alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredCount {
    /// The tool that leave was wanted for; questions and writes are about none.
    pub tool: Option<String>,
    /// Who answered.
    pub by: Actor,
    /// Where.
    pub surface: Surface,
    /// Whether it was a yes.
    pub yes: bool,
    /// How many there are.
    pub asks: i64,
    /// How many of them were answered in time.
    pub in_time: i64,
}

/// Asks that nobody answered, and that stand alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnansweredCount {
    /// The tool that leave was wanted for; questions and writes are about none.
    pub tool: Option<String>,
    /// How they stand: open, expired or withdrawn.
    pub phase: AskPhase,
    /// How many there are.
    pub asks: i64,
    /// How many were opened so long ago that an answer would be late now.
    pub late: i64,
}

row! {
    struct AnsweredRow {
        tool: Option<String>,
        actor: String,
        actor_kind: String,
        actor_name: String,
        surface: String,
        yes: i64,
        asks: i64,
        in_time: i64,
    }
}

impl TryFrom<AnsweredRow> for AnsweredCount {
    type Error = StoreError;

    fn try_from(row: AnsweredRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("answers", &row.actor, column);
        Ok(Self {
            by: Actor {
                id: row.actor.parse().map_err(|_| corrupt("actor"))?,
                kind: ActorKind::from_name(&row.actor_kind).ok_or_else(|| corrupt("actor"))?,
                name: row.actor_name,
            },
            surface: Surface::from_name(&row.surface).ok_or_else(|| corrupt("surface"))?,
            tool: row.tool,
            yes: row.yes != 0,
            asks: row.asks,
            in_time: row.in_time,
        })
    }
}

row! {
    struct UnansweredRow {
        tool: Option<String>,
        state: String,
        asks: i64,
        late: i64,
    }
}

impl TryFrom<UnansweredRow> for UnansweredCount {
    type Error = StoreError;

    fn try_from(row: UnansweredRow) -> Result<Self, Self::Error> {
        let corrupt = || StoreError::corrupt("asks", &row.state, "state");
        Ok(Self {
            phase: AskPhase::from_name(&row.state).ok_or_else(corrupt)?,
            tool: row.tool,
            asks: row.asks,
            late: row.late,
        })
    }
}

/// Those of a stretch, of one workspace or of all.
macro_rules! of_slice {
    () => {
        "opened_at >= $1 AND opened_at < $2 AND (CAST($3 AS TEXT) IS NULL OR workspace = $3) "
    };
}

/// The newest of them.
macro_rules! newest_of_slice {
    () => {
        concat!(of_slice!(), "ORDER BY opened_at DESC LIMIT $4) AS newest ")
    };
}

/// Those that were answered, by whom and how.
pub(crate) const ANSWERED: &str = concat!(
    "SELECT counted.tool, counted.actor, actors.kind AS actor_kind, actors.name AS actor_name, \
     counted.surface, counted.yes, counted.asks, counted.in_time \
     FROM (SELECT tool, actor, surface, yes, COUNT(*) AS asks, \
     SUM(CASE WHEN at - opened_at <= $5 THEN 1 ELSE 0 END) AS in_time \
     FROM (SELECT tool, actor, surface, yes, at, opened_at FROM answers WHERE ",
    newest_of_slice!(),
    "GROUP BY tool, surface, actor, yes) AS counted JOIN actors ON actors.id = counted.actor"
);

/// Those that were not, and how they stand. The state of what is over is looked at as an expression, as the index of them does:
/// by the plain column SQLite would take the index of states, and look at every such ask that there ever was.
pub(crate) const UNANSWERED: &str = concat!(
    "SELECT tool, state, COUNT(*) AS asks, \
     SUM(CASE WHEN opened_at <= $5 THEN 1 ELSE 0 END) AS late \
     FROM (SELECT tool, state, opened_at FROM asks \
     WHERE (state || '' = 'expired' OR state || '' = 'withdrawn') AND ",
    of_slice!(),
    "UNION ALL SELECT tool, state, opened_at FROM asks WHERE state = 'open' AND ",
    newest_of_slice!(),
    "GROUP BY tool, state"
);

/// How many seconds people took.
pub(crate) const SECONDS: &str = concat!(
    "SELECT (at - opened_at) / 1000000, COUNT(*) \
     FROM (SELECT surface, at, opened_at FROM answers WHERE ",
    newest_of_slice!(),
    "WHERE surface <> 'rule' GROUP BY 1"
);

impl Store {
    /// Counts the asks of a stretch of time.
    pub async fn figures(&self, slice: Slice) -> Result<SliceFigures, StoreError> {
        let workspace = slice.workspace.map(|id| id.to_string());
        let about = |sql: &'static str| {
            query(sql)
                .bind(slice.from.as_micros())
                .bind(slice.to.as_micros())
                .bind(&workspace)
                .bind(slice.most)
                .long()
        };
        let answered: Vec<AnsweredRow> = on_db!(&self.db, |connection| {
            let answered = about(ANSWERED).bind(slice.target);
            answered.fetch_all(connection).await?
        });
        let unanswered: Vec<UnansweredRow> = on_db!(&self.db, |connection| {
            let unanswered = about(UNANSWERED).bind(slice.late.as_micros());
            unanswered.fetch_all(connection).await?
        });
        let seconds = on_db!(&self.db, |connection| {
            about(SECONDS).fetch_all(connection).await?
        });
        let answered = answered.into_iter().map(AnsweredCount::try_from);
        let unanswered = unanswered.into_iter().map(UnansweredCount::try_from);
        Ok(SliceFigures {
            answered: answered.collect::<Result<_, _>>()?,
            unanswered: unanswered.collect::<Result<_, _>>()?,
            seconds,
        })
    }
}
