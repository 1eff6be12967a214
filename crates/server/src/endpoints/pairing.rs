//! Pairing: a one-time code becomes a browser's cookie, and signing out takes it away again.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{AppendHeaders, IntoResponse as _, Response};
use countersign_api::{ErrorBody, ErrorCode, NewPairing, PairRequest, Paired, PairingView};
use countersign_broker::PairingWish;
use countersign_core::token::TokenKind;
use http::header::{HOST, HeaderMap, SET_COOKIE, USER_AGENT};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::auth::{Admitted, Place, Transport, clear_cookie, device_of, set_cookie};
use crate::endpoints::refusals::{Missing, Refused, UnfitBody};
use crate::endpoints::workspaces::view_of;
use crate::error::ApiError;
use crate::extract;
use crate::origin::read_host;
use crate::state::Server;

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Makes a one-time code for a browser, and a link that carries it.
#[utoipa::path(post, path = "/api/v1/pairings", tag = "callers", request_body = NewPairing,
    responses((status = 201, body = PairingView), Refused, Missing, UnfitBody))]
pub(crate) async fn make_pairing(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    headers: HeaderMap,
    extract::Json(new): extract::Json<NewPairing>,
) -> Result<(StatusCode, Json<PairingView>), ApiError> {
    let wish = PairingWish {
        name: new.name,
        role: new.role,
        workspace: new.workspace,
    };
    let (code, expires_at) = server.broker.make_pairing(&admitted.caller, wish).await?;
    let public_url = server.settings.public_url.as_ref();
    let remote_link = public_url.map(|base| format!("{base}/app/#pair={code}"));
    let link = format!("{}/app/#pair={code}", base_url(&server, &headers));
    Ok((
        StatusCode::CREATED,
        Json(PairingView {
            code,
            link,
            remote_link,
            expires_at,
        }),
    ))
}

/// Uses a one-time code up. The browser gets half of its secret in a cookie that no script can read, the
/// page gets the other half.
#[utoipa::path(post, path = "/api/v1/pair", tag = "callers", security(()),
    request_body = PairRequest,
    responses(
        (status = 200, body = Paired),
        (status = 410, body = ErrorBody, description = "The code is wrong, used, or too old"),
        Refused, UnfitBody))]
pub(crate) async fn pair(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    extract::Json(request): extract::Json<PairRequest>,
) -> Result<Response, ApiError> {
    let device = headers.get(USER_AGENT).and_then(device_of);
    let Some((admission, secret)) = server.broker.pair(&request.code, device).await? else {
        return Err(ApiError::new(
            StatusCode::GONE,
            ErrorCode::Over,
            "this code is wrong, was used, or is too old; make a new one with `countersign pair`",
        ));
    };
    let now = server.broker.clock().now();
    let place = place(&server, &headers);
    let cookie = set_cookie(&place, &secret.cookie, &admission.token, now);
    let paired = Paired {
        me: view_of(&admission.caller, Some(admission.token.id)),
        page_key: secret.page,
    };
    Ok((AppendHeaders([(SET_COOKIE, cookie)]), Json(paired)).into_response())
}

/// Takes the browser's own token back and its cookie away.
#[utoipa::path(post, path = "/api/v1/sign-out", tag = "callers",
    responses(
        (status = 204),
        (status = 409, body = ErrorBody, description = "The caller is no paired browser"),
        Refused))]
pub(crate) async fn sign_out(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let browser = admitted
        .admission
        .filter(|admission| admission.token.kind == TokenKind::Browser);
    let Some(admission) = browser else {
        return Err(ApiError::conflict(
            "only a paired browser signs out; take a token back with `countersign token revoke`",
        ));
    };
    server.broker.sign_out(&admission).await?;
    let cookie = clear_cookie(&place(&server, &headers));
    Ok((
        StatusCode::NO_CONTENT,
        AppendHeaders([(SET_COOKIE, cookie)]),
    )
        .into_response())
}

/// Where a browser sends its cookie back to.
fn place<'a>(server: &'a Server, headers: &HeaderMap) -> Place<'a> {
    Place {
        port: server.hosts.port(),
        prefix: &server.settings.path_prefix,
        transport: transport(server, headers),
    }
}

/// Whether the browser reached us by `https`; only a proxy that we were told of is believed.
fn transport(server: &Server, headers: &HeaderMap) -> Transport {
    let forwarded = headers.get(FORWARDED_PROTO).map(HeaderValue::as_bytes);
    if server.settings.behind_proxy && forwarded == Some(b"https") {
        Transport::Encrypted
    } else {
        Transport::Plain
    }
}

/// Where a browser finds us: under the name that the caller used if that is ours, else on this machine; a proxy's path
/// prefix is understood in either place.
fn base_url(server: &Server, headers: &HeaderMap) -> String {
    let scheme = match transport(server, headers) {
        Transport::Encrypted => "https",
        Transport::Plain => "http",
    };
    let prefix = server.settings.path_prefix.as_str();
    match headers
        .get(HOST)
        .and_then(read_host)
        .filter(|host| server.hosts.has(host))
    {
        Some(host) => format!("{scheme}://{host}{prefix}"),
        None => format!("http://{}{prefix}", server.hosts.loopback()),
    }
}
