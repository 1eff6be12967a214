//! Says to a person what the server refused, and what they can do about it.

use countersign_api::{AskView, ErrorBody, ErrorCode};
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;

use crate::ask_text;

/// By what right a request was made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Credentials<'a> {
    /// This user's own socket.
    Socket,
    /// A token.
    Token {
        /// Where it was found.
        from: &'a str,
    },
    /// None at all.
    Nothing,
}

/// The sentence for a refusal.
pub(super) fn sentence(body: &ErrorBody, by: Credentials<'_>, now: Timestamp) -> String {
    let message = visible(body.message.trim()).into_owned();
    match body.code {
        ErrorCode::AlreadyAnswered => ask_in(body)
            .and_then(|ask| ask.answer.map(|answer| ask_text::was_first(&answer, now)))
            .unwrap_or(message),
        ErrorCode::Over => ask_in(body)
            .and_then(|ask| {
                let why = ask.why?;
                Some(format!(
                    "the ask is over, {}: {}",
                    ask.state.name(),
                    visible(&why)
                ))
            })
            .unwrap_or(message),
        ErrorCode::Forbidden => match (body.details["grant"].as_str(), by) {
            (Some(grant), Credentials::Token { from }) => format!(
                "{message}\nThe token from {from} lacks the grant `{}`; an owner makes another with `countersign token create`",
                visible(grant)
            ),
            (Some(grant), Credentials::Socket | Credentials::Nothing) => {
                format!("{message}\nThe missing grant is `{}`", visible(grant))
            }
            (None, _) => message,
        },
        ErrorCode::Unauthorized => match by {
            Credentials::Token { from } => format!(
                "{message}\nThe token from {from} is wrong, has ended or was revoked; `countersign token list` on the server's machine shows which are good"
            ),
            Credentials::Nothing => format!(
                "{message}\nPut a token into COUNTERSIGN_TOKEN, or into a file for --token-file"
            ),
            Credentials::Socket => message,
        },
        ErrorCode::BadRequest
        | ErrorCode::ForbiddenOrigin
        | ErrorCode::NotFound
        | ErrorCode::MethodNotAllowed
        | ErrorCode::Conflict
        | ErrorCode::TooLarge
        | ErrorCode::UnsupportedMediaType
        | ErrorCode::Unprocessable
        | ErrorCode::TooMany => message,
        ErrorCode::Internal => {
            format!(
                "{message}\nThe server's log says more; `countersign doctor` looks for what is wrong"
            )
        }
        ErrorCode::Unavailable => {
            format!("{message}\n`countersign doctor` says what the engine lacks")
        }
    }
}

fn ask_in(body: &ErrorBody) -> Option<AskView> {
    serde_json::from_value(body.details.get("ask")?.clone()).ok()
}
