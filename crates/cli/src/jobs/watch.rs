//! `watch`: for monitors. A line for every change of a job, a sign of life when nothing changes, one line with the result
//! when it has ended, and one that says so when watching ends first.
//!
//! A monitor wakes somebody with every line. So what a job does is told at most every half minute, what becomes of it at
//! once, and nothing at all where no job is under way.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use countersign_api::{AskView, JobView};
use countersign_core::event::{Event, EventBody};
use countersign_core::id::{AskId, SessionId};
use countersign_core::job::JobId;
use tokio::time::Instant;

use super::lookup::{self, Listed};
use crate::Call;
use crate::connection::Connection;
use crate::duration::parse;
use crate::exit::Exit;
use crate::follow::{Follow, Manner, News};
use crate::launch;

mod line;
mod watched;

use line::Line;
use watched::Watched;

/// How often it is looked whether a server has been started.
const LOOK: Duration = Duration::from_secs(1);

/// What to watch, and for how long.
#[derive(Debug, clap::Args)]
pub struct Watch {
    /// The jobs' ids, or beginnings of them; without any, all of this folder, from now on
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Watch the jobs that this session handed in, in whichever folder
    #[arg(long, value_name = "ID", conflicts_with = "ids")]
    session: Option<String>,
    /// Watch the jobs of every folder
    #[arg(long, conflicts_with_all = ["ids", "session"])]
    all: bool,
    /// Tell of the asks of sessions without a job too
    #[arg(long, conflicts_with = "ids")]
    asks: bool,
    /// Tell only of jobs that wait for an answer or have ended
    #[arg(long)]
    brief: bool,
    /// End after this time; `none` watches for ever [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = parse_limit)]
    limit: Option<Limit>,
    /// Give a sign of life after this time without news [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = parse)]
    heartbeat: Option<Duration>,
    /// Tell what a job does at most this often
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse)]
    every: Duration,
}

/// When watching ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// After this time.
    After(Duration),
    /// Never.
    Never,
}

fn parse_limit(text: &str) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit::Never),
        text => parse(text).map(Limit::After),
    }
}

/// Which jobs are watched.
#[derive(Debug)]
enum Scope {
    /// These.
    Named,
    /// Those of the workspace that this folder is in.
    Folder(PathBuf),
    /// Those that this session handed in.
    Session(String),
    /// All.
    All,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Watch) -> anyhow::Result<Exit> {
    let variables = &call.surroundings.variables;
    let limit = arguments
        .limit
        .unwrap_or(Limit::After(variables.watch_limit()));
    let heartbeat = arguments.heartbeat.unwrap_or_else(|| variables.heartbeat());
    let ends_at = match limit {
        Limit::After(time) => Some(Instant::now() + time),
        Limit::Never => None,
    };
    let scope = match (&arguments.session, arguments.all) {
        (Some(session), _) => Scope::Session(session.clone()),
        (None, true) => Scope::All,
        (None, false) if arguments.ids.is_empty() => Scope::Folder(lookup::directory(call, None)?),
        (None, false) => Scope::Named,
    };
    let connection = match scope {
        Scope::Named => call.connect_or_start().await?,
        // Who watches for what may come starts no server for it.
        Scope::Folder(_) | Scope::Session(_) | Scope::All => {
            match some_server(call, ends_at).await? {
                Some(connection) => connection,
                None => return timed_out(call, limit),
            }
        }
    };
    // What is under way keeps the server by itself.
    let follow = Follow::begin_as(Manner::LooksOn, &connection).await?;
    let mut watching = Watching {
        connection,
        follow,
        scope,
        jobs: BTreeMap::new(),
        passed_over: HashSet::new(),
        asks: arguments.asks,
        brief: arguments.brief,
        heartbeat,
        every: arguments.every,
        ends_at,
        limit,
    };
    watching.begin(&arguments.ids).await?;
    watching.go(call).await
}

