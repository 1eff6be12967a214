//! The audit: a hash chain for each workspace, in which no entry can be changed, lost or moved unnoticed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::digest::Digest;
use crate::id::WorkspaceId;
use crate::time::Timestamp;

/// What was done, before it has its place in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// Who did it: an actor's kind, id and name, or `countersign` itself.
    pub actor: String,
    /// What was done, such as `ask.answer`.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// The rest of it.
    pub detail: Value,
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// The workspace whose chain it is in.
    pub workspace: WorkspaceId,
    /// Its place, from one.
    pub seq: i64,
    /// When it was done.
    pub at: Timestamp,
    /// Who did it.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// What it was done to.
    pub subject: String,
    /// The rest of it.
    #[schema(value_type = Object)]
    pub detail: Value,
    /// The hash of the entry before.
    pub previous: Digest,
    /// The hash of this one.
    pub hash: Digest,
}

impl AuditEntry {
    /// Puts `deed` at the place `seq`, behind the entry whose hash is `previous`.
    pub fn chain(
        workspace: WorkspaceId,
        seq: i64,
        at: Timestamp,
        deed: Deed,
        previous: Digest,
    ) -> Self {
        let mut entry = Self {
            workspace,
            seq,
            at,
            actor: deed.actor,
            action: deed.action,
            subject: deed.subject,
            detail: deed.detail,
            previous,
            hash: Digest::ZERO,
        };
        entry.hash = entry.computed_hash();
        entry
    }

    fn computed_hash(&self) -> Digest {
        let detail = Digest::of_json(&self.detail);
        Digest::of_parts([
            self.previous.as_bytes().as_slice(),
            self.workspace.to_string().as_bytes(),
            &self.seq.to_be_bytes(),
            &self.at.as_micros().to_be_bytes(),
            self.actor.as_bytes(),
            self.action.as_bytes(),
            self.subject.as_bytes(),
            detail.as_bytes(),
        ])
    }
}

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenChain {
    /// An entry is missing, doubled or out of its place.
    #[error("entry {found} stands where entry {expected} should be")]
    OutOfPlace {
        /// The place.
        expected: i64,
        /// What is there.
        found: i64,
    },
    /// An entry does not follow the one before it.
    #[error("entry {0} does not continue the entry before it")]
    NotContinued(i64),
    /// An entry was changed.
    #[error("entry {0} was changed after it was written")]
    Changed(i64),
    /// The chain is shorter than its recorded head says.
    #[error("the chain ends at entry {found}, its head says {expected}")]
    Truncated {
        /// What the head says.
        expected: i64,
        /// What is there.
        found: i64,
    },
}

/// Follows a chain entry by entry.
#[derive(Debug, Clone)]
pub struct Verifier {
    seq: i64,
    hash: Digest,
}

impl Default for Verifier {
    fn default() -> Self {
        Self {
            seq: 0,
            hash: Digest::ZERO,
        }
    }
}

impl Verifier {
    /// Takes the next entry.
    pub fn check(&mut self, entry: &AuditEntry) -> Result<(), BrokenChain> {
        if entry.seq != self.seq + 1 {
            return Err(BrokenChain::OutOfPlace {
                expected: self.seq + 1,
                found: entry.seq,
            });
        }
        if entry.previous != self.hash {
            return Err(BrokenChain::NotContinued(entry.seq));
        }
        if entry.computed_hash() != entry.hash {
            return Err(BrokenChain::Changed(entry.seq));
        }
        self.seq = entry.seq;
        self.hash = entry.hash;
        Ok(())
    }

    /// Compares the end of the chain with its recorded head, and returns the number of entries.
    pub fn finish(self, head_seq: i64, head_hash: Digest) -> Result<i64, BrokenChain> {
        if self.seq != head_seq {
            return Err(BrokenChain::Truncated {
                expected: head_seq,
                found: self.seq,
            });
        }
        if self.hash != head_hash {
            return Err(BrokenChain::Changed(self.seq));
        }
        Ok(self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn chain(length: i64) -> Vec<AuditEntry> {
        let workspace = WorkspaceId::generate(Timestamp::from_micros(0));
        let mut previous = Digest::ZERO;
        (1..=length)
            .map(|seq| {
                let deed = Deed {
                    actor: "person ada".to_owned(),
                    action: "ask.answer".to_owned(),
                    subject: format!("ask {seq}"),
                    detail: json!({"answer": "allow_once", "seq": seq}),
                };
                let entry =
                    AuditEntry::chain(workspace, seq, Timestamp::from_micros(seq), deed, previous);
                previous = entry.hash;
                entry
            })
            .collect()
    }

    fn verify(entries: &[AuditEntry], head: &AuditEntry) -> Result<i64, BrokenChain> {
        let mut verifier = Verifier::default();
        for entry in entries {
            verifier.check(entry)?;
        }
        verifier.finish(head.seq, head.hash)
    }

    #[test]
    fn a_whole_chain_verifies() {
        let entries = chain(20);
        assert_eq!(verify(&entries, &entries[19]), Ok(20));
    }

    proptest! {
        #[test]
        fn no_entry_can_be_changed_lost_moved_or_cut_off(index in 0_usize..20, kind in 0..6) {
            let mut tampered = chain(20);
            let head = tampered[19].clone();
            match kind {
                0 => tampered[index].actor.push('x'),
                1 => tampered[index].detail = json!({"answer": "deny"}),
                2 => tampered[index].at = Timestamp::from_micros(999),
                3 => drop(tampered.remove(index)),
                4 => tampered.swap(index, (index + 1) % 20),
                _ => tampered.truncate(index),
            }
            prop_assert!(verify(&tampered, &head).is_err());
        }
    }
}
