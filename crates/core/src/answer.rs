//! Answers: what a person or a rule says to an ask, and which answers an ask can take.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::actor::{Actor, Surface};
use crate::ask::{OfferedOption, OptionKind, Subject};
use crate::id::RuleId;
use crate::time::Timestamp;

/// The longest reason that is carried to an agent, in bytes.
pub const REASON_LIMIT: usize = 16 * 1024;

/// How far an "always" reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The session that asked.
    Session,
    /// Every session in the workspace.
    Workspace,
}

/// What is said to an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Choice {
    /// Yes, this one time.
    AllowOnce,
    /// Yes, and make a rule of it.
    AllowAlways {
        /// How far the rule reaches.
        scope: Scope,
        /// A glob that the rule allows, in place of exactly what was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
        /// When the rule ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// No.
    Deny {
        /// Why; the agent gets to read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The answers to a question's parts: for each, the labels chosen or the text written.
    Choices {
        /// One list for each part.
        choices: Vec<Vec<String>>,
    },
    /// One of the engine's own options, picked by a person.
    Option {
        /// What the engine calls it: this very id is what it is told.
        id: String,
        /// What choosing it means.
        kind: OptionKind,
        /// Why; the agent gets to read it where the option is a no.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Choice {
    /// Whether the agent may go on with what it asked for.
    pub const fn is_yes(&self) -> bool {
        match self {
            Self::AllowOnce | Self::AllowAlways { .. } | Self::Choices { .. } => true,
            Self::Deny { .. } => false,
            Self::Option { kind, .. } => match kind {
                OptionKind::AllowOnce | OptionKind::AllowAlways | OptionKind::Other => true,
                OptionKind::Deny | OptionKind::DenyAlways => false,
            },
        }
    }

    /// The choice's name, as it is stored and counted.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AllowOnce => "allow_once",
            Self::AllowAlways { .. } => "allow_always",
            Self::Deny { .. } => "deny",
            Self::Choices { .. } => "choices",
            Self::Option { .. } => "option",
        }
    }

    /// Why it is a no, if it is one and says so.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Deny { reason } => reason.as_deref(),
            Self::Option { reason, .. } if !self.is_yes() => reason.as_deref(),
            Self::AllowOnce
            | Self::AllowAlways { .. }
            | Self::Choices { .. }
            | Self::Option { .. } => None,
        }
    }

    /// Fails unless the choice makes sense for an ask about `subject`.
    pub fn check(&self, subject: &Subject) -> Result<(), UnfitAnswer> {
        match (self, subject) {
            (
                Self::Deny {
                    reason: Some(reason),
                }
                | Self::Option {
                    reason: Some(reason),
                    ..
                },
                _,
            ) if reason.len() > REASON_LIMIT => Err(UnfitAnswer::ReasonTooLong {
                length: reason.len(),
            }),
            (
                Self::AllowAlways { .. } | Self::Choices { .. } | Self::Option { .. },
                Subject::WorkspaceWrite { .. },
            ) => Err(UnfitAnswer::WriteIsAllowedOnce),
            (Self::Deny { .. } | Self::Option { .. }, _)
            | (Self::AllowOnce | Self::AllowAlways { .. }, Subject::Permission { .. })
            | (Self::AllowOnce, Subject::WorkspaceWrite { .. }) => Ok(()),
            (Self::AllowOnce | Self::AllowAlways { .. }, Subject::Question { .. }) => {
                Err(UnfitAnswer::QuestionNeedsChoices)
            }
            (Self::Choices { .. }, Subject::Permission { .. }) => Err(UnfitAnswer::NotAQuestion),
            (Self::Choices { choices }, Subject::Question { questions }) => {
                if choices.len() != questions.len() {
                    return Err(UnfitAnswer::WrongNumberOfChoices {
                        expected: questions.len(),
                        got: choices.len(),
                    });
                }
                for (index, (question, chosen)) in questions.iter().zip(choices).enumerate() {
                    if chosen.is_empty() || chosen.iter().any(|text| text.trim().is_empty()) {
                        return Err(UnfitAnswer::EmptyChoice {
                            question: index + 1,
                        });
                    }
                    if chosen.len() > 1 && !question.multiple {
                        return Err(UnfitAnswer::OnlyOneChoice {
                            question: index + 1,
                        });
                    }
                }
                Ok(())
            }
        }
    }

    /// The offered option itself, as a person picks it.
    pub fn picked(
        option: &str,
        offered: &[OfferedOption],
        reason: Option<String>,
    ) -> Result<Self, UnfitAnswer> {
        Ok(Self::Option {
            id: option.to_owned(),
            kind: kind_of(option, offered)?,
            reason: reason.filter(|reason| !reason.trim().is_empty()),
        })
    }

    /// The choice that an offered option stands for.
    pub fn from_option(
        option: &str,
        offered: &[OfferedOption],
        reason: Option<String>,
    ) -> Result<Self, UnfitAnswer> {
        Ok(match kind_of(option, offered)? {
            OptionKind::AllowOnce => Self::AllowOnce,
            OptionKind::AllowAlways => Self::AllowAlways {
                scope: Scope::Session,
                pattern: None,
                expires_at: None,
            },
            OptionKind::Deny | OptionKind::DenyAlways => Self::Deny { reason },
            OptionKind::Other => return Err(UnfitAnswer::UnknownOption(option.to_owned())),
        })
    }
}

