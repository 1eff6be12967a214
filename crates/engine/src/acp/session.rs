//! Sessions and prompts: the lines that begin, continue and end them, and what the agent answers.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    AuthenticateRequest, BlobResourceContents, CancelNotification, CloseSessionRequest,
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ListSessionsRequest,
    LoadSessionRequest, NewSessionRequest, PromptRequest, ResourceLink, ResumeSessionRequest,
    SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionModeRequest, TextContent,
    TextResourceContents,
};
use countersign_core::settings::{SessionSettings, SettingValue};
use serde_json::json;

use crate::acp::fields::Fields;
use crate::acp::initialize::Shape;
use crate::acp::message::{self, Params};
use crate::acp::settings;

/// Where a session works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its directory, absolute.
    pub directory: PathBuf,
    /// More directories that it may work in.
    pub additional: Vec<PathBuf>,
}

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPart {
    /// Words.
    Text(String),
    /// A picture.
    Image {
        /// Its bytes in base 64.
        base64: String,
        /// What kind of picture, such as `image/png`.
        media_type: String,
    },
    /// A file that the agent may look at.
    Link {
        /// Its name.
        name: String,
        /// Where it is.
        uri: String,
    },
    /// A text that comes along.
    EmbeddedText {
        /// Where it is from.
        uri: String,
        /// What kind of text.
        media_type: Option<String>,
        /// The text.
        text: String,
    },
    /// A file that comes along.
    EmbeddedBytes {
        /// Where it is from.
        uri: String,
        /// What kind of file.
        media_type: Option<String>,
        /// Its bytes in base 64.
        base64: String,
    },
}

/// The line that begins a session.
pub fn new(id: &str, place: &Place) -> Vec<u8> {
    let params =
        NewSessionRequest::new(&place.directory).additional_directories(place.additional.clone());
    message::request(id, "session/new", &params)
}

/// The line that has an earlier session told again, to go on with it.
pub fn load(id: &str, session: &str, place: &Place) -> Vec<u8> {
    let params = LoadSessionRequest::new(session.to_owned(), &place.directory)
        .additional_directories(place.additional.clone());
    message::request(id, "session/load", &params)
}

/// The line that goes on with an earlier session.
pub fn resume(id: &str, session: &str, place: &Place) -> Vec<u8> {
    let params = ResumeSessionRequest::new(session.to_owned(), &place.directory)
        .additional_directories(place.additional.clone());
    message::request(id, "session/resume", &params)
}

/// The line that asks for the agent's sessions in a directory.
pub fn list(id: &str, directory: &Path, cursor: Option<&str>) -> Vec<u8> {
    let params = ListSessionsRequest::new()
        .cwd(directory.to_owned())
        .cursor(cursor.map(str::to_owned));
    message::request(id, "session/list", &params)
}

/// The line that closes a session.
pub fn close(id: &str, session: &str) -> Vec<u8> {
    let params = CloseSessionRequest::new(session.to_owned());
    message::request(id, "session/close", &params)
}

/// The line that says something in a session.
pub fn prompt(id: &str, session: &str, parts: Vec<PromptPart>) -> Vec<u8> {
    let blocks = parts.into_iter().map(block).collect();
    let params = PromptRequest::new(session.to_owned(), blocks);
    message::request(id, "session/prompt", &params)
}

/// The line that stops what goes on in a session.
pub fn cancel(session: &str) -> Vec<u8> {
    let params = CancelNotification::new(session.to_owned());
    message::notification("session/cancel", &params)
}

/// The line that sets a session's mode in the older way.
pub fn set_mode(id: &str, session: &str, mode: &str) -> Vec<u8> {
    let params = SetSessionModeRequest::new(session.to_owned(), mode.to_owned());
    message::request(id, "session/set_mode", &params)
}

/// The line that sets a session's model in the older way, which the protocol never had and agents do.
pub fn set_model(id: &str, session: &str, model: &str) -> Vec<u8> {
    let params = json!({ "sessionId": session, "modelId": model });
    message::request(id, "session/set_model", &params)
}

/// The line that sets something for a session.
pub fn set_option(
    id: &str,
    shape: Shape,
    session: &str,
    option: &str,
    setting: &SettingValue,
) -> Vec<u8> {
    let value = match setting {
        SettingValue::Selected(value) => SessionConfigOptionValue::value_id(value.clone()),
        SettingValue::Boolean(on) => SessionConfigOptionValue::boolean(*on),
    };
    let params = SetSessionConfigOptionRequest::new(session.to_owned(), option.to_owned(), value);
    let mut params = json!(params);
    // Version 2 wants the kind of every value said.
    if let (Shape::Two, SettingValue::Selected(_)) = (shape, setting) {
        params["type"] = json!("id");
    }
    message::request(id, "session/set_config_option", &params)
}

/// The line that signs in by one of the ways that the agent named.
pub fn sign_in(id: &str, shape: Shape, method: &str) -> Vec<u8> {
    let params = AuthenticateRequest::new(method.to_owned());
    let name = match shape {
        Shape::One => "authenticate",
        Shape::Two => "auth/login",
    };
    message::request(id, name, &params)
}

