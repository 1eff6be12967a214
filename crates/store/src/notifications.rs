//! Notifications: written down with the cursor that says how far the events were looked through, claimed before they are
//! sent, and kept as dead letters when they are given up.

use countersign_core::actor::Actor;
use countersign_core::id::{NotificationId, WorkspaceId};
use countersign_core::notification::{
    Happening, Notification, NotificationState, Occasion, device_of,
};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::name_in_audit;

row! {
    struct NotificationRow {
        id: String,
        target: String,
        event: i64,
        at: i64,
        workspace: String,
        occasion: String,
        subject: String,
        session: Option<String>,
        state: String,
        attempts: i64,
        due_at: i64,
        tried_at: Option<i64>,
        ended_at: Option<i64>,
        problem: Option<String>,
        output: Option<String>,
    }
}

impl TryFrom<NotificationRow> for Notification {
    type Error = StoreError;

    fn try_from(row: NotificationRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("notifications", &row.id, column);
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            event: row.event,
            at: Timestamp::from_micros(row.at),
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            occasion: Occasion::from_name(&row.occasion).ok_or_else(|| corrupt("occasion"))?,
            session: row
                .session
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| corrupt("session"))?,
            state: NotificationState::from_name(&row.state).ok_or_else(|| corrupt("state"))?,
            attempts: u32::try_from(row.attempts).map_err(|_| corrupt("attempts"))?,
            due_at: Timestamp::from_micros(row.due_at),
            tried_at: row.tried_at.map(Timestamp::from_micros),
            ended_at: row.ended_at.map(Timestamp::from_micros),
            target: row.target,
            subject: row.subject,
            problem: row.problem,
            output: row.output,
        })
    }
}

macro_rules! select_notifications {
    ($rest:literal) => {
        concat!(
            "SELECT id, target, event, at, workspace, occasion, subject, session, state, attempts, due_at, ",
            "tried_at, ended_at, problem, output FROM notifications ",
            $rest
        )
    };
}

/// What one target is to be told.
#[derive(Debug, Clone)]
pub struct Happened {
    /// The target's name.
    pub target: String,
    /// The number of the event.
    pub event: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Where it happened.
    pub workspace: WorkspaceId,
    /// What happened.
    pub happening: Happening,
}

/// Which notifications are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct NotificationFilter {
    /// Only those that stand so.
    pub state: Option<NotificationState>,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceId>,
}

impl Store {
    /// Writes down what targets are to be told of the events up to `seq`, and that `consumer` has come so far: both or
    /// neither. What is known already is not written twice.
    pub async fn add_notifications(
        &self,
        consumer: &str,
        seq: i64,
        happened: &[Happened],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const ADD: &str = "INSERT INTO notifications \
             (id, target, event, at, workspace, occasion, subject, session, state, attempts, due_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', 0, $9) \
             ON CONFLICT (event, target) DO NOTHING";
        const MOVE: &str = "INSERT INTO cursors (consumer, seq) VALUES ($1, $2) \
             ON CONFLICT (consumer) DO UPDATE SET seq = excluded.seq WHERE cursors.seq < excluded.seq";
        let mut write = self.write(now).await?;
        for new in happened {
            on_tx!(&mut write.tx, |connection| {
                query(ADD)
                    .bind(NotificationId::generate(now).to_string())
                    .bind(&new.target)
                    .bind(new.event)
                    .bind(new.at.as_micros())
                    .bind(new.workspace.to_string())
                    .bind(new.happening.occasion.name())
                    .bind(&new.happening.subject)
                    .bind(new.happening.session.map(|session| session.to_string()))
                    .bind(now.as_micros())
                    .execute(connection)
                    .await?;
            });
        }
        on_tx!(&mut write.tx, |connection| {
            query(MOVE)
                .bind(consumer)
                .bind(seq)
                .execute(connection)
                .await?;
        });
        self.commit(write).await
    }

