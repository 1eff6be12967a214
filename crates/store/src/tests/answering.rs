//! Answering asks: the first answer stands, whoever comes later is told how things are.

use countersign_core::actor::Surface;
use countersign_core::answer::{Choice, Scope};
use countersign_core::ask::{AskState, Withdrawal};
use countersign_core::event::EventBody;
use countersign_core::id::AskId;

use super::backend::each_backend;
use super::scene::{Scene, always, announced, at, deny, says};
use crate::{Answered, AnsweredOpen, NewAsk};

#[tokio::test]
async fn the_first_answer_stands_and_is_in_the_outbox_and_the_audit() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await;
        let before = store.refresh_head().await.unwrap();
        let answered = scene.answer(ask.id, Choice::AllowOnce).await;

        assert_eq!(
            answered.state.answer(),
            Some(&says(&scene.ada, Choice::AllowOnce))
        );
        assert_eq!(scene.ask(ask.id).await, answered);
        let parcels = store.parcels(scene.run).await.unwrap();
        assert_eq!(parcels.len(), 1);
        assert_eq!(
            (&parcels[0].ask, parcels[0].perhaps_sent),
            (&answered, false)
        );
        let audit = store.audit(scene.workspace, 0, 100).await.unwrap();
        let entry = audit.last().unwrap();
        assert_eq!(
            (entry.action.as_str(), entry.subject.clone()),
            ("ask.answer", ask.id.to_string())
        );
        assert!(entry.actor.starts_with("person ada"), "{}", entry.actor);
        let events = store.events_after(before, 10).await.unwrap();
        let bodies: Vec<_> = events.into_iter().map(|event| event.body).collect();
        let changed = EventBody::AskChanged {
            ask: ask.id,
            session: scene.session,
            state: answered.state.phase(),
        };
        assert_eq!(bodies, [changed]);
    })
    .await;
}

#[tokio::test]
async fn the_same_answer_by_the_same_actor_is_a_repetition() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for (native_id, choice) in [
            ("per_1", Choice::AllowOnce),
            ("per_2", always(Scope::Session)),
            ("per_3", deny()),
        ] {
            let ask = scene.open_command(native_id, native_id).await;
            let first = scene.answer(ask.id, choice.clone()).await;
            let again = says(&scene.ada, choice);
            assert_eq!(
                store.answer(ask.id, again.clone(), at(3)).await.unwrap(),
                Answered::Repeated(first)
            );
            store.begin_sending(ask.id, at(9), at(4)).await.unwrap();
            store
                .mark_delivered(ask.id, &announced(), at(5))
                .await
                .unwrap();
            let delivered = scene.ask(ask.id).await;
            assert_eq!(
                store.answer(ask.id, again, at(6)).await.unwrap(),
                Answered::Repeated(delivered)
            );
        }
        assert_eq!(store.rules(None).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn another_answer_has_lost_and_is_told_the_winner() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await;
        let first = scene.answer(ask.id, Choice::AllowOnce).await;

        for late in [
            says(&scene.bob, Choice::AllowOnce),
            says(&scene.bob, deny()),
            says(&scene.ada, deny()),
            says(&scene.ada, always(Scope::Workspace)),
        ] {
            assert_eq!(
                store.answer(ask.id, late, at(3)).await.unwrap(),
                Answered::Lost(first.clone())
            );
        }
        assert_eq!(store.rules(None).await.unwrap(), []);
        assert_eq!(scene.ask(ask.id).await, first);
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_nobody_opened_is_missing() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let answer = says(&scene.ada, Choice::AllowOnce);
        let outcome = store.answer(AskId::generate(at(0)), answer, at(1)).await;
        assert_eq!(outcome.unwrap(), Answered::Missing);
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_was_withdrawn_or_ran_out_takes_no_answer() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let withdrawn = scene.open_command("per_1", "ls").await;
        let expired = scene
            .open(NewAsk {
                expires_at: Some(at(3)),
                ..scene.command("per_2", "ls")
            })
            .await;
        let why = Withdrawal::TurnCancelled;
        assert!(store.withdraw(withdrawn.id, &why, at(2)).await.unwrap());
        assert_eq!(store.expire_due(at(3)).await.unwrap(), 1);

        for id in [withdrawn.id, expired.id] {
            let over = scene.ask(id).await;
            let answer = says(&scene.ada, Choice::AllowOnce);
            assert_eq!(
                store.answer(id, answer, at(4)).await.unwrap(),
                Answered::Over(over.clone())
            );
            assert_eq!(scene.ask(id).await, over);
        }
    })
    .await;
}

