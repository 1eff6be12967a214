//! Who is calling, tokens, pairing and rules on the wire.

use countersign_core::actor::{Actor, Surface};
use countersign_core::ask::AskPhase;
use countersign_core::grant::{Grants, Role};
use countersign_core::id::{AskId, SessionId, TokenId, WorkspaceId};
use countersign_core::rule::{Matcher, Rule, Verdict};
use countersign_core::time::Timestamp;
use countersign_core::token::Token;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who the caller is and what it may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    /// Who.
    pub actor: Actor,
    /// What it may do.
    pub grants: Grants,
    /// The one workspace it is limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// Where it calls from.
    pub surface: Surface,
    /// The token it calls with; the person at this machine needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
}

/// Makes a token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What people will call it, and whoever acts with it.
    #[schema(min_length = 1, max_length = 80)]
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// The one workspace it is for; all that the caller has if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// How long it lives, in seconds; 90 days if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 316_224_000)]
    pub expires_in_s: Option<u64>,
}

/// A token that was made; the only time that its secret is shown.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    /// The token.
    pub token: Token,
    /// The secret, for the `Authorization: Bearer` header.
    pub secret: String,
}

impl std::fmt::Debug for TokenMade {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenMade")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// The tokens, without their secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The tokens.
    pub tokens: Vec<Token>,
}

/// Makes a one-time code for a browser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPairing {
    /// What people will call whoever uses it.
    #[schema(min_length = 1, max_length = 80)]
    pub name: String,
    /// What the browser will be allowed to do.
    pub role: Role,
    /// The one workspace it is for; all that the caller has if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

/// A one-time code.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairingView {
    /// The code.
    pub code: String,
    /// A link that carries the code in its fragment, which no server and no log gets to see.
    pub link: String,
    /// The same for another device, if the server knows of a name under which one reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_link: Option<String>,
    /// When it stops working.
    pub expires_at: Timestamp,
}

impl std::fmt::Debug for PairingView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PairingView")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// A browser that wants in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    /// The code from the link.
    pub code: String,
}

/// A browser that was let in. The other half of its secret is in the cookie.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Paired {
    /// Who it is now.
    #[serde(flatten)]
    pub me: Me,
    /// What the page keeps and sends as `x-countersign-page` with every request.
    pub page_key: String,
}

impl std::fmt::Debug for Paired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Paired")
            .field("me", &self.me)
            .finish_non_exhaustive()
    }
}

/// Makes a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewRule {
    /// The workspace it is for; the server's first if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// The one session it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The tool it is about.
    #[schema(min_length = 1)]
    pub tool: String,
    /// What it says.
    pub verdict: Verdict,
    /// The targets it is about.
    #[serde(flatten)]
    pub matcher: Matcher,
    /// How long it lives, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 316_224_000)]
    pub expires_in_s: Option<u64>,
}

/// Has a rule end in a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleEnd {
    /// In how many seconds, which has to be before it ends by itself.
    #[schema(minimum = 1, maximum = 316_224_000)]
    pub expires_in_s: u64,
}

/// The rules, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleList {
    /// The rules.
    pub rules: Vec<Rule>,
}

/// Asks what a rule would have matched, had it been there already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RulePreviewRequest {
    /// The workspace it would be for; the server's first if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// The one session it would be for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The tool it would be about.
    #[schema(min_length = 1)]
    pub tool: String,
    /// The targets it would be about.
    #[serde(flatten)]
    pub matcher: Matcher,
    /// How many days to look back; seven if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 90)]
    pub days: Option<i64>,
}

/// What a rule would have matched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RulePreview {
    /// The beginning of the time that was looked at.
    pub since: Timestamp,
    /// How many asks were looked at.
    pub looked_at: u64,
    /// Whether that is all there are in this time; otherwise it is the newest.
    pub complete: bool,
    /// How many of them the rule would have matched.
    pub count: u64,
    /// How many of these a person denied.
    pub denied: u64,
    /// How many sessions they are of.
    pub sessions: u64,
    /// Those that are still open. A rule answers none of them by itself.
    pub open: Vec<AskId>,
    /// The newest of each kind of target, a few of them.
    pub samples: Vec<RuleSample>,
}

/// An ask of before that a rule would have matched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RuleSample {
    /// Which.
    pub ask: AskId,
    /// The session that asked.
    pub session: SessionId,
    /// When.
    pub opened_at: Timestamp,
    /// What it was about.
    pub targets: Vec<String>,
    /// How often the same was asked.
    pub times: u64,
    /// How it stands.
    pub state: AskPhase,
    /// Whether a person denied it.
    pub denied: bool,
}
