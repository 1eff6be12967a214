//! How a turn ended, read from the messages that the engine keeps.

use countersign_core::session::TurnOutcome;
use countersign_engine::opencode::Message;

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
