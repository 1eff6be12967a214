//! opencode's own API, through the server that stands before it.
//!
//! Everything passes as it is, in both directions, streams as streams. Replies to what an engine asks are recognised on
//! the path as the engine will read it, whatever was encoded in it, and are for those who may answer.

mod answers;
mod places;

use std::sync::Arc;

use countersign_broker::Record;
use countersign_core::grant::Grant;
use countersign_server::{Body, Request, Response};
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HOST,
    ORIGIN, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::json;

use crate::keys::{Caller, Scope};
use crate::percent;
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::{Credentials, Entry, Seat};
use crate::surface::OpenWork;

const DIRECTORY: HeaderName = HeaderName::from_static("x-opencode-directory");
/// What is between a client and this server, and no business of the engine's.
const OURS: [HeaderName; 11] = [
    AUTHORIZATION,
    HeaderName::from_static("x-openwork-host-token"),
    HeaderName::from_static("x-openwork-client-id"),
    HOST,
    ORIGIN,
    COOKIE,
    CONNECTION,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    TE,
    UPGRADE,
];
/// The longest body that is passed on.
const LONGEST: usize = 64 << 20;

/// A reply to what an engine asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineReply {
    /// What the engine calls what it asked.
    pub(crate) request: String,
    form: Form,
    /// What the engine says when it has the reply.
    thanks: Thanks,
}

/// Where in a reply it is said what is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A permission, in `reply`.
    Permission,
    /// A permission, in `response`.
    FormerPermission,
    /// A question, in `answers`.
    Question,
    /// The path itself says no.
    Rejection,
}

/// What the engine says when it has a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thanks {
    /// `true`
    True,
    /// Nothing, with the status for it.
    Nothing,
}

/// Passes a request on to the engine of `workspace`, or of the active one.
pub(crate) async fn pass(
    surface: Arc<OpenWork>,
    workspace: Option<&str>,
    path: &str,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let caller = surface.keys.client(&head.headers).await?;
    let seat = match workspace {
        Some(id) => surface.roster.find(id)?,
        None => surface.roster.active()?,
    };
    let reads = matches!(head.method, Method::GET | Method::HEAD);
    // What counts is where the request will arrive, with all that is folded up in its path unfolded.
    let url = target(&seat.entry, path, head.uri.query())?;
    let engine_reply = reply_in(url.path())?.filter(|_| !reads);
    if engine_reply.is_some() {
        // Whose it is is known when it is found; who may answer in no workspace of that engine is not kept waiting.
        let sharing = surface.roster.sharing(&seat);
        let least = sharing.iter().map(|seat| seat.entry.answered_by()).min();
        may_answer(&caller, least.unwrap_or(Scope::Owner))?;
    }
    let credentials = surface.roster.credentials(&seat.entry, caller.scope);
    if credentials == Credentials::Hidden {
        places::stay_within(&surface.roster.all(), &url, &head.headers)?;
    }
    surface.broker.call_engine(seat.ledger);
    if !reads && caller.scope < Scope::Collaborator {
        return Err(Refusal::new(
            403,
            "forbidden",
            "Viewer tokens are read-only",
        ));
    }
    let is_command = is_command(url.path())?;
    let body = if reads {
        bytes::Bytes::new()
    } else {
        surface.bodies.bytes(body, LONGEST).await?
    };
    if let Some(engine_reply) = &engine_reply
        && let Some(response) =
            answers::settle(&surface, &seat, &caller, engine_reply, &body).await?
    {
        return Ok(response);
    }
    let headers = for_engine(&head.headers, &seat.entry)?;
    let sending = surface
        .upstream
        .client()?
        .request(head.method.clone(), url)
        .headers(headers)
        .body(body);
    if head.method == Method::POST && is_command {
        // It takes as long as the turn does; what comes of it is in the engine's events.
        surface.tasks.spawn(async move {
            if let Err(error) = sending.send().await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a command did not reach opencode"
                );
            }
        });
        return Ok(reply::ok(&json!({ "ok": true, "accepted": true })));
    }
    let response = sending.send().await.map_err(|error| unreachable(&error))?;
    if let Some(engine_reply) = engine_reply {
        record(&surface, &seat, &caller, &engine_reply, response.status()).await?;
    }
    Ok(back(response))
}

fn may_answer(caller: &Caller, needed: Scope) -> Result<(), Refusal> {
    if caller.scope >= needed {
        return Ok(());
    }
    let details = json!({ "required": Grant::Answer.name(), "scope": caller.scope.name() });
    let message = match caller.scope {
        Scope::Viewer => "Viewer tokens cannot reply to permission requests",
        Scope::Collaborator | Scope::Owner => "Only owner tokens can reply to permission requests",
    };
    Err(Refusal::new(403, "forbidden", message).with_details(details))
}

/// Says in the ledger who replied to what, and what the engine made of it.
async fn record(
    surface: &OpenWork,
    seat: &Seat,
    caller: &Caller,
    engine_reply: &EngineReply,
    status: StatusCode,
) -> Result<(), Refusal> {
    let detail = json!({ "surface": "opencode", "status": status.as_u16() });
    let record = Record {
        action: "engine.reply".to_owned(),
        subject: engine_reply.request.clone(),
        detail,
    };
    surface
        .broker
        .record(&caller.granted(), seat.ledger, vec![record])
        .await?;
    Ok(())
}

/// The segments of a path as the engine reads them.
fn segments(path: &str) -> Result<Vec<String>, Refusal> {
    let decoded = percent::decode(path)?;
    let parts = decoded.split('/').filter(|part| !part.is_empty());
    Ok(parts.map(str::to_owned).collect())
}

