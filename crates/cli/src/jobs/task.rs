//! `task`: hands a task to an agent, and waits for its report or leaves it in the background.

use std::path::PathBuf;
use std::time::Duration;

use countersign_api::{JobView, NewJob};
use countersign_core::job::{Access, JobId, JobKind, JobState, OnAsk, Resume};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::lookup::{self, Listed};
use super::progress::Pursuit;
use super::resume::candidate;
use super::safety::with_header;
use super::wait::is_final;
use super::words::{self, Source};
use super::{shape, text};
use crate::Call;
use crate::connection::{Connection, Reply};
use crate::duration::parse;
use crate::exit::{Exit, Failure};

/// How many characters of a task are its title.
const TITLE: usize = 80;
/// How much longer than usual it may take to hand a job in: a workspace may be added for it, with its engine.
const HANDING_IN: Duration = Duration::from_secs(90);

/// What to do, and how.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct Task {
    #[command(flatten)]
    wishes: Wishes,
    /// Go on with an earlier job: its id, or `last` for the newest of this folder
    #[arg(long, value_name = "ID|last", conflicts_with_all = ["fresh", "resume_last"])]
    resume: Option<String>,
    /// Go on with the newest job of this folder
    #[arg(long, conflicts_with = "fresh")]
    resume_last: bool,
    /// Begin a new session, which is what happens anyway if nothing is resumed
    #[arg(long)]
    fresh: bool,
    /// Let it change files, as far as its asks are allowed; the default
    #[arg(long, conflicts_with = "read_only")]
    write: bool,
    /// Answer every ask of it with a no
    #[arg(long)]
    read_only: bool,
    /// Work in a git worktree and on a branch of its own; `keep` or `discard` what came of it
    #[arg(long, conflicts_with = "read_only")]
    worktree: bool,
    /// What becomes of its asks: they wait for somebody until they expire, are denied, or are allowed once each
    #[arg(long, value_enum, value_name = "HOW", default_value = "wait")]
    on_ask: OnAskWish,
    /// Read the task from this file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// The task; flags are read up to its first word, or up to `--`. Without any it is read from standard input
    #[arg(value_name = "TASK", trailing_var_arg = true)]
    words: Vec<String>,
}

/// What can be wished for every job.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Wishes {
    /// Return as soon as the job is handed in
    #[arg(long)]
    background: bool,
    /// Wait for the report, which is what happens if nothing is said
    #[arg(long, conflicts_with = "background")]
    wait: bool,
    /// The engine: opencode, or an agent of `countersign engines`
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// The model: provider/model for opencode, one that the agent offers else
    #[arg(long, short, value_name = "MODEL")]
    model: Option<String>,
    /// The engine's agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// How hard the model is to think, as the engine calls it: low, medium, high
    #[arg(long, value_name = "EFFORT")]
    effort: Option<String>,
    /// End the job after this time: 30m, 2h
    #[arg(long, value_name = "TIME", value_parser = parse)]
    deadline: Option<Duration>,
    /// End the job if nothing at all is heard of it for this time
    #[arg(long, value_name = "TIME", value_parser = parse)]
    idle_limit: Option<Duration>,
    /// For how long its asks stay open
    #[arg(long, value_name = "TIME", value_parser = parse)]
    ask_expiry: Option<Duration>,
    /// Higher ones are started first, from -100 to 100
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(-100..=100)
    )]
    priority: Option<i64>,
    /// Work in this folder
    #[arg(long, short = 'C', value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The caller's own session, to find its jobs again by
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// What becomes of asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnAskWish {
    /// They wait for somebody
    Wait,
    /// They are denied
    Deny,
    /// They are allowed once each
    Allow,
}

/// Whether somebody waits for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attendance {
    /// Yes, here.
    Foreground,
    /// No.
    Background,
}

impl Wishes {
    /// Whether somebody waits.
    pub(super) fn background(&self) -> Attendance {
        if self.background {
            Attendance::Background
        } else {
            Attendance::Foreground
        }
    }

    /// Where the job is to work.
    pub(super) fn directory(&self, call: &Call<'_>) -> anyhow::Result<PathBuf> {
        lookup::directory(call, self.cwd.as_deref())
    }

