//! Opening asks: once for each request of an engine's life, durable, with the rules applied.

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::{Choice, Scope};
use countersign_core::ask::{AskPhase, AskState, Subject, Withdrawal};
use countersign_core::digest::Digest;
use countersign_core::event::EventBody;
use countersign_core::id::RuleId;
use countersign_core::rule::{Matcher, Rule, Verdict};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::backend::each_backend;
use super::scene::{Scene, always, at};
use crate::{AskFilter, Opened};

#[tokio::test]
async fn one_request_of_one_life_of_an_engine_is_one_ask() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let first = scene.open_command("per_1", "ls").await;

        let again = store.open_ask(scene.command("per_1", "ls"), at(9)).await;
        assert_eq!(again.unwrap(), Opened::Known(first.clone()));
        let other = scene.open_command("per_2", "ls").await;
        assert_ne!(other.id, first.id);
        assert_eq!(
            store.ask_by_native_id(scene.run, "per_1").await.unwrap(),
            Some(first)
        );
        assert_eq!(store.count_open_asks(scene.session).await.unwrap(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_handed_in_by_many_at_once_is_one_ask() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut doors = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (store, ask) = (store.clone(), scene.command("per_1", "ls"));
            doors.spawn(async move { store.open_ask(ask, at(1)).await.unwrap() });
        }
        let outcomes = doors.join_all().await;

        let fresh = |opened: &&Opened| matches!(opened, Opened::Fresh(_));
        assert_eq!(outcomes.iter().filter(fresh).count(), 1);
        let ids: Vec<_> = outcomes.into_iter().map(|it| it.into_ask().id).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    })
    .await;
}

#[tokio::test]
async fn an_ask_is_open_and_announced_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let before = store.refresh_head().await.unwrap();
        let ask = scene.open_command("per_1", "ls").await;
        store
            .open_ask(scene.command("per_1", "ls"), at(2))
            .await
            .unwrap();

        let events = store.events_after(before, 10).await.unwrap();
        let bodies: Vec<_> = events.into_iter().map(|event| event.body).collect();
        let opened = EventBody::AskOpened {
            ask: ask.id,
            session: scene.session,
            tool: "bash".to_owned(),
        };
        assert_eq!(bodies, [opened]);
        let open = AskFilter {
            phase: Some(AskPhase::Open),
            ..AskFilter::default()
        };
        assert_eq!(store.asks(open, 10).await.unwrap(), [ask]);
    })
    .await;
}

#[tokio::test]
async fn an_ask_of_an_engine_is_opened_as_it_is_in_the_ledger_and_announced_at_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = scene.command("per_1", "ls");
        let before = *store.head().borrow();
        let opening = store.open_ask_unannounced(new.clone(), at(1));
        let (opened, unannounced) = opening.await.unwrap();
        assert_eq!(unannounced, None);
        assert!(*store.head().borrow() > before);
        let Opened::Fresh(ask) = opened else {
            panic!("{opened:?}");
        };
        assert_eq!(scene.ask(ask.id).await, ask);
        assert_eq!(ask.requester, "build");
        let known = store.open_ask_unannounced(new, at(2)).await.unwrap();
        assert_eq!(known, (Opened::Known(ask), None));
    })
    .await;
}

