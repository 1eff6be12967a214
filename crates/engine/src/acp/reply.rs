//! What an agent is told about a request for leave: one of the options that it offered, or that the
//! request was cancelled.
//!
//! A reply is only ever an id that was offered. A yes is the option that means "once"; what an agent
//! remembers for longer is sent only when a person picks that very option. A no is never wider than it was
//! said: where nothing but a lasting refusal is offered, the request is cancelled instead.

use std::fmt;

use agent_client_protocol_schema::v1::{
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome,
};
use countersign_core::ask::{OfferedOption, OptionKind};
use serde_json::{Value, json};

use crate::acp::message::{self, RpcId};

/// What was said to an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Yes, this one time.
    Allow,
    /// No.
    Deny,
    /// A person picked this option.
    Option(&'a str),
    /// Nobody said anything in time.
    Unanswered,
    /// The turn was cancelled.
    TurnCancelled,
}

/// What the agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The option with this id.
    Selected(String),
    /// That the request was cancelled.
    Cancelled(Cancelled),
    /// Nothing yet: somebody has to pick an option first.
    NeedsPerson(Unclear),
}

/// Why a request is answered as cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// The turn was.
    Turn,
    /// The agent offers no refusal.
    NoRefusal,
    /// The agent offers only a refusal that it would remember.
    OnlyLastingRefusal,
    /// Nobody answered, and which refusal would be meant is not clear.
    UnclearRefusal,
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "the turn was cancelled",
            Self::NoRefusal => {
                "the agent offers no refusal; the request is cancelled, which may end the turn"
            }
            Self::OnlyLastingRefusal => {
                "the agent offers only a refusal that it would remember; the request is cancelled instead, which may end the turn"
            }
            Self::UnclearRefusal => {
                "nobody answered, and the agent offers no single refusal; the request is cancelled, which may end the turn"
            }
        })
    }
}

/// Why an answer names no option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unclear {
    /// The agent offers nothing that means "yes, once".
    NoAllowOnce,
    /// Several options mean it.
    SeveralAllowOnce,
    /// Several options mean "no".
    SeveralRefusals,
    /// Several options have the id.
    SharedId(String),
    /// No option has the id.
    NotOffered(String),
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAllowOnce => f.write_str(
                "the agent offers no option that allows this once; pick one of its options",
            ),
            Self::SeveralAllowOnce => {
                f.write_str("the agent offers several options that allow this; pick one of them")
            }
            Self::SeveralRefusals => {
                f.write_str("the agent offers several refusals; pick one of them")
            }
            Self::SharedId(id) => write!(f, "several options have the id `{id}`"),
            Self::NotOffered(id) => write!(f, "the option `{id}` was not offered"),
        }
    }
}

/// The reply that an answer comes to, among the options that the agent offered.
pub fn choose(answer: Answer<'_>, options: &[OfferedOption]) -> Reply {
    match answer {
        Answer::TurnCancelled => Reply::Cancelled(Cancelled::Turn),
        Answer::Option(id) => selected(id, options),
        Answer::Allow => match only(OptionKind::AllowOnce, options) {
            Only::One(id) => selected(id, options),
            Only::None => Reply::NeedsPerson(Unclear::NoAllowOnce),
            Only::Several => Reply::NeedsPerson(Unclear::SeveralAllowOnce),
        },
        Answer::Deny => match only(OptionKind::Deny, options) {
            Only::One(id) => selected(id, options),
            Only::None => Reply::Cancelled(without_refusal(options)),
            Only::Several => Reply::NeedsPerson(Unclear::SeveralRefusals),
        },
        Answer::Unanswered => match choose(Answer::Deny, options) {
            Reply::NeedsPerson(_) => Reply::Cancelled(Cancelled::UnclearRefusal),
            reply @ (Reply::Selected(_) | Reply::Cancelled(_)) => reply,
        },
    }
}

