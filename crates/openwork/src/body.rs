//! Bodies of requests: JSON, within limits.

use std::time::Duration;

use bytes::Bytes;
use countersign_server::Body;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::refusal::Refusal;

/// A body up to this length is read at once.
const SHORT: usize = 1 << 20;
/// The longest body that is JSON: whole workspaces are imported with it.
const LONGEST: usize = 32 << 20;
/// How many long bodies are read at a time.
const LONG_ONES: usize = 4;
/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_mins(1);

/// Reads bodies, only few long ones at a time, so that they cannot take all memory.
pub(crate) struct Reader {
    room: Semaphore,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            room: Semaphore::new(LONG_ONES),
        }
    }
}

impl Reader {
    /// Reads a body that has to be JSON.
    pub(crate) async fn json(&self, body: Body) -> Result<Fields, Refusal> {
        let bytes = self.bytes(body, LONGEST).await?;
        let value = serde_json::from_slice(&bytes).map_err(|_| no_json())?;
        match value {
            Value::Object(fields) => Ok(Fields(fields)),
            // Nothing can be taken out of nothing; from everything else, at least nothing is.
            Value::Null => Err(no_json()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Ok(Fields(Map::new()))
            }
        }
    }

    /// Reads a body of at most `most` bytes.
    pub(crate) async fn bytes(&self, body: Body, most: usize) -> Result<Bytes, Refusal> {
        let least = hyper::body::Body::size_hint(&body).lower();
        if least > most as u64 {
            return Err(too_large(most));
        }
        let is_short = hyper::body::Body::size_hint(&body)
            .upper()
            .is_some_and(|upper| upper <= SHORT as u64);
        let reading = async {
            let room = if is_short {
                None
            } else {
                self.room.acquire().await.ok()
            };
            let whole = Limited::new(body, most).collect().await;
            drop(room);
            whole
        };
        match tokio::time::timeout(PATIENCE, reading).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(most)),
            Ok(Err(_)) => Err(no_json()),
            Err(_) => Err(Refusal::new(
                408,
                "request_timeout",
                "The request body did not arrive in time",
            )),
        }
    }
}

fn no_json() -> Refusal {
    Refusal::new(400, "invalid_json", "Invalid JSON body")
}

fn too_large(most: usize) -> Refusal {
    let message = format!("The request body is longer than {most} bytes");
    Refusal::new(413, "payload_too_large", message)
}

/// The fields of a JSON body.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// The field `name`; `null` if there is none.
    pub(crate) fn take(&mut self, name: &str) -> Value {
        self.0.remove(name).unwrap_or(Value::Null)
    }

    /// The field `name` as a text. Numbers and booleans are taken as they are written; nothing and lists as nothing.
    pub(crate) fn text(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => String::new(),
        }
    }

    /// The field `name` as a text that says something.
    pub(crate) fn filled(&self, name: &str) -> Option<String> {
        let text = self.text(name);
        (!text.is_empty()).then_some(text)
    }

    /// Whether the field `name` is there, as whatever.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All of them.
    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}
