//! opencode's commands: a template, and what was written behind the command's name.
//!
//! opencode would put them together itself, and would run what a template has between `` !` `` and `` ` `` in a shell without
//! asking anybody. So they are put together here and sent as the prompt that they make, whose repetition says nothing
//! twice; and a template that would run something by itself is refused.

use countersign_core::settings::SlashCommand;
use serde::Deserialize;

/// What stands for everything that was written behind the name.
const ALL: &str = "$ARGUMENTS";

/// A command of opencode's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    #[serde(default)]
    description: Option<String>,
    /// What it says; nothing in the lists of some older servers.
    #[serde(default)]
    template: Option<String>,
    /// The agent that it is for.
    #[serde(default)]
    pub agent: Option<String>,
    /// The model that it is for, as `provider/model`.
    #[serde(default)]
    pub model: Option<String>,
}

impl Command {
    /// What people are offered; nothing if it cannot be said from here.
    pub(super) fn offered(&self) -> Option<SlashCommand> {
        let template = self.template.as_deref().unwrap_or_default();
        let takes_something = template.contains(ALL) || highest(template).is_some();
        (!template.is_empty() && !self.runs_by_itself()).then(|| SlashCommand {
            name: self.name.clone(),
            description: self.description.clone().unwrap_or_default(),
            hint: if takes_something { "…" } else { "" }.to_owned(),
        })
    }

    /// Whether it would run something in a shell before anybody is asked.
    pub fn runs_by_itself(&self) -> bool {
        let template = self.template.as_deref().unwrap_or_default();
        template.contains("!`")
    }

    /// The prompt that it makes of `prompt`, which begins with its name; nothing if what it says is not known.
    pub fn expanded(&self, prompt: &str) -> Option<String> {
        let template = self.template.as_deref().filter(|it| !it.is_empty())?;
        let behind = prompt.get(self.name.len() + 1..)?.trim();
        let words = words(behind);
        let last = highest(template);
        let with_words = fill(template, &words, last);
        let whole = with_words.replace(ALL, behind);
        let is_taken = last.is_some() || template.contains(ALL);
        Some(if is_taken || behind.is_empty() {
            whole.trim().to_owned()
        } else {
            format!("{}\n\n{behind}", whole.trim())
        })
    }
}

/// The words that were written, of which a quoted one may have blanks in it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let quoted = ['"', '\'']
            .contains(&first)
            .then(|| rest[1..].find(first))
            .flatten();
        let (word, behind) = match quoted {
            Some(end) => (&rest[1..=end], &rest[end + 2..]),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

/// The digits at the beginning of a text.
fn digits(text: &str) -> &str {
    let end = text.find(|it: char| !it.is_ascii_digit());
    &text[..end.unwrap_or(text.len())]
}

/// The highest place of a word that a template has room for.
fn highest(template: &str) -> Option<usize> {
    let places = template.split('$').skip(1).map(digits);
    places.filter_map(|place| place.parse().ok()).max()
}

/// Puts words in their places; the last place has room for all that are left.
fn fill(template: &str, words: &[&str], last: Option<usize>) -> String {
    let mut pieces = template.split('$');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let number = digits(piece);
        let Ok(place) = number.parse::<usize>() else {
            filled.push('$');
            filled.push_str(piece);
            continue;
        };
        let behind = words.get(place.saturating_sub(1)..).unwrap_or_default();
        if Some(place) == last {
            filled.push_str(&behind.join(" "));
        } else {
            filled.push_str(behind.first().copied().unwrap_or_default());
        }
        filled.push_str(&piece[number.len()..]);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(template: &str) -> Command {
        Command {
            name: "tidy".to_owned(),
            description: None,
            template: Some(template.to_owned()),
            agent: None,
            model: None,
        }
    }

    #[test]
    fn what_was_written_takes_its_places_as_opencode_would_put_it() {
        for (template, prompt, expected) in [
            (
                "Tidy $ARGUMENTS now",
                "/tidy the  shed",
                "Tidy the  shed now",
            ),
            (
                "Tidy $1, then $2",
                "/tidy shed \"the old barn\" too",
                "Tidy shed, then the old barn too",
            ),
            ("Tidy $2 and $1", "/tidy a", "Tidy  and a"),
            ("Tidy up", "/tidy", "Tidy up"),
            ("Tidy up", "/tidy the shed", "Tidy up\n\nthe shed"),
            (
                "It costs $5 and $HOME",
                "/tidy a b c d e f",
                "It costs e f and $HOME",
            ),
            ("Say $1", "/tidy 'it''s", "Say it 's"),
            ("Grüße an $1", "/tidy Jürgen", "Grüße an Jürgen"),
        ] {
            assert_eq!(
                command(template).expanded(prompt).as_deref(),
                Some(expected),
                "{template}"
            );
        }
    }

    #[test]
    fn a_template_that_runs_something_by_itself_is_not_offered() {
        let runs = command("Today is !`date`");
        assert!(runs.runs_by_itself());
        assert_eq!(runs.offered(), None);
        // What somebody writes is never run, whatever it looks like.
        let said = command("Tidy $ARGUMENTS").expanded("/tidy !`date`");
        assert_eq!(said.as_deref(), Some("Tidy !`date`"));
    }

    #[test]
    fn a_command_whose_words_are_not_known_is_not_offered() {
        let mute = Command {
            template: None,
            ..command("")
        };
        assert_eq!(mute.offered(), None);
        assert_eq!(mute.expanded("/tidy"), None);
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_is_put_together(template in "\\PC{0,40}|[$0-9a\"' ]{0,20}", behind in "\\PC{0,40}|[\"' a]{0,20}") {
            let command = command(&template);
            let said = command.expanded(&format!("/tidy {behind}"));
            proptest::prop_assert_eq!(said.is_none(), template.is_empty());
        }
    }
}
