//! What an agent tells of a session while it works: `session/update`, in Countersign's words.
//!
//! Reading never fails: what nobody knows here has a name of its own.

use countersign_core::session::{PlanStep, StepStatus};
use countersign_core::settings::{ConfigOption, Cost, SlashCommand, Usage};

use crate::acp::fields::Fields;
use crate::acp::message::Params;
use crate::acp::session::StopReason;
use crate::acp::settings::config_options;
use crate::acp::tool_call::{ToolCallChange, content_text};

/// A piece of news about a session.
#[derive(Debug, Clone)]
pub struct SessionUpdate {
    /// What the agent calls the session; news without one belong to none.
    pub session: Option<String>,
    /// The news.
    pub update: Update,
}

/// What an agent can tell.
#[derive(Debug, Clone)]
pub enum Update {
    /// It says something.
    Text(Chunk),
    /// It thinks something.
    Thought(Chunk),
    /// Somebody said something: what is told again when a session is loaded.
    User(Chunk),
    /// Something about a tool call.
    Tool(ToolCallChange),
    /// What it means to do.
    Plan(Vec<PlanStep>),
    /// The commands that it knows.
    Commands(Vec<SlashCommand>),
    /// The mode that it is in now.
    Mode(String),
    /// What can be set.
    Options(Vec<ConfigOption>),
    /// What the session is about, if that is what changed.
    Title(Option<String>),
    /// How full its memory is.
    Usage(Usage),
    /// Something that people should know.
    Notice {
        /// How bad it is, in the agent's word.
        severity: String,
        /// The words.
        text: String,
    },
    /// What it does now; only said in version 2.
    State(State),
    /// Something that a later version knows, or that cannot be read.
    Unknown {
        /// The agent's word for it.
        kind: String,
    },
}

/// Some words of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What the agent calls the message.
    pub message: Option<String>,
    /// The words.
    pub text: String,
}

/// What an agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It works.
    Running,
    /// It waits for somebody.
    Waiting,
    /// It does nothing; if that is the end of a turn, perhaps with the reason.
    Idle(Option<StopReason>),
}

/// Reads the parameters of `session/update`.
pub fn read(params: &Params) -> SessionUpdate {
    let fields = Fields::read(params.text());
    let update = fields.object("update");
    let kind = update.text_or_empty("sessionUpdate");
    SessionUpdate {
        session: fields.text("sessionId"),
        update: read_update(&kind, &update).unwrap_or(Update::Unknown { kind }),
    }
}

fn read_update(kind: &str, update: &Fields<'_>) -> Option<Update> {
    Some(match kind {
        "agent_message_chunk" | "agent_message" => Update::Text(chunk(update)),
        "agent_thought_chunk" | "agent_thought" => Update::Thought(chunk(update)),
        "user_message_chunk" | "user_message" => Update::User(chunk(update)),
        "tool_call" | "tool_call_update" => Update::Tool(ToolCallChange::read(update)?),
        "plan" => Update::Plan(update.objects("entries").iter().map(step).collect()),
        "available_commands_update" => Update::Commands(
            update
                .objects("availableCommands")
                .iter()
                .filter_map(command)
                .collect(),
        ),
        "current_mode_update" => Update::Mode(update.text("currentModeId")?),
        "config_option_update" => Update::Options(config_options(update)),
        "session_info_update" => Update::Title(update.text("title")),
        "usage_update" => Update::Usage(Usage {
            used: update.get("used")?,
            size: update.get("size")?,
            cost: cost(&update.object("cost")),
        }),
        "notice" => Update::Notice {
            severity: update.text_or_empty("severity"),
            text: [update.text("title"), update.text("description")]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n"),
        },
        "state_update" => Update::State(match update.text_or_empty("state").as_str() {
            "running" => State::Running,
            "requires_action" => State::Waiting,
            "idle" => {
                let reason = update.text("stopReason");
                State::Idle(reason.as_deref().map(StopReason::from_word))
            }
            _ => return None,
        }),
        _ => return None,
    })
}

