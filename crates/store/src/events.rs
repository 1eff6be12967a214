//! Events: read by number, waited for by the head.

use countersign_core::event::Event;
use countersign_core::time::Timestamp;
use tokio::sync::watch;

use crate::Store;
use crate::database::{Db, Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::WAKE_CHANNEL;

/// The number of the newest event. In a file it is written down by itself only where the event is forgotten.
pub(crate) const HEAD: &str = "SELECT MAX(seq) FROM \
     (SELECT seq FROM event_head UNION ALL SELECT MAX(seq) FROM events) AS heads";

row! {
    struct EventRow {
        seq: i64,
        at: i64,
        workspace: String,
        body: String,
    }
}

impl TryFrom<EventRow> for Event {
    type Error = StoreError;

    fn try_from(row: EventRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("events", row.seq, column);
        Ok(Self {
            seq: row.seq,
            at: Timestamp::from_micros(row.at),
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            body: serde_json::from_str(&row.body).map_err(|_| corrupt("body"))?,
        })
    }
}

impl Store {
    /// Tells the number of the newest event, and every change of it.
    pub fn head(&self) -> watch::Receiver<i64> {
        self.head.subscribe()
    }

    /// Reads the head from the database: what other replicas wrote, or what a wake-up was lost for.
    pub async fn refresh_head(&self) -> Result<i64, StoreError> {
        let (seq,): (i64,) = on_db!(&self.db, |connection| query(HEAD)
            .fetch_one(connection)
            .await?);
        self.announce(seq);
        Ok(seq)
    }

    /// The events after number `after`, at most `limit` of them, in order.
    pub async fn events_after(&self, after: i64, limit: i64) -> Result<Vec<Event>, StoreError> {
        const AFTER: &str =
            "SELECT seq, at, workspace, body FROM events WHERE seq > $1 ORDER BY seq LIMIT $2";
        let rows: Vec<EventRow> = on_db!(&self.db, |connection| {
            query(AFTER)
                .bind(after)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Event::try_from).collect()
    }

    /// The number of the oldest event that is kept, if there is one.
    pub async fn oldest_event(&self) -> Result<Option<i64>, StoreError> {
        const OLDEST: &str = "SELECT MIN(seq) FROM events";
        let (seq,): (Option<i64>,) = on_db!(&self.db, |connection| query(OLDEST)
            .fetch_one(connection)
            .await?);
        Ok(seq)
    }

    /// Forgets events from before `time`, and returns how many. What is kept has no gap: clocks differ, and
    /// an event may be older than the one before it.
    pub async fn forget_events(&self, time: Timestamp) -> Result<u64, StoreError> {
        // The newest event may be among them, and no number stands for two.
        const KEEP_HEAD: &str = "UPDATE event_head SET seq = \
             MAX(seq, COALESCE((SELECT MAX(events.seq) FROM events), 0))";
        const FORGET: &str = "DELETE FROM events WHERE at < $1 AND seq < \
             (SELECT COALESCE(MIN(kept.seq), 9223372036854775807) FROM events AS kept \
             WHERE kept.at >= $1)";
        let mut tx = self.db.begin().await?;
        if matches!(tx, Tx::Sqlite(_)) {
            on_tx!(&mut tx, |connection| {
                query(KEEP_HEAD).execute(connection).await?;
            });
        }
        let forgotten = on_tx!(&mut tx, |connection| {
            query(FORGET)
                .bind(time.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        tx.commit().await?;
        Ok(forgotten)
    }

    /// Where `consumer` had come to.
    pub async fn cursor(&self, consumer: &str) -> Result<Option<i64>, StoreError> {
        const GET: &str = "SELECT seq FROM cursors WHERE consumer = $1";
        let row: Option<(i64,)> = on_db!(&self.db, |connection| {
            query(GET).bind(consumer).fetch_optional(connection).await?
        });
        Ok(row.map(|(seq,)| seq))
    }

    /// Notes that `consumer` has dealt with everything up to `seq`; a cursor never goes back.
    pub async fn move_cursor(&self, consumer: &str, seq: i64) -> Result<(), StoreError> {
        const MOVE: &str = "INSERT INTO cursors (consumer, seq) VALUES ($1, $2) \
             ON CONFLICT (consumer) DO UPDATE SET seq = excluded.seq WHERE cursors.seq < excluded.seq";
        on_db!(&self.db, |connection| {
            query(MOVE)
                .bind(consumer)
                .bind(seq)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Waits until another replica says that it wrote, then refreshes the head; for ever on SQLite, where
    /// there is no other.
    pub async fn follow_replicas(&self) -> Result<(), StoreError> {
        let Db::Postgres(connection) = &self.db else {
            return std::future::pending().await;
        };
        let mut listener = sqlx::postgres::PgListener::connect_with(connection).await?;
        listener.listen(WAKE_CHANNEL).await?;
        loop {
            self.refresh_head().await?;
            listener.recv().await?;
        }
    }
}
