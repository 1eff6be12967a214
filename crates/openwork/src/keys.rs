//! Who calls: the client, the host, or the holder of a token that was given out; and how each is named in records.

use countersign_broker::Broker;
use countersign_core::actor::{Actor, Surface};
use countersign_core::digest::Digest;
use countersign_core::grant::{Caller as Granted, Grants, Role};
use countersign_core::token::TokenKind;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};
use serde_json::json;
use subtle::ConstantTimeEq as _;

use crate::compat::Compat;
use crate::refusal::Refusal;
use crate::settings::Settings;

const HOST_TOKEN: &str = "x-openwork-host-token";
const CLIENT_ID: &str = "x-openwork-client-id";

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Read.
    Viewer,
    /// Read, write with approval, and answer engines' asks.
    Collaborator,
    /// Everything.
    Owner,
}

impl Scope {
    /// The scope that has this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::Viewer, Self::Collaborator, Self::Owner]
            .into_iter()
            .find(|scope| scope.name() == name)
    }

    /// The widest scope that `grants` cover.
    pub(crate) fn of(grants: &Grants) -> Option<Self> {
        let covers = |role: Role| role.grants().iter().all(|grant| grants.contains(grant));
        [Self::Owner, Self::Collaborator, Self::Viewer]
            .into_iter()
            .find(|scope| covers(scope.role()))
    }

    /// What the ledger calls it.
    pub(crate) const fn role(self) -> Role {
        match self {
            Self::Viewer => Role::Viewer,
            Self::Collaborator => Role::Collaborator,
            Self::Owner => Role::Owner,
        }
    }

    /// The scope's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Collaborator => "collaborator",
            Self::Owner => "owner",
        }
    }
}

/// How a caller is named on the wire and in the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireActor {
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    token_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
}

impl WireActor {
    /// The same with its scope said.
    pub(crate) fn with_scope(&self, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self.clone()
        }
    }
}

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// How it is named on the wire.
    pub(crate) wire: WireActor,
    /// Who it is in the ledger.
    pub(crate) actor: Actor,
    /// What it may do.
    pub(crate) scope: Scope,
}

/// The secrets that let somebody in.
pub(crate) struct Keys {
    broker: Broker,
    compat: Compat,
    client: Key,
    host: Key,
}

struct Key {
    digest: Digest,
    /// The digest as it is written on the wire.
    hash: String,
    actor: Actor,
}

impl Keys {
    pub(crate) fn new(broker: Broker, settings: &Settings, client: Actor, host: Actor) -> Self {
        Self {
            broker,
            compat: settings.compat,
            client: Key::new(&settings.client_token.value, client),
            host: Key::new(&settings.host_token.value, host),
        }
    }

    /// Lets a client in: with the client token, or with one that was given out.
    pub(crate) async fn client(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        if let Some(caller) = self.known_client(headers) {
            return Ok(caller);
        }
        let issued = self.issued(headers).await?;
        issued.ok_or_else(|| unauthorized("Invalid bearer token"))
    }

    /// Lets the host in: with the host token, or with a token of an owner.
    pub(crate) async fn host(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        if let Ok(caller) = self.host_token(headers) {
            return Ok(caller);
        }
        let issued = self.issued(headers).await?;
        issued
            .filter(|caller| caller.scope == Scope::Owner)
            .ok_or_else(|| unauthorized("Invalid host token"))
    }

    /// Whoever holds a token that was given out and is still good.
    async fn issued(&self, headers: &HeaderMap) -> Result<Option<Caller>, Refusal> {
        let Some(secret) = bearer(headers) else {
            return Ok(None);
        };
        let admitted = self.broker.admit(secret, TokenKind::Bearer, Surface::Api);
        let Some(admission) = Box::pin(admitted).await? else {
            return Ok(None);
        };
        // A token for one workspace alone is for Countersign's own API, which knows such limits.
        let scope =
            Scope::of(admission.caller.grants()).filter(|_| admission.caller.workspace().is_none());
        Ok(scope.map(|scope| {
            let key = Key::new(secret, admission.caller.actor().clone());
            self.caller(&key, "remote", scope, headers)
        }))
    }

    /// What whoever shows the client token may do, which takes no look at the ledger.
    pub(crate) fn known_scope(&self, headers: &HeaderMap) -> Option<Scope> {
        let digest = Digest::of_bytes(bearer(headers)?.as_bytes());
        self.client.opens(&digest).then_some(Scope::Collaborator)
    }

    fn known_client(&self, headers: &HeaderMap) -> Option<Caller> {
        let scope = self.known_scope(headers)?;
        Some(self.caller(&self.client, "remote", scope, headers))
    }

    /// Lets in whoever shows the host token.
    pub(crate) fn host_token(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let shown = headers
            .get(HOST_TOKEN)
            .map(|secret| Digest::of_bytes(secret.as_bytes()));
        match shown {
            Some(digest) if self.host.opens(&digest) => {
                Ok(self.caller(&self.host, "host", Scope::Owner, &HeaderMap::new()))
            }
            Some(_) | None => Err(unauthorized("Invalid host token")),
        }
    }

    fn caller(&self, key: &Key, kind: &str, scope: Scope, headers: &HeaderMap) -> Caller {
        let client_id = headers.get(CLIENT_ID).and_then(|id| id.to_str().ok());
        Caller {
            wire: WireActor {
                kind: kind.to_owned(),
                client_id: client_id.filter(|id| !id.is_empty()).map(str::to_owned),
                token_hash: key.hash.clone(),
                scope: self.compat.is_scoped().then_some(scope),
            },
            actor: key.actor.clone(),
            scope,
        }
    }
}

impl Key {
    fn new(secret: &str, actor: Actor) -> Self {
        let digest = Digest::of_bytes(secret.as_bytes());
        Self {
            hash: digest.to_string(),
            digest,
            actor,
        }
    }

    fn opens(&self, digest: &Digest) -> bool {
        self.digest.as_bytes().ct_eq(digest.as_bytes()).into()
    }
}

impl Caller {
    /// The caller as the ledger knows it, with what it may do there.
    pub(crate) fn granted(&self) -> Granted {
        let grants = self.scope.role().grants();
        Granted::new(self.actor.clone(), grants, None, Surface::Api)
    }

    /// What tells its token from others.
    pub(crate) fn token_hash(&self) -> &str {
        &self.wire.token_hash
    }

    /// Fails unless the caller may do what takes `needed`.
    pub(crate) fn require(&self, needed: Scope) -> Result<(), Refusal> {
        if self.scope >= needed {
            return Ok(());
        }
        let details = json!({ "required": needed.name(), "scope": self.scope.name() });
        Err(Refusal::new(403, "forbidden", "Insufficient token scope").with_details(details))
    }
}

fn unauthorized(message: &'static str) -> Refusal {
    Refusal::new(401, "unauthorized", message)
}

/// The secret behind `Bearer`, in whatever letters that is written.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let secret = rest.trim_start();
    let is_apart = secret.len() < rest.len();
    (scheme.eq_ignore_ascii_case("Bearer") && is_apart && !secret.is_empty()).then_some(secret)
}
