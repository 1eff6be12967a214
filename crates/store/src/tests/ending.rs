//! The ends of asks that nobody answered, and of an engine's life.

use countersign_core::answer::Choice;
use countersign_core::ask::{AskPhase, AskState, Elsewhere, Withdrawal};
use countersign_core::delivery::{DeliveryState, Undeliverable};
use countersign_core::event::{EnginePhase, EventBody};

use super::backend::{each_backend, plan_on_file, steps_on_file};
use super::scene::{Scene, announced, at, says};
use crate::asks::{
    ADD, CLAIM, DELIVERED, FALLEN, LIVE, LIVE_OF_RUN, NEXT_EXPIRY, OPEN_OF_SESSION, OVER,
};
use crate::deliveries::{MOVE_ASK, SETTLE};
use crate::{Answered, NewAsk};

#[tokio::test]
async fn what_is_answered_is_neither_withdrawn_nor_does_it_run_out() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = NewAsk {
            expires_at: Some(at(10)),
            ..scene.command("per_1", "ls")
        };
        let ask = scene.open(new).await;
        let answered = scene.answer(ask.id, Choice::AllowOnce).await;

        let why = Withdrawal::SessionEnded;
        assert!(!store.withdraw(ask.id, &why, at(11)).await.unwrap());
        assert_eq!(store.expire_due(at(11)).await.unwrap(), 0);
        assert_eq!(scene.ask(ask.id).await, answered);
    })
    .await;
}

#[tokio::test]
async fn an_ask_ends_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await;
        let why = Withdrawal::AnsweredElsewhere {
            reply: "once".to_owned(),
            at: Elsewhere::Engine,
        };
        assert!(store.withdraw(ask.id, &why, at(2)).await.unwrap());
        let over = scene.ask(ask.id).await;
        assert_eq!(over.state, AskState::Withdrawn { at: at(2), why });

        let again = Withdrawal::TurnCancelled;
        assert!(!store.withdraw(ask.id, &again, at(3)).await.unwrap());
        assert_eq!(scene.ask(ask.id).await, over);
        assert_eq!(store.parcels(scene.run).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn the_next_end_is_found_without_a_look_at_every_open_ask() {
    let plan = plan_on_file(NEXT_EXPIRY, |explain| explain).await;
    assert!(plan[0].contains("COVERING INDEX asks_expiring"), "{plan:?}");
}

#[tokio::test]
async fn asks_in_a_state_are_found_newest_first_without_a_look_at_the_others() {
    for (sql, wanted) in [
        (LIVE, "SEARCH asks USING INDEX asks_live (state=? AND id<?)"),
        (OVER, "SEARCH asks USING INDEX asks_over (state=? AND id<?)"),
        (
            DELIVERED,
            "SEARCH asks USING INDEX sqlite_autoindex_asks_1 (id<?)",
        ),
    ] {
        let plan = plan_on_file(sql, |explain| {
            explain.bind("x").bind(None::<String>).bind("x").bind(1_i64)
        });
        let plan = plan.await;
        assert!(plan.iter().any(|step| step == wanted), "{plan:?}");
        let sorts = plan.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!sorts, "{plan:?}");
    }
}

#[tokio::test]
async fn what_waits_is_found_among_what_waits_and_what_fell_in_its_session() {
    for (sql, wanted) in [
        (
            OPEN_OF_SESSION,
            "SEARCH asks USING INDEX asks_live (state=?)",
        ),
        (LIVE_OF_RUN, "SEARCH asks USING INDEX asks_live (state=?)"),
        // Of what is over there is much: what belongs to a session is found by that.
        (
            FALLEN,
            "SEARCH asks USING INDEX asks_by_session (session=?)",
        ),
    ] {
        let plan = plan_on_file(sql, |explain| explain.bind("x").bind(1_i64)).await;
        assert!(plan.iter().any(|step| step == wanted), "{plan:?}");
    }
}

/// SQLite makes a table in memory where it cannot tell that one row is meant, and where it has to look for a value in a list of
/// three, also if that is the condition of an index. Each takes longer than the writing of the row.
#[tokio::test]
async fn writing_what_becomes_of_an_ask_makes_no_table_on_the_way() {
    for sql in [ADD, CLAIM, SETTLE, MOVE_ASK] {
        let steps = steps_on_file(sql).await;
        assert!(steps.contains(&"IdxInsert".to_owned()), "{sql}: {steps:?}");
        let makes_table = |step: &String| step == "OpenEphemeral" || step == "OpenAutoindex";
        assert!(!steps.iter().any(makes_table), "{sql}: {steps:?}");
    }
}

#[tokio::test]
async fn only_what_is_due_runs_out() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        assert_eq!(store.next_expiry().await.unwrap(), None);
        let never = scene.open_command("per_0", "ls").await;
        for (native_id, end) in [("per_1", at(20)), ("per_2", at(10))] {
            let new = NewAsk {
                expires_at: Some(end),
                ..scene.command(native_id, "ls")
            };
            scene.open(new).await;
        }

        assert_eq!(store.next_expiry().await.unwrap(), Some(at(10)));
        assert_eq!(store.expire_due(at(9)).await.unwrap(), 0);
        assert_eq!(store.expire_due(at(10)).await.unwrap(), 1);
        assert_eq!(store.expire_due(at(10)).await.unwrap(), 0);
        assert_eq!(store.next_expiry().await.unwrap(), Some(at(20)));
        assert_eq!(store.expire_due(at(99)).await.unwrap(), 1);
        assert_eq!(store.next_expiry().await.unwrap(), None);
        assert_eq!(scene.ask(never.id).await, never);
    })
    .await;
}

