//! Proposals: what a client wants to write, and what people are shown of it.

use std::time::{Duration, Instant};

use countersign_core::actor::Actor;
use countersign_core::ask::{Door, OfferedOption, OptionKind, Subject};
use countersign_core::digest::Digest;
use countersign_core::id::WorkspaceId;
use countersign_core::session::{FileDiff, Workspace};
use countersign_core::time::Timestamp;
use countersign_engine::acp::tool_call::patience;
use countersign_engine::difference;
use countersign_store::{NewAsk, Writer};
use countersign_workspace::{Base, FileChange, Workspace as Files};
use rand::RngExt as _;
use serde_json::{Value, json};

/// A write that somebody proposes.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// What is to be done, by the name that the client's protocol has for it, such as `plugins.add`.
    pub action: String,
    /// What is to be done, in a sentence.
    pub summary: String,
    /// The files that are concerned, as the client is told of them.
    pub paths: Vec<String>,
    /// What would be in each file.
    pub changes: Vec<ProposedFile>,
    /// Who proposes it, as the client's own protocol says it; what it calls itself there is `clientId`.
    pub wire_actor: Value,
    /// How long it stays open.
    pub expires_in: Duration,
    /// What is meant, whatever the files hold at the moment: an identical proposal is the same wish again.
    pub fingerprint: Digest,
}

/// A file as it is and as it would be.
#[derive(Debug, Clone)]
pub struct ProposedFile {
    /// The folder that the path begins at: the workspace, as a rule.
    pub root: String,
    /// Where it is below that.
    pub path: String,
    /// What it holds; nothing if it is not there.
    pub before: Option<Vec<u8>>,
    /// What it would hold; nothing if it would be removed.
    pub after: Option<Vec<u8>>,
}

impl ProposedFile {
    /// A planned change of a file in `files`, the workspace or what its user has for all of them.
    pub fn of(files: &Files, change: FileChange) -> Self {
        let root = match change.base {
            Base::Workspace => files.path(),
            Base::Home => files.home().path(),
        };
        Self {
            root: root.to_string_lossy().into_owned(),
            path: change.path.to_string_lossy().into_owned(),
            before: change.before,
            after: change.after,
        }
    }
}

impl Proposal {
    /// What is kept of it: the content of the files by their digests, which bind what was shown to what is answered.
    pub(super) fn record(&self) -> Value {
        let digest = |content: &Option<Vec<u8>>| content.as_deref().map(Digest::of_bytes);
        let changes: Vec<Value> = self
            .changes
            .iter()
            .map(|file| {
                json!({ "root": file.root, "path": file.path,
                        "before": digest(&file.before), "after": digest(&file.after) })
            })
            .collect();
        json!({ "action": self.action, "summary": self.summary, "paths": self.paths,
                "changes": changes, "actor": self.wire_actor })
    }

    /// The ask that it becomes.
    pub(super) fn into_ask(
        self,
        by: Actor,
        workspace: &Workspace,
        writer: Writer,
        now: Timestamp,
    ) -> NewAsk {
        let raw = self.record();
        let deadline = patience();
        let changes = self
            .changes
            .iter()
            .map(|file| file.shown(deadline))
            .collect();
        NewAsk {
            workspace: workspace.id,
            door: Door::Workspace,
            run: writer.run,
            session: writer.session,
            native_id: format!("{:032x}", rand::rng().random::<u128>()),
            directory: workspace.path.clone(),
            arguments: json!({ "fingerprint": self.fingerprint }),
            raw,
            options: options(),
            expires_at: Some(now.after(self.expires_in)),
            subject: Subject::WorkspaceWrite {
                action: self.action,
                summary: self.summary,
                paths: self.paths,
                changes,
                by,
                wire_actor: self.wire_actor,
            },
        }
    }
}

impl ProposedFile {
    /// The change, whole, for people to read.
    pub(crate) fn shown(&self, deadline: Instant) -> FileDiff {
        let text = |content: &Option<Vec<u8>>| match content.as_deref().map(str::from_utf8) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text.to_owned())),
            Some(Err(_)) => Err(()),
        };
        let patch = match (text(&self.before), text(&self.after)) {
            (Ok(before), Ok(after)) => {
                difference::unified(&self.path, before.as_deref(), after.as_deref(), deadline)
            }
            (Err(()), Ok(Some(after))) => {
                let before = described(self.before.as_deref());
                format!("The file is {before}. All of it is replaced by:\n{after}")
            }
            (Ok(_) | Err(()), Ok(_) | Err(())) => {
                let (before, after) = (self.before.as_deref(), self.after.as_deref());
                format!(
                    "The file is {}. It would be {}.",
                    described(before),
                    described(after)
                )
            }
        };
        FileDiff {
            path: self.path.clone(),
            patch,
        }
    }
}

/// What can be said of content where a difference cannot be shown.
fn described(content: Option<&[u8]>) -> String {
    let Some(bytes) = content else {
        return "not there".to_owned();
    };
    let kind = match str::from_utf8(bytes) {
        Ok(_) => "of text",
        Err(_) => "that are no text",
    };
    let (length, digest) = (bytes.len(), Digest::of_bytes(bytes));
    format!("{length} bytes {kind} (SHA-256 {digest})")
}

/// A write is allowed once, or denied.
fn options() -> Vec<OfferedOption> {
    let option = |id: &str, name: &str, kind| OfferedOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        note: String::new(),
    };
    vec![
        option("allow", "Allow once", OptionKind::AllowOnce),
        option("deny", "Deny", OptionKind::Deny),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(before: Option<&[u8]>, after: Option<&[u8]>) -> String {
        let file = ProposedFile {
            root: "/home/ada/project".to_owned(),
            path: "opencode.jsonc".to_owned(),
            before: before.map(<[u8]>::to_vec),
            after: after.map(<[u8]>::to_vec),
        };
        file.shown(patience()).patch
    }

    #[test]
    fn a_change_of_text_is_shown_as_a_difference() {
        let changed = patch(Some(b"{\n}\n"), Some(b"{\n  \"plugin\": []\n}\n"));
        assert!(changed.contains("+  \"plugin\": []\n"), "{changed}");
        assert!(patch(None, Some(b"{}\n")).starts_with("--- /dev/null\n"));
        assert!(patch(Some(b"{}\n"), None).contains("\n+++ /dev/null\n"));
    }

    #[test]
    fn what_is_no_text_is_said_to_be_none_and_named_by_its_digest() {
        let digest = Digest::of_bytes(b"\xff\xfe").to_string();
        let becomes_binary = patch(None, Some(b"\xff\xfe"));
        assert!(
            becomes_binary.starts_with("The file is not there. It would be 2 bytes"),
            "{becomes_binary}"
        );
        assert!(becomes_binary.contains(&digest), "{becomes_binary}");
        let replaced = patch(Some(b"words\n"), Some(b"\xff\xfe"));
        assert!(
            replaced.starts_with("The file is 6 bytes of text (SHA-256 "),
            "{replaced}"
        );
        let becomes_text = patch(Some(b"\xff\xfe"), Some(b"words\n"));
        assert!(
            becomes_text.ends_with("replaced by:\nwords\n"),
            "{becomes_text}"
        );
    }
}
