//! Errors on their way out: a status, a stable code, a sentence and details. Causes stay inside.

use std::any::Any;
use std::error::Error;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use countersign_api::{AskView, ErrorBody, ErrorCode, InvalidAnswerRequest};
use countersign_broker::{BrokerError, StoreError};
use countersign_core::grant::Forbidden;
use countersign_workspace::{Kind, Refusal};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::endpoints::holdings;

/// An error on its way out.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    /// In a box: it is large, and every check that can fail carries it.
    body: Box<ErrorBody>,
    failure: Option<Failure>,
}

/// Why the server itself failed: for the log, never for the client. It travels with the response.
#[derive(Debug, Clone)]
pub(crate) struct Failure(pub(crate) Arc<dyn Error + Send + Sync>);

/// A handler panicked.
#[derive(Debug, thiserror::Error)]
#[error("a request made the server panic: {0}")]
struct Panicked(String);

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Self {
        let body = ErrorBody {
            code,
            message: message.into(),
            details: json!({}),
        };
        Self {
            status,
            body: Box::new(body),
            failure: None,
        }
    }

    #[must_use]
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.body.details = details;
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorCode::BadRequest, message)
    }

    /// There are too many of something at once.
    pub(crate) fn too_many(message: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::TooMany, message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, message)
    }

    pub(crate) fn forbidden_origin(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, ErrorCode::ForbiddenOrigin, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, ErrorCode::Conflict, message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("the body is longer than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, message)
    }

    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            ErrorCode::Unprocessable,
            message,
        )
    }

    /// Says what is wrong with the value of `field`.
    pub(crate) fn invalid(field: &str, problem: &str) -> Self {
        Self::unprocessable(format!("`{field}` {problem}")).with_details(json!({ "field": field }))
    }

    /// Somebody was first.
    pub(crate) fn already_answered(ask: &AskView) -> Self {
        let message = match &ask.answer {
            Some(answer) => format!("{} was first: this ask is answered", answer.by.name),
            None => "this ask is answered".to_owned(),
        };
        Self::new(StatusCode::CONFLICT, ErrorCode::AlreadyAnswered, message)
            .with_details(json!({ "ask": ask }))
    }

    /// The ask ended without an answer.
    pub(crate) fn over(ask: &AskView) -> Self {
        let why = ask.why.as_deref().unwrap_or("it ended");
        Self::new(
            StatusCode::GONE,
            ErrorCode::Over,
            format!("this ask is over: {why}"),
        )
        .with_details(json!({ "ask": ask }))
    }

    /// The server failed, for a reason that only its log tells.
    pub(crate) fn internal(cause: impl Into<Arc<dyn Error + Send + Sync>>) -> Self {
        let message = "something failed here; the server's log tells more";
        Self {
            failure: Some(Failure(cause.into())),
            ..Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                ErrorCode::Internal,
                message,
            )
        }
    }

    /// A handler panicked.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let words = panic
            .downcast_ref::<&str>()
            .map(|words| (*words).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "without a word".to_owned());
        Self::internal(Arc::new(Panicked(words)) as Arc<dyn Error + Send + Sync>)
    }

    /// Something that the server needs cannot be reached.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::Unavailable,
            message,
        )
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::internal(Arc::new(error) as Arc<dyn Error + Send + Sync>)
    }
}

impl From<Forbidden> for ApiError {
    fn from(error: Forbidden) -> Self {
        let details = match &error {
            Forbidden::MissingGrant(grant) => json!({ "grant": grant }),
            Forbidden::OtherWorkspace | Forbidden::WholeServer => json!({}),
            Forbidden::OwnProposal => json!({ "reason": "own_proposal" }),
        };
        Self::new(
            StatusCode::FORBIDDEN,
            ErrorCode::Forbidden,
            error.to_string(),
        )
        .with_details(details)
    }
}

impl From<BrokerError> for ApiError {
    fn from(error: BrokerError) -> Self {
        match error {
            BrokerError::Forbidden(forbidden) => forbidden.into(),
            BrokerError::Missing { .. } => Self::not_found(error.to_string()),
            BrokerError::UnfitAnswer(_) | BrokerError::UnfitRule(_) => {
                Self::unprocessable(error.to_string())
            }
            BrokerError::Invalid { field, problem } => Self::invalid(field, &problem),
            BrokerError::Unable(message) => Self::unprocessable(message),
            BrokerError::UnfitSetting(unfit) => Self::invalid(unfit.field, &unfit.problem)
                .with_details(json!({ "field": unfit.field, "offered": unfit.offered })),
            BrokerError::Refused(message) | BrokerError::Conflict(message) => {
                Self::conflict(message)
            }
            BrokerError::UnfitChange(refusal) => unfit_change(refusal),
            BrokerError::Changed(preview) => Self::conflict(
                "the files changed since you looked: look at the difference once more",
            )
            .with_details(json!({ "preview": holdings::preview_view(*preview) })),
            BrokerError::EngineUnavailable(message) => Self::unavailable(message),
            BrokerError::Stopping => Self::unavailable(error.to_string()),
            BrokerError::Engine(cause) => {
                let refusal = Self::unavailable(cause.sentence());
                Self {
                    failure: Some(Failure(Arc::new(cause))),
                    ..refusal
                }
            }
            BrokerError::Store(error) => error.into(),
        }
    }
}

/// What is wrong with a change, in the words of the API.
fn unfit_change(refusal: Refusal) -> ApiError {
    let details = json!({ "reason": refusal.code, "more": refusal.details });
    let message = refusal.message.clone();
    let error = match refusal.kind {
        Kind::Invalid | Kind::Unprocessable => ApiError::unprocessable(message),
        Kind::Outside => ApiError::new(StatusCode::FORBIDDEN, ErrorCode::Forbidden, message),
        Kind::NotFound => ApiError::not_found(message),
        Kind::Conflict => ApiError::conflict(message),
        Kind::TooLarge => {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, message)
        }
        Kind::System => ApiError::internal(Arc::new(refusal) as Arc<dyn Error + Send + Sync>),
    };
    error.with_details(details)
}

impl From<InvalidAnswerRequest> for ApiError {
    fn from(error: InvalidAnswerRequest) -> Self {
        match error {
            InvalidAnswerRequest::Field { field, problem } => Self::invalid(field, problem),
            InvalidAnswerRequest::Unfit(unfit) => Self::unprocessable(unfit.to_string()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(json_body(&self.body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        if self.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(failure) = self.failure {
            // The request's name is added where the failure is logged.
            response.extensions_mut().insert(failure);
            response
                .extensions_mut()
                .insert(Arc::<ErrorBody>::from(self.body));
        }
        response
    }
}

/// The body of an error.
pub(crate) fn json_body(body: &ErrorBody) -> Body {
    Body::from(serde_json::to_vec(body).expect("an error body has no map with odd keys"))
}
