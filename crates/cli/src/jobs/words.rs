//! The words of a prompt: behind the command, in a file, or on standard input.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::Path;

use anyhow::Context as _;

use crate::exit::Failure;

/// More than a prompt is ever meant to be, and less than the server takes with what is put before it.
const LONGEST: u64 = (1 << 20) - (16 << 10);

/// Words that are flags where flags are read; behind the first word of a prompt they are part of it.
const FLAGS: [&str; 6] = [
    "--background",
    "--wait",
    "--write",
    "--read-only",
    "--fresh",
    "--resume-last",
];

/// Where the words of a prompt come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    /// What was written behind the command.
    pub(super) words: &'a [String],
    /// The file that holds them.
    pub(super) file: Option<&'a Path>,
}

/// Reads the prompt; what stands in a file or on standard input is taken as it is.
pub(super) fn read(source: Source<'_>) -> anyhow::Result<String> {
    let stdin = io::stdin();
    let text = match (source.file, source.words) {
        (Some(_), [_, ..]) => {
            let both = "the prompt is in a file and behind the command; say it once";
            return Err(Failure::Usage(both.to_owned()).into());
        }
        (Some(file), []) if file == Path::new("-") => read_all(stdin)?,
        (Some(file), []) => {
            let opened = std::fs::File::open(file)
                .with_context(|| format!("failed to open the prompt file {}", file.display()))?;
            read_all(opened)
                .with_context(|| format!("failed to read the prompt file {}", file.display()))?
        }
        (None, [dash]) if dash == "-" => read_all(stdin)?,
        (None, []) if !stdin.is_terminal() => read_all(stdin)?,
        (None, words) => words.join(" "),
    };
    if text.trim().is_empty() {
        let none = "No task text provided. Write it behind the command, into a file for --prompt-file, or to standard input";
        return Err(Failure::Usage(none.to_owned()).into());
    }
    Ok(text)
}

fn read_all(input: impl io::Read) -> anyhow::Result<String> {
    let mut text = String::new();
    input
        .take(LONGEST + 1)
        .read_to_string(&mut text)
        .context("failed to read the prompt")?;
    if text.len() as u64 > LONGEST {
        let sentence =
            "the prompt is longer than a mebibyte; put what it is about into files and name them";
        return Err(Failure::Usage(sentence.to_owned()).into());
    }
    Ok(text)
}

/// The flag at the end of a prompt that was perhaps meant as one.
pub(super) fn stray_flag(words: &[String]) -> Option<&'static str> {
    let last = words.last()?.split_whitespace().next_back()?;
    let is_alone = words.len() == 1 && words[0].trim() == last;
    FLAGS
        .into_iter()
        .find(|flag| *flag == last)
        .filter(|_| !is_alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_prompt_is_what_was_written_behind_the_command_or_in_a_file() {
        let said = words(&["run", "git", "log", "--oneline"]);
        let source = Source {
            words: &said,
            file: None,
        };
        assert_eq!(read(source).unwrap(), "run git log --oneline");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("prompt");
        std::fs::write(&file, "--background $HOME `x`\n").unwrap();
        let source = Source {
            words: &[],
            file: Some(&file),
        };
        assert_eq!(read(source).unwrap(), "--background $HOME `x`\n");
        let both = Source {
            words: &said,
            file: Some(&file),
        };
        assert!(read(both).is_err());
        std::fs::write(&file, " \n").unwrap();
        assert!(
            read(source)
                .unwrap_err()
                .to_string()
                .contains("No task text")
        );
    }

    #[test]
    fn a_flag_behind_a_prompt_is_noticed() {
        assert_eq!(
            stray_flag(&words(&["fix", "it", "--background"])),
            Some("--background")
        );
        assert_eq!(
            stray_flag(&words(&["fix it --background"])),
            Some("--background")
        );
        assert_eq!(stray_flag(&words(&["git", "log", "--oneline"])), None);
        assert_eq!(stray_flag(&[]), None);
    }
}
