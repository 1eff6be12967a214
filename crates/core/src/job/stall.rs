//! When a job has stalled: what can be seen of it decides, and nothing that is alive ever counts as stalled.

use std::time::Duration;

use crate::job::FailureCode;

/// For how long a shell command without any process is taken for one that is about to begin, or has just ended.
const STUCK_AFTER: Duration = Duration::from_secs(30);
/// For how long an agent whose ask was dropped may take to notice that.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// The longest time for which a provider may be tried again.
const RETRY_LIMIT: Duration = Duration::from_mins(15);

/// What can be seen of a job that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers a question of its own"
)]
pub struct Signs {
    /// For how long nothing at all was heard of its session; every word counts, and everything of its sub-agents.
    pub silent: Duration,
    /// Its idle limit.
    pub idle_limit: Duration,
    /// Whether an ask of it is open, or an answer is on its way.
    pub waits_for_answer: bool,
    /// For how long its provider has failed and was tried again, if it is.
    pub retrying: Option<Duration>,
    /// Whether a shell command is under way, as far as the engine says.
    pub shell_runs: bool,
    /// Whether a process is alive that was started since its newest tool began, or that cannot be told apart from one.
    pub has_live_process: bool,
    /// Whether its newest ask was dropped without an answer having reached the agent.
    pub ask_was_lost: bool,
}

impl Signs {
    /// What it has stalled for, if it has.
    pub fn stall(&self) -> Option<FailureCode> {
        if self.waits_for_answer {
            return None;
        }
        let retry_limit = RETRY_LIMIT.min(self.idle_limit);
        if self.retrying.is_some_and(|time| time > retry_limit) {
            return Some(FailureCode::ProviderRetrying);
        }
        // What has a process is at work, however long it is silent.
        if self.has_live_process || self.retrying.is_some() {
            return None;
        }
        // A command whose ask was lost has no process because it never began.
        if self.ask_was_lost && self.silent > LOST_AFTER.min(self.idle_limit) {
            return Some(FailureCode::AskLost);
        }
        if self.shell_runs && self.silent > STUCK_AFTER.min(self.idle_limit) {
            return Some(FailureCode::ToolStuck);
        }
        (self.silent > self.idle_limit).then_some(FailureCode::Idle)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WELL: Signs = Signs {
        silent: Duration::ZERO,
        idle_limit: Duration::from_hours(1),
        waits_for_answer: false,
        retrying: None,
        shell_runs: false,
        has_live_process: false,
        ask_was_lost: false,
    };

    #[test]
    fn each_stall_is_told_by_its_cause() {
        let minute = Duration::from_mins(1);
        for (signs, expected) in [
            (WELL, None),
            (
                Signs {
                    silent: minute,
                    ..WELL
                },
                None,
            ),
            (
                Signs {
                    silent: Duration::from_hours(2),
                    ..WELL
                },
                Some(FailureCode::Idle),
            ),
            (
                Signs {
                    silent: minute,
                    shell_runs: true,
                    ..WELL
                },
                Some(FailureCode::ToolStuck),
            ),
            (
                Signs {
                    silent: minute,
                    ask_was_lost: true,
                    ..WELL
                },
                Some(FailureCode::AskLost),
            ),
            (
                Signs {
                    silent: minute,
                    shell_runs: true,
                    ask_was_lost: true,
                    ..WELL
                },
                Some(FailureCode::AskLost),
            ),
            (
                Signs {
                    retrying: Some(Duration::from_mins(20)),
                    ..WELL
                },
                Some(FailureCode::ProviderRetrying),
            ),
            (
                Signs {
                    retrying: Some(minute),
                    ..WELL
                },
                None,
            ),
        ] {
            assert_eq!(signs.stall(), expected, "{signs:?}");
        }
    }

    proptest! {
        #[test]
        fn whoever_waits_for_an_answer_has_not_stalled(
            silent in 0_u64..1_000_000, retrying: Option<u16>, shell_runs: bool, ask_was_lost: bool
        ) {
            let signs = Signs {
                silent: Duration::from_secs(silent),
                waits_for_answer: true,
                retrying: retrying.map(|seconds| Duration::from_secs(seconds.into())),
                shell_runs,
                ask_was_lost,
                ..WELL
            };
            prop_assert_eq!(signs.stall(), None);
        }

        #[test]
        fn a_slow_job_with_a_process_of_its_own_has_not_stalled(
            silent in 0_u64..1_000_000, shell_runs: bool, ask_was_lost: bool
        ) {
            let signs = Signs {
                silent: Duration::from_secs(silent),
                has_live_process: true,
                shell_runs,
                ask_was_lost,
                ..WELL
            };
            prop_assert_eq!(signs.stall(), None);
        }

        #[test]
        fn whoever_was_just_heard_of_has_not_stalled(shell_runs: bool, ask_was_lost: bool) {
            prop_assert_eq!(Signs { shell_runs, ask_was_lost, ..WELL }.stall(), None);
        }
    }
}