#[tokio::test]
async fn a_rule_answers_when_the_ask_is_opened() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for (command, verdict) in [("ls", Verdict::Allow), ("rm", Verdict::Deny)] {
            let rule = rule(&scene, command, verdict);
            store.add_rule(&rule).await.unwrap();
            let ask = scene.open_command(command, command).await;

            assert_eq!(scene.ask(ask.id).await, ask);
            let AskState::Answered(answer, delivery) = ask.state else {
                panic!("{command} is {:?}", ask.state);
            };
            assert_eq!(answer.choice.is_yes(), verdict == Verdict::Allow);
            assert_eq!(
                (answer.surface, answer.rule),
                (Surface::Rule, Some(rule.id))
            );
            assert_eq!(answer.by.kind, ActorKind::Rule);
            assert_eq!(delivery.attempts, 0);
        }
        assert_eq!(store.parcels(scene.run).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_rule_answers_nothing_after_its_end_or_its_revocation() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ended = Rule {
            expires_at: Some(at(1)),
            ..rule(&scene, "ls", Verdict::Allow)
        };
        let revoked = rule(&scene, "pwd", Verdict::Allow);
        store.add_rule(&ended).await.unwrap();
        store.add_rule(&revoked).await.unwrap();
        assert!(
            store
                .revoke_rule(&revoked, &scene.bob, at(1))
                .await
                .unwrap()
        );
        assert!(
            !store
                .revoke_rule(&revoked, &scene.bob, at(2))
                .await
                .unwrap()
        );

        for command in ["ls", "pwd"] {
            let ask = scene.open_command(command, command).await;
            assert_eq!(ask.state, AskState::Open, "{command}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_always_makes_exactly_the_rule_that_the_person_was_shown() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "git status").await;
        let answered = scene.answer(ask.id, always(Scope::Session)).await;

        let made = answered.state.answer().unwrap().rule.unwrap();
        let wanted = Rule {
            id: made,
            session: Some(scene.session),
            made_at: at(2),
            made_from: Some(ask.id),
            ..rule(&scene, "git status", Verdict::Allow)
        };
        assert_eq!(store.rule(made).await.unwrap().as_ref(), Some(&wanted));
        assert_eq!(store.rules(None).await.unwrap(), [wanted]);
        let mut elsewhere = scene.command("per_4", "git status");
        elsewhere.session = scene.another_session().await;
        for (new, phase) in [
            (scene.command("per_2", "git status"), AskPhase::Answered),
            (scene.command("per_3", "git status -s"), AskPhase::Open),
            (elsewhere, AskPhase::Open),
        ] {
            assert_eq!(scene.open(new).await.state.phase(), phase);
        }
        // The answers that the rule gives make no rules in their turn.
        assert_eq!(store.rules(Some(scene.workspace)).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_always_with_a_pattern_makes_a_rule_of_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let edit = |native_id: &str, path: &str| {
            let mut new = scene.command(native_id, path);
            new.subject = Subject::Permission {
                location: countersign_core::ask::Location::default(),
                tool: "edit".to_owned(),
                targets: vec![path.to_owned()],
                shown: vec![],
            };
            new
        };
        let ask = scene.open(edit("per_1", "src/a.rs")).await;
        let pattern = "src/**".to_owned();
        let choice = Choice::AllowAlways {
            scope: Scope::Session,
            pattern: Some(pattern.clone()),
            expires_at: None,
        };
        let answered = scene.answer(ask.id, choice.clone()).await;
        assert_eq!(
            scene.ask(ask.id).await.state.answer().unwrap().choice,
            choice
        );

        let made = answered.state.answer().unwrap().rule.unwrap();
        let made = store.rule(made).await.unwrap().unwrap();
        let wanted = Matcher::Glob { pattern };
        assert_eq!((made.tool.as_str(), made.matcher), ("edit", wanted));
        for (native_id, path, phase) in [
            ("per_2", "src/deep/b.rs", AskPhase::Answered),
            ("per_3", "build.rs", AskPhase::Open),
        ] {
            let opened = scene.open(edit(native_id, path)).await;
            assert_eq!(opened.state.phase(), phase, "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_always_for_the_workspace_reaches_every_session() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await;
        scene.answer(ask.id, always(Scope::Workspace)).await;

        let mut elsewhere = scene.command("per_2", "ls");
        elsewhere.session = scene.another_session().await;
        let answered = scene.open(elsewhere).await;
        assert_eq!(answered.state.answer().unwrap().choice, Choice::AllowOnce);
    })
    .await;
}

#[tokio::test]
async fn a_denying_rule_takes_the_open_siblings_with_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let sibling = scene.open_command("per_1", "ls").await;
        store
            .add_rule(&rule(&scene, "rm", Verdict::Deny))
            .await
            .unwrap();
        let denied = scene.open_command("per_2", "rm").await;

        let why = Withdrawal::SiblingDenied { sibling: denied.id };
        assert_eq!(
            scene.ask(sibling.id).await.state,
            AskState::Withdrawn { at: at(1), why }
        );
    })
    .await;
}

#[tokio::test]
async fn an_ask_of_a_life_that_is_over_ends_with_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        store
            .add_rule(&rule(&scene, "ls", Verdict::Allow))
            .await
            .unwrap();
        store
            .end_run(scene.workspace, scene.run, "killed", at(1))
            .await
            .unwrap();

        let late = scene.open_command("per_1", "ls").await;
        let why = Withdrawal::EngineGone;
        assert_eq!(late.state, AskState::Withdrawn { at: at(1), why });
        assert_eq!(scene.ask(late.id).await, late);
        assert_eq!(store.parcels(scene.run).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn asks_are_listed_by_state_session_and_page_newest_first() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut asks = Vec::new();
        for number in 0..5_u64 {
            let new = scene.command(&format!("per_{number}"), "ls");
            asks.push(store.open_ask(new, at(number)).await.unwrap().into_ask());
        }
        asks.reverse();
        asks[3] = scene.answer(asks[3].id, Choice::AllowOnce).await;
        let list = async |filter: AskFilter, limit| store.asks(filter, limit).await.unwrap();

        assert_eq!(list(AskFilter::default(), 10).await, asks);
        let page = AskFilter {
            before: Some(asks[1].id),
            ..AskFilter::default()
        };
        assert_eq!(list(page, 2).await, asks[2..4]);
        let answered = AskFilter {
            phase: Some(AskPhase::Answered),
            session: Some(scene.session),
            workspace: Some(scene.workspace),
            ..AskFilter::default()
        };
        assert_eq!(list(answered, 10).await, asks[3..4]);
        assert_eq!(store.live_asks(scene.run).await.unwrap().len(), 5);
    })
    .await;
}

/// Whatever JSON an engine may send.
fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from("\0")),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| json!(fields)),
        ]
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_engine_sent_is_kept_as_it_came() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut runner = TestRunner::default();
        let outcome = runner.run(&json_values(), |raw| {
            let mut new = scene.command(&RuleId::generate(at(0)).to_string(), "ls");
            new.raw = raw.clone();
            let kept = tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    let id = scene.open(new).await.id;
                    scene.ask(id).await
                })
            });
            prop_assert_eq!(&kept.raw, &raw);
            prop_assert_eq!(kept.digest, Digest::of_json(&raw));
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{error}\n{runner}");
        }
    })
    .await;
}

fn rule(scene: &Scene, command: &str, verdict: Verdict) -> Rule {
    Rule {
        id: RuleId::generate(at(0)),
        workspace: scene.workspace,
        session: None,
        tool: "bash".to_owned(),
        verdict,
        matcher: Matcher::exactly(vec![command.to_owned()]),
        made_by: scene.ada.clone(),
        made_at: at(0),
        made_from: None,
        expires_at: None,
        revoked_at: None,
    }
}
