//! The outbox: every parcel is settled once, and nothing leaves that is settled.

use countersign_core::answer::Choice;
use countersign_core::ask::AskState;
use countersign_core::delivery::{Delivery, DeliveryState, Undeliverable};
use countersign_core::id::AskId;

use super::backend::each_backend;
use super::scene::{Scene, announced, at};
use crate::Store;

/// An ask that is answered and not sent.
async fn answered(store: &Store) -> (Scene, AskId) {
    let scene = Scene::new(store).await;
    let id = scene.open_command("per_1", "ls").await.id;
    scene.answer(id, Choice::AllowOnce).await;
    (scene, id)
}

#[tokio::test]
async fn a_parcel_is_perhaps_sent_before_its_first_byte_leaves() {
    each_backend(async |store| {
        let (scene, id) = answered(&store).await;
        assert!(store.begin_sending(id, at(10), at(3)).await.unwrap());
        let parcel = store.parcels(scene.run).await.unwrap().remove(0);
        assert!(parcel.perhaps_sent);
        assert_eq!((parcel.attempts, parcel.due_at), (1, at(10)));
        let sending = Delivery {
            state: DeliveryState::Sending { since: at(3) },
            attempts: 1,
        };
        assert_eq!(parcel.ask.state.delivery(), Some(&sending));

        assert!(store.begin_sending(id, at(20), at(10)).await.unwrap());
        let parcel = store.parcels(scene.run).await.unwrap().remove(0);
        assert_eq!((parcel.attempts, parcel.due_at), (2, at(20)));
    })
    .await;
}

#[tokio::test]
async fn a_parcel_that_did_not_leave_is_put_back_unsent() {
    each_backend(async |store| {
        let (scene, id) = answered(&store).await;
        store.postpone(id, at(30)).await.unwrap();
        let parcel = store.parcels(scene.run).await.unwrap().remove(0);
        assert!(!parcel.perhaps_sent);
        assert_eq!((parcel.attempts, parcel.due_at), (0, at(30)));
    })
    .await;
}

#[tokio::test]
async fn delivered_is_said_once_and_nothing_is_sent_after_it() {
    each_backend(async |store| {
        let (scene, id) = answered(&store).await;
        assert!(store.begin_sending(id, at(10), at(3)).await.unwrap());
        assert!(store.mark_delivered(id, &announced(), at(4)).await.unwrap());
        let delivered = scene.ask(id).await;
        let AskState::Delivered(_, delivery) = &delivered.state else {
            panic!("{:?}", delivered.state);
        };
        let evidence = announced();
        assert_eq!(
            delivery.state,
            DeliveryState::Delivered {
                at: at(4),
                evidence
            }
        );

        assert!(!store.mark_delivered(id, &announced(), at(5)).await.unwrap());
        let why = Undeliverable::Forgotten;
        assert!(!store.give_up(id, &why, at(5)).await.unwrap());
        assert!(!store.begin_sending(id, at(10), at(5)).await.unwrap());
        store.postpone(id, at(99)).await.unwrap();
        assert_eq!(scene.ask(id).await, delivered);
        assert_eq!(store.parcels(scene.run).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn given_up_is_said_once_and_nothing_is_sent_after_it() {
    each_backend(async |store| {
        let (scene, id) = answered(&store).await;
        let why = Undeliverable::Refused {
            message: "no such request".to_owned(),
        };
        assert!(store.give_up(id, &why, at(4)).await.unwrap());
        let over = scene.ask(id).await;
        let AskState::Undeliverable(_, delivery) = &over.state else {
            panic!("{:?}", over.state);
        };
        assert_eq!(
            delivery.state,
            DeliveryState::Undeliverable { at: at(4), why }
        );

        let again = Undeliverable::TurnCancelled;
        assert!(!store.give_up(id, &again, at(5)).await.unwrap());
        assert!(!store.mark_delivered(id, &announced(), at(5)).await.unwrap());
        assert!(!store.begin_sending(id, at(10), at(5)).await.unwrap());
        assert_eq!(scene.ask(id).await, over);
    })
    .await;
}

#[tokio::test]
async fn what_has_no_answer_is_not_sent() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let open = scene.open_command("per_1", "ls").await;
        for id in [open.id, AskId::generate(at(0))] {
            assert!(!store.begin_sending(id, at(9), at(2)).await.unwrap());
            assert!(!store.mark_delivered(id, &announced(), at(2)).await.unwrap());
            let why = Undeliverable::Forgotten;
            assert!(!store.give_up(id, &why, at(2)).await.unwrap());
        }
        assert_eq!(scene.ask(open.id).await, open);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_settle_a_parcel_at_the_same_moment_one_succeeds() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for round in 0..20 {
            let ask = scene.open_command(&format!("per_{round}"), "ls").await.id;
            scene.answer(ask, Choice::AllowOnce).await;
            let mut settlers = tokio::task::JoinSet::new();
            for number in 0..8 {
                let store = store.clone();
                settlers.spawn(async move {
                    if number % 2 == 0 {
                        store.mark_delivered(ask, &announced(), at(3)).await
                    } else {
                        store.give_up(ask, &Undeliverable::Forgotten, at(3)).await
                    }
                });
            }
            let outcomes = settlers.join_all().await;
            let settled = outcomes.into_iter().filter(|it| *it.as_ref().unwrap());
            assert_eq!(settled.count(), 1);
        }
    })
    .await;
}
