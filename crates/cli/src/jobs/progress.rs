//! Stays with a job until it has ended, and tells what it does meanwhile.

use countersign_api::{JobLog, JobView};
use countersign_core::event::EventBody;
use countersign_core::job::{JobId, JobState};
use countersign_core::visible::visible;
use tokio::time::{Duration, Instant};

use super::text::one_line;
use super::wait::is_final;
use crate::Call;
use crate::connection::{Connection, Fate};
use crate::follow::{Follow, News, server_left};
use crate::launch;

/// How often a job is looked at while much happens to it.
const AT_MOST_EVERY: Duration = Duration::from_millis(400);

/// A job that is being followed.
pub(super) struct Pursuit {
    connection: Connection,
    follow: Follow,
    /// How it stood when it was last looked at.
    pub(super) view: JobView,
    logged: i64,
    /// When it is looked at again, because something happened to it.
    look_at: Option<Instant>,
    looked_at: Instant,
    said: Option<String>,
}

impl Pursuit {
    /// Begins to follow the job `id`: whatever happens from now on is heard.
    pub(super) async fn begin(connection: &Connection, id: &JobId) -> anyhow::Result<Self> {
        let follow = Follow::begin(connection).await?.advising(job_is_kept(id));
        let view = connection.get(&format!("/api/v1/jobs/{id}")).await?.value;
        Ok(Self {
            connection: connection.clone(),
            follow,
            view,
            logged: 0,
            look_at: None,
            looked_at: Instant::now(),
            said: None,
        })
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.view.state.is_terminal()
    }

    /// Waits until the job stands otherwise than before, and looks at it.
    ///
    /// Dropped before its end, it loses nothing: the next call looks at the job.
    pub(super) async fn next(&mut self, call: &mut Call<'_>) -> anyhow::Result<()> {
        loop {
            let due = self.look_at;
            let news = tokio::select! {
                news = self.follow.next() => news?,
                () = until(due), if due.is_some() => match self.look().await {
                    Ok(()) => return Ok(()),
                    Err(error) if is_final(&error) => return Err(error),
                    // The line is down; it is looked at again when there is a server.
                    Err(_) => {
                        self.look_at = Some(Instant::now() + AT_MOST_EVERY);
                        call.server_again(&self.connection, &self.view.id).await?;
                        continue;
                    }
                },
            };
            self.hear(call, &news).await?;
        }
    }

    async fn hear(&mut self, call: &mut Call<'_>, news: &News) -> anyhow::Result<()> {
        match news {
            News::Event(event, _) => match &event.body {
                EventBody::JobChanged { job, .. } if *job == self.view.id => {
                    self.look_at = Some(Instant::now());
                }
                EventBody::ItemChanged { session, .. }
                | EventBody::AskOpened { session, .. }
                | EventBody::AskChanged { session, .. }
                    if Some(*session) == self.view.session =>
                {
                    let next = self.looked_at + AT_MOST_EVERY;
                    self.look_at.get_or_insert(next.max(Instant::now()));
                }
                EventBody::JobChanged { .. }
                | EventBody::ItemChanged { .. }
                | EventBody::AskOpened { .. }
                | EventBody::AskChanged { .. }
                | EventBody::SessionChanged { .. }
                | EventBody::SettingsChanged { .. }
                | EventBody::TurnChanged { .. }
                | EventBody::EngineChanged { .. }
                | EventBody::WorkspaceChanged { .. }
                | EventBody::RuleChanged { .. }
                | EventBody::AlarmRaised { .. } => {}
            },
            News::Delta(..) => {}
            News::Reset | News::Reconnected => self.look_at = Some(Instant::now()),
            News::Disconnected(_) => {
                call.server_again(&self.connection, &self.view.id).await?;
            }
        }
        Ok(())
    }

    async fn look(&mut self) -> anyhow::Result<()> {
        self.connection = self.connection.find_again()?;
        let path = format!("/api/v1/jobs/{}", self.view.id);
        self.view = self.connection.get(&path).await?.value;
        self.look_at = None;
        self.looked_at = Instant::now();
        Ok(())
    }

    /// Tells what is new: the lines of its log, and what it does now.
    pub(super) async fn tell(&mut self, call: &mut Call<'_>) -> anyhow::Result<()> {
        let path = format!("/api/v1/jobs/{}/log?after={}", self.view.id, self.logged);
        let log: JobLog = match self.connection.get(&path).await {
            Ok(reply) => reply.value,
            Err(error) if is_final(&error) => return Err(error),
            // The line is down; nothing is missed, for the log is read from where it was left.
            Err(_) => return Ok(()),
        };
        for entry in &log.entries {
            self.logged = self.logged.max(entry.seq);
            let line = format!(
                "[{}] [{}] {}",
                entry.at,
                entry.state.name(),
                visible(entry.text.trim())
            );
            call.output.note(&line)?;
        }
        let crumb = self.view.breadcrumb.as_ref();
        let doing = crumb
            .filter(|_| !self.has_ended())
            .map(|crumb| one_line(&crumb.text));
        if let Some(text) = &doing
            && doing != self.said
        {
            let now = call.clock.now();
            let phase = self.view.phase.name();
            call.output.note(&format!("[{now}] [{phase}] {text}"))?;
            if self.view.state == JobState::Waiting {
                let how = format!(
                    "Answer it: `countersign attach {}`, or `countersign inbox`",
                    self.view.id
                );
                call.output.note(&how)?;
            }
        }
        if doing.is_some() {
            self.said = doing;
        }
        Ok(())
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What to do if the server has left that was to bring the job `id` to its end.
pub(super) fn job_is_kept(id: &JobId) -> String {
    format!(
        "What the job had come to is kept: `countersign status {id}` starts a server and says what became of it, and `countersign task --resume {id} …` goes on with it"
    )
}

impl Call<'_> {
    /// The line to the server is down that was to bring the job `id` to its end. If it was killed, another one takes its
    /// place; if somebody stopped it, that is the end of waiting.
    pub(super) async fn server_again(
        &mut self,
        connection: &Connection,
        id: &JobId,
    ) -> anyhow::Result<()> {
        if connection.fate().await == Fate::Ended {
            let sentence = "the server was stopped while this command waited for it";
            return Err(server_left(sentence, &job_is_kept(id)));
        }
        if self.may_start() {
            launch::ensure(self.surroundings).await?;
        }
        Ok(())
    }
}