/// The option `id`, if one and only one has that id.
fn selected(id: &str, options: &[OfferedOption]) -> Reply {
    match options.iter().filter(|option| option.id == id).count() {
        0 => Reply::NeedsPerson(Unclear::NotOffered(id.to_owned())),
        1 => Reply::Selected(id.to_owned()),
        _ => Reply::NeedsPerson(Unclear::SharedId(id.to_owned())),
    }
}

fn without_refusal(options: &[OfferedOption]) -> Cancelled {
    match only(OptionKind::DenyAlways, options) {
        Only::None => Cancelled::NoRefusal,
        Only::One(_) | Only::Several => Cancelled::OnlyLastingRefusal,
    }
}

enum Only<'a> {
    None,
    One(&'a str),
    Several,
}

fn only(kind: OptionKind, options: &[OfferedOption]) -> Only<'_> {
    let mut found = options.iter().filter(|option| option.kind == kind);
    match (found.next(), found.next()) {
        (None, _) => Only::None,
        (Some(option), None) => Only::One(&option.id),
        (Some(_), Some(_)) => Only::Several,
    }
}

impl Reply {
    /// The line that tells the agent; nothing while somebody has to pick an option.
    pub fn line(&self, id: &RpcId) -> Option<Vec<u8>> {
        Some(message::result(id, &self.response()?))
    }

    /// The line that tells the agent, with what was said to its questions: so one agent wants to hear it.
    pub fn line_with_choices(&self, id: &RpcId, choices: &[Vec<String>]) -> Option<Vec<u8>> {
        let mut response = json!(self.response()?);
        if let Self::Selected(_) = self {
            let answers = choices
                .iter()
                .enumerate()
                .map(|(index, chosen)| (index.to_string(), json!(chosen.join(", "))))
                .collect();
            response["answers"] = Value::Object(answers);
        }
        Some(message::result(id, &response))
    }

