//! The states of an ask, tried with every order of steps.

use proptest::prelude::*;

use super::*;
use crate::actor::{Actor, ActorKind, Surface};
use crate::answer::Choice;
use crate::id::ActorId;

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
        Just(Step::GiveUp(at, Undeliverable::EngineGone)),
        Just(Step::Expire(at)),
        Just(Step::Withdraw(at, Withdrawal::TurnCancelled)),
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
