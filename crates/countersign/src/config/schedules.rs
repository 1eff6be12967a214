//! `[[schedules]]`: prompts that are given at set times, checked as a whole before the server starts.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use countersign_bridges::{BridgeSettings, Cron, Platform, ScheduleSettings, ScheduledJob, To};
use countersign_core::job::OnAsk;
use countersign_core::schedule::Missed;
use countersign_core::time::Timestamp;
use serde::Deserialize;

/// The longest name.
const LONGEST_NAME: usize = 60;

/// `[[schedules]]`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleConfig {
    /// What people call it.
    name: String,
    /// Minute, hour, day of the month, month, day of the week.
    cron: String,
    /// The time zone that this is meant in.
    #[serde(default = "utc")]
    time_zone: String,
    /// What the agent is told.
    prompt: String,
    /// What becomes of times that passed while no server ran.
    #[serde(default)]
    missed: Missed,
    /// The bridge and its channel in which it is said. Without them it becomes a job.
    bridge: Option<String>,
    channel: Option<String>,
    /// For a job: the workspace, by path or name.
    workspace: Option<String>,
    engine: Option<String>,
    model: Option<String>,
    agent: Option<String>,
    /// What becomes of its asks.
    on_ask: Option<OnAsk>,
    /// Whether each has a worktree of its own.
    worktree: Option<bool>,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// The schedules that are configured, for a server with these `bridges`, or what is wrong with one of them.
pub(crate) fn settings(
    configured: Vec<ScheduleConfig>,
    bridges: &[BridgeSettings],
    now: Timestamp,
) -> anyhow::Result<Vec<ScheduleSettings>> {
    let mut names = BTreeSet::new();
    let mut schedules = Vec::new();
    for config in configured {
        let name = config.name.clone();
        let made = config
            .into_settings(bridges, now)
            .with_context(|| format!("the schedule `{name}` cannot be"))?;
        ensure!(
            names.insert(name.clone()),
            "two schedules are called `{name}`"
        );
        schedules.push(made);
    }
    Ok(schedules)
}

impl ScheduleConfig {
    fn into_settings(
        self,
        bridges: &[BridgeSettings],
        now: Timestamp,
    ) -> anyhow::Result<ScheduleSettings> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        ensure!(
            (1..=LONGEST_NAME).contains(&self.name.len()) && self.name.chars().all(is_plain),
            "`name` has to be of letters, digits, `.`, `_` and `-`, at most {LONGEST_NAME} of them"
        );
        ensure!(!self.prompt.trim().is_empty(), "`prompt` is empty");
        let cron = Cron::new(&self.cron, &self.time_zone, now)
            .with_context(|| format!("`cron = \"{}\"` in `{}`", self.cron, self.time_zone))?;
        let to = match (self.bridge, self.channel) {
            (Some(bridge), Some(channel)) => {
                let of_a_job = [
                    ("workspace", self.workspace.is_some()),
                    ("engine", self.engine.is_some()),
                    ("model", self.model.is_some()),
                    ("agent", self.agent.is_some()),
                    ("on_ask", self.on_ask.is_some()),
                    ("worktree", self.worktree.is_some()),
                ];
                if let Some((key, _)) = of_a_job.iter().find(|(_, is_said)| *is_said) {
                    bail!("`{key}` is of jobs: in a channel things go as the channel says");
                }
                To::Channel {
                    platform: platform(&bridge, &channel, bridges)?,
                    channel,
                }
            }
            (None, None) => To::Job(ScheduledJob {
                workspace: self.workspace,
                engine: self.engine,
                model: self.model,
                agent: self.agent,
                on_ask: self.on_ask.unwrap_or_default(),
                worktree: self.worktree.unwrap_or_default(),
            }),
            (Some(_), None) => bail!("`bridge` is said without its `channel`"),
            (None, Some(_)) => bail!("`channel` is said without its `bridge`"),
        };
        Ok(ScheduleSettings {
            name: self.name,
            cron,
            prompt: self.prompt,
            to,
            missed: self.missed,
        })
    }
}

/// The platform of a bridge that has this channel.
fn platform(name: &str, channel: &str, bridges: &[BridgeSettings]) -> anyhow::Result<Platform> {
    let bridge = bridges.iter().find(|it| it.platform.name() == name);
    let Some(bridge) = bridge else {
        bail!("there is no `[bridges.{name}]`");
    };
    ensure!(
        bridge.channels.iter().any(|it| it.id == channel),
        "`[bridges.{name}]` has no channel `{channel}`"
    );
    Ok(bridge.platform)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Vec<ScheduleSettings>> {
        #[derive(Deserialize)]
        struct File {
            schedules: Vec<ScheduleConfig>,
        }
        let file: File = toml::from_str(text)?;
        settings(
            file.schedules,
            &[],
            Timestamp::from_micros(1_767_225_600_000_000),
        )
    }

    #[test]
    fn a_schedule_becomes_a_job_unless_a_channel_is_said() {
        let text = "[[schedules]]\nname = 'nightly'\ncron = '0 3 * * *'\n\
             time_zone = 'Europe/Berlin'\nprompt = 'Run the tests'\non_ask = 'deny'\nmissed = 'skip'\n";
        let [nightly] = read(text).unwrap().try_into().unwrap();
        assert!(matches!(&nightly.to, To::Job(job) if job.on_ask == OnAsk::Deny));
        assert_eq!(nightly.missed, Missed::Skip);
        assert_eq!(nightly.cron.time_zone(), "Europe/Berlin");
    }

    #[test]
    fn what_is_wrong_with_a_schedule_is_said_with_its_name() {
        let base = "[[schedules]]\nname = 'nightly'\nprompt = 'x'\n";
        for (more, said) in [
            ("cron = '0 3 * *'", "has 4 fields"),
            ("cron = '0 3 * * *'\ntime_zone = 'Atlantis'", "cannot be"),
            (
                "cron = '0 3 * * *'\nbridge = 'matrix'",
                "without its `channel`",
            ),
            (
                "cron = '0 3 * * *'\nbridge = 'matrix'\nchannel = '!a'",
                "no `[bridges.matrix]`",
            ),
            (
                "cron = '0 3 * * *'\nbridge = 'matrix'\nchannel = '!a'\nmodel = 'm'",
                "is of jobs",
            ),
        ] {
            let error = format!("{:#}", read(&format!("{base}{more}\n")).unwrap_err());
            assert!(
                error.contains("`nightly`") && error.contains(said),
                "{error}"
            );
        }
        let twice = format!("{base}cron = '* * * * *'\n{base}cron = '* * * * *'\n");
        let error = read(&twice).unwrap_err().to_string();
        assert!(error.contains("two schedules"), "{error}");
        assert!(read(&format!("{base}cron = '* * * * *'\nzone = 'UTC'\n")).is_err());
    }
}
