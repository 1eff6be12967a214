//! Actors, their tokens, and the one-time codes that browsers pair with. Secrets are here as hashes only.

mod known;

pub(crate) use known::KnownTokens;

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::digest::Digest;
use countersign_core::grant::{Grants, Role};
use countersign_core::id::{ActorId, TokenId, WorkspaceId};
use countersign_core::time::Timestamp;
use countersign_core::token::{Token, TokenKind};
use serde_json::json;

use crate::Store;
use crate::database::{Db, Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::push::forget_device;
use crate::sql::query;
use crate::write::name_in_audit;

/// A token that is to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The hash of its secret.
    pub hash: Digest,
    /// What people call it, and whoever acts with it.
    pub name: String,
    /// What holds it.
    pub kind: TokenKind,
    /// What kind of actor acts with it.
    pub actor_kind: ActorKind,
    /// What it may do.
    pub grants: Grants,
    /// The one workspace it is for.
    pub workspace: Option<WorkspaceId>,
    /// What it is used on, as far as that is known.
    pub device: Option<String>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
}

/// A one-time code that is to be made.
#[derive(Debug, Clone)]
pub struct Pairing {
    /// The hash of the code.
    pub hash: Digest,
    /// What people call whoever uses it.
    pub name: String,
    /// What the browser will be allowed to do.
    pub role: Role,
    /// The one workspace it is for.
    pub workspace: Option<WorkspaceId>,
    /// When it stops working.
    pub expires_at: Timestamp,
}

row! {
    struct TokenRow {
        id: String,
        name: String,
        kind: String,
        actor: String,
        actor_kind: String,
        actor_name: String,
        grants: String,
        workspace: Option<String>,
        device: Option<String>,
        made_at: i64,
        expires_at: Option<i64>,
        revoked_at: Option<i64>,
        seen_at: Option<i64>,
    }
}

impl TryFrom<TokenRow> for Token {
    type Error = StoreError;

    fn try_from(row: TokenRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("tokens", &row.id, column);
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            kind: TokenKind::from_name(&row.kind).ok_or_else(|| corrupt("kind"))?,
            actor: Actor {
                id: row.actor.parse().map_err(|_| corrupt("actor"))?,
                kind: ActorKind::from_name(&row.actor_kind).ok_or_else(|| corrupt("actor"))?,
                name: row.actor_name,
            },
            grants: row.grants.parse().map_err(|_| corrupt("grants"))?,
            workspace: read_workspace("tokens", &row.id, row.workspace.clone())?,
            name: row.name,
            device: row.device,
            made_at: Timestamp::from_micros(row.made_at),
            expires_at: row.expires_at.map(Timestamp::from_micros),
            revoked_at: row.revoked_at.map(Timestamp::from_micros),
            seen_at: row.seen_at.map(Timestamp::from_micros),
        })
    }
}

/// The workspace that a row of `table` is limited to.
fn read_workspace(
    table: &'static str,
    row: &str,
    workspace: Option<String>,
) -> Result<Option<WorkspaceId>, StoreError> {
    let read = workspace.map(|id| id.parse()).transpose();
    read.map_err(|_| StoreError::corrupt(table, row, "workspace"))
}

/// The columns of [`TokenRow`]; what follows chooses the rows.
macro_rules! select_tokens {
    ($rest:literal) => {
        concat!(
            "SELECT tokens.id, tokens.name, tokens.kind, tokens.actor, actors.kind AS actor_kind, ",
            "actors.name AS actor_name, tokens.grants, tokens.workspace, tokens.device, ",
            "tokens.made_at, tokens.expires_at, tokens.revoked_at, tokens.seen_at ",
            "FROM tokens JOIN actors ON actors.id = tokens.actor ",
            $rest
        )
    };
}

