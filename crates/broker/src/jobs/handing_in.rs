//! A job as somebody hands it in: checked, and written down before its id is known to anybody.

use std::path::Path;

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::job::{Access, Job, JobId, JobKind, JobLimits, JobState, OnAsk, Resume};
use countersign_core::session::Session;

use crate::Broker;
use crate::attachments::{AttachmentWish, check};
use crate::error::BrokerError;
use crate::jobs::attachments::to_json;
use crate::jobs::view::JobContext;
use crate::sessions::NO_ENGINE;
use crate::standstill::{self, Step};
use crate::supervisor::split_model;

/// The longest prompt, in bytes.
const PROMPT_LIMIT: usize = 1 << 20;
/// The longest title and the longest name of a group, in characters.
const NAME_LIMIT: usize = 200;
/// How much of a prompt becomes the title, in characters.
const TITLE_LENGTH: usize = 80;
/// How long an ask stays open that nobody may be watching.
const ASK_EXPIRES_S: u64 = 30 * 60;
/// For how long nothing may be heard of a job.
const IDLE_LIMIT_S: u64 = 60 * 60;
/// The longest limit that can be set: ten years.
const LONGEST_S: u64 = 10 * 366 * 24 * 60 * 60;
/// The highest priority, and the lowest with a minus.
pub(super) const HIGHEST_PRIORITY: i64 = 100;

/// A job that somebody wishes to have done.
#[derive(Debug, Clone)]
pub struct JobWish {
    /// Makes a repetition harmless.
    pub id: Option<JobId>,
    /// What it is for.
    pub kind: JobKind,
    /// What the agent is told.
    pub prompt: String,
    /// What it is called.
    pub title: Option<String>,
    /// Where it works.
    pub directory: Option<String>,
    /// The workspace, if no directory is said.
    pub workspace: Option<WorkspaceId>,
    /// With which engine.
    pub engine: Option<String>,
    /// The model to use.
    pub model: Option<String>,
    /// The engine's agent to use.
    pub agent: Option<String>,
    /// The mode to be in.
    pub mode: Option<String>,
    /// How hard the model is to think.
    pub effort: Option<String>,
    /// What becomes of its asks.
    pub on_ask: OnAsk,
    /// How long one of its asks stays open.
    pub ask_expires_seconds: Option<u64>,
    /// How long it may take.
    pub deadline_seconds: Option<u64>,
    /// For how long nothing may be heard of it.
    pub idle_limit_seconds: Option<u64>,
    /// Higher ones are started first.
    pub priority: Option<i64>,
    /// What to go on with.
    pub resume: Option<Resume>,
    /// What it may do to files.
    pub access: Access,
    /// Whether it has a worktree of its own.
    pub worktree: bool,
    /// The caller's own session.
    pub group: Option<String>,
    /// What comes along with the prompt.
    pub attachments: Vec<AttachmentWish>,
}

impl JobWish {
    fn check(&self) -> Result<(), BrokerError> {
        let invalid = |field, problem: &str| BrokerError::Invalid {
            field,
            problem: problem.to_owned(),
        };
        let is_long = |text: &Option<String>| {
            text.as_ref()
                .is_some_and(|text| text.chars().count() > NAME_LIMIT || text.contains('\0'))
        };
        if self.prompt.trim().is_empty() {
            return Err(invalid("prompt", "must not be empty"));
        }
        if self.prompt.len() > PROMPT_LIMIT {
            return Err(invalid("prompt", "is longer than a mebibyte"));
        }
        if self.prompt.contains('\0') {
            return Err(invalid("prompt", "must not contain NUL characters"));
        }
        for (field, text) in [
            ("title", &self.title),
            ("group", &self.group),
            ("model", &self.model),
            ("agent", &self.agent),
            ("mode", &self.mode),
            ("effort", &self.effort),
        ] {
            if is_long(text) {
                return Err(invalid(field, "has at most 200 characters, and no NUL"));
            }
        }
        for (field, seconds) in [
            ("ask_expires_seconds", self.ask_expires_seconds),
            ("deadline_seconds", self.deadline_seconds),
            ("idle_limit_seconds", self.idle_limit_seconds),
        ] {
            if seconds.is_some_and(|seconds| seconds == 0 || seconds > LONGEST_S) {
                return Err(invalid(
                    field,
                    "must be at least one second and at most ten years",
                ));
            }
        }
        if self
            .priority
            .is_some_and(|priority| priority.abs() > HIGHEST_PRIORITY)
        {
            return Err(invalid("priority", "is at least -100 and at most 100"));
        }
        if self
            .id
            .as_ref()
            .is_some_and(|id| id.kind() != Some(self.kind))
        {
            return Err(invalid("id", "does not begin with the kind's prefix"));
        }
        if self.worktree && self.resume.is_some() {
            return Err(invalid(
                "worktree",
                "cannot be had when an earlier session goes on: that one works where it did",
            ));
        }
        Ok(())
    }

    fn check_for_engine(&self, engine: &str) -> Result<(), BrokerError> {
        let is_opencode = engine == Session::OPENCODE;
        let model = self.model.as_deref();
        let (field, problem) =
            if is_opencode && model.is_some_and(|model| split_model(model).is_none()) {
                ("model", "must have the form `provider/model`")
            } else if is_opencode && self.mode.is_some() {
                ("mode", "cannot be chosen for this engine")
            } else if !is_opencode && self.agent.is_some() {
                ("agent", "cannot be chosen for this engine")
            } else {
                return Ok(());
            };
        Err(BrokerError::Invalid {
            field,
            problem: problem.to_owned(),
        })
    }
}