#[tokio::test]
async fn the_engine_is_told_that_an_ask_ran_out_and_the_ask_stays_expired() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut asks = Vec::new();
        for native_id in ["per_1", "per_2"] {
            let new = NewAsk {
                expires_at: Some(at(10)),
                ..scene.command(native_id, "ls")
            };
            asks.push(scene.open(new).await.id);
        }
        assert_eq!(store.expire_due(at(10)).await.unwrap(), 2);
        let parcels = store.parcels(scene.run).await.unwrap();
        assert_eq!(parcels.len(), 2);
        let before = store.refresh_head().await.unwrap();

        assert!(store.begin_sending(asks[0], at(30), at(11)).await.unwrap());
        assert!(
            store
                .mark_delivered(asks[0], &announced(), at(12))
                .await
                .unwrap()
        );
        let why = Undeliverable::Forgotten;
        assert!(store.give_up(asks[1], &why, at(12)).await.unwrap());

        for ask in asks {
            assert_eq!(scene.ask(ask).await.state, AskState::Expired { at: at(10) });
            assert!(!store.begin_sending(ask, at(30), at(13)).await.unwrap());
        }
        assert_eq!(store.parcels(scene.run).await.unwrap(), []);
        assert_eq!(store.refresh_head().await.unwrap(), before);
    })
    .await;
}

#[tokio::test]
async fn a_life_ends_once_and_everything_in_it_with_the_right_reason() {
    each_backend(async |store| {
        let mut scene = Scene::new(&store).await;
        let open = scene.open_command("per_1", "a").await.id;
        let unsent = scene.open_command("per_2", "b").await.id;
        scene.answer(unsent, Choice::AllowOnce).await;
        let sent = scene.open_command("per_3", "c").await.id;
        scene.answer(sent, Choice::AllowOnce).await;
        assert!(store.begin_sending(sent, at(9), at(3)).await.unwrap());
        let delivered = scene.open_command("per_4", "d").await.id;
        scene.answer(delivered, Choice::AllowOnce).await;
        assert!(
            store
                .mark_delivered(delivered, &announced(), at(3))
                .await
                .unwrap()
        );
        let new = NewAsk {
            expires_at: Some(at(4)),
            ..scene.command("per_5", "e")
        };
        let expired = scene.open(new).await.id;
        store.expire_due(at(4)).await.unwrap();
        let first = scene.run;
        scene.run = store.begin_run(&scene.engine, at(5)).await.unwrap().id;
        let other_life = scene.open_command("per_1", "a").await;

        let runs = store.unended_runs(scene.engine.id).await.unwrap();
        assert_eq!(
            runs.iter().map(|run| run.id).collect::<Vec<_>>(),
            [first, scene.run]
        );
        let end = async || {
            store
                .end_run(scene.workspace, first, "signal 9", at(6))
                .await
        };
        assert!(end().await.unwrap());
        assert!(!end().await.unwrap());

        let state = async |id| scene.ask(id).await.state;
        let why = Withdrawal::EngineGone;
        assert_eq!(state(open).await, AskState::Withdrawn { at: at(6), why });
        for (id, attempts) in [(unsent, 0), (sent, 1)] {
            let AskState::Undeliverable(_, delivery) = state(id).await else {
                panic!("{:?}", state(id).await);
            };
            let why = Undeliverable::EngineGone;
            assert_eq!(
                delivery.state,
                DeliveryState::Undeliverable { at: at(6), why }
            );
            assert_eq!(delivery.attempts, attempts);
        }
        assert_eq!(state(delivered).await.phase(), AskPhase::Delivered);
        assert_eq!(state(expired).await, AskState::Expired { at: at(4) });
        assert_eq!(store.parcels(first).await.unwrap(), []);
        assert_eq!(store.live_asks(first).await.unwrap(), []);
        assert_eq!(scene.ask(other_life.id).await, other_life);
        assert_eq!(store.unended_runs(scene.engine.id).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_engine_is_known_by_its_program_and_announced_when_it_changes() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let again = store
            .ensure_engine(scene.workspace, "opencode", at(9))
            .await;
        assert_eq!(again.unwrap(), scene.engine);
        let before = store.refresh_head().await.unwrap();
        for _ in 0..2 {
            store
                .set_run_state(
                    scene.workspace,
                    scene.run,
                    EnginePhase::Ready,
                    "ready",
                    at(1),
                )
                .await
                .unwrap();
        }
        store
            .end_run(scene.workspace, scene.run, "gone", at(2))
            .await
            .unwrap();
        store
            .set_run_state(
                scene.workspace,
                scene.run,
                EnginePhase::Ready,
                "ready",
                at(3),
            )
            .await
            .unwrap();

        let events = store.events_after(before, 10).await.unwrap();
        let bodies: Vec<_> = events.into_iter().map(|event| event.body).collect();
        let changed = |state, message: &str| EventBody::EngineChanged {
            state,
            message: message.to_owned(),
        };
        let expected = [
            changed(EnginePhase::Ready, "ready"),
            changed(EnginePhase::Gone, "gone"),
        ];
        assert_eq!(bodies, expected);
    })
    .await;
}

#[tokio::test]
async fn an_answer_to_an_ask_of_a_dead_engine_is_told_so() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await.id;
        store
            .end_run(scene.workspace, scene.run, "gone", at(2))
            .await
            .unwrap();

        let answer = says(&scene.ada, Choice::AllowOnce);
        let over = scene.ask(ask).await;
        assert_eq!(
            store.answer(ask, answer, at(3)).await.unwrap(),
            Answered::Over(over)
        );
    })
    .await;
}
