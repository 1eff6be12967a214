//! The hostile agent as a process: `hostile-agent <mode>`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    countersign_testkit::hostile_agent::run(&arguments)
}
