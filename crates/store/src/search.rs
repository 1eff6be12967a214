//! Looking for words in transcripts, from the newest piece back.
//!
//! There is no index of words: a bounded stretch of items is looked through at a time, so that nobody else waits long
//! for the ledger. What the database lets through holds the words somewhere in its JSON; whoever asks looks again.

use std::fmt;
use std::str::FromStr;

use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::session::TranscriptItem;
use countersign_core::time::Timestamp;

use crate::Store;
use crate::database::{on_db, row};
use crate::error::StoreError;
use crate::sql::query;

/// Where in all transcripts an item is, by time: what is newer than it comes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    at: Timestamp,
    session: SessionId,
    seq: i64,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_micros();
        write!(formatter, "{at}.{}.{}", self.session, self.seq)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.splitn(3, '.');
        let mut next = || parts.next().ok_or(());
        Ok(Self {
            at: Timestamp::from_micros(next()?.parse().map_err(|_| ())?),
            session: next()?.parse().map_err(|_| ())?,
            seq: next()?.parse().map_err(|_| ())?,
        })
    }
}

/// An item that may hold the words.
#[derive(Debug, Clone, PartialEq)]
pub struct Passage {
    /// Where it is.
    pub place: Place,
    /// Its session.
    pub session: SessionId,
    /// The workspace of its session.
    pub workspace: WorkspaceId,
    /// What its session is about.
    pub title: String,
    /// The item.
    pub item: TranscriptItem,
}

/// What came of looking through a stretch of items.
#[derive(Debug, Clone, PartialEq)]
pub struct LookedAt {
    /// What may hold the words, newest first.
    pub passages: Vec<Passage>,
    /// How many items were looked at.
    pub count: u64,
    /// Where to go on; nothing if the oldest item was looked at.
    pub end: Option<Place>,
}

row! {
    struct PassageRow {
        session: String,
        workspace: String,
        title: String,
        seq: i64,
        native_id: String,
        at: i64,
        changed_at: Option<i64>,
        body: String,
    }
}

impl TryFrom<PassageRow> for Passage {
    type Error = StoreError;

    fn try_from(row: PassageRow) -> Result<Self, StoreError> {
        let corrupt = |column| StoreError::corrupt("items", &row.native_id, column);
        let session: SessionId = row.session.parse().map_err(|_| corrupt("session"))?;
        let at = Timestamp::from_micros(row.at);
        Ok(Self {
            place: Place {
                at,
                session,
                seq: row.seq,
            },
            session,
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            title: row.title,
            item: TranscriptItem {
                item: serde_json::from_str(&row.body).map_err(|_| corrupt("body"))?,
                seq: row.seq,
                native_id: row.native_id,
                at,
                changed_at: row.changed_at.map(Timestamp::from_micros),
            },
        })
    }
}

