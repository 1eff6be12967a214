//! Asks that are asked again after their engine died: what of the old answer still holds.

use countersign_core::answer::{Choice, Scope};
use countersign_core::ask::{AskPhase, AskState, Elsewhere, Subject};
use countersign_core::delivery::Undeliverable;
use serde_json::json;

use super::backend::each_backend;
use super::scene::{Scene, always, announced, at, deny};
use crate::NewAsk;

#[tokio::test]
async fn an_answer_that_was_never_sent_is_applied_to_the_same_ask_once() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let old = scene.open_command("per_1", "ls").await;
        let answered = scene.answer(old.id, deny()).await;
        scene.restart_engine().await;

        let again = scene.open_command("per_7", "ls").await;
        assert_eq!(again.previous, Some(old.id));
        assert_eq!(again.state.phase(), AskPhase::Answered);
        assert_eq!(again.state.answer(), answered.state.answer());
        assert_eq!(scene.ask(again.id).await, again);
        let parcels = store.parcels(scene.run).await.unwrap();
        assert_eq!(parcels.len(), 1);
        assert_eq!(parcels[0].ask, again);

        let third = scene.open_command("per_8", "ls").await;
        assert_eq!(third.state, AskState::Open);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_lives_that_ask_again_at_the_same_moment_one_gets_the_answer() {
    each_backend(async |store| {
        for round in 0..20 {
            let mut scene = Scene::at_path(&store, &format!("/round/{round}")).await;
            let old = scene.open_command("per_1", "ls").await;
            scene.answer(old.id, Choice::AllowOnce).await;
            scene.restart_engine().await;
            let first = scene.command("per_1", "ls");
            scene.run = store.begin_run(&scene.engine, at(61)).await.unwrap().id;
            let second = scene.command("per_1", "ls");
            let open = |new| {
                let store = store.clone();
                tokio::task::JoinSet::from_iter([async move {
                    let opened = store.open_ask(new, at(62)).await.unwrap();
                    opened.into_ask().state.phase()
                }])
            };
            let (mut first, mut second) = (open(first), open(second));
            let first = first.join_next().await.unwrap().unwrap();
            let second = second.join_next().await.unwrap().unwrap();

            assert_ne!(first, second, "one is answered, the other open");
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_carried_from_life_to_life_until_it_is_sent() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let first = scene.open_command("per_1", "ls").await;
        scene.answer(first.id, Choice::AllowOnce).await;
        scene.restart_engine().await;
        let second = scene.open_command("per_1", "ls").await;
        scene.restart_engine().await;
        let third = scene.open_command("per_1", "ls").await;
        assert_eq!(third.previous, Some(second.id));
        assert_eq!(third.state.phase(), AskPhase::Answered);
        assert!(store.begin_sending(third.id, at(9), at(3)).await.unwrap());
        scene.restart_engine().await;

        let fourth = scene.open_command("per_1", "ls").await;
        assert_eq!(fourth.previous, Some(third.id));
        assert_eq!(fourth.state, AskState::Open);
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_perhaps_sent_is_asked_for_again() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let old = scene.open_command("per_1", "ls").await;
        scene.answer(old.id, Choice::AllowOnce).await;
        assert!(store.begin_sending(old.id, at(9), at(3)).await.unwrap());
        scene.restart_engine().await;

        let again = scene.open_command("per_1", "ls").await;
        assert_eq!(again.previous, Some(old.id));
        assert_eq!(again.state, AskState::Open);
    })
    .await;
}

#[tokio::test]
async fn an_open_ask_is_asked_again_and_linked() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let old = scene.open_command("per_1", "ls").await;
        scene.restart_engine().await;

        let again = scene.open_command("per_1", "ls").await;
        assert_eq!(again.previous, Some(old.id));
        assert_eq!(again.state, AskState::Open);
    })
    .await;
}

#[tokio::test]
async fn an_old_answer_applies_to_nothing_that_differs() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let old = scene.open_command("per_1", "ls").await;
        scene.answer(old.id, Choice::AllowOnce).await;
        scene.restart_engine().await;

        let mut other_session = scene.command("per_1", "ls");
        other_session.session = scene.another_session().await;
        let other_tool = NewAsk {
            subject: Subject::Permission {
                location: countersign_core::ask::Location::default(),
                tool: "shell".to_owned(),
                targets: vec!["ls".to_owned()],
                shown: vec![],
            },
            ..scene.command("per_2", "ls")
        };
        let other_arguments = NewAsk {
            arguments: json!({ "command": "ls", "timeout": 1 }),
            ..scene.command("per_3", "ls")
        };
        let other_directory = NewAsk {
            directory: "/home/ada/project/".to_owned(),
            ..scene.command("per_4", "ls")
        };
        for new in [other_session, other_tool, other_arguments, other_directory] {
            let ask = scene.open(new).await;
            assert_eq!(
                (ask.previous, &ask.state),
                (None, &AskState::Open),
                "{ask:?}"
            );
        }
        let same = scene.open_command("per_5", "ls").await;
        assert_eq!(same.state.phase(), AskPhase::Answered);
    })
    .await;
}

#[tokio::test]
async fn what_was_settled_otherwise_is_not_carried_over() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let delivered = scene.open_command("per_1", "a").await;
        scene.answer(delivered.id, Choice::AllowOnce).await;
        store
            .mark_delivered(delivered.id, &announced(), at(3))
            .await
            .unwrap();
        let elsewhere = scene.open_command("per_2", "b").await;
        scene.answer(elsewhere.id, Choice::AllowOnce).await;
        let why = Undeliverable::AnsweredElsewhere {
            reply: "reject".to_owned(),
            at: Elsewhere::Engine,
        };
        store.give_up(elsewhere.id, &why, at(3)).await.unwrap();
        scene.restart_engine().await;

        for command in ["a", "b"] {
            let ask = scene.open_command(command, command).await;
            assert_eq!(
                (ask.previous, &ask.state),
                (None, &AskState::Open),
                "{command}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn within_one_life_the_same_content_is_a_new_ask() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let first = scene.open_command("per_1", "ls").await;
        scene.answer(first.id, Choice::AllowOnce).await;

        let second = scene.open_command("per_2", "ls").await;
        assert_eq!((second.previous, &second.state), (None, &AskState::Open));
        assert_eq!(second.fingerprint, first.fingerprint);
    })
    .await;
}

#[tokio::test]
async fn an_always_that_is_carried_over_does_not_bring_back_a_rule_that_was_revoked() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let old = scene.open_command("per_1", "ls").await;
        scene.answer(old.id, always(Scope::Workspace)).await;
        let rule = store.rules(None).await.unwrap().remove(0);
        assert!(store.revoke_rule(&rule, &scene.bob, at(3)).await.unwrap());
        scene.restart_engine().await;

        let again = scene.open_command("per_1", "ls").await;
        assert_eq!(again.state.answer().unwrap().rule, Some(rule.id));
        let rules = store.rules(None).await.unwrap();
        assert!(
            rules.iter().all(|rule| rule.revoked_at.is_some()),
            "{rules:?}"
        );
        let next = scene.open_command("per_2", "ls").await;
        assert_eq!(next.state, AskState::Open);
    })
    .await;
}
