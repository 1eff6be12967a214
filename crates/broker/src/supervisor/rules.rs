//! The engine's own rules for a session: ours come last, before every prompt, and whoever changes that is noticed.
//!
//! opencode lets everybody who has its password add rules to a session, and reads them once when a turn begins.

use countersign_core::digest::Digest;
use countersign_core::session::{Item, Session};
use countersign_core::time::Clock;
use countersign_engine::opencode::{self as native, ClientError, acts_unasked, ends_with};
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
    /// Looks at the rules that the engine says a session has. Rules that let it act are not ours.
    pub(super) async fn check_rules(
        &self,
        session: &Session,
        native: &native::Session,
    ) -> Result<(), BrokerError> {
        let rules = native.permission.iter();
        let rules: Vec<String> = rules.map(|rule| format!("{rule:?}")).collect();
        let digest = Digest::of_bytes(rules.join("\n").as_bytes());
        // The engine tells the same list again and again.
        if !acts_unasked(&native.permission) || !self.is_news(format!("{} {digest}", native.id)) {
            return Ok(());
        }
        if !self.link.ours {
            return note_changed(&self.shared.store, &self.shared.clock, session).await;
        }
        let imposed = impose_at(&self.link, session).await;
        self.alarm(None, session.id, CHANGED).await?;
        imposed.map(drop).map_err(BrokerError::Engine)
    }
}
