//! Tool calls: what all the messages about one say together, joined by its id.
//!
//! An agent tells of a tool call in pieces, and a request for leave may carry nothing but the id. So every
//! piece is kept, later ones over earlier ones, within a bound; a piece about a call that nobody has heard
//! of begins one.

mod retelling;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use countersign_core::session::{FileDiff, Item, ToolStatus};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::acp::density::{is_dense, tree};
use crate::acp::fields::Fields;
use crate::difference;

/// The most calls that are kept.
const CALLS: usize = 512;
/// The most text that is kept of all calls together, in bytes.
const WEIGHT: usize = 8 * 1024 * 1024;

/// How long the differences of one call are looked for, all together, before coarser ones will do.
const PATIENCE: Duration = Duration::from_millis(250);
/// The largest change that a transcript shows; an ask shows every one.
const SHOWN_CHANGE: usize = 256 * 1024;

/// What is known of a tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// What the agent calls it.
    pub id: String,
    /// The tool's name, where the agent's program gives it.
    pub name: Option<String>,
    /// The agent's words for it. The model may have written them.
    pub title: String,
    /// The agent's word for the kind of tool.
    pub kind: String,
    /// The agent's word for where it stands.
    pub status: String,
    /// What it is given.
    pub input: Option<Box<RawValue>>,
    /// What it gave back.
    pub output: Option<Box<RawValue>>,
    /// What the agent shows of it.
    pub content: Vec<ToolContent>,
    /// The files it is about.
    pub locations: Vec<String>,
}

/// Something that an agent shows of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolContent {
    /// Words.
    Text(String),
    /// A change of a file.
    Diff(FileChange),
    /// A terminal.
    Terminal(String),
    /// Something else, by the agent's word for it.
    Other(String),
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// What is in it; nothing if it is new.
    pub old: Option<String>,
    /// What will be in it.
    pub new: String,
}

/// A piece of news about a tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolCallChange {
    /// What the agent calls it.
    pub id: String,
    name: Option<String>,
    title: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    input: Option<Box<RawValue>>,
    output: Option<Box<RawValue>>,
    content: Option<Vec<ToolContent>>,
    locations: Option<Vec<String>>,
}

impl ToolCallChange {
    /// Reads the fields of a `toolCall`, or of an update; nothing if it has no id.
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        let claude = fields.object("_meta").object("claudeCode");
        Some(Self {
            id: fields.text("toolCallId")?,
            name: fields
                .text("name")
                .or_else(|| claude.text("toolName"))
                .filter(|name| !name.is_empty()),
            title: fields.text("title"),
            kind: fields.text("kind"),
            status: fields.text("status"),
            input: fields.raw("rawInput").map(ToOwned::to_owned),
            output: fields.raw("rawOutput").map(ToOwned::to_owned),
            content: fields
                .raw("content")
                .map(|_| fields.objects("content").iter().map(content).collect()),
            locations: fields.raw("locations").map(|_| {
                let locations = fields.objects("locations");
                locations.iter().filter_map(|it| it.text("path")).collect()
            }),
        })
    }
}

fn content(fields: &Fields<'_>) -> ToolContent {
    let kind = fields.text_or_empty("type");
    match kind.as_str() {
        "content" => ToolContent::Text(content_text(&fields.object("content"))),
        "diff" => match (fields.text("path"), fields.text("newText")) {
            (Some(path), Some(new)) => ToolContent::Diff(FileChange {
                path,
                old: fields.text("oldText"),
                new,
            }),
            _ => ToolContent::Other(kind),
        },
        "terminal" => ToolContent::Terminal(fields.text_or_empty("terminalId")),
        _ => ToolContent::Other(kind),
    }
}

/// The words of a block of content, or a word for what it is.
pub(super) fn content_text(block: &Fields<'_>) -> String {
    match block.text_or_empty("type").as_str() {
        "text" => block.text_or_empty("text"),
        "resource_link" => block.text_or_empty("uri"),
        "resource" => {
            let resource = block.object("resource");
            resource
                .text("text")
                .unwrap_or_else(|| resource.text_or_empty("uri"))
        }
        "" => String::new(),
        other => format!("({other})"),
    }
}

