//! A write and what goes with it: audit entries and events, in the same transaction.

mod in_file;
mod on_server;

use countersign_core::actor::Actor;
use countersign_core::audit::Deed;
use countersign_core::event::EventBody;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;
use serde_json::Value;

use crate::Store;
use crate::audit::Record;
use crate::database::{Db, Tx};
use crate::error::StoreError;

pub(crate) use on_server::WAKE_CHANNEL;

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
        Ok(Write::within(self.db.begin().await?, now))
    }

    /// A write that need not be on the disk when it is committed: see [`crate::database::Db::begin_unsynced`].
    pub(crate) async fn write_unsynced(&self, now: Timestamp) -> Result<Write, StoreError> {
        Ok(Write::within(self.db.begin_unsynced().await?, now))
    }

    /// Commits `write` and tells everybody who waits for events.
    pub(crate) async fn commit(&self, write: Write) -> Result<(), StoreError> {
        if let Some(head) = write.finish().await? {
            self.announce(head);
        }
        Ok(())
    }

    /// Commits `write`, and returns the number of the newest event that the caller is to announce: with [`Store::announce`] if
    /// it is on the disk, and else with [`Store::announce_durably`].
    pub(crate) async fn commit_unannounced(&self, write: Write) -> Result<Option<i64>, StoreError> {
        let head = write.finish().await?;
        match &self.db {
            Db::Sqlite(_) => Ok(head),
            Db::Postgres(_) => {
                if let Some(head) = head {
                    self.announce(head);
                }
                Ok(None)
            }
        }
    }

    /// Tells everybody who waits for events of those that were committed unsynced, up to number `head`, and has them on the
    /// disk before, unless somebody else did: after a power cut no number stands for another event than the one that was told.
    pub async fn announce_durably(&self, head: i64) {
        if *self.head.borrow() >= head {
            return;
        }
        if let Err(error) = self.db.sync_up_to(head).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the ledger's log could not be synced"
            );
        }
        self.announce(head);
    }

    /// Has everything on the disk that was committed.
    pub async fn sync(&self) -> Result<(), StoreError> {
        self.db.sync().await
    }

    /// Tells everybody who waits for events of those up to number `head`. A commit that finishes out of turn cannot lower it.
    pub fn announce(&self, head: i64) {
        self.head.send_if_modified(|known| {
            let newer = head > *known;
            *known = head.max(*known);
            newer
        });
    }
}

impl Write {
    fn within(tx: Tx, now: Timestamp) -> Self {
        Self {
            tx,
            now,
            deeds: Vec::new(),
            events: Vec::new(),
        }
    }

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

    /// Records that `by` did all of `records`.
    pub(crate) fn records(&mut self, workspace: WorkspaceId, by: &Actor, records: Vec<Record>) {
        let by = name_in_audit(by);
        for record in records {
            self.deed(
                workspace,
                &by,
                &record.action,
                record.subject,
                record.detail,
            );
        }
    }

    /// Announces `event`.
    pub(crate) fn event(&mut self, workspace: WorkspaceId, event: EventBody) {
        self.events.push((workspace, event));
    }

    /// Writes deeds and events, commits, and returns the new head if there were events.
    async fn finish(self) -> Result<Option<i64>, StoreError> {
        let Self {
            tx,
            now,
            deeds,
            events,
        } = self;
        match tx {
            Tx::Sqlite(transaction) => in_file::finish(transaction, deeds, &events, now).await,
            Tx::Postgres(transaction) => on_server::finish(transaction, deeds, &events, now).await,
        }
    }
}

/// How an actor is named in the audit.
pub(crate) fn name_in_audit(actor: &Actor) -> String {
    format!("{} {} ({})", actor.kind.name(), actor.name, actor.id)
}

/// What acts when nobody else does.
pub(crate) const COUNTERSIGN: &str = "countersign";

/// JSON for a column.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our own types have string keys and no failing serializer")
}
