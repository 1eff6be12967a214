//! Who calls, how the server stands, and the tokens that were given out.

use std::sync::Arc;

use countersign_broker::BrokerError;
use countersign_core::grant::{Caller as Granted, Role};
use countersign_core::token::{Token, TokenKind};
use countersign_server::{Request, Response};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde_json::json;

use super::overview::{Health, health_fields};
use crate::keys::{Caller, Scope, WireActor};
use crate::refusal::Refusal;
use crate::reply::{self, Items};
use crate::roster::{Seat, View};
use crate::surface::OpenWork;
use crate::wire_time::millis;

/// What tokens of this wire begin with.
const PREFIX: &str = "owt_";
/// What stands before the number that makes a token's name its own.
const MARK: &str = " [owt ";

#[derive(Serialize)]
struct Who {
    ok: bool,
    actor: WireActor,
}

/// `GET /whoami`
pub(crate) async fn who_am_i(surface: &OpenWork, headers: &HeaderMap) -> Result<Response, Refusal> {
    let caller = surface.keys.client(headers).await?;
    let actor = caller.wire.with_scope(caller.scope);
    Ok(reply::ok(&Who { ok: true, actor }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    ok: bool,
    #[serde(flatten)]
    health: Health,
    read_only: bool,
    approval: ApprovalView,
    cors_origins: &'a [String],
    workspace_count: usize,
    active_workspace_id: Option<&'a str>,
    workspace: Option<View<'a>>,
    authorized_roots: &'a [String],
    server: ServerView<'a>,
    token_source: TokenSource,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApprovalView {
    mode: &'static str,
    timeout_ms: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerView<'a> {
    host: &'a str,
    port: u16,
    config_path: String,
}

#[derive(Serialize)]
struct TokenSource {
    client: &'static str,
    host: &'static str,
}

/// `GET /status`
pub(crate) async fn status(surface: &OpenWork, headers: &HeaderMap) -> Result<Response, Refusal> {
    let caller = surface.keys.client(headers).await?;
    let all = surface.roster.all();
    Ok(say_status(surface, &caller, all.first(), all.len()))
}

/// `GET /w/:id/status`
pub(super) fn mounted_status(surface: &OpenWork, caller: &Caller, seat: &Arc<Seat>) -> Response {
    say_status(surface, caller, Some(seat), 1)
}

fn say_status(
    surface: &OpenWork,
    caller: &Caller,
    seat: Option<&Arc<Seat>>,
    count: usize,
) -> Response {
    let settings = &surface.settings;
    reply::ok(&Status {
        ok: true,
        health: health_fields(surface),
        read_only: settings.read_only,
        approval: ApprovalView {
            mode: settings.approval.name(),
            timeout_ms: settings.patience_ms,
        },
        cors_origins: &settings.cors,
        workspace_count: count,
        active_workspace_id: seat.map(|seat| seat.entry.id.as_str()),
        workspace: seat.map(|seat| {
            let credentials = surface.roster.credentials(&seat.entry, caller.scope);
            seat.entry.view(credentials)
        }),
        authorized_roots: &settings.authorized_roots,
        server: ServerView {
            host: &settings.host,
            port: settings.port,
            config_path: settings.config_path.to_string_lossy().into_owned(),
        },
        token_source: TokenSource {
            client: settings.client_token.source.name(),
            host: settings.host_token.source.name(),
        },
    })
}

/// `GET /runtime/versions`: nothing here controls other programs.
pub(crate) async fn versions(surface: &OpenWork, headers: &HeaderMap) -> Result<Response, Refusal> {
    surface.keys.client(headers).await?;
    let message = "Runtime control is not available on this server";
    Err(Refusal::new(501, "runtime_unavailable", message))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenView {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    scope: Scope,
    created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

impl TokenView {
    /// How a token is shown; nothing if it is none of this wire, or good no more.
    fn of(token: &Token) -> Option<Self> {
        let is_ours = token.kind == TokenKind::Bearer && token.revoked_at.is_none();
        let (label, _) = token.name.rsplit_once(MARK).filter(|_| is_ours)?;
        Some(Self {
            id: token.id.to_string(),
            token: None,
            scope: Scope::of(&token.grants)?,
            created_at: millis(token.made_at),
            label: (!label.is_empty()).then(|| label.to_owned()),
        })
    }
}

/// `GET /tokens`
pub(crate) async fn tokens(surface: &OpenWork, headers: &HeaderMap) -> Result<Response, Refusal> {
    let caller = surface.keys.host(headers).await?;
    let tokens = surface.broker.tokens(&as_owner(&caller)).await?;
    let items: Vec<_> = tokens.iter().filter_map(TokenView::of).collect();
    Ok(reply::ok(&Items { items }))
}

/// `POST /tokens`
pub(crate) async fn issue(surface: &OpenWork, request: Request) -> Result<Response, Refusal> {
    let caller = surface.keys.host(request.headers()).await?;
    surface.ensure_writable()?;
    let body = surface.bodies.json(request.into_body()).await?;
    let scope = Scope::from_name(body.text("scope").trim()).ok_or_else(|| {
        let message = "Token scope must be owner, collaborator, or viewer";
        Refusal::new(400, "invalid_scope", message)
    })?;
    let label = body.text("label").trim().to_owned();
    let secret = format!("{PREFIX}{:032x}", rand::random::<u128>());
    // Each token has a name of its own, and with it an actor: two that are called the same are still two.
    let name = format!("{label}{MARK}{:08x}]", rand::random::<u32>());
    let token = surface
        .broker
        .take_up_token(&as_owner(&caller), name, scope.role(), &secret)
        .await
        .map_err(|error| {
            if let BrokerError::Invalid { problem, .. } = &error {
                return Refusal::new(400, "invalid_label", format!("The label {problem}"));
            }
            error.into()
        })?;
    let view = TokenView {
        id: token.id.to_string(),
        token: Some(secret),
        scope,
        created_at: millis(token.made_at),
        label: (!label.is_empty()).then_some(label),
    };
    Ok(reply::json(StatusCode::CREATED, &view))
}

/// `DELETE /tokens/:id`
pub(crate) async fn revoke(
    surface: &OpenWork,
    id: &str,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let caller = surface.keys.host(headers).await?;
    surface.ensure_writable()?;
    let unknown = || Refusal::new(404, "token_not_found", "Token not found");
    let id = id.parse().map_err(|_| unknown())?;
    match surface.broker.revoke_token(&as_owner(&caller), id).await {
        Ok(()) => Ok(reply::ok(&json!({ "ok": true }))),
        Err(BrokerError::Missing { .. }) => Err(unknown()),
        Err(error) => Err(error.into()),
    }
}

fn as_owner(caller: &Caller) -> Granted {
    debug_assert_eq!(
        caller.scope.role(),
        Role::Owner,
        "only the host is let through"
    );
    caller.granted()
}
