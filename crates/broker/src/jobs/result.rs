//! What came of a job: its last words, the files that it changed, and what it used up.

use std::collections::BTreeMap;

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::SessionId;
use countersign_core::job::{ChangedFile, Job, JobId, JobUsage, Worktree, WorktreeFate};
use countersign_core::session::{FileDiff, Item, Session, ToolStatus, TranscriptItem, Turn};
use countersign_store::StoreError;
use serde_json::Value;

use crate::Broker;
use crate::error::BrokerError;
use crate::jobs::worktree;
use crate::supervisor::part_id;

/// How many items are read at a time.
const PAGE: i64 = 200;
/// More items than are looked at for changes of files.
const MOST_PAGES: usize = 50;
/// How much of the changes is shown at once, in bytes.
const DIFF_LIMIT: usize = 4 << 20;

/// What a job changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The job.
    pub job: JobId,
    /// What it is compared with, for a job with a worktree.
    pub base: Option<String>,
    /// The change of each file.
    pub files: Vec<FileDiff>,
    /// Whether something was left out.
    pub truncated: bool,
}

impl Broker {
    /// The last words of the agent since the prompt of a turn.
    pub(super) async fn last_words(
        &self,
        session: &Session,
        turn: &Turn,
    ) -> Result<Option<String>, StoreError> {
        let after = self.place_of(session, turn).await?;
        let mut before = i64::MAX;
        loop {
            let items = self
                .store
                .newest_items(session.id, after, before, PAGE)
                .await?;
            let Some(oldest) = items.last().map(|item| item.seq) else {
                return Ok(self.half_said(session.id));
            };
            let said = items.into_iter().find_map(|item| words_of(item.item));
            if said.is_some() {
                return Ok(said);
            }
            before = oldest;
        }
    }

    /// What is being said and is no item yet.
    fn half_said(&self, session: SessionId) -> Option<String> {
        let growing = self.live.growing(session);
        growing
            .into_values()
            .find_map(|piece| words_of(piece.into_item()))
    }

    /// The place of a turn's prompt in its session.
    async fn place_of(&self, session: &Session, turn: &Turn) -> Result<i64, StoreError> {
        let key = if session.engine == Session::OPENCODE {
            part_id(turn.id)
        } else {
            format!("{}/prompt", turn.id)
        };
        let place = self.store.item_place(session.id, &key).await?;
        Ok(place.unwrap_or(0))
    }

