//! The modes that say too much.

use super::super::normal::{ask, ask_with, chunk, options, tool_call};
use super::super::script::{Act, Script, Stage, say, write};
use super::super::{FLOOD, TOO_MUCH};
use super::{NOISE, asking, halves};

pub(super) fn huge_line(plain: Script) -> Script {
    let (head, tail) = halves(&chunk("One."), "One.");
    asking(
        plain,
        [write(head), Act::Fill(TOO_MUCH), say(tail), say(ask())],
    )
}

pub(super) fn no_line_break(plain: Script) -> Script {
    plain.before(Stage::Prompt, [Act::Fill(TOO_MUCH), say("")])
}

pub(super) fn huge_ask(plain: Script) -> Script {
    let (head, tail) = halves(&ask(), "hostile");
    asking(plain, [write(head), Act::Fill(TOO_MUCH), say(tail)])
}

pub(super) fn update_flood(plain: Script) -> Script {
    asking(plain, [flood(chunk("$N "), FLOOD), say(ask())])
}

pub(super) fn ask_flood(plain: Script) -> Script {
    let many = ask_with("1000$N", "echo $N", &options());
    asking(plain, [flood(many, 2_000)])
}

pub(super) fn noise_flood(plain: Script) -> Script {
    let [noise, ..] = NOISE;
    asking(plain, [flood(format!("{noise} $N"), 100_000), say(ask())])
}

pub(super) fn tool_call_flood(plain: Script) -> Script {
    let many = tool_call().replace("call-1", "call-1000$N");
    asking(plain, [flood(many, 20_000), say(ask())])
}

pub(super) fn stderr_flood(plain: Script) -> Script {
    plain.before(Stage::Prompt, [Act::Complain(TOO_MUCH)])
}

pub(super) fn deep_nesting(plain: Script) -> Script {
    const LEVELS: usize = 10_000;
    let deep = format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS));
    let marked = ask_with("9", "deep", &options());
    let deep_ask = marked.replacen("\"deep\"", &deep, 2);
    asking(plain, [say(deep), say(deep_ask), say(ask())])
}

pub(super) fn endless_output(plain: Script) -> Script {
    plain.at(Stage::Prompt, [Act::WriteForEver])
}

fn flood(line: String, count: usize) -> Act {
    Act::Flood { line, count }
}
