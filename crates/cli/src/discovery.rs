//! Finds the server of this machine: the data directory, and the runtime file in it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use countersign_api::EngineOffers;
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The runtime file's name within the data directory.
pub const SERVER_FILE: &str = "server.json";

/// What the commands take from the process around them.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The data directory; absent where not even a home directory is known.
    pub data: Option<PathBuf>,
    /// A token for a server elsewhere.
    pub token: Option<String>,
    /// Where programs are looked for.
    pub path: Option<OsString>,
    /// What the person is called here.
    pub user: Option<String>,
    /// Where the command was called.
    pub directory: Option<PathBuf>,
    /// Looks which engines a server would find on this machine.
    pub engines: Option<LookForEngines>,
}

/// Looks which engines a server would find on this machine. Only the whole program knows how: this crate knows what a
/// server tells.
pub type LookForEngines = fn() -> anyhow::Result<EngineOffers>;

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings")
            .field("data", &self.data)
            .field("token", &self.token.as_ref().map(|_| "(secret)"))
            .field("path", &self.path)
            .field("user", &self.user)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl Surroundings {
    /// Reads them off this process.
    pub fn of_this_process() -> Self {
        let filled = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            data: data_directory(),
            token: filled("COUNTERSIGN_TOKEN"),
            path: std::env::var_os("PATH"),
            user: filled("USER"),
            directory: std::env::current_dir().ok(),
            engines: None,
        }
    }
}

/// The directory that holds the server's state: `COUNTERSIGN_DATA`, else `$XDG_STATE_HOME/countersign`,
/// else `~/.local/state/countersign`.
pub fn data_directory() -> Option<PathBuf> {
    choose_data_directory(|name| std::env::var_os(name))
}

fn choose_data_directory(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("COUNTERSIGN_DATA")
        .or_else(|| {
            // A relative path in this variable is to be ignored, says its specification.
            set("XDG_STATE_HOME")
                .filter(|home| home.is_absolute())
                .map(|home| home.join("countersign"))
        })
        .or_else(|| set("HOME").map(|home| home.join(".local/state/countersign")))
}

/// Where a running server can be reached; it has no secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// The server's process.
    pub pid: u32,
    /// Its address for browsers and for clients with a token.
    pub url: String,
    /// The socket for this user's own commands, by a path that is short enough to connect to.
    pub socket: PathBuf,
    /// The server's version.
    pub version: String,
    /// When it started.
    pub started_at: Timestamp,
}

impl ServerFile {
    /// Reads the runtime file in `data`; there is none where no server was started.
    pub fn read(data: &Path) -> io::Result<Option<Self>> {
        match std::fs::read(data.join(SERVER_FILE)) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the process that it names is there.
    pub fn process_is_alive(&self) -> bool {
        i32::try_from(self.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
            .is_some_and(|pid| {
                // Not being allowed to signal a process is proof that it exists.
                matches!(
                    rustix::process::test_kill_process(pid),
                    Ok(()) | Err(rustix::io::Errno::PERM)
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Option<PathBuf> {
        choose_data_directory(|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn the_data_directory_is_the_most_particular_one() {
        let all = [
            ("COUNTERSIGN_DATA", "/data"),
            ("XDG_STATE_HOME", "/state"),
            ("HOME", "/home/ada"),
        ];
        assert_eq!(chosen(&all), Some("/data".into()));
        assert_eq!(chosen(&all[1..]), Some("/state/countersign".into()));
        assert_eq!(
            chosen(&all[2..]),
            Some("/home/ada/.local/state/countersign".into())
        );
        assert_eq!(chosen(&[]), None);
        assert_eq!(
            chosen(&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")]),
            Some("/h/.local/state/countersign".into())
        );
    }

    #[test]
    fn a_directory_without_a_runtime_file_has_no_server() {
        let data = tempfile::tempdir().unwrap();
        assert!(ServerFile::read(data.path()).unwrap().is_none());
        std::fs::write(data.path().join(SERVER_FILE), "{").unwrap();
        assert!(ServerFile::read(data.path()).is_err());
    }
}
