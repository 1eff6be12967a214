//! The modes that cut their lines wrongly.

use serde_json::{Value, json};

use super::super::normal::{ask, chunk, ended, initialized, opened};
use super::super::script::{Act, Script, Stage, say, write};
use super::{asking, halves};

pub(super) fn glued_lines(plain: Script) -> Script {
    asking(
        plain,
        [
            write(chunk("One.")),
            say(chunk("Two.")),
            write(chunk("Three.")),
            say(ask()),
        ],
    )
}

pub(super) fn broken_line(plain: Script) -> Script {
    let message = ask();
    let (head, tail) = message.split_at(message.len() / 2);
    asking(plain, [say(head), say(tail), say(ended("end_turn"))])
}

pub(super) fn dribble(plain: Script) -> Script {
    asking(plain, [Act::Dribble(format!("{}\n", ask()))])
}

pub(super) fn pretty_printed(plain: Script) -> Script {
    asking(plain, [say(pretty(&ask())), say(pretty(&chunk("One.")))])
}

pub(super) fn batch(plain: Script) -> Script {
    asking(plain, [say(format!("[{},{}]", chunk("One."), ask()))])
}

pub(super) fn empty_batch(plain: Script) -> Script {
    plain.before(Stage::Prompt, [say("[]"), say("[[]]")])
}

pub(super) fn byte_order_mark(plain: Script) -> Script {
    plain.before(Stage::Initialize, [Act::Bytes(b"\xef\xbb\xbf")])
}

pub(super) fn carriage_returns(plain: Script) -> Script {
    plain
        .at(
            Stage::Initialize,
            [write(initialized(&json!(1))), Act::Bytes(b"\r\n")],
        )
        .at(Stage::New, [write(opened("$SESSION")), Act::Bytes(b"\r\n")])
        .at(Stage::Prompt, [write(ask()), Act::Bytes(b"\r\n")])
}

pub(super) fn nuls(plain: Script) -> Script {
    asking(
        plain,
        [
            Act::Bytes(b"\0\0\0\n\0"),
            say(chunk("One.")),
            say(chunk("a\0b")),
            say(ask()),
        ],
    )
}

pub(super) fn invalid_utf8(plain: Script) -> Script {
    let (head, tail) = halves(&chunk("One."), "One");
    let (ask_head, ask_tail) = halves(&ask(), "hostile");
    asking(
        plain,
        [
            write(head),
            Act::Bytes(b"\xff\xfe\xc0\x80"),
            say(tail),
            Act::Bytes(b"\xf0\x9f\n"),
            write(ask_head),
            Act::Bytes(b"\xff"),
            say(ask_tail),
        ],
    )
}

pub(super) fn lone_surrogate(plain: Script) -> Script {
    asking(
        plain,
        [say(chunk("One.").replace("One", r"\ud800")), say(ask())],
    )
}

pub(super) fn half_a_line(plain: Script) -> Script {
    let (head, _) = halves(&ask(), "options");
    asking(plain, [write(head), Act::Exit(0)])
}

/// The message over several lines. What is in it is the same.
fn pretty(message: &str) -> String {
    let value: Value = serde_json::from_str(message).expect("a plain message is JSON");
    format!("{value:#}")
}
