//! Notifications: written down once, claimed by one, and never silently gone.

use countersign_core::id::AskId;
use countersign_core::notification::{Happening, Notification, NotificationState, Occasion};
use countersign_core::time::Timestamp;
use tokio::task::JoinSet;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{Happened, NotificationFilter, Store};

const CONSUMER: &str = "notifications";

fn happened(scene: &Scene, target: &str, event: i64) -> Happened {
    Happened {
        target: target.to_owned(),
        event,
        at: at(1),
        workspace: scene.workspace,
        happening: Happening {
            occasion: Occasion::AskOpened,
            subject: AskId::generate(at(1)).to_string(),
            session: Some(scene.session),
        },
    }
}

async fn all(store: &Store) -> Vec<Notification> {
    let filter = NotificationFilter::default();
    store.notifications(filter, 100).await.unwrap()
}

async fn next(store: &Store, target: &str) -> Notification {
    store.next_notification(target).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_event_is_written_down_once_for_each_target_together_with_the_cursor() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let both = [happened(&scene, "phone", 7), happened(&scene, "desk", 7)];
        store
            .add_notifications(CONSUMER, 9, &both, at(2))
            .await
            .unwrap();
        assert_eq!(store.cursor(CONSUMER).await.unwrap(), Some(9));
        let first = all(&store).await;
        assert_eq!(first.len(), 2);

        // The same events looked through again, by a server that does not know that it was done.
        let again = [happened(&scene, "phone", 7), happened(&scene, "phone", 8)];
        store
            .add_notifications(CONSUMER, 8, &again, at(3))
            .await
            .unwrap();
        assert_eq!(store.cursor(CONSUMER).await.unwrap(), Some(9));
        let second = all(&store).await;
        assert_eq!(second.len(), 3);
        assert!(first.iter().all(|known| second.contains(known)));
        let phone = next(&store, "phone").await;
        assert_eq!((phone.event, phone.attempts), (7, 0));
        assert_eq!(phone.state, NotificationState::Waiting);
        assert_eq!(phone.occasion, Occasion::AskOpened);
        assert_eq!(phone.session, Some(scene.session));

        store.forget_cursor(CONSUMER).await.unwrap();
        assert_eq!(store.cursor(CONSUMER).await.unwrap(), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_want_to_make_an_attempt_one_does() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = [happened(&scene, "phone", 1)];
        store
            .add_notifications(CONSUMER, 1, &new, at(1))
            .await
            .unwrap();
        let id = next(&store, "phone").await.id;
        let mut tries = JoinSet::new();
        for _ in 0..8 {
            let store = store.clone();
            tries.spawn(async move { store.begin_notifying(id, 0, at(60), at(2)).await.unwrap() });
        }
        let begun = tries.join_all().await.into_iter().filter(|won| *won);
        assert_eq!(begun.count(), 1);
        let phone = next(&store, "phone").await;
        assert_eq!(phone.attempts, 1);
        assert_eq!((phone.tried_at, phone.due_at), (Some(at(2)), at(60)));

        store.take_back_attempt(id, at(3)).await.unwrap();
        let phone = next(&store, "phone").await;
        assert_eq!((phone.attempts, phone.due_at), (0, at(3)));
    })
    .await;
}

