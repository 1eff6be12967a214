//! How requests are refused, for the OpenAPI document.

use countersign_api::ErrorBody;
use utoipa::IntoResponses;

/// How any request can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum Refused {
    /// The request cannot be understood.
    #[response(status = 400)]
    BadRequest(#[to_schema] ErrorBody),
    /// No token, or one that opens nothing.
    #[response(status = 401)]
    Unauthorized(#[to_schema] ErrorBody),
    /// A grant is missing, or the request came from a place that may not call.
    #[response(status = 403)]
    Forbidden(#[to_schema] ErrorBody),
    /// Something failed here.
    #[response(status = 500)]
    Internal(#[to_schema] ErrorBody),
}

/// How a request about something that has an id can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum Missing {
    /// There is no such thing.
    #[response(status = 404)]
    NotFound(#[to_schema] ErrorBody),
}

/// How a value can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum Unfit {
    /// A value cannot be.
    #[response(status = 422)]
    Unprocessable(#[to_schema] ErrorBody),
}

/// How a body can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum UnfitBody {
    /// The body took too long to arrive.
    #[response(status = 408)]
    TooSlow(#[to_schema] ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(#[to_schema] ErrorBody),
    /// The body is not said to be JSON.
    #[response(status = 415)]
    UnsupportedMediaType(#[to_schema] ErrorBody),
    /// The body says something that cannot be.
    #[response(status = 422)]
    Unprocessable(#[to_schema] ErrorBody),
}

/// How a request that takes a lot can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum TooMany {
    /// Too many at once; try again.
    #[response(status = 429)]
    TooMany(#[to_schema] ErrorBody),
}

/// How a request that needs an engine can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum Unavailable {
    /// The engine cannot be reached; try again.
    #[response(status = 503)]
    Unavailable(#[to_schema] ErrorBody),
}

/// How a request that does not go with how things stand can be refused.
#[derive(IntoResponses)]
#[expect(
    dead_code,
    reason = "it is read by the OpenAPI document's macros alone"
)]
pub(crate) enum Conflicting {
    /// It does not go with how things stand.
    #[response(status = 409)]
    Conflict(#[to_schema] ErrorBody),
}