fn block(part: PromptPart) -> ContentBlock {
    match part {
        PromptPart::Text(text) => ContentBlock::Text(TextContent::new(text)),
        PromptPart::Image { base64, media_type } => {
            ContentBlock::Image(ImageContent::new(base64, media_type))
        }
        PromptPart::Link { name, uri } => ContentBlock::ResourceLink(ResourceLink::new(name, uri)),
        PromptPart::EmbeddedText {
            uri,
            media_type,
            text,
        } => embedded(EmbeddedResourceResource::TextResourceContents(
            TextResourceContents::new(text, uri).mime_type(media_type),
        )),
        PromptPart::EmbeddedBytes {
            uri,
            media_type,
            base64,
        } => embedded(EmbeddedResourceResource::BlobResourceContents(
            BlobResourceContents::new(base64, uri).mime_type(media_type),
        )),
    }
}

fn embedded(resource: EmbeddedResourceResource) -> ContentBlock {
    ContentBlock::Resource(EmbeddedResource::new(resource))
}

/// What an agent answers when a session begins, is loaded or resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionOpened {
    /// What the agent calls the session; only said of a new one.
    pub session: Option<String>,
    /// What can be set for it.
    pub settings: SessionSettings,
}

/// Reads the answer to `session/new`, `session/load` or `session/resume`.
pub fn read_opened(result: &Params) -> SessionOpened {
    let fields = Fields::read(result.text());
    SessionOpened {
        session: fields.text("sessionId"),
        settings: settings::read(&fields),
    }
}

/// A session that an agent lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// What the agent calls it.
    pub session: String,
    /// The directory it works in.
    pub directory: String,
    /// What it is about.
    pub title: String,
    /// When something last happened in it, as the agent writes it.
    pub updated_at: String,
}

/// Reads the answer to `session/list`: the sessions, and where the next ones begin.
pub fn read_list(result: &Params) -> (Vec<ListedSession>, Option<String>) {
    let fields = Fields::read(result.text());
    let sessions = fields
        .objects("sessions")
        .iter()
        .filter_map(|session| {
            Some(ListedSession {
                session: session.text("sessionId")?,
                directory: session.text_or_empty("cwd"),
                title: session.text_or_empty("title"),
                updated_at: session.text_or_empty("updatedAt"),
            })
        })
        .collect();
    (sessions, fields.text("nextCursor"))
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The agent came to an end by itself.
    EndTurn,
    /// The model may say no more.
    MaxTokens,
    /// The model may be asked no more in one turn.
    MaxTurnRequests,
    /// The agent refuses to go on.
    Refusal,
    /// The turn was cancelled.
    Cancelled,
    /// Something that a later version knows, in the agent's word.
    Other(String),
}

impl StopReason {
    /// Reads the protocol's word.
    pub fn from_word(word: &str) -> Self {
        match word {
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "max_turn_requests" => Self::MaxTurnRequests,
            "refusal" => Self::Refusal,
            "cancelled" => Self::Cancelled,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// What an agent answers to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptAnswer {
    /// The turn has ended.
    Ended(StopReason),
    /// The prompt was taken; that the turn has ended will be announced. So it is in version 2.
    Taken {
        /// What the agent calls the message.
        message: String,
    },
}

/// Reads the answer to `session/prompt`. One that gives no reason has ended for a reason that is not known.
pub fn read_prompt(shape: Shape, result: &Params) -> PromptAnswer {
    let fields = Fields::read(result.text());
    match (shape, fields.text("stopReason"), fields.text("messageId")) {
        (Shape::Two, None, Some(message)) => PromptAnswer::Taken { message },
        (_, stop, _) => PromptAnswer::Ended(StopReason::from_word(&stop.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn params(line: &[u8]) -> Value {
        serde_json::from_slice::<Value>(line).unwrap()["params"].take()
    }

    #[test]
    fn version_two_is_told_the_kind_of_a_value() {
        let selected = SettingValue::Selected("plan".to_owned());
        assert_eq!(
            params(&set_option("a", Shape::Two, "s", "mode", &selected)),
            json!({ "sessionId": "s", "configId": "mode", "type": "id", "value": "plan" })
        );
        assert_eq!(
            params(&set_option("a", Shape::One, "s", "mode", &selected)),
            json!({ "sessionId": "s", "configId": "mode", "value": "plan" })
        );
        assert_eq!(
            params(&set_option(
                "a",
                Shape::One,
                "s",
                "fast",
                &SettingValue::Boolean(true)
            )),
            json!({ "sessionId": "s", "configId": "fast", "type": "boolean", "value": true })
        );
    }

    #[test]
    fn a_reason_to_stop_that_nobody_knows_is_kept() {
        let answer = |shape, result: &Value| read_prompt(shape, &Params::of(result));
        assert_eq!(
            answer(Shape::One, &json!({ "stopReason": "tired" })),
            PromptAnswer::Ended(StopReason::Other("tired".to_owned()))
        );
        assert_eq!(
            answer(Shape::One, &json!({ "messageId": "m" })),
            PromptAnswer::Ended(StopReason::Other(String::new()))
        );
        assert_eq!(
            answer(Shape::Two, &json!({ "messageId": "m" })),
            PromptAnswer::Taken {
                message: "m".to_owned()
            }
        );
    }

    #[test]
    fn sessions_are_listed_without_those_that_have_no_id() {
        let result = json!({
            "sessions": [{ "sessionId": "a", "cwd": "/srv", "title": null }, { "cwd": "/srv" }],
            "nextCursor": "n",
        });
        let (sessions, next) = read_list(&Params::of(&result));
        assert_eq!(sessions.len(), 1);
        assert_eq!(sessions[0].directory, "/srv");
        assert_eq!(next.as_deref(), Some("n"));
    }
}
