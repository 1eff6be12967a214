//! Who a caller is: by bearer token, by a paired browser's cookie, or by being the person at this machine.

mod cookie;
mod device;

pub(crate) use cookie::{Place, Transport, clear_cookie, set_cookie};
pub(crate) use device::device_of;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use countersign_broker::{Admission, Broker, BrowserSecret, Placed};
use countersign_core::actor::Surface;
use countersign_core::grant::Caller;
use countersign_core::token::TokenKind;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use http::request::Parts;

use crate::error::ApiError;
use crate::origin::Hosts;
use crate::state::Server;

/// Where a page of ours sends its half of the browser's secret.
pub(crate) const PAGE_HEADER: &str = "x-countersign-page";

/// What is known of a connection's other end.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Peer {
    /// Somebody over TCP.
    Remote,
    /// A process of this machine over the Unix socket.
    Local {
        /// The process, where the system tells it.
        pid: Option<u32>,
        /// Whose process it is.
        uid: u32,
    },
    /// A proxy between an editor and its agent, over the Unix socket.
    Proxy {
        /// Its process.
        pid: u32,
        /// Whose process it is.
        uid: u32,
    },
    /// A process of an engine over the Unix socket.
    Engine,
}

/// A caller that was let in.
pub(crate) struct Admitted {
    /// Who calls, and what it may do.
    pub(crate) caller: Caller,
    /// The token it came with; the person at this machine needs none.
    pub(crate) admission: Option<Admission>,
}

impl FromRequestParts<Arc<Server>> for Admitted {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<Server>,
    ) -> Result<Self, Self::Rejection> {
        if parts.headers.contains_key(AUTHORIZATION) {
            let secret = bearer(&parts.headers)
                .ok_or_else(|| ApiError::unauthorized("send `Authorization: Bearer cs_…`"))?;
            return admit(&server.broker, secret, TokenKind::Bearer, Surface::Api).await;
        }
        match parts.extensions.get() {
            Some(Peer::Local { pid, uid }) => return local_owner(&server.broker, *pid, *uid),
            Some(Peer::Engine | Peer::Proxy { .. }) => return Err(started_by_agent()),
            Some(Peer::Remote) | None => {}
        }
        let Some(cookie) = cookie::read(&parts.headers, server.hosts.port()) else {
            return Err(ApiError::unauthorized(
                "this needs a token (`countersign token`), or a browser that was paired (`countersign pair`)",
            ));
        };
        check_page(&server.hosts, parts)?;
        let page = parts
            .headers
            .get(PAGE_HEADER)
            .and_then(|key| key.to_str().ok());
        let Some(page) = page else {
            return Err(ApiError::unauthorized(
                "this page was not paired; use a new link (`countersign pair`)",
            ));
        };
        let secret = BrowserSecret {
            cookie: cookie.to_owned(),
            page: page.to_owned(),
        }
        .whole();
        admit(&server.broker, &secret, TokenKind::Browser, Surface::Web).await
    }
}

/// A caller at the door for programs that hand asks in: one with a token, or a proxy of this user's at this machine.
pub(crate) struct AtDoor {
    /// Who calls, and what it may do.
    pub(crate) admitted: Admitted,
    /// The process that came without a token.
    pub(crate) process: Option<u32>,
}

impl AtDoor {
    pub(crate) fn caller(&self) -> &Caller {
        &self.admitted.caller
    }
}

impl FromRequestParts<Arc<Server>> for AtDoor {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<Server>,
    ) -> Result<Self, Self::Rejection> {
        let has_token = parts.headers.contains_key(AUTHORIZATION);
        let local = match parts.extensions.get() {
            Some(Peer::Local { pid, uid }) if !has_token => Some((*pid, *uid)),
            Some(Peer::Proxy { pid, uid }) if !has_token => Some((Some(*pid), *uid)),
            Some(Peer::Local { .. } | Peer::Proxy { .. } | Peer::Engine | Peer::Remote) | None => {
                None
            }
        };
        match local {
            Some((pid, uid)) => local_proxy(&server.broker, pid, uid),
            None => Ok(Self {
                admitted: Admitted::from_request_parts(parts, server).await?,
                process: None,
            }),
        }
    }
}

/// A proxy of this user's that no agent started. It is let in as an agent: it may hand asks in, and nothing else.
fn local_proxy(broker: &Broker, pid: Option<u32>, uid: u32) -> Result<AtDoor, ApiError> {
    check_user(uid)?;
    match pid.map(|pid| broker.place(pid)) {
        Some(Placed::Nobodys | Placed::Proxy) => {}
        // Who cannot be placed is not let through.
        Some(Placed::Engines) | None => return Err(started_by_agent()),
    }
    Ok(AtDoor {
        admitted: Admitted {
            caller: broker.local_proxy(),
            admission: None,
        },
        process: pid,
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

async fn admit(
    broker: &Broker,
    secret: &str,
    kind: TokenKind,
    surface: Surface,
) -> Result<Admitted, ApiError> {
    match Box::pin(broker.admit(secret, kind, surface)).await? {
        Some(admission) => Ok(Admitted {
            caller: admission.caller.clone(),
            admission: Some(admission),
        }),
        None => Err(ApiError::unauthorized(
            "this token opens nothing: it is wrong, too old, or was taken back",
        )),
    }
}

/// The person at this machine: a process of our own user that no agent started.
fn local_owner(broker: &Broker, pid: Option<u32>, uid: u32) -> Result<Admitted, ApiError> {
    check_user(uid)?;
    match pid.map(|pid| broker.place(pid)) {
        Some(Placed::Nobodys) => {}
        // Who cannot be placed is not let through.
        Some(Placed::Proxy | Placed::Engines) | None => return Err(started_by_agent()),
    }
    Ok(Admitted {
        caller: broker.local_owner(),
        admission: None,
    })
}

/// Fails unless a process of this machine is our own user's.
fn check_user(uid: u32) -> Result<(), ApiError> {
    const ROOT: u32 = 0;
    if uid != rustix::process::geteuid().as_raw() && uid != ROOT {
        return Err(ApiError::forbidden_origin(
            "this socket is for the user who runs the server",
        ));
    }
    Ok(())
}

fn started_by_agent() -> ApiError {
    ApiError::forbidden_origin("this process was started by an agent; agents cannot answer asks")
}

/// Fails unless a request with the cookie was made by a page of ours, or typed by a person.
///
/// A browser adds the cookie by itself, whoever made it send the request.
fn check_page(hosts: &Hosts, parts: &Parts) -> Result<(), ApiError> {
    let site = parts
        .headers
        .get("sec-fetch-site")
        .map(HeaderValue::as_bytes);
    let foreign = !matches!(site, None | Some(b"same-origin" | b"none"));
    let origin = parts.headers.get(ORIGIN);
    let from_our_page =
        site == Some(b"same-origin") || origin.is_some_and(|origin| hosts.has_origin(origin));
    if foreign || (!parts.method.is_safe() && !from_our_page) {
        return Err(ApiError::forbidden_origin(
            "only a page of this server may do that",
        ));
    }
    Ok(())
}