/// What a job goes on with.
struct Earlier {
    session: Session,
}

impl Broker {
    /// Hands a job in. It is in the ledger when this returns; the same id again gives the same job.
    pub async fn hand_in_job(
        &self,
        caller: &Caller,
        wish: JobWish,
    ) -> Result<JobContext, BrokerError> {
        caller.require(Grant::Prompt)?;
        wish.check()?;
        if let Some(id) = &wish.id
            && let Some(known) = self.store.job(id).await?
        {
            caller.require_in(Grant::Prompt, known.workspace)?;
            return self.job_context(caller, known).await;
        }
        let earlier = self.earlier(caller, wish.resume.as_ref()).await?;
        let workspace = match &earlier {
            Some(Earlier { session }) => self.serve_known(session.workspace).await?,
            None => self.place_of_job(caller, &wish).await?,
        };
        caller.require_in(Grant::Prompt, workspace.id)?;
        // What an ACP agent may do by itself depends on them, as with every other prompt.
        let chooses_mode = wish.mode.is_some() || wish.model.is_some();
        let usual = self.usual_engine();
        let engine = match (&earlier, wish.engine.as_deref().or_else(|| usual.name())) {
            (Some(Earlier { session }), _) => session.engine.clone(),
            (None, Some(engine)) => engine.to_owned(),
            (None, None) => return Err(BrokerError::EngineUnavailable(NO_ENGINE.to_owned())),
        };
        if engine != Session::OPENCODE && !self.engines(caller)?.iter().any(|it| it.name == engine)
        {
            return Err(BrokerError::missing("engine", engine));
        }
        wish.check_for_engine(&engine)?;
        if wish.on_ask == OnAsk::Allow || (chooses_mode && engine != Session::OPENCODE) {
            caller.require_in(Grant::Answer, workspace.id)?;
        }
        check(&wish.attachments)?;
        let now = self.clock.now();
        let attachments = to_json(&wish.attachments);
        let job = Job {
            id: wish.id.unwrap_or_else(|| JobId::generate(wish.kind, now)),
            kind: wish.kind,
            workspace: workspace.id,
            by: caller.actor().clone(),
            group: wish.group,
            title: wish.title.unwrap_or_else(|| title_of(&wish.prompt)),
            prompt: wish.prompt,
            engine,
            model: wish.model,
            agent: wish.agent,
            mode: wish.mode,
            effort: wish.effort,
            on_ask: wish.on_ask,
            access: wish.access,
            resume: wish.resume,
            directory: earlier.map_or(workspace.path, |earlier| earlier.session.directory),
            wants_worktree: wish.worktree,
            worktree: None,
            priority: wish.priority.unwrap_or(0),
            limits: JobLimits {
                ask_expires_seconds: wish.ask_expires_seconds.unwrap_or(ASK_EXPIRES_S),
                deadline_seconds: wish.deadline_seconds,
                idle_limit_seconds: wish.idle_limit_seconds.unwrap_or(IDLE_LIMIT_S),
            },
            state: JobState::Queued,
            failure: None,
            cancelled_by: None,
            cancel_wished_at: None,
            session: None,
            turn: None,
            result: None,
            changed_files: Vec::new(),
            usage: None,
            created_at: now,
            started_at: None,
            changed_at: now,
            ended_at: None,
        };
        standstill::before(Step::Row).await;
        let (job, _) = self.store.hand_in_job(&job, &attachments, now).await?;
        standstill::after(Step::Row).await;
        tracing::info!(job.id = %job.id, "job `{}` was handed in", job.id);
        self.job_context(caller, job).await
    }

    /// The session that a job is to go on with.
    async fn earlier(
        &self,
        caller: &Caller,
        resume: Option<&Resume>,
    ) -> Result<Option<Earlier>, BrokerError> {
        let session = match resume {
            None => return Ok(None),
            Some(Resume::Session(id)) => *id,
            Some(Resume::Job(id)) => {
                let job = self.visible_job(caller, id).await?;
                if !job.state.is_terminal() {
                    return Err(BrokerError::Conflict(format!(
                        "job `{id}` has not ended: it cannot be resumed yet"
                    )));
                }
                job.session.ok_or_else(|| {
                    BrokerError::Conflict(format!("job `{id}` never had a session"))
                })?
            }
        };
        let session = self.visible_session(caller, session).await?;
        let newest = self.store.job_of_session(session.id).await?;
        if let Some(job) = newest.filter(|job| !job.state.is_terminal()) {
            return Err(BrokerError::Conflict(format!(
                "job `{}` is at work in that session",
                job.id
            )));
        }
        if let Some(why) = why_not_resumable(&session) {
            return Err(BrokerError::Conflict(why));
        }
        Ok(Some(Earlier { session }))
    }
}

/// Why nothing can be done in a session any more, if that is so: an agent that is told to work in a folder that is gone
/// says that it is done.
pub(super) fn why_not_resumable(session: &Session) -> Option<String> {
    let directory = &session.directory;
    (!Path::new(directory).is_dir()).then(|| {
        format!(
            "the folder that its session works in is gone, kept or discarded with its worktree: {directory}; hand in a new job"
        )
    })
}

/// The beginning of what the agent is told.
fn title_of(prompt: &str) -> String {
    let first = prompt.lines().map(str::trim).find(|line| !line.is_empty());
    first
        .unwrap_or_default()
        .chars()
        .take(TITLE_LENGTH)
        .collect()
}
