//! The chains of the audit: how long they are, and how each was found when it was last followed.

use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;

use crate::Store;
use crate::audit::ChainVerdict;
use crate::database::{on_db, on_tx};
use crate::error::StoreError;
use crate::sql::query;

/// A chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The workspace whose chain it is.
    pub workspace: WorkspaceId,
    /// How many entries it has.
    pub entries: i64,
    /// How it was found when it was last followed.
    pub verified: Option<Verified>,
}

/// How a chain was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// When.
    pub at: Timestamp,
    /// How many entries were whole; none of a broken chain.
    pub entries: i64,
    /// Where and how it is broken.
    pub broken: Option<String>,
}

type Row = (String, i64, Option<i64>, Option<i64>, Option<String>);

impl Store {
    /// Every chain there is.
    pub async fn chains(&self) -> Result<Vec<Chain>, StoreError> {
        const LIST: &str = "SELECT heads.workspace, heads.seq, found.at, found.entries, found.broken \
             FROM audit_heads AS heads LEFT JOIN verifications AS found \
             ON found.workspace = heads.workspace ORDER BY heads.workspace";
        let rows: Vec<Row> = on_db!(&self.db, |connection| {
            query(LIST).fetch_all(connection).await?
        });
        let chain = |(workspace, entries, at, whole, broken): Row| {
            let id = workspace.parse();
            Ok(Chain {
                workspace: id
                    .map_err(|_| StoreError::corrupt("audit_heads", &workspace, "workspace"))?,
                entries,
                verified: at.zip(whole).map(|(at, entries)| Verified {
                    at: Timestamp::from_micros(at),
                    entries,
                    broken,
                }),
            })
        };
        rows.into_iter().map(chain).collect()
    }

    /// Keeps how chains were found.
    pub async fn note_verified(
        &self,
        verdicts: &[ChainVerdict],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const NOTE: &str = "INSERT INTO verifications (workspace, at, entries, broken) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (workspace) DO UPDATE \
             SET at = excluded.at, entries = excluded.entries, broken = excluded.broken";
        let mut tx = self.db.begin().await?;
        for verdict in verdicts {
            let (entries, broken) = match &verdict.outcome {
                Ok(entries) => (*entries, None),
                Err(broken) => (0, Some(broken.to_string())),
            };
            on_tx!(&mut tx, |connection| {
                query(NOTE)
                    .bind(verdict.workspace.to_string())
                    .bind(now.as_micros())
                    .bind(entries)
                    .bind(broken)
                    .execute(connection)
                    .await?;
            });
        }
        tx.commit().await
    }
}
