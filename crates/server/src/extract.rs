//! What handlers take out of requests: a JSON body, a query, an id. Whatever cannot be read is refused here,
//! in JSON, and never reaches a handler.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use bytes::Bytes;
use countersign_api::ErrorCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;

use crate::error::ApiError;
use crate::settings::Limits;
use crate::state::Server;

/// A JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Server>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, server: &Arc<Server>) -> Result<Self, ApiError> {
        debug_assert_ne!(request.method(), Method::GET, "a GET has no body");
        check_type(request.headers())?;
        let Limits {
            body_bytes,
            body_time,
            ..
        } = server.settings.limits;
        let body = read_body(request, body_bytes, body_time).await?;
        parse(&body).map(Self)
    }
}

/// A JSON body that may be long. Only few of them are read at a time, so that they cannot take all memory.
pub(crate) struct LongJson<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<Server>> for LongJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, server: &Arc<Server>) -> Result<Self, ApiError> {
        let limits = &server.settings.limits;
        if announced_length(&request).is_some_and(|length| length <= limits.body_bytes) {
            return Json::from_request(request, server)
                .await
                .map(|Json(body)| Self(body));
        }
        check_type(request.headers())?;
        let room = tokio::time::timeout(limits.body_time, server.long_bodies.acquire()).await;
        let Ok(Ok(_room)) = room else {
            return Err(ApiError::too_many(
                "too many long bodies are being read; try again",
            ));
        };
        let time = limits.body_time.saturating_mul(LONG_PATIENCE);
        let body = read_body(request, limits.long_body_bytes, time).await?;
        parse(&body).map(Self)
    }
}

/// How many times as long as another one a long body may take to arrive.
const LONG_PATIENCE: u32 = 4;

fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    if is_json(headers) {
        return Ok(());
    }
    Err(ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorCode::UnsupportedMediaType,
        "send JSON, with `Content-Type: application/json`",
    ))
}

/// Only this type makes a browser ask before it sends such a request to another site.
fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else {
        return false;
    };
    value.to_str().is_ok_and(|value| {
        let essence = value.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    })
}

fn announced_length(request: &Request) -> Option<usize> {
    let length = request.headers().get(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

async fn read_body(request: Request, most: usize, time: Duration) -> Result<Bytes, ApiError> {
    let too_large = || ApiError::too_large(most);
    if announced_length(&request) > Some(most) {
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), most);
    match tokio::time::timeout(time, body.collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::bad_request("the body broke off")),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            ErrorCode::BadRequest,
            format!("the body did not arrive within {} s", time.as_secs()),
        )),
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let refusal = |error: serde_json::Error| match error.classify() {
        Category::Data => ApiError::unprocessable(format!("the body does not fit: {error}")),
        Category::Syntax | Category::Eof | Category::Io => {
            ApiError::bad_request(format!("the body is not JSON: {error}"))
        }
    };
    // Not every database can keep this character, and nothing that it is part of means anything.
    if body.windows(6).any(|window| window == br"\u0000") {
        let value: Value = serde_json::from_slice(body).map_err(refusal)?;
        if has_nul(&value) {
            return Err(ApiError::unprocessable(
                "the body contains the character U+0000",
            ));
        }
    }
    // A list would do for an object as far as the reader is concerned; it is not what is described.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::unprocessable("the body has to be an object"));
    }
    serde_json::from_slice(body).map_err(refusal)
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The query of a request.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Server>> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        _server: &Arc<Server>,
    ) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|error| {
                ApiError::bad_request(format!("the query does not fit: {}", error.body_text()))
            })
    }
}

/// The id in a path. A text that is no such id names nothing.
pub(crate) struct Id<T>(pub(crate) T);

impl<T> FromRequestParts<Arc<Server>> for Id<T>
where
    T: FromStr<Err: std::fmt::Display>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, server)
            .await
            .map_err(|_| ApiError::not_found("there is nothing here"))?;
        text.parse()
            .map(Self)
            .map_err(|error: T::Err| ApiError::not_found(error.to_string()))
    }
}

/// Fails unless `value` is within `range`, or returns `default` if there is none.
pub(crate) fn within(
    field: &'static str,
    value: Option<i64>,
    range: std::ops::RangeInclusive<i64>,
    default: i64,
) -> Result<i64, ApiError> {
    let value = value.unwrap_or(default);
    if range.contains(&value) {
        return Ok(value);
    }
    let problem = format!("must be between {} and {}", range.start(), range.end());
    Err(ApiError::invalid(field, &problem))
}
