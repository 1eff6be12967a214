//! Proposals from their beginning to their end, on a ledger of their own.

use std::sync::Arc;
use std::time::Duration;

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase, AskState, Withdrawal};
use countersign_core::delivery::{DeliveryState, Evidence, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::grant::{Caller, Forbidden, Grant, Role};
use countersign_core::id::AskId;
use countersign_core::time::Clock;
use countersign_store::{Answered, AskFilter, Record, Store};
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::{Proposal, ProposedFile, Verdict};
use crate::error::BrokerError;
use crate::{Broker, ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, PushSettings, Settings};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

/// A server's inside with a workspace, somebody who proposes, and people who answer.
struct Desk {
    broker: Broker,
    store: Store,
    bob: Caller,
    ada: Caller,
    cleo: Caller,
    folder: TempDir,
    /// Where the workspace is.
    work: String,
}

impl Desk {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap()).await
    }

    /// On the ledger that is in `folder`, or a new one.
    async fn at(folder: TempDir) -> Self {
        let work = folder.path().join("project");
        std::fs::create_dir_all(&work).unwrap();
        let work = work.to_string_lossy().into_owned();
        Self::serving(folder, &work).await
    }

    /// The same, of the workspace `work`.
    async fn serving(folder: TempDir, work: &str) -> Self {
        let store = Store::open_sqlite(&folder.path().join("ledger.db"))
            .await
            .unwrap();
        let settings = Settings {
            data_directory: folder.path().to_owned(),
            own_program: "countersign".into(),
            owner_name: "ada".to_owned(),
            workspaces: vec![(work.to_owned(), "project".to_owned())],
            engine: EngineChoice::None,
            agents: vec![],
            foreign_answer: ForeignAnswer::Abort,
            unasked_tools: vec![],
            ask_expiry: None,
            lonely_limit_s: 1,
            job_caps: JobCaps::default(),
            notify: Vec::new(),
            changes: ChangeSettings::default(),
            push: PushSettings::default(),
        };
        let broker = Broker::start(store.clone(), settings, Clock::System)
            .await
            .unwrap();
        let person = async |name: &str, role: Role| {
            let now = Clock::System.now();
            let actor = store.actor(ActorKind::Person, name, now).await.unwrap();
            Caller::new(actor, role.grants(), None, Surface::Api)
        };
        Self {
            bob: person("bob", Role::Collaborator).await,
            ada: person("ada", Role::Owner).await,
            cleo: person("cleo", Role::Approver).await,
            broker,
            store,
            folder,
            work: work.to_owned(),
        }
    }

    /// What begins after a kill: on the ledger and the files as they are, which nobody tidied up.
    async fn killed(&self) -> Self {
        let copy = tempfile::tempdir().unwrap();
        for name in ["ledger.db", "ledger.db-wal"] {
            let from = self.folder.path().join(name);
            if from.exists() {
                std::fs::copy(from, copy.path().join(name)).unwrap();
            }
        }
        Self::serving(copy, &self.work).await
    }

    fn proposal(&self, wish: &str) -> Proposal {
        Proposal {
            workspace: self.broker.workspaces()[0].0.id,
            action: "plugins.add".to_owned(),
            summary: format!("Add plugin {wish}"),
            paths: vec!["opencode.jsonc".to_owned()],
            changes: vec![ProposedFile {
                root: self.work.clone(),
                path: "opencode.jsonc".to_owned(),
                before: Some(b"{}\n".to_vec()),
                after: Some(format!("{{\"plugin\": [\"{wish}\"]}}\n").into_bytes()),
            }],
            wire_actor: json!({ "type": "remote", "clientId": "phone" }),
            expires_in: LONG,
            fingerprint: Digest::of_bytes(wish.as_bytes()),
        }
    }

    /// Proposes as `caller`, in a task that stands for the client's request.
    fn request(
        &self,
        caller: &Caller,
        proposal: Proposal,
    ) -> JoinHandle<Result<Verdict, BrokerError>> {
        let (broker, caller) = (self.broker.clone(), caller.clone());
        let request = async move { broker.propose(&caller, proposal, ()).await };
        self.broker.tasks.spawn(request)
    }

    /// Proposes as bob, and waits until somebody could see it.
    async fn proposed(&self, wish: &str) -> (JoinHandle<Result<Verdict, BrokerError>>, Arc<Ask>) {
        let request = self.request(&self.bob, self.proposal(wish));
        let summary = format!("Add plugin {wish}");
        let ask = self
            .eventually(async || {
                let open = self.broker.open_writes(&self.ada).unwrap();
                open.into_iter()
                    .find(|ask| ask.subject.summary() == summary)
            })
            .await;
        (request, ask)
    }

    /// What `look` finds, as soon as it finds something.
    async fn eventually<T>(&self, look: impl AsyncFn() -> Option<T>) -> T {
        let mut head = self.store.head();
        let found = async {
            loop {
                head.mark_unchanged();
                if let Some(found) = look().await {
                    return found;
                }
                head.changed().await.unwrap();
            }
        };
        tokio::time::timeout(LONG, found)
            .await
            .expect("it never came")
    }

    /// The ask, once it is over for good.
    async fn over(&self, id: AskId) -> Ask {
        self.eventually(async || {
            let ask = self.store.ask(id).await.unwrap().unwrap();
            ask.state.phase().is_terminal().then_some(ask)
        })
        .await
    }

    async fn answer(&self, who: &Caller, id: AskId, choice: Choice) -> Answered {
        self.broker.answer_write(who, id, choice).await.unwrap()
    }

    async fn stop(self) {
        self.broker.stop().await;
    }
}

