//! Workspaces.

use countersign_core::actor::Actor;
use countersign_core::event::{EventBody, WorkspaceChange};
use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Record;
use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::{COUNTERSIGN, name_in_audit};

row! {
    struct WorkspaceRow {
        id: String,
        name: String,
        path: String,
        added_at: i64,
    }
}

impl TryFrom<WorkspaceRow> for Workspace {
    type Error = StoreError;

    fn try_from(row: WorkspaceRow) -> Result<Self, Self::Error> {
        Ok(Self {
            id: row
                .id
                .parse()
                .map_err(|_| StoreError::corrupt("workspaces", &row.id, "id"))?,
            name: row.name,
            path: row.path,
            added_at: Timestamp::from_micros(row.added_at),
        })
    }
}

/// When the engine of a workspace is started that somebody added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineStart {
    /// With the server: somebody works there.
    WithServer,
    /// When it is needed: somebody had something done there once.
    WhenNeeded,
}

impl EngineStart {
    const ALL: [Self; 2] = [Self::WithServer, Self::WhenNeeded];

    /// What is in the column `kept`, where 0 is a workspace that nobody added.
    const fn kept(self) -> i64 {
        match self {
            Self::WithServer => 1,
            Self::WhenNeeded => 2,
        }
    }
}

impl Store {
    /// The workspace at `path`, added as `name` if it is new.
    pub async fn ensure_workspace(
        &self,
        path: &str,
        name: &str,
        now: Timestamp,
    ) -> Result<Workspace, StoreError> {
        const ADD: &str = "INSERT INTO workspaces (id, name, path, added_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (path) DO NOTHING";
        const BY_PATH: &str = "SELECT id, name, path, added_at FROM workspaces WHERE path = $1";

        let id = WorkspaceId::generate(now);
        let mut write = self.write(now).await?;
        let added = on_tx!(&mut write.tx, |connection| {
            query(ADD)
                .bind(id.to_string())
                .bind(name)
                .bind(path)
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        let row: WorkspaceRow = on_tx!(&mut write.tx, |connection| {
            query(BY_PATH).bind(path).fetch_one(connection).await?
        });
        if added > 0 {
            write.deed(
                id,
                COUNTERSIGN,
                "workspace.add",
                id,
                json!({ "path": path }),
            );
        }
        self.commit(write).await?;
        row.try_into()
    }

    /// The workspace called `id`.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, StoreError> {
        const GET: &str = "SELECT id, name, path, added_at FROM workspaces WHERE id = $1";
        let row: Option<WorkspaceRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Workspace::try_from).transpose()
    }

    /// The workspaces that somebody added while a server ran, in the order in which they came.
    pub async fn kept_workspaces(&self) -> Result<Vec<(Workspace, EngineStart)>, StoreError> {
        const LIST: &str = "SELECT id, name, path, added_at FROM workspaces WHERE kept = $1 \
             ORDER BY added_at, id";
        let mut kept = Vec::new();
        for start in EngineStart::ALL {
            let rows: Vec<WorkspaceRow> = on_db!(&self.db, |connection| {
                query(LIST).bind(start.kept()).fetch_all(connection).await?
            });
            for row in rows {
                kept.push((Workspace::try_from(row)?, start));
            }
        }
        kept.sort_by_key(|(workspace, _)| (workspace.added_at, workspace.id));
        Ok(kept)
    }

    /// Notes that somebody added a workspace, which the next server serves too; `start` says when its engine is started
    /// then.
    pub async fn keep_workspace(
        &self,
        workspace: &Workspace,
        start: EngineStart,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let keep = match start {
            EngineStart::WithServer => "UPDATE workspaces SET kept = 1 WHERE id = $1",
            EngineStart::WhenNeeded => "UPDATE workspaces SET kept = 2 WHERE id = $1",
        };
        let added = (WorkspaceChange::Added, "workspace.serve");
        self.change_workspace(workspace, (keep, None), added, by, now)
            .await
    }

    /// Notes that somebody removed a workspace. Its ledger stays.
    pub async fn release_workspace(
        &self,
        workspace: &Workspace,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const RELEASE: &str = "UPDATE workspaces SET kept = 0 WHERE id = $1";
        let removed = (WorkspaceChange::Removed, "workspace.remove");
        self.change_workspace(workspace, (RELEASE, None), removed, by, now)
            .await
    }

    /// Calls a workspace otherwise: `workspace` has its new name.
    pub async fn rename_workspace(
        &self,
        workspace: &Workspace,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const RENAME: &str = "UPDATE workspaces SET name = $2 WHERE id = $1";
        let name = Some(workspace.name.as_str());
        let renamed = (WorkspaceChange::Renamed, "workspace.rename");
        self.change_workspace(workspace, (RENAME, name), renamed, by, now)
            .await
    }

    async fn change_workspace(
        &self,
        workspace: &Workspace,
        (sql, value): (&'static str, Option<&str>),
        (change, action): (WorkspaceChange, &str),
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            let update = query(sql).bind(workspace.id.to_string());
            let update = match value {
                Some(value) => update.bind(value),
                None => update,
            };
            update.execute(connection).await?
        });
        write.deed(
            workspace.id,
            &name_in_audit(by),
            action,
            workspace.id,
            json!({ "path": workspace.path, "name": workspace.name }),
        );
        write.event(workspace.id, EventBody::WorkspaceChanged { change });
        self.commit(write).await
    }

    /// Records what somebody wrote in a workspace without having to be let, and announces it.
    pub async fn record_write(
        &self,
        workspace: WorkspaceId,
        by: &Actor,
        records: Vec<Record>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut write = self.write(now).await?;
        write.records(workspace, by, records);
        let change = WorkspaceChange::Written;
        write.event(workspace, EventBody::WorkspaceChanged { change });
        self.commit(write).await
    }
}
