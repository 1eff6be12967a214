//! What the review gate remembers of a session: how often it reviewed, and what it reviewed last. A small file for each
//! session in the data directory, for every entry point the same.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use countersign_core::job::JobId;
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};

const FOLDER: &str = "review-gate";
/// Where the first session of each process is kept, and what each sub-agent handed in.
pub(super) const PROCESSES: &str = "claude-code";
/// How long a session is remembered that nobody ended.
const KEPT: Duration = Duration::from_hours(30 * 24);
/// More than an id ever has.
const LONGEST_NAME: usize = 80;

/// What is remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// How many reviews were begun.
    pub(super) reviews: u32,
    /// Which changes were reviewed last.
    pub(super) reviewed: Option<u64>,
    /// Whether the person was told that there will be no more.
    pub(super) told_of_cap: bool,
}

/// What is remembered of `session`. What cannot be read was never written.
pub(super) fn read(data: &Path, session: &str) -> Record {
    let bytes = path(data, session).and_then(|path| std::fs::read(path).ok());
    bytes
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

/// Remembers `record` of `session`, durably: a gate that cannot count is one without a cap.
pub(super) fn write(data: &Path, session: &str, record: &Record) -> io::Result<()> {
    let nameless = || io::Error::other("the session has no usable id");
    let path = path(data, session).ok_or_else(nameless)?;
    let folder = data.join(FOLDER);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    let draft = path.with_extension("draft");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    file.sync_all()?;
    std::fs::rename(draft, path)
}

/// Forgets `session`.
pub(super) fn forget(data: &Path, session: &str) {
    if let Some(path) = path(data, session) {
        // There is none where the gate was never on.
        drop(std::fs::remove_file(path));
    }
}

/// Notes that the sub-agent `agent` handed a job in.
pub(super) fn note_job(data: &Path, agent: &str, id: &JobId) -> io::Result<()> {
    let nameless = || io::Error::other("the sub-agent has no usable id");
    let path = agent_path(data, agent).ok_or_else(nameless)?;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data.join(PROCESSES))?;
    let mut options = File::options();
    let mut file = options.append(true).create(true).mode(0o600).open(path)?;
    writeln!(file, "{id}")
}

/// The jobs that the sub-agent `agent` handed in, one a line.
pub(super) fn noted_jobs(data: &Path, agent: &str) -> String {
    let path = agent_path(data, agent);
    path.and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default()
}

/// Forgets the sub-agent `agent`.
pub(super) fn forget_jobs(data: &Path, agent: &str) {
    if let Some(path) = agent_path(data, agent) {
        // There is none if it handed nothing in.
        drop(std::fs::remove_file(path));
    }
}

fn agent_path(data: &Path, agent: &str) -> Option<PathBuf> {
    is_name(agent).then(|| data.join(PROCESSES).join(format!("agent-{agent}")))
}

/// Forgets the sessions and processes that are long gone.
pub(super) fn forget_old(data: &Path, now: Timestamp) {
    let folders = [FOLDER, PROCESSES].map(|folder| std::fs::read_dir(data.join(folder)));
    let files = folders.into_iter().flatten().flatten();
    for file in files.flatten() {
        let written = file.metadata().and_then(|file| file.modified());
        let written = written
            .ok()
            .and_then(|written| written.duration_since(UNIX_EPOCH).ok());
        let now = Duration::from_micros(u64::try_from(now.as_micros()).unwrap_or_default());
        if written.is_some_and(|written| written + KEPT < now) {
            drop(std::fs::remove_file(file.path()));
        }
    }
}

/// Where a session is remembered; its id is its name and nothing that could lead elsewhere.
fn path(data: &Path, session: &str) -> Option<PathBuf> {
    is_name(session).then(|| data.join(FOLDER).join(format!("{session}.json")))
}

/// Whether a session's id is a plain word.
pub(super) fn is_name(session: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !session.is_empty() && session.len() <= LONGEST_NAME && session.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::time::Clock;

    #[test]
    fn a_session_is_remembered_until_it_ends() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(read(data.path(), "s-1"), Record::default());
        let record = Record {
            reviews: 2,
            reviewed: Some(u64::MAX),
            told_of_cap: true,
        };
        write(data.path(), "s-1", &record).unwrap();
        assert_eq!(read(data.path(), "s-1"), record);
        assert_eq!(read(data.path(), "s-2"), Record::default());
        let now = Clock::System.now();
        forget_old(data.path(), now);
        assert_eq!(read(data.path(), "s-1"), record);
        let later = i64::try_from((2 * KEPT).as_micros()).unwrap();
        forget_old(data.path(), Timestamp::from_micros(now.as_micros() + later));
        assert_eq!(read(data.path(), "s-1"), Record::default());
        write(data.path(), "s-1", &record).unwrap();
        forget(data.path(), "s-1");
        assert_eq!(read(data.path(), "s-1"), Record::default());
    }

    #[test]
    fn an_id_that_could_lead_elsewhere_is_no_name() {
        let data = tempfile::tempdir().unwrap();
        for session in ["", "../x", "a/b", "a\0b", &"x".repeat(81)] {
            assert!(write(data.path(), session, &Record::default()).is_err());
        }
        assert!(!data.path().join(FOLDER).exists());
    }
}
