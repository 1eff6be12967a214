//! The wrongs, each with a name.

/// What the agent does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Does nothing wrong; what the others are compared with.
    Plain,

    // Lines that are not messages.
    /// Greets with a banner of several lines before it reads anything.
    BannerBefore,
    /// Prints lines of log between its messages.
    NoiseBetween,
    /// Prints lines of log after the end of the turn.
    NoiseAfter,
    /// Prints blank lines and lines of white space between its messages.
    BlankLines,
    /// Prints lines that begin like JSON and are none.
    AlmostJson,
    /// Prints JSON that is no message: numbers, texts, arrays, objects without a method.
    OtherJson,
    /// Prints terminal colours and control characters around its messages' lines.
    ControlCharacters,

    // Lines that are cut wrongly.
    /// Puts two messages into one line.
    GluedLines,
    /// Puts a line break into the middle of a message.
    BrokenLine,
    /// Sends its messages a few bytes at a time.
    Dribble,
    /// Prints its messages over several lines, indented.
    PrettyPrinted,
    /// Puts its messages into a batch.
    Batch,
    /// Sends an empty batch.
    EmptyBatch,
    /// Begins its output with a byte order mark.
    ByteOrderMark,
    /// Ends its lines with carriage return and line feed.
    CarriageReturns,
    /// Puts NUL bytes between and into its lines.
    Nuls,
    /// Puts bytes that are no UTF-8 into a message.
    InvalidUtf8,
    /// Puts half of a surrogate pair into a message.
    LoneSurrogate,
    /// Ends its output in the middle of a message, and itself.
    HalfALine,

    // Too much.
    /// Sends one message of 100 MB.
    HugeLine,
    /// Sends 100 MB without a line break, and no message.
    NoLineBreak,
    /// Sends an ask whose command has 100 MB.
    HugeAsk,
    /// Sends 400,000 updates in one turn.
    UpdateFlood,
    /// Sends 2,000 asks in one turn.
    AskFlood,
    /// Sends 100,000 lines of noise.
    NoiseFlood,
    /// Starts 20,000 tool calls and ends none.
    ToolCallFlood,
    /// Writes 100 MB to standard error.
    StderrFlood,
    /// Nests JSON 10,000 levels deep.
    DeepNesting,
    /// Writes on for as long as somebody reads.
    EndlessOutput,

    // Ids.
    /// Sends two different asks with the same id.
    DuplicateRequestIds,
    /// Sends the same ask twice, word for word.
    RepeatedAsk,
    /// Sends an ask whose id is null.
    NullRequestId,
    /// Sends asks whose ids are huge, negative, fractional, empty, and objects.
    OddRequestIds,
    /// Uses the id of the client's own prompt for an ask.
    IdOfThePrompt,
    /// Answers a request that nobody made.
    UnknownResponse,
    /// Answers the prompt twice.
    DoubledResponse,
    /// Answers the prompt twice, first with an error.
    ErrorThenResult,
    /// Answers with a result and an error in one.
    ResultAndError,
    /// Answers the prompt under the id as text that was a number, or the other way round.
    IdOfAnotherType,
    /// Answers without saying `jsonrpc`.
    NoVersionField,

    // Other sessions.
    /// Asks in the name of a session that is not its own.
    ForeignAsk,
    /// Sends updates for a session that is not its own.
    ForeignUpdates,
    /// Sends updates before there is a session.
    EarlyUpdates,
    /// Gives a session id that looks like a path.
    PathAsSessionId,
    /// Gives an empty session id.
    EmptySessionId,

    // What the protocol does not know.
    /// Makes requests with methods that there are not.
    UnknownMethod,
    /// Sends kinds of updates that there are not.
    UnknownUpdate,
    /// Ends the turn for a reason that there is not.
    UnknownStopReason,
    /// Offers an option of a kind that there is not.
    UnknownOptionKind,
    /// Offers an option of a kind that there is not, as the only way to say no.
    UnknownRefusal,
    /// Offers no options.
    NoOptions,
    /// Offers two options with one id, of opposite kinds.
    DuplicateOptionIds,
    /// Offers two options to allow once.
    TwoAllowOnce,
    /// Offers nothing but leave.
    OnlyAllow,
    /// Names its options as if they were the other ones.
    LyingOptionNames,
    /// Asks without saying for which tool call.
    MissingToolCall,
    /// Asks for a tool call of which it said something else before.
    ChangedToolCall,
    /// Changes the tool call while the ask is open.
    ChangedWhileAsking,
    /// Asks for a change of its mode as if it were the plain command.
    SwitchedMode,
    /// Asks with the options with which a plan is left, one of which switches asking off.
    PlanExit,
    /// Asks with parameters that are no object.
    MalformedAsk,
    /// Ends the turn with nothing.
    NullResult,

    // Death.
    /// Ends before it has read anything.
    DeathBeforeInitialize,
    /// Says on the wrong stream why it cannot work, and ends.
    DeathWithWords,
    /// Ends when it is initialized.
    DeathAfterInitialize,
    /// Ends instead of opening a session.
    DeathDuringNew,
    /// Ends in the middle of a turn.
    DeathDuringPrompt,
    /// Is killed in the middle of a turn.
    KilledDuringPrompt,
    /// Ends while its ask is open.
    DeathWhileAsking,
    /// Ends the turn and then itself, with the exit code 3.
    DeathAfterTheTurn,
    /// Ends as soon as its ask is answered.
    DeathAfterTheAnswer,

    // Silence.
    /// Never answers `initialize`.
    NoInitializeAnswer,
    /// Never answers `session/new`.
    NoNewAnswer,
    /// Never ends the turn, and says nothing in it.
    NoPromptAnswer,
    /// Never ends the turn after its ask was answered.
    NoEndAfterTheAnswer,
    /// Asks, and ignores that the turn is cancelled.
    CancelIgnored,
    /// Ignores that its input has ended.
    EofIgnored,
    /// Ignores that its input has ended, and SIGTERM.
    TermIgnored,
    /// Reads nothing after it has opened the session.
    NeverReads,
    /// Closes its output and lives on.
    ClosedStdout,
    /// Closes its input and lives on.
    ClosedStdin,

    // At the wrong time.
    /// Asks after the turn has ended.
    AskAfterTheTurn,
    /// Asks after the turn was cancelled, and then ends it.
    AskAfterCancel,
    /// Asks before there is a session.
    EarlyAsk,
    /// Sends updates of its tool call after the turn has ended.
    LateUpdates,
    /// Reports its tool call as done while the ask for it is open.
    DoneWhileAsking,
    /// Ends the turn while the ask is open.
    EndWhileAsking,
    /// Takes its ask back with `$/cancel_request`.
    AskTakenBack,

    // Processes.
    /// Leaves processes behind that have left its session and group.
    Grandchildren,
    /// Leaves a process behind that has left its session and group and ignores SIGTERM.
    StubbornGrandchild,
    /// Leaves a process behind that holds its output open.
    HeldOutput,

    // Versions and errors.
    /// Says that it speaks version 0.
    VersionZero,
    /// Says that it speaks version 2, in the shape of version 1.
    VersionTwo,
    /// Says its version as a text.
    VersionAsText,
    /// Says that it speaks version 65535.
    VersionHuge,
    /// Says no version.
    NoVersion,
    /// Answers `initialize` with an error.
    InitializeError,
    /// Wants a sign-in before it opens a session.
    AuthRequired,
    /// Answers the prompt with an error.
    PromptError,
    /// Answers with an error that is no error object.
    MalformedError,

    // Reaching out.
    /// Wants to read a file outside of the workspace.
    ReadOutside,
    /// Wants to read a device that never ends.
    ReadDevice,
    /// Makes a link out of the workspace, and wants to write through it.
    WriteThroughLink,
    /// Wants to write a file of the workspace without having asked.
    WriteUnasked,
    /// Wants a terminal that does harm.
    NastyTerminal,
    /// Uses terminals that there are not.
    UnknownTerminal,
    /// Asks the user a question of a shape that there is not.
    OddElicitation,
    /// Asks the user to open an address that is no web page.
    ElicitationOfAScript,
    /// Wants to read a pipe, a directory, a device by a link, and a file that is huge.
    ReadOddFiles,
    /// Wants to read a large file thousands of times, and reads none of the answers.
    ReadFlood,
    /// Wants a hundred terminals at once.
    TerminalFlood,
    /// Waits thousands of times for terminals that there are not.
    WaitFlood,
}