    fn response(&self) -> Option<RequestPermissionResponse> {
        let outcome = match self {
            Self::Selected(option) => {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.clone()))
            }
            Self::Cancelled(_) => RequestPermissionOutcome::Cancelled,
            Self::NeedsPerson(_) => return None,
        };
        Some(RequestPermissionResponse::new(outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use OptionKind::{AllowAlways, AllowOnce, Deny, DenyAlways, Other};

    const ANSWERS: [Answer<'static>; 4] = [
        Answer::Allow,
        Answer::Deny,
        Answer::Unanswered,
        Answer::TurnCancelled,
    ];

    fn offer(options: &[(&str, OptionKind)]) -> Vec<OfferedOption> {
        options
            .iter()
            .map(|(id, kind)| OfferedOption {
                id: (*id).to_owned(),
                name: (*id).to_owned(),
                kind: *kind,
                note: String::new(),
            })
            .collect()
    }

    fn picked(id: &str) -> Reply {
        Reply::Selected(id.to_owned())
    }

    #[test]
    fn a_yes_is_the_one_option_that_means_once() {
        let options = offer(&[("always", AllowAlways), ("once", AllowOnce), ("no", Deny)]);
        assert_eq!(choose(Answer::Allow, &options), picked("once"));
        assert_eq!(choose(Answer::Deny, &options), picked("no"));
        assert_eq!(choose(Answer::Unanswered, &options), picked("no"));
        assert_eq!(choose(Answer::Option("always"), &options), picked("always"));
    }

    #[test]
    fn a_yes_is_never_wider_than_once() {
        for options in [
            offer(&[("always", AllowAlways), ("no", Deny)]),
            offer(&[("yes", Other), ("no", Deny)]),
            offer(&[]),
        ] {
            assert_eq!(
                choose(Answer::Allow, &options),
                Reply::NeedsPerson(Unclear::NoAllowOnce)
            );
        }
    }

    #[test]
    fn of_two_that_mean_the_same_a_person_picks_one() {
        let options = offer(&[
            ("once", AllowOnce),
            ("once and switch", AllowOnce),
            ("a", Deny),
            ("b", Deny),
        ]);
        assert_eq!(
            choose(Answer::Allow, &options),
            Reply::NeedsPerson(Unclear::SeveralAllowOnce)
        );
        assert_eq!(
            choose(Answer::Deny, &options),
            Reply::NeedsPerson(Unclear::SeveralRefusals)
        );
        assert_eq!(
            choose(Answer::Unanswered, &options),
            Reply::Cancelled(Cancelled::UnclearRefusal)
        );
        assert_eq!(choose(Answer::Option("b"), &options), picked("b"));
    }

    #[test]
    fn a_no_is_never_wider_than_it_was_said() {
        let lasting = offer(&[("once", AllowOnce), ("never", DenyAlways)]);
        assert_eq!(
            choose(Answer::Deny, &lasting),
            Reply::Cancelled(Cancelled::OnlyLastingRefusal)
        );
        assert_eq!(choose(Answer::Option("never"), &lasting), picked("never"));
        assert_eq!(
            choose(Answer::Deny, &offer(&[("once", AllowOnce)])),
            Reply::Cancelled(Cancelled::NoRefusal)
        );
    }

    #[test]
    fn an_id_that_means_two_things_is_never_sent() {
        let options = offer(&[("x", AllowOnce), ("x", Deny)]);
        let shared = Reply::NeedsPerson(Unclear::SharedId("x".to_owned()));
        assert_eq!(choose(Answer::Allow, &options), shared);
        assert_eq!(choose(Answer::Deny, &options), shared);
        assert_eq!(choose(Answer::Option("x"), &options), shared);
        assert_eq!(
            choose(Answer::Option("allow_always"), &options),
            Reply::NeedsPerson(Unclear::NotOffered("allow_always".to_owned()))
        );
    }

    #[test]
    fn answers_to_questions_go_beside_the_outcome() {
        let id = RpcId::from_text("3").unwrap();
        let line = picked("proceed_once")
            .line_with_choices(
                &id,
                &[vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]],
            )
            .unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(&line).unwrap()["result"],
            json!({
                "outcome": { "outcome": "selected", "optionId": "proceed_once" },
                "answers": { "0": "a", "1": "b, c" },
            })
        );
    }

    fn offers() -> impl Strategy<Value = Vec<OfferedOption>> {
        let kind = prop_oneof![
            Just(AllowOnce),
            Just(AllowAlways),
            Just(Deny),
            Just(DenyAlways),
            Just(Other)
        ];
        let option = ("[a-d]?", kind).prop_map(|(id, kind)| OfferedOption {
            name: id.clone(),
            id,
            kind,
            note: String::new(),
        });
        proptest::collection::vec(option, 0..6)
    }

    proptest! {
        #[test]
        fn no_reply_was_not_offered_and_each_means_what_was_said(options in offers(), id in "[a-e]?") {
            for answer in ANSWERS.into_iter().chain([Answer::Option(&id)]) {
                let Reply::Selected(selected) = choose(answer, &options) else {
                    continue;
                };
                let kinds: Vec<OptionKind> = options
                    .iter()
                    .filter(|option| option.id == selected)
                    .map(|option| option.kind)
                    .collect();
                match answer {
                    Answer::Allow => prop_assert_eq!(kinds, [AllowOnce]),
                    Answer::Deny | Answer::Unanswered => prop_assert_eq!(kinds, [Deny]),
                    Answer::Option(picked) => {
                        prop_assert_eq!(picked, selected);
                        prop_assert_eq!(kinds.len(), 1);
                    }
                    Answer::TurnCancelled => prop_assert!(false, "a cancelled turn selected something"),
                }
            }
        }

        #[test]
        fn silence_and_a_cancelled_turn_always_come_to_a_reply(options in offers()) {
            let id = RpcId::from_text("1").unwrap();
            prop_assert!(choose(Answer::Unanswered, &options).line(&id).is_some());
            prop_assert!(choose(Answer::TurnCancelled, &options).line(&id).is_some());
        }
    }
}
