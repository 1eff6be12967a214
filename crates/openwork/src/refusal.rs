//! Why a request is not done, as OpenWork's clients are told it.

use std::borrow::Cow;

use countersign_broker::{BrokerError, StoreError};
use countersign_server::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;

use crate::reply;

/// Why a request is not done.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: Cow<'static, str>,
    pub(crate) details: Option<Box<Value>>,
}

#[derive(Serialize)]
struct Body<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Value>,
}

impl Refusal {
    pub(crate) fn new(
        status: u16,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: code.into(),
            message: message.into(),
            details: None,
        }
    }

    #[must_use]
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "not_found", "Not found")
    }

    /// The server failed: the log says how, and the client that it did.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request failed");
        Self::new(500, "internal_error", "Unexpected server error")
    }

    pub(crate) fn into_response(self) -> Response {
        let body = Body {
            code: &self.code,
            message: &self.message,
            details: self.details.as_deref(),
        };
        reply::json(self.status, &body)
    }
}

impl From<countersign_workspace::Refusal> for Refusal {
    fn from(refusal: countersign_workspace::Refusal) -> Self {
        if refusal.kind == countersign_workspace::Kind::System {
            return Self::internal(&refusal);
        }
        Self {
            status: StatusCode::from_u16(refusal.kind.status())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            code: refusal.code.into(),
            message: refusal.message.into(),
            details: refusal.details.map(Box::new),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::internal(&error)
    }
}

impl From<BrokerError> for Refusal {
    fn from(error: BrokerError) -> Self {
        match &error {
            BrokerError::Forbidden(_) => Self::new(403, "forbidden", error.to_string()),
            BrokerError::Stopping => Self::new(503, "server_stopping", error.to_string()),
            BrokerError::Missing { .. }
            | BrokerError::UnfitAnswer(_)
            | BrokerError::UnfitRule(_)
            | BrokerError::UnfitChange(_)
            | BrokerError::Changed(_)
            | BrokerError::Invalid { .. }
            | BrokerError::Unable(_)
            | BrokerError::UnfitSetting(_)
            | BrokerError::Refused(_)
            | BrokerError::Conflict(_)
            | BrokerError::EngineUnavailable(_)
            | BrokerError::Engine(_)
            | BrokerError::Store(_) => Self::internal(&error),
        }
    }
}