fn deny() -> Choice {
    Choice::Deny {
        reason: Some("not on a Friday".to_owned()),
    }
}

#[tokio::test]
async fn what_is_allowed_is_written_and_then_delivered_with_the_digest_of_its_bytes() {
    let desk = Desk::new().await;
    let (request, ask) = desk.proposed("notes").await;
    assert_eq!(ask.state, AskState::Open);
    assert_eq!(ask.requester, "bob");
    let context = desk.broker.ask(&desk.ada, ask.id).await.unwrap();
    assert!(context.may_answer);
    assert!(!desk.broker.ask(&desk.bob, ask.id).await.unwrap().may_answer);

    let answered = desk.answer(&desk.ada, ask.id, Choice::AllowOnce).await;
    assert!(matches!(answered, Answered::Won(_)), "{answered:?}");
    let Verdict::Allowed(leave) = request.await.unwrap().unwrap() else {
        panic!("it was allowed");
    };
    assert_eq!(leave.ask().state.phase(), AskPhase::Answered);
    let digest = Digest::of_bytes(b"the new file");
    let record = Record {
        action: "plugins.add".to_owned(),
        subject: "opencode.json".to_owned(),
        detail: json!({ "spec": "notes" }),
    };
    let evidence = Evidence::FilesWritten { digest };
    desk.broker
        .wrote(&desk.bob, leave, (evidence, None), vec![record])
        .await
        .unwrap();

    let state = desk.over(ask.id).await.state;
    let DeliveryState::Delivered { evidence, .. } = &state.delivery().unwrap().state else {
        panic!("{state:?}");
    };
    assert_eq!(*evidence, Evidence::FilesWritten { digest });
    assert_eq!(state.answer().unwrap().by.name, "ada");
    let audit = desk.store.audit(ask.workspace, 0, 100).await.unwrap();
    let of_ask = audit
        .iter()
        .filter(|entry| entry.subject == ask.id.to_string());
    let actions: Vec<&str> = of_ask.map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["ask.open", "ask.answer", "delivery.proved"]);
    let done = audit.last().unwrap();
    assert_eq!(
        (&*done.action, &*done.subject),
        ("plugins.add", "opencode.json")
    );
    assert!(done.actor.starts_with("person bob"), "{done:?}");
    desk.stop().await;
}

#[tokio::test]
async fn what_is_denied_is_not_written_and_the_client_learns_who_said_so() {
    let desk = Desk::new().await;
    let (request, ask) = desk.proposed("notes").await;
    desk.answer(&desk.cleo, ask.id, deny()).await;
    let Verdict::Denied { ask: told } = request.await.unwrap().unwrap() else {
        panic!("it was denied");
    };
    assert_eq!(told.state.answer().unwrap().by.name, "cleo");
    let state = desk.over(ask.id).await.state;
    assert!(
        matches!(
            &state.delivery().unwrap().state,
            DeliveryState::Delivered { evidence, .. } if *evidence == Evidence::NothingWritten
        ),
        "{state:?}"
    );
    desk.stop().await;
}

