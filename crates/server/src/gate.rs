//! The gate before every route: a request says once whom it calls, and one that a browser could have been
//! tricked into comes from a page of ours.

use axum::extract::Request;
use http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use http::{Method, Uri};

use crate::auth::Peer;
use crate::error::ApiError;
use crate::origin::{Hosts, read_host};

/// Where a browser pairs: it is checked whatever credentials come along.
const PAIR: &str = "/api/v1/pair";

/// Fails unless the request may go on to its route.
pub(crate) fn check(hosts: &Hosts, request: &Request) -> Result<(), ApiError> {
    let host = named_host(request.headers(), request.uri(), request.method())?;
    match request.extensions().get::<Peer>() {
        // No page can open a Unix socket.
        Some(Peer::Local { .. } | Peer::Engine) => return Ok(()),
        Some(Peer::Remote) | None => {}
    }
    // A bearer token is sent on purpose: no page of another site can make a browser add one.
    if request.uri().path() != PAIR && request.headers().contains_key(AUTHORIZATION) {
        return Ok(());
    }
    if !hosts.has(host) {
        return Err(ApiError::forbidden_origin(
            "this server is not reached under that name; add it to the public hosts in the configuration",
        ));
    }
    let mut origins = request.headers().get_all(ORIGIN).iter();
    if !origins.all(|origin| hosts.has_origin(origin)) {
        return Err(ApiError::forbidden_origin(
            "pages of other sites may not call this server",
        ));
    }
    Ok(())
}

fn named_host<'a>(headers: &'a HeaderMap, uri: &Uri, method: &Method) -> Result<&'a str, ApiError> {
    // `GET http://…/` and `CONNECT …` are for proxies, which this is not.
    if uri.authority().is_some() || method == Method::CONNECT {
        return Err(ApiError::bad_request("this server is no proxy"));
    }
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().and_then(read_host), hosts.next()) {
        (Some(host), None) => Ok(host),
        _ => Err(ApiError::bad_request(
            "a request needs one `Host` header with a name in it",
        )),
    }
}
