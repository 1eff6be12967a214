//! The end of a write on a server, where others write at the same time: the heads are taken, and so locked, one by one.

use countersign_core::audit::{AuditEntry, Deed};
use countersign_core::digest::Digest;
use countersign_core::event::EventBody;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::error::StoreError;
use crate::write::to_json;

/// The channel on which replicas wake each other.
pub(crate) const WAKE_CHANNEL: &str = "countersign_events";

/// Writes deeds and events, commits, and returns the new head if there were events.
pub(super) async fn finish(
    mut transaction: Transaction<'static, Postgres>,
    deeds: Vec<(WorkspaceId, Deed)>,
    events: &[(WorkspaceId, EventBody)],
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    for (workspace, deed) in deeds {
        append_deed(&mut transaction, workspace, deed, now).await?;
    }
    let mut head = None;
    for (workspace, event) in events {
        head = Some(append_event(&mut transaction, *workspace, event, now).await?);
    }
    if head.is_some() {
        notify_replicas(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(head)
}

async fn append_deed(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    deed: Deed,
    now: Timestamp,
) -> Result<(), StoreError> {
    // Inserting the head first makes the update take its lock even in a chain's very first entry.
    const BEGIN_CHAIN: &str = "INSERT INTO audit_heads (workspace, seq, hash) VALUES ($1, 0, $2) ON CONFLICT (workspace) DO NOTHING";
    const TAKE_HEAD: &str =
        "UPDATE audit_heads SET seq = seq + 1 WHERE workspace = $1 RETURNING seq, hash";
    const APPEND: &str = "INSERT INTO audit \
         (workspace, seq, at, actor, action, subject, detail, previous, hash) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    const MOVE_HEAD: &str = "UPDATE audit_heads SET hash = $2 WHERE workspace = $1";

    let id = workspace.to_string();
    let mut head: Option<(i64, String)> = sqlx::query_as(TAKE_HEAD)
        .bind(&id)
        .fetch_optional(&mut *connection)
        .await?;
    if head.is_none() {
        sqlx::query(BEGIN_CHAIN)
            .bind(&id)
            .bind(Digest::ZERO.to_string())
            .execute(&mut *connection)
            .await?;
        head = sqlx::query_as(TAKE_HEAD)
            .bind(&id)
            .fetch_optional(&mut *connection)
            .await?;
    }
    let (seq, hash) = head.ok_or_else(|| StoreError::corrupt("audit_heads", &id, "seq"))?;
    let previous = hash
        .parse()
        .map_err(|_| StoreError::corrupt("audit_heads", &id, "hash"))?;
    let entry = AuditEntry::chain(workspace, seq, now, deed, previous);
    sqlx::query(APPEND)
        .bind(&id)
        .bind(entry.seq)
        .bind(entry.at.as_micros())
        .bind(&entry.actor)
        .bind(&entry.action)
        .bind(&entry.subject)
        .bind(entry.detail.to_string())
        .bind(entry.previous.to_string())
        .bind(entry.hash.to_string())
        .execute(&mut *connection)
        .await?;
    sqlx::query(MOVE_HEAD)
        .bind(&id)
        .bind(entry.hash.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

async fn append_event(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    event: &EventBody,
    now: Timestamp,
) -> Result<i64, StoreError> {
    const TAKE_NUMBER: &str = "UPDATE event_head SET seq = seq + 1 RETURNING seq";
    const APPEND: &str = "INSERT INTO events (seq, at, workspace, body) VALUES ($1, $2, $3, $4)";

    let (seq,): (i64,) = sqlx::query_as(TAKE_NUMBER)
        .fetch_one(&mut *connection)
        .await?;
    sqlx::query(APPEND)
        .bind(seq)
        .bind(now.as_micros())
        .bind(workspace.to_string())
        .bind(to_json(event))
        .execute(connection)
        .await?;
    Ok(seq)
}

async fn notify_replicas(connection: &mut PgConnection) -> Result<(), StoreError> {
    const NOTIFY: &str = "SELECT pg_notify($1, '')";
    sqlx::query(NOTIFY)
        .bind(WAKE_CHANNEL)
        .execute(connection)
        .await?;
    Ok(())
}
