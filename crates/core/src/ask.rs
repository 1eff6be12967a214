//! Asks and their states: `open → answered → delivered | undeliverable`, or `open → expired | withdrawn`.
//!
//! A terminal state never changes.

mod choosing;
mod door;
mod location;
mod state;
mod subject;
mod withdrawal;

pub use choosing::NoChoice;
pub use door::Door;
pub use location::{Folder, Location, NamedFile, ResolvedFile};
pub use state::{AskPhase, AskState, Refusal, Step};
pub use subject::{OfferedOption, OptionKind, Question, QuestionOption, Shown, Subject};
pub use withdrawal::{Elsewhere, Withdrawal};

use crate::digest::Digest;
use crate::grant::{Caller, Forbidden};
use crate::id::{AskId, RunId, SessionId, WorkspaceId};
use crate::time::Timestamp;

/// Leave that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its id.
    pub id: AskId,
    /// The workspace it is about.
    pub workspace: WorkspaceId,
    /// Where it came in.
    pub door: Door,
    /// The life of the engine that asked; its request id means nothing in another.
    pub run: RunId,
    /// The session that asked.
    pub session: SessionId,
    /// The session that started the one that asks, for a sub-agent.
    pub parent_session: Option<SessionId>,
    /// Who asks: the agent's name within its engine.
    pub requester: String,
    /// What the engine itself calls the request.
    pub native_id: String,
    /// The directory that the engine works in.
    pub directory: String,
    /// What is asked.
    pub subject: Subject,
    /// What the engine sent, as it came.
    pub raw: serde_json::Value,
    /// The options that the engine offers.
    pub options: Vec<OfferedOption>,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it runs out.
    pub expires_at: Option<Timestamp>,
    /// Digest of `raw`: what was shown is bound to what was answered by it.
    pub digest: Digest,
    /// Same session, tool, arguments and directory.
    pub fingerprint: Digest,
    /// Same tool, arguments and directory, in any session.
    pub likeness: Digest,
    /// The ask that this one repeats: of a dead engine, or of a client that had gone.
    pub previous: Option<AskId>,
    /// Where it stands.
    pub state: AskState,
}

impl Ask {
    /// Fails unless `caller` may answer it.
    pub fn check_answerer(&self, caller: &Caller) -> Result<(), Forbidden> {
        caller.require_in(self.subject.answering_grant(), self.workspace)?;
        match self.subject.proposer() {
            Some(proposer) if proposer.id == caller.actor().id => Err(Forbidden::OwnProposal),
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
