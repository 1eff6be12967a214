//! Words that mean something to somebody on the way.

use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};

/// Names and values of the protocol, and texts that are awkward.
const WORDS: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "code",
    "message",
    "data",
    "sessionId",
    "update",
    "sessionUpdate",
    "toolCall",
    "toolCallId",
    "options",
    "optionId",
    "kind",
    "name",
    "title",
    "rawInput",
    "rawOutput",
    "content",
    "locations",
    "path",
    "command",
    "cmd",
    "cwd",
    "plan",
    "questions",
    "question",
    "outcome",
    "selected",
    "cancelled",
    "allow_once",
    "allow_always",
    "reject_once",
    "reject_always",
    "yes",
    "no",
    "always",
    "bypass",
    "exit-plan-bypass",
    "session/request_permission",
    "session/update",
    "elicitation/create",
    "elicitation/complete",
    "$/cancel_request",
    "initialize",
    "session/new",
    "session/prompt",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "agent_message_chunk",
    "tool_call",
    "tool_call_update",
    "execute",
    "edit",
    "switch_mode",
    "shell",
    "bash",
    "subject",
    "mode",
    "form",
    "url",
    "requestedSchema",
    "properties",
    "required",
    "enum",
    "oneOf",
    "const",
    "type",
    "integer",
    "array",
    "text",
    "diff",
    "oldText",
    "newText",
    "protocolVersion",
    "$SESSION",
    "$PROMPT",
    "$CWD",
    "stopReason",
    "end_turn",
    "messageId",
    "requestId",
    "_meta",
    "claudeCode",
    "toolName",
    "",
    " ",
    "\0",
    "\n",
    "\u{feff}",
    "\u{202e}",
    "\u{200b}",
    "\u{fffd}",
    "..",
    "../..",
    "/",
    "/etc/passwd",
    "true",
    "null",
    "0",
    "-1",
    "{}",
    "[]",
    "}{",
    "\"",
    "\\",
    "'; rm -rf / #",
    "<script>",
    "\u{1f600}",
];

/// JSON that is hard on readers, as text: not all of it is JSON.
const RAW: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "1e999",
    "-1e-999",
    "1E400",
    "0.1",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "123456789012345678901234567890123456789012345678901234567890",
    "00",
    "+1",
    ".5",
    "1.",
    "NaN",
    "Infinity",
    "\"\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\\udc00\\ud800\"",
    "\"\\x\"",
    "{}",
    "[]",
    "[[]]",
    "{\"\":{}}",
    "{\"a\":1,\"a\":2}",
    "[1,]",
    "{\"a\":}",
    "\"",
    "{",
    "[",
    "}",
    "]",
    ",",
    ":",
    "//",
    "/**/",
];

/// Bytes that end a line, or should.
const LINE_ENDS: &[&[u8]] = &[
    b"\n", b"\n", b"\n", b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"", b" ", b"\t", b"\r", b"\0\n",
    b",\n", b"\x0b\n",
];

/// Bytes that are no text, or break one.
const BYTES: &[&[u8]] = &[
    b"\xff",
    b"\xfe\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    b"\xf8\x88\x80\x80\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"\n",
    b"\r\n",
    b"\x1b[2J",
    b"\x7f",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b",",
    b":",
    b"}{",
    b"} {",
];

/// Pieces of lines that hold many values, or seem to.
const REPEATED: &[&[u8]] = &[
    b"{}",
    b"{} ",
    b"[]",
    b"[",
    b"{\"\":",
    b"{\"a\":1}",
    b"{\"a\":\"}{\"}",
    b"}{",
    b"{\"id\":1,\"method\":\"m\"}",
    b"\xff",
    b" ",
];

fn any<'a, T: ?Sized>(list: &[&'a T], dice: &mut StdRng) -> &'a T {
    list[dice.random_range(0..list.len())]
}

pub(super) fn word(dice: &mut StdRng) -> &'static str {
    any(WORDS, dice)
}

pub(super) fn raw(dice: &mut StdRng) -> &'static str {
    any(RAW, dice)
}

pub(super) fn line_end(dice: &mut StdRng) -> &'static [u8] {
    any(LINE_ENDS, dice)
}

pub(super) fn bytes(dice: &mut StdRng) -> &'static [u8] {
    any(BYTES, dice)
}

/// Something that is glued to itself.
pub(super) fn repeated(dice: &mut StdRng) -> &'static [u8] {
    any(REPEATED, dice)
}

/// A value of any kind.
pub(super) fn value(dice: &mut StdRng) -> Value {
    match dice.random_range(0..9) {
        0 => Value::Null,
        1 => json!(dice.random::<bool>()),
        2 => json!(dice.random_range(-2..20)),
        3 => json!(dice.random::<i64>()),
        4 => json!(dice.random::<f64>() * 1e300),
        5 => json!([word(dice)]),
        6 => json!({ word(dice): word(dice) }),
        7 => json!(word(dice).repeat(dice.random_range(0..100))),
        _ => json!(word(dice)),
    }
}
