//! What becomes of a session with an agent in each of its modes.

use countersign_testkit::hostile_agent::Mode;

use Outcome::{
    Completed, Denied, DeniedAnew, Failed, NoSession, Stuck, StuckAfterDenial, StuckAsking,
};

/// What becomes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There is none, and the reason says this.
    NoSession(&'static str),
    /// An ask reaches a person, whose denial reaches the agent, and the turn is completed.
    Denied,
    /// An ask becomes another one, for this, whose denial reaches the agent, and the turn is completed.
    DeniedAnew(&'static str),
    /// The turn is completed, whether or not somebody could deny an ask before.
    Completed,
    /// The turn fails, and the reason says this.
    Failed(&'static str),
    /// Nothing comes of the turn until it is cancelled.
    Stuck,
    /// An ask is denied, and nothing comes of that until the turn is cancelled.
    StuckAfterDenial,
    /// An ask is open when the turn is cancelled, and is withdrawn.
    StuckAsking,
}

/// A mode, what becomes of it, and what the transcript says about the agent besides.
pub(crate) struct Row {
    pub(crate) mode: Mode,
    pub(crate) outcome: Outcome,
    pub(crate) noted: Option<&'static str>,
}

const fn row(mode: Mode, outcome: Outcome) -> Row {
    Row {
        mode,
        outcome,
        noted: None,
    }
}

const fn noted(mode: Mode, outcome: Outcome, words: &'static str) -> Row {
    Row {
        mode,
        outcome,
        noted: Some(words),
    }
}

const NOISE: &str = "no message";
const FOREIGN: &str = "a session that is not this one";
const LONG: &str = "too long to be read";
const EXITED: &str = "exited with status 1";
const NOT_READY: &str = "ended before it was ready";

/// Lines that are no messages, or are cut wrongly.
pub(crate) const LINES: &[Row] = &[
    row(Mode::Plain, Denied),
    noted(Mode::BannerBefore, Denied, NOISE),
    noted(Mode::NoiseBetween, Denied, NOISE),
    row(Mode::NoiseAfter, Denied),
    row(Mode::BlankLines, Denied),
    noted(Mode::AlmostJson, Denied, NOISE),
    noted(Mode::OtherJson, Denied, NOISE),
    noted(Mode::ControlCharacters, Denied, NOISE),
    row(Mode::GluedLines, Denied),
    noted(Mode::BrokenLine, Completed, NOISE),
    row(Mode::Dribble, Denied),
    noted(Mode::PrettyPrinted, Stuck, NOISE),
    noted(Mode::Batch, Stuck, "several messages in an array"),
    noted(Mode::EmptyBatch, Denied, NOISE),
    row(Mode::ByteOrderMark, Denied),
    row(Mode::CarriageReturns, Denied),
    noted(Mode::Nuls, Denied, NOISE),
    noted(Mode::InvalidUtf8, Denied, NOISE),
    row(Mode::LoneSurrogate, Denied),
    noted(
        Mode::HalfALine,
        Failed("exited with status 0"),
        "cannot be read",
    ),
    noted(Mode::DeepNesting, Completed, "was refused"),
];

/// Ids, sessions and words that the protocol does not know.
pub(crate) const WORDS: &[Row] = &[
    row(Mode::DuplicateRequestIds, Denied),
    row(Mode::RepeatedAsk, Denied),
    row(Mode::NullRequestId, Denied),
    noted(Mode::OddRequestIds, Denied, NOISE),
    row(Mode::IdOfThePrompt, Denied),
    row(Mode::UnknownResponse, Denied),
    row(Mode::DoubledResponse, Denied),
    row(Mode::ErrorThenResult, Failed("no (code -32603)")),
    row(Mode::ResultAndError, Failed("no (code 1)")),
    row(Mode::IdOfAnotherType, StuckAfterDenial),
    row(Mode::NoVersionField, Denied),
    noted(Mode::ForeignAsk, Completed, FOREIGN),
    noted(Mode::ForeignUpdates, Denied, FOREIGN),
    row(Mode::EarlyUpdates, Denied),
    noted(Mode::PathAsSessionId, Completed, FOREIGN),
    row(
        Mode::EmptySessionId,
        NoSession("did not say what it is called"),
    ),
    row(Mode::UnknownMethod, Completed),
    row(Mode::UnknownUpdate, Denied),
    noted(Mode::UnknownStopReason, Denied, "`bored`"),
    row(Mode::UnknownOptionKind, Denied),
    row(Mode::UnknownRefusal, Denied),
    row(Mode::NoOptions, Denied),
    row(Mode::DuplicateOptionIds, StuckAsking),
    row(Mode::TwoAllowOnce, Denied),
    row(Mode::OnlyAllow, Denied),
    row(Mode::LyingOptionNames, Denied),
    row(Mode::MissingToolCall, Denied),
    row(Mode::ChangedToolCall, Denied),
    row(Mode::ChangedWhileAsking, DeniedAnew("rm -rf everything")),
    row(Mode::SwitchedMode, Denied),
    row(Mode::PlanExit, Denied),
    noted(Mode::MalformedAsk, Completed, "was refused"),
    row(Mode::NullResult, Denied),
    row(Mode::VersionZero, NoSession("version")),
    row(Mode::VersionTwo, Denied),
    row(Mode::VersionAsText, NoSession("version")),
    row(Mode::VersionHuge, NoSession("version")),
    row(Mode::NoVersion, NoSession("version")),
    row(Mode::InitializeError, NoSession("out of order")),
    row(Mode::AuthRequired, NoSession("sign in first")),
    row(Mode::PromptError, Failed("out of order")),
    row(Mode::MalformedError, Failed("everything")),
];

/// Deaths, words at the wrong time, processes that are left behind, and reaching for what is not theirs.
pub(crate) const DEEDS: &[Row] = &[
    row(Mode::DeathBeforeInitialize, NoSession(NOT_READY)),
    row(Mode::DeathWithWords, NoSession("the licence has run out")),
    row(Mode::DeathAfterInitialize, NoSession(NOT_READY)),
    row(Mode::DeathDuringNew, NoSession(NOT_READY)),
    row(Mode::DeathDuringPrompt, Failed(EXITED)),
    row(Mode::KilledDuringPrompt, Failed("signal 9 killed it")),
    row(Mode::DeathWhileAsking, Failed(EXITED)),
    row(Mode::DeathAfterTheTurn, Denied),
    row(Mode::DeathAfterTheAnswer, Failed(EXITED)),
    row(Mode::AskAfterTheTurn, Denied),
    row(Mode::AskAfterCancel, StuckAsking),
    row(Mode::EarlyAsk, Denied),
    row(Mode::LateUpdates, Denied),
    row(Mode::DoneWhileAsking, Denied),
    row(Mode::EndWhileAsking, Completed),
    row(Mode::AskTakenBack, Completed),
    row(Mode::Grandchildren, Denied),
    row(Mode::StubbornGrandchild, Denied),
    row(Mode::HeldOutput, Denied),
    row(Mode::EofIgnored, Denied),
    row(Mode::TermIgnored, Denied),
    row(Mode::ReadOutside, Completed),
    row(Mode::ReadDevice, Completed),
    row(Mode::WriteThroughLink, Completed),
    row(Mode::WriteUnasked, Completed),
    row(Mode::NastyTerminal, Completed),
    row(Mode::UnknownTerminal, Completed),
    row(Mode::OddElicitation, Completed),
    row(Mode::ElicitationOfAScript, Completed),
    row(Mode::ReadOddFiles, Completed),
    row(Mode::ReadFlood, Stuck),
    row(Mode::TerminalFlood, Completed),
    row(Mode::WaitFlood, Completed),
];

/// Reaching for what is not theirs where files and terminals are offered.
pub(crate) const REACH: &[Row] = &[
    row(Mode::ReadOutside, Completed),
    row(Mode::ReadDevice, Completed),
    row(Mode::WriteThroughLink, Completed),
    row(Mode::WriteUnasked, Completed),
    row(Mode::NastyTerminal, Completed),
    row(Mode::UnknownTerminal, Completed),
    row(Mode::ReadOddFiles, Completed),
    row(Mode::ReadFlood, Stuck),
    row(Mode::TerminalFlood, Completed),
    row(Mode::WaitFlood, Completed),
];

/// Silence, which takes as long as an agent is waited for.
pub(crate) const SILENCE: &[Row] = &[
    row(
        Mode::NoInitializeAnswer,
        NoSession("did not answer `initialize`"),
    ),
    row(Mode::NoNewAnswer, NoSession("did not answer `session/new`")),
    row(Mode::NoPromptAnswer, Stuck),
    row(Mode::NoEndAfterTheAnswer, StuckAfterDenial),
    row(Mode::CancelIgnored, StuckAsking),
    row(Mode::NeverReads, Stuck),
    row(Mode::ClosedStdout, Failed("closed its output")),
    row(Mode::ClosedStdin, Stuck),
];

/// Too long.
pub(crate) const LENGTH: &[Row] = &[
    noted(Mode::HugeLine, Denied, LONG),
    noted(Mode::NoLineBreak, Denied, LONG),
    noted(Mode::HugeAsk, Stuck, LONG),
    row(Mode::StderrFlood, Denied),
];

/// Too many.
pub(crate) const FLOODS: &[Row] = &[
    row(Mode::UpdateFlood, Denied),
    noted(Mode::NoiseFlood, Denied, "100000 lines"),
    row(Mode::EndlessOutput, Stuck),
];

/// What no rule allows, though there is one for the plain command: a person has to look.
pub(crate) const DESPITE_A_RULE: &[Row] = &[
    row(Mode::TwoAllowOnce, Denied),
    row(Mode::SwitchedMode, Denied),
    row(Mode::PlanExit, Denied),
    row(Mode::NoOptions, Denied),
    row(Mode::DuplicateOptionIds, StuckAsking),
    row(Mode::MissingToolCall, Denied),
    row(Mode::ChangedToolCall, Denied),
    noted(Mode::ForeignAsk, Completed, FOREIGN),
    noted(Mode::PathAsSessionId, Completed, FOREIGN),
    noted(Mode::MalformedAsk, Completed, "was refused"),
];

/// What asks after the turn was cancelled.
pub(crate) const AFTER_THE_CANCEL: &[Row] = &[row(Mode::AskAfterCancel, StuckAsking)];

/// What a rule allows, once each, and never more than was asked.
pub(crate) const BY_A_RULE: &[Row] = &[
    row(Mode::Plain, Completed),
    row(Mode::RepeatedAsk, Completed),
    row(Mode::DuplicateRequestIds, Completed),
    row(Mode::LyingOptionNames, Completed),
    row(Mode::UnknownOptionKind, Completed),
];

/// Too many of what is a row in the ledger each.
pub(crate) const ROWS: &[Row] = &[
    row(Mode::AskFlood, Denied),
    row(Mode::ToolCallFlood, Denied),
];

#[test]
fn every_mode_is_in_the_table_once() {
    let tables = [LINES, WORDS, DEEDS, SILENCE, LENGTH, FLOODS, ROWS];
    let mut modes: Vec<Mode> = tables.into_iter().flatten().map(|row| row.mode).collect();
    modes.sort();
    assert_eq!(modes, Mode::ALL);
}
