//! What a mode is made of: for each stage of a conversation, what is done there.

use std::fmt;

use super::normal;

/// A moment at which the agent does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Before anything is read.
    Start,
    /// `initialize` was received.
    Initialize,
    /// `session/new`, `session/load` or `session/resume` was received.
    New,
    /// `session/prompt` was received.
    Prompt,
    /// One of its requests was answered.
    Answer,
    /// `session/cancel` was received.
    Cancel,
    /// The input has ended.
    End,
}

impl Stage {
    pub(super) const ALL: [Self; 7] = [
        Self::Start,
        Self::Initialize,
        Self::New,
        Self::Prompt,
        Self::Answer,
        Self::Cancel,
        Self::End,
    ];
}

impl fmt::Display for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Start => "start",
            Self::Initialize => "initialize",
            Self::New => "new",
            Self::Prompt => "prompt",
            Self::Answer => "answer",
            Self::Cancel => "cancel",
            Self::End => "end",
        })
    }
}

/// One thing that is done.
///
/// Texts are templates: `$ID` is the id of the request at hand, `$PROMPT` that of the last prompt, `$SESSION` the session,
/// `$CWD` its directory, and `$N` the number of the round in a flood.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Writes a line.
    Say(String),
    /// Writes text without a line break.
    Write(String),
    /// Writes bytes as they are.
    Bytes(&'static [u8]),
    /// Writes text a few bytes at a time.
    Dribble(String),
    /// Writes a line as often as said.
    Flood { line: String, count: usize },
    /// Writes the letter `a` as often as said.
    Fill(usize),
    /// Writes to standard error as many bytes as said.
    Complain(usize),
    /// Writes lines until nobody takes them.
    WriteForEver,
    /// Ends with this exit code.
    Exit(u8),
    /// Kills itself.
    Kill,
    /// Lives on, but reads nothing more and says nothing more.
    Hang,
    /// Reads nothing more and says nothing more even if it is told to end.
    HangThroughTerm,
    /// Closes standard output.
    CloseStdout,
    /// Closes standard input.
    CloseStdin,
    /// Starts processes that leave its session.
    Outlive { count: usize, with: Survivor },
    /// Makes the link `out` in the session's directory, which leads out of it.
    Link,
    /// Makes files in the session's directory that are none, or too large.
    OddFiles,
}

/// How a process that outlives the agent behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Survivor {
    /// Ends when it is told to.
    Plain,
    /// Ignores SIGTERM.
    Stubborn,
    /// Keeps the agent's standard output open.
    HoldingOutput,
}

/// What is done at each stage.
#[derive(Debug, Clone)]
pub(super) struct Script {
    acts: [Vec<Act>; Stage::ALL.len()],
    /// Where it departs from what a plain agent does.
    departures: Vec<Stage>,
}

impl Script {
    /// What a plain agent does.
    pub(super) fn plain() -> Self {
        Self {
            acts: Stage::ALL.map(normal::acts),
            departures: Vec::new(),
        }
    }

    /// Does this at `stage` instead.
    pub(super) fn at(mut self, stage: Stage, acts: impl Into<Vec<Act>>) -> Self {
        self.acts[stage as usize] = acts.into();
        self.departures.push(stage);
        self
    }

    /// Does this at `stage`, and then what is done there otherwise.
    pub(super) fn before(self, stage: Stage, acts: impl Into<Vec<Act>>) -> Self {
        let mut all: Vec<Act> = acts.into();
        all.extend_from_slice(&self.acts[stage as usize]);
        self.at(stage, all)
    }

    /// Does what is done at `stage` otherwise, and then this.
    pub(super) fn after(self, stage: Stage, acts: impl Into<Vec<Act>>) -> Self {
        let mut all = self.acts[stage as usize].clone();
        all.extend(acts.into());
        self.at(stage, all)
    }

    pub(super) fn acts(&self, stage: Stage) -> &[Act] {
        &self.acts[stage as usize]
    }

    pub(super) fn departs_at(&self, stage: Stage) -> bool {
        self.departures.contains(&stage)
    }

    /// The first stage at which it departs from what a plain agent does.
    pub(super) fn first_departure(&self) -> Option<Stage> {
        self.departures.iter().min().copied()
    }
}

pub(super) fn say(text: impl Into<String>) -> Act {
    Act::Say(text.into())
}

pub(super) fn write(text: impl Into<String>) -> Act {
    Act::Write(text.into())
}
