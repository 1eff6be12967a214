//! What is told to whom, in which words, and how often it is tried.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::id::{AlarmId, AskId, RuleId};
use crate::visible::is_deceptive;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn notification(occasion: Occasion) -> Notification {
    Notification {
        id: NotificationId::generate(START),
        target: "phone".to_owned(),
        event: 7,
        at: START,
        workspace: WorkspaceId::generate(START),
        occasion,
        subject: AskId::generate(START).to_string(),
        session: Some(SessionId::generate(START)),
        state: NotificationState::Waiting,
        attempts: 0,
        due_at: START,
        tried_at: None,
        ended_at: None,
        problem: None,
        output: None,
    }
}

#[test]
fn only_openings_expiries_and_alarms_are_happenings() {
    let (ask, session) = (AskId::generate(START), SessionId::generate(START));
    let opened = EventBody::AskOpened {
        ask,
        session,
        tool: "bash".to_owned(),
    };
    let happening = Happening::of(&opened).unwrap();
    assert_eq!(happening.occasion, Occasion::AskOpened);
    assert_eq!(happening.subject, ask.to_string());
    assert_eq!(happening.session, Some(session));
    for state in [
        AskPhase::Open,
        AskPhase::Answered,
        AskPhase::Delivered,
        AskPhase::Undeliverable,
        AskPhase::Expired,
        AskPhase::Withdrawn,
    ] {
        let changed = EventBody::AskChanged {
            ask,
            session,
            state,
        };
        let occasion = Happening::of(&changed).map(|happening| happening.occasion);
        let expected = (state == AskPhase::Expired).then_some(Occasion::AskExpired);
        assert_eq!(occasion, expected, "{state:?}");
    }
    let alarm = EventBody::AlarmRaised {
        alarm: AlarmId::generate(START),
        message: "somebody answered past the ledger".to_owned(),
    };
    let happening = Happening::of(&alarm).unwrap();
    assert_eq!(happening.occasion, Occasion::AlarmRaised);
    let rule = EventBody::RuleChanged {
        rule: RuleId::generate(START),
    };
    assert_eq!(Happening::of(&rule), None);
}

#[test]
fn names_are_read_as_they_are_written() {
    for occasion in Occasion::ALL.into_iter().chain([Occasion::Test]) {
        assert_eq!(Occasion::from_name(occasion.name()), Some(occasion));
        let json = serde_json::to_value(occasion).unwrap();
        assert_eq!(json, occasion.name());
    }
    assert_eq!(Occasion::from_name("ask.closed"), None);
    for state in ["waiting", "sent", "dead"] {
        assert_eq!(NotificationState::from_name(state).unwrap().name(), state);
    }
}

#[test]
fn without_details_a_message_has_ids_and_a_sentence_and_nothing_else() {
    let notification = notification(Occasion::AskOpened);
    let json = serde_json::to_value(Message::new(&notification, None)).unwrap();
    let names: BTreeSet<&str> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "at",
        "event",
        "id",
        "session",
        "subject",
        "text",
        "type",
        "workspace",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    assert_eq!(json["text"], "An agent asks for leave");
    assert_eq!(json["type"], "ask.opened");
}

#[test]
fn what_is_cut_from_details_is_said() {
    let details = Details {
        workspace: "app".to_owned(),
        tool: Some("bash".to_owned()),
        what: Some("x".repeat(5_000)),
    };
    let message = Message::new(&notification(Occasion::AskOpened), Some(details));
    let what = message.details.as_ref().unwrap().what.as_ref().unwrap();
    assert!(what.ends_with("x … (cut)"));
    assert!(what.len() < 1_100);
    let words = message.words();
    assert!(
        words.starts_with("An agent asks for leave in app: bash: xxx"),
        "{words}"
    );
}

fn occasions() -> impl Strategy<Value = BTreeSet<Occasion>> {
    proptest::collection::btree_set(proptest::sample::select(&Occasion::ALL), 0..5)
}

proptest! {
    #[test]
    fn an_interest_covers_what_it_names_and_nothing_else(
        occasions in occasions(),
        workspaces in proptest::collection::btree_set("(/[ab]|[ab])", 0..3),
        occasion in proptest::sample::select(&Occasion::ALL),
        (path, name) in ("/[abc]", "[abc]"),
    ) {
        let interest = Interest { occasions: occasions.clone(), workspaces: workspaces.clone() };
        let named = workspaces.is_empty() || workspaces.contains(&path) || workspaces.contains(&name);
        prop_assert_eq!(interest.covers(occasion, &path, &name), occasions.contains(&occasion) && named);
        prop_assert!(!interest.covers(Occasion::Test, &path, &name), "a test is for whom it is meant alone");
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_the_last_try(
        tries in 1_u32..1_000,
        first in 1_u64..10_000,
        longest in 1_u64..10_000_000,
        roll in 0.0_f64..1.0,
        attempts in 1_u32..2_000,
    ) {
        let schedule = Schedule {
            tries,
            first_pause: Duration::from_millis(first),
            longest_pause: Duration::from_millis(longest),
        };
        let whole = |attempts: u32| {
            let doubled = u128::from(first) << (attempts - 1).min(64);
            Duration::from_millis(u64::try_from(doubled.min(u128::from(longest))).unwrap())
        };
        match schedule.pause_after(attempts, roll) {
            None => prop_assert!(attempts >= tries),
            Some(pause) => {
                prop_assert!(attempts < tries);
                let whole = whole(attempts);
                prop_assert!(pause <= whole && pause >= whole / 2, "{pause:?} of {whole:?}");
            }
        }
    }

    #[test]
    fn no_schedule_and_no_roll_makes_it_panic(
        tries in any::<u32>(), first in any::<u64>(), longest in any::<u64>(),
        attempts in any::<u32>(), roll in any::<f64>(),
    ) {
        let schedule = Schedule {
            tries,
            first_pause: Duration::from_millis(first),
            longest_pause: Duration::from_millis(longest),
        };
        let pause = schedule.pause_after(attempts, roll);
        prop_assert!(pause.is_none_or(|pause| pause <= schedule.longest_pause));
    }

    #[test]
    fn nothing_that_an_agent_wrote_is_hidden_in_a_message(what in any::<String>(), tool in any::<String>()) {
        let details = Details { workspace: "app".to_owned(), tool: Some(tool), what: Some(what) };
        let message = Message::new(&notification(Occasion::AskOpened), Some(details));
        prop_assert!(!message.words().contains(is_deceptive));
    }
}
