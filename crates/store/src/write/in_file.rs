//! The end of a write in a file. Nobody else writes meanwhile, so the heads are read once and moved once.

use std::collections::btree_map::Entry;

use countersign_core::audit::{AuditEntry, Deed};
use countersign_core::digest::Digest;
use countersign_core::event::EventBody;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;

use crate::error::StoreError;
use crate::events::HEAD;
use crate::file::{FileTransaction, Heads, Held};
use crate::sql::query;
use crate::write::to_json;

/// Writes deeds and events, commits, and returns the new head if there were events.
pub(super) async fn finish(
    mut transaction: FileTransaction,
    deeds: Vec<(WorkspaceId, Deed)>,
    events: &[(WorkspaceId, EventBody)],
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    let mut heads = Heads::default();
    for (workspace, deed) in deeds {
        let head = match heads.audit.entry(workspace) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(audit_head(&mut transaction, workspace).await?),
        };
        let entry = AuditEntry::chain(workspace, head.0 + 1, now, deed, head.1);
        *head = (entry.seq, entry.hash);
        append(transaction.held(), &entry).await?;
    }
    for (workspace, (seq, hash)) in &heads.audit {
        move_head(transaction.held(), *workspace, *seq, *hash).await?;
    }
    heads.events = announce(&mut transaction, events, now).await?;
    let head = heads.events;
    transaction.commit(heads)?;
    Ok(head)
}

async fn audit_head(
    transaction: &mut FileTransaction,
    workspace: WorkspaceId,
) -> Result<(i64, Digest), StoreError> {
    const HEAD: &str = "SELECT seq, hash FROM audit_heads WHERE workspace = $1";
    if let Some(known) = transaction.audit_head(workspace) {
        return Ok(known);
    }
    let id = workspace.to_string();
    let head: Option<(i64, String)> = query(HEAD)
        .bind(&id)
        .fetch_optional(transaction.held())
        .await?;
    let Some((seq, hash)) = head else {
        return Ok((0, Digest::ZERO));
    };
    let hash = hash
        .parse()
        .map_err(|_| StoreError::corrupt("audit_heads", &id, "hash"))?;
    Ok((seq, hash))
}

async fn append(file: &mut Held, entry: &AuditEntry) -> Result<(), StoreError> {
    const APPEND: &str = "INSERT INTO audit \
         (workspace, seq, at, actor, action, subject, detail, previous, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    query(APPEND)
        .bind(entry.workspace.to_string())
        .bind(entry.seq)
        .bind(entry.at.as_micros())
        .bind(&entry.actor)
        .bind(&entry.action)
        .bind(&entry.subject)
        .bind(entry.detail.to_string())
        .bind(entry.previous.to_string())
        .bind(entry.hash.to_string())
        .execute(file)
        .await?;
    Ok(())
}

async fn move_head(
    file: &mut Held,
    workspace: WorkspaceId,
    seq: i64,
    hash: Digest,
) -> Result<(), StoreError> {
    const MOVE: &str = "INSERT INTO audit_heads (workspace, seq, hash) VALUES ($1, $2, $3) \
         ON CONFLICT (workspace) DO UPDATE SET seq = excluded.seq, hash = excluded.hash";
    query(MOVE)
        .bind(workspace.to_string())
        .bind(seq)
        .bind(hash.to_string())
        .execute(file)
        .await?;
    Ok(())
}

/// Numbers the events in their order, and returns the last number. That is in no other place than with its event.
async fn announce(
    transaction: &mut FileTransaction,
    events: &[(WorkspaceId, EventBody)],
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    const APPEND: &str = "INSERT INTO events (seq, at, workspace, body) VALUES ($1, $2, $3, $4)";
    if events.is_empty() {
        return Ok(None);
    }
    let mut number = match transaction.event_head() {
        Some(known) => known,
        None => query(HEAD)
            .fetch_one(transaction.held())
            .await
            .map(|(head,): (i64,)| head)?,
    };
    for (workspace, event) in events {
        number += 1;
        query(APPEND)
            .bind(number)
            .bind(now.as_micros())
            .bind(workspace.to_string())
            .bind(to_json(event))
            .execute(transaction.held())
            .await?;
    }
    Ok(Some(number))
}
