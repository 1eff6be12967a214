//! The audit of a workspace: kept in the ledger, copied to the file where OpenWork keeps it.
//!
//! The newest entries are held in memory, which is all that is ever asked for. Lines of the file whose
//! time is before the ledger's first entry of the workspace are shown behind its entries; later ones are not believed: an
//! agent can write there. It can also date a line back, and that one is shown after a restart, behind what is true.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_broker::{Broker, BrokerError, FOUND, Ground, Record};
use countersign_core::audit::AuditEntry;
use countersign_core::delivery::Evidence;
use countersign_core::digest::Digest;
use countersign_core::id::{AskId, WorkspaceId};
use countersign_workspace::Workspace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approvals::Permit;
use crate::aside::{Pace, aside, briefly};
use crate::keys::{Caller, WireActor};
use crate::roster::Seat;
use crate::wire_id;
use crate::wire_time::millis;

/// Where the copy is, below the workspace.
pub(crate) const COPY: &str = ".opencode/openwork/audit.jsonl";
/// More than this is never answered.
pub(crate) const LIMIT: usize = 200;
/// How many entries are read from the ledger at a time, from its end on: mostly enough at once.
const PAGE: i64 = 256;
/// How many are read at a time from its beginning on, where one is looked for.
const FIRST_PAGE: i64 = 16;
/// Under this key the ledger has the entry as it is on the wire.
const WIRE: &str = "openwork";

/// What it lately took to copy an entry.
static COPYING: Pace = Pace::new();

/// An entry as it is on the wire.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    id: String,
    workspace_id: String,
    actor: WireActor,
    action: String,
    target: String,
    summary: String,
    timestamp: i64,
}

/// What was done, to what, and in words.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    pub(crate) action: &'static str,
    pub(crate) target: String,
    pub(crate) summary: String,
}

/// The audit of a workspace.
pub(crate) struct Trail {
    broker: Broker,
    /// Where 0.13 has the copy; in the workspace if nothing is said.
    elsewhere: Option<PathBuf>,
    known: Mutex<Known>,
    /// Held while an entry is made: the copy has them in the ledger's order.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// The ledger's newest entries, newest first, each as its text.
    entries: VecDeque<Line>,
    /// When the ledger's first entry was made.
    first: Option<i64>,
    /// What was in the file before, newest first.
    old: Vec<Line>,
    /// What the file was like when that was read.
    seen: Option<(u64, i128)>,
    /// Whether what was in the file before can change no more.
    is_settled: bool,
}

#[derive(Clone)]
struct Line {
    at: i64,
    text: String,
}

impl Trail {
    /// Reads the newest entries of the workspace that the ledger and the wire call so.
    pub(crate) async fn load(
        broker: Broker,
        (ledger, workspace): (WorkspaceId, &str),
        elsewhere: Option<PathBuf>,
    ) -> Result<Self, BrokerError> {
        let mut known = Known::default();
        let mut before = None;
        let owner = broker.local_owner();
        while known.entries.len() < LIMIT {
            let page = broker.audit_before(&owner, ledger, before, PAGE).await?;
            before = page.last().map(|entry| entry.seq);
            let lines = page.iter().filter_map(|entry| on_wire(entry, workspace));
            known.entries.extend(lines.map(|entry| Line::of(&entry)));
            if before.is_none_or(|seq| seq <= 1) {
                break;
            }
        }
        known.first = first(&broker, (ledger, workspace), &known).await?;
        known.entries.truncate(LIMIT);
        Ok(Self {
            broker,
            elsewhere,
            known: Mutex::new(known),
            writing: tokio::sync::Mutex::default(),
        })
    }

    /// Records what `caller` did at `seat`, in the ledger and then in its copy, and with it what the leave for it came
    /// to.
    pub(crate) async fn record(
        seat: &Arc<Seat>,
        caller: &Caller,
        permit: Permit,
        (digest, ground): (Option<Digest>, Option<Ground>),
        deeds: Vec<Deed>,
    ) -> Result<(), BrokerError> {
        let trail = &seat.trail;
        let turn = trail.writing.lock().await;
        // What was there before is looked at before anything of ours is.
        if !trail.is_settled() {
            let looking = Arc::clone(seat);
            aside(move || looking.trail.look(&looking.files)).await;
        }
        let at = millis(trail.broker.clock().now());
        let entries: Vec<Entry> = deeds
            .into_iter()
            .map(|deed| Entry {
                id: wire_id::fresh(),
                workspace_id: seat.entry.id.clone(),
                actor: caller.wire.clone(),
                action: deed.action.to_owned(),
                target: deed.target,
                summary: deed.summary,
                timestamp: at,
            })
            .collect();
        let records = entries.iter().map(|entry| Record {
            action: entry.action.clone(),
            subject: entry.target.clone(),
            detail: json!({ WIRE: entry, "digest": digest }),
        });
        let (records, granted) = (records.collect(), caller.granted());
        match permit {
            Permit::NotNeeded => {
                if let Some(ground) = ground {
                    aside(move || ground.lay()).await;
                }
                trail.broker.record(&granted, seat.ledger, records).await?;
            }
            Permit::Given(leave) => {
                let evidence =
                    digest.map_or(Evidence::Done, |digest| Evidence::FilesWritten { digest });
                trail
                    .broker
                    .wrote(&granted, leave, (evidence, ground), records)
                    .await?;
            }
        }
        let mut text = String::new();
        for entry in &entries {
            let line = Line::of(entry);
            text.push_str(&line.text);
            text.push('\n');
            trail.know(line);
        }
        let copying = Arc::clone(seat);
        let copied = briefly(&COPYING, move || copying.trail.copy(&copying.files, &text)).await;
        drop(turn);
        if let Some(Err(error)) = copied {
            // The ledger has it.
            tracing::warn!(
                error = &*error as &dyn std::error::Error,
                "the copy of the audit was not written"
            );
        }
        Ok(())
    }

