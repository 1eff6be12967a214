//! A write and what goes with it: audit entries and events, in the same transaction.

use countersign_core::actor::Actor;
use countersign_core::audit::{AuditEntry, Deed};
use countersign_core::digest::Digest;
use countersign_core::event::EventBody;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;
use serde_json::Value;

use crate::Store;
use crate::database::{Db, Tx, on_tx};
use crate::error::StoreError;

/// The channel on which replicas wake each other.
pub(crate) const WAKE_CHANNEL: &str = "countersign_events";

/// A transaction that collects what it has to announce and puts that down last.
///
/// The rows that everybody writes, the heads of the audit and of the events, are touched only at the very
/// end, so that writers stand in each other's way as shortly as can be and always in the same order.
pub(crate) struct Write {
    pub(crate) tx: Tx,
    now: Timestamp,
    deeds: Vec<(WorkspaceId, Deed)>,
    events: Vec<(WorkspaceId, EventBody)>,
}

impl Store {
    pub(crate) async fn write(&self, now: Timestamp) -> Result<Write, StoreError> {
        Ok(Write {
            tx: self.db.begin().await?,
            now,
            deeds: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Commits `write` and tells everybody who waits for events.
    pub(crate) async fn commit(&self, write: Write) -> Result<(), StoreError> {
        if let Some(head) = write.finish(matches!(self.db, Db::Postgres(_))).await? {
            self.announce(head);
        }
        Ok(())
    }

    /// Raises the head; a commit that finishes out of turn cannot lower it.
    pub(crate) fn announce(&self, head: i64) {
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = head.max(*known);
            newer
        });
    }
}

impl Write {
    /// Records that `actor` did `action` to `subject`.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "subjects are ids, which are copied"
    )]
    pub(crate) fn deed(
        &mut self,
        workspace: WorkspaceId,
        actor: &str,
        action: &str,
        subject: impl ToString,
        detail: Value,
    ) {
        let deed = Deed {
            actor: actor.to_owned(),
            action: action.to_owned(),
            subject: subject.to_string(),
            detail,
        };
        self.deeds.push((workspace, deed));
    }

    /// Announces `event`.
    pub(crate) fn event(&mut self, workspace: WorkspaceId, event: EventBody) {
        self.events.push((workspace, event));
    }

    /// Writes deeds and events, commits, and returns the new head if there were events.
    async fn finish(mut self, notify: bool) -> Result<Option<i64>, StoreError> {
        for (workspace, deed) in std::mem::take(&mut self.deeds) {
            append_deed(&mut self.tx, workspace, deed, self.now).await?;
        }
        let mut head = None;
        for (workspace, event) in std::mem::take(&mut self.events) {
            head = Some(append_event(&mut self.tx, workspace, &event, self.now).await?);
        }
        if notify && head.is_some() {
            notify_replicas(&mut self.tx).await?;
        }
        self.tx.commit().await?;
        Ok(head)
    }
}

/// How an actor is named in the audit.
pub(crate) fn name_in_audit(actor: &Actor) -> String {
    format!("{} {} ({})", actor.kind.name(), actor.name, actor.id)
}

/// What acts when nobody else does.
pub(crate) const COUNTERSIGN: &str = "countersign";

async fn append_deed(
    tx: &mut Tx,
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
    let mut head: Option<(i64, String)> = on_tx!(tx, |connection| sqlx::query_as(TAKE_HEAD)
        .bind(&id)
        .fetch_optional(connection)
        .await?);
    if head.is_none() {
        let zero = Digest::ZERO.to_string();
        on_tx!(tx, |connection| {
            sqlx::query(BEGIN_CHAIN)
                .bind(&id)
                .bind(zero)
                .execute(connection)
                .await?;
        });
        head = on_tx!(tx, |connection| {
            sqlx::query_as(TAKE_HEAD)
                .bind(&id)
                .fetch_optional(connection)
                .await?
        });
    }
    let (seq, hash) = head.ok_or_else(|| StoreError::corrupt("audit_heads", &id, "seq"))?;
    let previous = hash
        .parse()
        .map_err(|_| StoreError::corrupt("audit_heads", &id, "hash"))?;
    let entry = AuditEntry::chain(workspace, seq, now, deed, previous);
    on_tx!(tx, |connection| {
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
            .execute(connection)
            .await?;
    });
    on_tx!(tx, |connection| {
        sqlx::query(MOVE_HEAD)
            .bind(&id)
            .bind(entry.hash.to_string())
            .execute(connection)
            .await?;
    });
    Ok(())
}

async fn append_event(
    tx: &mut Tx,
    workspace: WorkspaceId,
    event: &EventBody,
    now: Timestamp,
) -> Result<i64, StoreError> {
    const TAKE_NUMBER: &str = "UPDATE event_head SET seq = seq + 1 RETURNING seq";
    const APPEND: &str = "INSERT INTO events (seq, at, workspace, body) VALUES ($1, $2, $3, $4)";

    let (seq,): (i64,) = on_tx!(tx, |connection| sqlx::query_as(TAKE_NUMBER)
        .fetch_one(connection)
        .await?);
    let body = to_json(event);
    on_tx!(tx, |connection| {
        sqlx::query(APPEND)
            .bind(seq)
            .bind(now.as_micros())
            .bind(workspace.to_string())
            .bind(body)
            .execute(connection)
            .await?;
    });
    Ok(seq)
}

async fn notify_replicas(tx: &mut Tx) -> Result<(), StoreError> {
    const NOTIFY: &str = "SELECT pg_notify($1, '')";
    if let Tx::Postgres(transaction) = tx {
        sqlx::query(NOTIFY)
            .bind(WAKE_CHANNEL)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

/// JSON for a column.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our own types have string keys and no failing serializer")
}
