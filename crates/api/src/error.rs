//! Errors as clients see them: a stable code, a sentence, and details.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What kind of error it is; programs look at this and not at the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The request cannot be understood.
    BadRequest,
    /// No token, or one that opens nothing.
    Unauthorized,
    /// A grant is missing; `details.grant` names it.
    Forbidden,
    /// The request came from a place that may not call: another site, or a process of an agent.
    ForbiddenOrigin,
    /// There is no such thing.
    NotFound,
    /// The path takes another method.
    MethodNotAllowed,
    /// Somebody was first; `details.ask` is the ask with the answer that stands.
    AlreadyAnswered,
    /// The ask ended without an answer; `details.ask` says how.
    Over,
    /// It does not go with how things stand.
    Conflict,
    /// The body is too large.
    TooLarge,
    /// The body is not JSON.
    UnsupportedMediaType,
    /// The body is JSON and says something that cannot be.
    Unprocessable,
    /// Too many at once.
    TooMany,
    /// Something failed here; the log knows more under `details.request`.
    Internal,
    /// The engine or the store cannot be reached; try again.
    Unavailable,
}

/// The body of every error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// What kind of error it is.
    pub code: ErrorCode,
    /// What is wrong and what to do, for people.
    pub message: String,
    /// More for programs; its fields depend on the code.
    #[schema(value_type = Object)]
    #[serde(default)]
    pub details: Value,
}
