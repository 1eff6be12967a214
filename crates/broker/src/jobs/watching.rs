//! Looks after a job whose turn is under way: its asks, its limits, whether it has stalled, and how it ends.

use std::time::Duration;

use countersign_core::ask::{Ask, AskPhase, AskState, Withdrawal};
use countersign_core::id::{RunId, SessionId};
use countersign_core::job::{FailureCode, Job, JobState, JobStep, OnAsk, Signs};
use countersign_core::session::{Item, Session, ToolStatus, Turn, TurnOutcome};
use countersign_engine::process::{ProcessIdentity, RUN_MARK, tree};
use countersign_store::{AskFilter, StoreError};
use tokio::time::Instant;

use crate::jobs::closing::Why;
use crate::jobs::runner::Runner;

/// How long is waited after a no for what is said about it: that is a turn of its own.
const FOLLOW_UP_PATIENCE: Duration = Duration::from_millis(1_500);
/// How long a remedy may take to show.
const REMEDY_PATIENCE: Duration = Duration::from_secs(10);
/// From when on it is looked whether a silent job has stalled: looking costs a walk through all processes.
const SUSPICIOUS: Duration = Duration::from_secs(5);
/// How often it is looked then.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How often the engine's lists are read for asks that stay open.
const ASKS_AGAIN: Duration = Duration::from_secs(30);
/// A process may have been started this long before its tool is told of.
const HEAD_START: Duration = Duration::from_secs(1);
/// The newest asks of a session that are looked at.
const NEWEST_ASKS: i64 = 5;

/// What was seen of a job that is running.
pub(super) struct Watch {
    /// The session that is watched for it.
    pub(super) session: SessionId,
    /// When it was last looked whether it has stalled.
    looked: Option<Instant>,
    /// When the engine's lists were last read for its open asks.
    asks_looked: Option<Instant>,
    /// What it seems to have stalled for, and since when something is done about it.
    remedy: Option<(FailureCode, Instant)>,
    /// Since when its turn has been over while something may still be said about a no.
    over: Option<Instant>,
}

impl Watch {
    fn new(session: SessionId) -> Self {
        Self {
            session,
            looked: None,
            asks_looked: None,
            remedy: None,
            over: None,
        }
    }
}

impl Runner {
    /// A job whose prompt is written down.
    pub(super) async fn look_after_turn(&mut self, job: &Job) -> Result<(), StoreError> {
        let store = &self.broker.store;
        let (Some(session), Some(turn)) = (job.session, job.turn) else {
            return Ok(());
        };
        let (Some(session), Some(turn)) = (store.session(session).await?, store.turn(turn).await?)
        else {
            return Ok(());
        };
        if !self.watches.contains_key(&job.id) {
            self.begin_to_watch(job, session.id).await?;
        }
        if let Some(outcome) = self.outcome(job, &session, &turn).await? {
            return self.end_with(job, &session, &turn, &outcome).await;
        }
        if job.engine == Session::OPENCODE
            && let Ok(supervisor) = self.broker.supervisor(job.workspace)
            && supervisor.link().is_err()
        {
            // The turn may wait for an engine that nobody else calls.
            supervisor.call();
        }
        if let Some(why) = self.why_close(job) {
            return self.close(job, &session, &turn, &why).await;
        }
        let asks = self.settle_asks(job, &session).await?;
        self.note_waiting(job, &asks).await?;
        if asks.is_empty() {
            self.look_for_stall(job, &session).await?;
        } else {
            self.look_for_lost_ask(job);
        }
        Ok(())
    }

    /// Has the engine's lists read now and then while an ask is open: one that the engine forgot would stay open, and
    /// nobody's answer would reach anybody.
    fn look_for_lost_ask(&mut self, job: &Job) {
        let Some(watch) = self.watches.get_mut(&job.id) else {
            return;
        };
        let pause = ASKS_AGAIN.min(Duration::from_secs(job.limits.idle_limit_seconds));
        let looked = *watch.asks_looked.get_or_insert_with(Instant::now);
        if looked.elapsed() >= pause
            && let Ok(supervisor) = self.broker.supervisor(job.workspace)
        {
            watch.asks_looked = Some(Instant::now());
            supervisor.look_again();
        }
    }

    async fn begin_to_watch(&mut self, job: &Job, session: SessionId) -> Result<(), StoreError> {
        let live = &self.broker.live;
        live.watch(session);
        let mut family = vec![session];
        while let Some(member) = family.pop() {
            for child in self.broker.store.child_sessions(member).await? {
                live.watch_child(member, child.id);
                family.push(child.id);
            }
        }
        self.watches.insert(job.id.clone(), Watch::new(session));
        Ok(())
    }