impl ToolCallChange {
    /// Whether it says something about what will be done, and not only how far it has come.
    pub fn is_about_the_act(&self) -> bool {
        self.name.is_some()
            || self.input.is_some()
            || self.content.is_some()
            || self.locations.is_some()
    }
}

/// By when the differences of one call have to be found.
pub fn patience() -> Instant {
    Instant::now() + PATIENCE
}

impl FileChange {
    /// The change as a unified difference, whole; a coarser one will do after `deadline`.
    pub fn patch(&self, deadline: Instant) -> String {
        let after = Some(self.new.as_str());
        difference::unified(&self.path, self.old.as_deref(), after, deadline)
    }

    fn in_transcript(&self, deadline: Instant) -> FileDiff {
        let size = self.old.as_ref().map_or(0, String::len) + self.new.len();
        FileDiff {
            path: self.path.clone(),
            patch: if size > SHOWN_CHANGE {
                format!("(a change of {size} bytes, which is not shown here)")
            } else {
                self.patch(deadline)
            },
        }
    }
}

impl ToolCall {
    fn take(&mut self, change: ToolCallChange) {
        let nothing = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
        self.id = change.id;
        self.name = change.name.or(self.name.take());
        if !nothing(&change.title) {
            self.title = change.title.unwrap_or_default();
        }
        if !nothing(&change.kind) {
            self.kind = change.kind.unwrap_or_default();
        }
        if !nothing(&change.status) {
            self.status = change.status.unwrap_or_default();
        }
        // Agents announce calls before they know what they are given, and say `{}` for it.
        if let Some(input) = change.input
            && (self.input.is_none() || !is_empty(&input))
        {
            self.input = Some(input);
        }
        self.output = change.output.or(self.output.take());
        if let Some(content) = change.content {
            self.content = content;
        }
        if let Some(locations) = change.locations {
            self.locations = locations;
        }
    }

    /// Where it stands, in our word. Of a call that has not ended only the end is certain.
    pub fn standing(&self) -> ToolStatus {
        match self.status.as_str() {
            "completed" => ToolStatus::Completed,
            "failed" | "cancelled" => ToolStatus::Failed,
            "in_progress" => ToolStatus::Running,
            _ => ToolStatus::Pending,
        }
    }

    /// Whether it has ended, well or not.
    pub fn has_ended(&self) -> bool {
        match self.standing() {
            ToolStatus::Completed | ToolStatus::Failed => true,
            ToolStatus::Pending | ToolStatus::Running => false,
        }
    }

    /// What it is given, if that is known and not empty. What holds too many values for a tree is its text.
    pub fn known_input(&self) -> Option<Value> {
        let input = self.input.as_deref().filter(|input| !is_empty(input))?;
        tree_or_text(input)
    }

    /// The changes of files that it shows.
    pub fn changes(&self) -> impl Iterator<Item = &FileChange> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Diff(change) => Some(change),
            ToolContent::Text(_) | ToolContent::Terminal(_) | ToolContent::Other(_) => None,
        })
    }

    /// The words that it shows.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Text(text) if !text.is_empty() => Some(text.as_str()),
            ToolContent::Text(_)
            | ToolContent::Diff(_)
            | ToolContent::Terminal(_)
            | ToolContent::Other(_) => None,
        })
    }

    /// What it is in a transcript. Without a name it goes by the agent's words, which decide nothing here.
    pub fn item(&self) -> Item {
        let deadline = patience();
        let named = [self.name.as_deref(), Some(&self.title), Some(&self.kind)];
        let tool = named.into_iter().flatten().find(|name| !name.is_empty());
        Item::Tool {
            tool: tool.unwrap_or("tool").to_owned(),
            status: self.standing(),
            input: self.known_input().unwrap_or_else(|| json!({})),
            output: self.output_text(),
            changes: self
                .changes()
                .map(|change| change.in_transcript(deadline))
                .collect(),
            child: None,
        }
    }

    fn output_text(&self) -> String {
        let words: Vec<&str> = self.words().collect();
        if !words.is_empty() {
            return words.join("\n");
        }
        let Some(output) = self.output.as_deref() else {
            return String::new();
        };
        serde_json::from_str::<String>(output.get()).unwrap_or_else(|_| {
            let said = Fields::read(output.get());
            ["output", "stdout", "formatted_output", "error"]
                .into_iter()
                .find_map(|name| said.text(name))
                .unwrap_or_else(|| output.get().to_owned())
        })
    }

    /// All that is known of it, for the record.
    pub fn record(&self) -> Value {
        let changes: Vec<Value> = self
            .changes()
            .map(|change| json!({ "path": change.path, "old": change.old, "new": change.new }))
            .collect();
        json!({
            "id": self.id,
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "input": self.input.as_deref().and_then(tree_or_text),
            "changes": changes,
            "words": self.words().collect::<Vec<_>>(),
            "locations": self.locations,
        })
    }

    fn weight(&self) -> usize {
        let raw = |raw: &Option<Box<RawValue>>| raw.as_ref().map_or(0, |raw| raw.get().len());
        let content: usize = self
            .content
            .iter()
            .map(|content| match content {
                ToolContent::Text(text)
                | ToolContent::Terminal(text)
                | ToolContent::Other(text) => text.len() + 64,
                ToolContent::Diff(change) => {
                    change.old.as_ref().map_or(0, String::len) + change.new.len() + 64
                }
            })
            .sum();
        let locations: usize = self.locations.iter().map(|path| path.len() + 24).sum();
        let texts = self.id.len() + self.title.len() + self.kind.len() + self.status.len();
        raw(&self.input) + raw(&self.output) + content + locations + texts
    }
}

