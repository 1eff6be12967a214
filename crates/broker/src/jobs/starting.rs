//! How a job begins: its worktree, its session, and its prompt, each of which is found again if it is there already.

use std::time::Duration;

use countersign_core::actor::Surface;
use countersign_core::grant::{Caller, Role};
use countersign_core::id::SessionId;
use countersign_core::job::{FailureCode, Job, JobFailure, JobId, JobStep};
use countersign_core::session::{Session, Workspace};
use countersign_store::{JobEnd, StoreError};
use tokio_util::sync::CancellationToken;

use crate::Broker;
use crate::error::BrokerError;
use crate::jobs::attachments::from_json;
use crate::jobs::handing_in::why_not_resumable;
use crate::jobs::worktree;
use crate::sessions::PromptWish;
use crate::supervisor::remember_session_as;

/// How long an engine that is being started is waited for.
const ENGINE_PATIENCE: Duration = Duration::from_secs(100);

/// Why a job was not started.
enum Trouble {
    /// It cannot be.
    Failed(JobFailure),
    /// The ledger does not answer, or Countersign ends: it is tried again, by this server or the next.
    Later,
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "the ledger failed while a job was started"
        );
        Self::Later
    }
}

impl From<BrokerError> for Trouble {
    fn from(error: BrokerError) -> Self {
        let code = match &error {
            BrokerError::Store(_) | BrokerError::Stopping => return Self::Later,
            BrokerError::EngineUnavailable(_) | BrokerError::Engine(_) => {
                FailureCode::EngineUnavailable
            }
            BrokerError::Invalid { .. }
            | BrokerError::Unable(_)
            | BrokerError::UnfitSetting(_)
            | BrokerError::Refused(_)
            | BrokerError::Missing { .. }
            | BrokerError::Forbidden(_)
            | BrokerError::UnfitAnswer(_)
            | BrokerError::UnfitRule(_)
            | BrokerError::UnfitChange(_)
            | BrokerError::Changed(_)
            | BrokerError::Conflict(_) => FailureCode::EngineRefused,
        };
        Self::Failed(JobFailure::new(code, sentence(&error)))
    }
}

/// An error with its causes, in a line.
pub(super) fn sentence(error: &dyn std::error::Error) -> String {
    let mut sentence = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !sentence.contains(&text) {
            sentence.push_str(": ");
            sentence.push_str(&text);
        }
        cause = next.source();
    }
    sentence
}

impl Broker {
    /// Starts a job that has a place. Whatever was done for it before is found and not done again.
    pub(super) async fn start_job(&self, id: &JobId) {
        match Box::pin(self.try_to_start(id)).await {
            Ok(()) => {}
            Err(Trouble::Later) => {
                tokio::select! {
                    () = self.ending.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                }
            }
            // An engine that ends because the server does says nothing about the job.
            Err(Trouble::Failed(_)) if self.ending.is_cancelled() => {}
            Err(Trouble::Failed(failure)) => {
                let end = JobEnd {
                    failure: Some(failure),
                    ..JobEnd::default()
                };
                let ending = async {
                    // What is given up because somebody cancelled it ends as that, by whoever sees to cancelled jobs.
                    if self.is_wanted(id).await? {
                        self.store.end_job(id, &end, self.clock.now()).await?;
                    }
                    Ok::<(), StoreError>(())
                };
                if let Err(error) = ending.await {
                    drop(Trouble::from(error));
                }
                if let Ok(Some(job)) = self.store.job(id).await {
                    self.release_agent_of(&job).await;
                }
            }
        }
    }

    async fn try_to_start(&self, id: &JobId) -> Result<(), Trouble> {
        let Some(mut job) = self.store.job(id).await? else {
            return Ok(());
        };
        let workspace = self.serve_known(job.workspace).await?;
        if job.wants_worktree && job.worktree.is_none() {
            self.add_worktree(&mut job, &workspace).await?;
        }
        let session = self.session_for(&job, &workspace).await?;
        let Some(turn) = job.turn else {
            return Err(failed(FailureCode::Internal, "its turn has no name"));
        };
        if !self.is_wanted(id).await? {
            self.release_agent_of(&job).await;
            return Ok(());
        }
        // What was said of the turn before stands.
        if self.store.turn(turn).await?.is_none() {
            let set = self.set_effort(&job, session.id).await?;
            set.map_err(Trouble::Failed)?;
        }
        let wish = PromptWish {
            turn: Some(turn),
            text: job.prompt.clone(),
            model: job.model.clone(),
            mode: job.mode.clone(),
            agent: self.agent_for(&job).await?,
            attachments: from_json(&self.store.job_attachments(id).await?),
        };
        if let Err(error) = self.prompt(&acting(&job), session.id, wish).await
            && self.store.turn(turn).await?.is_none()
        {
            return Err(error.into());
        }
        // What the engine did not take has ended its turn, and that ends the job.
        let now = self.clock.now();
        let cause = format!("{} has its prompt in {}", job.engine, session.id);
        let runs = self
            .store
            .advance_job(id, JobStep::Run, &cause, now)
            .await?;
        if !runs && !self.is_wanted(id).await? {
            // It was ended while its prompt was on its way.
            drop(self.cancel(&acting(&job), session.id).await);
            self.release_agent_of(&job).await;
        }
        Ok(())
    }

