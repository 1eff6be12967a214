//! Answering asks by hand while a turn goes on: one ask at a time, by a key, a reason or a choice.
//!
//! This is the conversation alone: it takes what was typed and says what is to be asked or sent next.

use std::collections::VecDeque;

use countersign_api::{AnswerKind, AnswerRequest, AskView};
use countersign_core::answer::Scope;
use countersign_core::ask::{NoChoice, Question, Subject};
use countersign_core::id::AskId;

/// The asks that the person has still to answer, and how far the first of them has come.
#[derive(Debug, Default)]
pub(super) struct Dialogue {
    waiting: VecDeque<AskView>,
    stage: Stage,
    typed: Vec<u8>,
}

#[derive(Debug, Default)]
enum Stage {
    /// The first ask is not yet on the screen.
    #[default]
    Unasked,
    /// A key is wanted.
    Key,
    /// The line with the reason is wanted.
    Reason,
    /// The line with the next part's answer is wanted.
    Part(Vec<Vec<String>>),
}

/// What to do next.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing: more has to be typed.
    Wait,
    /// Put this on the screen; a key is wanted next.
    AskForKey(String),
    /// Put this on the screen; a line is wanted next.
    AskForLine(String),
    /// Send this answer.
    Send(AskId, AnswerRequest),
    /// The person leaves it to somebody else.
    Leave(AskId),
}

impl Dialogue {
    /// Queues an ask.
    pub(super) fn add(&mut self, ask: AskView) {
        if ask.may_answer && !self.waiting.iter().any(|known| known.id == ask.id) {
            self.waiting.push_back(ask);
        }
    }

    /// Drops an ask that is no longer open; tells whether the person was being asked about it.
    pub(super) fn remove(&mut self, id: AskId) -> bool {
        let first = self.waiting.front().is_some_and(|ask| ask.id == id);
        self.waiting.retain(|ask| ask.id != id);
        let asked = first && !matches!(self.stage, Stage::Unasked);
        if first {
            self.begin_anew();
        }
        asked
    }

    /// Whether something that the person types is wanted.
    pub(super) fn is_waiting(&self) -> bool {
        !matches!(self.stage, Stage::Unasked)
    }

    /// The ask to put to the person next, if they are free for one.
    pub(super) fn next(&self) -> Option<AskId> {
        if self.is_waiting() {
            return None;
        }
        self.waiting.front().map(|ask| ask.id)
    }

    /// Puts the next ask, as it stands now, to the person.
    pub(super) fn begin(&mut self, ask: AskView) -> Step {
        let step = Step::AskForKey(keys(&ask).to_owned());
        if let Some(first) = self.waiting.front_mut() {
            *first = ask;
            self.stage = Stage::Key;
        }
        step
    }