/// The actor of that kind and name, made if there is none.
pub(crate) async fn ensure_actor(
    tx: &mut Tx,
    kind: ActorKind,
    name: &str,
    now: Timestamp,
) -> Result<Actor, StoreError> {
    const ADD: &str = "INSERT INTO actors (id, kind, name, made_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (kind, name) DO NOTHING";
    const GET: &str = "SELECT id FROM actors WHERE kind = $1 AND name = $2";

    on_tx!(tx, |connection| {
        query(ADD)
            .bind(ActorId::generate(now).to_string())
            .bind(kind.name())
            .bind(name)
            .bind(now.as_micros())
            .execute(connection)
            .await?;
    });
    let (id,): (String,) = on_tx!(tx, |connection| {
        query(GET)
            .bind(kind.name())
            .bind(name)
            .fetch_one(connection)
            .await?
    });
    let id = id
        .parse()
        .map_err(|_| StoreError::corrupt("actors", &id, "id"))?;
    Ok(Actor {
        id,
        kind,
        name: name.to_owned(),
    })
}

async fn insert_token(tx: &mut Tx, token: NewToken, now: Timestamp) -> Result<Token, StoreError> {
    const ADD: &str = "INSERT INTO tokens \
         (id, hash, name, kind, actor, grants, workspace, made_at, expires_at, device) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

    let actor = ensure_actor(tx, token.actor_kind, &token.name, now).await?;
    let made = Token {
        id: TokenId::generate(now),
        name: token.name,
        kind: token.kind,
        actor,
        grants: token.grants,
        workspace: token.workspace,
        device: token.device,
        made_at: now,
        expires_at: token.expires_at,
        revoked_at: None,
        seen_at: None,
    };
    on_tx!(tx, |connection| {
        query(ADD)
            .bind(made.id.to_string())
            .bind(token.hash.to_string())
            .bind(&made.name)
            .bind(made.kind.name())
            .bind(made.actor.id.to_string())
            .bind(made.grants.to_string())
            .bind(made.workspace.map(|id| id.to_string()))
            .bind(now.as_micros())
            .bind(made.expires_at.map(Timestamp::as_micros))
            .bind(&made.device)
            .execute(connection)
            .await?;
    });
    Ok(made)
}

impl Store {
    /// The actor of that kind and name, made if there is none.
    pub async fn actor(
        &self,
        kind: ActorKind,
        name: &str,
        now: Timestamp,
    ) -> Result<Actor, StoreError> {
        let mut write = self.write(now).await?;
        let actor = ensure_actor(&mut write.tx, kind, name, now).await?;
        self.commit(write).await?;
        Ok(actor)
    }

