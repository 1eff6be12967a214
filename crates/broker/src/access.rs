//! Who gets in: tokens, paired browsers, and the person at this machine.
//!
//! A secret is at least 256 random bits. What is kept of it is its SHA-256, and it is looked up by that: the time a
//! look-up takes tells about the hash, from which nothing leads back to the secret.

use std::time::Duration;

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::digest::Digest;
use countersign_core::grant::{Caller, Grant, Role};
use countersign_core::id::{TokenId, WorkspaceId};
use countersign_core::time::Timestamp;
use countersign_core::token::{Token, TokenKind};
use countersign_store::{NewToken, Pairing, StoreError};
use rand::RngExt as _;

use crate::Broker;
use crate::error::BrokerError;

/// How long a token lives if nothing is said.
const TOKEN_LIFE: Duration = Duration::from_hours(90 * 24);
/// The longest life of a token that can be asked for.
const LONGEST_LIFE: Duration = Duration::from_hours(10 * 366 * 24);
/// How long a one-time code can be used.
const CODE_LIFE: Duration = Duration::from_mins(5);
/// The longest name of a token.
const NAME_LIMIT: usize = 80;

/// A caller that was let in, and the token it came with.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Who calls, and what it may do.
    pub caller: Caller,
    /// The token.
    pub token: Token,
}

/// A browser's secret, in two halves of which neither opens anything.
///
/// A browser sends a cookie to every port of a host, so that another server there, an agent's among them,
/// gets to see it. What a page keeps for itself it keeps by port; but a script in the page could read it,
/// as it cannot read the cookie.
#[derive(Clone)]
pub struct BrowserSecret {
    /// What is in the cookie.
    pub cookie: String,
    /// What the page keeps and sends in a header.
    pub page: String,
}

impl BrowserSecret {
    /// The secret whose hash is kept.
    pub fn whole(&self) -> String {
        format!("{}.{}", self.cookie, self.page)
    }
}

/// A token that somebody wishes for.
#[derive(Debug, Clone)]
pub struct NewTokenWish {
    /// What people will call it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one workspace it is for.
    pub workspace: Option<WorkspaceId>,
    /// How long it lives.
    pub life: Option<Duration>,
}

/// A browser that somebody wishes to let in.
#[derive(Debug, Clone)]
pub struct PairingWish {
    /// What people will call whoever uses it.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one workspace it is for.
    pub workspace: Option<WorkspaceId>,
}

impl Broker {
    /// Lets in whoever holds `secret`, if it is a good token of that kind.
    pub async fn admit(
        &self,
        secret: &str,
        kind: TokenKind,
        surface: Surface,
    ) -> Result<Option<Admission>, StoreError> {
        let token = self
            .store
            .token_by_hash(&Digest::of_bytes(secret.as_bytes()))
            .await?;
        let now = self.clock.now();
        let Some(token) = token.filter(|token| token.kind == kind && token.is_active(now)) else {
            return Ok(None);
        };
        self.sightings.note(token.id, now);
        Ok(Some(Admission {
            caller: Caller::new(
                token.actor.clone(),
                token.grants.clone(),
                token.workspace,
                surface,
            ),
            token,
        }))
    }

    /// Notes that somebody is there with these tokens, who sends nothing and listens.
    pub fn note_present(&self, tokens: &[TokenId]) {
        let now = self.clock.now();
        for token in tokens {
            self.sightings.note(*token, now);
        }
    }

    /// The person at this machine: whoever may open our data directory, and is no agent.
    pub fn local_owner(&self) -> Caller {
        Caller::new(self.owner.clone(), Role::Owner.grants(), None, Surface::Cli)
    }

    /// A proxy at this machine that came without a token: an agent, which can hand asks in and nothing else.
    pub fn local_proxy(&self) -> Caller {
        let actor = self.local_proxy.clone();
        Caller::new(actor, Role::Agent.grants(), None, Surface::Api)
    }

    /// Makes a token and returns its secret, which is shown this once. Whoever is limited to one workspace makes tokens
    /// for that one alone.
    pub async fn make_token(
        &self,
        caller: &Caller,
        wish: NewTokenWish,
    ) -> Result<(Token, String), BrokerError> {
        caller.require(Grant::Administer)?;
        let workspace = caller.reach(wish.workspace)?;
        let now = self.clock.now();
        let name = checked_name(wish.name)?;
        let life = wish.life.unwrap_or(TOKEN_LIFE);
        if life.is_zero() || life > LONGEST_LIFE {
            return Err(BrokerError::Invalid {
                field: "expires_in_s",
                problem: "must be at least one second and at most ten years".to_owned(),
            });
        }
        if let Some(workspace) = workspace {
            self.supervisor(workspace)?;
        }
        let secret = format!("cs_{}", random_digits());
        let token = NewToken {
            hash: Digest::of_bytes(secret.as_bytes()),
            name,
            kind: TokenKind::Bearer,
            actor_kind: wish.role.actor_kind(),
            grants: wish.role.grants(),
            workspace,
            device: None,
            expires_at: Some(now.after(life)),
        };
        let token = self.store.add_token(token, caller.actor(), now).await?;
        Ok((token, secret))
    }

