//! The environment variables that mean something here: ours, and those of the companion plugins that still do.

use std::time::Duration;

/// A variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// What holds if it is not set.
    pub(crate) default: &'static str,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// Whether its value is nobody's business.
    pub(crate) is_secret: bool,
}

const fn variable(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable {
        name,
        default,
        meaning,
        is_secret: false,
    }
}

const fn secret(name: &'static str, meaning: &'static str) -> Variable {
    Variable {
        name,
        default: "(unset)",
        meaning,
        is_secret: true,
    }
}

/// The data directory.
pub(crate) const DATA: &str = "COUNTERSIGN_DATA";
/// The data directory, as the companion called it.
pub(crate) const COMPANION_DATA: &str = "OPENCODE_COMPANION_DATA";
/// For how many seconds a server that was started in the background stays without anything to do.
pub(crate) const IDLE_EXIT: &str = "COUNTERSIGN_IDLE_EXIT_S";
const PROMPT_TIMEOUT: &str = "OPENCODE_PROMPT_TIMEOUT_MS";
const IDLE_TIMEOUT: &str = "OPENCODE_IDLE_TIMEOUT_MS";
const RESULT_CHARS: &str = "OPENCODE_MONITOR_RESULT_CHARS";
const HEARTBEAT_POLLS: &str = "OPENCODE_MONITOR_HEARTBEAT_POLLS";
const MAX_POLLS: &str = "OPENCODE_MONITOR_MAX_POLLS";
/// The caller's own session, where it is called otherwise than the one that the caller says.
pub(crate) const SESSION: &str = "COUNTERSIGN_SESSION_ID";
/// The caller's own session, in the order in which they are looked for.
const SESSIONS: [&str; 4] = [
    SESSION,
    "OPENCODE_COMPANION_SESSION_ID",
    "CLAUDE_SESSION_ID",
    "CLAUDE_CODE_SESSION_ID",
];
/// What one poll of a monitor took: the companion counted in polls.
const POLL: Duration = Duration::from_secs(30);

/// All of them.
pub(crate) const VARIABLES: [Variable; 24] = [
    variable(
        DATA,
        "$XDG_STATE_HOME/countersign",
        "the one state path of every entry point",
    ),
    variable(
        COMPANION_DATA,
        "(unset)",
        "the same, where COUNTERSIGN_DATA is not set",
    ),
    variable(
        "COUNTERSIGN_URL",
        "this machine's own server",
        "the server to talk to",
    ),
    secret("COUNTERSIGN_TOKEN", "the token for a server elsewhere"),
    variable(
        "COUNTERSIGN_LOG",
        "warn",
        "what a server logs: error, warn, info, debug",
    ),
    secret(
        "COUNTERSIGN_DATABASE",
        "a PostgreSQL address for the ledger of a server",
    ),
    variable(
        IDLE_EXIT,
        "900",
        "after how many idle seconds a server ends that was started in the background",
    ),
    variable(
        PROMPT_TIMEOUT,
        "(none)",
        "the deadline of a job that has no --deadline, in milliseconds",
    ),
    variable(
        IDLE_TIMEOUT,
        "3600000",
        "the idle limit of a job that has no --idle-limit, in milliseconds; waiting for an answer does not count",
    ),
    variable(
        RESULT_CHARS,
        "1500",
        "how many characters of a result `watch` prints",
    ),
    variable(
        HEARTBEAT_POLLS,
        "10",
        "after how many times 30 seconds without news `watch` says that all is well",
    ),
    variable(
        MAX_POLLS,
        "120",
        "after how many times 30 seconds `watch` ends with TERMINAL=timeout",
    ),
    variable(
        SESSIONS[0],
        "(unset)",
        "the caller's own session, kept with each job that it hands in",
    ),
    variable(
        SESSIONS[1],
        "(unset)",
        "the same, as the companion called it",
    ),
    variable(SESSIONS[2], "(unset)", "the same, from Claude Code"),
    variable(
        SESSIONS[3],
        "(unset)",
        "the same, from newer versions of Claude Code",
    ),
    secret(
        "OPENCODE_SERVER_PASSWORD",
        "the password of an opencode that `serve --attach` talks to",
    ),
    variable(
        "OPENCODE_SERVER_USERNAME",
        "opencode",
        "the user of that opencode",
    ),
    variable(
        "OPENCODE_REQUEST_TIMEOUT_MS",
        "(not used)",
        "no request waits for an agent any more; use --deadline",
    ),
    variable(
        "OPENCODE_COMPLETION_POLL_MS",
        "(not used)",
        "nothing is polled: the engine's events end a job",
    ),
    variable(
        "OPENCODE_PGREP_MISS_THRESHOLD",
        "(not used)",
        "stuck commands are known by the job's own processes",
    ),
    variable(
        "OPENCODE_STRICT_TERMINAL",
        "(not used)",
        "always strict: a job ends when its session is idle",
    ),
    variable(
        "CLAUDE_PLUGIN_DATA",
        "(never used)",
        "another program's directory; no state is ever put there",
    ),
    variable("NO_COLOR", "(unset)", "no colours, not even on a terminal"),
];