    /// Makes a token, on behalf of `by`.
    pub async fn add_token(
        &self,
        token: NewToken,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Token, StoreError> {
        let mut write = self.write(now).await?;
        let made = insert_token(&mut write.tx, token, now).await?;
        write.deed(
            made.workspace.unwrap_or(WorkspaceId::SERVER),
            &name_in_audit(by),
            "token.make",
            made.id,
            json!({ "name": made.name, "grants": made.grants, "expires_at": made.expires_at }),
        );
        self.commit(write).await?;
        Ok(made)
    }

    /// The token whose secret has this hash, whether or not it is still good.
    pub async fn token_by_hash(&self, hash: &Digest) -> Result<Option<Token>, StoreError> {
        let look_up = match &self.db {
            Db::Sqlite(_) => match self.tokens.find(hash) {
                Ok(token) => return Ok(Some(token)),
                Err(look_up) => Some(look_up),
            },
            Db::Postgres(_) => None,
        };
        let token = self.read_token(hash).await?;
        if let (Some(look_up), Some(token)) = (look_up, &token) {
            self.tokens.remember(look_up, hash, token);
        }
        Ok(token)
    }

    async fn read_token(&self, hash: &Digest) -> Result<Option<Token>, StoreError> {
        const GET: &str = select_tokens!("WHERE tokens.hash = $1");
        let row: Option<TokenRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(hash.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Token::try_from).transpose()
    }

    /// The token with this id, whether or not it is still good.
    pub async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        const GET: &str = select_tokens!("WHERE tokens.id = $1");
        let row: Option<TokenRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Token::try_from).transpose()
    }

    /// Every token, newest first.
    pub async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        const LIST: &str = select_tokens!("ORDER BY tokens.id DESC");
        let rows: Vec<TokenRow> = on_db!(&self.db, |connection| query(LIST)
            .fetch_all(connection)
            .await?);
        rows.into_iter().map(Token::try_from).collect()
    }

    /// Notes when tokens were last used. It is no deed and nobody is told of it.
    pub async fn note_seen(&self, seen: &[(TokenId, Timestamp)]) -> Result<(), StoreError> {
        const NOTE: &str = "UPDATE tokens SET seen_at = $2 \
             WHERE id = $1 AND (seen_at IS NULL OR seen_at < $2)";
        let mut tx = self.db.begin().await?;
        for (id, at) in seen {
            on_tx!(&mut tx, |connection| {
                query(NOTE)
                    .bind(id.to_string())
                    .bind(at.as_micros())
                    .execute(connection)
                    .await?;
            });
        }
        tx.commit().await
    }

    /// Takes a token back, on behalf of `by`; false if there is none that could be.
    pub async fn revoke_token(
        &self,
        id: TokenId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const REVOKE: &str = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL \
             RETURNING workspace";
        let mut write = self.write(now).await?;
        let revoked: Option<(Option<String>,)> = on_tx!(&mut write.tx, |connection| {
            query(REVOKE)
                .bind(id.to_string())
                .bind(now.as_micros())
                .fetch_optional(connection)
                .await?
        });
        let Some((workspace,)) = revoked else {
            return Ok(false);
        };
        let workspace = read_workspace("tokens", &id.to_string(), workspace)?;
        forget_device(&mut write.tx, id).await?;
        write.deed(
            workspace.unwrap_or(WorkspaceId::SERVER),
            &name_in_audit(by),
            "token.revoke",
            id,
            json!({}),
        );
        let committed = self.commit(write).await;
        // Also if that failed: it may have been committed all the same.
        self.tokens.forget();
        committed?;
        Ok(true)
    }

    /// Makes a one-time code, on behalf of `by`.
    pub async fn add_pairing(
        &self,
        pairing: &Pairing,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const ADD: &str = "INSERT INTO pairings (hash, name, role, expires_at, workspace) VALUES ($1, $2, $3, $4, $5)";
        const FORGET: &str = "DELETE FROM pairings WHERE expires_at < $1";
        let mut write = self.write(now).await?;
        on_tx!(&mut write.tx, |connection| {
            query(FORGET)
                .bind(now.as_micros())
                .execute(connection)
                .await?;
        });
        on_tx!(&mut write.tx, |connection| {
            query(ADD)
                .bind(pairing.hash.to_string())
                .bind(&pairing.name)
                .bind(pairing.role.name())
                .bind(pairing.expires_at.as_micros())
                .bind(pairing.workspace.map(|id| id.to_string()))
                .execute(connection)
                .await?;
        });
        write.deed(
            pairing.workspace.unwrap_or(WorkspaceId::SERVER),
            &name_in_audit(by),
            "pairing.make",
            &pairing.name,
            json!({ "role": pairing.role }),
        );
        self.commit(write).await
    }

    /// Uses up the code with the hash `code` and makes the browser's token of it; nothing if the code is
    /// unknown, used or too old.
    pub async fn use_pairing(
        &self,
        code: &Digest,
        secret: Digest,
        device: Option<String>,
        token_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Token>, StoreError> {
        const USE: &str = "UPDATE pairings SET used_at = $2 \
             WHERE hash = $1 AND used_at IS NULL AND expires_at > $2 \
             RETURNING name, role, workspace";
        let mut write = self.write(now).await?;
        let used: Option<(String, String, Option<String>)> = on_tx!(&mut write.tx, |connection| {
            query(USE)
                .bind(code.to_string())
                .bind(now.as_micros())
                .fetch_optional(connection)
                .await?
        });
        let Some((name, role, workspace)) = used else {
            return Ok(None);
        };
        let role: Role = role
            .parse()
            .map_err(|_| StoreError::corrupt("pairings", code, "role"))?;
        let workspace = read_workspace("pairings", &code.to_string(), workspace)?;
        let token = NewToken {
            hash: secret,
            name,
            kind: TokenKind::Browser,
            actor_kind: role.actor_kind(),
            grants: role.grants(),
            workspace,
            device,
            expires_at: Some(token_expires_at),
        };
        let made = insert_token(&mut write.tx, token, now).await?;
        write.deed(
            made.workspace.unwrap_or(WorkspaceId::SERVER),
            &name_in_audit(&made.actor),
            "pairing.use",
            made.id,
            json!({ "role": role, "device": made.device }),
        );
        self.commit(write).await?;
        Ok(Some(made))
    }
}