#[tokio::test]
async fn an_ask_whose_time_is_up_takes_no_answer_even_before_it_was_swept() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = NewAsk {
            expires_at: Some(at(10)),
            ..scene.command("per_1", "ls")
        };
        let ask = scene.open(new).await;

        let answer = says(&scene.ada, Choice::AllowOnce);
        let outcome = store.answer(ask.id, answer, at(10)).await.unwrap();
        let Answered::Over(over) = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(over.state, AskState::Expired { at: at(10) });
        assert_eq!(scene.ask(ask.id).await, over);
        assert_eq!(store.parcels(scene.run).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_denial_takes_the_permissions_of_its_session_along_and_nothing_else() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let denied = scene.open_command("per_1", "rm").await;
        let sibling = scene.open_command("per_2", "ls").await;
        let answered = scene.open_command("per_3", "pwd").await;
        scene.answer(answered.id, Choice::AllowOnce).await;
        let question = scene.open(scene.question("que_1")).await;
        scene.session = scene.another_session().await;
        let stranger = scene.open_command("per_4", "ls").await;

        scene.answer(denied.id, deny()).await;

        let why = Withdrawal::SiblingDenied { sibling: denied.id };
        assert_eq!(
            scene.ask(sibling.id).await.state,
            AskState::Withdrawn { at: at(2), why }
        );
        for untouched in [question, stranger] {
            assert_eq!(scene.ask(untouched.id).await, untouched);
        }
        let answered = scene.ask(answered.id).await;
        assert_eq!(answered.state.answer().unwrap().choice, Choice::AllowOnce);
    })
    .await;
}

#[tokio::test]
async fn a_question_that_is_turned_down_takes_nothing_along() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let question = scene.open(scene.question("que_1")).await;
        let permission = scene.open_command("per_1", "ls").await;
        scene.answer(question.id, deny()).await;

        assert_eq!(scene.ask(permission.id).await, permission);
    })
    .await;
}

#[tokio::test]
async fn every_kind_of_answer_reads_back_as_it_was_given() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let question = scene.open(scene.question("que_1")).await;
        let choices = Choice::Choices {
            choices: vec![vec!["sqlite\0 \u{202e}🙂".to_owned()]],
        };
        let mut answer = says(&scene.bob, choices);
        answer.surface = Surface::Cli;
        store
            .answer(question.id, answer.clone(), at(2))
            .await
            .unwrap();

        assert_eq!(scene.ask(question.id).await.state.answer(), Some(&answer));
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_was_open_a_moment_ago_is_answered_as_it_is_now() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let said = says(&scene.bob, Choice::AllowOnce);
        let open = scene.open_command("per_1", "ls").await;
        let before = *store.head().borrow();
        let answering = store.answer_open(&open, said.clone(), at(2));
        let AnsweredOpen::Won { state, unannounced } = answering.await.unwrap() else {
            panic!("nobody else answers")
        };
        let now = scene.ask(open.id).await;
        assert_eq!(now.state, state);
        assert_eq!(now.state.answer(), Some(&said));
        if let Some(number) = unannounced {
            assert_eq!(*store.head().borrow(), before, "nobody was told yet");
            store.announce(number);
        }
        assert!(*store.head().borrow() > before);

        let again = store.answer_open(&open, said.clone(), at(3)).await.unwrap();
        let repeated = Answered::Repeated(now.clone());
        assert_eq!(again, AnsweredOpen::Late(repeated));
        let late = says(&scene.ada, deny());
        let late = store.answer_open(&open, late, at(3)).await.unwrap();
        assert_eq!(late, AnsweredOpen::Late(Answered::Lost(now)));

        let withdrawn = scene.open_command("per_2", "ls").await;
        let why = Withdrawal::EngineGone;
        assert!(store.withdraw(withdrawn.id, &why, at(3)).await.unwrap());
        let over = store.answer_open(&withdrawn, said.clone(), at(4)).await;
        let as_it_is = Answered::Over(scene.ask(withdrawn.id).await);
        assert_eq!(over.unwrap(), AnsweredOpen::Late(as_it_is));

        let expiring = NewAsk {
            expires_at: Some(at(5)),
            ..scene.command("per_3", "ls")
        };
        let expiring = scene.open(expiring).await;
        let over = store.answer_open(&expiring, said, at(5)).await.unwrap();
        let as_it_is = Answered::Over(scene.ask(expiring.id).await);
        assert_eq!(over, AnsweredOpen::Late(as_it_is));
    })
    .await;
}
