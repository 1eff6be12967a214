//! The engine's own rules for a session: ours come last, before every prompt, and whoever changes that is noticed.
//!
//! opencode lets everybody who has its password add rules to a session, and reads them once when a turn begins.

use std::collections::{HashMap, HashSet};
use std::sync::{MutexGuard, PoisonError};

use countersign_core::session::{Item, Session};
use countersign_core::time::Clock;
use countersign_engine::opencode::{
    self as native, AgentRule, ClientError, acts_unasked, contains, ends_with,
};
use countersign_store::{NewAlarm, Store};

use crate::error::BrokerError;
use crate::supervisor::Link;
use crate::supervisor::run::EngineRun;

/// What is wrong with a session whose rules were changed.
const CHANGED: &str =
    "the session's own rules were changed at the engine, so that it would act without asking";

/// Gives `session` our rules once more unless they are its last ones. Rules that let it act are an alarm on an engine of
/// ours; there a session whose rules cannot be read or set is not prompted.
pub(super) async fn impose(
    store: &Store,
    clock: &Clock,
    link: &Link,
    session: &Session,
) -> Result<(), BrokerError> {
    match impose_at(link, session).await {
        Ok(false) => Ok(()),
        Ok(true) if link.ours => {
            let message = format!("{CHANGED}, past Countersign; its rules stand again");
            tracing::warn!(session.id = %session.id, "{message}");
            let alarm = NewAlarm {
                workspace: session.workspace,
                session: Some(session.id),
                ask: None,
                message,
            };
            store.raise_alarm(alarm, clock.now()).await?;
            Ok(())
        }
        Ok(true) => note_changed(store, clock, session).await,
        Err(error) if link.ours => Err(BrokerError::Engine(error)),
        // Whoever runs it says what it asks for.
        Err(error) => {
            tracing::warn!(session.id = %session.id, "{}", error.sentence());
            Ok(())
        }
    }
}

/// The same; says whether the session would have acted without asking.
async fn impose_at(link: &Link, session: &Session) -> Result<bool, ClientError> {
    let (directory, id) = (&session.directory, &session.native_id);
    let Some(native) = link.client.session(directory, id).await? else {
        return Ok(false);
    };
    let known = link.imposed(id);
    if known.is_some_and(|ours| ends_with(&native.permission, &ours)) {
        return Ok(false);
    }
    let ours = link.client.ask_rules(directory).await?;
    if !ends_with(&native.permission, &ours) {
        link.client.add_rules(directory, id, &ours).await?;
    }
    link.note_imposed(id, ours);
    Ok(acts_unasked(&native.permission))
}

/// Writes down that a session of an engine that somebody else runs acts without asking.
async fn note_changed(store: &Store, clock: &Clock, session: &Session) -> Result<(), BrokerError> {
    let item = Item::Notice {
        text: format!("At the engine, {CHANGED}."),
    };
    let now = clock.now();
    store
        .put_item(session.workspace, session.id, "rules", &item, now)
        .await?;
    Ok(())
}

impl EngineRun {
    /// Looks at the rules that the engine says a session has. Rules that let it act are not ours, and ours do not go away.
    pub(super) async fn check_rules(
        &self,
        session: &Session,
        native: &native::Session,
    ) -> Result<(), BrokerError> {
        let rules = &native.permission;
        let is_without_ours = match self.link.imposed(&native.id) {
            // The engine may still tell of what was before ours.
            Some(ours) if contains(rules, &ours) => {
                self.note_seen(&native.id);
                false
            }
            Some(_) => self.has_seen(&native.id),
            None => false,
        };
        let is_changed = acts_unasked(rules) || is_without_ours;
        // The engine tells the same list again and again.
        if !self.is_another(&native.id, rules) || !is_changed {
            return Ok(());
        }
        if !self.link.ours {
            return note_changed(&self.shared.store, &self.shared.clock, session).await;
        }
        // The session first: what the engine is told may take its time.
        self.alarm(None, session.id, CHANGED).await?;
        let imposed = impose_at(&self.link, session).await;
        imposed.map(drop).map_err(BrokerError::Engine)
    }

    /// Notes that a session was seen to have our rules.
    fn note_seen(&self, native_id: &str) {
        self.rules().with_ours.insert(native_id.to_owned());
    }

    fn has_seen(&self, native_id: &str) -> bool {
        self.rules().with_ours.contains(native_id)
    }

    /// Whether the rules of a session are others than it was last seen with.
    fn is_another(&self, native_id: &str, rules: &[AgentRule]) -> bool {
        let mut seen = self.rules();
        if seen.last.get(native_id).is_some_and(|last| last == rules) {
            return false;
        }
        seen.last.insert(native_id.to_owned(), rules.to_vec());
        true
    }

    fn rules(&self) -> MutexGuard<'_, SeenRules> {
        self.seen_rules
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rules that sessions were seen to have, by the engine's own ids.
#[derive(Debug, Default)]
pub(super) struct SeenRules {
    /// Those that each was last seen with.
    last: HashMap<String, Vec<AgentRule>>,
    /// The sessions that were seen to have ours.
    with_ours: HashSet<String>,
}
