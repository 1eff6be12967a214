//! The modes that use ids wrongly.

use super::super::normal::{ASK_ID, COMMAND, ask, ask_with, ended, error, options, tool_call};
use super::super::script::{Script, Stage, say};
use super::asking;

pub(super) fn duplicate_request_ids(plain: Script) -> Script {
    asking(
        plain,
        [
            say(ask()),
            say(ask_with(ASK_ID, "echo something else", &options())),
        ],
    )
}

pub(super) fn repeated_ask(plain: Script) -> Script {
    asking(plain, [say(ask()), say(ask())])
}

pub(super) fn null_request_id(plain: Script) -> Script {
    asking(plain, [say(ask_with("null", COMMAND, &options()))])
}

pub(super) fn odd_request_ids(plain: Script) -> Script {
    let ids = [
        "18446744073709551616",
        "1e400",
        "-9223372036854775808",
        "1.5",
        "\"\"",
        "\"7\"",
        "true",
        "{\"a\":1}",
        "[7]",
    ];
    asking(plain, ids.map(|id| say(ask_with(id, COMMAND, &options()))))
}

pub(super) fn id_of_the_prompt(plain: Script) -> Script {
    asking(plain, [say(ask_with("$PROMPT", COMMAND, &options()))])
}

pub(super) fn unknown_response(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [
            say(end("4711")),
            say(end("\"turn_of_somebody_else\"")),
            say(end("null")),
        ],
    )
}

pub(super) fn doubled_response(plain: Script) -> Script {
    plain.after(
        Stage::Answer,
        [say(ended("end_turn")), say(ended("refusal"))],
    )
}

pub(super) fn error_then_result(plain: Script) -> Script {
    plain.at(
        Stage::Answer,
        [
            say(error(-32_603, "no").replace("$ID", "$PROMPT")),
            say(ended("end_turn")),
        ],
    )
}

pub(super) fn result_and_error(plain: Script) -> Script {
    plain.at(Stage::Answer, [say(
                r#"{"jsonrpc":"2.0","id":$PROMPT,"result":{"stopReason":"end_turn"},"error":{"code":1,"message":"no"}}"#,
            )])
}

pub(super) fn id_of_another_type(plain: Script) -> Script {
    plain.at(Stage::Answer, [say(end("$TWISTED"))])
}

pub(super) fn no_version_field(plain: Script) -> Script {
    let bare = |message: String| say(message.replace(r#""jsonrpc":"2.0","#, ""));
    plain
        .at(Stage::Prompt, [bare(tool_call()), bare(ask())])
        .at(Stage::Answer, [bare(ended("end_turn"))])
}

/// The end of the turn, as an answer to another request; `id` is JSON.
fn end(id: &str) -> String {
    ended("end_turn").replace("$PROMPT", id)
}
