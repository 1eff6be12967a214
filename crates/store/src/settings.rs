//! What agents tell of sessions besides what is said in them, and what people chose for sessions.
//!
//! A choice is a row, and in the audit, before the agent hears of it. It stands until another takes its place, or until
//! the agent refuses it before it ever took it.

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::event::EventBody;
use countersign_core::id::{RunId, SessionId, TurnId, WorkspaceId};
use countersign_core::settings::{Chosen, SessionSettings, SettingName, SettingValue};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::{COUNTERSIGN, name_in_audit, to_json};

/// A choice that stands, and the newest life of the agent that took it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What was chosen.
    pub chosen: Chosen,
    /// The life; nothing if none took it yet.
    pub run: Option<RunId>,
}

/// What an agent made of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceFate<'a> {
    /// It took it.
    Taken,
    /// It refused it, in these words. A choice that it took before stands all the same.
    Refused(&'a str),
}

row! {
    struct ChoiceRow {
        setting: String,
        value: String,
        at: i64,
        run: Option<String>,
        actor: String,
        actor_kind: String,
        actor_name: String,
    }
}

impl TryFrom<ChoiceRow> for Choice {
    type Error = StoreError;

    fn try_from(row: ChoiceRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("choices", &row.setting, column);
        Ok(Self {
            chosen: Chosen {
                setting: serde_json::from_str(&row.setting).map_err(|_| corrupt("setting"))?,
                value: serde_json::from_str(&row.value).map_err(|_| corrupt("value"))?,
                by: Actor {
                    id: row.actor.parse().map_err(|_| corrupt("actor"))?,
                    kind: ActorKind::from_name(&row.actor_kind).ok_or_else(|| corrupt("actor"))?,
                    name: row.actor_name,
                },
                at: Timestamp::from_micros(row.at),
            },
            run: row
                .run
                .map(|run| run.parse())
                .transpose()
                .map_err(|_| corrupt("run"))?,
        })
    }
}

impl Store {
    /// Notes what an agent tells of a session; says whether that was news.
    pub async fn put_settings(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        told: &SessionSettings,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const PUT: &str = "INSERT INTO session_settings (session, told, changed_at) VALUES ($1, $2, $3) \
             ON CONFLICT (session) DO UPDATE SET told = excluded.told, changed_at = excluded.changed_at \
             WHERE session_settings.told <> excluded.told";
        let mut write = self.write(now).await?;
        let changed = on_tx!(&mut write.tx, |connection| {
            query(PUT)
                .bind(session.to_string())
                .bind(to_json(told))
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        if changed == 0 {
            return Ok(false);
        }
        write.event(workspace, EventBody::SettingsChanged { session });
        self.commit(write).await?;
        Ok(true)
    }

    /// What was told of a session last.
    pub async fn settings(
        &self,
        session: SessionId,
    ) -> Result<Option<SessionSettings>, StoreError> {
        const GET: &str = "SELECT told FROM session_settings WHERE session = $1";
        let row: Option<(String,)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(session.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(|(told,)| serde_json::from_str(&told))
            .transpose()
            .map_err(|_| StoreError::corrupt("session_settings", session, "told"))
    }

    /// Writes down that `by` chose `value` for a setting.
    pub async fn choose(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        (setting, value): (SettingName, SettingValue),
        by: &Actor,
        now: Timestamp,
    ) -> Result<Chosen, StoreError> {
        const ADD: &str = "INSERT INTO choices (session, setting, at, value, actor) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (session, setting, at) DO UPDATE SET \
             value = excluded.value, actor = excluded.actor, run = NULL, refused = NULL";
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(ADD)
                .bind(session.to_string())
                .bind(to_json(&setting))
                .bind(now.as_micros())
                .bind(to_json(&value))
                .bind(by.id.to_string())
                .execute(connection)
                .await?;
        });
        let detail = json!({ "setting": setting, "value": value });
        let who = name_in_audit(by);
        write.deed(workspace, &who, "session.set", session, detail);
        write.event(workspace, EventBody::SettingsChanged { session });
        self.commit(write).await?;
        Ok(Chosen {
            setting,
            value,
            by: by.clone(),
            at: now,
        })
    }

    /// The choices that stand for a session.
    pub async fn choices(&self, session: SessionId) -> Result<Vec<Choice>, StoreError> {
        const LIST: &str = "SELECT choices.setting, choices.value, choices.at, choices.run, choices.actor, \
             actors.kind AS actor_kind, actors.name AS actor_name \
             FROM choices JOIN actors ON actors.id = choices.actor \
             WHERE choices.session = $1 AND choices.refused IS NULL AND choices.at = (SELECT MAX(newer.at) \
             FROM choices AS newer WHERE newer.session = choices.session \
             AND newer.setting = choices.setting AND newer.refused IS NULL) ORDER BY choices.at";
        let rows: Vec<ChoiceRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(session.to_string())
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Choice::try_from).collect()
    }

    /// Notes what the agent, in its life `run`, made of a choice.
    pub async fn settle_choice(
        &self,
        workspace: WorkspaceId,
        session: SessionId,
        chosen: &Chosen,
        run: RunId,
        fate: ChoiceFate<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const TAKE: &str =
            "UPDATE choices SET run = $4 WHERE session = $1 AND setting = $2 AND at = $3";
        const REFUSE: &str = "UPDATE choices SET refused = $4 \
             WHERE session = $1 AND setting = $2 AND at = $3 AND run IS NULL";
        let (sql, value) = match fate {
            ChoiceFate::Taken => (TAKE, run.to_string()),
            // PostgreSQL takes no NUL in a text.
            ChoiceFate::Refused(words) => (REFUSE, words.replace('\0', "\u{fffd}")),
        };
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(sql)
                .bind(session.to_string())
                .bind(to_json(&chosen.setting))
                .bind(chosen.at.as_micros())
                .bind(value)
                .execute(connection)
                .await?;
        });
        if let ChoiceFate::Refused(words) = fate {
            let detail = json!({ "setting": chosen.setting, "value": chosen.value, "why": words });
            write.deed(
                workspace,
                COUNTERSIGN,
                "session.set_refused",
                session,
                detail,
            );
        }
        write.event(workspace, EventBody::SettingsChanged { session });
        self.commit(write).await
    }

    /// Who began a turn.
    pub async fn prompter(&self, turn: TurnId) -> Result<Option<Actor>, StoreError> {
        const GET: &str = "SELECT actors.id, actors.kind, actors.name \
             FROM turns JOIN actors ON actors.id = turns.actor WHERE turns.id = $1";
        let row: Option<(String, String, String)> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(turn.to_string())
                .fetch_optional(connection)
                .await?
        });
        let Some((id, kind, name)) = row else {
            return Ok(None);
        };
        let corrupt = |column| StoreError::corrupt("actors", &id, column);
        Ok(Some(Actor {
            id: id.parse().map_err(|_| corrupt("id"))?,
            kind: ActorKind::from_name(&kind).ok_or_else(|| corrupt("kind"))?,
            name,
        }))
    }
}