fn tree_or_text(raw: &RawValue) -> Option<Value> {
    if is_dense(raw.get()) {
        return Some(Value::from(raw.get()));
    }
    tree(raw.get()).ok()
}

fn is_empty(input: &RawValue) -> bool {
    match input.get().as_bytes() {
        [b'{', inner @ .., b'}'] => inner.trim_ascii().is_empty(),
        text => text == b"\"\"",
    }
}

/// The tool calls of a session.
#[derive(Debug)]
pub struct ToolCalls {
    most_calls: usize,
    most_weight: usize,
    calls: HashMap<String, ToolCall>,
    /// Their ids, the oldest first.
    order: VecDeque<String>,
    weight: usize,
}

impl Default for ToolCalls {
    fn default() -> Self {
        Self::within(CALLS, WEIGHT)
    }
}

impl ToolCalls {
    fn within(most_calls: usize, most_weight: usize) -> Self {
        Self {
            most_calls,
            most_weight,
            calls: HashMap::new(),
            order: VecDeque::new(),
            weight: 0,
        }
    }

    /// Joins a piece of news with what is known, and returns all of it.
    pub fn take(&mut self, change: ToolCallChange) -> &ToolCall {
        let id = change.id.clone();
        let call = self.calls.entry(id.clone()).or_insert_with(|| {
            self.order.push_back(id.clone());
            ToolCall::default()
        });
        let before = call.weight();
        call.take(change);
        self.weight = self.weight + call.weight() - before;
        self.forget(&id);
        &self.calls[&id]
    }

    /// What is known of a call.
    pub fn get(&self, id: &str) -> Option<&ToolCall> {
        self.calls.get(id)
    }

    /// The calls that have not ended, the oldest first: what a dead agent leaves.
    pub fn unfinished(&self) -> impl Iterator<Item = &ToolCall> {
        self.order
            .iter()
            .filter_map(|id| self.calls.get(id))
            .filter(|call| !call.has_ended())
    }

    fn is_over_bounds(&self) -> bool {
        self.calls.len() > self.most_calls || self.weight > self.most_weight
    }

    /// Forgets calls until the rest is within the bounds: ended ones first, and never `kept`.
    fn forget(&mut self, kept: &str) {
        while self.calls.len() > 1 && self.is_over_bounds() {
            let oldest = |wanted: &dyn Fn(&ToolCall) -> bool| {
                self.order
                    .iter()
                    .position(|id| id != kept && self.calls.get(id).is_some_and(wanted))
            };
            let Some(position) = oldest(&ToolCall::has_ended).or_else(|| oldest(&|_| true)) else {
                return;
            };
            let gone = self.order.remove(position);
            if let Some(call) = gone.and_then(|id| self.calls.remove(&id)) {
                self.weight -= call.weight();
            }
        }
    }
}

#[cfg(test)]
mod tests;