/// Waits until there is a server.
async fn some_server(
    call: &mut Call<'_>,
    ends_at: Option<Instant>,
) -> anyhow::Result<Option<Connection>> {
    loop {
        let is_served = call
            .surroundings
            .data
            .as_deref()
            .is_some_and(launch::is_served);
        if !call.may_start() || is_served {
            return Ok(Some(call.connect()?));
        }
        let next = Instant::now() + LOOK;
        if ends_at.is_some_and(|end| end <= next) {
            return Ok(None);
        }
        tokio::time::sleep_until(next).await;
    }
}

fn timed_out(call: &mut Call<'_>, limit: Limit) -> anyhow::Result<Exit> {
    let line = Line::nothing_watched(call.clock.now(), limit_seconds(limit));
    call.tell(&line)?;
    Ok(Exit::StillRunning)
}

fn limit_seconds(limit: Limit) -> u64 {
    match limit {
        Limit::After(time) => time.as_secs(),
        Limit::Never => 0,
    }
}

impl Call<'_> {
    fn tell(&mut self, line: &Line) -> anyhow::Result<()> {
        if self.json() {
            self.output.json_line(&line.json().to_string())?;
        } else {
            self.output.line(&line.text())?;
        }
        Ok(())
    }
}

/// Watching, under way.
struct Watching {
    connection: Connection,
    follow: Follow,
    scope: Scope,
    jobs: BTreeMap<JobId, Watched>,
    passed_over: HashSet<JobId>,
    asks: bool,
    brief: bool,
    heartbeat: Duration,
    every: Duration,
    ends_at: Option<Instant>,
    limit: Limit,
}

impl Watching {
    /// Takes up what is under way already; of named jobs those too that have ended.
    async fn begin(&mut self, ids: &[String]) -> anyhow::Result<()> {
        for id in ids {
            let view = lookup::job(&self.connection, id).await?.value;
            self.jobs.insert(view.id.clone(), Watched::new(view));
        }
        let listed = match &self.scope {
            Scope::Named => return Ok(()),
            Scope::Folder(directory) => Listed::Of(directory),
            Scope::Session(_) | Scope::All => Listed::All,
        };
        for view in lookup::list(&self.connection, listed).await? {
            if !view.state.is_terminal() && self.is_meant(&view) {
                self.jobs.insert(view.id.clone(), Watched::new(view));
            } else {
                self.passed_over.insert(view.id);
            }
        }
        Ok(())
    }

    fn is_meant(&self, view: &JobView) -> bool {
        match &self.scope {
            Scope::Named => false,
            Scope::Folder(directory) => directory.starts_with(&view.workspace_path),
            Scope::Session(session) => view.group.as_deref() == Some(session.as_str()),
            Scope::All => true,
        }
    }

    async fn go(mut self, call: &mut Call<'_>) -> anyhow::Result<Exit> {
        loop {
            self.tell_news(call).await?;
            let is_done =
                matches!(self.scope, Scope::Named) && self.jobs.values().all(|job| job.told_end);
            if is_done {
                return Ok(Exit::Success);
            }
            if self.ends_at.is_some_and(|end| end <= Instant::now()) {
                return self.give_up(call);
            }
            let due = self.next_due();
            tokio::select! {
                news = self.follow.next() => self.hear(call, news?).await?,
                () = until(due) => {}
            }
        }
    }

    /// When something is to be told even if nothing is heard.
    fn next_due(&self) -> Option<Instant> {
        let jobs = self.jobs.values();
        let due = jobs.filter_map(|job| job.due(self.heartbeat, self.every));
        due.chain(self.ends_at).min()
    }

