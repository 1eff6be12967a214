//! Web Push: one key for ever, and devices that go with their tokens.

use countersign_core::actor::ActorKind;
use countersign_core::digest::Digest;
use countersign_core::grant::Role;
use countersign_core::id::{AskId, TokenId, WorkspaceId};
use countersign_core::notification::{Happening, Occasion, device_target};
use countersign_core::token::TokenKind;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{Happened, NewPushDevice, NewToken, NotificationFilter, Store};

const ORIGIN: &str = "https://push.example";

async fn token(
    store: &Store,
    scene: &Scene,
    name: &str,
    workspace: Option<WorkspaceId>,
) -> TokenId {
    let new = NewToken {
        hash: Digest::of_bytes(name.as_bytes()),
        name: name.to_owned(),
        kind: TokenKind::Browser,
        actor_kind: ActorKind::Person,
        grants: Role::Viewer.grants(),
        workspace,
        device: None,
        expires_at: Some(at(100)),
    };
    store.add_token(new, &scene.ada, at(1)).await.unwrap().id
}

async fn subscribe(store: &Store, scene: &Scene, token: TokenId, endpoint: &str) {
    let device = NewPushDevice {
        token,
        endpoint: endpoint.to_owned(),
        p256dh: "key".to_owned(),
        auth: "secret".to_owned(),
    };
    let put = store.put_push_device(&device, ORIGIN, &scene.ada, at(2));
    put.await.unwrap();
}

async fn told(store: &Store, now: u64) -> Vec<(TokenId, String)> {
    let devices = store.push_devices(None, at(now)).await.unwrap();
    let devices = devices.into_iter().map(|it| it.device);
    devices.map(|it| (it.token, it.endpoint)).collect()
}

/// Writes down that a device is to be told of an ask.
async fn tell(store: &Store, scene: &Scene, token: TokenId, event: i64) {
    let happened = [Happened {
        target: device_target(token),
        event,
        at: at(3),
        workspace: scene.workspace,
        happening: Happening {
            occasion: Occasion::AskOpened,
            subject: AskId::generate(at(3)).to_string(),
            session: Some(scene.session),
        },
    }];
    let added = store.add_notifications("notifications", event, &happened, at(3));
    added.await.unwrap();
}

#[tokio::test]
async fn the_first_key_stays_the_servers_key() {
    each_backend(async |store| {
        assert_eq!(store.push_secret("one", at(1)).await.unwrap(), "one");
        assert_eq!(store.push_secret("two", at(2)).await.unwrap(), "one");
    })
    .await;
}

#[tokio::test]
async fn a_device_is_told_until_its_token_ends_and_of_what_the_token_may_see() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let everywhere = token(&store, &scene, "everywhere", None).await;
        let other = store.ensure_workspace("/home/ada/other", "other", at(1));
        let other = Some(other.await.unwrap().id);
        let elsewhere = token(&store, &scene, "elsewhere", other).await;
        subscribe(&store, &scene, everywhere, "https://push.example/1").await;
        subscribe(&store, &scene, elsewhere, "https://push.example/2").await;

        let devices = store.push_devices(None, at(99)).await.unwrap();
        let seeing: Vec<_> = devices
            .iter()
            .filter(|it| it.sees(scene.workspace))
            .map(|it| it.device.token)
            .collect();
        assert_eq!((devices.len(), seeing), (2, vec![everywhere]));
        // What happened before a device wanted to be told is not told to it.
        assert!(
            devices
                .iter()
                .all(|it| it.was_there(at(2)) && !it.was_there(at(1)))
        );
        assert_eq!(told(&store, 100).await, []);
        let one = store.push_devices(Some(elsewhere), at(99)).await.unwrap();
        assert_eq!(one.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_waits_for_a_device_goes_with_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let waiting = async || {
            let filter = NotificationFilter::default();
            store.notifications(filter, 10).await.unwrap().len()
        };
        let (first, second) = (
            token(&store, &scene, "first", None).await,
            token(&store, &scene, "second", None).await,
        );
        subscribe(&store, &scene, first, "https://push.example/1").await;
        tell(&store, &scene, first, 1).await;
        // Targets that are configured no more are buried; a device is none of them.
        assert_eq!(store.bury_strays(&[], at(4)).await.unwrap(), 0);
        assert_eq!(
            store.waiting_targets().await.unwrap(),
            [device_target(first)]
        );

        // The same browser, paired anew.
        subscribe(&store, &scene, second, "https://push.example/1").await;
        let now = told(&store, 5).await;
        assert_eq!(now, [(second, "https://push.example/1".to_owned())]);
        assert_eq!(waiting().await, 0);

        tell(&store, &scene, second, 2).await;
        assert!(store.revoke_token(second, &scene.ada, at(6)).await.unwrap());
        assert_eq!((told(&store, 7).await, waiting().await), (vec![], 0));

        subscribe(&store, &scene, first, "https://push.example/3").await;
        tell(&store, &scene, first, 3).await;
        let next = store.next_notification(&device_target(first)).await;
        store
            .drop_notification(next.unwrap().unwrap().id)
            .await
            .unwrap();
        assert_eq!(waiting().await, 0);
        assert!(store.remove_push_device(first, None, at(8)).await.unwrap());
        assert!(!store.remove_push_device(first, None, at(9)).await.unwrap());
    })
    .await;
}
