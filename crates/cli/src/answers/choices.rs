//! `answer`: the parts of a question, each with what was chosen or written for it.

use countersign_api::{AnswerKind, AnswerRequest, AskView};
use countersign_core::answer::Choice;
use countersign_core::ask::{Question, Subject};
use countersign_core::visible::visible;

use super::{Settling, give};
use crate::exit::{Exit, Failure};
use crate::{Call, reference};

/// What to answer.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("said").required(true).args(["choices", "parts", "option"]))]
pub struct AnswerQuestion {
    /// The ask
    id: String,
    /// A choice for each part of the question: the number of what is suggested, or what it says; if it has one part, all
    /// that is chosen
    #[arg(value_name = "CHOICE")]
    choices: Vec<String>,
    /// Send what is written as it is: words of your own, or a number that is no choice
    #[arg(long)]
    text: bool,
    /// A choice for one part, by the part's number; repeat it for several choices
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
                let reading = if arguments.text {
                    Reading::AsWritten
                } else {
                    Reading::AsChoices
                };
                assemble(questions, arguments.choices, arguments.parts, reading)?
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

/// How what is written is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// It chooses what is suggested; where nothing is, it is the answer.
    AsChoices,
    /// It is the answer.
    AsWritten,
}

/// The choices for each part, as the API takes them.
fn assemble(
    questions: &[Question],
    choices: Vec<String>,
    parts: Vec<Part>,
    reading: Reading,
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
    if reading == Reading::AsChoices {
        for (chosen, question) in assembled.iter_mut().zip(questions) {
            *chosen = suggested(chosen, question)?;
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

/// The suggestions that `words` choose; where a question suggests nothing, the words themselves.
fn suggested(words: &[String], question: &Question) -> Result<Vec<String>, Failure> {
    let mut chosen = Vec::new();
    for word in words {
        let found = question.choose(word);
        let found = found.map_err(|none| Failure::Usage(format!("{none}; {AS_TEXT}")))?;
        match found {
            Some(labels) => chosen.extend(labels),
            None if question.options.is_empty() || word.trim().is_empty() => {
                chosen.push(word.clone());
            }
            None => {
                let count = question.options.len();
                let word = visible(word);
                let sentence =
                    format!("`{word}` is none of the choices, which are 1 to {count}; {AS_TEXT}");
                return Err(Failure::Usage(sentence));
            }
        }
    }
    Ok(chosen)
}

/// How words are sent that choose nothing.
const AS_TEXT: &str = "`--text` sends words of your own as they are";

#[cfg(test)]
mod tests {
    use super::Reading::{AsChoices, AsWritten};
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
            assemble(&colours, words(&["red", "Blue"]), vec![], AsChoices).unwrap(),
            [words(&["Red", "Blue"])]
        );
        let one = [question(&["Red", "Blue"], false)];
        assert!(assemble(&one, words(&["red", "Blue"]), vec![], AsChoices).is_err());
    }

    #[test]
    fn what_chooses_nothing_is_sent_only_where_that_is_said() {
        let colours = [question(&["Red", "Blue", "Green"], false)];
        let sent = |word: &str, reading| assemble(&colours, words(&[word]), vec![], reading);
        assert_eq!(sent("2", AsChoices).unwrap(), [words(&["Blue"])]);
        for (word, said) in [
            ("9", "there is no choice 9: the choices are 1 to 3"),
            ("0", "there is no choice 0: the choices are 1 to 3"),
            ("2nd", "`2nd` is none of the choices, which are 1 to 3"),
        ] {
            let refused = sent(word, AsChoices).unwrap_err();
            assert!(matches!(refused, Failure::Usage(_)));
            let sentence = refused.to_string();
            assert!(sentence.contains(said), "{sentence}");
            assert!(sentence.contains("--text"), "{sentence}");
            assert_eq!(sent(word, AsWritten).unwrap(), [words(&[word])]);
        }
        let open = [question(&[], false)];
        let sent = assemble(&open, words(&["9"]), vec![], AsChoices).unwrap();
        assert_eq!(sent, [words(&["9"])], "there is nothing to choose from");
    }

    #[test]
    fn of_several_parts_each_takes_one_word_or_what_is_said_of_it_by_number() {
        let both = [question(&["sqlite"], false), question(&["red"], true)];
        assert_eq!(
            assemble(&both, words(&["sqlite", "my own words"]), vec![], AsWritten).unwrap(),
            [words(&["sqlite"]), words(&["my own words"])]
        );
        assert_eq!(
            assemble(
                &both,
                vec![],
                parts(&["2=red", "1=sqlite", "2=a=b"]),
                AsWritten
            )
            .unwrap(),
            [words(&["sqlite"]), words(&["red", "a=b"])]
        );
        assert_eq!(
            assemble(&both, vec![], parts(&["2=1", "1=1"]), AsChoices).unwrap(),
            [words(&["sqlite"]), words(&["red"])]
        );
        for (choices, numbered) in [
            (words(&["sqlite"]), vec![]),
            (vec![], parts(&["1=sqlite"])),
            (vec![], parts(&["1=sqlite", "2=red", "3=x"])),
            (words(&["sqlite", " "]), vec![]),
            (words(&["sqlite", "2"]), vec![]),
        ] {
            assert!(matches!(
                assemble(&both, choices, numbered, AsChoices),
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
