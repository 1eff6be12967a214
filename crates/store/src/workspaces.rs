//! Workspaces.

use countersign_core::id::WorkspaceId;
use countersign_core::session::Workspace;
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::COUNTERSIGN;

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
}
