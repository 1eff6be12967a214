//! Servers that come and go on one ledger, and what is told of what happened meanwhile.

use std::collections::BTreeSet;

use countersign_core::id::{AlarmId, AskId};
use countersign_core::notification::{Happening, Interest, Occasion, Schedule};
use countersign_notify::{CommandTarget, PushSettings, Way};
use countersign_store::{Happened, NewAlarm};
use tempfile::TempDir;

use super::*;
use crate::{ChangeSettings, EngineChoice, ForeignAnswer, JobCaps};

const WORKSPACE: &str = "/home/ada/project";

fn bell(name: &str, tries: u32) -> Target {
    Target {
        name: name.to_owned(),
        interest: Interest {
            occasions: Occasion::ALL.into(),
            workspaces: BTreeSet::new(),
        },
        details: true,
        schedule: Schedule {
            tries,
            ..Schedule::default()
        },
        time_limit: Duration::from_secs(20),
        way: Way::Command(CommandTarget {
            program: "/bin/true".into(),
            arguments: Vec::new(),
            inherit: Vec::new(),
        }),
    }
}

async fn open(folder: &TempDir) -> Store {
    let path = folder.path().join("ledger.db");
    Store::open_sqlite(&path).await.unwrap()
}

async fn start(folder: &TempDir, notify: Vec<Target>) -> Broker {
    let settings = Settings {
        job_caps: JobCaps::default(),
        data_directory: folder.path().to_owned(),
        own_program: "countersign".into(),
        owner_name: "ada".to_owned(),
        workspaces: vec![(WORKSPACE.to_owned(), "project".to_owned())],
        engine: EngineChoice::None,
        agents: vec![],
        foreign_answer: ForeignAnswer::Abort,
        unasked_tools: vec![],
        ask_expiry: None,
        lonely_limit_s: 1,
        notify,
        changes: ChangeSettings::default(),
        push: PushSettings::default(),
    };
    let store = open(folder).await;
    Broker::start(store, settings, Clock::System).await.unwrap()
}

async fn raise(store: &Store) -> AlarmId {
    let now = Clock::System.now();
    let workspace = store.ensure_workspace(WORKSPACE, "project", now).await;
    let alarm = NewAlarm {
        workspace: workspace.unwrap().id,
        session: None,
        ask: None,
        message: "somebody answered past the ledger".to_owned(),
    };
    store.raise_alarm(alarm, now).await.unwrap()
}

/// Waits until something stands so, and returns it.
async fn wait_for(broker: &Broker, state: NotificationState) -> Vec<Notification> {
    let owner = broker.local_owner();
    let waiting = async {
        loop {
            let found = broker.notifications(&owner, Some(state), 100).await;
            let found = found.unwrap();
            if !found.is_empty() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waiting = tokio::time::timeout(Duration::from_mins(1), waiting);
    waiting.await.expect("it comes to stand so")
}

#[tokio::test]
async fn what_happens_while_no_server_runs_is_told_and_what_was_before_the_first_target_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let broker = start(&folder, vec![]).await;
    raise(&broker.store).await;
    broker.stop().await;
    // Configured, and stopped before anything happened.
    let broker = start(&folder, vec![bell("bell", 3)]).await;
    broker.stop().await;
    let store = open(&folder).await;
    let meanwhile = raise(&store).await;
    store.close().await;

    let broker = start(&folder, vec![bell("bell", 3)]).await;
    let sent = wait_for(&broker, NotificationState::Sent).await;
    let subjects: Vec<&str> = sent.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(subjects, [meanwhile.to_string()]);
    assert_eq!(sent[0].occasion, Occasion::AlarmRaised);
    let owner = broker.local_owner();
    let all = broker.notifications(&owner, None, 100).await.unwrap();
    assert_eq!(all.len(), 1);
    broker.stop().await;

    let broker = start(&folder, vec![]).await;
    assert_eq!(broker.store.cursor(CONSUMER).await.unwrap(), None);
    broker.stop().await;
}

/// A ledger with one notification for `bell`, of which so many attempts were begun by servers that were killed.
async fn with_attempts(attempts: u32) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let now = Clock::System.now();
    let workspace = store.ensure_workspace(WORKSPACE, "project", now).await;
    let happened = Happened {
        target: "bell".to_owned(),
        event: 1,
        at: now,
        workspace: workspace.unwrap().id,
        happening: Happening {
            occasion: Occasion::AskOpened,
            subject: AskId::generate(now).to_string(),
            session: None,
        },
    };
    store
        .add_notifications(CONSUMER, 1, &[happened], now)
        .await
        .unwrap();
    let id = store.next_notification("bell").await.unwrap().unwrap().id;
    for before in 0..attempts {
        let begun = store.begin_notifying(id, before, now, now).await;
        assert!(begun.unwrap());
    }
    store.close().await;
    folder
}

#[tokio::test]
async fn attempts_that_kills_cut_off_count_so_that_none_is_made_for_ever() {
    let folder = with_attempts(2).await;
    let broker = start(&folder, vec![bell("bell", 2)]).await;
    let dead = wait_for(&broker, NotificationState::Dead).await;
    assert!(dead[0].problem.as_ref().unwrap().contains("killed"));
    assert_eq!(dead[0].attempts, 2);

    let owner = broker.local_owner();
    let retried = broker.retry_notification(&owner, dead[0].id).await.unwrap();
    assert_eq!(retried.id, dead[0].id);
    let sent = wait_for(&broker, NotificationState::Sent).await;
    assert_eq!(sent[0].attempts, 1);
    broker.stop().await;

    let folder = with_attempts(1).await;
    let broker = start(&folder, vec![bell("bell", 2)]).await;
    let sent = wait_for(&broker, NotificationState::Sent).await;
    assert_eq!(sent[0].attempts, 2, "the last try is made");
    broker.stop().await;
}

#[tokio::test]
async fn what_waits_for_a_target_that_is_configured_no_more_is_a_dead_letter_that_cannot_be_sent() {
    let folder = with_attempts(0).await;
    let broker = start(&folder, vec![bell("other", 2)]).await;
    let dead = wait_for(&broker, NotificationState::Dead).await;
    let owner = broker.local_owner();
    let refused = broker.retry_notification(&owner, dead[0].id).await;
    assert!(
        matches!(refused, Err(BrokerError::Unable(_))),
        "{refused:?}"
    );
    assert_eq!(broker.retry_notifications(&owner).await.unwrap(), 0);
    let missing = NotificationId::generate(Clock::System.now());
    let missing = broker.retry_notification(&owner, missing).await;
    assert!(
        matches!(missing, Err(BrokerError::Missing { .. })),
        "{missing:?}"
    );
    let took = broker.try_target(&owner, "other").await.unwrap();
    assert_eq!(took, TargetTried::Took);
    broker.stop().await;
}
