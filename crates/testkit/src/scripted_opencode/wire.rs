//! The small change of opencode's wire: ids, times, errors, credentials, percent signs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// Returns a new id such as `per_…`. Ids of one process sort by age.
pub(super) fn new_id(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let random = rand::random::<u32>();
    format!("{prefix}_{:011x}{count:06x}{random:08x}", now())
}

/// Returns the milliseconds since 1970.
pub(super) fn now() -> u64 {
    u64::try_from(now_micros() / 1_000).unwrap_or_default()
}

/// Returns the microseconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the wire carries the time of day, which decides nothing here"
)]
pub(super) fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

/// Returns 404 for a permission or question that is not there, was answered, or is another directory's.
pub(super) fn ask_not_found(kind: &str, id: &str) -> Response {
    let body = json!({
        "_tag": format!("{kind}NotFoundError"),
        "requestID": id,
        "message": format!("{kind} request not found: {id}"),
    });
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

/// Returns 404 for a session.
pub(super) fn session_not_found(id: &str) -> Response {
    let message = format!("Session not found: {id}");
    let body = json!({"name": "NotFoundError", "data": {"message": message}});
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

/// Returns 404 for a message.
pub(super) fn message_not_found(id: &str) -> Response {
    let message = format!("Message not found: {id}");
    let body = json!({"name": "NotFoundError", "data": {"message": message}});
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

/// Returns 400; `kind` is `Payload` or `Params`.
pub(super) fn bad_request(kind: &str, message: &str) -> Response {
    let body = json!({"name": "BadRequest", "data": {"message": message, "kind": kind}});
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// Returns how many tokens nothing costs.
pub(super) fn no_tokens() -> Value {
    json!({"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}})
}

/// Returns how many tokens a model call costs.
pub(super) fn some_tokens() -> Value {
    let cache = json!({"read": 0, "write": 0});
    json!({"total": 120, "input": 100, "output": 20, "reasoning": 0, "cache": cache})
}

/// Encodes credentials as Basic authentication wants them.
pub(super) fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let is_padding = digit > group.len();
            encoded.push(if is_padding {
                '='
            } else {
                ALPHABET[index as usize].into()
            });
        }
    }
    encoded
}

/// Decodes percent signs, as a directory that is not ASCII is sent with them.
pub(super) fn percent_decode(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escape = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded_with_padding() {
        let encoded = ["a", "ab", "abc", "opencode:s3cret"].map(base64);
        assert_eq!(encoded, ["YQ==", "YWI=", "YWJj", "b3BlbmNvZGU6czNjcmV0"]);
    }

    #[test]
    fn percent_signs_are_decoded_where_they_are_escapes() {
        assert_eq!(percent_decode("/srv/caf%C3%A9/100%"), "/srv/café/100%");
    }

    #[test]
    fn ids_sort_by_age() {
        let ids: Vec<String> = (0..50).map(|_| new_id("per")).collect();
        assert!(ids.is_sorted(), "{ids:?}");
    }
}
