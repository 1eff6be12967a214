//! The gate before every route: a request says once whom it calls, and one that a browser could have been
//! tricked into comes from a page of ours.

use axum::extract::Request;
use http::Method;
use http::header::{AUTHORIZATION, HOST, ORIGIN};

use crate::auth::Peer;
use crate::error::ApiError;
use crate::origin::{Hosts, read_host};

/// Where a browser pairs: it is checked whatever credentials come along.
const PAIR: &str = "/api/v1/pair";

/// Fails unless the request may go on to its route.
pub(crate) fn check(hosts: &Hosts, request: &Request) -> Result<(), ApiError> {
    let host = named_host(hosts, request)?;
    match request.extensions().get::<Peer>() {
        // No page can open a Unix socket.
        Some(Peer::Local { .. } | Peer::Proxy { .. } | Peer::Engine) => return Ok(()),
        Some(Peer::Remote) | None => {}
    }
    // Checked whatever credentials come along: a header alone must not make a name that was rebound to us one of ours.
    if !hosts.has(host) {
        return Err(ApiError::forbidden_origin(
            "this server is not reached under that name; add it to the public hosts in the configuration",
        ));
    }
    // A bearer token is sent on purpose: no page of another site can make a browser add one.
    if request.uri().path() != PAIR && request.headers().contains_key(AUTHORIZATION) {
        return Ok(());
    }
    let mut origins = request.headers().get_all(ORIGIN).iter();
    if !origins.all(|origin| hosts.has_origin(origin)) {
        return Err(ApiError::forbidden_origin(
            "pages of other sites may not call this server",
        ));
    }
    Ok(())
}

fn named_host<'a>(ours: &Hosts, request: &'a Request) -> Result<&'a str, ApiError> {
    // `GET http://…/` and `CONNECT …` are for proxies, which this is not.
    if request.uri().authority().is_some() || request.method() == Method::CONNECT {
        return Err(ApiError::bad_request("this server is no proxy"));
    }
    // A name of ours is well formed; only others have to be looked at closely.
    let read = |value| ours.find(value).or_else(|| read_host(value));
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next().and_then(read), hosts.next()) {
        (Some(host), None) => Ok(host),
        _ => Err(ApiError::bad_request(
            "a request needs one `Host` header with a name in it",
        )),
    }
}
