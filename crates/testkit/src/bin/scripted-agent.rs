//! The scripted ACP agent as a process: `scripted-agent [--two] [--cannot ABILITY]… [--at METHOD=DEED]… [--tape FILE]`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    countersign_testkit::scripted_agent::run(&arguments)
}
