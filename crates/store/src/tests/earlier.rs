//! Sessions that began elsewhere.

use countersign_core::attachment::Takes;
use countersign_core::id::SessionId;
use countersign_core::session::{Activity, Item, Session};
use tokio::task::JoinSet;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{Earlier, TakenUp};

fn earlier(scene: &Scene) -> Earlier {
    let text = |text: &str| text.to_owned();
    Earlier {
        session: Session {
            id: SessionId::generate(at(3)),
            workspace: scene.workspace,
            engine: "demo".to_owned(),
            native_id: "demo-1".to_owned(),
            parent: None,
            title: "Yesterday".to_owned(),
            directory: "/home/ada/project".to_owned(),
            agent: "Demo agent".to_owned(),
            activity: Activity::Idle,
            started_at: at(3),
            changed_at: at(3),
        },
        items: vec![
            (
                "run/1".to_owned(),
                Item::Prompt {
                    text: text("hello"),
                    follows: None,
                },
            ),
            ("run/2".to_owned(), Item::Text { text: text("hi") }),
        ],
        run: Some((scene.run, 70)),
        takes: Some(Takes::ALL),
    }
}

#[tokio::test]
async fn a_session_that_is_taken_up_has_its_past_and_is_taken_up_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let first = earlier(&scene);
        let taken_up = store.take_up_session(&first, &scene.ada, at(4)).await;
        assert_eq!(taken_up.unwrap(), TakenUp::Fresh(first.session.clone()));
        let items = store.items(first.session.id, 0, 10).await.unwrap();
        let said: Vec<_> = items.into_iter().map(|it| it.item).collect();
        let expected: Vec<_> = first.items.iter().map(|(_, item)| item.clone()).collect();
        assert_eq!(said, expected);
        assert_eq!(
            store.takes(first.session.id).await.unwrap(),
            Some(Takes::ALL)
        );
        let bound = store.session_of_run(scene.run).await.unwrap();
        assert_eq!(bound.map(|it| it.id), Some(first.session.id));
        let runs = store.unended_runs(scene.engine.id).await.unwrap();
        assert_eq!(runs[0].taken, 70);

        let again = Earlier {
            items: vec![("run/9".to_owned(), first.items[0].1.clone())],
            ..earlier(&scene)
        };
        let known = store.take_up_session(&again, &scene.ada, at(5)).await;
        assert_eq!(known.unwrap(), TakenUp::Known(first.session.clone()));
        assert_eq!(store.items(first.session.id, 0, 10).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_take_up_a_session_at_the_same_moment_one_does() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut callers = JoinSet::new();
        for _ in 0..6 {
            let (store, earlier, ada) = (store.clone(), earlier(&scene), scene.ada.clone());
            callers.spawn(async move { store.take_up_session(&earlier, &ada, at(4)).await });
        }
        let outcomes: Vec<_> = callers
            .join_all()
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let fresh = |it: &&TakenUp| matches!(it, TakenUp::Fresh(_));
        assert_eq!(outcomes.iter().filter(fresh).count(), 1);
        let ids: std::collections::BTreeSet<_> = outcomes
            .iter()
            .map(|it| match it {
                TakenUp::Fresh(session) | TakenUp::Known(session) => session.id,
            })
            .collect();
        assert_eq!(ids.len(), 1);
    })
    .await;
}
