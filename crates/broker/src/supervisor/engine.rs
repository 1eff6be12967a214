//! The lives of a workspace's engine: taken up from an earlier server, begun, ended, begun again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use countersign_core::event::EnginePhase;
use countersign_core::session::{Activity, Session, TurnOutcome};
use countersign_engine::keeper::{Keeper, KeeperSpec, Phase};
use countersign_engine::opencode::{
    ClientError, Endpoint, Launch, Opencode, find_program, is_too_old, too_old,
};
use countersign_store::{Engine, Run, StoreError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::kept::{
    end_what_is_left, find_keeper, last_words, remove_directory, run_directory, stop,
};
use crate::settings::EngineChoice;
use crate::standstill::{self, Step};
use crate::supervisor::run::EngineRun;
use crate::supervisor::{Link, Report, Restart, Shared};

/// How long an engine may take to become ready.
const READY_LIMIT: Duration = Duration::from_secs(90);
/// How long to wait before an engine that does not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// How long to wait before the next life: longer each time that one ends early.
const BACK_OFF: [Duration; 6] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_mins(1),
];
/// A life that lasts this long was a good one.
const GOOD_LIFE: Duration = Duration::from_mins(1);
const PROGRAM: &str = "opencode";
/// What an engine is called that somebody else runs.
const ATTACHED: &str = "opencode, attached";

/// A life of an engine that a keeper keeps.
pub(super) struct Kept {
    run: Run,
    keeper: Keeper,
    directory: PathBuf,
}

/// Owns the workspace's engine until the end.
pub(super) async fn supervise(shared: Shared, report: Report, adopted: Option<Kept>) {
    let outcome = match shared.settings.engine.clone() {
        EngineChoice::None => Ok(()),
        EngineChoice::Start { program, inherit } => {
            keep_alive(&shared, &report, adopted, program, inherit).await
        }
        EngineChoice::StartWhenCalled { program, inherit } => {
            if adopted.is_none() {
                tokio::select! {
                    () = report.called.notified() => {}
                    () = shared.ending.cancelled() => return,
                }
            }
            keep_alive(&shared, &report, adopted, program, inherit).await
        }
        EngineChoice::Attach(endpoint) => attend_foreign(&shared, &report, endpoint).await,
        EngineChoice::AttachWhenCalled(mut endpoints) => {
            match endpoints.remove(&shared.workspace.path) {
                Some(endpoint) => {
                    tokio::select! {
                        () = report.called.notified() => {}
                        () = shared.ending.cancelled() => return,
                    }
                    attend_foreign(&shared, &report, endpoint).await
                }
                None => Ok(()),
            }
        }
    };
    if let Err(error) = outcome {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "the workspace has lost its engine"
        );
        let message =
            "the ledger failed while the engine was looked after; start Countersign again";
        report.status(|status| message.clone_into(&mut status.message));
    }
}

/// Finds out what became of the engine's earlier lives: the newest that goes on is taken up, the others are
/// ended, in the ledger and in the process table.
pub(super) async fn adopt(shared: &Shared, report: &Report) -> Result<Option<Kept>, StoreError> {
    let now = shared.clock.now();
    let engine = shared
        .store
        .ensure_engine(shared.workspace.id, PROGRAM, now)
        .await?;
    let wanted = matches!(
        shared.settings.engine,
        EngineChoice::Start { .. } | EngineChoice::StartWhenCalled { .. }
    );
    let mut adopted: Option<Kept> = None;
    for run in shared
        .store
        .unended_runs(engine.id)
        .await?
        .into_iter()
        .rev()
    {
        let directory = run_directory(&shared.settings.data_directory, run.id);
        let why = match find_keeper(&directory, run.id).await {
            Ok(keeper) => {
                report.keeper(keeper.identity());
                if wanted && adopted.is_none() && keeper.phase().borrow().exit().is_none() {
                    adopted = Some(Kept {
                        run,
                        keeper,
                        directory,
                    });
                    continue;
                }
                stop(&keeper).await;
                "another engine took its place".to_owned()
            }
            Err(why) => why,
        };
        // The sessions are those of the life that goes on, if one does.
        if adopted.is_some() {
            end_run(shared, &run, &directory, &why).await?;
        } else {
            end_life(shared, &run, &directory, &why).await?;
        }
    }
    Ok(adopted)
}

