//! The client commands: everything that a person does with a server from a terminal.
//!
//! This crate knows the server by its API alone. [`ClientCommand`] is flattened into the program's own
//! command line; [`run`] carries one command out, tells the person what failed, and returns the exit code.

use std::io;
use std::process::ExitCode;

use countersign_core::time::Clock;
use owo_colors::OwoColorize as _;

mod answers;
mod ask_text;
mod audit;
mod columns;
mod connection;
pub mod discovery;
mod doctor;
mod duration;
mod engines;
mod exit;
#[cfg(test)]
mod fixtures;
mod follow;
pub mod help;
mod inbox;
mod keyboard;
mod output;
mod pair;
mod prompt;
mod reference;
mod rules;
mod sessions;
mod settings;
mod show;
mod token;

pub use connection::{Connection, ConnectionOptions, Reply};
pub use discovery::{LookForEngines, Surroundings};
pub use exit::{Exit, Failure};
pub use output::Output;

/// A command of a client.
#[derive(Debug, clap::Subcommand)]
pub enum ClientCommand {
    /// List the asks that wait for an answer
    #[command(after_help = help::INBOX)]
    Inbox(Called<inbox::Inbox>),
    /// Show one ask with everything there is to see before answering it
    #[command(after_help = help::SHOW)]
    Show(Called<show::Show>),
    /// Allow what an ask wants, once or always
    #[command(after_help = help::ALLOW)]
    Allow(Called<answers::Allow>),
    /// Deny what an ask wants, and tell the agent why
    #[command(after_help = help::DENY)]
    Deny(Called<answers::Deny>),
    /// Answer an agent's question
    #[command(after_help = help::ANSWER)]
    Answer(Called<answers::AnswerQuestion>),
    /// List the sessions
    #[command(after_help = help::SESSIONS)]
    Sessions(Called<sessions::Sessions>),
    /// Show or change what is set for a session: its mode, its model and what else its agent offers
    #[command(after_help = help::SETTINGS)]
    Settings(Called<settings::Settings>),
    /// List the agents that a session can be begun with, and what each still needs
    #[command(after_help = help::ENGINES)]
    Engines(Called<engines::Engines>),
    /// Give an agent something to do, and watch it
    #[command(after_help = help::PROMPT)]
    Prompt(Called<prompt::Prompt>),
    /// Make, list and revoke tokens
    #[command(after_help = help::TOKEN)]
    Token(Called<token::Token>),
    /// Make a link that lets a browser in, once
    #[command(after_help = help::PAIR)]
    Pair(Called<pair::Pair>),
    /// Make, list and revoke rules: standing answers
    #[command(after_help = help::RULES)]
    Rules(Called<rules::Rules>),
    /// Read, verify and export the audit
    #[command(after_help = help::AUDIT)]
    Audit(Called<audit::Audit>),
    /// Find out what is wrong, and what to do about it
    #[command(after_help = help::DOCTOR)]
    Doctor(Called<doctor::Doctor>),
}

/// A command's own arguments, with the options that every command has.
#[derive(Debug, clap::Args)]
pub struct Called<A: clap::Args> {
    #[command(flatten)]
    arguments: A,
    #[command(flatten)]
    connection: ConnectionOptions,
}

/// Carries `command` out in this process's terminal and environment; `engines` looks for those of this machine.
pub async fn run(command: ClientCommand, engines: LookForEngines) -> ExitCode {
    let surroundings = Surroundings {
        engines: Some(engines),
        ..Surroundings::of_this_process()
    };
    let mut output = Output::of_this_process();
    run_in(command, &surroundings, &mut output).await.into()
}