    /// Puts what is wished for into `job`.
    pub(super) fn fill(&self, call: &Call<'_>, job: &mut NewJob) -> anyhow::Result<()> {
        let variables = &call.surroundings.variables;
        let seconds = |wished: Option<Duration>| wished.map(|time| time.as_secs());
        let directory = self.directory(call)?;
        let directory = directory.to_str().ok_or_else(|| {
            let sentence = format!("the path {} is not valid UTF-8", directory.display());
            Failure::Usage(sentence)
        })?;
        job.id = Some(JobId::generate(job.kind, call.clock.now()));
        job.directory = Some(directory.to_owned());
        job.engine.clone_from(&self.engine);
        job.model.clone_from(&self.model);
        job.agent.clone_from(&self.agent);
        job.effort.clone_from(&self.effort);
        job.deadline_seconds = seconds(self.deadline.or_else(|| variables.deadline()));
        job.idle_limit_seconds = seconds(self.idle_limit.or_else(|| variables.idle_limit()));
        job.ask_expires_seconds = seconds(self.ask_expiry);
        job.priority = self.priority;
        let session = self.session.as_deref().or_else(|| variables.session());
        job.group = session.map(|session| session.chars().take(200).collect());
        Ok(())
    }
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Task) -> anyhow::Result<Exit> {
    let source = Source {
        words: &arguments.words,
        file: arguments.prompt_file.as_deref(),
    };
    let task = words::read(source)?;
    if let Some(flag) = words::stray_flag(&arguments.words) {
        call.warn(&format!(
            "`{flag}` stands behind the first word of the task and is part of it; write it before the task to have it mean something"
        ))?;
    }
    let mut job = NewJob::new(JobKind::Task, with_header(&task));
    job.title = Some(title(&task));
    job.access = if arguments.read_only {
        Access::ReadOnly
    } else {
        Access::Write
    };
    job.worktree = arguments.worktree;
    job.on_ask = match arguments.on_ask {
        OnAskWish::Wait => OnAsk::Wait,
        OnAskWish::Deny => OnAsk::Deny,
        OnAskWish::Allow => OnAsk::Allow,
    };
    arguments.wishes.fill(call, &mut job)?;
    let resumed = match (&arguments.resume, arguments.resume_last) {
        (Some(text), _) => Some(text.as_str()),
        (None, true) => Some("last"),
        (None, false) => None,
    };
    if let Some(text) = resumed {
        let connection = call.connect_or_start().await?;
        job.resume = Some(Resume::Job(earlier(call, &connection, &job, text).await?));
    }
    hand_in(call, &job, arguments.wishes.background()).await
}

/// The job that `text` names, or the newest one that can be gone on with.
async fn earlier(
    call: &Call<'_>,
    connection: &Connection,
    job: &NewJob,
    text: &str,
) -> anyhow::Result<JobId> {
    if text != "last" {
        if !text.contains('-') {
            let sentence = format!(
                "`--resume` takes a job's id or `last`, not `{text}`; the task itself comes behind it"
            );
            return Err(Failure::Usage(sentence).into());
        }
        return Ok(lookup::job(connection, text).await?.value.id);
    }
    let directory = PathBuf::from(job.directory.as_deref().unwrap_or("/"));
    let jobs = lookup::list(connection, Listed::Of(&directory)).await?;
    let session = call.surroundings.variables.session();
    let found = candidate(&jobs, session).map(|view| view.id.clone());
    found.ok_or_else(|| {
        let none = "there is no job here to go on with; start the task without --resume";
        Failure::NotFound(none.to_owned()).into()
    })
}

/// The beginning of a task, on one line.
pub(super) fn title(task: &str) -> String {
    let line = task.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= TITLE {
        return line;
    }
    let cut: String = line.chars().take(TITLE - 1).collect();
    format!("{}…", cut.trim_end())
}

