//! `answer`: the parts of a question, each with what was chosen or written for it.

use countersign_api::{AnswerKind, AnswerRequest, AskView};
use countersign_core::answer::Choice;
use countersign_core::ask::{Question, Subject};

use super::{Settling, give};
use crate::exit::{Exit, Failure};
use crate::{Call, reference};

/// What to answer.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("said").required(true).args(["choices", "parts", "option"]))]
pub struct AnswerQuestion {
    /// The ask
    id: String,
    /// An answer for each part of the question, in words or by the number of a suggested one; if it has one part, all that
    /// is chosen
    #[arg(value_name = "CHOICE")]
    choices: Vec<String>,
    /// An answer for one part, by its number; repeat it for several choices
    #[arg(long = "part", value_name = "NUMBER=CHOICE", value_parser = parse_part)]
    parts: Vec<Part>,
    /// One of the options that the engine offers, by its id
    #[arg(long, value_name = "OPTION")]
    option: Option<String>,
    /// Why, with an option that denies; the agent gets to read it
    #[arg(long, short, value_name = "TEXT", requires = "option")]
    reason: Option<String>,
    #[command(flatten)]
    settling: Settling,
}

/// An answer for one part of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    number: usize,
    choice: String,
}

fn parse_part(text: &str) -> Result<Part, String> {
    let (number, choice) = text
        .split_once('=')
        .ok_or("write the part's number, `=`, and the answer: 2=blue")?;
    match number.parse() {
        Ok(number) if number > 0 => Ok(Part {
            number,
            choice: choice.to_owned(),
        }),
        Ok(_) | Err(_) => Err(format!(
            "`{number}` is not the number of a part; the first is 1"
        )),
    }
}

pub(crate) async fn answer(call: &mut Call<'_>, arguments: AnswerQuestion) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let id = reference::ask(&connection, &arguments.id).await?;
    let request = if let Some(option) = arguments.option {
        AnswerRequest {
            option: Some(option),
            reason: arguments.reason,
            ..AnswerRequest::of(AnswerKind::Option)
        }
    } else {
        let ask: AskView = connection.get(&format!("/api/v1/asks/{id}")).await?.value;
        let choices = match &ask.subject {
            Subject::Question { questions } => {
                assemble(questions, arguments.choices, arguments.parts)?
            }
            // The server knows best how it stands, and says what it takes.
            Subject::Permission { .. } | Subject::WorkspaceWrite { .. } => vec![arguments.choices],
        };
        AnswerRequest {
            choices: Some(choices),
            ..AnswerRequest::of(AnswerKind::Choices)
        }
    };
    give(call, &connection, id, &request, &arguments.settling).await
}

/// The choices for each part, as the API takes them.
fn assemble(
    questions: &[Question],
    choices: Vec<String>,
    parts: Vec<Part>,
) -> Result<Vec<Vec<String>>, Failure> {
    let mut assembled: Vec<Vec<String>> = if choices.is_empty() {
        vec![Vec::new(); questions.len()]
    } else if questions.len() == 1 {
        vec![choices]
    } else {
        choices.into_iter().map(|choice| vec![choice]).collect()
    };
    for part in parts {
        let slot = assembled.get_mut(part.number - 1).ok_or_else(|| {
            Failure::Usage(format!(
                "the question has {} parts, and no part {}",
                questions.len(),
                part.number
            ))
        })?;
        slot.push(part.choice);
    }
    for (chosen, question) in assembled.iter_mut().zip(questions) {
        for choice in chosen {
            *choice = as_suggested(choice, question);
        }
    }
    let subject = Subject::Question {
        questions: questions.to_vec(),
    };
    let choice = Choice::Choices { choices: assembled };
    choice
        .check(&subject)
        .map_err(|unfit| Failure::Usage(unfit.to_string()))?;
    match choice {
        Choice::Choices { choices } => Ok(choices),
        Choice::AllowOnce
        | Choice::AllowAlways { .. }
        | Choice::Deny { .. }
        | Choice::Option { .. } => Ok(Vec::new()),
    }
}

/// The suggested answer that `choice` spells in other letters or names by its number, or its own words.
pub(crate) fn as_suggested(choice: &str, question: &Question) -> String {
    let exact = question
        .options
        .iter()
        .find(|option| option.label == choice);
    let same = || {
        question
            .options
            .iter()
            .find(|option| option.label.to_lowercase() == choice.trim().to_lowercase())
    };
    let numbered = || {
        let number: usize = choice.trim().parse().ok()?;
        question.options.get(number.checked_sub(1)?)
    };
    exact
        .or_else(same)
        .or_else(numbered)
        .map_or_else(|| choice.to_owned(), |option| option.label.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::ask::QuestionOption;

    fn question(labels: &[&str], multiple: bool) -> Question {
        Question {
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
        }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn parts(parts: &[&str]) -> Vec<Part> {
        parts.iter().map(|part| parse_part(part).unwrap()).collect()
    }

    #[test]
    fn the_one_part_of_a_question_takes_all_that_is_chosen() {
        let colours = [question(&["Red", "Blue"], true)];
        assert_eq!(
            assemble(&colours, words(&["red", "Blue"]), vec![]).unwrap(),
            [words(&["Red", "Blue"])]
        );
        let one = [question(&["Red", "Blue"], false)];
        assert!(assemble(&one, words(&["red", "Blue"]), vec![]).is_err());
    }

    #[test]
    fn a_number_names_a_suggestion_unless_it_is_one() {
        let colours = [question(&["Red", "Blue"], false)];
        let chosen = |questions: &[Question], word: &str| {
            assemble(questions, words(&[word]), vec![]).unwrap()[0][0].clone()
        };
        assert_eq!(chosen(&colours, "2"), "Blue");
        for own_words in ["0", "3", "2nd"] {
            assert_eq!(chosen(&colours, own_words), own_words);
        }
        let counts = [question(&["2", "1"], false)];
        assert_eq!(chosen(&counts, "2"), "2", "that is what it says");
        assert_eq!(chosen(&counts, "1"), "1");
    }

    #[test]
    fn of_several_parts_each_takes_one_word_or_what_is_said_of_it_by_number() {
        let both = [question(&["sqlite"], false), question(&["red"], true)];
        assert_eq!(
            assemble(&both, words(&["sqlite", "my own words"]), vec![]).unwrap(),
            [words(&["sqlite"]), words(&["my own words"])]
        );
        assert_eq!(
            assemble(&both, vec![], parts(&["2=red", "1=sqlite", "2=a=b"])).unwrap(),
            [words(&["sqlite"]), words(&["red", "a=b"])]
        );
        for (choices, numbered) in [
            (words(&["sqlite"]), vec![]),
            (vec![], parts(&["1=sqlite"])),
            (vec![], parts(&["1=sqlite", "2=red", "3=x"])),
            (words(&["sqlite", " "]), vec![]),
        ] {
            assert!(matches!(
                assemble(&both, choices, numbered),
                Err(Failure::Usage(_))
            ));
        }
    }

    #[test]
    fn a_part_has_a_number_from_one_on() {
        for text in ["blue", "0=blue", "x=blue", "-1=blue"] {
            assert!(parse_part(text).is_err(), "{text}");
        }
    }
}
