//! Sessions that opencode had before: listed, and taken up with their past and with the rules that force asking.

use countersign_core::actor::Actor;
use countersign_core::id::SessionId;
use countersign_core::session::{Activity, Session, Workspace};
use countersign_core::time::{Clock, Timestamp};
use countersign_engine::opencode::{ListedSession, Part};
use countersign_store::{Earlier, Store, TakenUp};

use crate::earlier::EarlierSession;
use crate::error::BrokerError;
use crate::supervisor::Link;
use crate::supervisor::intake::item;
use crate::supervisor::session::UNNAMED_AGENT;

/// The most sessions that are listed.
const SESSIONS: u32 = 200;
/// The most messages of the past that are read.
const MESSAGES: u32 = 1_000;

/// The sessions that opencode had in a directory, and whether there are more.
pub(crate) async fn list_earlier(
    link: &Link,
    directory: &str,
) -> Result<(Vec<EarlierSession>, bool), BrokerError> {
    let listed = link.client.sessions(directory, SESSIONS + 1).await;
    let mut listed = listed.map_err(BrokerError::Engine)?;
    let has_more = listed.len() > SESSIONS as usize;
    listed.truncate(SESSIONS as usize);
    let sessions = listed
        .into_iter()
        .map(|ListedSession { session, time }| EarlierSession {
            native_id: session.id,
            title: session.title,
            updated_at: moment(time.updated),
            known: None,
        });
    Ok((sessions.collect(), has_more))
}

/// A moment that opencode writes in milliseconds; nothing if it is none.
fn moment(millis: f64) -> String {
    // What was meant is a whole number, far from where these two kinds of numbers part.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number that is too large becomes the largest"
    )]
    let micros = (millis * 1_000.0) as i64;
    if micros <= 0 {
        return String::new();
    }
    Timestamp::from_micros(micros).to_string()
}

/// Takes up a session of opencode's; says whether it is new here.
pub(crate) async fn take_up_earlier(
    store: &Store,
    clock: &Clock,
    link: &Link,
    workspace: &Workspace,
    native_id: &str,
    by: &Actor,
) -> Result<(Session, bool), BrokerError> {
    let directory = &workspace.path;
    let client = &link.client;
    // Only what is listed for this workspace: opencode hands out any session that it has, wherever it worked.
    let listed = client.sessions(directory, SESSIONS).await;
    let listed = listed.map_err(BrokerError::Engine)?;
    let native = listed
        .into_iter()
        .find(|listed| listed.session.id == native_id)
        .ok_or_else(|| {
            let lists = "lists no earlier session";
            BrokerError::Unable(format!("opencode {lists} `{native_id}` in this workspace"))
        })?
        .session;
    // Held until it is in the ledger: what opencode announces of it meanwhile is no news.
    let _making = link.making.lock().await;
    let rules = client
        .ask_rules(directory)
        .await
        .map_err(BrokerError::Engine)?;
    client
        .add_rules(directory, native_id, &rules)
        .await
        .map_err(BrokerError::Engine)?;
    link.note_imposed(native_id, rules);
    let messages = client.messages(directory, native_id, MESSAGES).await;
    let mut items = Vec::new();
    for (message, parts) in messages.map_err(BrokerError::Engine)? {
        let from_user = message.role == "user";
        let known = |part: &Part| Some((part.id.clone(), item(part, from_user)?));
        items.extend(parts.iter().filter_map(known));
    }
    let now = clock.now();
    let earlier = Earlier {
        session: Session {
            id: SessionId::generate(now),
            workspace: workspace.id,
            engine: Session::OPENCODE.to_owned(),
            native_id: native.id,
            parent: None,
            title: native.title,
            directory: directory.clone(),
            agent: UNNAMED_AGENT.to_owned(),
            activity: Activity::Idle,
            started_at: now,
            changed_at: now,
        },
        items,
        run: None,
        takes: None,
    };
    Ok(match store.take_up_session(&earlier, by, now).await? {
        TakenUp::Fresh(session) => (session, true),
        TakenUp::Known(session) => (session, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_everywhere_and_none_is_left_out() {
        assert_eq!(moment(1_794_768_237_833.0), "2026-11-15T18:43:57.833000Z");
        assert_eq!(moment(0.0), "");
        assert_eq!(moment(-1.0), "");
        assert_eq!(moment(f64::NAN), "");
    }
}
