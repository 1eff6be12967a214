//! What the figures were measured on.

use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::clock;

/// What the figures were measured on.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    /// When it was.
    pub(crate) date: String,
    /// What was measured.
    pub(crate) commit: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory: String,
    pub(crate) kernel: String,
    /// The filesystem that the ledgers were on.
    pub(crate) disk: String,
    /// How busy the machine was when measuring began: waiting processes over the last minute.
    pub(crate) load: String,
}

/// Looks around; `directory` is where the ledgers will be.
pub(crate) fn describe(directory: &Path) -> Machine {
    Machine {
        date: clock::now().to_string().chars().take(10).collect(),
        commit: commit(),
        processor: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
        cores: std::thread::available_parallelism().map_or(0, usize::from),
        memory: field("/proc/meminfo", "MemTotal").unwrap_or_else(unknown),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(unknown),
        disk: disk(directory).unwrap_or_else(unknown),
        load: read("/proc/loadavg")
            .and_then(|load| Some(load.split(' ').next()?.to_owned()))
            .unwrap_or_else(unknown),
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn read(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = read(path)?;
    let (_, value) = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.trim() == name)?;
    Some(value.trim().to_owned())
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return unknown();
    };
    match git(&["status", "--porcelain", "--untracked-files=no", "crates"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit} and changes"),
    }
}

/// The filesystem of the mount that `directory` is on, and what it is made of.
fn disk(directory: &Path) -> Option<String> {
    let directory = directory.canonicalize().ok()?;
    let mounts = read("/proc/self/mountinfo")?;
    let on_the_way = mounts.lines().filter_map(|line| {
        let (place, device) = line.split_once(" - ")?;
        let point = Path::new(place.split(' ').nth(4)?);
        let mut words = device.split(' ');
        let description = format!("{} on {}", words.next()?, words.next()?);
        directory
            .starts_with(point)
            .then(|| (point.components().count(), description))
    });
    // Of several on the same point the last is the one that is seen.
    let (_, description) = on_the_way.max_by_key(|(depth, _)| *depth)?;
    Some(description)
}
