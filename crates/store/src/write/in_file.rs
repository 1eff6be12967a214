//! The end of a write in a file: everything that is left to be said goes to the connection's thread in one message.
//!
//! Each message there and back costs more than the statement in it, and nobody else writes meanwhile, so the heads can
//! be read once and moved once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use countersign_core::audit::{AuditEntry, Deed};
use countersign_core::digest::Digest;
use countersign_core::event::EventBody;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use crate::error::StoreError;
use crate::file::FileTransaction;
use crate::write::to_json;

/// Writes deeds and events, commits, and returns the new head if there were events.
pub(super) async fn finish(
    mut transaction: FileTransaction,
    deeds: Vec<(WorkspaceId, Deed)>,
    events: &[(WorkspaceId, EventBody)],
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let mut batch = QueryBuilder::new("");
    let mut heads: BTreeMap<WorkspaceId, (i64, Digest)> = BTreeMap::new();
    for (workspace, deed) in deeds {
        let head = match heads.entry(workspace) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(audit_head(&mut transaction, workspace).await?),
        };
        let entry = AuditEntry::chain(workspace, head.0 + 1, now, deed, head.1);
        *head = (entry.seq, entry.hash);
        append(&mut batch, &entry);
    }
    for (workspace, (seq, hash)) in heads {
        move_head(&mut batch, workspace, seq, hash);
    }
    announce(&mut batch, events, now);
    let numbers = transaction.commit_after(batch).await?;
    let head = numbers.last().map(|row| row.try_get(0)).transpose()?;
    Ok(head)
}

async fn audit_head(
    transaction: &mut FileTransaction,
    workspace: WorkspaceId,
) -> Result<(i64, Digest), StoreError> {
    const HEAD: &str = "SELECT seq, hash FROM audit_heads WHERE workspace = $1";
    let id = workspace.to_string();
    let head: Option<(i64, String)> = sqlx::query_as(HEAD)
        .bind(&id)
        .fetch_optional(&mut **transaction)
        .await?;
    let Some((seq, hash)) = head else {
        return Ok((0, Digest::ZERO));
    };
    let hash = hash
        .parse()
        .map_err(|_| StoreError::corrupt("audit_heads", &id, "hash"))?;
    Ok((seq, hash))
}

fn append(batch: &mut QueryBuilder<Sqlite>, entry: &AuditEntry) {
    batch
        .push(
            "INSERT INTO audit \
             (workspace, seq, at, actor, action, subject, detail, previous, hash) VALUES (",
        )
        .separated(", ")
        .push_bind(entry.workspace.to_string())
        .push_bind(entry.seq)
        .push_bind(entry.at.as_micros())
        .push_bind(entry.actor.clone())
        .push_bind(entry.action.clone())
        .push_bind(entry.subject.clone())
        .push_bind(entry.detail.to_string())
        .push_bind(entry.previous.to_string())
        .push_bind(entry.hash.to_string());
    batch.push("); ");
}

fn move_head(batch: &mut QueryBuilder<Sqlite>, workspace: WorkspaceId, seq: i64, hash: Digest) {
    batch
        .push("INSERT INTO audit_heads (workspace, seq, hash) VALUES (")
        .separated(", ")
        .push_bind(workspace.to_string())
        .push_bind(seq)
        .push_bind(hash.to_string());
    batch
        .push(") ON CONFLICT (workspace) DO UPDATE SET seq = excluded.seq, hash = excluded.hash; ");
}

/// Numbers the events in their order, and has the last number returned.
fn announce(batch: &mut QueryBuilder<Sqlite>, events: &[(WorkspaceId, EventBody)], now: Timestamp) {
    let Ok(count @ 1..) = i64::try_from(events.len()) else {
        return;
    };
    batch
        .push("UPDATE event_head SET seq = seq + ")
        .push_bind(count)
        .push("; INSERT INTO events (seq, at, workspace, body) ");
    batch.push_values(
        (1 - count..).zip(events),
        |mut row, (behind, (workspace, event))| {
            row.push("(SELECT seq FROM event_head) + ")
                .push_bind_unseparated(behind)
                .push_bind(now.as_micros())
                .push_bind(workspace.to_string())
                .push_bind(to_json(event));
        },
    );
    batch.push("; SELECT seq FROM event_head; ");
}
