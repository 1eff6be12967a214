//! The audit: read in order, and followed from end to end.

use countersign_core::actor::Actor;
use countersign_core::audit::{AuditEntry, BrokenChain, Verifier};
use countersign_core::digest::Digest;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;
use serde_json::Value;

use crate::Store;
use crate::database::{on_db, row};
use crate::error::StoreError;
use crate::sql::query;

/// How many entries are read at a time when a chain is followed.
const PAGE: i64 = 1_000;

/// Whether a chain is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainVerdict {
    /// The workspace whose chain it is.
    pub workspace: WorkspaceId,
    /// The number of entries, or where it is broken.
    pub outcome: Result<i64, BrokenChain>,
}

row! {
    struct AuditRow {
        workspace: String,
        seq: i64,
        at: i64,
        actor: String,
        action: String,
        subject: String,
        detail: String,
        previous: String,
        hash: String,
    }
}

impl TryFrom<AuditRow> for AuditEntry {
    type Error = StoreError;

    fn try_from(row: AuditRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("audit", row.seq, column);
        Ok(Self {
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            detail: serde_json::from_str(&row.detail).map_err(|_| corrupt("detail"))?,
            previous: row.previous.parse().map_err(|_| corrupt("previous"))?,
            hash: row.hash.parse().map_err(|_| corrupt("hash"))?,
            seq: row.seq,
            at: Timestamp::from_micros(row.at),
            actor: row.actor,
            action: row.action,
            subject: row.subject,
        })
    }
}

/// Something that was done, to be recorded as somebody's.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// What was done.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// The rest of it.
    pub detail: Value,
}

impl Store {
    /// The entries of a chain after place `after`, at most `limit` of them.
    pub async fn audit(
        &self,
        workspace: WorkspaceId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        const LIST: &str = "SELECT workspace, seq, at, actor, action, subject, detail, previous, hash \
             FROM audit WHERE workspace = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let rows: Vec<AuditRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.to_string())
                .bind(after)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(AuditEntry::try_from).collect()
    }

    /// The entries of a chain before place `before` (all of them if none is named), newest first, at most `limit`.
    pub async fn audit_before(
        &self,
        workspace: WorkspaceId,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        const LIST: &str = "SELECT workspace, seq, at, actor, action, subject, detail, previous, hash \
             FROM audit WHERE workspace = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3";
        let rows: Vec<AuditRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.to_string())
                .bind(before.unwrap_or(i64::MAX))
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(AuditEntry::try_from).collect()
    }

    /// Records what `by` did, where nothing else in the ledger says so.
    pub async fn record(
        &self,
        workspace: WorkspaceId,
        by: &Actor,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut write = self.write(now).await?;
        write.records(workspace, by, records);
        self.commit(write).await
    }

    /// Follows every chain from its first entry to its head.
    pub async fn verify_audit(&self) -> Result<Vec<ChainVerdict>, StoreError> {
        // Heads and ends are read at one moment: writers go on meanwhile.
        const HEADS: &str = "SELECT COALESCE(heads.workspace, ends.workspace), \
             COALESCE(heads.seq, 0), COALESCE(heads.hash, $1), COALESCE(ends.seq, 0) \
             FROM audit_heads AS heads FULL JOIN \
             (SELECT workspace, MAX(seq) AS seq FROM audit GROUP BY workspace) AS ends \
             ON ends.workspace = heads.workspace ORDER BY 1";
        let heads: Vec<(String, i64, String, i64)> = on_db!(&self.db, |connection| {
            query(HEADS)
                .bind(Digest::ZERO.to_string())
                .long()
                .fetch_all(connection)
                .await?
        });
        let mut verdicts = Vec::with_capacity(heads.len());
        for (workspace, seq, hash, end) in heads {
            let corrupt = |column| StoreError::corrupt("audit_heads", &workspace, column);
            let id = workspace.parse().map_err(|_| corrupt("workspace"))?;
            let hash = hash.parse().map_err(|_| corrupt("hash"))?;
            verdicts.push(ChainVerdict {
                workspace: id,
                outcome: if end == seq {
                    self.verify_chain(id, seq, hash).await?
                } else {
                    Err(BrokenChain::Truncated {
                        expected: seq,
                        found: end,
                    })
                },
            });
        }
        Ok(verdicts)
    }

    async fn verify_chain(
        &self,
        workspace: WorkspaceId,
        head_seq: i64,
        head_hash: Digest,
    ) -> Result<Result<i64, BrokenChain>, StoreError> {
        let mut verifier = Verifier::default();
        let mut after = 0;
        loop {
            // Entries that were added since the head was read are not what is being verified.
            let page = self
                .audit(workspace, after, PAGE.min(head_seq - after))
                .await?;
            let Some(last) = page.last() else {
                return Ok(verifier.finish(head_seq, head_hash));
            };
            after = last.seq;
            for entry in &page {
                if let Err(broken) = verifier.check(entry) {
                    return Ok(Err(broken));
                }
            }
            if after >= head_seq {
                return Ok(verifier.finish(head_seq, head_hash));
            }
        }
    }
}