impl Mode {
    /// Every mode.
    pub const ALL: &[Self] = &[
        Self::Plain,
        Self::BannerBefore,
        Self::NoiseBetween,
        Self::NoiseAfter,
        Self::BlankLines,
        Self::AlmostJson,
        Self::OtherJson,
        Self::ControlCharacters,
        Self::GluedLines,
        Self::BrokenLine,
        Self::Dribble,
        Self::PrettyPrinted,
        Self::Batch,
        Self::EmptyBatch,
        Self::ByteOrderMark,
        Self::CarriageReturns,
        Self::Nuls,
        Self::InvalidUtf8,
        Self::LoneSurrogate,
        Self::HalfALine,
        Self::HugeLine,
        Self::NoLineBreak,
        Self::HugeAsk,
        Self::UpdateFlood,
        Self::AskFlood,
        Self::NoiseFlood,
        Self::ToolCallFlood,
        Self::StderrFlood,
        Self::DeepNesting,
        Self::EndlessOutput,
        Self::DuplicateRequestIds,
        Self::RepeatedAsk,
        Self::NullRequestId,
        Self::OddRequestIds,
        Self::IdOfThePrompt,
        Self::UnknownResponse,
        Self::DoubledResponse,
        Self::ErrorThenResult,
        Self::ResultAndError,
        Self::IdOfAnotherType,
        Self::NoVersionField,
        Self::ForeignAsk,
        Self::ForeignUpdates,
        Self::EarlyUpdates,
        Self::PathAsSessionId,
        Self::EmptySessionId,
        Self::UnknownMethod,
        Self::UnknownUpdate,
        Self::UnknownStopReason,
        Self::UnknownOptionKind,
        Self::UnknownRefusal,
        Self::NoOptions,
        Self::DuplicateOptionIds,
        Self::TwoAllowOnce,
        Self::OnlyAllow,
        Self::LyingOptionNames,
        Self::MissingToolCall,
        Self::ChangedToolCall,
        Self::ChangedWhileAsking,
        Self::SwitchedMode,
        Self::PlanExit,
        Self::MalformedAsk,
        Self::NullResult,
        Self::DeathBeforeInitialize,
        Self::DeathWithWords,
        Self::DeathAfterInitialize,
        Self::DeathDuringNew,
        Self::DeathDuringPrompt,
        Self::KilledDuringPrompt,
        Self::DeathWhileAsking,
        Self::DeathAfterTheTurn,
        Self::DeathAfterTheAnswer,
        Self::NoInitializeAnswer,
        Self::NoNewAnswer,
        Self::NoPromptAnswer,
        Self::NoEndAfterTheAnswer,
        Self::CancelIgnored,
        Self::EofIgnored,
        Self::TermIgnored,
        Self::NeverReads,
        Self::ClosedStdout,
        Self::ClosedStdin,
        Self::AskAfterTheTurn,
        Self::AskAfterCancel,
        Self::EarlyAsk,
        Self::LateUpdates,
        Self::DoneWhileAsking,
        Self::EndWhileAsking,
        Self::AskTakenBack,
        Self::Grandchildren,
        Self::StubbornGrandchild,
        Self::HeldOutput,
        Self::VersionZero,
        Self::VersionTwo,
        Self::VersionAsText,
        Self::VersionHuge,
        Self::NoVersion,
        Self::InitializeError,
        Self::AuthRequired,
        Self::PromptError,
        Self::MalformedError,
        Self::ReadOutside,
        Self::ReadDevice,
        Self::WriteThroughLink,
        Self::WriteUnasked,
        Self::NastyTerminal,
        Self::UnknownTerminal,
        Self::OddElicitation,
        Self::ElicitationOfAScript,
        Self::ReadOddFiles,
        Self::ReadFlood,
        Self::TerminalFlood,
        Self::WaitFlood,
    ];

    /// Returns its name on the command line: `GluedLines` is `glued-lines`.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// Returns the mode of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modes_are_listed_in_their_order_and_found_by_their_names() {
        for (place, mode) in Mode::ALL.iter().enumerate() {
            assert_eq!(*mode as usize, place, "{mode:?}");
            assert_eq!(Mode::named(&mode.name()), Some(*mode));
        }
        assert_eq!(Mode::ALL.last(), Some(&Mode::WaitFlood));
        assert_eq!(Mode::AuthRequired.name(), "auth-required");
        assert!(Mode::ALL.len() >= 40);
    }
}
