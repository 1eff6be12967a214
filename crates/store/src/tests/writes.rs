//! Writes that clients propose: held together by their proposer, and ended with the life of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign_core::actor::Actor;
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase, AskState, Door, Subject, Withdrawal};
use countersign_core::delivery::{DeliveryState, Evidence, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::id::AskId;
use countersign_core::rule::{Matcher, Verdict};
use countersign_core::session::{FileDiff, Workspace};
use serde_json::json;

use super::backend::{each_backend, each_place};
use super::scene::{Scene, at, deny, says};
use crate::{Answered, Ground, NewAsk, Opened, Store, Writer};

/// Somebody who proposes writes, and somebody else who answers them.
struct Desk {
    store: Store,
    workspace: Workspace,
    bob: Actor,
    ada: Actor,
}

impl Desk {
    async fn new(store: &Store) -> Self {
        let scene = Scene::new(store).await;
        let workspace = store.workspace(scene.workspace).await.unwrap().unwrap();
        Self {
            store: store.clone(),
            workspace,
            bob: scene.bob,
            ada: scene.ada,
        }
    }

    async fn writer(&self, by: &Actor) -> Writer {
        self.store.writer(&self.workspace, by, at(1)).await.unwrap()
    }

    /// A write that `by` proposes as request `native_id`, meaning `wish`.
    async fn proposal(&self, by: &Actor, native_id: &str, wish: &str) -> NewAsk {
        let writer = self.writer(by).await;
        NewAsk {
            workspace: self.workspace.id,
            door: Door::Workspace,
            run: writer.run,
            session: writer.session,
            native_id: native_id.to_owned(),
            directory: self.workspace.path.clone(),
            subject: Subject::WorkspaceWrite {
                action: "plugins.add".to_owned(),
                summary: format!("Add plugin {wish}"),
                paths: vec!["opencode.jsonc".to_owned()],
                changes: vec![FileDiff {
                    path: "opencode.jsonc".to_owned(),
                    patch: format!("@@ -1 +1 @@\n-{{}}\n+{{\"plugin\": [\"{wish}\"]}}\n"),
                }],
                by: by.clone(),
                wire_actor: json!({ "type": "remote", "clientId": "phone" }),
            },
            arguments: json!({ "fingerprint": wish }),
            raw: json!({ "wish": wish }),
            options: vec![],
            expires_at: Some(at(30)),
        }
    }

    async fn propose(&self, by: &Actor, native_id: &str, wish: &str) -> Ask {
        let new = self.proposal(by, native_id, wish).await;
        // Each a second after the other: that is the order of their ids.
        let opening = at(1 + native_id.parse::<u64>().unwrap());
        match self.store.open_ask(new, opening).await.unwrap() {
            Opened::Fresh(ask) => ask,
            Opened::Known(ask) => panic!("{} is in the ledger already", ask.id),
        }
    }

    /// A write that Bob proposes and somebody else allows.
    async fn allowed(&self, native_id: &str, wish: &str) -> Ask {
        let ask = self.propose(&self.bob, native_id, wish).await;
        let Answered::Won(ask) = self.answer(ask.id, Choice::AllowOnce).await else {
            panic!("nobody else answers");
        };
        ask
    }

    async fn answer(&self, ask: AskId, choice: Choice) -> Answered {
        let answer = says(&self.ada, choice);
        self.store.answer(ask, answer, at(3)).await.unwrap()
    }

    async fn ask(&self, id: AskId) -> Ask {
        self.store.ask(id).await.unwrap().unwrap()
    }

    /// What the next server does before it serves, if it finds nothing done.
    async fn restart(&self) {
        self.store
            .end_earlier_writes(self.workspace.id, &[], at(10))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_write_is_read_as_it_was_proposed_and_is_no_session_of_anybodys() {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        let first = desk.propose(&desk.bob, "1", "notes").await;
        let second = desk.propose(&desk.bob, "2", "maps").await;
        let third = desk.propose(&desk.ada, "3", "maps").await;

        assert_eq!(desk.ask(first.id).await, first);
        assert_eq!(first.requester, "bob");
        assert_eq!(first.subject.client(), Some("phone"));
        assert_eq!(first.session, second.session);
        assert_ne!(first.session, third.session);
        assert_eq!(second.likeness, third.likeness);
        assert_ne!(second.fingerprint, third.fingerprint);
        let open = store.open_writes(None).await.unwrap();
        let ids: Vec<AskId> = open.iter().map(|ask| ask.id).collect();
        assert_eq!(ids, [first.id, second.id, third.id], "oldest first");
        let sessions = store.sessions(None, 10).await.unwrap();
        assert_eq!(sessions.len(), 1, "the engine's alone: {sessions:?}");
        let audit = store.audit(desk.workspace.id, 0, 100).await.unwrap();
        let opened = audit.iter().find(|entry| entry.action == "ask.open");
        assert!(opened.unwrap().actor.starts_with("person bob"));
    })
    .await;
}

#[tokio::test]
async fn the_next_server_withdraws_what_was_open_and_does_not_know_what_was_allowed() {
    each_place(async |place| {
        let store = place.open().await;
        let desk = Desk::new(&store).await;
        let open = desk.propose(&desk.bob, "1", "notes").await;
        let allowed = desk.propose(&desk.bob, "2", "maps").await;
        desk.answer(allowed.id, Choice::AllowOnce).await;
        let done = desk.propose(&desk.bob, "3", "mail").await;
        desk.answer(done.id, Choice::AllowOnce).await;
        let digest = Digest::of_bytes(b"mail");
        let evidence = Evidence::FilesWritten { digest };
        assert!(
            store
                .mark_delivered(done.id, &evidence, at(4))
                .await
                .unwrap()
        );
        store.close().await;

        let store = place.open().await;
        let desk = Desk {
            store: store.clone(),
            ..desk
        };
        desk.restart().await;

        let why = Withdrawal::ServerRestarted;
        let withdrawn = AskState::Withdrawn { at: at(10), why };
        assert_eq!(desk.ask(open.id).await.state, withdrawn);
        let state = desk.ask(allowed.id).await.state;
        let delivery = &state.delivery().unwrap().state;
        assert_eq!(
            *delivery,
            DeliveryState::Undeliverable {
                at: at(10),
                why: Undeliverable::ServerRestarted
            }
        );
        assert_eq!(desk.ask(done.id).await.state.phase(), AskPhase::Delivered);
        let late = desk.answer(open.id, Choice::AllowOnce).await;
        assert!(matches!(late, Answered::Over(_)), "{late:?}");
        assert!(store.open_writes(None).await.unwrap().is_empty());
        store.close().await;
    })
    .await;
}

#[tokio::test]
async fn what_the_next_server_finds_done_is_delivered_and_recorded_once() {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        let open = desk.propose(&desk.bob, "1", "notes").await;
        let done = desk.propose(&desk.bob, "2", "maps").await;
        desk.answer(done.id, Choice::AllowOnce).await;
        let denied = desk.propose(&desk.bob, "3", "mail").await;
        desk.answer(denied.id, deny()).await;
        let left = store.earlier_writes(desk.workspace.id).await.unwrap();
        assert_eq!(left.len(), 3, "{left:?}");

        let digest = Digest::of_bytes(b"maps");
        for _ in 0..2 {
            store
                .end_earlier_writes(desk.workspace.id, &[(done.id, digest)], at(10))
                .await
                .unwrap();
        }
        let state = desk.ask(done.id).await.state;
        assert_eq!(
            state.delivery().unwrap().state,
            DeliveryState::Delivered {
                at: at(10),
                evidence: Evidence::FilesFound { digest }
            }
        );
        assert_eq!(desk.ask(open.id).await.state.phase(), AskPhase::Withdrawn);
        let phase = desk.ask(denied.id).await.state.phase();
        assert_eq!(phase, AskPhase::Undeliverable);
        let audit = store.audit(desk.workspace.id, 0, 100).await.unwrap();
        let found: Vec<_> = audit
            .iter()
            .filter(|entry| entry.action == "plugins.add")
            .collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].actor.starts_with("person bob"), "{found:?}");
        assert_eq!(found[0].detail[crate::FOUND]["ask"], json!(done.id));
        let left = store.earlier_writes(desk.workspace.id).await.unwrap();
        assert!(left.is_empty(), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn a_proposal_is_there_at_once_and_announced_once_it_is_on_the_disk_by_the_answer_at_the_latest()
 {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        let head = store.head();
        for (native_id, is_answered) in [("1", false), ("2", true)] {
            let before = *head.borrow();
            let new = desk.proposal(&desk.bob, native_id, native_id).await;
            let known = *head.borrow();
            let opening = store.open_ask_unannounced(new, at(1));
            let (Opened::Fresh(ask), unannounced) = opening.await.unwrap() else {
                panic!("{native_id} is in the ledger already");
            };
            assert_eq!(desk.ask(ask.id).await, ask);
            if let Some(unannounced) = unannounced {
                assert_eq!(*head.borrow(), known);
                if is_answered {
                    desk.answer(ask.id, Choice::AllowOnce).await;
                } else {
                    store.announce_durably(unannounced).await;
                }
                assert!(*head.borrow() >= unannounced);
            }
            assert!(*head.borrow() > before);
        }
    })
    .await;
}

