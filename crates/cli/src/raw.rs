//! What a plugin hands over as one argument, taken apart before the command line is read.
//!
//! `countersign status "$ARGUMENTS"` passes everything that a person typed as a single word, or an empty one.
//! Only what stands before a prompt is taken for flags. From its first word on a prompt is passed on as it was written,
//! behind `--`, so that nothing in it can be mistaken for a flag.

use std::ffi::{OsStr, OsString};

/// What follows a command's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// A prompt, in somebody's own words.
    Prompt,
    /// Ids, or nothing.
    Words,
}

/// The commands of jobs; scripts that knew them before rely on 0, 1 and 2 for their exit codes.
const COMMANDS: [(&str, Follows); 16] = [
    ("setup", Follows::Words),
    ("task", Follows::Prompt),
    ("review", Follows::Words),
    ("adversarial-review", Follows::Prompt),
    ("status", Follows::Words),
    ("result", Follows::Words),
    ("wait-and-result", Follows::Words),
    ("cancel", Follows::Words),
    ("heal", Follows::Words),
    ("config", Follows::Words),
    ("task-resume-candidate", Follows::Words),
    ("attach", Follows::Words),
    ("watch", Follows::Words),
    ("logs", Follows::Words),
    ("keep", Follows::Words),
    ("discard", Follows::Words),
];

/// The flags of commands with a prompt whose value is the word after them.
const TAKE_A_VALUE: [&str; 20] = [
    "--model",
    "-m",
    "--agent",
    "--effort",
    "--engine",
    "--resume",
    "--prompt-file",
    "--on-ask",
    "--ask-expiry",
    "--deadline",
    "--idle-limit",
    "--priority",
    "--cwd",
    "-C",
    "--base",
    "--scope",
    "--url",
    "--token-file",
    "--title",
    "--session",
];

/// Whether the command line `words`, without the program's name, calls a command of jobs.
pub fn is_of_jobs(words: &[OsString]) -> bool {
    words.first().is_some_and(|word| follows(word).is_some())
}

fn follows(command: &OsStr) -> Option<Follows> {
    let known = COMMANDS.iter().find(|(name, _)| *name == command)?;
    Some(known.1)
}

/// The command line `words`, the program's name first, with an argument that stands for several taken apart.
pub fn spread(words: Vec<OsString>) -> Vec<OsString> {
    let [_, command, raw] = words.as_slice() else {
        return words;
    };
    let (Some(follows), Some(raw)) = (follows(command), raw.to_str()) else {
        return words;
    };
    let spread = match follows {
        Follows::Words => split(raw),
        Follows::Prompt if raw.trim_start().starts_with('-') => before_prompt(raw),
        // Nothing but a prompt; one that is empty may stand on standard input.
        Follows::Prompt if raw.trim().is_empty() => Vec::new(),
        Follows::Prompt => return words,
    };
    let kept = words.iter().take(2).cloned();
    kept.chain(spread.into_iter().map(OsString::from)).collect()
}

/// The flags that stand before a prompt, and behind `--` the prompt as it was written.
fn before_prompt(raw: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = raw.trim_start();
    while rest.starts_with('-') {
        let (flag, after) = next_word(rest);
        rest = after.trim_start();
        if flag == "--" {
            break;
        }
        let takes_a_value = TAKE_A_VALUE.contains(&flag.as_str());
        words.push(flag);
        if takes_a_value && !rest.is_empty() {
            let (value, after) = next_word(rest);
            rest = after.trim_start();
            words.push(value);
        }
    }
    if !rest.is_empty() {
        words.push("--".to_owned());
        words.push(rest.to_owned());
    }
    words
}

/// All words of `raw`, as a shell would part them.
fn split(raw: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = raw.trim();
    while !rest.is_empty() {
        let (word, after) = next_word(rest);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// The word at the beginning of `text`, with its quotes taken off, and what follows it. A quote without an end is a
/// character like any other: people write apostrophes.
fn next_word(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character.is_whitespace() {
            break;
        }
        let after = &rest[character.len_utf8()..];
        let quoted = matches!(character, '"' | '\'')
            .then(|| after.split_once(character))
            .flatten();
        if let Some((inside, after)) = quoted {
            word.push_str(inside);
            rest = after;
        } else {
            word.push(character);
            rest = after;
        }
    }
    (word, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_out(words: &[&str]) -> Vec<String> {
        let all = ["countersign"].iter().chain(words);
        let spread = spread(all.map(OsString::from).collect());
        let spread = spread.into_iter().skip(1);
        spread.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn one_argument_that_stands_for_several_is_taken_apart() {
        assert_eq!(
            spread_out(&["status", "task-abc --json"]),
            ["status", "task-abc", "--json"]
        );
        assert_eq!(spread_out(&["status", ""]), ["status"]);
        assert_eq!(
            spread_out(&["review", "--base 'my branch'"]),
            ["review", "--base", "my branch"]
        );
        // What the shell has parted already, and other commands, stay as they are.
        for words in [
            &["status", "a", "b c"][..],
            &["show", "a b"],
            &["status"],
            &[],
        ] {
            assert_eq!(spread_out(words), words);
        }
    }

    #[test]
    fn of_a_prompt_only_what_stands_before_it_is_taken_for_flags() {
        assert_eq!(
            spread_out(&["task", "--background -m big fix  it, don't run --oneline"]),
            [
                "task",
                "--background",
                "-m",
                "big",
                "--",
                "fix  it, don't run --oneline"
            ]
        );
        assert_eq!(
            spread_out(&["task", "--write -- --background is a flag"]),
            ["task", "--write", "--", "--background is a flag"]
        );
        assert_eq!(
            spread_out(&["task", "run git log --oneline"]),
            ["task", "run git log --oneline"]
        );
        assert_eq!(spread_out(&["task", " "]), ["task"]);
        assert_eq!(
            spread_out(&["task", "--resume last"]),
            ["task", "--resume", "last"]
        );
    }

    #[test]
    fn the_commands_of_jobs_are_known() {
        assert!(is_of_jobs(&["wait-and-result".into()]));
        assert!(!is_of_jobs(&["inbox".into()]));
        assert!(!is_of_jobs(&[]));
    }
}
