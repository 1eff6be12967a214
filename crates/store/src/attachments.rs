//! What comes along with prompts: written down with its turn, bytes and all, before anybody hears of the turn.

use countersign_core::attachment::{Attachment, AttachmentKind, Takes};
use countersign_core::digest::Digest;
use countersign_core::id::{AttachmentId, SessionId, TurnId, WorkspaceId};
use serde_json::{Value, json};

use crate::Store;
use crate::database::{Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::to_json;

/// Something that comes along with a prompt, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// What it is.
    pub attachment: Attachment,
    /// Its content, unless it is only pointed at.
    pub bytes: Option<Vec<u8>>,
}

impl Attached {
    /// What the audit says of it: enough to tell what was sent, and not what it says.
    pub(crate) fn in_audit(&self) -> Value {
        let Attachment {
            kind, name, size, ..
        } = &self.attachment;
        let digest = self.bytes.as_deref().map(Digest::of_bytes);
        json!({ "kind": kind, "name": name, "size": size, "digest": digest })
    }
}

row! {
    struct AttachmentRow {
        id: String,
        kind: String,
        name: String,
        media_type: Option<String>,
        size: i64,
        bytes: Option<Vec<u8>>,
    }
}

impl TryFrom<AttachmentRow> for Attached {
    type Error = StoreError;

    fn try_from(row: AttachmentRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("attachments", &row.id, column);
        Ok(Self {
            attachment: Attachment {
                id: row.id.parse().map_err(|_| corrupt("id"))?,
                kind: AttachmentKind::from_name(&row.kind).ok_or_else(|| corrupt("kind"))?,
                size: u64::try_from(row.size).map_err(|_| corrupt("size"))?,
                kept: row.bytes.is_some(),
                name: row.name,
                media_type: row.media_type,
            },
            bytes: row.bytes,
        })
    }
}

/// Writes down what comes along with a turn that is new in this transaction.
pub(crate) async fn keep_attachments(
    tx: &mut Tx,
    turn: TurnId,
    attachments: &[Attached],
) -> Result<(), StoreError> {
    const ADD: &str = "INSERT INTO attachments (id, turn, place, kind, name, media_type, size) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    const KEEP: &str = "INSERT INTO attachment_bytes (attachment, bytes) VALUES ($1, $2)";
    for (place, new) in (1_i64..).zip(attachments) {
        let Attachment {
            id,
            kind,
            name,
            media_type,
            size,
            ..
        } = &new.attachment;
        on_tx!(tx, |connection| {
            query(ADD)
                .bind(id.to_string())
                .bind(turn.to_string())
                .bind(place)
                .bind(kind.name())
                .bind(name)
                .bind(media_type)
                .bind(i64::try_from(*size).unwrap_or(i64::MAX))
                .execute(connection)
                .await?;
        });
        if let Some(bytes) = &new.bytes {
            on_tx!(tx, |connection| {
                query(KEEP)
                    .bind(id.to_string())
                    .bind(bytes.as_slice())
                    .execute(connection)
                    .await?;
            });
        }
    }
    Ok(())
}

impl Store {
    /// What came along with the prompt of a turn, in its order.
    pub async fn attachments(&self, turn: TurnId) -> Result<Vec<Attached>, StoreError> {
        const LIST: &str = "SELECT id, kind, name, media_type, size, bytes FROM attachments \
             LEFT JOIN attachment_bytes ON attachment = id WHERE turn = $1 ORDER BY place";
        let rows: Vec<AttachmentRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(turn.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Attached::try_from).collect()
    }

    /// The attachment called `id`, and the workspace in which it was said.
    pub async fn attachment(
        &self,
        id: AttachmentId,
    ) -> Result<Option<(WorkspaceId, Attached)>, StoreError> {
        const PLACE: &str = "SELECT sessions.workspace FROM attachments \
             JOIN turns ON turns.id = attachments.turn JOIN sessions ON sessions.id = turns.session \
             WHERE attachments.id = $1";
        const GET: &str = "SELECT id, kind, name, media_type, size, bytes FROM attachments \
             LEFT JOIN attachment_bytes ON attachment = id WHERE id = $1";
        let place: Option<(String,)> = on_db!(&self.db, |connection| {
            query(PLACE)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        let row: Option<AttachmentRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        let (Some((workspace,)), Some(row)) = (place, row) else {
            return Ok(None);
        };
        let workspace = workspace
            .parse()
            .map_err(|_| StoreError::corrupt("attachments", id, "workspace"))?;
        Ok(Some((workspace, row.try_into()?)))
    }

    /// Notes what the agent of a session takes along with a prompt.
    pub async fn set_takes(&self, session: SessionId, takes: Takes) -> Result<(), StoreError> {
        const SET: &str = "UPDATE sessions SET takes = $2 WHERE id = $1";
        on_db!(&self.db, |connection| {
            query(SET)
                .bind(session.to_string())
                .bind(to_json(&takes))
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// What the agent of a session takes along with a prompt, if it has said so.
    pub async fn takes(&self, session: SessionId) -> Result<Option<Takes>, StoreError> {
        const GET: &str = "SELECT takes FROM sessions WHERE id = $1";
        let row: Option<(Option<String>,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.and_then(|(takes,)| takes)
            .map(|json| serde_json::from_str(&json))
            .transpose()
            .map_err(|_| StoreError::corrupt("sessions", session, "takes"))
    }
}
