//! The audit: whole after whatever was done, and broken for everybody to see after any tampering.

use countersign_core::answer::Choice;
use countersign_core::audit::BrokenChain;
use countersign_core::id::WorkspaceId;
use tokio::task::JoinSet;

use super::backend::each_backend;
use super::scene::{Scene, at, deny, says};
use crate::database::on_db;
use crate::sql::query;
use crate::{NewAlarm, Store, StoreError};

/// Deeds in the chain of the scene's workspace: its making, the engine's start, three asks and answers.
const LENGTH: i64 = 8;

async fn with_chain(store: &Store) -> Scene {
    let scene = Scene::new(store).await;
    for native_id in ["per_1", "per_2", "per_3"] {
        let ask = scene.open_command(native_id, native_id).await;
        scene.answer(ask.id, Choice::AllowOnce).await;
    }
    scene
}

async fn verify(store: &Store, workspace: WorkspaceId) -> Option<Result<i64, BrokenChain>> {
    let verdicts = store.verify_audit().await.unwrap();
    let mut found = verdicts.into_iter().filter(|it| it.workspace == workspace);
    found.next().map(|verdict| verdict.outcome)
}

/// Does to the database what only somebody beside this program would do; `$1` is the workspace.
async fn tamper(store: &Store, statement: &str, workspace: WorkspaceId) {
    let done: Result<(), StoreError> = async {
        on_db!(&store.db, |connection| {
            query(statement.to_owned())
                .bind(workspace.to_string())
                .execute(connection)
                .await?;
        });
        Ok(())
    }
    .await;
    done.unwrap();
}

