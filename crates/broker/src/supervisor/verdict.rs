//! How a turn ended, read from the messages that the engine keeps.

use countersign_core::job::JobUsage;
use countersign_core::session::TurnOutcome;
use countersign_core::settings::Cost;
use countersign_engine::opencode::{Message, MessageTokens};

/// Whether the engine has begun to reply to `prompt` and not written down yet how that ended: it says that
/// a session is idle a moment before.
pub(super) fn is_unfinished(messages: &[Message], prompt: &str) -> bool {
    last_reply(messages, prompt)
        .is_some_and(|last| last.error.is_none() && last.time.completed.is_none())
}

/// The outcome of the turn whose prompt is `prompt`, of a session that is idle; nothing if the engine has
/// not begun to reply to it.
pub(super) fn outcome(messages: &[Message], prompt: &str) -> Option<TurnOutcome> {
    let last = last_reply(messages, prompt)?;
    Some(
        match (&last.error, last.time.completed, last.finish.as_deref()) {
            (Some(error), _, _) if error.is_abort() => TurnOutcome::Cancelled,
            (Some(error), _, _) => TurnOutcome::Failed {
                reason: error.sentence(),
            },
            (None, None, _) => TurnOutcome::Failed {
                reason: "the engine ended in the middle of it".to_owned(),
            },
            (None, Some(_), Some("tool-calls")) => TurnOutcome::Denied,
            (None, Some(_), Some(_)) => TurnOutcome::Completed,
            // Stopped while the provider was being tried again.
            (None, Some(_), None) => TurnOutcome::Cancelled,
        },
    )
}

/// What the replies to `prompt` used up; nothing if there are none, or if the oldest of them may not be among `messages`.
pub(super) fn usage(messages: &[Message], prompt: &str) -> Option<JobUsage> {
    if !messages.iter().any(|message| message.id == prompt) {
        return None;
    }
    let replies: Vec<&Message> = messages
        .iter()
        .filter(|message| message.role == "assistant")
        .filter(|message| message.parent_id.as_deref() == Some(prompt))
        .collect();
    let last = replies.last()?;
    let sum = |of: fn(&MessageTokens) -> f64| count(replies.iter().map(|it| of(&it.tokens)).sum());
    let cost: f64 = replies.iter().map(|message| message.cost).sum();
    if sum(|tokens| tokens.input + tokens.output) == Some(0) {
        // Its provider does not tell.
        return None;
    }
    Some(JobUsage {
        input_tokens: sum(read),
        output_tokens: sum(|tokens| tokens.output + tokens.reasoning),
        used_tokens: tokens_held(last),
        cost: (cost > 0.0).then(|| Cost {
            amount: cost,
            currency: "USD".to_owned(),
        }),
    })
}

/// How many tokens the model held when it had spoken a message.
pub(super) fn tokens_held(message: &Message) -> Option<u64> {
    let tokens = &message.tokens;
    count(read(tokens) + tokens.output + tokens.reasoning)
}

fn read(tokens: &MessageTokens) -> f64 {
    tokens.input + tokens.cache.read + tokens.cache.write
}

/// A number of tokens, as JSON has it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is looked whether it is within, and tokens are whole"
)]
fn count(number: f64) -> Option<u64> {
    (0.0..9e15).contains(&number).then_some(number as u64)
}

fn last_reply<'a>(messages: &'a [Message], prompt: &str) -> Option<&'a Message> {
    messages.iter().rfind(|message| {
        message.role == "assistant" && message.parent_id.as_deref() == Some(prompt)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn assistant(rest: &Value) -> Message {
        let mut message = json!({ "id": "msg_2", "role": "assistant", "parentID": "msg_1" });
        for (key, value) in rest.as_object().unwrap() {
            message[key] = value.clone();
        }
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn each_way_to_end_is_told_apart() {
        let done = json!({ "completed": 1 });
        for (rest, expected) in [
            (
                json!({ "time": done, "finish": "stop" }),
                TurnOutcome::Completed,
            ),
            (
                json!({ "time": done, "finish": "tool-calls" }),
                TurnOutcome::Denied,
            ),
            (json!({ "time": done }), TurnOutcome::Cancelled),
            (
                json!({ "time": done, "error": { "name": "MessageAbortedError", "data": {} } }),
                TurnOutcome::Cancelled,
            ),
            (
                json!({ "error": { "name": "APIError", "data": { "message": "no credit" } } }),
                TurnOutcome::Failed {
                    reason: "APIError: no credit".to_owned(),
                },
            ),
            (
                json!({ "time": {} }),
                TurnOutcome::Failed {
                    reason: "the engine ended in the middle of it".to_owned(),
                },
            ),
        ] {
            assert_eq!(
                outcome(&[assistant(&rest)], "msg_1"),
                Some(expected),
                "{rest}"
            );
        }
    }

    #[test]
    fn what_the_replies_of_a_turn_used_up_is_added_up() {
        let tokens = |input: u64, output: u64| {
            json!({ "input": input, "output": output, "reasoning": 1,
                    "cache": { "read": 10, "write": 0 } })
        };
        let prompt = serde_json::from_value(json!({ "id": "msg_1", "role": "user" })).unwrap();
        let first = assistant(&json!({ "cost": 0.5, "tokens": tokens(100, 20) }));
        let last = assistant(&json!({ "cost": 0.25, "tokens": tokens(200, 30) }));
        let messages = [prompt, first, last];
        let used = usage(&messages, "msg_1").unwrap();
        assert_eq!(used.input_tokens, Some(320));
        assert_eq!(used.output_tokens, Some(52));
        assert_eq!(used.used_tokens, Some(241));
        assert!((used.cost.unwrap().amount - 0.75).abs() < 1e-9);
        assert_eq!(
            usage(&messages[1..], "msg_1"),
            None,
            "older ones may be missing"
        );
    }

    #[test]
    fn a_reply_is_unfinished_until_its_end_is_written_down() {
        let begun = assistant(&json!({ "time": { "created": 1 } }));
        assert!(is_unfinished(&[begun], "msg_1"));
        let done = assistant(&json!({ "time": { "completed": 1 }, "finish": "stop" }));
        assert!(!is_unfinished(&[done], "msg_1"));
        assert!(!is_unfinished(&[], "msg_1"));
    }

    #[test]
    fn a_turn_that_has_no_reply_has_no_outcome() {
        let reply = assistant(&json!({ "time": { "completed": 1 }, "finish": "stop" }));
        assert_eq!(outcome(&[reply], "msg_9"), None);
    }

    #[test]
    fn the_last_message_of_several_decides() {
        let first = assistant(&json!({ "time": { "completed": 1 }, "finish": "tool-calls" }));
        let last = assistant(&json!({ "time": { "completed": 2 }, "finish": "stop" }));
        assert_eq!(
            outcome(&[first, last], "msg_1"),
            Some(TurnOutcome::Completed)
        );
    }
}