    /// Forgets where `consumer` was: the next time it begins with what happens then.
    pub async fn forget_cursor(&self, consumer: &str) -> Result<(), StoreError> {
        const FORGET: &str = "DELETE FROM cursors WHERE consumer = $1";
        on_db!(&self.db, |connection| {
            query(FORGET).bind(consumer).execute(connection).await?;
        });
        Ok(())
    }

    /// What `target` is to be told next, due or not.
    pub async fn next_notification(
        &self,
        target: &str,
    ) -> Result<Option<Notification>, StoreError> {
        const NEXT: &str = select_notifications!(
            "WHERE target = $1 AND state = 'waiting' ORDER BY due_at, event LIMIT 1"
        );
        let row: Option<NotificationRow> = on_db!(&self.db, |connection| {
            query(NEXT).bind(target).fetch_optional(connection).await?
        });
        row.map(Notification::try_from).transpose()
    }

    /// Notes, before anything is sent, that an attempt begins: the one after `attempts` others. False if somebody else
    /// began it, or it is over. If nothing is heard of this attempt, the next one is due at `retry_at`.
    pub async fn begin_notifying(
        &self,
        id: NotificationId,
        attempts: u32,
        retry_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const BEGIN: &str = "UPDATE notifications SET attempts = attempts + 1, tried_at = $3, due_at = $4 \
             WHERE id = $1 AND attempts = $2 AND state = 'waiting'";
        let begun = on_db!(&self.db, |connection| {
            query(BEGIN)
                .bind(id.to_string())
                .bind(i64::from(attempts))
                .bind(now.as_micros())
                .bind(retry_at.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(begun == 1)
    }

    /// Notes that the target took it.
    pub async fn mark_notified(
        &self,
        id: NotificationId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const SENT: &str = "UPDATE notifications SET state = 'sent', ended_at = $2, problem = NULL, output = NULL \
             WHERE id = $1 AND state = 'waiting'";
        let sent = on_db!(&self.db, |connection| {
            query(SENT)
                .bind(id.to_string())
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(sent == 1)
    }

    /// Notes why an attempt failed, and when the next one is due.
    pub async fn postpone_notification(
        &self,
        id: NotificationId,
        retry_at: Timestamp,
        problem: &str,
        output: Option<&str>,
    ) -> Result<(), StoreError> {
        const POSTPONE: &str = "UPDATE notifications SET due_at = $2, problem = $3, output = $4 \
             WHERE id = $1 AND state = 'waiting'";
        on_db!(&self.db, |connection| {
            query(POSTPONE)
                .bind(id.to_string())
                .bind(retry_at.as_micros())
                .bind(problem)
                .bind(output)
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Takes back an attempt that was broken off, as if it had not been begun: it is due at once.
    pub async fn take_back_attempt(
        &self,
        id: NotificationId,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const BACK: &str = "UPDATE notifications SET attempts = attempts - 1, due_at = $2 \
             WHERE id = $1 AND state = 'waiting' AND attempts > 0";
        on_db!(&self.db, |connection| {
            query(BACK)
                .bind(id.to_string())
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        Ok(())
    }

    /// Gives a notification up, for this reason: it is a dead letter from now on.
    pub async fn bury_notification(
        &self,
        id: NotificationId,
        problem: &str,
        output: Option<&str>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const BURY: &str = "UPDATE notifications SET state = 'dead', ended_at = $2, problem = $3, output = $4 \
             WHERE id = $1 AND state = 'waiting'";
        let buried = on_db!(&self.db, |connection| {
            query(BURY)
                .bind(id.to_string())
                .bind(now.as_micros())
                .bind(problem)
                .bind(output)
                .execute(connection)
                .await?
                .rows_affected()
        });
        Ok(buried == 1)
    }

    /// Forgets a notification that waits: what it tells of is over, or whoever was to be told is gone.
    pub async fn drop_notification(&self, id: NotificationId) -> Result<(), StoreError> {
        const DROP: &str = "DELETE FROM notifications WHERE id = $1 AND state = 'waiting'";
        on_db!(&self.db, |connection| {
            query(DROP).bind(id.to_string()).execute(connection).await?;
        });
        Ok(())
    }

    /// The targets that something waits for.
    pub async fn waiting_targets(&self) -> Result<Vec<String>, StoreError> {
        const TARGETS: &str = "SELECT DISTINCT target FROM notifications WHERE state = 'waiting'";
        let targets: Vec<(String,)> = on_db!(&self.db, |connection| {
            query(TARGETS).fetch_all(connection).await?
        });
        Ok(targets.into_iter().map(|(target,)| target).collect())
    }

    /// Gives up what waits for targets that are not among `known` and no devices, and returns how many notifications that was.
    pub async fn bury_strays(&self, known: &[&str], now: Timestamp) -> Result<u64, StoreError> {
        const TARGETS: &str = "SELECT DISTINCT target FROM notifications WHERE state = 'waiting'";
        const BURY: &str = "UPDATE notifications SET state = 'dead', ended_at = $2, problem = $3 \
             WHERE target = $1 AND state = 'waiting'";
        let mut write = self.write(now).await?;
        let targets: Vec<(String,)> = on_tx!(&mut write.tx, |connection| {
            query(TARGETS).fetch_all(connection).await?
        });
        let mut buried = 0;
        for (target,) in targets {
            // What waits for a device goes with the device.
            if known.contains(&target.as_str()) || device_of(&target).is_some() {
                continue;
            }
            buried += on_tx!(&mut write.tx, |connection| {
                query(BURY)
                    .bind(&target)
                    .bind(now.as_micros())
                    .bind("the configuration has no such target any more")
                    .execute(connection)
                    .await?
                    .rows_affected()
            });
        }
        self.commit(write).await?;
        Ok(buried)
    }

    /// The newest notifications, newest first.
    pub async fn notifications(
        &self,
        filter: NotificationFilter,
        limit: i64,
    ) -> Result<Vec<Notification>, StoreError> {
        const LIST: &str = select_notifications!(
            "WHERE state = COALESCE($1, state) AND workspace = COALESCE($2, workspace) \
             ORDER BY event DESC, target LIMIT $3"
        );
        let rows: Vec<NotificationRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(filter.state.map(NotificationState::name))
                .bind(filter.workspace.map(|workspace| workspace.to_string()))
                .bind(limit)
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Notification::try_from).collect()
    }

    /// The notification called `id`.
    pub async fn notification(
        &self,
        id: NotificationId,
    ) -> Result<Option<Notification>, StoreError> {
        const GET: &str = select_notifications!("WHERE id = $1");
        let row: Option<NotificationRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Notification::try_from).transpose()
    }

    /// Puts a dead letter back into its target's queue, with all its tries. False if it is none, or no longer.
    pub async fn retry_notification(
        &self,
        id: NotificationId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const RETRY: &str = "UPDATE notifications SET state = 'waiting', attempts = 0, due_at = $2, \
             ended_at = NULL WHERE id = $1 AND state = 'dead' RETURNING workspace, target";
        let mut write = self.write(now).await?;
        let row: Option<(String, String)> = on_tx!(&mut write.tx, |connection| {
            query(RETRY)
                .bind(id.to_string())
                .bind(now.as_micros())
                .fetch_optional(connection)
                .await?
        });
        let Some((workspace, target)) = row else {
            return Ok(false);
        };
        let workspace = workspace
            .parse()
            .map_err(|_| StoreError::corrupt("notifications", id, "workspace"))?;
        write.deed(
            workspace,
            &name_in_audit(by),
            "notification.retry",
            id,
            json!({ "target": target }),
        );
        self.commit(write).await?;
        Ok(true)
    }

    /// Forgets what was sent before `sent`, and the dead letters from before `dead`; returns how many.
    pub async fn forget_notifications(
        &self,
        sent: Timestamp,
        dead: Timestamp,
    ) -> Result<u64, StoreError> {
        const FORGET: &str = "DELETE FROM notifications WHERE (state = 'sent' AND ended_at < $1) \
             OR (state = 'dead' AND ended_at < $2)";
        Ok(on_db!(&self.db, |connection| {
            query(FORGET)
                .bind(sent.as_micros())
                .bind(dead.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        }))
    }
}
