//! What came in from chats: once each, durable before the platform is told, and worked off in order.

use countersign_core::id::TurnId;
use countersign_core::time::Timestamp;

use super::ChatPlace;
use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;

/// Something that came in.
#[derive(Debug, Clone)]
pub struct NewInbound {
    /// The same when it is delivered twice.
    pub id: String,
    /// Where.
    pub place: ChatPlace,
    /// What, as JSON.
    pub body: String,
}

/// Something that came in and waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The same when it is delivered twice.
    pub id: String,
    /// Where.
    pub place: ChatPlace,
    /// What, as JSON.
    pub body: String,
    /// The turn that it becomes, if it becomes one.
    pub turn: TurnId,
}

row! {
    struct InboundRow {
        bridge: String,
        id: String,
        channel: String,
        thread: String,
        body: String,
        turn: String,
    }
}

impl TryFrom<InboundRow> for Inbound {
    type Error = StoreError;

    fn try_from(row: InboundRow) -> Result<Self, Self::Error> {
        let turn = row.turn.parse();
        Ok(Self {
            turn: turn.map_err(|_| StoreError::corrupt("bridge_inbox", &row.id, "turn"))?,
            id: row.id,
            place: ChatPlace {
                bridge: row.bridge,
                channel: row.channel,
                thread: row.thread,
            },
            body: row.body,
        })
    }
}

impl Store {
    /// Writes down what came in, and how far the platform was followed: both or neither. What is known already is left
    /// as it is. Returns how much of it is new.
    pub async fn take_in(
        &self,
        bridge: &str,
        came: &[NewInbound],
        cursor: Option<&str>,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        const ADD: &str = "INSERT INTO bridge_inbox \
             (bridge, id, number, channel, thread, body, turn, state) \
             SELECT $1, $2, COALESCE((SELECT MAX(number) FROM bridge_inbox WHERE bridge = $1), 0) + 1, \
             $3, $4, $5, $6, 'waiting' \
             WHERE NOT EXISTS (SELECT 1 FROM bridge_inbox WHERE bridge = $1 AND id = $2)";
        const MOVE: &str = "INSERT INTO bridge_cursors (bridge, cursor) VALUES ($1, $2) \
             ON CONFLICT (bridge) DO UPDATE SET cursor = excluded.cursor";
        let mut write = self.write(now).await?;
        let mut new = 0;
        for inbound in came {
            new += on_tx!(&mut write.tx, |connection| {
                query(ADD)
                    .bind(bridge)
                    .bind(&inbound.id)
                    .bind(&inbound.place.channel)
                    .bind(&inbound.place.thread)
                    .bind(&inbound.body)
                    .bind(TurnId::generate(now).to_string())
                    .execute(connection)
                    .await?
                    .rows_affected()
            });
        }
        if let Some(cursor) = cursor {
            on_tx!(&mut write.tx, |connection| {
                query(MOVE)
                    .bind(bridge)
                    .bind(cursor)
                    .execute(connection)
                    .await?;
            });
        }
        self.commit(write).await?;
        Ok(new)
    }

    /// How far `bridge` has followed its platform.
    pub async fn bridge_cursor(&self, bridge: &str) -> Result<Option<String>, StoreError> {
        const GET: &str = "SELECT cursor FROM bridge_cursors WHERE bridge = $1";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET).bind(bridge).fetch_optional(connection).await?
        });
        Ok(row.map(|(cursor,)| cursor))
    }

    /// What came in by `bridge` and waits, oldest first.
    pub async fn waiting_inbound(
        &self,
        bridge: &str,
        limit: i64,
    ) -> Result<Vec<Inbound>, StoreError> {
        const LIST: &str = "SELECT bridge, id, channel, thread, body, turn FROM bridge_inbox \
             WHERE bridge = $1 AND state = 'waiting' ORDER BY number LIMIT $2";
        let rows: Vec<InboundRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(bridge)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Inbound::try_from).collect()
    }

    /// The turn that something that came in by `bridge` becomes, and whether it still waits for that; nothing if it is
    /// not known any more.
    pub async fn inbound_turn(
        &self,
        bridge: &str,
        id: &str,
    ) -> Result<Option<(TurnId, bool)>, StoreError> {
        const GET: &str = "SELECT turn, state FROM bridge_inbox WHERE bridge = $1 AND id = $2";
        let row: Option<(String, String)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(bridge)
                .bind(id)
                .fetch_optional(connection)
                .await?
        });
        let Some((turn, state)) = row else {
            return Ok(None);
        };
        let turn = turn.parse();
        let turn = turn.map_err(|_| StoreError::corrupt("bridge_inbox", id, "turn"))?;
        Ok(Some((turn, state == "waiting")))
    }

    /// Notes that something that came in was dealt with. Its words are forgotten, its id is not.
    pub async fn finish_inbound(&self, bridge: &str, id: &str) -> Result<(), StoreError> {
        const FINISH: &str =
            "UPDATE bridge_inbox SET state = 'done', body = '' WHERE bridge = $1 AND id = $2";
        on_db!(&self.db, |connection| {
            query(FINISH)
                .bind(bridge)
                .bind(id)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Forgets all but the newest `keep` things that came in by `bridge` and are done.
    pub async fn forget_inbound(&self, bridge: &str, keep: i64) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM bridge_inbox WHERE bridge = $1 AND state = 'done' AND number <= \
             (SELECT COALESCE(MAX(number), 0) FROM bridge_inbox WHERE bridge = $1) - $2";
        Ok(on_db!(&self.db, |connection| {
            query(FORGET)
                .bind(bridge)
                .bind(keep)
                .execute(connection)
                .await?
                .rows_affected()
        }))
    }
}