    /// Takes what was typed.
    pub(super) fn type_in(&mut self, typed: &[u8]) -> Step {
        let Some(ask) = self.waiting.front() else {
            return Step::Wait;
        };
        let id = ask.id;
        if matches!(self.stage, Stage::Key) {
            return self.key(id, typed);
        }
        self.typed.extend_from_slice(typed);
        if self.typed.last() != Some(&b'\n') {
            return Step::Wait;
        }
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.typed))
            .trim()
            .to_owned();
        match std::mem::take(&mut self.stage) {
            Stage::Unasked | Stage::Key => Step::Wait,
            Stage::Reason => self.send(
                id,
                AnswerRequest {
                    reason: Some(line).filter(|reason| !reason.is_empty()),
                    ..AnswerRequest::of(AnswerKind::Deny)
                },
            ),
            Stage::Part(choices) => self.part(choices, &line),
        }
    }

    fn key(&mut self, id: AskId, typed: &[u8]) -> Step {
        let question = self
            .waiting
            .front()
            .is_some_and(|ask| matches!(ask.subject, Subject::Question { .. }));
        match (typed, question) {
            (b"a", false) => self.send(id, AnswerRequest::of(AnswerKind::AllowOnce)),
            (b"A", false) => self.send(
                id,
                AnswerRequest {
                    scope: Some(Scope::Session),
                    ..AnswerRequest::of(AnswerKind::AllowAlways)
                },
            ),
            (b"a", true) => {
                self.stage = Stage::Part(Vec::new());
                self.ask_for_part("")
            }
            (b"d", _) => {
                self.stage = Stage::Reason;
                let others = self.siblings();
                let warning = if others == 0 {
                    String::new()
                } else {
                    format!("(the session's other open asks, {others}, fall too) ")
                };
                Step::AskForLine(format!("Why not? The agent reads it: {warning}"))
            }
            (b"l", _) => {
                self.waiting.pop_front();
                self.begin_anew();
                Step::Leave(id)
            }
            _ => Step::Wait,
        }
    }

    fn part(&mut self, mut choices: Vec<Vec<String>>, line: &str) -> Step {
        let Some(questions) = self.questions() else {
            return Step::Wait;
        };
        let count = questions.len();
        if let Some(question) = questions.get(choices.len()) {
            match choose(question, line) {
                Ok(chosen) if chosen.is_empty() => {}
                Ok(chosen) => choices.push(chosen),
                Err(none) => {
                    self.stage = Stage::Part(choices);
                    return self
                        .ask_for_part(&format!("{none}. Quotes around it send it as words.\n"));
                }
            }
        }
        if choices.len() < count {
            self.stage = Stage::Part(choices);
            return self.ask_for_part("");
        }
        let Some(id) = self.waiting.front().map(|ask| ask.id) else {
            return Step::Wait;
        };
        self.send(
            id,
            AnswerRequest {
                choices: Some(choices),
                ..AnswerRequest::of(AnswerKind::Choices)
            },
        )
    }

    fn ask_for_part(&self, before: &str) -> Step {
        let (Some(questions), Stage::Part(choices)) = (self.questions(), &self.stage) else {
            return Step::Wait;
        };
        let number = choices.len();
        let hint = match questions.get(number) {
            Some(question) if question.options.is_empty() => "in your words",
            Some(question) if question.multiple => "numbers with commas between, or your words",
            Some(_) | None => "a number, or your words",
        };
        Step::AskForLine(format!(
            "{before}Part {} of {}, {hint}: ",
            number + 1,
            questions.len()
        ))
    }

    /// How many other asks fall if the first is denied, counting those that came after it was shown.
    fn siblings(&self) -> usize {
        let Some(first) = self.waiting.front() else {
            return 0;
        };
        let mut others: Vec<AskId> = first.siblings.clone();
        others.extend(
            self.waiting
                .iter()
                .filter(|ask| ask.session == first.session && ask.id != first.id)
                .map(|ask| ask.id),
        );
        others.sort_unstable();
        others.dedup();
        others.len()
    }

    fn questions(&self) -> Option<&[Question]> {
        match &self.waiting.front()?.subject {
            Subject::Question { questions } => Some(questions),
            Subject::Permission { .. } | Subject::WorkspaceWrite { .. } => None,
        }
    }

    fn send(&mut self, id: AskId, request: AnswerRequest) -> Step {
        self.waiting.pop_front();
        self.begin_anew();
        Step::Send(id, request)
    }

    fn begin_anew(&mut self) {
        self.stage = Stage::Unasked;
        self.typed.clear();
    }
}

fn keys(ask: &AskView) -> &'static str {
    match ask.subject {
        Subject::Permission { .. } => {
            "[a] allow once  [A] always in this session  [d] deny  [l] leave it "
        }
        Subject::Question { .. } => "[a] answer  [d] deny  [l] leave it ",
        Subject::WorkspaceWrite { .. } => "[a] allow once  [d] deny  [l] leave it ",
    }
}