    /// How the job's turn ended, with what followed from it, once nothing more follows.
    async fn outcome(
        &mut self,
        job: &Job,
        session: &Session,
        turn: &Turn,
    ) -> Result<Option<TurnOutcome>, StoreError> {
        let Some(own) = turn.outcome.clone() else {
            return Ok(None);
        };
        let store = &self.broker.store;
        let open = store.open_turns(session.id).await?;
        if open.iter().any(|turn| turn.follows.is_some()) {
            return Ok(None);
        }
        let newest = store.newest_turn(session.id).await?;
        let followed = newest.filter(|newest| newest.follows.is_some() && newest.id > turn.id);
        let is_closing = self.closing.contains_key(&job.id);
        if !is_closing && self.was_refused(session, turn).await? {
            let watch = self.watches.get_mut(&job.id);
            let over = watch.map(|watch| *watch.over.get_or_insert_with(Instant::now));
            if over.is_some_and(|over| over.elapsed() < FOLLOW_UP_PATIENCE) {
                return Ok(None);
            }
        }
        Ok(Some(followed.and_then(|turn| turn.outcome).unwrap_or(own)))
    }

    /// Whether something was refused in a turn: what is said about that may follow.
    async fn was_refused(&self, session: &Session, turn: &Turn) -> Result<bool, StoreError> {
        let asks = self.newest_asks(session).await?;
        Ok(asks.iter().any(|ask| {
            let is_no = match &ask.state {
                AskState::Expired { .. } => true,
                AskState::Answered(answer, _)
                | AskState::Delivered(answer, _)
                | AskState::Undeliverable(answer, _) => !answer.choice.is_yes(),
                AskState::Open | AskState::Withdrawn { .. } => false,
            };
            is_no && ask.opened_at >= turn.started_at
        }))
    }

    pub(super) async fn newest_asks(&self, session: &Session) -> Result<Vec<Ask>, StoreError> {
        let filter = AskFilter {
            session: Some(session.id),
            ..AskFilter::default()
        };
        self.broker.store.asks(filter, NEWEST_ASKS).await
    }

    /// Keeps the job's state true to whether it waits for an answer.
    async fn note_waiting(&self, job: &Job, asks: &[Ask]) -> Result<(), StoreError> {
        let (step, cause) = match (job.state, asks.first()) {
            (JobState::Running, Some(ask)) => {
                let what = ask.subject.summary();
                let why = match job.on_ask {
                    OnAsk::Allow => " (its terms allow only what is known as a whole)",
                    OnAsk::Wait | OnAsk::Deny => "",
                };
                let text = format!(
                    "waits for an answer to {}{why}: {} {what}",
                    ask.id,
                    ask.subject.tool()
                );
                (JobStep::Wait, text)
            }
            (JobState::Waiting, None) => (JobStep::GoOn, "goes on".to_owned()),
            _ => return Ok(()),
        };
        let now = self.broker.clock.now();
        self.broker
            .store
            .advance_job(&job.id, step, &cause, now)
            .await?;
        Ok(())
    }

    /// Looks whether a silent job has stalled. What it seems to have stalled for is said in its log, and what the engine
    /// holds is read again, once; only if that changes nothing does it end.
    async fn look_for_stall(&mut self, job: &Job, session: &Session) -> Result<(), StoreError> {
        let Some(pulse) = self.broker.live.pulse(session.id) else {
            return Ok(());
        };
        let silent = pulse.heard.elapsed();
        let Some(watch) = self.watches.get_mut(&job.id) else {
            return Ok(());
        };
        let was_looked_at = watch
            .looked
            .is_some_and(|looked| looked.elapsed() < LOOK_AGAIN);
        let suspicious = SUSPICIOUS.min(Duration::from_secs(job.limits.idle_limit_seconds));
        if (silent < suspicious && pulse.retrying.is_none()) || was_looked_at {
            if silent < suspicious {
                watch.remedy = None;
            }
            return Ok(());
        }
        watch.looked = Some(Instant::now());
        let retrying = pulse.retrying.map(|(since, _)| since.elapsed());
        let signs = self.signs(job, session, silent, retrying).await?;
        let stall = signs.stall();
        let Some(watch) = self.watches.get_mut(&job.id) else {
            return Ok(());
        };
        let remedy = watch.remedy;
        match (stall, remedy) {
            (None, _) => watch.remedy = None,
            (Some(code), Some((tried, since))) if tried == code => {
                if since.elapsed() >= REMEDY_PATIENCE {
                    let text = said_of(code, &signs);
                    self.note(job, &format!("{text}. Looking again changed nothing"))
                        .await?;
                    self.begin_to_close(&job.id, Why::Stalled(code, text));
                }
            }
            (Some(code), _) => {
                watch.remedy = Some((code, Instant::now()));
                let text = said_of(code, &signs);
                self.note(job, &format!("{text}. What the engine holds is read again"))
                    .await?;
                if let Ok(supervisor) = self.broker.supervisor(job.workspace) {
                    supervisor.look_again();
                }
            }
        }
        Ok(())
    }

