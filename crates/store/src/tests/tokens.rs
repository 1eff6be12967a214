//! Tokens and pairing codes: found by hash, taken back once, used once.

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::digest::Digest;
use countersign_core::grant::Role;
use countersign_core::id::{ActorId, TokenId};
use countersign_core::token::{Token, TokenKind};
use tokio::task::JoinSet;

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::tokens::KnownTokens;
use crate::{NewToken, Pairing, Store};

pub(super) fn new_token(secret: &[u8], name: &str) -> NewToken {
    NewToken {
        hash: Digest::of_bytes(secret),
        name: name.to_owned(),
        kind: TokenKind::Bearer,
        actor_kind: ActorKind::Person,
        grants: Role::Collaborator.grants(),
        workspace: None,
        device: None,
        expires_at: Some(at(100)),
    }
}

fn pairing(code: &[u8]) -> Pairing {
    Pairing {
        hash: Digest::of_bytes(code),
        name: "ada".to_owned(),
        role: Role::Owner,
        workspace: None,
        expires_at: at(300),
    }
}

#[tokio::test]
async fn a_token_is_found_by_its_hash_alone() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let mut new = new_token(b"secret", "laptop");
        new.workspace = Some(scene.workspace);
        let token = store.add_token(new, &scene.ada, at(1)).await.unwrap();

        let found = store.token_by_hash(&Digest::of_bytes(b"secret")).await;
        assert_eq!(found.unwrap(), Some(token.clone()));
        let other = store.token_by_hash(&Digest::of_bytes(b"Secret")).await;
        assert_eq!(other.unwrap(), None);
        assert!(token.is_active(at(99)) && !token.is_active(at(100)));
        assert_eq!(store.tokens().await.unwrap(), [token]);
    })
    .await;
}

#[tokio::test]
async fn tokens_of_one_name_stand_for_one_actor() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for secret in [b"one", b"two"] {
            let token = store
                .add_token(new_token(secret, "ada"), &scene.bob, at(1))
                .await;
            assert_eq!(token.unwrap().actor, scene.ada);
        }
        let mut agent = new_token(b"three", "ada");
        agent.actor_kind = ActorKind::Agent;
        let token = store.add_token(agent, &scene.bob, at(1)).await.unwrap();
        assert_ne!(token.actor.id, scene.ada.id);
    })
    .await;
}

#[tokio::test]
async fn one_secret_is_one_token() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let first = store
            .add_token(new_token(b"one", "ada"), &scene.bob, at(1))
            .await;
        first.unwrap();
        let second = store
            .add_token(new_token(b"one", "bob"), &scene.bob, at(1))
            .await;
        assert!(second.is_err());
        assert_eq!(store.tokens().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_token_is_taken_back_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let token = store
            .add_token(new_token(b"secret", "laptop"), &scene.ada, at(1))
            .await
            .unwrap();
        assert!(
            store
                .revoke_token(token.id, &scene.ada, at(2))
                .await
                .unwrap()
        );
        assert!(
            !store
                .revoke_token(token.id, &scene.bob, at(3))
                .await
                .unwrap()
        );

        let found = store.token_by_hash(&Digest::of_bytes(b"secret")).await;
        let found = found.unwrap().unwrap();
        assert_eq!(found.revoked_at, Some(at(2)));
        assert!(!found.is_active(at(2)));
    })
    .await;
}

#[tokio::test]
async fn a_token_that_was_looked_up_is_taken_back_at_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let hash = Digest::of_bytes(b"secret");
        assert_eq!(store.token_by_hash(&hash).await.unwrap(), None);
        let token = store
            .add_token(new_token(b"secret", "laptop"), &scene.ada, at(1))
            .await
            .unwrap();
        for _ in 0..2 {
            let found = store.token_by_hash(&hash).await.unwrap().unwrap();
            assert!(found.is_active(at(2)));
        }
        store
            .revoke_token(token.id, &scene.ada, at(2))
            .await
            .unwrap();
        let found = store.token_by_hash(&hash).await.unwrap().unwrap();
        assert!(!found.is_active(at(2)));
    })
    .await;
}