/// The reply that a request to `path` is, in all the forms that there are.
pub(crate) fn reply_in(path: &str) -> Result<Option<EngineReply>, Refusal> {
    let segments = segments(path)?;
    let words: Vec<_> = segments.iter().map(String::as_str).collect();
    let (request, form) = match words[..] {
        [.., "permission", request, "reply"] => (request, Form::Permission),
        [.., "session", _, "permissions", request] => (request, Form::FormerPermission),
        [.., "question", request, "reply"] => (request, Form::Question),
        [.., "question", request, "reject"] => (request, Form::Rejection),
        _ => return Ok(None),
    };
    let is_in_second_api = matches!(words[..], [.., "api", "session", _, _, _, _]);
    Ok(Some(EngineReply {
        request: request.to_owned(),
        form,
        thanks: if is_in_second_api {
            Thanks::Nothing
        } else {
            Thanks::True
        },
    }))
}

fn is_command(path: &str) -> Result<bool, Refusal> {
    let segments = segments(path)?;
    Ok(
        matches!(&segments[..], [.., session, _, command] if session == "session" && command == "command"),
    )
}

/// Where a request goes.
pub(crate) fn target(
    entry: &Entry,
    path: &str,
    query: Option<&str>,
) -> Result<reqwest::Url, Refusal> {
    let mut url = base_url(entry)?;
    url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    url.set_query(query);
    Ok(url)
}

/// Where the engine of a workspace is.
pub(crate) fn base_url(entry: &Entry) -> Result<reqwest::Url, Refusal> {
    let base = entry
        .opencode
        .base_url
        .as_deref()
        .map(str::trim)
        .filter(|base| !base.is_empty());
    let base = base.ok_or_else(|| {
        let message = "OpenCode base URL is missing for this workspace";
        Refusal::new(400, "opencode_unconfigured", message)
    })?;
    let invalid = || Refusal::new(400, "opencode_url_invalid", "OpenCode base URL is invalid");
    let url = reqwest::Url::parse(base).map_err(|_| invalid())?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err(invalid())
    }
}

/// The headers that the engine gets: the client's without those that are ours, and its own credentials.
fn for_engine(client: &HeaderMap, entry: &Entry) -> Result<HeaderMap, Refusal> {
    let mut headers = client.clone();
    for name in OURS {
        headers.remove(name);
    }
    // What comes back is passed on as it is, so it has to come plain.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if !headers.contains_key(&DIRECTORY) {
        let directory = entry.directory();
        let directory = if directory.is_ascii() {
            directory.to_owned()
        } else {
            percent::encode(directory)
        };
        let value = HeaderValue::from_str(&directory).map_err(|error| Refusal::internal(&error))?;
        headers.insert(DIRECTORY, value);
    }
    if let Some(credentials) = basic(entry) {
        headers.insert(AUTHORIZATION, credentials);
    }
    Ok(headers)
}

/// The credentials of the engine of a workspace.
pub(crate) fn basic(entry: &Entry) -> Option<HeaderValue> {
    use base64::Engine as _;
    let (user, password) = (
        entry.opencode.username.as_ref()?,
        entry.opencode.password.as_ref()?,
    );
    let word = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::from_str(&format!("Basic {word}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What the engine answered, on its way to the client.
fn back(response: reqwest::Response) -> Response {
    let status = response.status();
    let mut headers = response.headers().clone();
    for name in [
        CONTENT_ENCODING,
        CONTENT_LENGTH,
        TRANSFER_ENCODING,
        CONNECTION,
    ] {
        headers.remove(name);
    }
    let mut passed = Response::new(Body::from_stream(response.bytes_stream()));
    *passed.status_mut() = status;
    *passed.headers_mut() = headers;
    passed
}

/// The engine cannot be talked to.
pub(crate) fn unreachable(error: &reqwest::Error) -> Refusal {
    tracing::warn!(
        error = error as &dyn std::error::Error,
        "opencode was not reached"
    );
    Refusal::new(502, "opencode_unreachable", "OpenCode could not be reached")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_recognised_however_it_is_written() {
        for path in [
            "/permission/per_1/reply",
            "/permission/per_1/reply/",
            "//permission//per_1/reply",
            "/permission/per_1/repl%79",
            "/%70ermission/per_1%2Freply",
            "/session/ses_1/permissions/per_1",
            "/session/ses_1/permission%73/per_1/",
            "/question/per_1/reply",
            "/question/per_1/reject",
            "/api/session/ses_1/permission/per_1/reply",
            "/api/session/ses_1/question/per_1/reject",
        ] {
            let found = reply_in(path).unwrap().unwrap_or_else(|| panic!("{path}"));
            assert_eq!(found.request, "per_1", "{path}");
        }
        let entry = Entry {
            id: String::new(),
            name: String::new(),
            path: "/w".to_owned(),
            workspace_type: "local".to_owned(),
            opencode: crate::Opencode {
                base_url: Some("http://engine/base/".to_owned()),
                ..crate::Opencode::default()
            },
            is_for_owners: false,
        };
        for folded in [
            "/permission/per_1/x/../reply",
            "/permission/per_1/x/%2e%2e/reply",
            "/a/../permission/./per_1/reply",
        ] {
            let url = target(&entry, folded, None).unwrap();
            assert_eq!(url.path(), "/base/permission/per_1/reply");
            assert!(reply_in(url.path()).unwrap().is_some(), "{folded}");
        }
        for path in [
            "/permission",
            "/session/ses_1/message",
            "/question",
            "/session/reply",
        ] {
            assert_eq!(reply_in(path).unwrap(), None, "{path}");
        }
        assert!(reply_in("/permission/%E0%A4%A/reply").is_err());
    }
}
