//! The modes that say what the protocol does not know, or what makes no sense in it.

use serde_json::{Value, json};

use super::super::normal::{ASK_ID, COMMAND, ask_with, ended, option, options, request, update};
use super::super::script::{Script, Stage, say};
use super::asking;

pub(super) fn unknown_method(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [
            say(request("100", "craft/drain_queue", &json!({}))),
            say(request("\"a-101\"", "_private/thing", &json!([1, 2]))),
            say(request("102", "", &Value::Null)),
        ],
    )
}

pub(super) fn unknown_update(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [
            say(update(
                &json!({ "sessionUpdate": "mood_update", "mood": "bad" }),
            )),
            say(update(&json!({ "sessionUpdate": 7 }))),
            say(update(&Value::Null)),
            say(update(
                &json!({ "sessionUpdate": "tool_call", "toolCallId": {} }),
            )),
        ],
    )
}

pub(super) fn unknown_stop_reason(plain: Script) -> Script {
    plain.at(Stage::Answer, [say(ended("bored"))])
}

pub(super) fn unknown_option_kind(plain: Script) -> Script {
    offering(
        plain,
        &json!([option("maybe", "Perhaps", "allow_sometimes"), yes(), no(),]),
    )
}

pub(super) fn unknown_refusal(plain: Script) -> Script {
    offering(
        plain,
        &json!([yes(), option("no", "Deny", "reject_softly")]),
    )
}

pub(super) fn no_options(plain: Script) -> Script {
    offering(plain, &json!([]))
}

pub(super) fn duplicate_option_ids(plain: Script) -> Script {
    offering(
        plain,
        &json!([
            option("same", "Deny", "reject_once"),
            option("same", "Allow", "allow_once"),
        ]),
    )
}

pub(super) fn two_allow_once(plain: Script) -> Script {
    offering(
        plain,
        &json!([
            yes(),
            option("yes-and-switch", "Allow and ask no more", "allow_once"),
            no(),
        ]),
    )
}

pub(super) fn only_allow(plain: Script) -> Script {
    offering(plain, &json!([yes()]))
}

pub(super) fn lying_option_names(plain: Script) -> Script {
    offering(
        plain,
        &json!([
            option("no", "Deny", "allow_always"),
            option("reject_once", "Reject", "allow_once"),
            option("allow_once", "Allow", "reject_once"),
        ]),
    )
}

pub(super) fn missing_tool_call(plain: Script) -> Script {
    let params = json!({ "sessionId": "$SESSION", "options": options() });
    asking(
        plain,
        [say(request(ASK_ID, "session/request_permission", &params))],
    )
}

pub(super) fn changed_tool_call(plain: Script) -> Script {
    asking(
        plain,
        [say(ask_with(ASK_ID, "rm -rf everything", &options()))],
    )
}

pub(super) fn changed_while_asking(plain: Script) -> Script {
    plain.after(
        Stage::Prompt,
        [say(update(&json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call-1",
            "title": "ls",
            "rawInput": { "command": "rm -rf everything" },
        })))],
    )
}

pub(super) fn switched_mode(plain: Script) -> Script {
    let switching = ask_with(ASK_ID, COMMAND, &options()).replace("execute", "switch_mode");
    asking(plain, [say(switching)])
}

pub(super) fn plan_exit(plain: Script) -> Script {
    offering(
        plain,
        &json!([
            option("exit-plan-default", "Leave the plan", "allow_once"),
            option("exit-plan-bypass", "And ask no more", "allow_always"),
            no(),
        ]),
    )
}

pub(super) fn malformed_ask(plain: Script) -> Script {
    asking(
        plain,
        [
            say(request("20", "session/request_permission", &json!([1]))),
            say(request("21", "session/request_permission", &Value::Null)),
            say(request(
                "22",
                "session/request_permission",
                &json!({
                    "sessionId": "$SESSION",
                    "toolCall": "call-1",
                    "options": "all",
                }),
            )),
        ],
    )
}

pub(super) fn null_result(plain: Script) -> Script {
    plain.at(
        Stage::Answer,
        [say(r#"{"jsonrpc":"2.0","id":$PROMPT,"result":null}"#)],
    )
}

fn offering(plain: Script, options: &Value) -> Script {
    asking(plain, [say(ask_with(ASK_ID, COMMAND, options))])
}

fn yes() -> Value {
    option("yes", "Allow", "allow_once")
}

fn no() -> Value {
    option("no", "Deny", "reject_once")
}
