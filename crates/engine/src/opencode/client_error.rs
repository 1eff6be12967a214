//! Why a call to opencode came to nothing: which call, and what opencode said.

use serde_json::Value;

use crate::opencode::client::PATIENCE;

/// Why a call came to nothing. `call` is its method and path, such as `GET /permission`.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The request certainly did not get there.
    #[error("opencode cannot be reached at {base_url}")]
    Unreachable {
        /// Where.
        base_url: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// The request may have got there, and no whole answer came back.
    #[error("opencode did not answer {call}")]
    Unanswered {
        /// The call.
        call: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// The event stream did not open in time.
    #[error("opencode did not open its event stream within {} s", PATIENCE.as_secs())]
    NoStream,
    /// The credentials are wrong.
    #[error("opencode refused the credentials")]
    Unauthorized,
    /// There is no such thing.
    #[error("opencode answered 404 to {call}: {message}")]
    NotFound {
        /// The call.
        call: String,
        /// What opencode said.
        message: String,
    },
    /// opencode refused.
    #[error("opencode answered {status} to {call}: {message}")]
    Refused {
        /// The call.
        call: String,
        /// The status.
        status: u16,
        /// What opencode said.
        message: String,
    },
    /// The answer cannot be read.
    #[error("opencode's answer to {call} cannot be read")]
    Unreadable {
        /// The call.
        call: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// The client could not be built, or the request.
    #[error("failed to set up the HTTP request")]
    Setup(#[source] reqwest::Error),
}

impl ClientError {
    /// The whole chain of causes in one line, for people.
    pub fn sentence(&self) -> String {
        let mut sentence = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(source) = cause {
            sentence.push_str(": ");
            sentence.push_str(&source.to_string());
            cause = source.source();
        }
        sentence
    }
}

/// What opencode says in the body of an error: its message where there is one, else the beginning of the body.
pub(super) fn said_in(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let message = [&parsed["data"]["message"], &parsed["message"]]
        .into_iter()
        .find_map(Value::as_str);
    let words: Vec<&str> = message.unwrap_or(body).split_whitespace().collect();
    words.join(" ").chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_which_call_failed_and_what_opencode_said() {
        let body = r#"{"name":"BadRequest","data":{"message":"Expected JSON value, got undefined\n  at [17]"}}"#;
        let error = ClientError::Refused {
            call: "GET /permission".to_owned(),
            status: 400,
            message: said_in(body),
        };
        assert_eq!(
            error.sentence(),
            "opencode answered 400 to GET /permission: Expected JSON value, got undefined at [17]"
        );
        assert_eq!(said_in("<html>\n broken"), "<html> broken");
        assert_eq!(said_in(r#"{"message":"gone"}"#), "gone");
    }
}