#[tokio::test]
async fn each_deed_is_an_entry_and_the_chain_is_whole() {
    each_backend(async |store| {
        let scene = with_chain(&store).await;
        let entries = store.audit(scene.workspace, 0, 100).await.unwrap();
        let actions: Vec<&str> = entries.iter().map(|it| it.action.as_str()).collect();
        let expected = [
            "workspace.add",
            "engine.start",
            "ask.open",
            "ask.answer",
            "ask.open",
            "ask.answer",
            "ask.open",
            "ask.answer",
        ];
        assert_eq!(actions, expected);
        assert_eq!(verify(&store, scene.workspace).await, Some(Ok(LENGTH)));
        assert_eq!(
            store.audit(scene.workspace, 6, 1).await.unwrap(),
            entries[6..7]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chains_are_whole_after_many_wrote_to_them_at_once() {
    each_backend(async |store| {
        let scene = with_chain(&store).await;
        let other = Scene::at_path(&store, "/home/bob").await;
        let mut writers = JoinSet::new();
        for number in 0..8 {
            for scene in [&scene, &other] {
                let store = store.clone();
                let asks: Vec<_> = (0..10)
                    .map(|ask| scene.command(&format!("per_{number}_{ask}"), "ls"))
                    .collect();
                let answers = [
                    says(&scene.ada, Choice::AllowOnce),
                    says(&scene.bob, deny()),
                ];
                writers.spawn(async move {
                    for (ask, answer) in asks.into_iter().zip(answers.iter().cycle()) {
                        let id = store.open_ask(ask, at(1)).await.unwrap().into_ask().id;
                        store.answer(id, answer.clone(), at(2)).await.unwrap();
                    }
                });
            }
        }
        writers.join_all().await;

        let verdicts = store.verify_audit().await.unwrap();
        assert_eq!(verdicts.len(), 2);
        for verdict in verdicts {
            assert!(
                verdict.outcome.as_ref().is_ok_and(|it| *it > 160),
                "{verdict:?}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn whatever_is_done_to_a_chain_from_outside_is_found() {
    const TAMPERINGS: [&str; 13] = [
        r#"UPDATE audit SET detail = '{"choice":"deny"}' WHERE workspace = $1 AND seq = 4"#,
        "UPDATE audit SET actor = 'person bob' WHERE workspace = $1 AND seq = 4",
        "UPDATE audit SET action = 'ask.open' WHERE workspace = $1 AND seq = 4",
        "UPDATE audit SET subject = 'ask_1' WHERE workspace = $1 AND seq = 8",
        "UPDATE audit SET at = at + 1 WHERE workspace = $1 AND seq = 1",
        "UPDATE audit SET previous = hash WHERE workspace = $1 AND seq = 5",
        "UPDATE audit SET hash = previous WHERE workspace = $1 AND seq = 8",
        "DELETE FROM audit WHERE workspace = $1 AND seq = 8",
        "DELETE FROM audit WHERE workspace = $1 AND seq = 3",
        "DELETE FROM audit WHERE workspace = $1",
        "UPDATE audit SET seq = seq + 1 WHERE workspace = $1 AND seq = 8",
        "INSERT INTO audit SELECT workspace, 9, at, actor, action, subject, detail, previous, hash \
         FROM audit WHERE workspace = $1 AND seq = 8",
        "DELETE FROM audit_heads WHERE workspace = $1",
    ];
    each_backend(async |store| {
        for (number, tampering) in TAMPERINGS.into_iter().enumerate() {
            let scene = Scene::at_path(&store, &format!("/chain/{number}")).await;
            for native_id in ["per_1", "per_2", "per_3"] {
                let ask = scene.open_command(native_id, native_id).await;
                scene.answer(ask.id, Choice::AllowOnce).await;
            }
            assert_eq!(verify(&store, scene.workspace).await, Some(Ok(LENGTH)));

            tamper(&store, tampering, scene.workspace).await;
            let verdict = verify(&store, scene.workspace).await;
            assert!(matches!(verdict, Some(Err(_))), "{tampering}: {verdict:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn entries_that_change_places_are_found() {
    each_backend(async |store| {
        let scene = with_chain(&store).await;
        for statement in [
            "UPDATE audit SET seq = 99 WHERE workspace = $1 AND seq = 4",
            "UPDATE audit SET seq = 4 WHERE workspace = $1 AND seq = 6",
            "UPDATE audit SET seq = 6 WHERE workspace = $1 AND seq = 99",
        ] {
            tamper(&store, statement, scene.workspace).await;
        }
        assert_eq!(
            verify(&store, scene.workspace).await,
            Some(Err(BrokenChain::NotContinued(4)))
        );
    })
    .await;
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_is_named() {
    each_backend(async |store| {
        let scene = with_chain(&store).await;
        let statement = "UPDATE audit SET detail = 'nothing' WHERE workspace = $1 AND seq = 5";
        tamper(&store, statement, scene.workspace).await;

        let error = store.verify_audit().await.unwrap_err();
        assert!(matches!(&error, StoreError::Corrupt { row, column: "detail", .. } if row == "5"));
    })
    .await;
}

#[tokio::test]
async fn a_broken_chain_says_nothing_against_the_others() {
    each_backend(async |store| {
        let scene = with_chain(&store).await;
        let other = Scene::at_path(&store, "/home/bob").await;
        tamper(
            &store,
            "DELETE FROM audit WHERE workspace = $1 AND seq = 8",
            scene.workspace,
        )
        .await;

        let truncated = BrokenChain::Truncated {
            expected: LENGTH,
            found: LENGTH - 1,
        };
        assert_eq!(verify(&store, scene.workspace).await, Some(Err(truncated)));
        assert_eq!(verify(&store, other.workspace).await, Some(Ok(2)));
    })
    .await;
}

#[tokio::test]
async fn a_chain_of_several_pages_is_followed_to_its_end() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for number in 0..1_100 {
            let alarm = NewAlarm {
                workspace: scene.workspace,
                session: Some(scene.session),
                ask: None,
                message: format!("alarm {number}"),
            };
            store.raise_alarm(alarm, at(1)).await.unwrap();
        }
        assert_eq!(verify(&store, scene.workspace).await, Some(Ok(1_102)));
        let statement = "UPDATE audit SET at = 0 WHERE workspace = $1 AND seq = 1050";
        tamper(&store, statement, scene.workspace).await;
        assert_eq!(
            verify(&store, scene.workspace).await,
            Some(Err(BrokenChain::Changed(1_050)))
        );
    })
    .await;
}
