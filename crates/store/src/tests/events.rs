//! Events: numbered without a gap in the order of their commits, and waited for by the head.

use countersign_core::answer::Choice;
use countersign_core::event::{Event, EventBody};
use countersign_core::session::Activity;
use tokio::task::JoinSet;

use super::backend::{each_backend, on_postgres};
use super::scene::{Scene, at, says};
use crate::{NewAlarm, Store};

const WRITERS: usize = 8;
const ASKS_EACH: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_beside_many_writers_sees_every_event_once_and_in_order() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let before = store.refresh_head().await.unwrap();
        let last = before + i64::try_from(WRITERS * ASKS_EACH * 2).unwrap();
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let store = store.clone();
            let answer = says(&scene.ada, Choice::AllowOnce);
            let asks: Vec<_> = (0..ASKS_EACH)
                .map(|number| scene.command(&format!("per_{writer}_{number}"), "ls"))
                .collect();
            writers.spawn(async move {
                for ask in asks {
                    let id = store.open_ask(ask, at(1)).await.unwrap().into_ask().id;
                    store.answer(id, answer.clone(), at(2)).await.unwrap();
                }
            });
        }
        let seen = follow(&store, before, last).await;
        writers.join_all().await;

        let numbers: Vec<i64> = seen.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (before + 1..=last).collect::<Vec<_>>());
        // What was committed later has the higher number: no answer goes before its ask.
        for (index, event) in seen.iter().enumerate() {
            if let EventBody::AskChanged { ask, .. } = event.body {
                let opened = |earlier: &Event| matches!(earlier.body, EventBody::AskOpened { ask: it, .. } if it == ask);
                assert!(seen[..index].iter().any(opened));
            }
        }
        assert_eq!(store.refresh_head().await.unwrap(), last);
    })
    .await;
}

/// Reads what is new each time the head moves, as every stream of events does.
async fn follow(store: &Store, mut cursor: i64, last: i64) -> Vec<Event> {
    let mut head = store.head();
    let mut seen = Vec::new();
    while cursor < last {
        head.wait_for(|newest| *newest > cursor).await.unwrap();
        loop {
            let page = store.events_after(cursor, 7).await.unwrap();
            let Some(newest) = page.last() else { break };
            cursor = newest.seq;
            seen.extend(page);
        }
    }
    seen
}

#[tokio::test]
async fn the_head_moves_after_the_commit_and_only_forwards() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut head = store.head();
        let before = *head.borrow_and_update();
        assert_eq!(before, store.refresh_head().await.unwrap());
        assert!(!head.has_changed().unwrap());

        scene.open_command("per_1", "ls").await;
        assert!(head.has_changed().unwrap());
        assert_eq!(*head.borrow_and_update(), before + 1);
        store.announce(before);
        assert!(!head.has_changed().unwrap());
        // What changes nothing announces nothing.
        store
            .open_ask(scene.command("per_1", "ls"), at(1))
            .await
            .unwrap();
        let busy = store
            .set_activity(scene.session, Activity::Busy, at(1))
            .await;
        assert!(!busy.unwrap());
        assert!(!head.has_changed().unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_cursor_never_goes_back() {
    each_backend(async |store| {
        assert_eq!(store.cursor("chat").await.unwrap(), None);
        for (seq, expected) in [(5, 5), (3, 5), (5, 5), (8, 8)] {
            store.move_cursor("chat", seq).await.unwrap();
            assert_eq!(store.cursor("chat").await.unwrap(), Some(expected));
        }
        assert_eq!(store.cursor("push").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn forgetting_old_events_leaves_no_gap_and_keeps_the_numbers() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let before = store.refresh_head().await.unwrap();
        // The clocks of two writers differ: a later number may carry an earlier time.
        for (number, second) in [(1_i64, 100), (2, 300), (3, 200), (4, 400)] {
            let alarm = NewAlarm {
                workspace: scene.workspace,
                session: None,
                ask: None,
                message: number.to_string(),
            };
            store.raise_alarm(alarm, at(second)).await.unwrap();
        }
        store.forget_events(at(250)).await.unwrap();

        let kept = store.events_after(0, 100).await.unwrap();
        let numbers: Vec<i64> = kept.iter().map(|event| event.seq - before).collect();
        assert_eq!(numbers, [2, 3, 4]);
        assert_eq!(store.oldest_event().await.unwrap(), Some(before + 2));
        store.forget_events(at(1_000)).await.unwrap();
        assert_eq!(store.oldest_event().await.unwrap(), None);
        assert_eq!(store.refresh_head().await.unwrap(), before + 4);
        assert_eq!(store.alarms(2).await.unwrap()[0].alarm.message, "4");

        let alarm = NewAlarm {
            workspace: scene.workspace,
            session: None,
            ask: None,
            message: "5".to_owned(),
        };
        store.raise_alarm(alarm, at(2_000)).await.unwrap();
        let next = store.events_after(0, 100).await.unwrap();
        assert_eq!(next[0].seq, before + 5, "no number stands for two events");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_hears_what_another_writes() {
    on_postgres(async |url| {
        let writer = Store::open_postgres(url).await.unwrap();
        let reader = Store::open_postgres(url).await.unwrap();
        let mut following = JoinSet::new();
        let follower = reader.clone();
        following.spawn(async move { follower.follow_replicas().await });
        let mut head = reader.head();

        let scene = Scene::new(&writer).await;
        for number in 0..20 {
            scene.open_command(&format!("per_{number}"), "ls").await;
            let written = *writer.head().borrow();
            let heard = head.wait_for(|seq| *seq >= written);
            tokio::time::timeout(std::time::Duration::from_secs(10), heard)
                .await
                .expect("the other replica heard of it in time")
                .unwrap();
        }
        following.shutdown().await;
        writer.close().await;
        reader.close().await;
    })
    .await;
}
