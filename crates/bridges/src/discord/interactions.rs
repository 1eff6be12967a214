//! Presses and commands: Discord wants each of them answered within three seconds, and shows a failure otherwise.
//!
//! What came of it is told in one message that only the one sees who pressed. Where that takes longer, Discord is told in
//! time that it will come, and it comes after. Who was first of the two is for Discord to say.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::client::{code, send};
use super::{Discord, content};
use crate::adapter::{Adapter as _, Failure, Key, Outgoing, Pressed, Tone};
use crate::text::Text;

/// Discord waits for three seconds; after so long it is told that the answer takes longer.
const IN_TIME: Duration = Duration::from_millis(1_500);
/// After this nothing that is said about an interaction is in time.
const TOO_LATE: Duration = Duration::from_secs(3);

/// The kinds of replies to an interaction.
const SAYS: u32 = 4;
const SAYS_LATER: u32 = 5;
const CHANGES_LATER: u32 = 6;

/// The interactions that nobody has answered yet, for as long as Discord waits.
#[derive(Debug, Default)]
pub(super) struct Unanswered(Mutex<HashSet<u64>>);

impl Unanswered {
    fn set(&self) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a reply is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) id: u64,
    pub(super) application: u64,
    /// Letters, digits, `-` and `_`; it is a secret for as long as Discord takes replies.
    pub(super) token: String,
    /// Whether it is a command, and no press.
    pub(super) is_command: bool,
}

impl Handle {
    /// The handle of an interaction.
    pub(super) fn of(interaction: &Value) -> Option<Self> {
        Some(Self {
            id: super::number(&interaction["id"])?,
            application: super::number(&interaction["application_id"])?,
            token: token(interaction["token"].as_str()?)?,
            is_command: interaction["type"] == 2,
        })
    }

    /// The handle as it is kept.
    pub(super) fn text(&self) -> String {
        let kind = if self.is_command { "c" } else { "p" };
        format!("{kind}:{}:{}:{}", self.id, self.application, self.token)
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ':');
        Some(Self {
            is_command: parts.next()? == "c",
            id: parts.next()?.parse().ok()?,
            application: parts.next()?.parse().ok()?,
            token: token(parts.next()?)?,
        })
    }
}

/// A token, if it is nothing but a part of a path.
fn token(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_token = !text.is_empty() && text.bytes().all(is_plain);
    is_token.then(|| text.to_owned())
}

impl Discord {
    /// Notes that an answer is owed from now on.
    pub(super) fn owe(&self, handle: &Handle) {
        self.unanswered.set().insert(handle.id);
    }

    /// Tells Discord, when it is time, that the answer takes longer, unless it is there by then.
    pub(super) async fn answer_in_time(&self, handle: Handle) {
        tokio::time::sleep(IN_TIME).await;
        if !self.unanswered.set().remove(&handle.id) {
            return;
        }
        let reply = if handle.is_command {
            json!({"type": SAYS_LATER, "data": {"flags": 1 << 6}})
        } else {
            json!({"type": CHANGES_LATER})
        };
        if let Err(refusal) = self.call_back(&handle, &reply).await
            && refusal.code != code::ANSWERED
        {
            tracing::info!(bridge = "discord", failure = %refusal.failure, "an interaction is not answered in time");
        }
    }

    /// Answers a command in a channel that we are not for: Discord offers them everywhere.
    pub(super) async fn turn_away(&self, handle: Handle) {
        let whisper = content::whisper("Nothing is done in this channel.");
        let reply = json!({"type": SAYS, "data": whisper});
        if let Err(refusal) = self.call_back(&handle, &reply).await {
            tracing::info!(bridge = "discord", failure = %refusal.failure, "somebody could not be told");
        }
    }

    async fn call_back(
        &self,
        handle: &Handle,
        reply: &Value,
    ) -> Result<(), super::client::Refusal> {
        let path = format!("interactions/{}/{}/callback", handle.id, handle.token);
        let request = self.client.call(Method::POST, path).json(reply);
        send(request.timeout(TOO_LATE)).await.map(drop)
    }

    pub(super) async fn answer_privately(
        &self,
        press: &Pressed,
        tone: Tone,
        text: &str,
    ) -> Result<(), Failure> {
        let handle = press.handle.as_deref().and_then(Handle::read);
        if let Some(handle) = handle {
            self.unanswered.set().remove(&handle.id);
            let whisper = content::whisper(text);
            let reply = json!({"type": SAYS, "data": whisper});
            let refused = match self.call_back(&handle, &reply).await {
                Ok(()) => return Ok(()),
                Err(refusal) if refusal.code == code::ANSWERED => {
                    let path = format!("webhooks/{}/{}", handle.application, handle.token);
                    let request = self.client.call(Method::POST, path).json(&whisper);
                    match send(request).await {
                        Ok(_) => return Ok(()),
                        Err(refusal) => refusal.failure,
                    }
                }
                Err(refusal) => refusal.failure,
            };
            // It came too late for Discord, and perhaps not for whoever pressed.
            if tone == Tone::Done || !matches!(refused, Failure::Gone(_)) {
                return Err(refused);
            }
        }
        let place = self.find_direct(&press.by.id).await?;
        let message = Outgoing::plain(Text::plain(text));
        let key = Key(format!("tell_{:032x}", rand::random::<u128>()));
        self.send(&place, &message, &key).await.map(drop)
    }

    /// Makes our commands known to Discord, so that people are offered them.
    pub(super) async fn register_commands(&self, application: u64) {
        let text = |name: &str, description: &str| json!({"type": 3, "name": name, "description": description});
        let command = |name: &str, description: &str, options: Vec<Value>| json!({"type": 1, "name": name, "description": description, "options": options});
        let ask = || {
            text(
                "ask",
                "The name on the card; the one open ask of the thread if it is not said",
            )
        };
        let commands = json!([
            command("new", "Begin a new session in this thread", vec![]),
            command("stop", "Stop what goes on", vec![]),
            command("status", "How the session stands", vec![]),
            command("jobs", "The newest jobs", vec![]),
            command(
                "engine",
                "Which engine is used, or use another",
                vec![text("name", "The engine")]
            ),
            command(
                "model",
                "Which model is used, or use another",
                vec![text("name", "The model")]
            ),
            command(
                "allow",
                "Answer an ask",
                vec![ask(), text("answer", "The number of an option, or words")]
            ),
            command(
                "deny",
                "Deny an ask",
                vec![ask(), text("why", "The agent reads it")]
            ),
            command("help", "What can be said", vec![]),
        ]);
        let path = format!("applications/{application}/commands");
        let request = self.client.call(Method::PUT, path).json(&commands);
        if let Err(refusal) = send(request).await {
            // They can be said in words as well.
            tracing::info!(bridge = "discord", failure = %refusal.failure, "the commands are not offered");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_as_it_was_kept_and_is_nothing_but_part_of_a_path() {
        let interaction =
            |token: &str| json!({"id": "12", "application_id": "34", "token": token, "type": 3});
        let handle = Handle::of(&interaction("aW50x_-9")).unwrap();
        assert_eq!(Handle::read(&handle.text()), Some(handle));
        assert_eq!(Handle::of(&interaction("../../channels/1")), None);
        assert_eq!(Handle::of(&interaction("a?b")), None);
    }
}