#[tokio::test]
async fn a_token_in_a_file_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("ledger.db"))
        .await
        .unwrap();
    let scene = Scene::new(&store).await;
    let token = store
        .add_token(new_token(b"secret", "laptop"), &scene.ada, at(1))
        .await
        .unwrap();
    let hash = Digest::of_bytes(b"secret");
    store.token_by_hash(&hash).await.unwrap();
    store.close().await;
    // Nothing can be read any more, and nothing is.
    assert!(store.tokens().await.is_err());
    let found = store.token_by_hash(&hash).await.unwrap();
    assert_eq!(found, Some(token));
}

#[test]
fn what_was_read_before_a_change_is_not_remembered_after_it() {
    let known = KnownTokens::default();
    let (hash, token) = (Digest::of_bytes(b"secret"), a_token());
    let Err(early) = known.find(&hash) else {
        panic!("nothing is known yet")
    };
    known.forget();
    known.remember(early, &hash, &token);
    let Err(late) = known.find(&hash) else {
        panic!("it was read before the change")
    };
    known.remember(late, &hash, &token);
    assert_eq!(known.find(&hash).ok(), Some(token));
}

fn a_token() -> Token {
    let wish = new_token(b"secret", "laptop");
    Token {
        id: TokenId::generate(at(1)),
        name: wish.name.clone(),
        kind: wish.kind,
        actor: Actor {
            id: ActorId::generate(at(1)),
            kind: wish.actor_kind,
            name: wish.name,
        },
        grants: wish.grants,
        workspace: wish.workspace,
        device: None,
        made_at: at(1),
        expires_at: wish.expires_at,
        revoked_at: None,
        seen_at: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pairing_code_works_once_however_many_use_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        for round in 0..10_u8 {
            let code = [b'c', round];
            store
                .add_pairing(&pairing(&code), &scene.ada, at(1))
                .await
                .unwrap();
            let mut browsers = JoinSet::new();
            for browser in 0..8_u8 {
                let store = store.clone();
                browsers.spawn(async move {
                    let secret = Digest::of_bytes(&[b's', round, browser]);
                    let code = Digest::of_bytes(&code);
                    let token = store
                        .use_pairing(&code, secret, None, at(900), at(2))
                        .await
                        .unwrap();
                    (token, secret)
                });
            }
            let outcomes = browsers.join_all().await;

            let mut made = outcomes.iter().filter(|(token, _)| token.is_some());
            let (Some(token), secret) = made.next().unwrap() else {
                unreachable!("only tokens were kept");
            };
            assert_eq!(made.next(), None);
            assert_eq!(
                store.token_by_hash(secret).await.unwrap().as_ref(),
                Some(token)
            );
            assert_eq!((token.kind, &token.actor), (TokenKind::Browser, &scene.ada));
            assert_eq!(token.grants, Role::Owner.grants());
        }
        assert_eq!(store.tokens().await.unwrap().len(), 10);
    })
    .await;
}

#[tokio::test]
async fn a_pairing_code_that_is_unknown_or_too_old_is_refused() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        store
            .add_pairing(&pairing(b"code"), &scene.ada, at(1))
            .await
            .unwrap();
        let secret = Digest::of_bytes(b"secret");
        for (code, now) in [(b"code", at(300)), (b"edoc", at(2))] {
            let code = Digest::of_bytes(code);
            let token = store.use_pairing(&code, secret, None, at(900), now).await;
            assert_eq!(token.unwrap(), None);
        }
        assert_eq!(store.tokens().await.unwrap(), []);

        // A new code clears away the old ones that ran out, and no other.
        let later = Pairing {
            expires_at: at(999),
            ..pairing(b"later")
        };
        store
            .add_pairing(&later, &scene.ada, at(200))
            .await
            .unwrap();
        let code = Digest::of_bytes(b"code");
        let token = store
            .use_pairing(&code, secret, None, at(900), at(299))
            .await;
        assert!(token.unwrap().is_some());
    })
    .await;
}
