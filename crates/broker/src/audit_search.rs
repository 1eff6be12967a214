//! Looks through one chain of the audit from its end, for what somebody wants to know.
//!
//! A chain has no gaps, so that a place in it is found by its number, and a time by halving. How much is looked at for
//! one page is bounded, and said; the next page goes on from there.

use countersign_core::audit::AuditEntry;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;

use crate::Broker;
use crate::error::BrokerError;

/// How many entries are read at a time.
const STEP: i64 = 500;
/// How many are looked at for one page.
const MOST: i64 = 10_000;

/// What is looked for. Entries have to fit all of it.
#[derive(Debug, Clone, Default)]
pub struct AuditWish {
    /// The chain; the first workspace's if none is named.
    pub workspace: Option<WorkspaceId>,
    /// Only those before this place.
    pub before: Option<i64>,
    /// What is in the name of who did it, in whatever case.
    pub actor: Option<String>,
    /// What was done, `ask.answer`, or what it begins with, `ask`.
    pub action: Option<String>,
    /// What is anywhere in the entry, in whatever case.
    pub text: Option<String>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// A page of what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditPage {
    /// The entries, newest first.
    pub entries: Vec<AuditEntry>,
    /// Where to go on, if there is more to look at.
    pub next: Option<i64>,
    /// How many entries were looked at.
    pub looked_at: i64,
}

impl Broker {
    /// The newest entries that fit, at most `limit` of them.
    pub async fn search_audit(
        &self,
        caller: &Caller,
        wish: AuditWish,
        limit: usize,
    ) -> Result<AuditPage, BrokerError> {
        let workspace = self.meant_workspace(caller, wish.workspace)?;
        caller.require_in(Grant::Administer, workspace)?;
        let chains = self.store.chains().await?;
        let length = chains
            .iter()
            .find(|chain| chain.workspace == workspace)
            .map_or(0, |chain| chain.entries);
        let first = match wish.since {
            Some(since) => self.first_place(workspace, length, since).await?,
            None => 1,
        };
        let end = match wish.until {
            Some(until) => self.first_place(workspace, length, until).await?,
            None => length + 1,
        };
        let wish = Sought::new(wish);
        let mut before = wish.before.unwrap_or(i64::MAX).min(end);
        let mut page = AuditPage {
            entries: Vec::new(),
            next: None,
            looked_at: 0,
        };
        while before > first {
            if page.looked_at >= MOST || page.entries.len() >= limit {
                page.next = Some(before);
                break;
            }
            let step = STEP.min(before - first);
            let entries = self
                .store
                .audit_before(workspace, Some(before), step)
                .await?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                if page.entries.len() >= limit {
                    break;
                }
                before = entry.seq;
                page.looked_at += 1;
                if wish.fits(&entry) {
                    page.entries.push(entry);
                }
            }
        }
        Ok(page)
    }

    /// The first place of a chain whose entry was not written before `time`; one behind the last if there is none.
    async fn first_place(
        &self,
        workspace: WorkspaceId,
        length: i64,
        time: Timestamp,
    ) -> Result<i64, BrokerError> {
        let (mut low, mut high) = (1, length + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.store.audit(workspace, middle - 1, 1).await?;
            if entry.first().is_some_and(|entry| entry.at < time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// What is looked for, in lower case.
struct Sought {
    before: Option<i64>,
    actor: Option<String>,
    action: Option<String>,
    text: Option<String>,
}

impl Sought {
    fn new(wish: AuditWish) -> Self {
        let lower = |text: Option<String>| text.map(|text| text.to_lowercase());
        Self {
            before: wish.before,
            actor: lower(wish.actor),
            action: wish.action,
            text: lower(wish.text),
        }
    }

    fn fits(&self, entry: &AuditEntry) -> bool {
        let has = |part: &str, sought: &str| part.to_lowercase().contains(sought);
        let by = self.actor.as_ref();
        let deed = self.action.as_ref();
        let anywhere = self.text.as_ref();
        by.is_none_or(|actor| has(&entry.actor, actor))
            && deed.is_none_or(|action| is_or_begins(&entry.action, action))
            && anywhere.is_none_or(|text| {
                has(&entry.actor, text)
                    || has(&entry.action, text)
                    || has(&entry.subject, text)
                    || has(&entry.detail.to_string(), text)
            })
    }
}

/// Whether `action` is `wanted`, or of the family of that name.
fn is_or_begins(action: &str, wanted: &str) -> bool {
    action
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use countersign_core::audit::Deed;
    use countersign_core::digest::Digest;
    use serde_json::json;

    use super::*;

    fn fits(wish: AuditWish) -> bool {
        let deed = Deed {
            actor: "person Ada (actor_1)".to_owned(),
            action: "ask.answer".to_owned(),
            subject: "ask_7".to_owned(),
            detail: json!({ "choice": { "answer": "deny", "reason": "Not on a Friday" } }),
        };
        let now = Timestamp::from_micros(0);
        let workspace = WorkspaceId::generate(now);
        Sought::new(wish).fits(&AuditEntry::chain(workspace, 1, now, deed, Digest::ZERO))
    }

    #[test]
    fn an_entry_fits_if_it_has_all_that_is_looked_for() {
        let some = |text: &str| Some(text.to_owned());
        let wish = || AuditWish {
            actor: some("ada"),
            action: some("ask"),
            text: some("FRIDAY"),
            ..AuditWish::default()
        };
        assert!(fits(AuditWish::default()) && fits(wish()));
        let action = some("ask.answer");
        assert!(fits(AuditWish { action, ..wish() }));
        let action = some("as");
        assert!(!fits(AuditWish { action, ..wish() }), "half a word");
        let actor = some("bob");
        assert!(!fits(AuditWish { actor, ..wish() }));
        let text = some("saturday");
        assert!(!fits(AuditWish { text, ..wish() }));
    }
}
