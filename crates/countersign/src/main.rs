//! The `countersign` program: reads the command line and calls one function for each command.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

mod arguments;
mod config;
mod data;
mod engines;
mod files;
mod hardening;
mod message;
mod serve;
mod up;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // The keeper changes what it is as a process, so it has to start before any thread does.
    if let Command::Keeper { run_directory } = &arguments.command {
        return run_keeper(run_directory);
    }
    // An agent is started for each session: it waits for nothing that it does not need.
    if matches!(arguments.command, Command::DemoAgent) {
        return run_demo_agent();
    }
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a crypto provider was installed already");
    }
    // The agent dies with the thread that starts it, so that has to be this one.
    if let Command::AcpProxy(arguments) = arguments.command {
        return countersign_acp_proxy::run(arguments);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return message::failed(&anyhow::Error::new(error).context("failed to start"));
        }
    };
    runtime.block_on(run(arguments.command))
}

async fn run(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Client(command) => return countersign_cli::run(command, engines::look).await,
        Command::Serve(serve) => serve::run(serve).await,
        Command::Up(up) => up::run(up).await,
        Command::Completions { shell } => {
            let mut out = anstream::stdout();
            clap_complete::generate(shell, &mut Arguments::command(), "countersign", &mut out);
            Ok(())
        }
        Command::Keeper { .. } | Command::DemoAgent | Command::AcpProxy(_) => Ok(()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => message::failed(&error),
    }
}

fn run_keeper(run_directory: &std::path::Path) -> ExitCode {
    serve::log_to_stderr(false);
    match countersign_engine::keeper::run_keeper(run_directory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => message::failed(&anyhow::Error::new(error)),
    }
}

fn run_demo_agent() -> ExitCode {
    match countersign_demo_agent::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => message::failed(&anyhow::Error::new(error).context("the demo agent failed")),
    }
}
