//! What is to be said in chats: each message is a row that says how it is to be, and how far the platform has it. A row
//! that is rewritten before it was sent is sent once, as it is then.

use countersign_core::time::Timestamp;

use super::ChatPlace;
use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;

/// Something that is to be said.
#[derive(Debug, Clone)]
pub struct NewBridgeMessage {
    /// What the platform is told to know it by.
    pub id: String,
    /// What it is: the same thing is said once.
    pub key: String,
    /// Where.
    pub place: ChatPlace,
    /// Of what kind `body` is.
    pub kind: String,
    /// What it is about: an ask, or a turn.
    pub subject: Option<String>,
    /// What its buttons carry.
    pub token: Option<String>,
    /// The channel whose settings hold for it.
    pub route: String,
    /// What is said, as JSON.
    pub body: String,
}

/// Something that is said, or to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeMessage {
    /// What the platform is told to know it by.
    pub id: String,
    /// What it is.
    pub key: String,
    /// Where.
    pub place: ChatPlace,
    /// Of what kind `body` is.
    pub kind: String,
    /// What it is about.
    pub subject: Option<String>,
    /// What its buttons carry.
    pub token: Option<String>,
    /// The channel whose settings hold for it.
    pub route: String,
    /// How it is to be, as JSON.
    pub body: String,
    /// How often it was changed.
    pub version: i64,
    /// Which of these the platform has; zero for none.
    pub sent_version: i64,
    /// What the platform has of it, where that has to be known to change it.
    pub former: Option<String>,
    /// What the platform calls it, once it was sent.
    pub message: Option<String>,
    /// How often it was tried since it was last sent.
    pub attempts: i64,
    /// Whether an attempt was made of which nothing was heard: then the platform may have it.
    pub is_doubtful: bool,
    /// When the next attempt is due.
    pub due_at: Timestamp,
}

row! {
    struct MessageRow {
        id: String,
        bridge: String,
        key: String,
        channel: String,
        thread: String,
        kind: String,
        subject: Option<String>,
        token: Option<String>,
        route: String,
        body: String,
        version: i64,
        sent_version: i64,
        former: Option<String>,
        message: Option<String>,
        attempts: i64,
        doubt: i64,
        due_at: i64,
    }
}

impl From<MessageRow> for BridgeMessage {
    fn from(row: MessageRow) -> Self {
        Self {
            id: row.id,
            key: row.key,
            place: ChatPlace {
                bridge: row.bridge,
                channel: row.channel,
                thread: row.thread,
            },
            kind: row.kind,
            subject: row.subject,
            token: row.token,
            route: row.route,
            body: row.body,
            version: row.version,
            sent_version: row.sent_version,
            former: row.former,
            message: row.message,
            attempts: row.attempts,
            is_doubtful: row.doubt != 0,
            due_at: Timestamp::from_micros(row.due_at),
        }
    }
}

macro_rules! select_messages {
    ($rest:literal) => {
        select_messages!("body", $rest)
    };
    ($body:literal, $rest:literal) => {
        concat!(
            "SELECT id, bridge, key, channel, thread, kind, subject, token, route, ",
            $body,
            ", version, sent_version, former, message, attempts, doubt, due_at FROM bridge_messages ",
            $rest
        )
    };
}

impl Store {
    /// Has something said, or changed that is said already. The same as before changes nothing, and what was given up
    /// stays so.
    pub async fn say_in_chat(
        &self,
        new: &NewBridgeMessage,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const SAY: &str = "INSERT INTO bridge_messages (id, bridge, key, number, channel, thread, kind, \
             subject, token, route, body, version, sent_version, state, attempts, doubt, due_at) \
             SELECT $1, $2, $3, COALESCE((SELECT MAX(number) FROM bridge_messages WHERE bridge = $2), 0) + 1, \
             $4, $5, $6, $7, $8, $9, $10, 1, 0, 'open', 0, 0, $11 WHERE TRUE \
             ON CONFLICT (bridge, key) DO UPDATE SET body = excluded.body, \
             version = bridge_messages.version + 1, \
             state = CASE WHEN bridge_messages.state = 'dead' THEN 'dead' ELSE 'open' END \
             WHERE bridge_messages.body <> excluded.body";
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(SAY)
                .bind(&new.id)
                .bind(&new.place.bridge)
                .bind(&new.key)
                .bind(&new.place.channel)
                .bind(&new.place.thread)
                .bind(&new.kind)
                .bind(new.subject.as_deref())
                .bind(new.token.as_deref())
                .bind(&new.route)
                .bind(&new.body)
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        self.commit(write).await
    }

    /// What `bridge` has to say or to change, in the order in which it is to be said; due or not, and without what is said,
    /// of which there can be much.
    pub async fn open_chat_messages(
        &self,
        bridge: &str,
        limit: i64,
    ) -> Result<Vec<BridgeMessage>, StoreError> {
        const LIST: &str = select_messages!(
            "'' AS body",
            "WHERE bridge = $1 AND state = 'open' ORDER BY number LIMIT $2"
        );
        let rows: Vec<MessageRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(bridge)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        Ok(rows.into_iter().map(BridgeMessage::from).collect())
    }