async fn keep_alive(
    shared: &Shared,
    report: &Report,
    mut adopted: Option<Kept>,
    program: Option<PathBuf>,
    inherit: Vec<String>,
) -> Result<(), StoreError> {
    let engine = shared
        .store
        .ensure_engine(shared.workspace.id, PROGRAM, shared.clock.now())
        .await?;
    let mut early_ends = 0;
    let mut logged = String::new();
    let mut restarts = report.restarts.subscribe();
    while !shared.ending.is_cancelled() {
        let began = tokio::time::Instant::now();
        restarts.mark_unchanged();
        let kept = match adopted.take() {
            Some(kept) => Ok(kept),
            None => launch(shared, report, &engine, program.as_deref(), &inherit).await?,
        };
        let message = match kept {
            Ok(kept) => live(shared, report, kept, &mut restarts).await?,
            Err(message) => message,
        };
        if shared.ending.is_cancelled() {
            return Ok(());
        }
        // Whoever wanted another life gets it at once.
        let is_wanted = restarts.has_changed().unwrap_or(false);
        report.link.send_replace(None);
        report.status(|status| {
            status.phase = EnginePhase::Absent;
            status.run = None;
            status.message.clone_from(&message);
        });
        if is_wanted {
            early_ends = 0;
            continue;
        }
        // What is wrong is said once, and not with every try.
        if logged != message {
            tracing::warn!("{message}");
            logged = message;
        }
        early_ends = if began.elapsed() > GOOD_LIFE {
            0
        } else {
            early_ends + 1
        };
        let wait = BACK_OFF[early_ends.min(BACK_OFF.len() - 1)];
        tokio::select! {
            () = shared.ending.cancelled() => {}
            _ = restarts.changed() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
    Ok(())
}

/// Begins a life; a sentence says why not.
async fn launch(
    shared: &Shared,
    report: &Report,
    engine: &Engine,
    program: Option<&Path>,
    inherit: &[String],
) -> Result<Result<Kept, String>, StoreError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(program) = program.map(PathBuf::from).or_else(|| find_program(&path)) else {
        return Ok(Err("opencode was not found on the PATH. Install it with \
             `npm install -g opencode-ai`; it is then found by itself."
            .to_owned()));
    };
    let run = shared.store.begin_run(engine, shared.clock.now()).await?;
    let directory = run_directory(&shared.settings.data_directory, run.id);
    let launch = Launch {
        program,
        directory: PathBuf::from(&shared.workspace.path),
        run: run.id,
        inherit: inherit.to_vec(),
        lonely_limit_s: shared.settings.lonely_limit_s,
    };
    report.status(|status| {
        status.phase = EnginePhase::Starting;
        status.run = Some(run.id);
        "opencode is starting".clone_into(&mut status.message);
    });
    let spec = match launch.spec(std::env::vars_os()) {
        Ok(spec) => spec,
        Err(error) => {
            end_life(shared, &run, &directory, &error.to_string()).await?;
            return Ok(Err(error.to_string()));
        }
    };
    standstill::before(Step::Spawn).await;
    let spawned = Keeper::spawn(&shared.settings.own_program, &directory, &spec).await;
    standstill::after(Step::Spawn).await;
    match spawned {
        Ok(keeper) => {
            report.keeper(keeper.identity());
            Ok(Ok(Kept {
                run,
                keeper,
                directory,
            }))
        }
        Err(error) => {
            let message = format!("opencode could not be started: {error}");
            end_life(shared, &run, &directory, &message).await?;
            Ok(Err(message))
        }
    }
}

/// One life, from being kept to its end; returns how it ended, as a sentence.
async fn live(
    shared: &Shared,
    report: &Report,
    kept: Kept,
    restarts: &mut watch::Receiver<Restart>,
) -> Result<String, StoreError> {
    let Kept {
        run,
        keeper,
        directory,
    } = &kept;
    let mut wanted = restarts.clone();
    let ready = tokio::select! {
        ready = ready_link(shared, report, &kept) => ready,
        _ = wanted.changed() => Err(restarts.borrow().why().to_owned()),
    };
    let why = match ready {
        Ok(link) => {
            report.status(|status| status.run = Some(run.id));
            let over = CancellationToken::new();
            let restarter = Some(report.restarts.clone());
            let attended = EngineRun::new(shared.clone(), link, restarter);
            let attending = Arc::new(attended).attend(report, &over);
            let ended = async {
                let mut phase = keeper.phase();
                tokio::select! {
                    _ = phase.wait_for(|phase| phase.exit().is_some()) => {}
                    () = shared.ending.cancelled() => {}
                    _ = wanted.changed() => {}
                }
                // An orderly stop carries what can be carried no further: the engine is about to end.
                over.cancel();
            };
            tokio::join!(attending, ended);
            match &*keeper.phase().borrow() {
                Phase::Exited(exit) => exit.to_string(),
                Phase::Starting | Phase::Ready { .. } if shared.ending.is_cancelled() => {
                    shared.why_ending()
                }
                Phase::Starting | Phase::Ready { .. } => restarts.borrow().why().to_owned(),
            }
        }
        Err(message) => message,
    };
    let said = last_words(directory);
    stop(keeper).await;
    end_what_is_left(directory).await;
    end_life(shared, run, directory, &why).await?;
    Ok(match said {
        None => format!("opencode ended: {why}"),
        Some(said) => format!("opencode ended: {why}. Its last words: {said}"),
    })
}

/// Waits until an engine is ready and connects to it.
async fn ready_link(shared: &Shared, report: &Report, kept: &Kept) -> Result<Link, String> {
    tokio::select! {
        ready = kept.keeper.ready(READY_LIMIT) => ready.map_err(|error| error.to_string())?,
        () = shared.ending.cancelled() => return Err(shared.why_ending()),
    };
    let spec = KeeperSpec::read(&kept.directory).map_err(|error| error.to_string())?;
    let endpoint = Launch::endpoint(&spec).map_err(|error| error.to_string())?;
    let client = Opencode::new(endpoint).map_err(|error| error.to_string())?;
    let version = patient_version(shared, report, kept, &client).await?;
    report.status(|status| status.version = Some(version.clone()));
    if is_too_old(&version) {
        return Err(too_old(&version));
    }
    Ok(Link::new(kept.run.id, client, true))
}

/// Asks an engine for its version until it answers. One that is busy may take long, above all when it has worked
/// on without a server: it must not lose its work for that.
async fn patient_version(
    shared: &Shared,
    report: &Report,
    kept: &Kept,
    client: &Opencode,
) -> Result<String, String> {
    let mut phase = kept.keeper.phase();
    let answer = async {
        loop {
            match client.version().await {
                Ok(version) => return Ok(version),
                Err(error @ (ClientError::Unreachable { .. } | ClientError::Unanswered { .. })) => {
                    report.status(|status| status.message = format!("{error} yet"));
                }
                Err(error) => return Err(error.to_string()),
            }
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    tokio::select! {
        answered = answer => answered,
        _ = phase.wait_for(|phase| phase.exit().is_some()) => Err("it ended before it answered".to_owned()),
        () = shared.ending.cancelled() => Err(shared.why_ending()),
        () = tokio::time::sleep(READY_LIMIT) => Err(format!("it did not answer for {} s", READY_LIMIT.as_secs())),
    }
}

/// Attends to an engine that somebody else runs: it is never started or stopped.
async fn attend_foreign(
    shared: &Shared,
    report: &Report,
    endpoint: Endpoint,
) -> Result<(), StoreError> {
    let engine = shared
        .store
        .ensure_engine(shared.workspace.id, ATTACHED, shared.clock.now())
        .await?;
    // There is no telling whether it is the life that an earlier server knew: its own lists decide.
    let run = match shared.store.unended_runs(engine.id).await?.pop() {
        Some(run) => run,
        None => shared.store.begin_run(&engine, shared.clock.now()).await?,
    };
    let client = match Opencode::new(endpoint) {
        Ok(client) => client,
        Err(error) => {
            report.status(|status| status.message = error.to_string());
            return Ok(());
        }
    };
    report.status(|status| {
        status.run = Some(run.id);
        status.phase = EnginePhase::Starting;
    });
    let link = Link::new(run.id, client, false);
    Arc::new(EngineRun::new(shared.clone(), link, None))
        .attend(report, &shared.ending)
        .await;
    Ok(())
}

/// Ends a life in the ledger, with its asks and its turns, and removes its run directory.
async fn end_life(
    shared: &Shared,
    run: &Run,
    directory: &Path,
    why: &str,
) -> Result<(), StoreError> {
    let store = &shared.store;
    end_run(shared, run, directory, why).await?;
    let at_work = store
        .sessions_at_work(shared.workspace.id, Session::OPENCODE)
        .await?;
    // A prompt to one that rests has not left: the next life gets it.
    let is_busy = |session: &Session| session.activity == Activity::Busy;
    for session in at_work.into_iter().filter(is_busy) {
        let now = shared.clock.now();
        let mut goes_on = false;
        for turn in store.open_turns(session.id).await? {
            // Nor has one that waits for the end of another.
            if store.is_turn_waiting(turn.id).await? {
                goes_on = true;
                continue;
            }
            // The turn of a job is taken up by the next life, which knows it by its name.
            let reason = format!("the engine ended ({why})");
            if store.resume_job_turn(turn.id, &reason, now).await? {
                goes_on = true;
                continue;
            }
            let reason = if why == Restart::ForeignAlways.why() {
                format!("interrupted: {why}")
            } else {
                format!("the engine ended: {why}")
            };
            let outcome = TurnOutcome::Failed { reason };
            store
                .end_turn(session.workspace, turn.id, &outcome, now)
                .await?;
        }
        let activity = if goes_on {
            Activity::Idle
        } else {
            Activity::Gone
        };
        store.set_activity(session.id, activity, now).await?;
        shared.live.forget(session.id);
    }
    Ok(())
}

/// Ends a life in the ledger, with its asks, and removes its run directory.
async fn end_run(
    shared: &Shared,
    run: &Run,
    directory: &Path,
    why: &str,
) -> Result<(), StoreError> {
    shared
        .store
        .end_run(shared.workspace.id, run.id, why, shared.clock.now())
        .await?;
    remove_directory(directory);
    Ok(())
}
