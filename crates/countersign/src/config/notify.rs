//! `[[notify]]`: whom to tell of what happens, checked as a whole before the server starts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use countersign_broker::Target;
use countersign_core::notification::{Interest, Occasion, Schedule};
use countersign_notify::{CommandTarget, SecretSource, Surroundings, Way, WebhookTarget};
use serde::Deserialize;

/// How long one attempt may take if nothing is said.
const TIME_LIMIT_S: u64 = 10;
/// The most that can be said.
const MOST_TRIES: u32 = 100;
const LONGEST_PAUSE_S: u64 = 24 * 60 * 60;
const LONGEST_TIME_LIMIT_S: u64 = 120;

/// `[[notify]]`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotifyConfig {
    /// What people call it.
    name: String,
    kind: NotifyKind,
    /// What it is told of; everything if it is not said.
    events: Option<Vec<Occasion>>,
    /// The workspaces, by path or name; every one if it is not said.
    #[serde(default)]
    workspaces: Vec<String>,
    /// Whether it is told what a happening was about.
    #[serde(default)]
    details: bool,
    /// How often it is tried.
    tries: Option<u32>,
    first_pause_s: Option<u64>,
    longest_pause_s: Option<u64>,
    /// How long one attempt may take.
    time_limit_s: Option<u64>,
    /// For a command: the program's path.
    command: Option<PathBuf>,
    args: Option<Vec<String>>,
    /// For a command: names of more variables that it may inherit.
    environment: Option<Vec<String>>,
    /// For a webhook: its address.
    url: Option<String>,
    /// For a webhook: the file that holds its secret, or the variable.
    secret_file: Option<PathBuf>,
    secret_env: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NotifyKind {
    Command,
    Webhook,
    Desktop,
}

/// The targets that `configured` says, for a server of `workspaces`, or what is wrong with one of them.
pub(crate) fn targets(
    configured: Vec<NotifyConfig>,
    workspaces: &[(String, String)],
) -> anyhow::Result<Vec<Target>> {
    let surroundings = Surroundings {
        own_environment: std::env::vars_os().collect(),
        workspaces: workspaces.iter().map(|(path, _)| path.into()).collect(),
    };
    let mut names = BTreeSet::new();
    let mut targets = Vec::new();
    for config in configured {
        let name = config.name.clone();
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        ensure!(
            !name.is_empty() && name.chars().all(is_plain),
            "`{name}` is no name for a `[[notify]]`: it has letters, digits, `.`, `_` and `-` alone"
        );
        ensure!(
            names.insert(name.clone()),
            "two `[[notify]]` are called `{name}`"
        );
        let target = config.into_target(&surroundings);
        targets
            .push(target.with_context(|| format!("the notification target `{name}` cannot be"))?);
    }
    Ok(targets)
}

impl NotifyConfig {
    fn into_target(self, surroundings: &Surroundings) -> anyhow::Result<Target> {
        let time_limit_s = self.time_limit_s.unwrap_or(TIME_LIMIT_S);
        ensure!(
            (1..=LONGEST_TIME_LIMIT_S).contains(&time_limit_s),
            "`time_limit_s` has to be between 1 and {LONGEST_TIME_LIMIT_S}"
        );
        Ok(Target {
            interest: self.interest()?,
            schedule: self.schedule()?,
            way: self.way(surroundings)?,
            details: self.details,
            time_limit: Duration::from_secs(time_limit_s),
            name: self.name,
        })
    }

    fn interest(&self) -> anyhow::Result<Interest> {
        let occasions: BTreeSet<Occasion> = match &self.events {
            Some(events) => events.iter().copied().collect(),
            None => Occasion::ALL.into(),
        };
        ensure!(!occasions.is_empty(), "`events` names none");
        ensure!(
            !occasions.contains(&Occasion::Test),
            "`test` is no event: `countersign notifications test {}` sends one",
            self.name
        );
        // A path is compared with a workspace's, which has its links resolved.
        let resolved = |named: &String| {
            let path = Path::new(named)
                .is_absolute()
                .then(|| std::fs::canonicalize(named));
            path.and_then(Result::ok)
                .and_then(|path| path.into_os_string().into_string().ok())
                .unwrap_or_else(|| named.clone())
        };
        Ok(Interest {
            occasions,
            workspaces: self.workspaces.iter().map(resolved).collect(),
        })
    }

    fn schedule(&self) -> anyhow::Result<Schedule> {
        let usual = Schedule::default();
        let seconds = |said: Option<u64>, usual| said.map_or(usual, Duration::from_secs);
        let schedule = Schedule {
            tries: self.tries.unwrap_or(usual.tries),
            first_pause: seconds(self.first_pause_s, usual.first_pause),
            longest_pause: seconds(self.longest_pause_s, usual.longest_pause),
        };
        ensure!(
            (1..=MOST_TRIES).contains(&schedule.tries),
            "`tries` has to be between 1 and {MOST_TRIES}"
        );
        let longest = Duration::from_secs(LONGEST_PAUSE_S);
        ensure!(
            !schedule.first_pause.is_zero()
                && schedule.first_pause <= schedule.longest_pause
                && schedule.longest_pause <= longest,
            "`first_pause_s` has to be at least 1 and at most `longest_pause_s`, and that at most {LONGEST_PAUSE_S}"
        );
        Ok(schedule)
    }

    fn way(&self, surroundings: &Surroundings) -> anyhow::Result<Way> {
        self.check_fields()?;
        match self.kind {
            NotifyKind::Command => {
                let command = CommandTarget {
                    program: self.command.clone().context("`command` is missing")?,
                    arguments: self.args.clone().unwrap_or_default(),
                    inherit: self.environment.clone().unwrap_or_default(),
                };
                match command.check(surroundings) {
                    // What is not there yet may be when it is needed.
                    Err(failure) if failure.lasting => bail!("{}", failure.problem),
                    Ok(()) | Err(_) => Ok(Way::Command(command)),
                }
            }
            NotifyKind::Webhook => {
                let secret = match (&self.secret_file, &self.secret_env) {
                    (Some(file), None) => SecretSource::File(file.clone()),
                    (None, Some(name)) => SecretSource::Variable(name.clone()),
                    (None, None) | (Some(_), Some(_)) => {
                        bail!("a webhook has a `secret_file` or a `secret_env`, and not both")
                    }
                };
                secret.read(surroundings)?;
                let url = self.url.as_ref().context("`url` is missing")?;
                Ok(Way::Webhook(WebhookTarget::new(url, secret)?))
            }
            NotifyKind::Desktop => Ok(Way::Desktop),
        }
    }

    /// Fails if something is said that means nothing for this kind.
    fn check_fields(&self) -> anyhow::Result<()> {
        let for_commands = [
            ("command", self.command.is_some()),
            ("args", self.args.is_some()),
            ("environment", self.environment.is_some()),
        ];
        let for_webhooks = [
            ("url", self.url.is_some()),
            ("secret_file", self.secret_file.is_some()),
            ("secret_env", self.secret_env.is_some()),
        ];
        for (kind, fields) in [
            (NotifyKind::Command, for_commands),
            (NotifyKind::Webhook, for_webhooks),
        ] {
            for (field, is_said) in fields {
                ensure!(
                    kind == self.kind || !is_said,
                    "`{field}` means nothing for this kind of target"
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