/// What a line chooses: suggestions by their numbers, or the words themselves. Words in quotes choose nothing.
fn choose(question: &Question, line: &str) -> Result<Vec<String>, NoChoice> {
    let quoted = line
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|words| !words.trim().is_empty());
    if let Some(words) = quoted {
        return Ok(vec![words.to_owned()]);
    }
    Ok(match question.choose(line)? {
        Some(labels) => labels,
        None if line.is_empty() => Vec::new(),
        None => vec![line.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{ask, bash};
    use serde_json::json;

    fn permission() -> AskView {
        bash("ls", &json!({}))
    }

    fn begun(ask: AskView) -> Dialogue {
        let mut dialogue = Dialogue::default();
        dialogue.add(ask.clone());
        assert_eq!(dialogue.next(), Some(ask.id));
        assert!(matches!(dialogue.begin(ask), Step::AskForKey(_)));
        dialogue
    }

    #[test]
    fn a_key_allows_once_and_a_capital_one_for_the_session() {
        let id = permission().id;
        assert_eq!(
            begun(permission()).type_in(b"a"),
            Step::Send(id, AnswerRequest::of(AnswerKind::AllowOnce))
        );
        let Step::Send(_, always) = begun(permission()).type_in(b"A") else {
            panic!("A answers");
        };
        assert_eq!(always.answer, AnswerKind::AllowAlways);
        assert_eq!(always.scope, Some(Scope::Session));
    }

    #[test]
    fn keys_that_mean_nothing_and_pasted_text_answer_nothing() {
        let mut dialogue = begun(permission());
        for typed in [b"x".as_slice(), b"\n", b"aa", b"\x1b[A", b"allow"] {
            assert_eq!(dialogue.type_in(typed), Step::Wait);
        }
        assert!(dialogue.is_waiting());
    }

    #[test]
    fn a_denial_takes_a_line_for_its_reason() {
        let mut dialogue = begun(permission());
        dialogue.add(bash(
            "pwd",
            &json!({"id": "ask_01jc0000000000000000k3v9qb"}),
        ));
        let Step::AskForLine(text) = dialogue.type_in(b"d") else {
            panic!("a reason is wanted");
        };
        assert!(text.contains("other open asks, 1, fall too"), "{text}");
        assert_eq!(dialogue.type_in("not n".as_bytes()), Step::Wait);
        let Step::Send(_, denial) = dialogue.type_in("öw\n".as_bytes()) else {
            panic!("the line is complete");
        };
        assert_eq!(denial.reason.as_deref(), Some("not nöw"));
        assert!(!dialogue.is_waiting());
    }

    #[test]
    fn a_question_is_answered_part_by_part_with_numbers_or_words() {
        let options = json!([
            {"label": "red", "description": ""},
            {"label": "blue", "description": ""},
        ]);
        let subject = json!({"kind": "question", "questions": [
            {"header": "", "question": "one?", "multiple": false, "options": options},
            {"header": "", "question": "many?", "multiple": true, "options": options},
        ]});
        let mut dialogue = begun(ask(&subject, "one?", &json!({})));
        assert!(matches!(dialogue.type_in(b"a"), Step::AskForLine(_)));
        assert!(matches!(dialogue.type_in(b"\n"), Step::AskForLine(_)));
        assert!(matches!(dialogue.type_in(b"green\n"), Step::AskForLine(_)));
        let Step::Send(_, answer) = dialogue.type_in(b"2, 1\n") else {
            panic!("both parts are there");
        };
        let expected = [vec!["green"], vec!["blue", "red"]]
            .map(|part| part.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(answer.choices, Some(expected.to_vec()));
    }

    #[test]
    fn a_number_that_is_no_choice_is_asked_for_again_and_sent_only_in_quotes() {
        let option = |label: &str| json!({"label": label, "description": ""});
        let subject = json!({"kind": "question", "questions": [{
            "header": "", "question": "one?", "multiple": false,
            "options": [option("red"), option("blue"), option("green")],
        }]});
        for (typed, sent) in [("3\n", "green"), ("\"9\"\n", "9")] {
            let mut dialogue = begun(ask(&subject, "one?", &json!({})));
            dialogue.type_in(b"a");
            let Step::AskForLine(again) = dialogue.type_in(b"9\n") else {
                panic!("a number that is no choice answers nothing");
            };
            assert!(
                again.contains("there is no choice 9: the choices are 1 to 3"),
                "{again}"
            );
            assert!(again.contains("Part 1 of 1"), "{again}");
            let Step::Send(_, answer) = dialogue.type_in(typed.as_bytes()) else {
                panic!("{typed} answers");
            };
            assert_eq!(answer.choices, Some(vec![vec![sent.to_owned()]]));
        }
    }

    #[test]
    fn an_ask_that_somebody_else_answered_is_taken_off_the_screen() {
        let mut dialogue = begun(permission());
        dialogue.type_in(b"d");
        assert!(dialogue.remove(permission().id));
        assert!(!dialogue.is_waiting());
        assert_eq!(dialogue.type_in(b"a"), Step::Wait);
    }

    #[test]
    fn an_ask_that_the_person_may_not_answer_is_not_put_to_them() {
        let mut dialogue = Dialogue::default();
        dialogue.add(bash("ls", &json!({"may_answer": false})));
        assert!(dialogue.next().is_none());
    }
}
