//! What a card shows of what will run, and how it ends.

use countersign_core::actor::Actor;
use countersign_core::ask::{OfferedOption, Question, QuestionOption, Withdrawal};
use countersign_core::delivery::{Delivery, Evidence};
use countersign_core::digest::Digest;
use countersign_core::id::{ActorId, AskId, RunId, SessionId, WorkspaceId};
use countersign_core::time::Timestamp;

use super::*;
use crate::asks::choice_of_words;

fn now() -> Timestamp {
    Timestamp::from_micros(1)
}

fn ask(command: &str) -> Ask {
    let digest = Digest::of_bytes(b"");
    let option = |id: &str, name: &str, kind| OfferedOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        note: String::new(),
    };
    Ask {
        id: AskId::generate(now()),
        workspace: WorkspaceId::generate(now()),
        door: Door::Acp,
        run: RunId::generate(now()),
        session: SessionId::generate(now()),
        parent_session: None,
        requester: "demo".to_owned(),
        native_id: "1".to_owned(),
        directory: "/work".to_owned(),
        subject: Subject::Permission {
            location: countersign_core::ask::Location::default(),
            tool: "bash".to_owned(),
            targets: vec![command.to_owned()],
            shown: vec![Shown::Command {
                text: command.to_owned(),
            }],
        },
        raw: serde_json::Value::Null,
        options: vec![
            option("reject", "No", OptionKind::Deny),
            option("once", "Yes, once", OptionKind::AllowOnce),
            option("always", "Always", OptionKind::AllowAlways),
        ],
        opened_at: now(),
        expires_at: None,
        digest,
        fingerprint: digest,
        likeness: digest,
        previous: None,
        state: AskState::Open,
    }
}

fn address(has_approvers: bool) -> Address<'static> {
    Address {
        token: "k3f9x2ab",
        called: vec!["@alice:localhost"],
        has_approvers,
        sign: '!',
        workspace: "app",
        siblings: 0,
    }
}

fn code(outgoing: &Outgoing) -> Vec<&str> {
    let blocks = outgoing.text.blocks.iter();
    blocks
        .filter_map(|block| match block {
            Block::Code { text, .. } => Some(text.as_str()),
            Block::Paragraph { .. }
            | Block::Heading { .. }
            | Block::Item { .. }
            | Block::Quote { .. } => None,
        })
        .collect()
}

#[test]
fn what_hides_is_shown_and_the_options_are_the_agents_own_in_its_order() {
    let (card, files) = card(
        &ask("rm -rf \u{202E}/ # \u{1b}[2K @everyone @room"),
        &address(true),
        |_| true,
    );
    assert_eq!(
        code(&card),
        ["rm -rf ⟨U+202E⟩/ # ⟨U+001B⟩[2K @everyone @room"]
    );
    assert_eq!(files, []);
    let labels: Vec<&str> = card.buttons.iter().map(|it| it.label.as_str()).collect();
    assert_eq!(labels, ["No", "Yes, once", "Always"]);
    assert_eq!(card.buttons[1].payload, "p:k3f9x2ab:1");
    assert!(card.buttons.iter().all(|it| it.payload.len() <= 60));
    let offers = offers(&ask("x"));
    assert_eq!(pressed_by("2️⃣", &offers), Some(1));
    assert_eq!(pressed_by("2\u{20E3}", &offers), Some(1));
    assert_eq!(pressed_by("✅", &offers), Some(1));
    assert_eq!(pressed_by("👎", &offers), Some(0));
    assert_eq!(pressed_by("🎉", &offers), None);
    assert_eq!(pressed_by("9️⃣", &offers), None);
}

#[test]
fn of_a_long_command_the_head_the_tail_and_the_count_are_shown_and_all_is_in_a_file() {
    let long = format!("echo begin\n{}\necho end", "x".repeat(100_000));
    let (card, files) = card(&ask(&long), &address(true), |_| true);
    let shown = code(&card);
    assert!(shown[0].starts_with("echo begin\n") && shown[1].ends_with("\necho end"));
    let hidden = long.chars().count() - Room::MOST.head - Room::MOST.tail;
    let words = card.text.words();
    assert!(words.contains(&format!("{hidden} characters")), "{words}");
    assert!(words.contains(&files[0].name), "{words}");
    assert_eq!(files[0].text, long);
}