impl Store {
    /// Looks for items that hold all of `words`, whatever their case, in the `stretch` items that are older than `before`.
    /// At most `limit` of them come back; the stretch ends with the last one then.
    pub async fn look_for(
        &self,
        words: &[String],
        workspace: Option<WorkspaceId>,
        before: Option<&Place>,
        stretch: i64,
        limit: i64,
    ) -> Result<LookedAt, StoreError> {
        let (at, session, seq) = before.map_or_else(
            || (i64::MAX, String::new(), 0),
            |place| (place.at.as_micros(), place.session.to_string(), place.seq),
        );
        let edge = self.edge(at, &session, seq, stretch).await?;
        let text = format!(
            "SELECT items.session, sessions.workspace, sessions.title, items.seq, items.native_id, items.at, \
             items.changed_at, items.body FROM items JOIN sessions ON sessions.id = items.session \
             WHERE (items.at, items.session, items.seq) < ($1, $2, $3) \
             AND (items.at, items.session, items.seq) >= ($4, $5, $6) \
             AND (CAST($7 AS TEXT) IS NULL OR sessions.workspace = $7){} \
             ORDER BY items.at DESC, items.session DESC, items.seq DESC LIMIT $8",
            conditions(9, words.len())
        );
        let oldest = edge.clone().unwrap_or((i64::MIN, String::new(), 0));
        let rows: Vec<PassageRow> = on_db!(&self.db, |connection| {
            let look = query(text)
                .bind(at)
                .bind(&session)
                .bind(seq)
                .bind(oldest.0)
                .bind(&oldest.1)
                .bind(oldest.2)
                .bind(workspace.map(|id| id.to_string()))
                .bind(limit);
            words
                .iter()
                .fold(look, |look, word| look.bind(pattern(word)))
                .long()
                .fetch_all(connection)
                .await?
        });
        let is_cut = i64::try_from(rows.len()).is_ok_and(|count| count >= limit);
        let passages: Vec<Passage> = rows
            .into_iter()
            .map(Passage::try_from)
            .collect::<Result<_, _>>()?;
        let end = match (is_cut, passages.last(), edge) {
            (true, Some(last), _) => Some(last.place.clone()),
            (_, _, Some((at, session, seq))) => Some(Place {
                at: Timestamp::from_micros(at),
                session: session
                    .parse()
                    .map_err(|_| StoreError::corrupt("items", &session, "session"))?,
                seq,
            }),
            (_, _, None) => None,
        };
        let count = self
            .count_between((at, &session, seq), end.as_ref())
            .await?;
        Ok(LookedAt {
            passages,
            count,
            end,
        })
    }

    /// The last of the `stretch` items that are older than a place; nothing if there are no more than that.
    async fn edge(
        &self,
        at: i64,
        session: &str,
        seq: i64,
        stretch: i64,
    ) -> Result<Option<(i64, String, i64)>, StoreError> {
        const EDGE: &str = "SELECT at, session, seq FROM items WHERE (at, session, seq) < ($1, $2, $3) \
             ORDER BY at DESC, session DESC, seq DESC LIMIT 2 OFFSET $4";
        let rows: Vec<(i64, String, i64)> = on_db!(&self.db, |connection| {
            query(EDGE)
                .bind(at)
                .bind(session)
                .bind(seq)
                .bind(stretch - 1)
                .fetch_all(connection)
                .await?
        });
        // One that nothing is older than is no edge.
        let has_more = rows.len() > 1;
        Ok(rows.into_iter().next().filter(|_| has_more))
    }

    /// How many items are older than a place, down to `end` with it.
    async fn count_between(
        &self,
        (at, session, seq): (i64, &str, i64),
        end: Option<&Place>,
    ) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT COUNT(*) FROM items WHERE (at, session, seq) < ($1, $2, $3) \
             AND (at, session, seq) >= ($4, $5, $6)";
        let end = end.map_or_else(
            || (i64::MIN, String::new(), 0),
            |place| (place.at.as_micros(), place.session.to_string(), place.seq),
        );
        let (count,): (i64,) = on_db!(&self.db, |connection| {
            query(COUNT)
                .bind(at)
                .bind(session)
                .bind(seq)
                .bind(end.0)
                .bind(&end.1)
                .bind(end.2)
                .fetch_one(connection)
                .await?
        });
        Ok(u64::try_from(count).unwrap_or_default())
    }
}

/// A condition for each word, with its placeholder.
fn conditions(first: usize, count: usize) -> String {
    let conditions: Vec<String> = (first..first + count)
        .map(|number| format!(" AND LOWER(items.body) LIKE LOWER(${number}) ESCAPE '!'"))
        .collect();
    conditions.concat()
}

/// What finds a word anywhere in the JSON that it is a part of.
fn pattern(word: &str) -> String {
    let quoted = serde_json::Value::from(word).to_string();
    let mut pattern = String::from("%");
    for letter in quoted[1..quoted.len() - 1].chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
