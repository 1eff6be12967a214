//! Transcripts, turns and sessions: written once, rewritten in their place.

use countersign_core::actor::ActorKind;
use countersign_core::event::EventBody;
use countersign_core::id::{SessionId, TurnId};
use countersign_core::session::{Activity, Item, Session, ToolStatus, TurnOutcome, Workspace};
use serde_json::json;
use tokio::task::JoinSet;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::EngineStart;
use crate::{NewTurn, Store};

fn text(words: &str) -> Item {
    Item::Text {
        text: words.to_owned(),
    }
}

#[tokio::test]
async fn an_item_is_rewritten_in_its_place() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let put = async |native_id: &str, item: &Item| {
            let put = store.put_item(scene.workspace, scene.session, native_id, item, at(1));
            put.await.unwrap()
        };
        let before = store.refresh_head().await.unwrap();
        assert_eq!(put("prt_1", &text("Let me")).await, Some(1));
        let tool = Item::Tool {
            tool: "bash".to_owned(),
            status: ToolStatus::Running,
            input: json!({ "command": "ls" }),
            output: "a\0b".to_owned(),
            changes: Vec::new(),
            child: None,
        };
        assert_eq!(put("prt_2", &tool).await, Some(2));
        assert_eq!(put("prt_1", &text("Let me look.")).await, Some(1));
        assert_eq!(put("prt_1", &text("Let me look.")).await, None);

        let items = store.items(scene.session, 0, 10).await.unwrap();
        let found: Vec<_> = items.iter().map(|it| (it.seq, it.item.clone())).collect();
        assert_eq!(found, [(1, text("Let me look.")), (2, tool)]);
        assert_eq!(store.items(scene.session, 1, 10).await.unwrap().len(), 1);
        assert_eq!(store.items(scene.session, 0, 1).await.unwrap().len(), 1);
        assert_eq!(store.last_item(scene.session).await.unwrap(), 2);
        let unknown = SessionId::generate(at(1));
        assert_eq!(store.last_item(unknown).await.unwrap(), 0);
        let events = store.events_after(before, 10).await.unwrap();
        let bodies: Vec<_> = events.into_iter().map(|event| event.body).collect();
        let session = scene.session;
        let changed = [1, 2, 1].map(|item| EventBody::ItemChanged { session, item });
        assert_eq!(bodies, changed);
    })
    .await;
}

#[tokio::test]
async fn many_items_are_written_at_once_as_each_would_be() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let put = async |items: &[(&str, &str)]| {
            let items: Vec<(String, Item)> = items
                .iter()
                .map(|(native_id, words)| ((*native_id).to_owned(), text(words)))
                .collect();
            let put = store.put_items(scene.workspace, scene.session, &items, at(1));
            put.await.unwrap()
        };
        let before = store.refresh_head().await.unwrap();
        assert_eq!(put(&[]).await, 0);
        assert_eq!(put(&[("a", "1"), ("b", "2"), ("a", "3")]).await, 2);
        assert_eq!(
            put(&[("c", "4"), ("b", "5"), ("a", "3"), ("b", "6")]).await,
            2
        );
        assert_eq!(put(&[("a", "3"), ("c", "4")]).await, 0);

        let items = store.items(scene.session, 0, 10).await.unwrap();
        let found: Vec<_> = items.iter().map(|it| (it.seq, it.item.clone())).collect();
        assert_eq!(found, [(1, text("3")), (2, text("6")), (3, text("4"))]);
        let events = store.events_after(before, 10).await.unwrap();
        let session = scene.session;
        let changed = [1, 2, 3, 2].map(|item| EventBody::ItemChanged { session, item });
        let numbers: Vec<i64> = events.iter().map(|event| event.seq - before).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        let bodies: Vec<_> = events.into_iter().map(|event| event.body).collect();
        assert_eq!(bodies, changed);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn items_that_are_written_at_the_same_moment_each_have_their_place() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let (workspace, session) = (scene.workspace, scene.session);
        let mut writers = JoinSet::new();
        for number in 0..40 {
            let store = store.clone();
            writers.spawn(async move {
                let native_id = format!("prt_{}", number % 20);
                let item = text("Let me look.");
                let put = store.put_item(workspace, session, &native_id, &item, at(1));
                put.await.unwrap()
            });
        }
        let mut places: Vec<i64> = writers.join_all().await.into_iter().flatten().collect();
        places.sort_unstable();
        assert_eq!(places, (1..=20).collect::<Vec<_>>());
    })
    .await;
}

