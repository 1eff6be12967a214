//! The headers that every response carries: nothing is framed, sniffed, or loaded from elsewhere.

use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

/// Scripts, styles and connections come from this server alone; nothing inline. Pictures may be what the page itself
/// has read: it has to show who it is, which the address of a picture cannot. Where a browser has Trusted Types, no text
/// becomes markup or a script but by the page's one policy (`web/src/trusted.ts`).
const POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'self'; object-src 'none'; img-src 'self' blob:; \
     require-trusted-types-for 'script'; trusted-types countersign";

/// With its type and its length a response has no more headers than fit into a map of the first size.
const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// What means something only on a page, and on what a page is made of.
const HEADERS_OF_PAGES: [(HeaderName, HeaderValue); 2] = [
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
];

/// Adds them.
pub(crate) fn protect(headers: &mut HeaderMap) {
    headers.reserve(HEADERS.len());
    for (name, value) in HEADERS {
        // A route may have a stricter word of its own.
        headers.entry(name).or_insert(value);
    }
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if content_type.is_some_and(|content_type| content_type.starts_with(b"text/")) {
        headers.extend(HEADERS_OF_PAGES);
    }
}
