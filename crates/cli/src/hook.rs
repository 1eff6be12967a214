//! `hook`: what Claude Code's plugin has done when something happens in a session. Not for people.
//!
//! Each hook gets a JSON object on its standard input and answers with one on its standard output, or with nothing.
//! Whatever goes wrong, it ends with 0 and without a word that would hold anybody up: an exit code of 2 is a refusal
//! there. What is decided is decided by pure functions of what the hook was told; only the review gate does more than
//! read. Hooks of an agent that Countersign itself runs say nothing, so that no job begets another.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::Call;
use crate::exit::Exit;

mod ancestry;
mod gate;
mod input;
mod record;
mod report;
mod rescue;
mod session;

pub(crate) use ancestry::is_an_agents;
use input::Input;

/// More than a hook is ever told: of what is longer nothing is read, and the hook says nothing.
const LONGEST_INPUT: u64 = 4 << 20;
/// How long the input may take to come; it is there when the hook is started.
const INPUT_PATIENCE: Duration = Duration::from_secs(2);

/// What happened.
#[derive(Debug, clap::Args)]
pub struct Hook {
    #[arg(value_enum)]
    event: Event,
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Event {
    /// A session began or goes on
    SessionStart,
    /// A session ended; its jobs go on
    SessionEnd,
    /// A tool was used, or failed
    PostToolUse,
    /// A sub-agent is about to end
    SubagentStop,
    /// The session is about to rest
    Stop,
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// Nothing.
    Silent,
    /// Something that the model is to know.
    Context {
        /// The event, by Claude Code's name for it.
        event: String,
        /// What it is to know.
        text: String,
    },
    /// Something that the person is to know.
    Message(String),
    /// Not yet, and why.
    Block(String),
}

impl Verdict {
    /// What Claude Code is told.
    fn json(&self) -> Option<Value> {
        match self {
            Self::Silent => None,
            Self::Context { event, text } => Some(json!({
                "hookSpecificOutput": {"hookEventName": event, "additionalContext": text},
            })),
            Self::Message(text) => Some(json!({"systemMessage": text})),
            Self::Block(reason) => Some(json!({"decision": "block", "reason": reason})),
        }
    }
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Hook) -> anyhow::Result<Exit> {
    let told = tokio::time::timeout(INPUT_PATIENCE, read_input()).await;
    let input = told.ok().flatten().and_then(|text| Input::read(&text));
    let verdict = match input {
        Some(input) if !is_an_agents() => judge(call, arguments.event, &input).await,
        Some(_) | None => Verdict::Silent,
    };
    if let Some(answer) = verdict.json() {
        // If nobody reads it, nobody is held up.
        drop(call.output.json_line(&answer.to_string()));
    }
    Ok(Exit::Success)
}

async fn judge(call: &mut Call<'_>, event: Event, input: &Input) -> Verdict {
    match event {
        Event::SessionStart => session::began(call, input).await,
        Event::SessionEnd => {
            // Jobs belong to the server and go on; only what the gate remembers of the session goes.
            if let Some(data) = &call.surroundings.data {
                record::forget(data, &input.session_id);
            }
            Verdict::Silent
        }
        Event::PostToolUse => {
            rescue::note(call.surroundings.data.as_deref(), input);
            report::notice(input)
        }
        Event::SubagentStop => rescue::stop(call.surroundings.data.as_deref(), input),
        Event::Stop => gate::stop(call, input).await,
    }
}

/// Reads standard input, in a thread of its own that nothing waits for: a read of it cannot be called off.
async fn read_input() -> Option<String> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = std::io::stdin()
            .lock()
            .take(LONGEST_INPUT + 1)
            .read_to_string(&mut text);
        let is_whole = read.is_ok_and(|length| length as u64 <= LONGEST_INPUT);
        drop(send.send(is_whole.then_some(text)));
    });
    receive.await.ok().flatten()
}

/// The folder that a session works in, and the top of the repository around it.
fn root(input: &Input) -> Option<PathBuf> {
    let directory = PathBuf::from(&input.cwd).canonicalize().ok()?;
    Some(crate::jobs::root(&directory))
}

/// The first `limit` characters of `text`.
fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit).collect();
    format!("{kept} …")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_said_in_claude_codes_words() {
        assert_eq!(Verdict::Silent.json(), None);
        let context = Verdict::Context {
            event: "PostToolUse".to_owned(),
            text: "know this".to_owned(),
        };
        assert_eq!(
            context.json().unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "know this"}})
        );
        assert_eq!(
            Verdict::Block("why".to_owned()).json().unwrap(),
            json!({"decision": "block", "reason": "why"})
        );
        assert_eq!(
            Verdict::Message("so".to_owned()).json().unwrap(),
            json!({"systemMessage": "so"})
        );
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äöü …");
    }
}