/// What the variables of a process say.
#[derive(Debug, Clone, Default)]
pub struct Variables(Vec<(&'static str, String)>);

impl Variables {
    /// Reads them off this process.
    pub(crate) fn of_this_process() -> Self {
        let set = VARIABLES.iter().filter_map(|variable| {
            let value = std::env::var(variable.name).ok()?;
            (!value.is_empty()).then_some((variable.name, value))
        });
        Self(set.collect())
    }

    /// These and no others; for tests.
    pub fn of(set: &[(&'static str, &str)]) -> Self {
        let owned = set.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Self(owned.collect())
    }

    /// The value of `name`, if it is set.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name)?;
        Some(found.1.as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.trim().parse().ok()
    }

    /// The caller's own session.
    pub(crate) fn session(&self) -> Option<&str> {
        SESSIONS.iter().find_map(|name| self.get(name))
    }

    /// The deadline of a job that has none of its own.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.milliseconds(PROMPT_TIMEOUT)
    }

    /// The idle limit of a job that has none of its own.
    pub(crate) fn idle_limit(&self) -> Option<Duration> {
        self.milliseconds(IDLE_TIMEOUT)
    }

    fn milliseconds(&self, name: &str) -> Option<Duration> {
        let wanted = self.number(name).filter(|number| *number > 0)?;
        // Limits are kept in seconds; one that is shorter is one second.
        Some(Duration::from_secs(wanted.div_ceil(1_000)))
    }

    /// How many characters of a result are printed on a line.
    pub(crate) fn result_characters(&self) -> usize {
        let wanted = self.number(RESULT_CHARS).unwrap_or(1_500);
        usize::try_from(wanted).unwrap_or(usize::MAX)
    }

    /// After which time without news a sign of life is given.
    pub(crate) fn heartbeat(&self) -> Duration {
        self.polls(HEARTBEAT_POLLS, 10)
    }

    /// After which time watching ends.
    pub(crate) fn watch_limit(&self) -> Duration {
        self.polls(MAX_POLLS, 120)
    }

    fn polls(&self, name: &str, usual: u64) -> Duration {
        let polls = self
            .number(name)
            .filter(|polls| *polls > 0)
            .unwrap_or(usual);
        POLL.saturating_mul(u32::try_from(polls).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_companion_mean_what_they_meant() {
        let none = Variables::default();
        assert_eq!(none.deadline(), None);
        assert_eq!(none.result_characters(), 1_500);
        assert_eq!(none.heartbeat(), Duration::from_mins(5));
        assert_eq!(none.watch_limit(), Duration::from_hours(1));
        let set = Variables::of(&[
            (PROMPT_TIMEOUT, "1500"),
            (IDLE_TIMEOUT, "900000"),
            (RESULT_CHARS, "10"),
            (HEARTBEAT_POLLS, "2"),
            (MAX_POLLS, "nonsense"),
            ("CLAUDE_SESSION_ID", "claude"),
            ("CLAUDE_CODE_SESSION_ID", "newer"),
        ]);
        assert_eq!(set.deadline(), Some(Duration::from_secs(2)));
        assert_eq!(set.idle_limit(), Some(Duration::from_mins(15)));
        assert_eq!(set.result_characters(), 10);
        assert_eq!(set.heartbeat(), Duration::from_mins(1));
        assert_eq!(set.watch_limit(), Duration::from_hours(1));
        assert_eq!(set.session(), Some("claude"));
    }

    #[test]
    fn no_name_is_listed_twice() {
        let mut names: Vec<_> = VARIABLES.iter().map(|variable| variable.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIABLES.len());
    }
}
