//! Sessions that began elsewhere and are taken up here: with all that was said in them, or not at all.

use countersign_core::actor::Actor;
use countersign_core::attachment::Takes;
use countersign_core::event::EventBody;
use countersign_core::id::RunId;
use countersign_core::session::{Item, Session};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{Tx, on_tx};
use crate::error::StoreError;
use crate::sessions::bind_run;
use crate::transcript::{hold_session, put_item_in};
use crate::write::{name_in_audit, to_json};

/// A session that began elsewhere.
#[derive(Debug, Clone)]
pub struct Earlier {
    /// The session.
    pub session: Session,
    /// What was said and done in it, in order, by what each piece is called.
    pub items: Vec<(String, Item)>,
    /// The life of its engine that serves it, and up to where that one's output is taken.
    pub run: Option<(RunId, u64)>,
    /// What its agent takes along with a prompt, where that has to be known.
    pub takes: Option<Takes>,
}

/// What became of taking up a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenUp {
    /// It is here now.
    Fresh(Session),
    /// It was here already, and nothing about it was changed.
    Known(Session),
}

impl Store {
    /// Takes up a session that began elsewhere, on behalf of `by`.
    pub async fn take_up_session(
        &self,
        earlier: &Earlier,
        by: &Actor,
        now: Timestamp,
    ) -> Result<TakenUp, StoreError> {
        let session = &earlier.session;
        let mut write = self.write(now).await?;
        if !add(&mut write.tx, session, earlier.takes).await? {
            drop(write);
            let known =
                self.session_by_native_id(session.workspace, &session.engine, &session.native_id);
            let missing = || StoreError::corrupt("sessions", session.id, "native_id");
            return Ok(TakenUp::Known(known.await?.ok_or_else(missing)?));
        }
        hold_session(&mut write.tx, &session.id.to_string()).await?;
        for (native_id, item) in &earlier.items {
            put_item_in(
                &mut write,
                session.workspace,
                session.id,
                native_id,
                item,
                now,
            )
            .await?;
        }
        if let Some((run, taken)) = earlier.run {
            bind_run(&mut write.tx, session.id, run, taken).await?;
        }
        write.event(
            session.workspace,
            EventBody::SessionChanged {
                session: session.id,
                activity: session.activity,
            },
        );
        let detail = json!({ "engine": session.engine, "earlier": session.native_id, "items": earlier.items.len() });
        write.deed(
            session.workspace,
            &name_in_audit(by),
            "session.take_up",
            session.id,
            detail,
        );
        self.commit(write).await?;
        Ok(TakenUp::Fresh(session.clone()))
    }
}

/// Adds the session, unless it is here.
async fn add(tx: &mut Tx, session: &Session, takes: Option<Takes>) -> Result<bool, StoreError> {
    const ADD: &str = "INSERT INTO sessions \
         (id, workspace, native_id, parent, title, directory, agent, activity, started_at, changed_at, engine, takes) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
         ON CONFLICT (workspace, engine, native_id) DO NOTHING";
    let added = on_tx!(tx, |connection| {
        sqlx::query(ADD)
            .bind(session.id.to_string())
            .bind(session.workspace.to_string())
            .bind(&session.native_id)
            .bind(session.parent.map(|id| id.to_string()))
            .bind(&session.title)
            .bind(&session.directory)
            .bind(&session.agent)
            .bind(session.activity.name())
            .bind(session.started_at.as_micros())
            .bind(session.changed_at.as_micros())
            .bind(&session.engine)
            .bind(takes.map(|takes| to_json(&takes)))
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(added > 0)
}
