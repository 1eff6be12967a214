//! What the program says to the person who started it. Data goes to stdout, everything else to stderr.

use std::io::Write as _;
use std::process::ExitCode;

/// Says a line about what is going on.
pub(crate) fn say(line: &str) {
    // A terminal that is gone is no reason to stop serving.
    drop(writeln!(anstream::stderr(), "{line}"));
}

/// Prints a line that somebody may want to read by program.
pub(crate) fn print(line: &str) {
    let mut out = anstream::stdout();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Says what failed, with its causes, and returns the exit code for it.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    say(&format!("countersign: {error:#}"));
    ExitCode::FAILURE
}
