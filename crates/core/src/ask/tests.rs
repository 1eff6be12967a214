//! The states of an ask, tried with every order of steps.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::actor::{Actor, ActorKind, Surface};
use crate::answer::{Answer, Choice, Scope, UnfitAnswer};
use crate::delivery::{Evidence, Undeliverable};
use crate::grant::{Grant, Role};
use crate::id::ActorId;
use crate::rule;

fn answer(name: &str) -> Answer {
    Answer {
        choice: Choice::AllowOnce,
        by: Actor {
            id: ActorId::generate(Timestamp::from_micros(0)),
            kind: ActorKind::Person,
            name: name.to_owned(),
        },
        surface: Surface::Web,
        at: Timestamp::from_micros(0),
        rule: None,
    }
}

fn steps() -> impl Strategy<Value = Step> {
    let at = Timestamp::from_micros(1);
    prop_oneof![
        "[a-z]{3}".prop_map(|name| Step::Answer(answer(&name))),
        Just(Step::Send(at)),
        Just(Step::Deliver(
            at,
            Evidence::Announced {
                event: "permission.replied".to_owned()
            }
        )),
        Just(Step::Deliver(at, Evidence::NothingWritten)),
        Just(Step::GiveUp(at, Undeliverable::EngineGone)),
        Just(Step::GiveUp(at, Undeliverable::ClientGone)),
        Just(Step::Expire(at)),
        Just(Step::Withdraw(at, Withdrawal::TurnCancelled)),
        Just(Step::Withdraw(at, Withdrawal::ClientGone)),
        Just(Step::Withdraw(at, Withdrawal::ServerRestarted)),
    ]
}

proptest! {
    #[test]
    fn an_ask_has_at_most_one_answer_and_a_terminal_state_never_changes(
        steps in prop::collection::vec(steps(), 0..24),
    ) {
        let mut state = AskState::Open;
        let mut first: Option<Answer> = None;
        for step in steps {
            let before = state.clone();
            let Ok(next) = state.advance(step) else {
                prop_assert_eq!(&state, &before);
                continue;
            };
            prop_assert!(!before.phase().is_terminal());
            if let Some(first) = &first {
                prop_assert_eq!(next.answer(), Some(first));
            }
            first = first.or_else(|| next.answer().cloned());
            state = next;
        }
        prop_assert_eq!(state.answer().cloned(), first);
    }

    #[test]
    fn delivered_is_said_only_after_an_answer(steps in prop::collection::vec(steps(), 0..24)) {
        let mut state = AskState::Open;
        let mut answered = false;
        for step in steps {
            let is_answer = matches!(step, Step::Answer(_));
            if let Ok(next) = state.advance(step) {
                answered |= is_answer;
                if matches!(next.phase(), AskPhase::Delivered | AskPhase::Undeliverable) {
                    prop_assert!(answered);
                }
                state = next;
            }
        }
    }
}

#[test]
fn the_second_answer_is_told_who_was_first() {
    let first = answer("ada");
    let state = AskState::Open.advance(Step::Answer(first.clone())).unwrap();
    assert_eq!(
        state.advance(Step::Answer(answer("bob"))),
        Err(Refusal::AlreadyAnswered(Box::new(first)))
    );
}

#[test]
fn every_phase_has_a_name_that_reads_back() {
    for phase in AskPhase::ALL {
        assert_eq!(AskPhase::from_name(phase.name()), Some(phase));
    }
}

fn caller(name: &str, role: Role) -> Caller {
    let actor = Actor {
        id: ActorId::generate(Timestamp::from_micros(0)),
        kind: ActorKind::Person,
        name: name.to_owned(),
    };
    Caller::new(actor, role.grants(), None, Surface::Api)
}

fn write_by(proposer: &Caller) -> Ask {
    let now = Timestamp::from_micros(0);
    let zero = Digest::ZERO;
    Ask {
        id: AskId::generate(now),
        workspace: WorkspaceId::generate(now),
        door: Door::Workspace,
        run: RunId::generate(now),
        session: SessionId::generate(now),
        parent_session: None,
        requester: proposer.actor().name.clone(),
        native_id: String::new(),
        directory: "/home/ada/project".to_owned(),
        subject: Subject::WorkspaceWrite {
            action: "plugins.add".to_owned(),
            summary: "Add plugin notes".to_owned(),
            paths: vec!["opencode.jsonc".to_owned()],
            changes: vec![],
            by: proposer.actor().clone(),
            wire_actor: json!({ "type": "remote", "clientId": "phone" }),
        },
        raw: json!({}),
        options: vec![],
        opened_at: now,
        expires_at: None,
        digest: zero,
        fingerprint: zero,
        likeness: zero,
        previous: None,
        state: AskState::Open,
    }
}

#[test]
fn a_write_is_answered_by_those_who_approve_and_never_by_the_one_who_proposed_it() {
    let bob = caller("bob", Role::Collaborator);
    let write = write_by(&bob);
    let lacks_approve = Err(Forbidden::MissingGrant(Grant::Approve));
    assert_eq!(write.check_answerer(&bob), lacks_approve);
    let another = caller("cleo", Role::Collaborator);
    assert_eq!(write.check_answerer(&another), lacks_approve);
    assert_eq!(
        write.check_answerer(&caller("eve", Role::Viewer)),
        lacks_approve
    );
    for role in [Role::Approver, Role::Owner] {
        assert_eq!(write.check_answerer(&caller("ada", role)), Ok(()));
    }
    let ada = caller("ada", Role::Owner);
    let own = write_by(&ada);
    assert_eq!(own.check_answerer(&ada), Err(Forbidden::OwnProposal));
}

#[test]
fn a_write_is_allowed_once_or_denied_and_makes_no_rule() {
    let write = write_by(&caller("bob", Role::Collaborator)).subject;
    let always = Choice::AllowAlways {
        scope: Scope::Workspace,
        pattern: None,
        expires_at: None,
    };
    assert_eq!(Choice::AllowOnce.check(&write), Ok(()));
    assert_eq!(Choice::Deny { reason: None }.check(&write), Ok(()));
    let refused = Err(UnfitAnswer::WriteIsAllowedOnce);
    assert_eq!(always.check(&write), refused);
    assert_eq!(Choice::Choices { choices: vec![] }.check(&write), refused);
    assert_eq!(
        rule::always(&write, None).map(drop),
        Err(rule::UnfitRule::WorkspaceWrite)
    );
    assert_eq!(write.client(), Some("phone"));
}

#[test]
fn every_door_has_a_name_that_reads_back() {
    for door in Door::ALL {
        assert_eq!(Door::from_name(door.name()), Some(door));
    }
}