    /// Git, contained.
    pub(super) fn git(&self) -> worktree::Git<'_> {
        worktree::Git {
            own_program: &self.settings.own_program,
        }
    }

    /// The files that a job changed.
    pub(super) async fn changed_files(
        &self,
        job: &Job,
        session: &Session,
        turn: &Turn,
    ) -> Result<Vec<ChangedFile>, StoreError> {
        if let Some(worktree) = &job.worktree {
            match worktree::changed_files(self.git(), worktree).await {
                Ok(files) => return Ok(files),
                Err(why) => tracing::warn!(job.id = %job.id, "the changes are not known: {why}"),
            }
        }
        let mut files: BTreeMap<String, ChangedFile> = BTreeMap::new();
        for change in self.shown_changes(session, turn).await? {
            let path = within(&change.path, &job.directory);
            let count = |sign: char, twice: &str| {
                let lines = change.patch.lines();
                lines
                    .filter(|line| line.starts_with(sign) && !line.starts_with(twice))
                    .count() as u64
            };
            let is_known = !change.patch.is_empty();
            let file = files.entry(path.clone()).or_insert(ChangedFile {
                path,
                added: is_known.then_some(0),
                removed: is_known.then_some(0),
            });
            file.added = file.added.map(|added| added + count('+', "+++"));
            file.removed = file.removed.map(|removed| removed + count('-', "---"));
        }
        Ok(files.into_values().collect())
    }

    /// The changes of files that the tool calls of a turn show.
    async fn shown_changes(
        &self,
        session: &Session,
        turn: &Turn,
    ) -> Result<Vec<FileDiff>, StoreError> {
        let mut after = self.place_of(session, turn).await?;
        let mut changes = Vec::new();
        for _ in 0..MOST_PAGES {
            let items = self.store.items(session.id, after, PAGE).await?;
            let Some(last) = items.last().map(|item| item.seq) else {
                break;
            };
            changes.extend(items.into_iter().flat_map(changes_of));
            after = last;
        }
        Ok(changes)
    }

    /// What a job used up, as far as its engine told.
    pub(super) async fn usage(&self, session: &Session) -> Result<Option<JobUsage>, StoreError> {
        if session.engine == Session::OPENCODE {
            // What its turn used up is noted when that ends; the session may have done other things.
            return Ok(None);
        }
        let told = self.store.settings(session.id).await?;
        let usage = told.and_then(|told| told.usage);
        Ok(usage.map(|usage| JobUsage {
            used_tokens: Some(usage.used),
            cost: usage.cost,
            ..JobUsage::default()
        }))
    }

    /// What a job changed, file by file.
    pub async fn job_diff(&self, caller: &Caller, id: &JobId) -> Result<Changes, BrokerError> {
        caller.require(Grant::Read)?;
        let job = self.visible_job(caller, id).await?;
        let mut files = match (&job.worktree, job.session, job.turn) {
            (Some(worktree), _, _) => {
                let repository = self.serve_known(job.workspace).await?.path;
                worktree::diff(self.git(), &repository, worktree)
                    .await
                    .map_err(BrokerError::Unable)?
            }
            (None, Some(session), Some(turn)) => {
                let session = self.store.session(session).await?;
                let turn = self.store.turn(turn).await?;
                match session.zip(turn) {
                    Some((session, turn)) => self.shown_changes(&session, &turn).await?,
                    None => Vec::new(),
                }
            }
            (None, _, _) => Vec::new(),
        };
        let mut room = DIFF_LIMIT;
        let whole = files.len();
        files.retain(|file| {
            let fits = file.patch.len() <= room;
            room -= if fits { file.patch.len() } else { 0 };
            fits
        });
        Ok(Changes {
            job: job.id,
            base: job.worktree.map(|worktree| worktree.base),
            truncated: files.len() < whole,
            files,
        })
    }

    /// Keeps what a job did in its worktree: it is committed on the worktree's branch, which stays, and the worktree is
    /// removed.
    pub async fn keep_worktree(
        &self,
        caller: &Caller,
        id: &JobId,
    ) -> Result<Worktree, BrokerError> {
        self.settle_worktree(caller, id, WorktreeFate::Kept).await
    }

    /// Removes a job's worktree and its branch.
    pub async fn discard_worktree(
        &self,
        caller: &Caller,
        id: &JobId,
    ) -> Result<Worktree, BrokerError> {
        self.settle_worktree(caller, id, WorktreeFate::Discarded)
            .await
    }

    async fn settle_worktree(
        &self,
        caller: &Caller,
        id: &JobId,
        fate: WorktreeFate,
    ) -> Result<Worktree, BrokerError> {
        let job = self.visible_job(caller, id).await?;
        caller.require_in(Grant::Prompt, job.workspace)?;
        let conflict = |why: &str| BrokerError::Conflict(format!("job `{id}` {why}"));
        let Some(worktree) = job.worktree.clone() else {
            return Err(conflict("has no worktree"));
        };
        if !job.state.is_terminal() {
            return Err(conflict("has not ended; cancel it first"));
        }
        if worktree.fate == fate {
            return Ok(worktree);
        }
        if worktree.fate != WorktreeFate::Open {
            return Err(conflict("has no worktree any more"));
        }
        let repository = self.serve_known(job.workspace).await?.path;
        let settled = match fate {
            WorktreeFate::Kept => {
                worktree::keep(self.git(), &repository, &worktree, &job.title, id).await
            }
            WorktreeFate::Discarded | WorktreeFate::Open => {
                worktree::discard(self.git(), &repository, &worktree).await
            }
        };
        settled.map_err(BrokerError::Unable)?;
        let worktree = Worktree { fate, ..worktree };
        let cause = match fate {
            WorktreeFate::Kept => format!("kept as the branch {}", worktree.branch),
            WorktreeFate::Discarded | WorktreeFate::Open => "discarded".to_owned(),
        };
        let now = self.clock.now();
        self.store
            .set_worktree(id, &worktree, Some(caller.actor()), &cause, now)
            .await?;
        Ok(worktree)
    }
}

/// The words of an item in which the agent says something.
fn words_of(item: Item) -> Option<String> {
    let Item::Text { text } = item else {
        return None;
    };
    (!text.trim().is_empty()).then_some(text)
}

/// The changes of files that an item shows.
fn changes_of(item: TranscriptItem) -> Vec<FileDiff> {
    let Item::Tool {
        tool,
        status: ToolStatus::Completed,
        input,
        changes,
        ..
    } = item.item
    else {
        return Vec::new();
    };
    if !changes.is_empty() {
        return changes;
    }
    let tool = tool.to_ascii_lowercase();
    let is_edit = ["edit", "write", "patch"]
        .iter()
        .any(|word| tool.contains(word));
    let path = ["filePath", "file_path", "path"]
        .iter()
        .find_map(|name| input.get(*name).and_then(Value::as_str))
        .filter(|_| is_edit);
    let change = path.map(|path| FileDiff {
        path: path.to_owned(),
        patch: String::new(),
    });
    change.into_iter().collect()
}

/// A path from `directory` on, if it is within.
fn within(path: &str, directory: &str) -> String {
    let rest = path
        .strip_prefix(directory)
        .and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(path).to_owned()
}