#[tokio::test]
async fn what_nobody_answers_in_time_expires_and_is_told_as_that() {
    let desk = Desk::new().await;
    for expires_in in [Duration::ZERO, Duration::from_millis(30)] {
        let proposal = Proposal {
            expires_in,
            ..desk.proposal("notes")
        };
        let verdict = desk.broker.propose(&desk.bob, proposal, ()).await.unwrap();
        let Verdict::Expired { ask } = verdict else {
            panic!("{verdict:?}");
        };
        let late = desk.answer(&desk.ada, ask.id, Choice::AllowOnce).await;
        assert!(matches!(late, Answered::Over(_)), "{late:?}");
        let ask = desk.over(ask.id).await;
        assert_eq!(ask.state.phase(), AskPhase::Expired);
    }
    desk.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_withdraws_its_proposal_and_a_later_allow_writes_nothing() {
    let desk = Desk::new().await;
    let (request, ask) = desk.proposed("notes").await;
    request.abort();
    let over = desk.over(ask.id).await;
    let AskState::Withdrawn { why, .. } = &over.state else {
        panic!("{over:?}");
    };
    assert_eq!(*why, Withdrawal::ClientGone);
    let late = desk.answer(&desk.ada, ask.id, Choice::AllowOnce).await;
    assert!(matches!(late, Answered::Over(_)), "{late:?}");

    let (request, again) = desk.proposed("notes").await;
    assert_eq!(again.previous, Some(ask.id), "the same wish again");
    desk.answer(&desk.ada, again.id, Choice::AllowOnce).await;
    let verdict = request.await.unwrap().unwrap();
    assert!(matches!(verdict, Verdict::Allowed(_)), "{verdict:?}");
    drop(verdict);
    desk.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_at_any_moment_leaves_nothing_behind_that_waits() {
    let desk = Desk::new().await;
    for micros in (0..6_000).step_by(150) {
        let request = desk.request(&desk.bob, desk.proposal("notes"));
        tokio::time::sleep(Duration::from_micros(micros)).await;
        request.abort();
        drop(request.await);
    }
    desk.eventually(async || {
        let asks = desk.store.asks(AskFilter::default(), 500).await.unwrap();
        let is_over = |ask: &Ask| ask.state.phase().is_terminal();
        asks.iter().all(is_over).then_some(())
    })
    .await;
    desk.stop().await;
}

#[tokio::test]
async fn leave_that_is_not_used_is_given_back() {
    let desk = Desk::new().await;
    let (request, ask) = desk.proposed("notes").await;
    desk.answer(&desk.ada, ask.id, Choice::AllowOnce).await;
    drop(request.await.unwrap().unwrap());
    let state = desk.over(ask.id).await.state;
    assert!(
        matches!(
            &state.delivery().unwrap().state,
            DeliveryState::Undeliverable { why, .. } if *why == Undeliverable::ClientGone
        ),
        "{state:?}"
    );
    desk.stop().await;
}

#[tokio::test]
async fn nobody_answers_what_they_proposed_and_collaborators_answer_no_write() {
    let desk = Desk::new().await;
    let request = desk.request(&desk.ada, desk.proposal("maps"));
    let ask = desk
        .eventually(async || {
            let open = desk.broker.open_writes(&desk.ada).unwrap();
            open.into_iter().next()
        })
        .await;
    let own = desk
        .broker
        .answer_write(&desk.ada, ask.id, Choice::AllowOnce)
        .await;
    assert!(
        matches!(own, Err(BrokerError::Forbidden(Forbidden::OwnProposal))),
        "{own:?}"
    );
    let without_grant = desk.broker.answer(&desk.bob, &ask, Choice::AllowOnce).await;
    let lacks = Forbidden::MissingGrant(Grant::Approve);
    assert!(
        matches!(&without_grant, Err(BrokerError::Forbidden(why)) if *why == lacks),
        "{without_grant:?}"
    );
    let viewer = Caller::new(
        desk.bob.actor().clone(),
        Role::Viewer.grants(),
        None,
        Surface::Api,
    );
    let refused = desk
        .broker
        .propose(&viewer, desk.proposal("maps"), ())
        .await;
    assert!(
        matches!(refused, Err(BrokerError::Forbidden(_))),
        "{refused:?}"
    );
    let still_open = desk.store.ask(ask.id).await.unwrap().unwrap();
    assert_eq!(still_open.state, AskState::Open);
    desk.answer(&desk.cleo, ask.id, deny()).await;
    assert!(matches!(
        request.await.unwrap().unwrap(),
        Verdict::Denied { .. }
    ));
    desk.stop().await;
}

#[tokio::test]
async fn of_two_who_answer_at_once_one_wins_and_the_other_is_told() {
    let desk = Desk::new().await;
    for round in 0..20 {
        let (request, ask) = desk.proposed(&format!("notes-{round}")).await;
        let (first, second) = tokio::join!(
            desk.answer(&desk.ada, ask.id, Choice::AllowOnce),
            desk.answer(&desk.cleo, ask.id, deny()),
        );
        let won = |answered: &Answered| matches!(answered, Answered::Won(_));
        let lost = |answered: &Answered| matches!(answered, Answered::Lost(_));
        assert!(
            won(&first) && lost(&second) || lost(&first) && won(&second),
            "{first:?} {second:?}"
        );
        let verdict = request.await.unwrap().unwrap();
        assert_eq!(won(&first), matches!(verdict, Verdict::Allowed(_)));
    }
    desk.stop().await;
}

#[tokio::test]
async fn the_next_server_withdraws_what_the_last_one_left_before_it_serves() {
    let desk = Desk::new().await;
    let (request, ask) = desk.proposed("notes").await;
    let next = desk.killed().await;
    let over = next.store.ask(ask.id).await.unwrap().unwrap();
    assert!(
        matches!(&over.state, AskState::Withdrawn { why, .. } if *why == Withdrawal::ServerRestarted),
        "{over:?}"
    );
    assert_eq!(over.subject, ask.subject, "what was wanted can be seen");
    let (retry, again) = next.proposed("notes").await;
    assert_eq!(again.previous, Some(ask.id));
    retry.abort();
    request.abort();
    next.stop().await;
    desk.stop().await;
}

#[tokio::test]
async fn the_next_server_finds_out_whether_what_was_allowed_was_done() {
    for is_done in [true, false] {
        let desk = Desk::new().await;
        let proposal = desk.proposal("notes");
        let after = proposal.changes[0].after.clone().unwrap();
        let (request, ask) = desk.proposed("notes").await;
        desk.answer(&desk.ada, ask.id, Choice::AllowOnce).await;
        let Ok(Verdict::Allowed(leave)) = request.await.unwrap() else {
            panic!("it was allowed");
        };
        let content = if is_done { &after[..] } else { b"{}\n" };
        std::fs::write(
            std::path::Path::new(&desk.work).join("opencode.jsonc"),
            content,
        )
        .unwrap();
        let next = desk.killed().await;
        let state = next.store.ask(ask.id).await.unwrap().unwrap().state;
        let expected = if is_done {
            let evidence = Evidence::FilesFound {
                digest: countersign_workspace::change::written([(
                    std::path::Path::new("opencode.jsonc"),
                    Some(content),
                )]),
            };
            matches!(
                &state.delivery().unwrap().state,
                DeliveryState::Delivered { evidence: found, .. } if *found == evidence
            )
        } else {
            matches!(
                &state.delivery().unwrap().state,
                DeliveryState::Undeliverable { why, .. } if *why == Undeliverable::ServerRestarted
            )
        };
        assert!(expected, "{is_done}: {state:?}");
        next.stop().await;
        drop(leave);
        desk.stop().await;
    }
}

#[tokio::test]
async fn a_server_that_stops_in_order_says_that_it_was_the_server() {
    let desk = Desk::new().await;
    let (request, ask) = desk.proposed("notes").await;
    desk.broker.stop_writes();
    let told = request.await.unwrap();
    assert!(matches!(told, Err(BrokerError::Stopping)), "{told:?}");
    let over = desk.over(ask.id).await;
    assert!(
        matches!(&over.state, AskState::Withdrawn { why, .. } if *why == Withdrawal::ServerRestarted),
        "{over:?}"
    );
    let refused = desk
        .broker
        .propose(&desk.bob, desk.proposal("maps"), ())
        .await;
    assert!(matches!(refused, Err(BrokerError::Stopping)), "{refused:?}");
    desk.stop().await;
}
