//! Transcripts: what was said and done, one row for each finished or changing piece.

use std::collections::{BTreeMap, HashMap};

use countersign_core::event::EventBody;
use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::session::{Item, ToolStatus, TranscriptItem};
use countersign_core::time::Timestamp;

use crate::Store;
use crate::database::{Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::{placeholders, query};
use crate::write::{Write, to_json};

/// How many items go to the database together: no database takes any number of values in one statement.
const AT_ONCE: usize = 500;

row! {
    pub(crate) struct ItemRow {
        seq: i64,
        native_id: String,
        at: i64,
        changed_at: Option<i64>,
        body: String,
    }
}

impl TryFrom<ItemRow> for TranscriptItem {
    type Error = StoreError;

    fn try_from(row: ItemRow) -> Result<Self, Self::Error> {
        Ok(Self {
            item: serde_json::from_str(&row.body)
                .map_err(|_| StoreError::corrupt("items", &row.native_id, "body"))?,
            seq: row.seq,
            native_id: row.native_id,
            at: Timestamp::from_micros(row.at),
            changed_at: row.changed_at.map(Timestamp::from_micros),
        })
    }
}

/// Holds a session's transcript until the transaction ends: each item has a place of its own.
pub(crate) async fn hold_session(tx: &mut Tx, session: &str) -> Result<(), StoreError> {
    const HOLD: &str = "SELECT 1 FROM sessions WHERE id = $1 FOR NO KEY UPDATE";
    // A writer on SQLite holds the whole file anyway.
    if let Tx::Postgres(transaction) = tx {
        query(HOLD)
            .bind(session)
            .execute(&mut **transaction)
            .await?;
    }
    Ok(())
}

impl Store {
    /// Writes an item down, or rewrites it in its place; returns the place, or nothing if all was known.
    pub async fn put_item(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        native_id: &str,
        item: &Item,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let mut write = self.write(now).await?;
        hold_session(&mut write.tx, &session.to_string()).await?;
        let place = put_item_in(&mut write, workspace, session, native_id, item, now).await?;
        if place.is_some() {
            self.commit(write).await?;
        }
        Ok(place)
    }

    /// Writes many items down at once, each as [`Store::put_item`] does; returns how many were not known.
    pub async fn put_items(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        items: &[(String, Item)],
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        if items.is_empty() {
            return Ok(0);
        }
        let mut write = self.write(now).await?;
        hold_session(&mut write.tx, &session.to_string()).await?;
        let mut changed = 0;
        for some in items.chunks(AT_ONCE) {
            changed += put_items_in(&mut write, workspace, session, some, now).await?;
        }
        if changed > 0 {
            self.commit(write).await?;
        }
        Ok(changed)
    }

    /// Closes the tool calls of a session that look as if they still ran: whoever ran them is gone.
    pub async fn close_tools(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<usize, StoreError> {
        const LIST: &str = "SELECT seq, native_id, at, changed_at, body FROM items WHERE session = $1 \
             AND (body LIKE '%\"status\":\"running\"%' OR body LIKE '%\"status\":\"pending\"%') ORDER BY seq";
        let rows: Vec<ItemRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .long()
                .fetch_all(connection)
                .await?
        });
        let mut closed = Vec::new();
        for row in rows {
            let TranscriptItem {
                native_id,
                mut item,
                ..
            } = row.try_into()?;
            if let Item::Tool { status, .. } = &mut item
                && matches!(status, ToolStatus::Pending | ToolStatus::Running)
            {
                *status = ToolStatus::Failed;
                closed.push((native_id, item));
            }
        }
        if closed.is_empty() {
            return Ok(0);
        }
        self.put_items(workspace, session, &closed, now).await
    }

    /// The items of a session after the place `after`, at most `limit` of them.
    pub async fn items(
        &self,
        session: SessionId,
        after: i64,
        limit: i64,
    ) -> Result<Vec<TranscriptItem>, StoreError> {
        const LIST: &str = "SELECT seq, native_id, at, changed_at, body FROM items \
             WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let rows: Vec<ItemRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .bind(after)
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(TranscriptItem::try_from).collect()
    }

    /// The place of a session's newest item; zero if it has none.
    pub async fn last_item(&self, session: SessionId) -> Result<i64, StoreError> {
        const LAST: &str = "SELECT COALESCE(MAX(seq), 0) FROM items WHERE session = $1";
        let (last,): (i64,) = on_db!(&self.db, |connection| {
            query(LAST)
                .bind(session.to_string())
                .fetch_one(connection)
                .await?
        });
        Ok(last)
    }
}