/// Carries `command` out as if `surroundings` and `output` were this process's.
pub async fn run_in(
    command: ClientCommand,
    surroundings: &Surroundings,
    output: &mut Output,
) -> Exit {
    let mut call = Call {
        options: command.options().clone(),
        surroundings,
        output,
        clock: Clock::System,
    };
    match dispatch(command, &mut call).await {
        Ok(exit) => exit,
        Err(error) => {
            let exit = Exit::of(&error);
            if is_broken_pipe(&error) {
                // Nobody reads any more, as in `countersign inbox | head`.
                return Exit::Success;
            }
            // If even this cannot be said, the exit code is what is left.
            drop(call.report(&error));
            exit
        }
    }
}

impl ClientCommand {
    fn options(&self) -> &ConnectionOptions {
        match self {
            Self::Inbox(called) => &called.connection,
            Self::Show(called) => &called.connection,
            Self::Allow(called) => &called.connection,
            Self::Deny(called) => &called.connection,
            Self::Answer(called) => &called.connection,
            Self::Sessions(called) => &called.connection,
            Self::Settings(called) => &called.connection,
            Self::Engines(called) => &called.connection,
            Self::Prompt(called) => &called.connection,
            Self::Token(called) => &called.connection,
            Self::Pair(called) => &called.connection,
            Self::Rules(called) => &called.connection,
            Self::Audit(called) => &called.connection,
            Self::Doctor(called) => &called.connection,
        }
    }
}

async fn dispatch(command: ClientCommand, call: &mut Call<'_>) -> anyhow::Result<Exit> {
    // Boxed: the longest of these futures would else be the size of them all.
    match command {
        ClientCommand::Inbox(called) => Box::pin(inbox::run(call, called.arguments)).await,
        ClientCommand::Show(called) => Box::pin(show::run(call, called.arguments)).await,
        ClientCommand::Allow(called) => Box::pin(answers::allow(call, called.arguments)).await,
        ClientCommand::Deny(called) => Box::pin(answers::deny(call, called.arguments)).await,
        ClientCommand::Answer(called) => Box::pin(answers::answer(call, called.arguments)).await,
        ClientCommand::Sessions(called) => Box::pin(sessions::run(call, called.arguments)).await,
        ClientCommand::Settings(called) => Box::pin(settings::run(call, called.arguments)).await,
        ClientCommand::Engines(called) => Box::pin(engines::run(call, called.arguments)).await,
        ClientCommand::Prompt(called) => Box::pin(prompt::run(call, called.arguments)).await,
        ClientCommand::Token(called) => Box::pin(token::run(call, called.arguments)).await,
        ClientCommand::Pair(called) => Box::pin(pair::run(call, called.arguments)).await,
        ClientCommand::Rules(called) => Box::pin(rules::run(call, called.arguments)).await,
        ClientCommand::Audit(called) => Box::pin(audit::run(call, called.arguments)).await,
        ClientCommand::Doctor(called) => Box::pin(doctor::run(call, called.arguments)).await,
    }
}

/// One command being carried out.
struct Call<'a> {
    options: ConnectionOptions,
    surroundings: &'a Surroundings,
    output: &'a mut Output,
    clock: Clock,
}

impl Call<'_> {
    /// Whether JSON is wanted.
    fn json(&self) -> bool {
        self.options.json
    }

    /// Finds the server.
    fn connect(&mut self) -> anyhow::Result<Connection> {
        let connection = Connection::find(&self.options, self.surroundings, &self.clock)?;
        if connection.exposes_token() {
            self.warn("the token crosses the network unencrypted; use an https address")?;
        }
        Ok(connection)
    }

    /// Warns the person.
    fn warn(&mut self, text: &str) -> io::Result<()> {
        self.output.note(&format!("{}: {text}", "warning".yellow()))
    }

    /// Tells the person what failed; a program gets what the server said as well.
    fn report(&mut self, error: &anyhow::Error) -> io::Result<()> {
        if self.json()
            && let Some(Failure::Refused { raw, .. }) = error.downcast_ref()
        {
            self.output.json(raw)?;
        }
        self.output.note(&format!("{}: {error:#}", "error".red()))
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
