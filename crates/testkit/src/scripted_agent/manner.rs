//! How the agent behaves outside of its turns.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::append;

/// How the agent behaves, whatever it is told to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manner {
    /// Whether it speaks version 2 of the protocol.
    pub is_two: bool,
    /// What it says that it cannot: `resume`, `load`.
    pub cannot: Vec<String>,
    /// What it does instead of answering a request.
    pub deeds: Vec<(String, Deed)>,
    /// Where it writes down what it is told; in a directory, a file for each process, named after its session.
    pub tape: Option<PathBuf>,
}

/// What is done instead of answering a request, or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// `silence`: nothing.
    Silence,
    /// `exit`: it ends.
    Exit,
    /// `refuse`: it answers with an error.
    Refuse,
    /// `await:FILE`: it answers once there is such a file.
    Await(PathBuf),
}

impl Manner {
    /// Returns the words of the command line that it is read from.
    pub fn arguments(&self) -> Vec<String> {
        let two = self.is_two.then(|| "--two".to_owned());
        let cannot = self
            .cannot
            .iter()
            .flat_map(|ability| ["--cannot".to_owned(), ability.clone()]);
        let deeds = self.deeds.iter().flat_map(|(method, deed)| {
            let deed = match deed {
                Deed::Silence => "silence".to_owned(),
                Deed::Exit => "exit".to_owned(),
                Deed::Refuse => "refuse".to_owned(),
                Deed::Await(file) => format!("await:{}", file.display()),
            };
            ["--at".to_owned(), format!("{method}={deed}")]
        });
        let tape = self
            .tape
            .iter()
            .flat_map(|tape| ["--tape".to_owned(), tape.display().to_string()]);
        two.into_iter()
            .chain(cannot)
            .chain(deeds)
            .chain(tape)
            .collect()
    }

    pub(super) fn from_arguments(arguments: &[String]) -> Result<Self, String> {
        let mut manner = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                let value = words.next().cloned();
                value.ok_or_else(|| format!("`{word}` needs a value"))
            };
            match word.as_str() {
                "--two" => manner.is_two = true,
                "--cannot" => manner.cannot.push(value()?),
                "--at" => manner.deeds.push(read_deed(&value()?)?),
                "--tape" => manner.tape = Some(PathBuf::from(value()?)),
                other => return Err(format!("`{other}` is not known")),
            }
        }
        Ok(manner)
    }

    pub(super) fn deed_at(&self, method: &str) -> Option<Deed> {
        let mut deeds = self.deeds.iter();
        let found = deeds.find(|(at, _)| at == method);
        found.map(|(_, deed)| deed.clone())
    }

    /// What it says about itself.
    pub(super) fn description(&self) -> Value {
        let info = json!({ "name": "scripted-agent", "version": "1" });
        if self.is_two {
            return json!({ "protocolVersion": 2, "info": info, "capabilities": { "session": {} } });
        }
        let can = |ability: &str| !self.cannot.iter().any(|cannot| cannot == ability);
        let sessions = if can("resume") {
            json!({ "resume": {} })
        } else {
            json!({})
        };
        json!({
            "protocolVersion": 1,
            "agentInfo": info,
            "agentCapabilities": { "loadSession": can("load"), "sessionCapabilities": sessions },
            "authMethods": [],
        })
    }

    pub(super) fn record(&self, session: &str, line: &str) -> io::Result<()> {
        match &self.tape {
            Some(tape) if tape.is_dir() => append(&tape.join(format!("{session}.jsonl")), line),
            Some(tape) => append(tape, line),
            None => Ok(()),
        }
    }
}

fn read_deed(text: &str) -> Result<(String, Deed), String> {
    let (method, deed) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` names no deed"))?;
    let deed = match deed.split_once(':') {
        Some(("await", file)) => Deed::Await(PathBuf::from(file)),
        _ if deed == "silence" => Deed::Silence,
        _ if deed == "exit" => Deed::Exit,
        _ if deed == "refuse" => Deed::Refuse,
        _ => return Err(format!("`{deed}` is no deed")),
    };
    Ok((method.to_owned(), deed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_all_of_it() {
        let manner = Manner {
            is_two: true,
            cannot: vec!["load".to_owned()],
            deeds: vec![
                (
                    "initialize".to_owned(),
                    Deed::Await(PathBuf::from("/tmp/go")),
                ),
                ("session/load".to_owned(), Deed::Exit),
            ],
            tape: Some(PathBuf::from("/tmp/tape")),
        };
        assert_eq!(Manner::from_arguments(&manner.arguments()), Ok(manner));
    }
}