    async fn hear(&mut self, call: &mut Call<'_>, news: News) -> anyhow::Result<()> {
        match news {
            News::Event(event, _) => self.happened(call, &event).await?,
            News::Delta(..) => {}
            News::Reset | News::Reconnected => {
                self.connection = self.connection.find_again()?;
                for job in self.jobs.values_mut() {
                    job.changed();
                }
            }
            News::Disconnected(_) => {
                // Only a server brings what is under way to its end.
                let unended = self.jobs.values().find(|job| !job.told_end);
                if let Some(job) = unended {
                    call.server_again(&self.connection, &job.view.id).await?;
                }
            }
        }
        Ok(())
    }

    async fn happened(&mut self, call: &mut Call<'_>, event: &Event) -> anyhow::Result<()> {
        match &event.body {
            EventBody::JobChanged { job, .. } => {
                if let Some(known) = self.jobs.get_mut(job) {
                    known.changed();
                } else if !matches!(self.scope, Scope::Named) && !self.passed_over.contains(job) {
                    self.meet(job).await?;
                }
            }
            EventBody::ItemChanged { session, .. } | EventBody::AskChanged { session, .. } => {
                self.touch(*session);
            }
            EventBody::AskOpened { ask, session, .. } => {
                if !self.touch(*session) && self.asks {
                    self.tell_ask(call, *ask).await?;
                }
            }
            EventBody::SessionChanged { .. }
            | EventBody::SettingsChanged { .. }
            | EventBody::TurnChanged { .. }
            | EventBody::EngineChanged { .. }
            | EventBody::WorkspaceChanged { .. }
            | EventBody::RuleChanged { .. }
            | EventBody::AlarmRaised { .. } => {}
        }
        Ok(())
    }

    /// Notes that a session did something; tells whether it is a watched job's.
    fn touch(&mut self, session: SessionId) -> bool {
        let mut is_ours = false;
        for job in self.jobs.values_mut() {
            if job.view.session == Some(session) {
                job.stirred();
                is_ours = true;
            }
        }
        is_ours
    }

    async fn meet(&mut self, id: &JobId) -> anyhow::Result<()> {
        let view = lookup::job(&self.connection, id.as_str()).await?.value;
        if self.is_meant(&view) {
            self.jobs.insert(id.clone(), Watched::new(view));
        } else {
            self.passed_over.insert(id.clone());
        }
        Ok(())
    }

    async fn tell_ask(&mut self, call: &mut Call<'_>, id: AskId) -> anyhow::Result<()> {
        let ask: AskView = self
            .connection
            .get(&format!("/api/v1/asks/{id}"))
            .await?
            .value;
        call.tell(&Line::ask(&ask, call.clock.now()))
    }

    /// Tells what is new and due.
    async fn tell_news(&mut self, call: &mut Call<'_>) -> anyhow::Result<()> {
        let limit = call.surroundings.variables.result_characters();
        for job in self.jobs.values_mut() {
            let now = Instant::now();
            if !job.is_due(now, self.heartbeat, self.every) {
                continue;
            }
            if job.is_dirty() {
                let looked = lookup::job(&self.connection, job.view.id.as_str()).await;
                let Ok(reply) = looked else {
                    // The line is down: what is missed is looked at when it is up again.
                    job.put_off(now);
                    continue;
                };
                job.looked(reply.value, now);
            }
            let news = job.news(now, self.heartbeat, call.clock.now(), limit);
            if let Some(line) = news.filter(|line| !self.brief || line.is_pressing()) {
                call.tell(&line)?;
            }
        }
        Ok(())
    }

    fn give_up(self, call: &mut Call<'_>) -> anyhow::Result<Exit> {
        let now = call.clock.now();
        let limit = limit_seconds(self.limit);
        let mut left: Vec<&Watched> = self.jobs.values().filter(|job| !job.told_end).collect();
        left.sort_by_key(|job| job.view.created_at);
        if left.is_empty() {
            call.tell(&Line::nothing_watched(now, limit))?;
        }
        for job in left {
            call.tell(&Line::timeout(&job.view, now, limit))?;
        }
        Ok(Exit::StillRunning)
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
