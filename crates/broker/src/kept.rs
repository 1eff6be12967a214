//! Engines that a keeper keeps: where each life has its directory, how it is stopped, and how it ended.

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_core::id::{RunId, WorkspaceId};
use countersign_engine::keeper::{Attach, Exit, Keeper, Orphan, engine_log_tail};

/// How long an engine's processes get to end in order.
const GRACE: Duration = Duration::from_secs(3);
/// How long those of an agent get whose job has ended: two seconds after that nothing of it may be left.
const SHORT_GRACE: Duration = Duration::from_secs(1);
/// How much of what an engine said last is looked at.
const TAIL: u64 = 2_000;

/// Where a life of an engine has its files.
pub(crate) fn run_directory(data_directory: &Path, run: RunId) -> PathBuf {
    data_directory.join("runs").join(run.to_string())
}

/// Where the worktrees of the jobs of a workspace are.
pub(crate) fn worktrees_of(data_directory: &Path, workspace: WorkspaceId) -> PathBuf {
    data_directory.join("worktrees").join(workspace.to_string())
}

/// Ends an engine with everything that it started.
pub(crate) async fn stop(keeper: &Keeper) {
    stop_within(keeper, GRACE).await;
}

async fn stop_within(keeper: &Keeper, grace: Duration) {
    match keeper.stop(grace).await {
        Ok(stopped) if stopped.left > 0 => {
            tracing::error!("{} processes of an engine could not be ended", stopped.left);
        }
        Ok(_) => {}
        Err(error) => {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "the keeper was gone already"
            );
        }
    }
}

/// Ends the processes of a life whose keeper was killed: nobody else can find them any more.
pub(crate) async fn end_what_is_left(directory: &Path) {
    if let Ok(Attach::Orphaned(orphan)) = Keeper::attach(directory).await {
        end_orphan(orphan).await;
    }
}

async fn end_orphan(orphan: Orphan) {
    if let Err(error) = orphan.end(GRACE).await {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "an engine's processes were not ended"
        );
    }
}

/// Ends an engine with everything that it started, also if its keeper was killed meanwhile.
pub(crate) async fn end_wholly(keeper: &Keeper, directory: &Path) {
    stop(keeper).await;
    end_what_is_left(directory).await;
}

/// Ends an agent whose job has ended, with everything that it started.
pub(crate) async fn end_soon(keeper: &Keeper, directory: &Path) {
    stop_within(keeper, SHORT_GRACE).await;
    end_what_is_left(directory).await;
}

/// Finds the keeper of a life that an earlier server began. If there is none, how that life ended is in the error,
/// and nothing of it runs any more.
pub(crate) async fn find_keeper(directory: &Path, run: RunId) -> Result<Keeper, String> {
    match Keeper::attach(directory).await {
        Ok(Attach::Live(keeper)) => Ok(keeper),
        Ok(Attach::Gone { exit }) => Err(exit.to_string()),
        Ok(Attach::Orphaned(orphan)) => {
            end_orphan(orphan).await;
            Err("its keeper was killed".to_owned())
        }
        Err(error) => {
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "no keeper for `{run}`"
            );
            Err("its keeper is gone".to_owned())
        }
    }
}

/// Removes the files of a life that is over.
pub(crate) fn remove_directory(directory: &Path) {
    if let Err(error) = std::fs::remove_dir_all(directory)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "a run directory was left behind"
        );
    }
}

/// The last line that an engine logged, if there is one.
pub(crate) fn last_words(directory: &Path) -> Option<String> {
    let said = engine_log_tail(directory, TAIL).unwrap_or_default();
    let last = said.lines().rev().find(|line| !line.trim().is_empty())?;
    // No database takes NUL characters in a text.
    Some(last.trim().replace('\0', "\u{fffd}"))
}

/// How an engine ended, if that is known within `limit`.
pub(crate) async fn how_it_ended(keeper: &Keeper, limit: Duration) -> Option<String> {
    let mut phase = keeper.phase();
    let exit = phase.wait_for(|phase| phase.exit().is_some());
    match tokio::time::timeout(limit, exit).await {
        Ok(Ok(phase)) => phase.exit().map(Exit::to_string),
        Ok(Err(_)) => Some("its keeper is gone".to_owned()),
        Err(_) => None,
    }
}