#[tokio::test]
async fn that_a_write_is_done_is_on_the_disk_after_what_it_stands_on() {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        for (round, laid_by) in ["a later write", "a sync"].into_iter().enumerate() {
            let id = (round + 1).to_string();
            let ask = desk.allowed(&id, laid_by).await;
            let laid = Arc::new(AtomicUsize::new(0));
            let laying = Arc::clone(&laid);
            let ground = Ground::new(move || {
                laying.fetch_add(1, Ordering::Relaxed);
            });
            let (evidence, by) = (Evidence::Done, (&desk.bob, Vec::new()));
            let recording = store.mark_written(&ask, &evidence, by, Some(ground.clone()), at(4));
            let is_later = recording.await.unwrap().is_some();
            assert_eq!(laid.load(Ordering::Relaxed), usize::from(!is_later));
            if laid_by == "a sync" {
                store.sync().await.unwrap();
            } else {
                desk.propose(&desk.bob, "5", "another").await;
            }
            assert_eq!(laid.load(Ordering::Relaxed), 1, "{laid_by}");
            ground.lay();
            assert_eq!(laid.load(Ordering::Relaxed), 1, "once");
        }
    })
    .await;
}

#[tokio::test]
async fn that_a_write_is_done_is_announced_once_it_is_on_the_disk() {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        let ask = desk.allowed("1", "notes").await;
        let head = store.head();
        let before = *head.borrow();
        let evidence = Evidence::Done;
        let unannounced = store
            .mark_written(&ask, &evidence, (&desk.bob, Vec::new()), None, at(4))
            .await
            .unwrap();
        assert_eq!(desk.ask(ask.id).await.state.phase(), AskPhase::Delivered);
        if let Some(unannounced) = unannounced {
            assert_eq!(*head.borrow(), before);
            store.announce_durably(unannounced).await;
            assert_eq!(*head.borrow(), unannounced);
        }
        assert!(*head.borrow() > before);
    })
    .await;
}

