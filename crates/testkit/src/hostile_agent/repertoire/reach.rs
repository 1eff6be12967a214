//! The modes that reach for what is not theirs.

use serde_json::{Value, json};

use super::super::normal::request;
use super::super::script::{Act, Script, Stage, say};

pub(super) fn read_outside(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [
            read(30, "/etc/passwd"),
            read(31, "$CWD/../../../../../../etc/passwd"),
            read(32, "relative.txt"),
        ],
    )
}

pub(super) fn read_device(plain: Script) -> Script {
    plain.before(Stage::Prompt, [read(30, "/dev/zero")])
}

pub(super) fn write_through_link(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [Act::Link, write_to("$CWD/out/written-outside.txt")],
    )
}

pub(super) fn write_unasked(plain: Script) -> Script {
    plain.before(Stage::Prompt, [write_to("$CWD/written-unasked.txt")])
}

pub(super) fn nasty_terminal(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [say(request(
            "32",
            "terminal/create",
            &json!({
                "sessionId": "$SESSION",
                "command": "sh",
                "args": ["-c", "touch \"$0\"; setsid sleep 300 &", "$CWD/terminal-ran.txt"],
                "cwd": "/",
                "outputByteLimit": 18_446_744_073_709_551_615_u64,
            }),
        ))],
    )
}

pub(super) fn unknown_terminal(plain: Script) -> Script {
    let terminal = json!({ "sessionId": "$SESSION", "terminalId": "there-is-none" });
    let methods = ["output", "wait_for_exit", "kill", "release"];
    let calls: Vec<Act> = methods
        .iter()
        .zip(40..)
        .map(|(method, id)| {
            let method = format!("terminal/{method}");
            say(request(&id.to_string(), &method, &terminal))
        })
        .collect();
    plain.before(Stage::Prompt, calls)
}

pub(super) fn odd_elicitation(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [
            elicit(
                "50",
                &json!({ "mode": "telepathy", "message": "Think of a number" }),
            ),
            elicit(
                "51",
                &json!({ "mode": "form", "message": 7, "requestedSchema": [] }),
            ),
            elicit(
                "52",
                &json!({
                    "mode": "form",
                    "message": "Which?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": { "x": { "type": "matrix", "rows": 3 } },
                        "required": ["x", "y"],
                    },
                }),
            ),
        ],
    )
}

pub(super) fn elicitation_of_a_script(plain: Script) -> Script {
    plain.before(
        Stage::Prompt,
        [elicit(
            "53",
            &json!({
                "mode": "url",
                "message": "Sign in here",
                "elicitationId": "e-1",
                "url": "javascript:alert(document.cookie)",
            }),
        )],
    )
}

pub(super) fn read_odd_files(plain: Script) -> Script {
    let names = [
        "odd-pipe",
        "odd-directory",
        "odd-device",
        "odd-huge",
        "odd-none",
    ];
    let reads = names
        .iter()
        .zip(60..)
        .map(|(name, id)| read(id, &format!("$CWD/{name}")));
    let part = json!({ "sessionId": "$SESSION", "path": "$CWD/odd-huge", "line": 2, "limit": 1 });
    let part = say(request("65", "fs/read_text_file", &part));
    let acts: Vec<Act> = [Act::OddFiles]
        .into_iter()
        .chain(reads)
        .chain([part])
        .collect();
    plain.before(Stage::Prompt, acts)
}

pub(super) fn read_flood(plain: Script) -> Script {
    let params = json!({ "sessionId": "$SESSION", "path": "$CWD/odd-large" });
    let line = request("\"$N\"", "fs/read_text_file", &params);
    let flood = Act::Flood { line, count: 5_000 };
    plain.at(Stage::Prompt, [Act::OddFiles, flood, Act::Hang])
}

pub(super) fn terminal_flood(plain: Script) -> Script {
    let params = json!({ "sessionId": "$SESSION", "command": "touch terminal-ran.txt" });
    let line = request("\"$N\"", "terminal/create", &params);
    plain.before(Stage::Prompt, [Act::Flood { line, count: 100 }])
}

pub(super) fn wait_flood(plain: Script) -> Script {
    let params = json!({ "sessionId": "$SESSION", "terminalId": "terminal-$N" });
    let line = request("\"$N\"", "terminal/wait_for_exit", &params);
    plain.before(Stage::Prompt, [Act::Flood { line, count: 5_000 }])
}

fn read(id: u32, path: &str) -> Act {
    let params = json!({ "sessionId": "$SESSION", "path": path });
    say(request(&id.to_string(), "fs/read_text_file", &params))
}

fn write_to(path: &str) -> Act {
    let params = json!({ "sessionId": "$SESSION", "path": path, "content": "mine now" });
    say(request("33", "fs/write_text_file", &params))
}

fn elicit(id: &str, params: &Value) -> Act {
    let mut params = params.clone();
    params["sessionId"] = json!("$SESSION");
    say(request(id, "elicitation/create", &params))
}
