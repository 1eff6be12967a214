//! What opencode announces: one frame of its event stream, turned into a value.
//!
//! A frame that cannot be read never stands for anything; that it could not be read is said, so that the
//! lists are read instead.

use serde::Deserialize;
use serde_json::Value;

use crate::opencode::failure::MessageError;
use crate::opencode::wire::{Message, Part, Permission, QuestionRequest, Session, Status};

/// One announcement and the directory it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The directory; absent for what concerns the whole server.
    pub directory: Option<String>,
    /// What is announced.
    pub signal: Signal,
}

/// What opencode can announce.
#[derive(Debug, Clone, PartialEq)]
pub enum Signal {
    /// A tool wants leave.
    PermissionAsked(Box<Permission>, Value),
    /// Somebody answered a tool.
    PermissionReplied {
        /// The request.
        request: String,
        /// What was said: `once`, `always` or `reject`.
        reply: String,
    },
    /// The agent wants to know something.
    QuestionAsked(Box<QuestionRequest>, Value),
    /// Somebody answered a question.
    QuestionReplied {
        /// The request.
        request: String,
    },
    /// Somebody declined a question.
    QuestionRejected {
        /// The request.
        request: String,
    },
    /// A session was made or changed.
    SessionChanged(Session),
    /// A session does something else now.
    SessionStatus {
        /// The session.
        session: String,
        /// What it does.
        status: Status,
    },
    /// A session failed.
    SessionFailed {
        /// The session, where it is said.
        session: Option<String>,
        /// Why.
        error: MessageError,
    },
    /// A message was made or changed.
    MessageChanged(Box<Message>),
    /// A piece of a message was made or changed.
    PartChanged(Box<Part>),
    /// Words were added to a piece of a message.
    PartGrew {
        /// The session.
        session: String,
        /// The piece.
        part: String,
        /// Which of its fields grew.
        field: String,
        /// The words.
        text: String,
    },
    /// Everything of the directory was thrown away.
    InstanceDisposed,
    /// The stream is alive.
    Alive,
    /// Something that does not matter here.
    Other,
    /// Something that matters and could not be read.
    Unreadable {
        /// Its type.
        kind: String,
        /// What was wrong.
        message: String,
    },
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    directory: Option<String>,
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    properties: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestProperties {
    #[serde(rename = "requestID")]
    request_id: String,
    #[serde(default)]
    reply: String,
}

#[derive(Deserialize)]
struct StatusProperties {
    #[serde(rename = "sessionID")]
    session_id: String,
    status: Status,
}

#[derive(Deserialize)]
struct ErrorProperties {
    #[serde(default, rename = "sessionID")]
    session_id: Option<String>,
    error: MessageError,
}

#[derive(Deserialize)]
struct Holder<T> {
    #[serde(alias = "info", alias = "part")]
    held: T,
}

#[derive(Deserialize)]
struct DeltaProperties {
    #[serde(rename = "sessionID")]
    session_id: String,
    #[serde(rename = "partID")]
    part_id: String,
    #[serde(default)]
    field: String,
    delta: String,
}

/// Reads one frame of `/global/event`.
pub fn frame(data: &str) -> Frame {
    match serde_json::from_str::<Envelope>(data) {
        Ok(envelope) => Frame {
            directory: envelope.directory.filter(|directory| directory != "global"),
            signal: signal(envelope.payload),
        },
        Err(error) => Frame {
            directory: None,
            signal: Signal::Unreadable {
                kind: "frame".to_owned(),
                message: error.to_string(),
            },
        },
    }
}

fn signal(payload: Payload) -> Signal {
    let Payload { kind, properties } = payload;
    read_signal(&kind, properties).unwrap_or_else(|error| Signal::Unreadable {
        kind,
        message: error.to_string(),
    })
}

fn read_signal(kind: &str, properties: Value) -> Result<Signal, serde_json::Error> {
    Ok(match kind {
        "permission.asked" => {
            Signal::PermissionAsked(Box::new(Permission::deserialize(&properties)?), properties)
        }
        "permission.replied" => {
            let replied = RequestProperties::deserialize(properties)?;
            Signal::PermissionReplied {
                request: replied.request_id,
                reply: replied.reply,
            }
        }
        "question.asked" => Signal::QuestionAsked(
            Box::new(QuestionRequest::deserialize(&properties)?),
            properties,
        ),
        "question.replied" => Signal::QuestionReplied {
            request: RequestProperties::deserialize(properties)?.request_id,
        },
        "question.rejected" => Signal::QuestionRejected {
            request: RequestProperties::deserialize(properties)?.request_id,
        },
        "session.created" | "session.updated" => {
            Signal::SessionChanged(Holder::deserialize(properties)?.held)
        }
        "session.status" => {
            let changed = StatusProperties::deserialize(properties)?;
            Signal::SessionStatus {
                session: changed.session_id,
                status: changed.status,
            }
        }
        "session.error" => {
            let failed = ErrorProperties::deserialize(properties)?;
            Signal::SessionFailed {
                session: failed.session_id,
                error: failed.error,
            }
        }
        "message.updated" => {
            Signal::MessageChanged(Box::new(Holder::deserialize(properties)?.held))
        }
        "message.part.updated" => {
            Signal::PartChanged(Box::new(Holder::deserialize(properties)?.held))
        }
        "message.part.delta" => {
            let grew = DeltaProperties::deserialize(properties)?;
            Signal::PartGrew {
                session: grew.session_id,
                part: grew.part_id,
                field: grew.field,
                text: grew.delta,
            }
        }
        "server.instance.disposed" => Signal::InstanceDisposed,
        "server.connected" | "server.heartbeat" => Signal::Alive,
        _ => Signal::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(payload: &str) -> Signal {
        frame(&format!(
            r#"{{"directory":"/srv/proj","project":"p","payload":{payload}}}"#
        ))
        .signal
    }

    #[test]
    fn a_permission_is_read_with_its_command() {
        let signal = read(
            r#"{"id":"evt_1","type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1",
               "permission":"bash","patterns":["echo hi > a.txt","cat a.txt"],
               "metadata":{"command":"echo hi > a.txt; cat a.txt"},"always":["echo *"],
               "tool":{"messageID":"msg_1","callID":"call_1"}}}"#,
        );
        let Signal::PermissionAsked(asked, raw) = signal else {
            panic!("read as {signal:?}")
        };
        assert_eq!(asked.permission, "bash");
        assert_eq!(asked.metadata["command"], "echo hi > a.txt; cat a.txt");
        assert_eq!(asked.tool.unwrap().call_id, "call_1");
        assert_eq!(raw["always"][0], "echo *");
    }

    #[test]
    fn a_permission_without_a_tool_or_metadata_is_still_read() {
        let signal = read(
            r#"{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"doom_loop"}}"#,
        );
        assert!(matches!(signal, Signal::PermissionAsked(asked, _) if asked.tool.is_none()));
    }

    #[test]
    fn what_matters_and_cannot_be_read_is_said_to_be_unreadable() {
        assert!(matches!(
            read(r#"{"type":"permission.asked","properties":{"id":7}}"#),
            Signal::Unreadable { kind, .. } if kind == "permission.asked"
        ));
        assert!(matches!(frame("{").signal, Signal::Unreadable { .. }));
    }

    #[test]
    fn noise_is_passed_over() {
        assert_eq!(
            read(r#"{"type":"plugin.added","properties":{}}"#),
            Signal::Other
        );
        assert_eq!(
            read(r#"{"type":"server.heartbeat","properties":{}}"#),
            Signal::Alive
        );
        assert_eq!(read(r#"{"type":"sync","syncEvent":{}}"#), Signal::Other);
    }

    #[test]
    fn an_unknown_status_is_not_taken_for_idle() {
        let signal = read(
            r#"{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"dreaming"}}}"#,
        );
        assert!(matches!(
            signal,
            Signal::SessionStatus {
                status: Status::Unknown,
                ..
            }
        ));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>()) {
            frame(&text);
        }

        #[test]
        fn no_properties_make_the_reader_panic(
            kind in prop::sample::select(vec![
                "permission.asked", "permission.replied", "question.asked", "session.status",
                "session.error", "message.updated", "message.part.updated", "message.part.delta",
            ]),
            text in "[\\[\\]{}\":,a-zA-Z0-9]{0,80}",
        ) {
            read(&format!(r#"{{"type":"{kind}","properties":{text}}}"#));
        }
    }
}