/// Writes items down within a larger write that holds their session, and returns how many were not known. It takes few
/// statements, however many items there are: each goes to the database and back.
async fn put_items_in(
    write: &mut Write,
    workspace: WorkspaceId,
    session: SessionId,
    items: &[(String, Item)],
    now: Timestamp,
) -> Result<usize, StoreError> {
    const LAST: &str = "SELECT COALESCE(MAX(seq), 0) FROM items WHERE session = $1";

    let id = session.to_string();
    let known: Vec<(String, i64, String)> = on_tx!(&mut write.tx, |connection| {
        let look = query(format!(
            "SELECT native_id, seq, body FROM items WHERE session = $1 AND native_id IN ({})",
            placeholders(2, items.len())
        ));
        let look = items
            .iter()
            .fold(look.bind(&id), |look, (native_id, _)| look.bind(native_id));
        look.fetch_all(connection).await?
    });
    let (mut last,): (i64,) = on_tx!(&mut write.tx, |connection| {
        query(LAST).bind(&id).fetch_one(connection).await?
    });
    let mut known: HashMap<String, (i64, String)> = known
        .into_iter()
        .map(|(native_id, seq, body)| (native_id, (seq, body)))
        .collect();
    // One that is there twice has the place of the first and says what the last says.
    let mut new: BTreeMap<i64, (&str, String)> = BTreeMap::new();
    let mut rewritten: BTreeMap<i64, String> = BTreeMap::new();
    let mut changed = Vec::new();
    for (native_id, item) in items {
        let body = to_json(item);
        match known.get_mut(native_id) {
            Some((_, known)) if *known == body => {}
            Some((seq, known)) => {
                known.clone_from(&body);
                if let Some((_, new)) = new.get_mut(seq) {
                    *new = body;
                } else if rewritten.insert(*seq, body).is_none() {
                    changed.push(*seq);
                }
            }
            None => {
                last += 1;
                known.insert(native_id.clone(), (last, body.clone()));
                new.insert(last, (native_id, body));
                changed.push(last);
            }
        }
    }
    for (seq, body) in &rewritten {
        rewrite(&mut write.tx, &id, *seq, body, now).await?;
    }
    if !new.is_empty() {
        on_tx!(&mut write.tx, |connection| {
            let rows = (0..new.len()).map(|row| format!("({})", placeholders(5 * row + 1, 5)));
            let rows: Vec<String> = rows.collect();
            let mut append = query(format!(
                "INSERT INTO items (session, seq, native_id, at, body) VALUES {}",
                rows.join(", ")
            ));
            for (seq, (native_id, body)) in &new {
                append = append
                    .bind(&id)
                    .bind(*seq)
                    .bind(*native_id)
                    .bind(now.as_micros())
                    .bind(body);
            }
            append.execute(connection).await?;
        });
    }
    for item in &changed {
        let item = *item;
        write.event(workspace, EventBody::ItemChanged { session, item });
    }
    Ok(changed.len())
}

/// Rewrites the item at a place.
async fn rewrite(
    tx: &mut Tx,
    session: &str,
    seq: i64,
    body: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    const REWRITE: &str =
        "UPDATE items SET body = $3, changed_at = $4 WHERE session = $1 AND seq = $2";
    on_tx!(tx, |connection| {
        query(REWRITE)
            .bind(session)
            .bind(seq)
            .bind(body)
            .bind(now.as_micros())
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// Writes an item down within a larger write that holds its session.
pub(crate) async fn put_item_in(
    write: &mut Write,
    workspace: WorkspaceId,
    session: SessionId,
    native_id: &str,
    item: &Item,
    now: Timestamp,
) -> Result<Option<i64>, StoreError> {
    const KNOWN: &str = "SELECT seq, body FROM items WHERE session = $1 AND native_id = $2";
    const APPEND: &str = "INSERT INTO items (session, seq, native_id, at, body) \
         VALUES ($1, (SELECT COALESCE(MAX(seq), 0) + 1 FROM items WHERE session = $1), $2, $3, $4) \
         RETURNING seq";

    let id = session.to_string();
    let body = to_json(item);
    let known: Option<(i64, String)> = on_tx!(&mut write.tx, |connection| {
        query(KNOWN)
            .bind(&id)
            .bind(native_id)
            .fetch_optional(connection)
            .await?
    });
    let seq = match known {
        Some((_, known)) if known == body => return Ok(None),
        Some((seq, _)) => {
            rewrite(&mut write.tx, &id, seq, &body, now).await?;
            seq
        }
        None => {
            let (seq,): (i64,) = on_tx!(&mut write.tx, |connection| {
                query(APPEND)
                    .bind(&id)
                    .bind(native_id)
                    .bind(now.as_micros())
                    .bind(body)
                    .fetch_one(connection)
                    .await?
            });
            seq
        }
    };
    write.event(workspace, EventBody::ItemChanged { session, item: seq });
    Ok(Some(seq))
}
