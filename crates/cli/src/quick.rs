//! Commands that hooks, monitors and scripts call again and again are read by a parser that knows nothing else: to make the
//! parser for every command is a good part of what such a call takes.

use std::ffi::OsString;

use clap::{Args as _, FromArgMatches as _};

use crate::{Called, ClientCommand};

/// Reads a command line, the program's name first. Nothing if it is another command, or not as it should be: then the
/// whole parser has something to say about it.
pub fn read(words: &[OsString]) -> Option<ClientCommand> {
    let words = words.get(1..)?;
    match words.first()?.to_str()? {
        "status" => of(words).map(ClientCommand::Status),
        "result" => of(words).map(ClientCommand::Result),
        "wait-and-result" => of(words).map(ClientCommand::WaitAndResult),
        "hook" => of(words).map(ClientCommand::Hook),
        _ => None,
    }
}

/// Reads the arguments of one command, whose name comes first.
fn of<A: clap::Args>(words: &[OsString]) -> Option<Called<A>> {
    let parser = Called::<A>::augment_args(clap::Command::new("countersign"));
    let matches = parser.try_get_matches_from(words).ok()?;
    Called::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    /// The whole parser.
    #[derive(Debug, clap::Parser)]
    struct Whole {
        #[command(subcommand)]
        command: ClientCommand,
    }

    #[test]
    fn what_is_read_quickly_is_read_as_by_the_whole_parser() {
        for line in [
            "status",
            "status --json --all",
            "status task-a --wait --timeout-ms 5",
            "result task-a --diff",
            "wait-and-result task-a --max-wait 3 --json",
            "hook stop",
        ] {
            let words = || std::iter::once("countersign").chain(line.split(' '));
            let quick: Vec<OsString> = words().map(OsString::from).collect();
            let quick = read(&quick).expect(line);
            let whole = Whole::try_parse_from(words()).unwrap().command;
            assert_eq!(format!("{quick:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_or_asks_for_help_is_left_to_the_whole_parser() {
        for line in ["status --help", "wait-and-result", "status --wait", "inbox"] {
            let words = std::iter::once("countersign").chain(line.split(' '));
            let words: Vec<OsString> = words.map(OsString::from).collect();
            assert!(read(&words).is_none(), "{line}");
        }
        assert!(read(&[]).is_none());
    }
}
