//! The OpenAPI document, and a page to read it.

use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const ICON: &str = "image/svg+xml";

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let document = crate::router::openapi();
    Bytes::from(
        document
            .to_json()
            .expect("the document has no map with odd keys"),
    )
});

/// The OpenAPI document.
pub(crate) async fn document() -> Response {
    respond(JSON, DOCUMENT.clone())
}

/// The page.
pub(crate) async fn page() -> Response {
    respond(
        HTML,
        Bytes::from_static(include_bytes!("../../assets/docs.html")),
    )
}

/// What draws the page.
pub(crate) async fn script() -> Response {
    respond(
        SCRIPT,
        Bytes::from_static(include_bytes!("../../assets/docs.js")),
    )
}

/// How the page looks.
pub(crate) async fn style() -> Response {
    respond(
        STYLE,
        Bytes::from_static(include_bytes!("../../assets/docs.css")),
    )
}

/// What stands for the page in a browser's tab: the app's own.
pub(crate) async fn icon() -> Response {
    respond(
        ICON,
        Bytes::from_static(include_bytes!("../../../../web/src/icon.svg")),
    )
}

fn respond(content_type: &'static str, bytes: Bytes) -> Response {
    (
        [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache")],
        bytes,
    )
        .into_response()
}