/// Hands `job` in, and stays with it if somebody waits.
pub(super) async fn hand_in(
    call: &mut Call<'_>,
    job: &NewJob,
    attendance: Attendance,
) -> anyhow::Result<Exit> {
    // From here on Ctrl-C is noticed: a job that was handed in is not left behind unsaid.
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut connection = call.connect_or_start().await?;
    let handed_in = connection.post_waiting("/api/v1/jobs", job, HANDING_IN);
    let taken: Reply<JobView> = match handed_in.await {
        Ok(taken) => taken,
        // The same id is the same job, however often it is handed in.
        Err(error) => {
            if is_final(&error) {
                return Err(error);
            }
            connection = call.connect_or_start().await?;
            let again = connection.post_waiting("/api/v1/jobs", job, HANDING_IN);
            again.await?
        }
    };
    match attendance {
        Attendance::Background => leave(call, &taken.value),
        Attendance::Foreground => {
            let id = &taken.value.id;
            call.output.note(&format!("Job {id}"))?;
            let mut pursuit = Pursuit::begin(&connection, id).await?;
            let mut cancelled = false;
            pursuit.tell(call).await?;
            while !pursuit.has_ended() {
                tokio::select! {
                    heard = pursuit.next(call) => heard?,
                    _ = interrupts.recv() => {
                        if cancelled {
                            let left = format!("Left; the job is being cancelled. `countersign status {id}` says how it ends");
                            call.output.note(&left)?;
                            return Ok(Exit::Failed);
                        }
                        cancelled = true;
                        cancel(call, &connection, id).await?;
                        continue;
                    }
                }
                pursuit.tell(call).await?;
            }
            report(call, &pursuit.view)
        }
    }
}

fn leave(call: &mut Call<'_>, view: &JobView) -> anyhow::Result<Exit> {
    if call.json() {
        let taken = json!({
            "jobId": view.id, "status": view.state.name(), "title": view.title,
            "summary": view.title, "logFile": null, "engine": view.engine,
            "logs": format!("countersign logs {}", view.id),
        });
        call.output.json(&taken.to_string())?;
        return Ok(Exit::Success);
    }
    let what = match view.kind {
        JobKind::Task => "task",
        JobKind::Review => "review",
        JobKind::AdversarialReview => "adversarial review",
    };
    let engine = text::engine_name(&view.engine);
    let id = &view.id;
    call.output.line(&format!(
        "{engine} {what} started in background: {id}\nCheck `countersign status {id}` for progress, \
         `countersign wait-and-result {id}` waits for its report."
    ))?;
    Ok(Exit::Success)
}

async fn cancel(call: &mut Call<'_>, connection: &Connection, id: &JobId) -> anyhow::Result<()> {
    call.output
        .note(&format!("\nCancelling {id}; Ctrl-C again leaves at once"))?;
    let path = format!("/api/v1/jobs/{id}/cancel");
    if let Err(error) = connection.post_nothing::<JobView>(&path).await {
        call.warn(&format!("the job goes on: {error:#}"))?;
    }
    Ok(())
}

/// Prints what a job came to.
fn report(call: &mut Call<'_>, view: &JobView) -> anyhow::Result<Exit> {
    let exit = match view.state {
        JobState::Completed => Exit::Success,
        JobState::Queued
        | JobState::Starting
        | JobState::Running
        | JobState::Waiting
        | JobState::Failed
        | JobState::Cancelled => Exit::Failed,
    };
    if call.json() {
        let now = call.clock.now();
        let told = json!({"job": shape::job(view, now), "storedJob": view});
        call.output.json(&told.to_string())?;
        return Ok(exit);
    }
    if exit == Exit::Success {
        call.output.line(&text::output(view))?;
        return Ok(exit);
    }
    let what = match (view.state, view.kind) {
        (JobState::Cancelled, _) => "Cancelled",
        (_, JobKind::Task) => "Task failed",
        (_, JobKind::Review | JobKind::AdversarialReview) => "Review failed",
    };
    call.output.note(&format!("{what}: {}", text::why(view)))?;
    if view.result.is_some() {
        call.output.note(&format!(
            "What it had said is kept: `countersign result {}`",
            view.id
        ))?;
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title(" make\nthe  tests pass "), "make the tests pass");
        let long = title(&"wörd ".repeat(40));
        assert!(
            long.chars().count() <= TITLE && long.ends_with('…'),
            "{long}"
        );
    }
}