    /// Takes up a token for the whole server that is to be valid until it is taken back, and whose secret the caller's surface made: at least
    /// 128 random bits.
    pub async fn take_up_token(
        &self,
        caller: &Caller,
        name: String,
        role: Role,
        secret: &str,
    ) -> Result<Token, BrokerError> {
        caller.require_everywhere(Grant::Administer)?;
        let token = NewToken {
            hash: Digest::of_bytes(secret.as_bytes()),
            name: checked_name(name)?,
            kind: TokenKind::Bearer,
            actor_kind: role.actor_kind(),
            grants: role.grants(),
            workspace: None,
            device: None,
            expires_at: None,
        };
        let now = self.clock.now();
        Ok(self.store.add_token(token, caller.actor(), now).await?)
    }

    /// Every token within the caller's limits, without its secret.
    pub async fn tokens(&self, caller: &Caller) -> Result<Vec<Token>, BrokerError> {
        caller.require(Grant::Administer)?;
        let mut tokens = self.store.tokens().await?;
        tokens.retain(|token| caller.covers(token.workspace));
        for token in &mut tokens {
            token.seen_at = token.seen_at.max(self.sightings.of(token.id));
        }
        Ok(tokens)
    }

    /// Takes a token back.
    pub async fn revoke_token(&self, caller: &Caller, id: TokenId) -> Result<(), BrokerError> {
        caller.require(Grant::Administer)?;
        let missing = || BrokerError::missing("token", id);
        let token = self.store.token(id).await?;
        // What a caller may not see does not exist for it.
        token
            .filter(|token| caller.covers(token.workspace))
            .ok_or_else(missing)?;
        let now = self.clock.now();
        if !self.store.revoke_token(id, caller.actor(), now).await? {
            return Err(missing());
        }
        Ok(())
    }

    /// Gives a browser's own token back.
    pub async fn sign_out(&self, admission: &Admission) -> Result<(), BrokerError> {
        let token = admission.token.id;
        self.store
            .revoke_token(token, admission.caller.actor(), self.clock.now())
            .await?;
        Ok(())
    }

    /// Makes a one-time code with which a browser can pair, and says until when it can. Whoever is limited to one
    /// workspace lets browsers into that one alone.
    pub async fn make_pairing(
        &self,
        caller: &Caller,
        wish: PairingWish,
    ) -> Result<(String, Timestamp), BrokerError> {
        caller.require(Grant::Administer)?;
        let workspace = caller.reach(wish.workspace)?;
        if let Some(workspace) = workspace {
            self.supervisor(workspace)?;
        }
        let name = checked_name(wish.name)?;
        let role = wish.role;
        if role.actor_kind() == ActorKind::Agent {
            return Err(BrokerError::Invalid {
                field: "role",
                problem: "a browser is used by a person, not by an agent".to_owned(),
            });
        }
        let now = self.clock.now();
        let code = random_digits();
        let pairing = Pairing {
            hash: Digest::of_bytes(code.as_bytes()),
            name,
            role,
            workspace,
            expires_at: now.after(CODE_LIFE),
        };
        self.store
            .add_pairing(&pairing, caller.actor(), now)
            .await?;
        Ok((code, pairing.expires_at))
    }

    /// Uses a one-time code up and returns the browser's secret; nothing if the code does not work, or no
    /// longer. `device` is what the browser says that it is.
    pub async fn pair(
        &self,
        code: &str,
        device: Option<String>,
    ) -> Result<Option<(Admission, BrowserSecret)>, StoreError> {
        let now = self.clock.now();
        let secret = BrowserSecret {
            cookie: format!("cs_{}", random_digits()),
            page: random_digits(),
        };
        let used = self
            .store
            .use_pairing(
                &Digest::of_bytes(code.as_bytes()),
                Digest::of_bytes(secret.whole().as_bytes()),
                device,
                now.after(TOKEN_LIFE),
                now,
            )
            .await?;
        Ok(used.map(|token| {
            let caller = Caller::new(
                token.actor.clone(),
                token.grants.clone(),
                token.workspace,
                Surface::Web,
            );
            (Admission { caller, token }, secret)
        }))
    }
}

fn checked_name(name: String) -> Result<String, BrokerError> {
    let problem = if name.trim().is_empty() {
        "must not be empty".to_owned()
    } else if name.chars().count() > NAME_LIMIT {
        format!("must not be longer than {NAME_LIMIT} characters")
    } else if name.contains(countersign_core::visible::is_deceptive) {
        "must not contain characters that cannot be seen".to_owned()
    } else {
        return Ok(name);
    };
    Err(BrokerError::Invalid {
        field: "name",
        problem,
    })
}

/// 256 random bits in hexadecimal; a digest is the hexadecimal writer at hand.
fn random_digits() -> String {
    Digest::of_bytes(&rand::rng().random::<[u8; 32]>()).to_string()
}