/// What choosing an option means, if it was offered.
fn kind_of(option: &str, offered: &[OfferedOption]) -> Result<OptionKind, UnfitAnswer> {
    let found = offered.iter().find(|candidate| candidate.id == option);
    found
        .map(|found| found.kind)
        .ok_or_else(|| UnfitAnswer::NotOffered(option.to_owned()))
}

/// Why an answer cannot be one to this ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfitAnswer {
    /// A question was answered with yes.
    #[error("a question is answered with `choices`, or with `deny`")]
    QuestionNeedsChoices,
    /// A permission was answered with choices.
    #[error("this ask is no question: answer `allow_once`, `allow_always` or `deny`")]
    NotAQuestion,
    /// A write was answered with more than a yes or a no.
    #[error("a workspace write is answered with `allow_once`, or with `deny`")]
    WriteIsAllowedOnce,
    /// The parts do not match.
    #[error("the question has {expected} parts, the answer {got}")]
    WrongNumberOfChoices {
        /// Parts of the question.
        expected: usize,
        /// Parts of the answer.
        got: usize,
    },
    /// A part was left out.
    #[error("part {question} of the question has no answer")]
    EmptyChoice {
        /// Which part, from one.
        question: usize,
    },
    /// Several where one is wanted.
    #[error("part {question} of the question takes one answer")]
    OnlyOneChoice {
        /// Which part, from one.
        question: usize,
    },
    /// No such option.
    #[error("the option `{0}` was not offered")]
    NotOffered(String),
    /// What the option would mean is not known.
    #[error("what the option `{0}` means is not known")]
    UnknownOption(String),
    /// What the answer means among the engine's options is not clear.
    #[error("{0}")]
    Unclear(String),
    /// Too much to say.
    #[error("the reason has {length} bytes; {REASON_LIMIT} is the limit")]
    ReasonTooLong {
        /// How long it is.
        length: usize,
    },
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Answer {
    /// What was said.
    #[serde(flatten)]
    pub choice: Choice,
    /// Who said it.
    pub by: Actor,
    /// Where it was said.
    pub surface: Surface,
    /// When.
    pub at: Timestamp,
    /// The rule that said it, or that it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleId>,
}

impl Answer {
    /// Whether `other` says the same and comes from the same actor: then it is a repetition, not a rival.
    pub fn is_repeated_by(&self, other: &Self) -> bool {
        self.by.id == other.by.id
            && match (&self.choice, &other.choice) {
                // An expiry is counted from the moment of asking, so a repetition differs by that moment.
                (
                    Choice::AllowAlways { scope, pattern, .. },
                    Choice::AllowAlways {
                        scope: scope_again,
                        pattern: pattern_again,
                        ..
                    },
                ) => scope == scope_again && pattern == pattern_again,
                (first, again) => first == again,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Question, QuestionOption};

    fn question(multiple: bool) -> Subject {
        Subject::Question {
            questions: vec![Question {
                header: "Store".to_owned(),
                question: "Which database?".to_owned(),
                options: vec![QuestionOption {
                    label: "sqlite".to_owned(),
                    description: String::new(),
                }],
                multiple,
            }],
        }
    }

    #[test]
    fn a_question_takes_one_answer_for_each_part() {
        let one = Choice::Choices {
            choices: vec![vec!["sqlite".to_owned()]],
        };
        let two = Choice::Choices {
            choices: vec![vec!["sqlite".to_owned(), "postgres".to_owned()]],
        };
        assert_eq!(one.check(&question(false)), Ok(()));
        assert_eq!(
            two.check(&question(false)),
            Err(UnfitAnswer::OnlyOneChoice { question: 1 })
        );
        assert_eq!(two.check(&question(true)), Ok(()));
        assert_eq!(
            Choice::Choices { choices: vec![] }.check(&question(false)),
            Err(UnfitAnswer::WrongNumberOfChoices {
                expected: 1,
                got: 0
            })
        );
        assert_eq!(
            Choice::Choices {
                choices: vec![vec![" ".to_owned()]]
            }
            .check(&question(false)),
            Err(UnfitAnswer::EmptyChoice { question: 1 })
        );
    }

    #[test]
    fn yes_is_no_answer_to_a_question() {
        assert_eq!(
            Choice::AllowOnce.check(&question(false)),
            Err(UnfitAnswer::QuestionNeedsChoices)
        );
    }

    #[test]
    fn an_option_that_was_not_offered_is_refused() {
        let offered = [OfferedOption {
            id: "once".to_owned(),
            name: "Allow once".to_owned(),
            kind: OptionKind::AllowOnce,
            note: String::new(),
        }];
        assert_eq!(
            Choice::from_option("once", &offered, None),
            Ok(Choice::AllowOnce)
        );
        assert_eq!(
            Choice::from_option("allow_always", &offered, None),
            Err(UnfitAnswer::NotOffered("allow_always".to_owned()))
        );
    }
}
