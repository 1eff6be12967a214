//! The web app's files.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use countersign_web::Asset;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH,
    LOCATION, VARY,
};
use http::{HeaderValue, StatusCode};

use crate::error::ApiError;
use crate::state::Server;

/// Leads from the root to the app; relative, so that it works behind a path prefix that nobody told us of.
pub(crate) async fn to_app(State(server): State<Arc<Server>>) -> Response {
    let prefix = server.settings.path_prefix.as_str();
    let to = if prefix.is_empty() {
        "app/".to_owned()
    } else {
        format!("{prefix}/app/")
    };
    (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response()
}

/// The page that the app starts from.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    serve(countersign_web::index(), &headers)
}

/// One of the app's files.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    match countersign_web::find(&path) {
        Some(asset) => serve(asset, &headers),
        None => ApiError::not_found("the web app has no such file").into_response(),
    }
}

fn serve(asset: &'static Asset, request: &HeaderMap) -> Response {
    let caching = if asset.immutable {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if names_etag(request, asset.etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    let bytes = match asset.brotli {
        Some(brotli) if accepts_brotli(request) => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("br"));
            brotli
        }
        Some(_) | None => asset.bytes,
    };
    *response.body_mut() = Body::from(Bytes::from_static(bytes));
    response
}

/// Whether the client has the file already; weak and strong tags mean the same here.
fn names_etag(request: &HeaderMap, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    request
        .get_all(IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|tags| tags.split(','))
        .any(|tag| tag.trim() == "*" || opaque(tag) == opaque(etag))
}

fn accepts_brotli(request: &HeaderMap) -> bool {
    request
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|codings| codings.split(','))
        .any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let named = parts
                .next()
                .is_some_and(|name| name.eq_ignore_ascii_case("br"));
            let refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .and_then(|q| q.parse::<f32>().ok())
                    .is_some_and(|q| q <= 0.0)
            });
            named && !refused
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepting(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))])
    }

    #[test]
    fn brotli_is_for_who_accepts_it() {
        assert!(accepts_brotli(&accepting("gzip, deflate, br")));
        assert!(accepts_brotli(&accepting("br;q=0.5")));
        assert!(!accepts_brotli(&accepting("gzip, br;q=0")));
        assert!(!accepts_brotli(&accepting("brotli")));
        assert!(!accepts_brotli(&HeaderMap::new()));
    }
}