#[tokio::test]
async fn the_same_wish_of_the_same_actor_is_linked_to_the_one_that_nobody_waited_for() {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        let gone = desk.propose(&desk.bob, "1", "notes").await;
        store
            .withdraw(gone.id, &Withdrawal::ClientGone, at(5))
            .await
            .unwrap();
        let again = desk.propose(&desk.bob, "2", "notes").await;
        assert_eq!(again.previous, Some(gone.id));
        let beside = desk.propose(&desk.bob, "3", "notes").await;
        assert_eq!(beside.previous, None, "the first is still open");
        assert_eq!(desk.propose(&desk.bob, "4", "maps").await.previous, None);
        assert_eq!(desk.propose(&desk.ada, "5", "notes").await.previous, None);

        desk.answer(beside.id, Choice::AllowOnce).await;
        desk.restart().await;
        let after = desk.propose(&desk.bob, "6", "notes").await;
        assert_eq!(after.previous, Some(beside.id));
        assert_ne!(after.run, beside.run);
        // What was approved for the files of then is not approved for those of now.
        assert_eq!(after.state, AskState::Open);

        desk.answer(after.id, deny()).await;
        let denied = Evidence::NothingWritten;
        store
            .mark_delivered(after.id, &denied, at(12))
            .await
            .unwrap();
        let anew = desk.propose(&desk.bob, "7", "notes").await;
        assert_eq!(anew.previous, None, "a person has said no to that one");
    })
    .await;
}

#[tokio::test]
async fn no_rule_answers_a_write() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let ask = scene.open_command("per_1", "ls").await;
        let rule = countersign_core::rule::Rule {
            id: countersign_core::id::RuleId::generate(at(1)),
            workspace: scene.workspace,
            session: None,
            tool: "plugins.add".to_owned(),
            verdict: Verdict::Allow,
            matcher: Matcher::Glob {
                pattern: "**".to_owned(),
            },
            made_by: scene.ada.clone(),
            made_at: at(1),
            made_from: Some(ask.id),
            expires_at: None,
            revoked_at: None,
        };
        store.add_rule(&rule).await.unwrap();
        let desk = Desk::new(&store).await;
        let write = desk.propose(&desk.bob, "1", "notes").await;
        assert_eq!(write.state, AskState::Open);
    })
    .await;
}

#[tokio::test]
async fn a_write_that_runs_out_is_told_and_an_answer_after_that_changes_nothing() {
    each_backend(async |store| {
        let desk = Desk::new(&store).await;
        let write = desk.propose(&desk.bob, "1", "notes").await;
        assert_eq!(store.expire_due(at(30)).await.unwrap(), 1);
        let evidence = Evidence::NothingWritten;
        assert!(
            store
                .mark_delivered(write.id, &evidence, at(31))
                .await
                .unwrap()
        );
        let expired = AskState::Expired { at: at(30) };
        assert_eq!(desk.ask(write.id).await.state, expired);
        let late = desk.answer(write.id, Choice::AllowOnce).await;
        assert!(matches!(late, Answered::Over(_)), "{late:?}");
    })
    .await;
}