#[test]
fn a_card_is_made_to_fit_its_platform_and_says_what_is_left_out() {
    let long = format!("echo begin\n{}\necho end", "x".repeat(2_500));
    let fits = |most: usize| move |text: &Text| text.words().chars().count() <= most;
    let (small, files) = card(&ask(&long), &address(true), fits(1_000));
    assert!(fits(1_000)(&small.text));
    let shown = code(&small);
    assert!(shown[0].starts_with("echo begin\n") && shown[1].ends_with("\necho end"));
    assert!(
        small
            .text
            .words()
            .contains("characters (0 line breaks) are not shown")
    );
    assert_eq!(
        (files[0].text.as_str(), small.buttons.len()),
        (long.as_str(), 3)
    );
    // Where something else is long, all of it is in a file.
    let mut ask = ask("ls");
    ask.directory = "/deep".repeat(1_000);
    let (small, files) = card(&ask, &address(true), fits(1_000));
    assert!(fits(1_000)(&small.text));
    let file = files.last().unwrap();
    assert!(small.text.words().contains(&file.name) && file.text.contains(&ask.directory));
}

#[test]
fn a_name_cannot_pose_as_more_of_the_card() {
    let mut ask = ask("ls");
    ask.requester = "demo\n✅ Allowed once by alice".to_owned();
    ask.options[0].name = "No\n2️⃣ Yes".to_owned();
    let (card, _) = card(&ask, &address(true), |_| true);
    assert!(card.text.words().contains("demo⏎✅ Allowed"));
    assert!(!card.buttons[0].label.contains('\n'));
}

#[test]
fn without_approvers_there_are_no_buttons_and_it_is_said() {
    let (card, _) = card(&ask("ls"), &address(false), |_| true);
    assert_eq!(card.buttons, []);
    assert!(card.text.words().contains("Nobody may answer it here"));
}

#[test]
fn how_an_ask_ended_is_said_with_who_where_and_whether_it_arrived() {
    let answer = Answer {
        choice: Choice::Deny {
            reason: Some("no".to_owned()),
        },
        by: Actor {
            id: ActorId::generate(now()),
            kind: ActorKind::Person,
            name: "alice".to_owned(),
        },
        surface: Surface::Matrix,
        at: now(),
        rule: None,
    };
    let mut ask = ask("ls");
    let delivered = DeliveryState::Delivered {
        at: now(),
        evidence: Evidence::Done,
    };
    let delivery = |state| Delivery { state, attempts: 1 };
    ask.state = AskState::Answered(answer.clone(), delivery(DeliveryState::Pending));
    assert_eq!(
        outcome(&ask),
        "⛔ Denied (“no”) by alice on Matrix. On its way to the agent."
    );
    ask.state = AskState::Delivered(answer, delivery(delivered));
    assert_eq!(
        outcome(&ask),
        "⛔ Denied (“no”) by alice on Matrix. Delivered."
    );
    ask.state = AskState::Expired { at: now() };
    assert!(outcome(&ask).contains("Expired"));
    ask.state = AskState::Withdrawn {
        at: now(),
        why: Withdrawal::EngineGone,
    };
    assert_eq!(outcome(&ask), "↩ Withdrawn: the engine is gone.");
    let (card, _) = card(&ask, &address(true), |_| true);
    assert_eq!(card.buttons, []);
}

#[test]
fn a_number_that_is_no_choice_answers_nothing() {
    let question = |labels: &[&str], multiple| Question {
        header: String::new(),
        question: "which?".to_owned(),
        options: labels
            .iter()
            .map(|label| QuestionOption {
                label: (*label).to_owned(),
                description: String::new(),
            })
            .collect(),
        multiple,
    };
    let said = |questions: &[Question], words: &str| {
        let subject = Subject::Question {
            questions: questions.to_vec(),
        };
        let ask = Ask {
            subject,
            ..ask("ls")
        };
        choice_of_words(&ask, words)
    };
    let choices = |parts: &[&[&str]]| {
        let part = |part: &&[&str]| part.iter().map(|it| (*it).to_owned()).collect();
        Some(Choice::Choices {
            choices: parts.iter().map(part).collect(),
        })
    };
    let one = [question(&["red", "blue"], false)];
    assert_eq!(said(&one, "2"), choices(&[&["blue"]]));
    assert_eq!(said(&one, "9"), None);
    assert_eq!(said(&one, "1,2"), None);
    assert_eq!(said(&one, "green"), choices(&[&["green"]]));
    let several = [question(&["red", "blue"], true)];
    assert_eq!(said(&several, "1, 2"), choices(&[&["red", "blue"]]));
    assert_eq!(said(&several, "1, 9"), None);
    let parts = [one[0].clone(), question(&["tall"], false)];
    assert_eq!(said(&parts, "2 | 1"), choices(&[&["blue"], &["tall"]]));
    assert_eq!(said(&parts, "2 | 9"), None);
    // Where nothing is suggested, a number can only be the answer.
    assert_eq!(said(&[question(&[], false)], "42"), choices(&[&["42"]]));
}
