//! JSON-RPC messages: a line becomes a request, a notification, a response or noise, and ours become lines.
//!
//! Nothing here fails: what is no message is noise with a name. Ids are kept exactly as they came.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::acp::density::tree;

/// How much of a line that is noise is kept.
const NOISE_LIMIT: usize = 2_000;

/// A line of an agent's output.
#[derive(Debug, Clone)]
pub enum Incoming {
    /// The agent wants something, and waits for a response.
    Request {
        /// What the response has to carry.
        id: RpcId,
        /// What is wanted.
        method: String,
        /// More about it.
        params: Params,
    },
    /// The agent announces something.
    Notification {
        /// What is announced.
        method: String,
        /// More about it.
        params: Params,
    },
    /// The agent responds to a request of ours.
    Response {
        /// The id of our request, if the agent is right.
        id: RpcId,
        /// What it responds.
        outcome: Result<Params, RpcError>,
    },
    /// Anything else.
    Noise(Noise),
}

/// The id of a request, as the exact JSON text that it came as: a number, a string or null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RpcId(String);

impl RpcId {
    /// Reads an id from its JSON text; nothing if it is no number, string or null.
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        match serde_json::from_str(text).ok()? {
            Value::Null | Value::Number(_) | Value::String(_) => Some(Self(text.to_owned())),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The id of the request that an ask answers, from what the ask is called: see [`RpcId::for_ask`].
    pub fn of_ask(called: &str) -> Option<Self> {
        let text = match called.rsplit_once(' ') {
            Some((text, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => text,
            Some(_) | None => called,
        };
        Self::from_text(text)
    }

    /// What the `number`th ask for one request is called, from one on. The first goes by the id alone; no text of an
    /// id ends with a blank and digits.
    pub fn for_ask(&self, number: u32) -> String {
        if number <= 1 {
            self.0.clone()
        } else {
            format!("{} {number}", self.0)
        }
    }

    /// Whether another text means the same id.
    pub fn is_same(&self, text: &str) -> bool {
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        read(&self.0).is_some_and(|own| read(text).as_ref() == Some(&own))
    }

    /// Its JSON text, such as `7` or `"abc"`.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The id of ours that it is; nothing if it is a number or null, for ours are strings.
    pub fn ours(&self) -> Option<String> {
        serde_json::from_str(&self.0).ok()
    }

    fn raw(&self) -> Box<RawValue> {
        RawValue::from_string(self.0.clone()).expect("an id was read from JSON")
    }
}

impl fmt::Display for RpcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What goes with a method, or comes as its result: JSON that has not been looked at.
#[derive(Debug, Clone, Default)]
pub struct Params(Option<Box<RawValue>>);

impl Params {
    /// The JSON of `value`.
    pub fn of<T: Serialize>(value: &T) -> Self {
        Self(serde_json::value::to_raw_value(value).ok())
    }

    /// Its JSON text.
    pub fn text(&self) -> &str {
        self.0.as_deref().map_or("null", RawValue::get)
    }

    /// Reads it as a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }

    /// Reads it as any JSON, unless it holds more values than any message does.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        tree(self.text())
    }
}

/// An error in a response.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// Its number.
    pub code: i64,
    /// Its words.
    pub message: String,
    /// More about it.
    pub data: Option<Value>,
}

impl RpcError {
    /// What was sent is no JSON.
    pub const PARSE: i64 = -32700;
    /// What was sent is no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is not known.
    pub const UNKNOWN_METHOD: i64 = -32601;
    /// The parameters are not right.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something went wrong within.
    pub const INTERNAL: i64 = -32603;
    /// The request was cancelled.
    pub const CANCELLED: i64 = -32800;
    /// Somebody has to sign in first.
    pub const SIGN_IN: i64 = -32000;
    /// It was not allowed. The protocol has no number for this; it is one of those that are free.
    pub const DENIED: i64 = -32001;
    /// The resource does not exist.
    pub const NOT_FOUND: i64 = -32002;

    /// Whether the agent wants somebody to sign in first.
    pub const fn wants_sign_in(&self) -> bool {
        self.code == Self::SIGN_IN
    }

    fn read(error: &RawValue) -> Self {
        let value = tree(error.get()).unwrap_or_default();
        let said = value.get("message").unwrap_or(&value);
        Self {
            code: value
                .get("code")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            message: said
                .as_str()
                .map_or_else(|| said.to_string(), str::to_owned),
            data: value.get("data").filter(|data| !data.is_null()).cloned(),
        }
    }
}

/// A line that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noise {
    /// What it is.
    pub kind: NoiseKind,
    /// Its text, cut if it is long.
    pub text: String,
    /// How long it was, in bytes.
    pub length: usize,
}