#[tokio::test]
async fn a_turn_begins_once_and_ends_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let id = TurnId::generate(at(1));
        let begin = async |prompt: &str| {
            let turn = NewTurn {
                prompt: prompt.to_owned(),
                model: Some("stub/large".to_owned()),
                ..scene.turn(id)
            };
            let begun = store.begin_turn(scene.workspace, turn, &scene.ada, at(1));
            begun.await.unwrap()
        };
        let (turn, is_new) = begin("fix it").await;
        assert!(is_new);
        assert_eq!(begin("fix something else").await, (turn.clone(), false));
        let open = store.open_turns(scene.session).await.unwrap();
        assert_eq!(open, std::slice::from_ref(&turn));
        assert_eq!(
            store.newest_turn(scene.session).await.unwrap(),
            Some(turn.clone())
        );

        assert_eq!(
            store
                .unsent_turns(scene.workspace, Session::OPENCODE)
                .await
                .unwrap(),
            [turn]
        );
        store.mark_turn_sent(id, at(2)).await.unwrap();
        assert_eq!(
            store
                .unsent_turns(scene.workspace, Session::OPENCODE)
                .await
                .unwrap(),
            []
        );

        let end = async |outcome| store.end_turn(scene.workspace, id, outcome, at(3)).await;
        assert!(end(&TurnOutcome::Denied).await.unwrap());
        assert!(!end(&TurnOutcome::Completed).await.unwrap());
        let ended = store.newest_turn(scene.session).await.unwrap().unwrap();
        assert_eq!(ended.outcome, Some(TurnOutcome::Denied));
        assert_eq!(store.open_turns(scene.session).await.unwrap(), []);
    })
    .await;
}

/// The engine can be done with a turn before its word that it took the prompt is written down.
#[tokio::test]
async fn a_session_is_at_work_from_when_a_turn_is_sent_unless_the_turn_has_ended() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let activity = async || {
            let session = store.session(scene.session).await.unwrap();
            session.unwrap().activity
        };
        let rest = async || {
            let rested = store.set_activity(scene.session, Activity::Idle, at(1));
            rested.await.unwrap();
        };
        let turn = TurnId::generate(at(1));
        let begun = store.begin_turn(scene.workspace, scene.turn(turn), &scene.ada, at(1));
        begun.await.unwrap();
        rest().await;
        store.mark_turn_sent(turn, at(2)).await.unwrap();
        assert_eq!(activity().await, Activity::Busy);

        let end = store.end_turn(scene.workspace, turn, &TurnOutcome::Completed, at(3));
        assert!(end.await.unwrap());
        rest().await;
        store.mark_turn_sent(turn, at(4)).await.unwrap();
        assert_eq!(activity().await, Activity::Idle);
    })
    .await;
}

#[tokio::test]
async fn a_session_is_known_by_what_its_engine_calls_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let known = store.session(scene.session).await.unwrap().unwrap();
        let parent = scene.another_session().await;
        let news = Session {
            id: SessionId::generate(at(5)),
            title: "Fix the tests".to_owned(),
            parent: Some(parent),
            activity: Activity::Idle,
            changed_at: at(5),
            ..known.clone()
        };
        let put = store.put_session(&news).await.unwrap();
        assert_eq!(
            put,
            Session {
                id: known.id,
                activity: Activity::Busy,
                ..news
            }
        );
        let found = store
            .session_by_native_id(scene.workspace, Session::OPENCODE, "ses_1")
            .await;
        assert_eq!(found.unwrap(), Some(put.clone()));
        assert_eq!(
            store.sessions(Some(scene.workspace), 1).await.unwrap(),
            [put]
        );

        assert!(
            store
                .set_activity(known.id, Activity::Idle, at(6))
                .await
                .unwrap()
        );
        let busy = store
            .sessions_at_work(scene.workspace, Session::OPENCODE)
            .await
            .unwrap();
        assert_eq!(busy.iter().map(|it| it.id).collect::<Vec<_>>(), [parent]);
    })
    .await;
}

#[tokio::test]
async fn a_workspace_that_somebody_added_is_kept_until_it_is_removed() {
    each_backend(async |store| {
        let by = store.actor(ActorKind::Person, "ada", at(1)).await.unwrap();
        let named = store.ensure_workspace("/a", "one", at(1)).await.unwrap();
        let added = store.ensure_workspace("/b", "two", at(2)).await.unwrap();
        let visited = store.ensure_workspace("/c", "three", at(2)).await.unwrap();
        for (workspace, start) in [
            (&visited, EngineStart::WhenNeeded),
            (&added, EngineStart::WithServer),
        ] {
            let kept = store.keep_workspace(workspace, start, &by, at(3));
            kept.await.unwrap();
        }
        let mut kept = store.kept_workspaces().await.unwrap();
        kept.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
        let expected = [
            (added.clone(), EngineStart::WithServer),
            (visited.clone(), EngineStart::WhenNeeded),
        ];
        assert_eq!(kept, expected);
        store.release_workspace(&visited, &by, at(3)).await.unwrap();
        let renamed = Workspace {
            name: "other".to_owned(),
            ..added.clone()
        };
        store.rename_workspace(&renamed, &by, at(4)).await.unwrap();
        let again = store.ensure_workspace("/b", "two", at(5)).await.unwrap();
        assert_eq!(again.name, "other");
        store.release_workspace(&renamed, &by, at(6)).await.unwrap();
        assert!(store.kept_workspaces().await.unwrap().is_empty());
        assert_eq!(store.workspace(named.id).await.unwrap(), Some(named));
        let audit = store.audit(added.id, 0, 10).await.unwrap();
        let actions: Vec<&str> = audit.iter().map(|it| it.action.as_str()).collect();
        let expected = [
            "workspace.add",
            "workspace.serve",
            "workspace.rename",
            "workspace.remove",
        ];
        assert_eq!(actions, expected);
    })
    .await;
}

