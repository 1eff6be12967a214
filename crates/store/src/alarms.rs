//! Alarms: what happened and must not.

use countersign_core::event::EventBody;
use countersign_core::id::{AlarmId, AskId, SessionId, WorkspaceId};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::COUNTERSIGN;

/// An alarm that is to be raised.
#[derive(Debug, Clone)]
pub struct NewAlarm {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The session it happened in.
    pub session: Option<SessionId>,
    /// The ask it is about.
    pub ask: Option<AskId>,
    /// What happened and what is done about it.
    pub message: String,
}

/// An alarm that was raised.
#[derive(Debug, Clone)]
pub struct Alarm {
    /// Its id.
    pub id: AlarmId,
    /// When it was noticed.
    pub at: Timestamp,
    /// What it says.
    pub alarm: NewAlarm,
}

row! {
    struct AlarmRow {
        id: String,
        workspace: String,
        session: Option<String>,
        ask: Option<String>,
        at: i64,
        message: String,
    }
}

impl TryFrom<AlarmRow> for Alarm {
    type Error = StoreError;

    fn try_from(row: AlarmRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("alarms", &row.id, column);
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            at: Timestamp::from_micros(row.at),
            alarm: NewAlarm {
                workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
                session: row
                    .session
                    .map(|id| id.parse())
                    .transpose()
                    .map_err(|_| corrupt("session"))?,
                ask: row
                    .ask
                    .map(|id| id.parse())
                    .transpose()
                    .map_err(|_| corrupt("ask"))?,
                message: row.message,
            },
        })
    }
}

impl Store {
    /// Raises an alarm.
    pub async fn raise_alarm(
        &self,
        alarm: NewAlarm,
        now: Timestamp,
    ) -> Result<AlarmId, StoreError> {
        const ADD: &str = "INSERT INTO alarms (id, workspace, session, ask, at, message) \
             VALUES ($1, $2, $3, $4, $5, $6)";
        let id = AlarmId::generate(now);
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(ADD)
                .bind(id.to_string())
                .bind(alarm.workspace.to_string())
                .bind(alarm.session.map(|id| id.to_string()))
                .bind(alarm.ask.map(|id| id.to_string()))
                .bind(now.as_micros())
                .bind(&alarm.message)
                .execute(connection)
                .await?;
        });
        write.deed(
            alarm.workspace,
            COUNTERSIGN,
            "alarm.raise",
            id,
            json!({ "session": alarm.session, "ask": alarm.ask, "message": alarm.message }),
        );
        write.event(
            alarm.workspace,
            EventBody::AlarmRaised {
                alarm: id,
                message: alarm.message,
            },
        );
        self.commit(write).await?;
        Ok(id)
    }

    /// The alarm called `id`.
    pub async fn alarm(&self, id: AlarmId) -> Result<Option<Alarm>, StoreError> {
        const GET: &str =
            "SELECT id, workspace, session, ask, at, message FROM alarms WHERE id = $1";
        let row: Option<AlarmRow> = on_db!(&self.db, |connection| query(GET)
            .bind(id.to_string())
            .fetch_optional(connection)
            .await?);
        row.map(Alarm::try_from).transpose()
    }

    /// The newest alarms, newest first.
    pub async fn alarms(&self, limit: i64) -> Result<Vec<Alarm>, StoreError> {
        const LIST: &str = "SELECT id, workspace, session, ask, at, message FROM alarms \
             ORDER BY id DESC LIMIT $1";
        let rows: Vec<AlarmRow> = on_db!(&self.db, |connection| query(LIST)
            .bind(limit)
            .fetch_all(connection)
            .await?);
        rows.into_iter().map(Alarm::try_from).collect()
    }
}