/// What a line is that is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoiseKind {
    /// It is no JSON: a banner, a log line.
    Banner,
    /// Messages in an array.
    Batch,
    /// A piece of JSON that was written over several lines.
    Fragment,
    /// It begins like a message and cannot be read.
    Broken {
        /// What is wrong.
        problem: String,
    },
    /// It is JSON, and no message.
    NotAMessage {
        /// What is wrong.
        problem: &'static str,
    },
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            NoiseKind::Banner => f.write_str("the agent wrote a line that is no message"),
            NoiseKind::Batch => f.write_str(
                "the agent wrote several messages in an array, which the protocol does not know",
            ),
            NoiseKind::Fragment => f.write_str(
                "the agent wrote a message over several lines, where each has to be on a line of its own",
            ),
            NoiseKind::Broken { problem } => {
                write!(f, "the agent wrote a message that cannot be read: {problem}")
            }
            NoiseKind::NotAMessage { problem } => {
                write!(f, "the agent wrote JSON that is no message: {problem}")
            }
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Reads a field that is there, even if it is null.
fn present<'de, D: Deserializer<'de>>(field: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(field).map(Some)
}

/// Reads a line.
pub fn read(line: &str) -> Incoming {
    let line = line.trim();
    match serde_json::from_str::<Envelope<'_>>(line) {
        Ok(envelope) if line.starts_with('{') => message(&envelope)
            .unwrap_or_else(|problem| noise(NoiseKind::NotAMessage { problem }, line)),
        Ok(_) => noise(NoiseKind::Batch, line),
        Err(error) => noise(name_noise(line, &error), line),
    }
}

fn message(envelope: &Envelope<'_>) -> Result<Incoming, &'static str> {
    let id = envelope
        .id
        .map(|id| RpcId::from_text(id.get()).ok_or("its id is no number, string or null"))
        .transpose()?;
    let held = |raw: &RawValue| Params(Some(raw.to_owned()));
    if let Some(method) = envelope.method {
        let method = serde_json::from_str(method.get()).map_err(|_| "its method is no string")?;
        let params = envelope.params.map(held).unwrap_or_default();
        return Ok(match id {
            Some(id) => Incoming::Request { id, method, params },
            None => Incoming::Notification { method, params },
        });
    }
    let id = id.ok_or("it has neither a method nor an id")?;
    let error = envelope.error.filter(|error| error.get() != "null");
    let outcome = match (error, envelope.result) {
        (Some(error), _) => Err(RpcError::read(error)),
        (None, Some(result)) => Ok(held(result)),
        (None, None) => return Err("it has neither a method nor a result nor an error"),
    };
    Ok(Incoming::Response { id, outcome })
}

fn name_noise(line: &str, error: &serde_json::Error) -> NoiseKind {
    let fragment = matches!(line, "{" | "}" | "[" | "]" | "}," | "],")
        || (line.starts_with('"') && line.contains("\":"));
    if fragment {
        NoiseKind::Fragment
    } else if line.starts_with('[') && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok() {
        NoiseKind::Batch
    } else if line.starts_with('{') {
        NoiseKind::Broken {
            problem: error.to_string(),
        }
    } else if serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok() {
        NoiseKind::NotAMessage {
            problem: "it is no object",
        }
    } else {
        NoiseKind::Banner
    }
}

fn noise(kind: NoiseKind, line: &str) -> Incoming {
    let end = line.floor_char_boundary(NOISE_LIMIT);
    Incoming::Noise(Noise {
        kind,
        text: line[..end].to_owned(),
        length: line.len(),
    })
}

#[derive(Serialize)]
struct Call<'a, T> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    method: &'a str,
    params: &'a T,
}

#[derive(Serialize)]
struct Reply<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReply<'a>>,
}

#[derive(Serialize)]
struct ErrorReply<'a> {
    code: i64,
    message: &'a str,
}

const VERSION: &str = "2.0";

/// The line of a request of ours.
pub fn request<T: Serialize>(id: &str, method: &str, params: &T) -> Vec<u8> {
    line(&Call {
        jsonrpc: VERSION,
        id: Some(id),
        method,
        params,
    })
}

/// The line of a notification of ours.
pub fn notification<T: Serialize>(method: &str, params: &T) -> Vec<u8> {
    line(&Call {
        jsonrpc: VERSION,
        id: None,
        method,
        params,
    })
}

/// The line that responds to the agent's request `id` with `result`.
pub fn result<T: Serialize>(id: &RpcId, result: &T) -> Vec<u8> {
    line(&Reply {
        jsonrpc: VERSION,
        id: &id.raw(),
        result: Some(result),
        error: None,
    })
}

/// The line that responds to the agent's request `id` with an error.
pub fn error(id: &RpcId, code: i64, message: &str) -> Vec<u8> {
    line(&Reply::<()> {
        jsonrpc: VERSION,
        id: &id.raw(),
        result: None,
        error: Some(ErrorReply { code, message }),
    })
}

/// The line that answers a request whose method nobody here knows.
pub fn unknown_method(id: &RpcId, method: &str) -> Vec<u8> {
    let message = format!("Method not found: {method}");
    error(id, RpcError::UNKNOWN_METHOD, &message)
}

fn line<T: Serialize>(message: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).expect("what we write is made of plain JSON types");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
