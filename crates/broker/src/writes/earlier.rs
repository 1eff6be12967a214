//! What earlier servers left of the writes of a workspace.
//!
//! A server can be killed between the last rename and its note that the write is done, and the machine can fail before that
//! note is on its disk. What was allowed names its files by their digests, so the next server looks at them: if they are
//! what was allowed, it was done, and is recorded as that.

use std::path::Path;

use countersign_core::ask::{Ask, AskState};
use countersign_core::digest::Digest;
use countersign_core::id::AskId;
use countersign_core::session::Workspace;
use countersign_store::StoreError;
use countersign_workspace::beneath::Root;
use countersign_workspace::change;
use serde::Deserialize;

use crate::Broker;

/// What is kept of a file that was to be written, see `Proposal::record`.
#[derive(Deserialize)]
struct Kept {
    root: String,
    path: String,
    after: Option<Digest>,
}

impl Broker {
    /// Ends every write of a workspace that an earlier server left: what was open is withdrawn, and of what was allowed it
    /// is found out whether it was done.
    pub(crate) async fn end_earlier_writes(&self, workspace: &Workspace) -> Result<(), StoreError> {
        let left = self.store.earlier_writes(workspace.id).await?;
        // Few are ever left, and nobody is served before they are settled.
        let found: Vec<(AskId, Digest)> = left
            .iter()
            .filter_map(|ask| Some((ask.id, found(ask)?)))
            .collect();
        let now = self.clock.now();
        self.store
            .end_earlier_writes(workspace.id, &found, now)
            .await
    }
}

/// Identifies the bytes of the files that were to be written, if each of them is what was allowed.
fn found(ask: &Ask) -> Option<Digest> {
    let AskState::Answered(answer, _) = &ask.state else {
        return None;
    };
    if !answer.choice.is_yes() {
        return None;
    }
    let kept = Vec::<Kept>::deserialize(ask.raw.get("changes")?).ok()?;
    if kept.is_empty() {
        // What is no file cannot be looked at.
        return None;
    }
    let mut contents = Vec::with_capacity(kept.len());
    for file in &kept {
        let root = Root::open(Path::new(&file.root)).ok()?;
        let content = root.read_if_there(Path::new(&file.path)).ok()?;
        if content.as_deref().map(Digest::of_bytes) != file.after {
            return None;
        }
        contents.push(content);
    }
    let files = kept.iter().zip(&contents);
    Some(change::written(files.map(|(file, content)| {
        (Path::new(&file.path), content.as_deref())
    })))
}
