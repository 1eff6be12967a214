//! Scheduled prompts: how far each is dealt with.

use countersign_core::schedule::Schedule;

use crate::Store;
use crate::database::on_db;
use crate::error::StoreError;
use crate::sql::query;
use crate::write::to_json;

impl Store {
    /// Every scheduled prompt that was ever configured, by name.
    pub async fn schedules(&self) -> Result<Vec<Schedule>, StoreError> {
        const LIST: &str = "SELECT name, body FROM schedules ORDER BY name";
        let rows: Vec<(String, String)> = on_db!(&self.db, |connection| {
            query(LIST).fetch_all(connection).await?
        });
        rows.iter().map(|(name, body)| read(name, body)).collect()
    }

    /// How the scheduled prompt that is called so stands.
    pub async fn schedule(&self, name: &str) -> Result<Option<Schedule>, StoreError> {
        const GET: &str = "SELECT body FROM schedules WHERE name = $1";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET).bind(name).fetch_optional(connection).await?
        });
        row.map(|(body,)| read(name, &body)).transpose()
    }

    /// Keeps how a scheduled prompt stands.
    pub async fn keep_schedule(&self, schedule: &Schedule) -> Result<(), StoreError> {
        const PUT: &str = "INSERT INTO schedules (name, body) VALUES ($1, $2) \
             ON CONFLICT (name) DO UPDATE SET body = excluded.body";
        on_db!(&self.db, |connection| {
            query(PUT)
                .bind(&schedule.name)
                .bind(to_json(schedule))
                .execute(connection)
                .await?;
        });
        Ok(())
    }
}

fn read(name: &str, body: &str) -> Result<Schedule, StoreError> {
    serde_json::from_str(body).map_err(|_| StoreError::corrupt("schedules", name, "body"))
}