#[tokio::test]
async fn what_is_due_first_is_next_and_what_is_over_is_not() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = [1, 2, 3].map(|event| happened(&scene, "phone", event));
        store
            .add_notifications(CONSUMER, 3, &new, at(1))
            .await
            .unwrap();
        let first = next(&store, "phone").await;
        assert!(
            store
                .begin_notifying(first.id, 0, at(90), at(2))
                .await
                .unwrap()
        );
        store
            .postpone_notification(first.id, at(50), "no answer", Some("oops"))
            .await
            .unwrap();
        let second = next(&store, "phone").await;
        assert_eq!(second.event, 2);
        assert!(store.mark_notified(second.id, at(4)).await.unwrap());
        assert!(!store.mark_notified(second.id, at(5)).await.unwrap());
        let third = next(&store, "phone").await;
        let buried = store.bury_notification(third.id, "gone", None, at(5)).await;
        assert!(buried.unwrap());
        assert!(
            !store
                .begin_notifying(third.id, 0, at(9), at(6))
                .await
                .unwrap()
        );

        let left = next(&store, "phone").await;
        assert_eq!((left.id, left.due_at), (first.id, at(50)));
        assert_eq!(left.problem.as_deref(), Some("no answer"));
        assert_eq!(left.output.as_deref(), Some("oops"));
        assert!(store.next_notification("desk").await.unwrap().is_none());
        let dead = NotificationFilter {
            state: Some(NotificationState::Dead),
            workspace: Some(scene.workspace),
        };
        let dead = store.notifications(dead, 10).await.unwrap();
        assert_eq!(dead.len(), 1);
        assert_eq!((dead[0].id, dead[0].ended_at), (third.id, Some(at(5))));
    })
    .await;
}

#[tokio::test]
async fn a_dead_letter_is_put_back_by_somebody_and_the_audit_says_by_whom() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = [happened(&scene, "phone", 1), happened(&scene, "old", 2)];
        store
            .add_notifications(CONSUMER, 2, &new, at(1))
            .await
            .unwrap();
        let phone = next(&store, "phone").await;
        let retry = store.retry_notification(phone.id, &scene.ada, at(2)).await;
        assert!(!retry.unwrap(), "it waits already");
        assert!(
            store
                .begin_notifying(phone.id, 0, at(9), at(3))
                .await
                .unwrap()
        );
        store
            .bury_notification(phone.id, "refused", Some("404"), at(4))
            .await
            .unwrap();
        let retry = store.retry_notification(phone.id, &scene.ada, at(5)).await;
        assert!(retry.unwrap());
        let again = next(&store, "phone").await;
        assert_eq!(
            (again.id, again.attempts, again.due_at),
            (phone.id, 0, at(5))
        );
        assert_eq!(again.ended_at, None);
        let entries = store.audit(scene.workspace, 0, 100).await.unwrap();
        let entry = entries.last().unwrap();
        assert_eq!(entry.action, "notification.retry");
        assert!(entry.actor.contains("ada"));

        // A target that is configured no more holds nothing back, and what was for it is not forgotten.
        assert_eq!(store.bury_strays(&["phone"], at(6)).await.unwrap(), 1);
        assert_eq!(store.bury_strays(&["phone"], at(6)).await.unwrap(), 0);
        let strays = all(&store).await;
        let stray = strays.iter().find(|it| it.target == "old").unwrap();
        assert_eq!(stray.state, NotificationState::Dead);
        assert!(stray.problem.as_ref().unwrap().contains("configuration"));
    })
    .await;
}

#[tokio::test]
async fn what_is_over_is_forgotten_in_the_end_and_what_waits_is_not() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let new = [1, 2, 3].map(|event| happened(&scene, "phone", event));
        store
            .add_notifications(CONSUMER, 3, &new, at(1))
            .await
            .unwrap();
        let [third, second, _first] = all(&store).await.try_into().unwrap();
        store.mark_notified(second.id, at(10)).await.unwrap();
        store
            .bury_notification(third.id, "gone", None, at(10))
            .await
            .unwrap();
        let never = Timestamp::from_micros(0);
        let forgotten = store.forget_notifications(at(10), never).await.unwrap();
        assert_eq!(forgotten, 0);
        let forgotten = store.forget_notifications(at(11), never).await.unwrap();
        assert_eq!(forgotten, 1);
        let forgotten = store.forget_notifications(at(11), at(11)).await.unwrap();
        assert_eq!(forgotten, 1);
        assert_eq!(all(&store).await.len(), 1);
    })
    .await;
}