    /// Whether a job that is being started has not ended meanwhile.
    async fn is_wanted(&self, id: &JobId) -> Result<bool, StoreError> {
        let job = self.store.job(id).await?;
        Ok(job.is_some_and(|job| !job.state.is_terminal() && job.cancel_wished_at.is_none()))
    }

    /// Waits until a job that is being started is not wanted any more.
    async fn until_unwanted(&self, id: &JobId) -> Result<(), StoreError> {
        let mut head = self.store.head();
        loop {
            head.mark_unchanged();
            if !self.is_wanted(id).await? || head.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// Ends the agent of a job that is over.
    pub(super) async fn release_agent_of(&self, job: &Job) {
        if let Some(session) = job.session.filter(|_| job.engine != Session::OPENCODE) {
            self.agents.release(session).await;
        }
    }

    async fn add_worktree(&self, job: &mut Job, workspace: &Workspace) -> Result<(), Trouble> {
        let made = worktree::add(
            self.git(),
            &self.settings.data_directory,
            workspace,
            &job.id,
        )
        .await;
        let worktree = made.map_err(|why| failed(FailureCode::Worktree, why))?;
        let now = self.clock.now();
        let cause = format!(
            "works in {}, on the branch {}",
            worktree.path, worktree.branch
        );
        self.store
            .set_worktree(&job.id, &worktree, None, &cause, now)
            .await?;
        job.directory.clone_from(&worktree.path);
        job.worktree = Some(worktree);
        Ok(())
    }

    /// The session of a job: the one that was made for it before, the earlier one, or a new one.
    async fn session_for(&self, job: &Job, workspace: &Workspace) -> Result<Session, Trouble> {
        let Some(id) = job.session else {
            return Err(failed(FailureCode::Internal, "its session has no name"));
        };
        if job.engine == Session::OPENCODE {
            self.supervisor(workspace.id)?
                .await_link(ENGINE_PATIENCE)
                .await?;
        }
        if let Some(session) = self.store.session(id).await? {
            let others = self.store.open_turns(id).await?;
            if job.resume.is_some() && others.iter().any(|turn| Some(turn.id) != job.turn) {
                let why = "somebody is talking in the session that it was to go on with";
                return Err(failed(FailureCode::NotResumable, why));
            }
            // It may have gone while the job waited in its queue.
            if let Some(why) = why_not_resumable(&session) {
                return Err(failed(FailureCode::NotResumable, why));
            }
            return Ok(session);
        }
        if job.resume.is_some() {
            let why = "the session that it was to go on with is not there";
            return Err(failed(FailureCode::NotResumable, why));
        }
        let place = Workspace {
            path: job.directory.clone(),
            ..workspace.clone()
        };
        Ok(self.new_session(id, &place, job).await?)
    }

    async fn new_session(
        &self,
        id: SessionId,
        place: &Workspace,
        job: &Job,
    ) -> Result<Session, BrokerError> {
        let title = Some(job.title.as_str()).filter(|title| !title.is_empty());
        if job.engine != Session::OPENCODE {
            let given_up = CancellationToken::new();
            let agents = &self.agents;
            let started = agents.start_session(id, place, &job.engine, title, &given_up);
            tokio::pin!(started);
            return tokio::select! {
                started = &mut started => started,
                unwanted = self.until_unwanted(&job.id) => {
                    given_up.cancel();
                    let started = started.await;
                    unwanted?;
                    started
                }
            };
        }
        let link = self
            .supervisor(place.id)?
            .await_link(ENGINE_PATIENCE)
            .await?;
        let client = &link.client;
        let rules = client.ask_rules(&place.path).await;
        let rules = rules.map_err(BrokerError::Engine)?;
        let making = link.making.lock().await;
        let native = client.create_session(&place.path, title, &rules).await;
        let native = native.map_err(BrokerError::Engine)?;
        link.note_imposed(&native.id, rules);
        let session = remember_session_as(
            id,
            &self.store,
            &self.clock,
            (place.id, Session::OPENCODE),
            &place.path,
            &native,
            None,
        )
        .await?;
        drop(making);
        Ok(session)
    }
}

/// Whoever handed a job in, for what the job needs: what it may do was checked then.
pub(super) fn acting(job: &Job) -> Caller {
    Caller::new(job.by.clone(), Role::Owner.grants(), None, Surface::Api)
}

fn failed(code: FailureCode, why: impl Into<String>) -> Trouble {
    Trouble::Failed(JobFailure::new(code, why))
}
