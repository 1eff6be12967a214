//! Sessions on disk: one small JSON file each, so that a session can be loaded after a crash.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agent_client_protocol_schema::v1::{SessionId, SessionInfo};

use crate::session::Record;

/// The folder in the user's state directory.
const FOLDER: &str = "countersign-demo-agent";

/// Where sessions are kept.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    /// Nothing if this user has no place for state; then sessions end with the process.
    folder: Option<PathBuf>,
}

impl Archive {
    /// The archive in `$XDG_STATE_HOME`, or in `~/.local/state`.
    pub(crate) fn of_this_user() -> Self {
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let state = absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        Self {
            folder: state.map(|state| state.join(FOLDER)),
        }
    }

    /// Writes a session down, whole or not at all.
    pub(crate) fn keep(&self, record: &Record) -> io::Result<()> {
        let Some(path) = self.path(&record.id) else {
            return Ok(());
        };
        if let Some(folder) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        let draft = path.with_extension("draft");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        fs::rename(draft, path)
    }

    /// Reads a session, if there is one of that name that can be read.
    pub(crate) fn find(&self, id: &SessionId) -> Option<Record> {
        read(&self.path(id)?)
    }

    /// Removes a session.
    pub(crate) fn forget(&self, id: &SessionId) -> io::Result<()> {
        match self.path(id).map(fs::remove_file) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Some(_) | None => Ok(()),
        }
    }

    /// Lists the sessions, those that changed last first; if a directory is given, only those that work there.
    pub(crate) fn list(&self, directory: Option<&Path>) -> Vec<SessionInfo> {
        let entries = self
            .folder
            .as_deref()
            .and_then(|folder| fs::read_dir(folder).ok());
        let mut found: Vec<(SystemTime, Record)> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let changed = entry.metadata().ok()?.modified().ok()?;
                Some((changed, read(&entry.path())?))
            })
            .filter(|(_, record)| directory.is_none_or(|directory| record.directory == directory))
            .collect();
        found.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        found
            .into_iter()
            .map(|(changed, record)| info(changed, record))
            .collect()
    }

    /// Where a session is kept. Only names that this agent gives itself are looked for: a path is none of them.
    fn path(&self, id: &SessionId) -> Option<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let name: &str = &id.0;
        let sound = !name.is_empty() && name.len() <= 64 && name.bytes().all(plain);
        let folder = self.folder.as_deref().filter(|_| sound)?;
        Some(folder.join(name).with_extension("json"))
    }
}

fn read(path: &Path) -> Option<Record> {
    let known = path
        .extension()
        .is_some_and(|extension| extension == "json");
    serde_json::from_slice(&fs::read(path).ok().filter(|_| known)?).ok()
}

fn info(changed: SystemTime, record: Record) -> SessionInfo {
    let changed = jiff::Timestamp::try_from(changed).ok();
    SessionInfo::new(record.id, record.directory)
        .title(record.title)
        .updated_at(changed.map(|changed| changed.to_string()))
}