    /// Records what `caller` did at `seat` that takes nobody's leave.
    pub(crate) async fn note(
        seat: &Arc<Seat>,
        caller: &Caller,
        deed: Deed,
    ) -> Result<(), BrokerError> {
        Self::record(seat, caller, Permit::NotNeeded, (None, None), vec![deed]).await
    }

    fn know(&self, line: Line) {
        let mut known = self.lock();
        known.first.get_or_insert(line.at);
        known.is_settled = true;
        known.entries.push_front(line);
        known.entries.truncate(LIMIT);
    }

    fn copy(
        &self,
        files: &Workspace,
        line: &str,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match &self.elsewhere {
            None => Ok(files.root()?.append(COPY.as_ref(), line.as_bytes())?),
            Some(path) => {
                use std::io::Write as _;
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                let mut file = std::fs::File::options()
                    .create(true)
                    .append(true)
                    .open(path)?;
                Ok(file.write_all(line.as_bytes())?)
            }
        }
    }

    /// Whether what was in the file before can change no more.
    pub(crate) fn is_settled(&self) -> bool {
        self.lock().is_settled
    }

    /// Takes notice of what is in the file, if that can still matter. It waits for the disk.
    pub(crate) fn look(&self, files: &Workspace) {
        if self.is_settled() {
            return;
        }
        let status = files.root().and_then(|root| root.status(COPY.as_ref()));
        let seen = status.ok().map(|status| (status.size, status.modified));
        let (is_same, first) = {
            let known = self.lock();
            (known.seen == seen, known.first)
        };
        if is_same {
            return;
        }
        let content = files.root().and_then(|root| root.read(COPY.as_ref()));
        let content = content.unwrap_or_default();
        let old = old_lines(&content, first);
        let mut known = self.lock();
        known.is_settled = first.is_some();
        known.seen = seen;
        known.old = old;
    }

    /// The newest `limit` entries, in the form in which all lists are answered.
    pub(crate) fn newest(&self, limit: usize) -> String {
        let known = self.lock();
        let lines = known
            .entries
            .iter()
            .chain(&known.old)
            .take(limit.min(LIMIT));
        let length: usize = lines.clone().map(|line| line.text.len() + 1).sum();
        let mut text = String::with_capacity(length + "{\"items\":[]}".len());
        text.push_str("{\"items\":[");
        for (index, line) in lines.enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&line.text);
        }
        text.push_str("]}");
        text
    }

    /// When something was last done, in milliseconds.
    pub(crate) fn last(&self) -> Option<i64> {
        let known = self.lock();
        known
            .entries
            .front()
            .or(known.old.first())
            .map(|line| line.at)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    fn of(entry: &Entry) -> Self {
        Self {
            at: entry.timestamp,
            // It is made of texts and a number.
            text: serde_json::to_string(entry).unwrap_or_default(),
        }
    }
}

/// An entry of the ledger's as it is on the wire, in the workspace that is called `workspace` there; nothing if it is none
/// of OpenWork's.
fn on_wire(entry: &AuditEntry, workspace: &str) -> Option<Entry> {
    if let Some(found) = entry.detail.get(FOUND) {
        return on_wire_found(entry, found, workspace);
    }
    Entry::deserialize(entry.detail.get(WIRE)?).ok()
}

/// A write that the ledger has no entry of OpenWork's for: the server was killed in between.
fn on_wire_found(entry: &AuditEntry, found: &Value, workspace: &str) -> Option<Entry> {
    let ask: AskId = found.get("ask")?.as_str()?.parse().ok()?;
    Some(Entry {
        id: ask.as_uuid().hyphenated().to_string(),
        workspace_id: workspace.to_owned(),
        actor: WireActor::deserialize(found.get("actor")?).ok()?,
        action: entry.action.clone(),
        target: entry.subject.clone(),
        summary: found.get("summary")?.as_str()?.to_owned(),
        timestamp: millis(entry.at),
    })
}

/// When the ledger's first entry was made, of which `known` has the newest.
async fn first(
    broker: &Broker,
    (ledger, workspace): (WorkspaceId, &str),
    known: &Known,
) -> Result<Option<i64>, BrokerError> {
    let newest = known.entries.len();
    if newest < LIMIT {
        return Ok(known.entries.back().map(|line| line.at));
    }
    let (owner, mut after, mut limit) = (broker.local_owner(), 0, FIRST_PAGE);
    loop {
        let page = broker.audit(&owner, Some(ledger), after, limit).await?;
        if let Some(first) = page.iter().find_map(|entry| on_wire(entry, workspace)) {
            return Ok(Some(first.timestamp));
        }
        let Some(last) = page.last() else {
            return Ok(known.entries.back().map(|line| line.at));
        };
        (after, limit) = (last.seq, PAGE);
    }
}

/// The newest lines of a file that are older than `first`; what is no entry is passed over.
fn old_lines(content: &[u8], first: Option<i64>) -> Vec<Line> {
    let lines = content.rsplit(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(Value::is_object)
        .map(|value| Line {
            at: value.get("timestamp").and_then(Value::as_i64).unwrap_or(0),
            text: value.to_string(),
        })
        .filter(|line| first.is_none_or(|first| line.at < first))
        .take(LIMIT)
        .collect()
}
