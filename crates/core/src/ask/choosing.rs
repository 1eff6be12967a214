//! What somebody's words choose of what a question suggests.

use crate::ask::Question;

/// Words that choose nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoChoice {
    /// A number that no suggestion has.
    #[error("there is no choice {number}: the choices are 1 to {count}")]
    OutOfRange {
        /// The number, as it was written.
        number: String,
        /// How many suggestions there are.
        count: usize,
    },
    /// Several numbers, where one may be chosen.
    #[error("only one choice can be made here: a number from 1 to {count}")]
    OnlyOne {
        /// How many suggestions there are.
        count: usize,
    },
}

impl Question {
    /// The suggestions that `words` choose: by a number, by several with commas between where several may be chosen, or
    /// by what a suggestion says, in whatever letters. Nothing if they are words of their own. A number is never taken
    /// for words where something is suggested.
    pub fn choose(&self, words: &str) -> Result<Option<Vec<String>>, NoChoice> {
        let words = words.trim();
        if let Some(label) = self.suggestion(words) {
            return Ok(Some(vec![label]));
        }
        let parts: Vec<&str> = words.split(',').map(str::trim).collect();
        let is_number =
            |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if self.options.is_empty() || !parts.iter().all(is_number) {
            return Ok(None);
        }
        let count = self.options.len();
        if parts.len() > 1 && !self.multiple {
            return Err(NoChoice::OnlyOne { count });
        }
        let label = |part: &&str| {
            let place = part.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
            let option = place.and_then(|place| self.options.get(place));
            option
                .map(|option| option.label.clone())
                .ok_or_else(|| NoChoice::OutOfRange {
                    number: (*part).to_owned(),
                    count,
                })
        };
        parts.iter().map(label).collect::<Result<_, _>>().map(Some)
    }

    /// The suggestion that says `words`, in whatever letters.
    fn suggestion(&self, words: &str) -> Option<String> {
        let exact = self.options.iter().find(|option| option.label == words);
        let lower = words.to_lowercase();
        let same = || {
            let mut options = self.options.iter();
            options.find(|option| option.label.to_lowercase() == lower)
        };
        exact.or_else(same).map(|option| option.label.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::QuestionOption;

    fn question(labels: &[&str], multiple: bool) -> Question {
        let option = |label: &&str| QuestionOption {
            label: (*label).to_owned(),
            description: String::new(),
        };
        Question {
            header: String::new(),
            question: "which?".to_owned(),
            options: labels.iter().map(option).collect(),
            multiple,
        }
    }

    fn chosen(question: &Question, words: &str) -> Option<Vec<String>> {
        question.choose(words).unwrap()
    }

    #[test]
    fn a_number_chooses_a_suggestion_unless_it_is_what_one_says() {
        let colours = question(&["Red", "Blue"], false);
        assert_eq!(chosen(&colours, " 2 "), Some(vec!["Blue".to_owned()]));
        assert_eq!(chosen(&colours, "02"), Some(vec!["Blue".to_owned()]));
        assert_eq!(chosen(&colours, "red"), Some(vec!["Red".to_owned()]));
        let counts = question(&["2", "1"], false);
        assert_eq!(chosen(&counts, "2"), Some(vec!["2".to_owned()]));
    }

    #[test]
    fn a_number_that_no_suggestion_has_is_refused_with_those_there_are() {
        let colours = question(&["Red", "Blue", "Green"], false);
        for number in ["0", "4", "9", "99999999999999999999999"] {
            let refused = colours.choose(number).unwrap_err();
            let expected = format!("there is no choice {number}: the choices are 1 to 3");
            assert_eq!(refused.to_string(), expected);
        }
        assert_eq!(colours.choose("1, 2"), Err(NoChoice::OnlyOne { count: 3 }));
    }

    #[test]
    fn several_numbers_choose_where_several_may_be_chosen() {
        let colours = question(&["Red", "Blue"], true);
        let both = Some(vec!["Blue".to_owned(), "Red".to_owned()]);
        assert_eq!(chosen(&colours, "2, 1"), both);
        assert!(colours.choose("1,3").is_err());
    }

    #[test]
    fn what_is_no_number_or_has_nothing_to_choose_from_is_words() {
        let colours = question(&["Red", "Blue"], false);
        for words in ["2nd", "-1", "1.5", "green", "", "1,"] {
            assert_eq!(chosen(&colours, words), None, "{words}");
        }
        assert_eq!(chosen(&question(&[], false), "9"), None);
    }
}
