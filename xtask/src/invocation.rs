//! One command to run: it can say itself as a line that a person can paste into a shell.

use std::{
    env,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail};

/// How often a command is tried that depends on a package registry.
const TRIES: usize = 3;

/// A program with its arguments, its directory and what it finds in its environment.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
    directory: PathBuf,
}

impl Invocation {
    /// `line` is split at spaces: a program and its arguments.
    pub(crate) fn new(directory: &Path, line: &str) -> Self {
        let mut words = line.split_whitespace().map(str::to_owned);
        Self {
            program: words.next().unwrap_or_default(),
            arguments: words.collect(),
            environment: Vec::new(),
            directory: directory.to_owned(),
        }
    }

    /// Runs `program` in place of the one that the line named.
    pub(crate) fn program(mut self, program: &Path) -> Self {
        self.program = program.display().to_string();
        self
    }

    /// Adds one argument, which may have spaces.
    pub(crate) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments
            .push(argument.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Adds arguments, which may have spaces.
    pub(crate) fn arguments(mut self, arguments: &[String]) -> Self {
        self.arguments.extend_from_slice(arguments);
        self
    }

    /// Sets a variable of the command's environment.
    pub(crate) fn variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name, value.as_ref().to_string_lossy().into_owned()));
        self
    }

    /// Runs the command and waits for it; its output goes where ours goes.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.directory);
        for (name, _) in env::vars_os().filter(|(name, _)| is_set_by_cargo_run(name)) {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        let status = command
            .status()
            .with_context(|| format!("failed to start `{}`", self.program))?;
        if !status.success() {
            bail!("`{self}` failed: {status}");
        }
        Ok(())
    }

    /// Runs the command up to three times: registries have hiccups.
    pub(crate) fn run_with_retries(&self) -> anyhow::Result<()> {
        retry(TRIES, || self.run())
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "cd {} && ",
            quoted(&self.directory.display().to_string())
        )?;
        for (name, value) in &self.environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        write!(formatter, "{}", quoted(&self.program))?;
        self.arguments
            .iter()
            .try_for_each(|argument| write!(formatter, " {}", quoted(argument)))
    }
}

/// Tells whether `cargo run` set the variable for us alone.
///
/// Build scripts watch some of these: handed on, each change between `cargo xtask test` and a plain
/// `cargo test` would compile half of the dependencies again.
fn is_set_by_cargo_run(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO"
}

fn retry(tries: usize, mut attempt: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut outcome = attempt();
    for _ in 1..tries {
        if outcome.is_ok() {
            break;
        }
        outcome = attempt();
    }
    outcome
}

fn quoted(word: &str) -> String {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=:@%+,".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;

    #[test]
    fn a_command_prints_as_a_line_for_the_shell() {
        let invocation = Invocation::new(Path::new("/a b"), "cargo nextest run")
            .argument("-E")
            .argument("test(it's)")
            .variable("RUSTDOCFLAGS", "-D warnings");

        assert_eq!(
            invocation.to_string(),
            r"cd '/a b' && RUSTDOCFLAGS='-D warnings' cargo nextest run -E 'test(it'\''s)'"
        );
    }

    #[test]
    fn the_printed_line_does_in_a_shell_what_the_command_does() {
        let directory = tempfile::tempdir().unwrap();
        let invocation = Invocation::new(directory.path(), "sh -c")
            .argument("printf '%s' \"$WORD\" > out")
            .variable("WORD", "it's $HOME");

        invocation.run().unwrap();
        let direct = std::fs::read_to_string(directory.path().join("out")).unwrap();
        std::fs::remove_file(directory.path().join("out")).unwrap();
        assert!(
            Command::new("sh")
                .arg("-c")
                .arg(invocation.to_string())
                .status()
                .unwrap()
                .success()
        );
        let pasted = std::fs::read_to_string(directory.path().join("out")).unwrap();

        assert_eq!(
            (direct.as_str(), pasted.as_str()),
            ("it's $HOME", "it's $HOME")
        );
    }

    #[test]
    fn a_failed_command_is_an_error_that_names_it() {
        let error = Invocation::new(Path::new("/"), "false").run().unwrap_err();

        assert!(error.to_string().contains("cd / && false"), "{error}");
    }

    #[test]
    fn a_hiccup_is_tried_again_but_not_for_ever() {
        let mut calls = 0;
        let outcome = retry(3, || {
            calls += 1;
            ensure!(calls == 3, "hiccup");
            Ok(())
        });
        assert!(outcome.is_ok());

        let mut calls = 0;
        let outcome = retry(3, || {
            calls += 1;
            bail!("down")
        });
        assert!(outcome.is_err());
        assert_eq!(calls, 3);
    }
}
