//! What each mode does, and when.

use serde_json::{Value, json};

use super::mode::Mode;
use super::normal::{
    ASK_ID, COMMAND, FOREIGN_SESSION, ask, ask_in, ask_with, chunk, chunk_update, ended, error,
    initialized, opened, options, response, tool_call, tool_done, update_of,
};
use super::script::{Act, Script, Stage, Survivor, say};

mod cut;
mod excess;
mod ids;
mod reach;
mod unknown;

/// Lines as programs print them that think that they talk to a person.
const NOISE: [&str; 3] = [
    "[INFO] 12:00:01 loading the model",
    "(node:4711) Warning: this is deprecated { see: the manual }",
    "Error: none. This is only a line that says so.",
];

impl Mode {
    /// The first stage at which this mode departs from what a plain agent does.
    pub fn departs_at(self) -> Option<Stage> {
        self.script().first_departure()
    }

    #[expect(
        clippy::too_many_lines,
        reason = "a table: one short entry for each mode, grouped as the modes are"
    )]
    pub(super) fn script(self) -> Script {
        let plain = Script::plain();
        match self {
            Self::Plain => plain,
            Self::BannerBefore => plain.before(
                Stage::Start,
                [
                    say("  _  _        _   _ _"),
                    say(" | || |___ __| |_(_) |___"),
                    say("Welcome! {\"version\": 1}"),
                    say(""),
                ],
            ),
            Self::NoiseBetween => around(plain, &NOISE.map(say)),
            Self::NoiseAfter => plain.after(Stage::Answer, NOISE.map(say)),
            Self::BlankLines => around(plain, &[say(""), say("   \t "), say("")]),
            Self::AlmostJson => around(
                plain,
                &[
                    say("{"),
                    say(r#"{"jsonrpc":"2.0","method":"session/update","params":{"#),
                    say(r#"{"jsonrpc":"2.0","id":7,"result":}"#),
                    say("}}}}"),
                ],
            ),
            Self::OtherJson => around(
                plain,
                &[
                    say("42"),
                    say("\"text\""),
                    say("null"),
                    say("{}"),
                    say(r#"{"jsonrpc":"2.0"}"#),
                    say(r#"{"level":"info","message":"hello"}"#),
                ],
            ),
            Self::ControlCharacters => around(
                plain,
                &[
                    Act::Bytes(b"\x1b[2J\x1b[31mred\x1b[0m\x07\n"),
                    Act::Bytes(b"\x1b]0;title\x07\x08\x08\n"),
                ],
            ),
            Self::GluedLines => cut::glued_lines(plain),
            Self::BrokenLine => cut::broken_line(plain),
            Self::Dribble => cut::dribble(plain),
            Self::PrettyPrinted => cut::pretty_printed(plain),
            Self::Batch => cut::batch(plain),
            Self::EmptyBatch => cut::empty_batch(plain),
            Self::ByteOrderMark => cut::byte_order_mark(plain),
            Self::CarriageReturns => cut::carriage_returns(plain),
            Self::Nuls => cut::nuls(plain),
            Self::InvalidUtf8 => cut::invalid_utf8(plain),
            Self::LoneSurrogate => cut::lone_surrogate(plain),
            Self::HalfALine => cut::half_a_line(plain),
            Self::HugeLine => excess::huge_line(plain),
            Self::NoLineBreak => excess::no_line_break(plain),
            Self::HugeAsk => excess::huge_ask(plain),
            Self::UpdateFlood => excess::update_flood(plain),
            Self::AskFlood => excess::ask_flood(plain),
            Self::NoiseFlood => excess::noise_flood(plain),
            Self::ToolCallFlood => excess::tool_call_flood(plain),
            Self::StderrFlood => excess::stderr_flood(plain),
            Self::DeepNesting => excess::deep_nesting(plain),
            Self::EndlessOutput => excess::endless_output(plain),
            Self::DuplicateRequestIds => ids::duplicate_request_ids(plain),
            Self::RepeatedAsk => ids::repeated_ask(plain),
            Self::NullRequestId => ids::null_request_id(plain),
            Self::OddRequestIds => ids::odd_request_ids(plain),
            Self::IdOfThePrompt => ids::id_of_the_prompt(plain),
            Self::UnknownResponse => ids::unknown_response(plain),
            Self::DoubledResponse => ids::doubled_response(plain),
            Self::ErrorThenResult => ids::error_then_result(plain),
            Self::ResultAndError => ids::result_and_error(plain),
            Self::IdOfAnotherType => ids::id_of_another_type(plain),
            Self::NoVersionField => ids::no_version_field(plain),
            Self::ForeignAsk => asking(
                plain,
                [say(ask_in(FOREIGN_SESSION, ASK_ID, COMMAND, &options()))],
            ),
            Self::ForeignUpdates => plain.before(
                Stage::Prompt,
                [
                    say(update_of(FOREIGN_SESSION, &chunk_update("Not yours."))),
                    say(update_of("", &chunk_update("Nobody's."))),
                    say(r#"{"jsonrpc":"2.0","method":"session/update","params":{"update":{}}}"#),
                ],
            ),
            Self::EarlyUpdates => plain.before(Stage::New, [say(chunk("Too early."))]),
            Self::PathAsSessionId => plain.at(Stage::New, [say(opened("../../../etc/passwd"))]),
            Self::EmptySessionId => plain.at(Stage::New, [say(opened(""))]),
            Self::UnknownMethod => unknown::unknown_method(plain),
            Self::UnknownUpdate => unknown::unknown_update(plain),
            Self::UnknownStopReason => unknown::unknown_stop_reason(plain),
            Self::UnknownOptionKind => unknown::unknown_option_kind(plain),
            Self::UnknownRefusal => unknown::unknown_refusal(plain),
            Self::NoOptions => unknown::no_options(plain),
            Self::DuplicateOptionIds => unknown::duplicate_option_ids(plain),
            Self::TwoAllowOnce => unknown::two_allow_once(plain),
            Self::OnlyAllow => unknown::only_allow(plain),
            Self::LyingOptionNames => unknown::lying_option_names(plain),
            Self::MissingToolCall => unknown::missing_tool_call(plain),
            Self::ChangedToolCall => unknown::changed_tool_call(plain),
            Self::ChangedWhileAsking => unknown::changed_while_asking(plain),
            Self::SwitchedMode => unknown::switched_mode(plain),
            Self::PlanExit => unknown::plan_exit(plain),
            Self::MalformedAsk => unknown::malformed_ask(plain),
            Self::NullResult => unknown::null_result(plain),
            Self::DeathBeforeInitialize => plain.at(Stage::Start, [Act::Exit(1)]),
            Self::DeathWithWords => plain.at(
                Stage::Start,
                [say("Error: the licence has run out"), Act::Exit(1)],
            ),
            Self::DeathAfterInitialize => plain.after(Stage::Initialize, [Act::Exit(1)]),
            Self::DeathDuringNew => plain.at(Stage::New, [Act::Exit(1)]),
            Self::DeathDuringPrompt => plain.at(
                Stage::Prompt,
                [say(chunk("Working.")), say(tool_call()), Act::Exit(1)],
            ),
            Self::KilledDuringPrompt => {
                plain.at(Stage::Prompt, [say(chunk("Working.")), Act::Kill])
            }
            Self::DeathWhileAsking => plain.after(Stage::Prompt, [Act::Exit(1)]),
            Self::DeathAfterTheTurn => plain.after(Stage::Answer, [Act::Exit(3)]),
            Self::DeathAfterTheAnswer => plain.at(Stage::Answer, [Act::Exit(1)]),
            Self::NoInitializeAnswer => plain.at(Stage::Initialize, []),
            Self::NoNewAnswer => plain.at(Stage::New, []),
            Self::NoPromptAnswer => plain.at(Stage::Prompt, []),
            Self::NoEndAfterTheAnswer => plain.at(Stage::Answer, []),
            Self::CancelIgnored => plain.at(Stage::Cancel, []).at(Stage::Answer, []),
            Self::EofIgnored => plain.at(Stage::End, [Act::Hang]),
            Self::TermIgnored => plain.at(Stage::End, [Act::HangThroughTerm]),
            Self::NeverReads => plain.after(Stage::New, [Act::Hang]),
            Self::ClosedStdout => plain.at(Stage::Prompt, [Act::CloseStdout]),
            Self::ClosedStdin => plain.at(Stage::Prompt, [Act::CloseStdin, Act::Hang]),
            Self::AskAfterTheTurn => plain.at(
                Stage::Prompt,
                [say(ended("end_turn")), say(tool_call()), say(ask())],
            ),
            Self::AskAfterCancel => plain.at(
                Stage::Cancel,
                [
                    say(ask_with("8", "echo after the cancel", &options())),
                    say(ended("cancelled")),
                ],
            ),
            Self::EarlyAsk => plain.before(Stage::New, [say(ask())]),
            Self::LateUpdates => plain.after(
                Stage::Answer,
                [say(tool_done("in_progress")), say(chunk("Too late."))],
            ),
            Self::DoneWhileAsking => plain.after(Stage::Prompt, [say(tool_done("completed"))]),
            Self::EndWhileAsking => plain.after(Stage::Prompt, [say(ended("end_turn"))]),
            Self::AskTakenBack => plain.after(
                Stage::Prompt,
                [
                    say(
                        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#,
                    ),
                    say(ended("end_turn")),
                ],
            ),
            Self::Grandchildren => plain.before(Stage::Prompt, [outlive(3, Survivor::Plain)]),
            Self::StubbornGrandchild => {
                plain.before(Stage::Prompt, [outlive(1, Survivor::Stubborn)])
            }
            Self::HeldOutput => {
                let holding = outlive(1, Survivor::HoldingOutput);
                plain
                    .before(Stage::Prompt, [holding])
                    .after(Stage::Answer, [Act::Exit(0)])
            }
            Self::VersionZero => versioned(plain, &json!(0)),
            Self::VersionTwo => versioned(plain, &json!(2)),
            Self::VersionAsText => versioned(plain, &json!("1")),
            Self::VersionHuge => versioned(plain, &json!(65_535)),
            Self::NoVersion => plain.at(Stage::Initialize, [say(response(&json!({})))]),
            Self::InitializeError => {
                plain.at(Stage::Initialize, [say(error(-32_603, "out of order"))])
            }
            Self::AuthRequired => plain.at(Stage::New, [say(error(-32_000, "Sign in first"))]),
            Self::PromptError => plain.at(Stage::Prompt, [say(error(-32_603, "out of order"))]),
            Self::MalformedError => plain.at(
                Stage::Prompt,
                [say(r#"{"jsonrpc":"2.0","id":$ID,"error":"everything"}"#)],
            ),
            Self::ReadOutside => reach::read_outside(plain),
            Self::ReadDevice => reach::read_device(plain),
            Self::WriteThroughLink => reach::write_through_link(plain),
            Self::WriteUnasked => reach::write_unasked(plain),
            Self::NastyTerminal => reach::nasty_terminal(plain),
            Self::UnknownTerminal => reach::unknown_terminal(plain),
            Self::OddElicitation => reach::odd_elicitation(plain),
            Self::ElicitationOfAScript => reach::elicitation_of_a_script(plain),
            Self::ReadOddFiles => reach::read_odd_files(plain),
            Self::ReadFlood => reach::read_flood(plain),
            Self::TerminalFlood => reach::terminal_flood(plain),
            Self::WaitFlood => reach::wait_flood(plain),
        }
    }
}

/// Does this before each of the plain agent's messages in a turn, and where the turn ends.
fn around(plain: Script, acts: &[Act]) -> Script {
    let prompt = [say(chunk("Working.")), say(tool_call()), say(ask())];
    let all = prompt.into_iter().flat_map(|message| {
        let before = acts.iter().cloned();
        before.chain([message]).collect::<Vec<_>>()
    });
    let all: Vec<Act> = all.collect();
    plain.at(Stage::Prompt, all).before(Stage::Answer, acts)
}

/// Asks like this instead.
fn asking(plain: Script, asks: impl IntoIterator<Item = Act>) -> Script {
    let mut acts = vec![say(chunk("Working.")), say(tool_call())];
    acts.extend(asks);
    plain.at(Stage::Prompt, acts)
}

fn versioned(plain: Script, version: &Value) -> Script {
    plain.at(Stage::Initialize, [say(initialized(version))])
}

fn outlive(count: usize, with: Survivor) -> Act {
    Act::Outlive { count, with }
}

/// What is before and after `mark`, which is left out.
fn halves(message: &str, mark: &str) -> (String, String) {
    let (head, tail) = message.split_once(mark).expect("the message has the mark");
    (head.to_owned(), tail.to_owned())
}