#[tokio::test]
async fn a_workspace_is_known_by_its_path() {
    each_backend(async |store| {
        let first = store.ensure_workspace("/a", "one", at(1)).await.unwrap();
        let again = store.ensure_workspace("/a", "two", at(2)).await.unwrap();
        assert_eq!(first, again);
        let other = store.ensure_workspace("/A", "three", at(2)).await.unwrap();
        assert_ne!(first.id, other.id);
        assert_eq!(store.workspace(first.id).await.unwrap(), Some(first));
    })
    .await;
}

#[tokio::test]
async fn a_piece_says_when_it_was_last_rewritten() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let put = async |words: &str, when| {
            let item = text(words);
            let put = store.put_item(scene.workspace, scene.session, "prt_1", &item, when);
            put.await.unwrap()
        };
        put("Let me", at(1)).await;
        let told = async || {
            let items = store.items(scene.session, 0, 10).await.unwrap();
            (items[0].at, items[0].changed_at)
        };
        assert_eq!(told().await, (at(1), None));
        put("Let me look.", at(5)).await;
        assert_eq!(told().await, (at(1), Some(at(5))));
        let several = [("prt_1".to_owned(), text("Let me look again."))];
        let put = store.put_items(scene.workspace, scene.session, &several, at(7));
        assert_eq!(put.await.unwrap(), 1);
        assert_eq!(told().await, (at(1), Some(at(7))));
    })
    .await;
}

/// Two prompts of Ada's that wait, one after the other.
async fn two_turns(store: &Store, scene: &Scene) -> Vec<TurnId> {
    let mut turns = Vec::new();
    for second in 1..=2 {
        let turn = TurnId::generate(at(second));
        let begun = store.begin_turn(scene.workspace, scene.turn(turn), &scene.ada, at(second));
        begun.await.unwrap();
        turns.push(turn);
    }
    turns
}

#[tokio::test]
async fn a_prompt_that_waits_is_taken_back_or_said_and_never_both() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let turns = two_turns(&store, &scene).await;
        let queued = async || {
            let queued = store.queued_turns(scene.session).await.unwrap();
            let queued = queued.into_iter().map(|turn| (turn.turn, turn.by));
            queued.collect::<Vec<_>>()
        };
        let take_back = async |turn| {
            let taken =
                store.take_turn_back(scene.workspace, scene.session, turn, &scene.bob, at(9));
            taken.await.unwrap()
        };
        let ada = "ada".to_owned();
        assert_eq!(
            queued().await,
            [(turns[0], ada.clone()), (turns[1], ada.clone())]
        );
        // What is said to the agent waits no more; to say it again, after a crash, is no other thing.
        assert!(store.claim_turn(turns[0], at(3)).await.unwrap());
        assert!(store.claim_turn(turns[0], at(4)).await.unwrap());
        assert_eq!(queued().await, [(turns[1], ada)]);
        assert!(!take_back(turns[0]).await);
        assert!(take_back(turns[1]).await);
        assert!(!take_back(turns[1]).await);
        assert!(!store.claim_turn(turns[1], at(10)).await.unwrap());
        assert_eq!(queued().await, []);
        let taken = store.turn(turns[1]).await.unwrap().unwrap();
        assert_eq!(taken.outcome, Some(TurnOutcome::Cancelled));
    })
    .await;
}

#[tokio::test]
async fn a_prompt_on_its_way_cannot_be_taken_back_and_is_sent_again_until_the_engine_has_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let turns = two_turns(&store, &scene).await;
        let unsent = async || {
            let unsent = store.unsent_turns(scene.workspace, Session::OPENCODE);
            let unsent = unsent.await.unwrap().into_iter().map(|turn| turn.id);
            unsent.collect::<Vec<_>>()
        };
        let take_back = async |turn| {
            let taken =
                store.take_turn_back(scene.workspace, scene.session, turn, &scene.bob, at(9));
            taken.await.unwrap()
        };
        assert!(store.is_turn_waiting(turns[0]).await.unwrap());
        assert!(store.send_off_turn(turns[0], at(3)).await.unwrap());
        assert!(!store.is_turn_waiting(turns[0]).await.unwrap());
        assert!(!take_back(turns[0]).await);
        assert_eq!(unsent().await, turns, "whether it arrived is not known");
        // The server died before the engine took it: it is sent off again.
        assert!(store.send_off_turn(turns[0], at(4)).await.unwrap());
        store.mark_turn_sent(turns[0], at(5)).await.unwrap();
        assert_eq!(unsent().await, [turns[1]]);

        assert!(take_back(turns[1]).await);
        assert!(!store.send_off_turn(turns[1], at(10)).await.unwrap());
        assert_eq!(unsent().await, []);
    })
    .await;
}
