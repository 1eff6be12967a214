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
mod hook;
mod inbox;
mod jobs;
mod keyboard;
mod launch;
mod notifications;
mod output;
mod pair;
mod prompt;
pub mod quick;
pub mod raw;
mod reference;
mod rules;
mod schedules;
mod sessions;
mod settings;
mod show;
mod token;
mod variables;

pub use connection::{Connection, ConnectionOptions, Reply};
pub use discovery::{LookForEngines, Surroundings};
pub use exit::{Exit, Failure};
pub use launch::{LOG as SERVER_LOG, is_served};
pub use output::Output;
pub use variables::Variables;

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
    /// List what people were notified of, retry what was given up, and try targets out
    #[command(after_help = help::NOTIFICATIONS)]
    Notifications(Called<notifications::Notifications>),
    /// List scheduled prompts: when each is due next, and what became of the last time
    #[command(after_help = help::SCHEDULES)]
    Schedules(Called<schedules::Schedules>),
    /// Find out what is wrong, and what to do about it
    #[command(after_help = help::DOCTOR)]
    Doctor(Called<doctor::Doctor>),
    /// Hand a task to an agent, and get its report
    #[command(after_help = help::TASK)]
    Task(Called<jobs::task::Task>),
    /// Have the changes of a repository reviewed
    #[command(after_help = help::REVIEW)]
    Review(Called<jobs::review::Review>),
    /// Have the changes of a repository reviewed by somebody who tries to break them
    #[command(after_help = help::ADVERSARIAL_REVIEW)]
    AdversarialReview(Called<jobs::review::AdversarialReview>),
    /// Show how jobs stand, and what those that run do now
    #[command(after_help = help::STATUS)]
    Status(Called<jobs::status::Status>),
    /// Show what a job came to
    #[command(after_help = help::RESULT)]
    Result(Called<jobs::result::Results>),
    /// Wait for a job's end and show what it came to, in one blocking call
    #[command(after_help = help::WAIT_AND_RESULT)]
    WaitAndResult(Called<jobs::wait::WaitAndResult>),
    /// Cancel a job
    #[command(after_help = help::CANCEL)]
    Cancel(Called<jobs::cancel::Cancel>),
    /// Stay with a job: see what it says and does, and answer its asks
    #[command(after_help = help::ATTACH)]
    Attach(Called<jobs::attach::Attach>),
    /// Print a line for every change of a job, for monitors
    #[command(after_help = help::WATCH)]
    Watch(Called<jobs::watch::Watch>),
    /// Show what happened to a job, line by line
    #[command(after_help = help::LOGS)]
    Logs(Called<jobs::logs::Logs>),
    /// Keep what a job changed in its worktree, on its branch
    #[command(after_help = help::KEEP)]
    Keep(Called<jobs::fate::Fate>),
    /// Throw away what a job changed in its worktree
    #[command(after_help = help::DISCARD)]
    Discard(Called<jobs::fate::Fate>),
    /// End jobs that nothing can come of any more
    #[command(after_help = help::HEAL)]
    Heal(Called<jobs::heal::Heal>),
    /// Say whether everything is there that jobs need, and switch the review gate
    #[command(after_help = help::SETUP)]
    Setup(Called<jobs::setup::Setup>),
    /// List the variables that mean something, with their values
    #[command(after_help = help::CONFIG)]
    Config(Called<jobs::config::Settings>),
    /// Say which job `task --resume last` would go on with
    #[command(after_help = help::TASK_RESUME_CANDIDATE)]
    TaskResumeCandidate(Called<jobs::resume::Candidate>),
    /// Answer a hook of Claude Code (called by its plugin, not by people)
    #[command(hide = true)]
    Hook(Called<hook::Hook>),
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
        program: std::env::current_exe().ok(),
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
    let keeps_to_few_codes = command.is_of_jobs();
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
            let exit = if keeps_to_few_codes {
                exit.of_jobs()
            } else {
                exit
            };
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
    /// Whether it is one of those of which scripts know 0, 1 and 2, and what becomes of the server.
    fn is_of_jobs(&self) -> bool {
        match self {
            Self::Task(_)
            | Self::Review(_)
            | Self::AdversarialReview(_)
            | Self::Status(_)
            | Self::Result(_)
            | Self::WaitAndResult(_)
            | Self::Cancel(_)
            | Self::Attach(_)
            | Self::Watch(_)
            | Self::Logs(_)
            | Self::Keep(_)
            | Self::Discard(_)
            | Self::Heal(_)
            | Self::Setup(_)
            | Self::Config(_)
            | Self::TaskResumeCandidate(_)
            | Self::Hook(_) => true,
            Self::Inbox(_)
            | Self::Show(_)
            | Self::Allow(_)
            | Self::Deny(_)
            | Self::Answer(_)
            | Self::Sessions(_)
            | Self::Settings(_)
            | Self::Engines(_)
            | Self::Prompt(_)
            | Self::Token(_)
            | Self::Pair(_)
            | Self::Rules(_)
            | Self::Audit(_)
            | Self::Notifications(_)
            | Self::Schedules(_)
            | Self::Doctor(_) => false,
        }
    }

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
            Self::Schedules(called) => &called.connection,
            Self::Notifications(called) => &called.connection,
            Self::Doctor(called) => &called.connection,
            Self::Task(called) => &called.connection,
            Self::Review(called) => &called.connection,
            Self::AdversarialReview(called) => &called.connection,
            Self::Status(called) => &called.connection,
            Self::Result(called) => &called.connection,
            Self::WaitAndResult(called) => &called.connection,
            Self::Cancel(called) => &called.connection,
            Self::Attach(called) => &called.connection,
            Self::Watch(called) => &called.connection,
            Self::Logs(called) => &called.connection,
            Self::Keep(called) | Self::Discard(called) => &called.connection,
            Self::Heal(called) => &called.connection,
            Self::Setup(called) => &called.connection,
            Self::Config(called) => &called.connection,
            Self::TaskResumeCandidate(called) => &called.connection,
            Self::Hook(called) => &called.connection,
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
        ClientCommand::Notifications(called) => {
            Box::pin(notifications::run(call, called.arguments)).await
        }
        ClientCommand::Schedules(called) => Box::pin(schedules::run(call, called.arguments)).await,
        ClientCommand::Doctor(called) => Box::pin(doctor::run(call, called.arguments)).await,
        ClientCommand::Task(called) => Box::pin(jobs::task::run(call, called.arguments)).await,
        ClientCommand::Review(called) => Box::pin(jobs::review::run(call, called.arguments)).await,
        ClientCommand::AdversarialReview(called) => {
            Box::pin(jobs::review::run_adversarial(call, called.arguments)).await
        }
        ClientCommand::Status(called) => Box::pin(jobs::status::run(call, called.arguments)).await,
        ClientCommand::Result(called) => Box::pin(jobs::result::run(call, called.arguments)).await,
        ClientCommand::WaitAndResult(called) => {
            Box::pin(jobs::wait::run(call, called.arguments)).await
        }
        ClientCommand::Cancel(called) => Box::pin(jobs::cancel::run(call, called.arguments)).await,
        ClientCommand::Attach(called) => Box::pin(jobs::attach::run(call, called.arguments)).await,
        ClientCommand::Watch(called) => Box::pin(jobs::watch::run(call, called.arguments)).await,
        ClientCommand::Logs(called) => Box::pin(jobs::logs::run(call, called.arguments)).await,
        ClientCommand::Keep(called) => Box::pin(jobs::fate::keep(call, called.arguments)).await,
        ClientCommand::Discard(called) => {
            Box::pin(jobs::fate::discard(call, called.arguments)).await
        }
        ClientCommand::Heal(called) => Box::pin(jobs::heal::run(call, called.arguments)).await,
        ClientCommand::Setup(called) => Box::pin(jobs::setup::run(call, called.arguments)).await,
        ClientCommand::Config(called) => jobs::config::run(call, &called.arguments),
        ClientCommand::TaskResumeCandidate(called) => {
            Box::pin(jobs::resume::run(call, called.arguments)).await
        }
        ClientCommand::Hook(called) => Box::pin(hook::run(call, called.arguments)).await,
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

    /// Whether a server may be started for this call: none elsewhere is meant.
    fn may_start(&self) -> bool {
        self.options.url.is_none() && self.surroundings.program.is_some()
    }

    /// Finds the server, and starts one in the background if none runs.
    async fn connect_or_start(&mut self) -> anyhow::Result<Connection> {
        if self.may_start() && launch::ensure(self.surroundings).await? {
            let where_to = self
                .surroundings
                .data
                .as_deref()
                .map(|data| data.join(launch::LOG));
            let log = where_to.map(|path| format!(" Its log: {}", path.display()));
            self.output.note(&format!(
                "Started a server in the background; it ends by itself when there is nothing to do.{}",
                log.unwrap_or_default()
            ))?;
        }
        self.connect()
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
