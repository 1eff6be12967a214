//! Web Push: the server's key, and the paired browsers that want to be told. A device is its token: it goes with it.

use countersign_core::actor::Actor;
use countersign_core::grant::{Grant, Grants};
use countersign_core::id::{TokenId, WorkspaceId};
use countersign_core::notification::device_target;
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::{COUNTERSIGN, name_in_audit};

/// Where a paired browser wants to be told, as its push service and the browser itself said.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPushDevice {
    /// The browser's token.
    pub token: TokenId,
    /// The address at the push service. Whoever knows it can send there, so it is shown to nobody.
    pub endpoint: String,
    /// The browser's public key, in base 64.
    pub p256dh: String,
    /// The browser's secret, in base 64.
    pub auth: String,
}

/// A paired browser that is to be told, and may still be.
#[derive(Clone)]
pub struct PushDevice {
    /// Where.
    pub device: NewPushDevice,
    since: Timestamp,
    grants: Grants,
    workspace: Option<WorkspaceId>,
}

impl PushDevice {
    /// Whether it wanted to be told already when something happened, at `time`.
    pub fn was_there(&self, time: Timestamp) -> bool {
        self.since <= time
    }

    /// Whether its grants let it see what happens in `workspace`.
    pub fn sees(&self, workspace: WorkspaceId) -> bool {
        self.grants.contains(Grant::Read) && self.workspace.is_none_or(|only| only == workspace)
    }
}

row! {
    struct DeviceRow {
        token: String,
        endpoint: String,
        p256dh: String,
        auth: String,
        made_at: i64,
        grants: String,
        workspace: Option<String>,
    }
}

impl TryFrom<DeviceRow> for PushDevice {
    type Error = StoreError;

    fn try_from(row: DeviceRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("push_devices", &row.token, column);
        Ok(Self {
            since: Timestamp::from_micros(row.made_at),
            grants: row.grants.parse().map_err(|_| corrupt("grants"))?,
            workspace: row
                .workspace
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|_| corrupt("workspace"))?,
            device: NewPushDevice {
                token: row.token.parse().map_err(|_| corrupt("token"))?,
                endpoint: row.endpoint,
                p256dh: row.p256dh,
                auth: row.auth,
            },
        })
    }
}

impl Store {
    /// The secret by which push services know this server: the one that is kept, or `fresh` from now on.
    pub async fn push_secret(&self, fresh: &str, now: Timestamp) -> Result<String, StoreError> {
        const ADD: &str = "INSERT INTO push_keys (id, secret, made_at) VALUES (1, $1, $2) \
             ON CONFLICT (id) DO NOTHING";
        const GET: &str = "SELECT secret FROM push_keys WHERE id = 1";
        on_db!(&self.db, |connection| {
            query(ADD)
                .bind(fresh)
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        let (secret,): (String,) = on_db!(&self.db, |connection| {
            query(GET).fetch_one(connection).await?
        });
        Ok(secret)
    }

    /// The devices that are to be told and whose tokens are good at `now`: all of them, or the one with `token`.
    pub async fn push_devices(
        &self,
        token: Option<TokenId>,
        now: Timestamp,
    ) -> Result<Vec<PushDevice>, StoreError> {
        const LIST: &str = "SELECT push_devices.token, push_devices.endpoint, push_devices.p256dh, \
             push_devices.auth, push_devices.made_at, tokens.grants, tokens.workspace \
             FROM push_devices JOIN tokens ON tokens.id = push_devices.token \
             WHERE tokens.revoked_at IS NULL AND COALESCE(tokens.expires_at, $1 + 1) > $1 \
             AND push_devices.token = COALESCE($2, push_devices.token) ORDER BY push_devices.token";
        let rows: Vec<DeviceRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(now.as_micros())
                .bind(token.map(|token| token.to_string()))
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(PushDevice::try_from).collect()
    }

    /// Notes where a device wants to be told from now on, on behalf of `by`; `origin` is what the audit says of it. The
    /// same browser under an earlier token is told no more.
    pub async fn put_push_device(
        &self,
        device: &NewPushDevice,
        origin: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const EARLIER: &str =
            "DELETE FROM push_devices WHERE endpoint = $1 AND token <> $2 RETURNING token";
        const PUT: &str = "INSERT INTO push_devices (token, endpoint, p256dh, auth, made_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (token) DO UPDATE SET \
             endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth";
        let mut write = self.write(now).await?;
        let earlier: Vec<(String,)> = on_tx!(&mut write.tx, |connection| {
            query(EARLIER)
                .bind(&device.endpoint)
                .bind(device.token.to_string())
                .fetch_all(connection)
                .await?
        });
        for (token,) in earlier {
            let id = token
                .parse()
                .map_err(|_| StoreError::corrupt("push_devices", &token, "token"))?;
            forget_device(&mut write.tx, id).await?;
        }
        on_tx!(&mut write.tx, |connection| {
            query(PUT)
                .bind(device.token.to_string())
                .bind(&device.endpoint)
                .bind(&device.p256dh)
                .bind(&device.auth)
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        write.deed(
            WorkspaceId::SERVER,
            &name_in_audit(by),
            "push.subscribe",
            device.token,
            json!({ "at": origin }),
        );
        self.commit(write).await
    }

    /// Tells a device no more, on behalf of `by`, or because its push service does not know it any more. False if it was
    /// not told.
    pub async fn remove_push_device(
        &self,
        token: TokenId,
        by: Option<&Actor>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut write = self.write(now).await?;
        if !forget_device(&mut write.tx, token).await? {
            return Ok(false);
        }
        let by = by.map_or_else(|| COUNTERSIGN.to_owned(), name_in_audit);
        write.deed(
            WorkspaceId::SERVER,
            &by,
            "push.unsubscribe",
            token,
            json!({}),
        );
        self.commit(write).await?;
        Ok(true)
    }
}

/// Forgets a device and what waits for it; false if there was none.
pub(crate) async fn forget_device(tx: &mut Tx, token: TokenId) -> Result<bool, StoreError> {
    const DEVICE: &str = "DELETE FROM push_devices WHERE token = $1";
    const WAITING: &str = "DELETE FROM notifications WHERE target = $1 AND state = 'waiting'";
    let gone = on_tx!(tx, |connection| {
        query(DEVICE)
            .bind(token.to_string())
            .execute(connection)
            .await?
            .rows_affected()
    });
    on_tx!(tx, |connection| {
        query(WAITING)
            .bind(device_target(token))
            .execute(connection)
            .await?;
    });
    Ok(gone > 0)
}