/// The content is one block in chunks, and a list of blocks in whole messages.
fn chunk(update: &Fields<'_>) -> Chunk {
    let blocks = update.objects("content");
    Chunk {
        message: update.text("messageId"),
        text: if blocks.is_empty() {
            content_text(&update.object("content"))
        } else {
            blocks.iter().map(content_text).collect()
        },
    }
}

fn step(entry: &Fields<'_>) -> PlanStep {
    PlanStep {
        text: entry.text_or_empty("content"),
        status: match entry.text_or_empty("status").as_str() {
            "completed" => StepStatus::Completed,
            "in_progress" => StepStatus::InProgress,
            // What nobody knows is not done.
            _ => StepStatus::Pending,
        },
    }
}

fn command(entry: &Fields<'_>) -> Option<SlashCommand> {
    Some(SlashCommand {
        name: entry.text("name")?,
        description: entry.text_or_empty("description"),
        hint: entry.object("input").text_or_empty("hint"),
    })
}

fn cost(fields: &Fields<'_>) -> Option<Cost> {
    Some(Cost {
        amount: fields.get("amount")?,
        currency: fields.text("currency")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn update(update: &Value) -> Update {
        read(&Params::of(&json!({ "sessionId": "s", "update": update }))).update
    }

    #[test]
    fn words_know_their_message() {
        let said = update(&json!({
            "sessionUpdate": "agent_message_chunk", "messageId": "m",
            "content": { "type": "text", "text": "DONE " },
        }));
        let Update::Text(chunk) = said else {
            panic!("{said:?}");
        };
        assert_eq!(chunk.text, "DONE ");
        assert_eq!(chunk.message.as_deref(), Some("m"));
        let whole = update(&json!({
            "sessionUpdate": "user_message",
            "content": [{ "type": "text", "text": "a" }, { "type": "image" }],
        }));
        assert!(matches!(whole, Update::User(chunk) if chunk.text == "a(image)"));
    }

    #[test]
    fn plans_commands_usage_and_notices_are_read() {
        assert!(matches!(
            update(&json!({ "sessionUpdate": "plan", "entries": [{ "content": "look", "status": "pending" }] })),
            Update::Plan(steps) if steps[0].text == "look"
        ));
        assert!(matches!(
            update(&json!({ "sessionUpdate": "available_commands_update", "availableCommands":
                [{ "name": "init", "input": { "hint": "where" } }, {}] })),
            Update::Commands(commands) if commands.len() == 1 && commands[0].hint == "where"
        ));
        assert!(matches!(
            update(
                &json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2,
                "cost": { "amount": 0, "currency": "USD" } })
            ),
            Update::Usage(Usage {
                used: 1,
                size: 2,
                cost: Some(_)
            })
        ));
        assert!(matches!(
            update(&json!({ "sessionUpdate": "notice", "severity": "warning", "title": "a", "description": "b" })),
            Update::Notice { text, .. } if text == "a\nb"
        ));
        assert!(matches!(
            update(
                &json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" })
            ),
            Update::State(State::Idle(Some(StopReason::EndTurn)))
        ));
    }

    #[test]
    fn what_nobody_knows_has_a_name() {
        for kind in [
            "hologram",
            "tool_call",
            "usage_update",
            "current_mode_update",
            "",
        ] {
            assert!(
                matches!(update(&json!({ "sessionUpdate": kind })), Update::Unknown { kind: said } if said == kind)
            );
        }
        assert!(read(&Params::of(&json!([]))).session.is_none());
    }

    proptest! {
        #[test]
        fn anything_can_be_told(
            kind in "(agent_message_chunk|tool_call|plan|notice|usage_update|state_update|config_option_update|[a-z]{0,4})",
            field in "(content|toolCallId|entries|title|used|state|configOptions|rawInput)",
            value in prop_oneof![
                Just(json!(null)), Just(json!(7)), Just(json!("text")), Just(json!([1, {}])),
                Just(json!({ "type": "text" })), Just(json!([[]]))
            ],
        ) {
            let _update = update(&json!({ "sessionUpdate": kind, field: value }));
        }
    }
}
