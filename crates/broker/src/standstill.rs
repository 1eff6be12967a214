//! The steps of a job before and after which a test can have the server stand still, to kill it or its engine there and
//! nowhere else.
//!
//! Only builds with debug assertions have this: in every other one the two functions are empty, and the variable means
//! nothing. The file that `COUNTERSIGN_STANDSTILL` names says where, as in `after spawn`. The server takes the file away and stops
//! itself (`SIGSTOP`), so that nothing of it moves; once it is continued, it goes on when the file's place is empty.

/// A step that a job takes with its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The job's row is written.
    Row,
    /// Its engine is started.
    Spawn,
    /// Its prompt is sent.
    Prompt,
    /// An ask of it is opened.
    Ask,
    /// An answer is sent.
    Answer,
    /// An answer is noted as delivered, together with what follows it.
    Delivery,
    /// The engine's last message is taken in, which ends the turn.
    LastMessage,
    /// Its result is written.
    Result,
}

#[cfg(debug_assertions)]
pub(crate) use real::{after, before};

/// Nothing, in a build that is shipped.
#[cfg(not(debug_assertions))]
pub(crate) async fn before(_: Step) {}

/// Nothing, in a build that is shipped.
#[cfg(not(debug_assertions))]
pub(crate) async fn after(_: Step) {}

#[cfg(debug_assertions)]
mod real {
    use std::path::{Path, PathBuf};
    use std::sync::LazyLock;
    use std::time::Duration;

    use rustix::process::{Signal, getpid, kill_process};

    use super::Step;

    /// Names the file that says where to stand still.
    const VARIABLE: &str = "COUNTERSIGN_STANDSTILL";
    /// How often it is looked whether to go on.
    const LOOK: Duration = Duration::from_millis(2);

    static FILE: LazyLock<Option<PathBuf>> =
        LazyLock::new(|| std::env::var_os(VARIABLE).map(PathBuf::from));

    /// Stands still if a test wants that before `step`.
    pub(crate) async fn before(step: Step) {
        stand("before", step).await;
    }

    /// Stands still if a test wants that after `step`.
    pub(crate) async fn after(step: Step) {
        stand("after", step).await;
    }

    async fn stand(when: &str, step: Step) {
        let Some(file) = FILE.as_deref() else {
            return;
        };
        let wanted = std::fs::read_to_string(file).unwrap_or_default();
        if wanted.trim() != format!("{when} {}", name(step)) {
            return;
        }
        let reached = reached(file);
        // Whoever moves it is the one who stands still.
        if std::fs::rename(file, &reached).is_err() {
            return;
        }
        if let Err(error) = kill_process(getpid(), Signal::STOP) {
            tracing::error!(%error, "the server could not stand still");
        }
        while reached.exists() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Where the file is once the server stands still.
    fn reached(file: &Path) -> PathBuf {
        file.with_extension("reached")
    }

    const fn name(step: Step) -> &'static str {
        match step {
            Step::Row => "row",
            Step::Spawn => "spawn",
            Step::Prompt => "prompt",
            Step::Ask => "ask",
            Step::Answer => "answer",
            Step::Delivery => "delivery",
            Step::LastMessage => "last-message",
            Step::Result => "result",
        }
    }
}
