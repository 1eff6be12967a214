//! What chat bridges keep: which thread is which session, how far a platform was followed, what came in and what is to be
//! said. Everything else that they show is in the rest of the ledger.

mod inbox;
mod outbox;

pub use inbox::{Inbound, NewInbound};
pub use outbox::{BridgeMessage, NewBridgeMessage};

use countersign_core::id::{SessionId, TurnId};
use countersign_core::time::Timestamp;

use crate::Store;
use crate::database::{on_db, row};
use crate::error::StoreError;
use crate::sql::query;

/// A place in a chat.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChatPlace {
    /// The bridge, by its name.
    pub bridge: String,
    /// The channel.
    pub channel: String,
    /// The thread; empty for the channel as a whole.
    pub thread: String,
}

/// A conversation in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeThread {
    /// Where it is.
    pub place: ChatPlace,
    /// The channel whose settings hold for it.
    pub route: String,
    /// The session, once there is one.
    pub session: Option<SessionId>,
    /// The engine that was wished for.
    pub engine: Option<String>,
    /// The model that was wished for.
    pub model: Option<String>,
    /// The newest turn that was begun there.
    pub turn: Option<TurnId>,
    /// The message that began it, as the platform calls it.
    pub message: Option<String>,
}

row! {
    struct ThreadRow {
        bridge: String,
        channel: String,
        thread: String,
        route: String,
        session: Option<String>,
        engine: Option<String>,
        model: Option<String>,
        turn: Option<String>,
        message: Option<String>,
    }
}

impl TryFrom<ThreadRow> for BridgeThread {
    type Error = StoreError;

    fn try_from(row: ThreadRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("bridge_threads", &row.channel, column);
        Ok(Self {
            session: row
                .session
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| corrupt("session"))?,
            turn: row
                .turn
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| corrupt("turn"))?,
            place: ChatPlace {
                bridge: row.bridge,
                channel: row.channel,
                thread: row.thread,
            },
            route: row.route,
            engine: row.engine,
            model: row.model,
            message: row.message,
        })
    }
}

macro_rules! select_threads {
    ($rest:literal) => {
        concat!(
            "SELECT bridge, channel, thread, route, session, engine, model, turn, message FROM bridge_threads ",
            $rest
        )
    };
}

impl Store {
    /// The conversation at `place`.
    pub async fn bridge_thread(
        &self,
        place: &ChatPlace,
    ) -> Result<Option<BridgeThread>, StoreError> {
        const GET: &str = select_threads!("WHERE bridge = $1 AND channel = $2 AND thread = $3");
        let row: Option<ThreadRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(&place.bridge)
                .bind(&place.channel)
                .bind(&place.thread)
                .fetch_optional(connection)
                .await?
        });
        row.map(BridgeThread::try_from).transpose()
    }

    /// The conversation of `bridge` that is this session.
    pub async fn bridge_thread_of(
        &self,
        bridge: &str,
        session: SessionId,
    ) -> Result<Option<BridgeThread>, StoreError> {
        const GET: &str =
            select_threads!("WHERE session = $1 AND bridge = $2 ORDER BY changed_at DESC LIMIT 1");
        let row: Option<ThreadRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .bind(bridge)
                .fetch_optional(connection)
                .await?
        });
        row.map(BridgeThread::try_from).transpose()
    }

    /// Writes a conversation down as it is now.
    pub async fn keep_bridge_thread(
        &self,
        thread: &BridgeThread,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const KEEP: &str = "INSERT INTO bridge_threads \
             (bridge, channel, thread, route, session, engine, model, turn, message, changed_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
             ON CONFLICT (bridge, channel, thread) DO UPDATE SET route = excluded.route, \
             session = excluded.session, engine = excluded.engine, model = excluded.model, \
             turn = excluded.turn, message = excluded.message, changed_at = excluded.changed_at";
        on_db!(&self.db, |connection| {
            query(KEEP)
                .bind(&thread.place.bridge)
                .bind(&thread.place.channel)
                .bind(&thread.place.thread)
                .bind(&thread.route)
                .bind(thread.session.map(|session| session.to_string()))
                .bind(thread.engine.as_deref())
                .bind(thread.model.as_deref())
                .bind(thread.turn.map(|turn| turn.to_string()))
                .bind(thread.message.as_deref())
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        Ok(())
    }
}
