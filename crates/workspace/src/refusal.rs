//! Why something is not read or not changed, in the words that OpenWork's clients know.

use serde_json::Value;

use crate::beneath::BeneathError;

/// Why something is not read or not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// What kind of reason it is.
    pub kind: Kind,
    /// A stable name for it.
    pub code: &'static str,
    /// What a person is told.
    pub message: String,
    /// More of it, for programs.
    pub details: Option<Value>,
}

/// What kind of reason it is; each has a status of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What is wanted makes no sense: 400.
    Invalid,
    /// The path leads out of the workspace: 403.
    Outside,
    /// There is no such thing: 404.
    NotFound,
    /// It fits more than one thing, or another change: 409.
    Conflict,
    /// It is larger than what is read or written: 413.
    TooLarge,
    /// It is well-formed, and what it says or what is on the disk is not: 422.
    Unprocessable,
    /// The system refuses: 500.
    System,
}

impl Kind {
    /// The status of HTTP that says this.
    pub const fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Outside => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::Unprocessable => 422,
            Self::System => 500,
        }
    }
}

impl Refusal {
    pub(crate) fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: message.into(),
            details: None,
        }
    }

    pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, code, message)
    }

    pub(crate) fn unprocessable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Unprocessable, code, message)
    }

    pub(crate) fn with_details(self, details: Value) -> Self {
        Self {
            details: Some(details),
            ..self
        }
    }
}

impl From<BeneathError> for Refusal {
    fn from(error: BeneathError) -> Self {
        let message = error.to_string();
        match error {
            BeneathError::Outside => Self::new(Kind::Outside, "path_outside_workspace", message),
            BeneathError::NoPlace => Self::invalid("invalid_path", message),
            BeneathError::TooLarge { .. } => Self::new(Kind::TooLarge, "file_too_large", message),
            BeneathError::Missing => Self::new(Kind::NotFound, "file_not_found", message),
            BeneathError::NotAFile => Self::unprocessable("not_a_file", message),
            BeneathError::Exists => Self::new(Kind::Conflict, "file_exists", message),
            BeneathError::System(_) => Self::new(Kind::System, "file_system_error", message),
        }
    }
}