    async fn note(&self, job: &Job, text: &str) -> Result<(), StoreError> {
        let now = self.broker.clock.now();
        self.broker.store.note_job(&job.id, text, now).await
    }

    async fn signs(
        &self,
        job: &Job,
        session: &Session,
        silent: Duration,
        retrying: Option<Duration>,
    ) -> Result<Signs, StoreError> {
        let store = &self.broker.store;
        let newest = store.newest_items(session.id, 0, i64::MAX, 1).await?;
        let now = self.broker.clock.now();
        let running = newest.first().and_then(|item| {
            let Item::Tool {
                tool,
                status: ToolStatus::Running | ToolStatus::Pending,
                input,
                ..
            } = &item.item
            else {
                return None;
            };
            let is_shell = tool == "bash" || input["command"].is_string();
            Some((is_shell, now.since(item.at)))
        });
        let asks = self.newest_asks(session).await?;
        let waits_for_answer = asks
            .iter()
            .any(|ask| matches!(ask.state.phase(), AskPhase::Open | AskPhase::Answered));
        let ask_was_lost = asks.first().is_some_and(|ask| match &ask.state {
            AskState::Undeliverable(..) => true,
            AskState::Withdrawn { why, .. } => !matches!(why, Withdrawal::SiblingDenied { .. }),
            AskState::Open
            | AskState::Answered(..)
            | AskState::Delivered(..)
            | AskState::Expired { .. } => false,
        });
        let run = self.run_of(job, session).await?;
        let has_live_process = match (run, running) {
            (Some(run), Some((_, age))) => {
                // The table of processes is read away from the tasks that serve people.
                let look = move || has_live_process(run, age + HEAD_START);
                tokio::task::spawn_blocking(look).await.unwrap_or(true)
            }
            // Without a tool there is nothing that a process would be for.
            (_, None) | (None, _) => false,
        };
        Ok(Signs {
            silent,
            idle_limit: Duration::from_secs(job.limits.idle_limit_seconds),
            waits_for_answer,
            retrying,
            shell_runs: running.is_some_and(|(is_shell, _)| is_shell),
            has_live_process,
            ask_was_lost,
        })
    }

    /// The life of the engine that serves a job.
    async fn run_of(&self, job: &Job, session: &Session) -> Result<Option<RunId>, StoreError> {
        if job.engine != Session::OPENCODE {
            return self.broker.store.run_of_session(session.id).await;
        }
        let supervisor = self.broker.supervisor(job.workspace).ok();
        Ok(supervisor.and_then(|supervisor| supervisor.status().run))
    }
}

/// Whether a process is alive that the engine started in this life of it, and no longer ago than `age`. What cannot be
/// known counts as alive.
fn has_live_process(run: RunId, age: Duration) -> bool {
    let Ok(marked) = tree::started_with(RUN_MARK, &run.to_string()) else {
        return true;
    };
    // The engine itself carries the mark too, and has nobody above it who does.
    let is_child = |process: &ProcessIdentity| {
        let above = tree::ancestors(process.pid).unwrap_or_default();
        above
            .iter()
            .any(|above| above != process && marked.contains(above))
    };
    let is_young = |process: &&ProcessIdentity| process.age().is_none_or(|its| its <= age);
    marked.iter().filter(is_young).any(is_child)
}

/// What a stall is, in a sentence.
fn said_of(code: FailureCode, signs: &Signs) -> String {
    let silent = signs.silent.as_secs();
    match code {
        FailureCode::ToolStuck => format!(
            "a shell command is said to run, but no process of it is alive, and nothing was heard for {silent} s"
        ),
        FailureCode::AskLost => format!(
            "the agent waits for leave that it no longer asks for, and nothing was heard for {silent} s"
        ),
        FailureCode::ProviderRetrying => format!(
            "the model's provider has failed and was tried again for {} s",
            signs.retrying.unwrap_or_default().as_secs()
        ),
        FailureCode::Provider
        | FailureCode::Denied
        | FailureCode::AskExpired
        | FailureCode::EngineUnavailable
        | FailureCode::EngineGone
        | FailureCode::EngineRefused
        | FailureCode::NotResumable
        | FailureCode::Worktree
        | FailureCode::Deadline
        | FailureCode::Idle
        | FailureCode::Internal => format!(
            "nothing was heard of it for {silent} s, its idle limit is {} s",
            signs.idle_limit.as_secs()
        ),
    }
}
