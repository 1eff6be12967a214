//! A session: what is known of it, what was said and done in it, and the turn that runs.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{SessionId, SessionUpdate, ToolCallStatus, ToolCallUpdate};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::archive::Archive;
use crate::settings::Settings;

/// How much of a conversation is kept; the oldest goes first. Files stay small, and so does the time to write them.
const REMEMBERED: usize = 400;

/// What leave is asked for, and can be given for a whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Leave {
    /// To change files.
    Edit,
    /// To run commands.
    Run,
}

/// What is kept of a session on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: SessionId,
    pub(crate) directory: PathBuf,
    pub(crate) title: Option<String>,
    settings: Settings,
    /// What was allowed for the rest of the session.
    allowed: BTreeSet<Leave>,
    /// Words said so far, by both sides.
    words: u64,
    history: Vec<SessionUpdate>,
}

impl Record {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            id: SessionId::new(format!("demo-{}", uuid::Uuid::now_v7())),
            directory,
            title: None,
            settings: Settings::default(),
            allowed: BTreeSet::new(),
            words: 0,
            history: Vec::new(),
        }
    }

    /// Closes the tool calls that were open when the agent that made them ended.
    pub(crate) fn close_open_tool_calls(&mut self) {
        for update in &mut self.history {
            if let SessionUpdate::ToolCall(call) = update
                && matches!(
                    call.status,
                    ToolCallStatus::Pending | ToolCallStatus::InProgress
                )
            {
                call.status = ToolCallStatus::Failed;
                call.content
                    .push("The agent ended before this was done.".into());
            }
        }
    }
}

#[derive(Debug)]
struct State {
    record: Record,
    turn: Option<CancellationToken>,
}

/// A session that is open in this process.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) directory: PathBuf,
    archive: Archive,
    state: Mutex<State>,
}

impl Session {
    /// Opens the session of `record`, in `directory`: a session can be resumed elsewhere than where it began.
    pub(crate) fn open(archive: Archive, mut record: Record, directory: &Path) -> Self {
        directory.clone_into(&mut record.directory);
        Self {
            id: record.id.clone(),
            directory: record.directory.clone(),
            archive,
            state: Mutex::new(State { record, turn: None }),
        }
    }

    /// Writes down what is known. A full disk does not end the conversation.
    pub(crate) fn keep(&self) {
        let kept = self.archive.keep(&self.state().record);
        if let Err(error) = kept {
            // Nobody may read standard error, which is no reason to stop either.
            let _unheard = writeln!(
                std::io::stderr(),
                "demo-agent: failed to keep session {}: {error}",
                self.id
            );
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        self.state().record.settings.clone()
    }

    pub(crate) fn set<T>(&self, change: impl FnOnce(&mut Settings) -> T) -> T {
        let changed = change(&mut self.state().record.settings);
        self.keep();
        changed
    }

    pub(crate) fn history(&self) -> Vec<SessionUpdate> {
        self.state().record.history.clone()
    }

    /// Names the session after its first prompt; returns the name if it is new.
    pub(crate) fn name_after(&self, prompt: &str) -> Option<String> {
        let mut state = self.state();
        if state.record.title.is_some() {
            return None;
        }
        let first_line = prompt.lines().find(|line| !line.trim().is_empty())?;
        let title: String = first_line.trim().chars().take(80).collect();
        state.record.title = Some(title.clone());
        Some(title)
    }

    /// Adds to the conversation. Of a turn's plan only the last state is kept.
    pub(crate) fn remember(&self, update: SessionUpdate) {
        let history = &mut self.state().record.history;
        if matches!(update, SessionUpdate::Plan(_)) {
            let of_this_turn = history
                .iter_mut()
                .rev()
                .take_while(|earlier| !matches!(earlier, SessionUpdate::UserMessageChunk(_)));
            let mut plans =
                of_this_turn.filter(|earlier| matches!(earlier, SessionUpdate::Plan(_)));
            if let Some(earlier) = plans.next() {
                *earlier = update;
                return;
            }
        }
        history.push(update);
        let surplus = history.len().saturating_sub(REMEMBERED);
        history.drain(..surplus);
    }

    /// Brings a tool call that was remembered up to date.
    pub(crate) fn remember_progress(&self, progress: &ToolCallUpdate) {
        for update in self.state().record.history.iter_mut().rev() {
            if let SessionUpdate::ToolCall(call) = update
                && call.tool_call_id == progress.tool_call_id
            {
                return call.update(progress.fields.clone());
            }
        }
    }

    /// Counts words, and returns how many there are now.
    pub(crate) fn count(&self, text: &str) -> u64 {
        let words = text.split_whitespace().count() as u64;
        let mut state = self.state();
        state.record.words += words;
        state.record.words
    }

    pub(crate) fn is_allowed(&self, leave: Leave) -> bool {
        self.state().record.allowed.contains(&leave)
    }

    pub(crate) fn allow_always(&self, leave: Leave) {
        self.state().record.allowed.insert(leave);
    }

    /// Begins a turn, unless one runs.
    pub(crate) fn begin_turn(&self) -> Option<CancellationToken> {
        let turn = &mut self.state().turn;
        if turn.is_some() {
            return None;
        }
        Some(turn.insert(CancellationToken::new()).clone())
    }

    pub(crate) fn end_turn(&self) {
        self.state().turn = None;
    }

    /// Cancels the turn that runs, if one does.
    pub(crate) fn cancel(&self) {
        if let Some(turn) = &self.state().turn {
            turn.cancel();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
