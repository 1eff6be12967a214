//! The `countersign` program: reads the command line and calls one function for each command.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use countersign_cli::{quick, raw};

mod arguments;
mod bridges;
mod config;
mod data;
mod engines;
mod files;
mod footprint;
mod hardening;
mod idle;
mod message;
mod openwork;
mod serve;
mod up;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = match openwork::called_by_name().map_or_else(read_arguments, Ok) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    // A server that commands started is no part of the terminal that they were called at. Where it leads a group of
    // its own already, a person started it, and it stays where it is.
    if let Command::Serve(serve) = &arguments.command
        && serve.in_background
    {
        let _ = rustix::process::setsid();
    }
    // The keeper changes what it is as a process, so it has to start before any thread does.
    if let Command::Keeper { run_directory } = &arguments.command {
        return run_keeper(run_directory);
    }
    if let Command::Contained { words } = &arguments.command {
        return countersign_engine::contained::run(words)
            .unwrap_or_else(|error| message::failed(&anyhow::Error::new(error)));
    }
    // An agent is started for each session: it waits for nothing that it does not need.
    if matches!(arguments.command, Command::DemoAgent) {
        return run_demo_agent();
    }
    // Commands encrypt nothing unless they go over a network.
    if !matches!(arguments.command, Command::Client(_))
        && rustls::crypto::ring::default_provider()
            .install_default()
            .is_err()
    {
        tracing::debug!("a crypto provider was installed already");
    }
    // The agent dies with the thread that starts it, so that has to be this one.
    if let Command::AcpProxy(arguments) = arguments.command {
        return countersign_acp_proxy::run(arguments);
    }
    // A command waits for one thing at a time, and its start is most of what it takes.
    let mut runtime = if matches!(arguments.command, Command::Client(_)) {
        tokio::runtime::Builder::new_current_thread()
    } else {
        footprint::share_memory();
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            return message::failed(&anyhow::Error::new(error).context("failed to start"));
        }
    };
    runtime.block_on(run(arguments.command))
}

/// Reads the command line; whoever called a command of jobs gets the exit code that scripts know for a failure.
fn read_arguments() -> Result<Arguments, ExitCode> {
    let words: Vec<_> = std::env::args_os().collect();
    let is_of_jobs = raw::is_of_jobs(words.get(1..).unwrap_or_default());
    let words = raw::spread(words);
    if let Some(command) = quick::read(&words) {
        let command = Command::Client(Box::new(command));
        return Ok(Arguments { command });
    }
    Arguments::try_parse_from(words).map_err(|error| {
        drop(error.print());
        if error.use_stderr() && is_of_jobs {
            return ExitCode::FAILURE;
        }
        let code = u8::try_from(error.exit_code()).unwrap_or(u8::MAX);
        ExitCode::from(code)
    })
}

async fn run(command: Command) -> ExitCode {
    let outcome = match command {
        Command::Client(command) => return countersign_cli::run(*command, engines::look).await,
        Command::Serve(serve) => serve::run(serve).await,
        Command::Up(up) => up::run(up).await,
        Command::Bridges(command) => return bridges::run(command).await,
        Command::OpenworkServer { words } => openwork::run(words).await,
        Command::Completions { shell } => {
            let mut out = anstream::stdout();
            clap_complete::generate(shell, &mut Arguments::command(), "countersign", &mut out);
            Ok(())
        }
        Command::Keeper { .. }
        | Command::Contained { .. }
        | Command::DemoAgent
        | Command::AcpProxy(_) => Ok(()),
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
