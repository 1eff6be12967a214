//! Races: whatever happens at the same moment, one outcome stands and everybody is told it.

use std::sync::Arc;

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::answer::Choice;
use countersign_core::ask::{AskPhase, AskState};
use countersign_core::id::AskId;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::backend::each_backend;
use super::scene::{START, Scene, at, deny, says};
use crate::{Answered, NewAsk, Store};

const RACERS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn of_eight_racers_one_wins_each_ask() {
    each_backend(async |store| race(&store, 125).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_of_eight_racers_one_wins_each_of_a_thousand_asks() {
    each_backend(async |store| race(&store, 1_000).await).await;
}

/// Lets eight people answer the same asks at the same moments.
async fn race(store: &Store, count: usize) {
    let scene = Scene::new(store).await;
    let mut asks = Vec::with_capacity(count);
    for number in 0..count {
        let native_id = format!("per_{number}");
        asks.push(scene.open(scene.question(&native_id)).await.id);
    }
    let asks: Arc<[AskId]> = asks.into();
    let start = Arc::new(Barrier::new(RACERS));
    let mut racers = JoinSet::new();
    for number in 0..RACERS {
        let name = format!("racer {number}");
        let racer = store.actor(ActorKind::Person, &name, START).await.unwrap();
        let (store, asks) = (store.clone(), Arc::clone(&asks));
        let start = Arc::clone(&start);
        racers.spawn(async move {
            let mut outcomes = Vec::with_capacity(asks.len());
            for ask in asks.iter() {
                start.wait().await;
                let answer = says(&racer, Choice::AllowOnce);
                outcomes.push(store.answer(*ask, answer, at(2)).await.unwrap());
            }
            (racer, outcomes)
        });
    }
    let results = racers.join_all().await;

    for (index, ask) in asks.iter().enumerate() {
        let standing = scene.ask(*ask).await;
        let mut winners: Vec<&Actor> = Vec::new();
        for (racer, outcomes) in &results {
            match &outcomes[index] {
                Answered::Won(won) => {
                    assert_eq!(*won, standing);
                    winners.push(racer);
                }
                Answered::Lost(lost) => assert_eq!(*lost, standing),
                Answered::Repeated(_) | Answered::Over(_) | Answered::Missing => {
                    panic!("{:?}", outcomes[index]);
                }
            }
        }
        assert_eq!(winners, [&standing.state.answer().unwrap().by]);
    }
    let answers = store.audit(scene.workspace, 0, i64::MAX).await.unwrap();
    let answers = answers.iter().filter(|entry| entry.action == "ask.answer");
    assert_eq!(answers.count(), count);
}

#[tokio::test(flavor = "multi_thread")]
async fn siblings_that_are_denied_at_the_same_moment_all_end() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for round in 0..10 {
            let mut asks = Vec::new();
            for number in 0..RACERS {
                let native_id = format!("per_{round}_{number}");
                asks.push(scene.open_command(&native_id, "rm").await.id);
            }
            let mut deniers = JoinSet::new();
            for ask in asks.clone() {
                let (store, answer) = (store.clone(), says(&scene.ada, deny()));
                deniers.spawn(async move { store.answer(ask, answer, at(2)).await.unwrap() });
            }
            let outcomes = deniers.join_all().await;

            let won = |outcome: &&Answered| matches!(outcome, Answered::Won(_));
            assert_eq!(outcomes.iter().filter(won).count(), 1, "{outcomes:?}");
            assert_eq!(store.count_open_asks(scene.session).await.unwrap(), 0);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_at_the_last_moment_is_accepted_or_refused_and_never_both() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for round in 0..30 {
            let mut asks = Vec::new();
            for number in 0..4 {
                let new = NewAsk {
                    expires_at: Some(at(10)),
                    ..scene.command(&format!("per_{round}_{number}"), "ls")
                };
                asks.push(scene.open(new).await.id);
            }
            let mut race = JoinSet::new();
            for ask in &asks {
                // One clock is ahead of the other.
                for (actor, now) in [(&scene.ada, at(9)), (&scene.bob, at(10))] {
                    let (store, ask) = (store.clone(), *ask);
                    let answer = says(actor, deny());
                    race.spawn(async move { store.answer(ask, answer, now).await.unwrap() });
                }
            }
            let sweeper = store.clone();
            let sweep = tokio::join!(sweeper.expire_due(at(10)), race.join_all());
            sweep.0.unwrap();
            for outcome in sweep.1 {
                let (Answered::Won(told) | Answered::Lost(told) | Answered::Over(told)) = outcome
                else {
                    panic!("{outcome:?}");
                };
                assert_eq!(scene.ask(told.id).await.state, told.state);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_an_engine_dies_under_load_every_ask_of_it_ends() {
    each_backend(async |store| {
        for round in 0..10 {
            let scene = Scene::at_path(&store, &format!("/round/{round}")).await;
            let (workspace, run) = (scene.workspace, scene.run);
            let mut load = JoinSet::new();
            for number in 0..RACERS {
                let store = store.clone();
                let new = scene.command(&format!("per_{number}"), "ls");
                let answer = says(&scene.ada, Choice::AllowOnce);
                load.spawn(async move {
                    let id = store.open_ask(new, at(1)).await.unwrap().into_ask().id;
                    store.answer(id, answer, at(2)).await.unwrap();
                    store.begin_sending(id, at(9), at(3)).await.unwrap();
                    id
                });
            }
            let dying = store.clone();
            load.spawn(async move {
                let mut head = dying.head();
                // Somewhere in the middle of it.
                let begun = *head.borrow_and_update();
                head.wait_for(|seq| *seq >= begun + 4).await.unwrap();
                assert!(
                    dying
                        .end_run(workspace, run, "killed", at(3))
                        .await
                        .unwrap()
                );
                AskId::generate(at(0))
            });
            let ids = load.join_all().await;

            assert_eq!(store.live_asks(run).await.unwrap(), []);
            assert_eq!(store.parcels(run).await.unwrap(), []);
            for id in ids {
                let Some(ask) = store.ask(id).await.unwrap() else {
                    continue;
                };
                assert!(ask.state.phase().is_terminal(), "{:?}", ask.state);
                if let AskState::Undeliverable(_, delivery) = &ask.state {
                    assert!(delivery.attempts <= 1);
                }
                assert_ne!(ask.state.phase(), AskPhase::Delivered);
            }
        }
    })
    .await;
}