    /// The message with this id.
    pub async fn chat_message(&self, id: &str) -> Result<Option<BridgeMessage>, StoreError> {
        const GET: &str = select_messages!("WHERE id = $1");
        let row: Option<MessageRow> = on_db!(&self.db, |connection| {
            query(GET).bind(id).fetch_optional(connection).await?
        });
        Ok(row.map(BridgeMessage::from))
    }

    /// Notes, before anything is sent, that an attempt begins. If nothing is heard of it, the next is due at `retry_at`.
    pub async fn begin_saying(&self, id: &str, retry_at: Timestamp) -> Result<(), StoreError> {
        const BEGIN: &str = "UPDATE bridge_messages SET attempts = attempts + 1, doubt = 1, due_at = $2 WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(BEGIN)
                .bind(id)
                .bind(retry_at.as_micros())
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Notes that the platform has `version` of it, calls it `message`, and has it in `channel`. It is done unless it was changed meanwhile; then
    /// the change is due at `next`.
    pub async fn mark_said(
        &self,
        id: &str,
        version: i64,
        message: Option<&str>,
        channel: Option<&str>,
        former: Option<&str>,
        next: Timestamp,
    ) -> Result<(), StoreError> {
        const SAID: &str = "UPDATE bridge_messages SET sent_version = $2, message = COALESCE($3, message), \
             channel = COALESCE($4, channel), former = $5, attempts = 0, doubt = 0, due_at = $6, problem = NULL, \
             state = CASE WHEN version = $2 THEN 'done' ELSE 'open' END WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(SAID)
                .bind(id)
                .bind(version)
                .bind(message)
                .bind(channel)
                .bind(former)
                .bind(next.as_micros())
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Notes why an attempt failed, and when the next is due; and whether the platform may have it all the same.
    pub async fn postpone_saying(
        &self,
        id: &str,
        due_at: Timestamp,
        problem: &str,
        is_doubtful: bool,
    ) -> Result<(), StoreError> {
        const POSTPONE: &str =
            "UPDATE bridge_messages SET due_at = $2, problem = $3, doubt = $4 WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(POSTPONE)
                .bind(id)
                .bind(due_at.as_micros())
                .bind(problem)
                .bind(i64::from(is_doubtful))
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Gives up what can never be said or changed.
    pub async fn give_up_saying(&self, id: &str, problem: &str) -> Result<(), StoreError> {
        const GIVE_UP: &str =
            "UPDATE bridge_messages SET state = 'dead', problem = $2 WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(GIVE_UP)
                .bind(id)
                .bind(problem)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Why what `bridge` was to say under `key` was given up, if it was.
    pub async fn given_up_saying(
        &self,
        bridge: &str,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        const GET: &str = "SELECT COALESCE(problem, '') FROM bridge_messages \
             WHERE bridge = $1 AND key = $2 AND state = 'dead'";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(bridge)
                .bind(key)
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(|(problem,)| problem))
    }

    /// What `bridge` says or said about `subject`, in order.
    pub async fn chat_messages_about(
        &self,
        bridge: &str,
        subject: &str,
    ) -> Result<Vec<BridgeMessage>, StoreError> {
        const LIST: &str = select_messages!("WHERE subject = $1 AND bridge = $2 ORDER BY number");
        let rows: Vec<MessageRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(subject)
                .bind(bridge)
                .fetch_all(connection)
                .await?
        });
        Ok(rows.into_iter().map(BridgeMessage::from).collect())
    }

    /// The message of `bridge` whose buttons carry `token`.
    pub async fn chat_message_with_token(
        &self,
        bridge: &str,
        token: &str,
    ) -> Result<Option<BridgeMessage>, StoreError> {
        const GET: &str = select_messages!("WHERE token = $1 AND bridge = $2");
        let row: Option<MessageRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(token)
                .bind(bridge)
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(BridgeMessage::from))
    }

    /// The message that the platform calls so.
    pub async fn chat_message_called(
        &self,
        bridge: &str,
        channel: &str,
        message: &str,
    ) -> Result<Option<BridgeMessage>, StoreError> {
        const GET: &str = select_messages!(
            "WHERE bridge = $1 AND channel = $2 AND message = $3 AND kind = 'say'"
        );
        let row: Option<MessageRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(bridge)
                .bind(channel)
                .bind(message)
                .fetch_optional(connection)
                .await?
        });
        Ok(row.map(BridgeMessage::from))
    }

    /// Forgets what was said or given up and is not among the newest `keep` messages of `bridge`.
    pub async fn forget_said(&self, bridge: &str, keep: i64) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM bridge_messages WHERE bridge = $1 AND state <> 'open' AND number <= \
             (SELECT COALESCE(MAX(number), 0) FROM bridge_messages WHERE bridge = $1) - $2";
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
