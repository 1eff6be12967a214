//! Finds the server of this machine: the data directory, and the runtime file in it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use countersign_api::EngineOffers;
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::variables::{self, Variables};

/// The runtime file's name within the data directory.
pub const SERVER_FILE: &str = "server.json";

/// Below this folder of the data directory are those of servers that stand in for OpenWork's.
pub const OPENWORK_SERVERS: &str = "openwork-server";

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
    /// The program that a server can be started with; without it none is.
    pub program: Option<PathBuf>,
    /// The variables that mean something.
    pub variables: Variables,
    /// Where programs keep their configuration.
    pub configuration: Option<PathBuf>,
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
            program: None,
            variables: Variables::of_this_process(),
            configuration: configuration_directory(),
        }
    }

    /// The user's own configuration of opencode, whichever of its names it has.
    pub(crate) fn opencode_config(&self) -> Option<PathBuf> {
        let folder = self.configuration.as_deref()?.join("opencode");
        let names = ["opencode.json", "opencode.jsonc", "config.json"];
        let known = names.map(|name| folder.join(name));
        let found = known.iter().find(|path| path.exists());
        found.or(known.first()).cloned()
    }
}

fn configuration_directory() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    set("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| set("HOME").map(|home| home.join(".config")))
}

/// The directory that holds the server's state, for every entry point the same.
///
/// It is `COUNTERSIGN_DATA`, else `OPENCODE_COMPANION_DATA`, else `$XDG_STATE_HOME/countersign`, else
/// `~/.local/state/countersign`; never another program's directory.
pub fn data_directory() -> Option<PathBuf> {
    choose_data_directory(|name| std::env::var_os(name))
}

fn choose_data_directory(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set(variables::DATA)
        .or_else(|| set(variables::COMPANION_DATA))
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

    /// Whether the process that it names is there and has not ended.
    pub fn process_is_alive(&self) -> bool {
        let exists = i32::try_from(self.pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw)
            .is_some_and(|pid| {
                // Not being allowed to signal a process is proof that it exists.
                matches!(
                    rustix::process::test_kill_process(pid),
                    Ok(()) | Err(rustix::io::Errno::PERM)
                )
            });
        // One that nobody has reaped yet has ended all the same.
        exists && process_state(self.pid) != Some('Z')
    }
}

/// Whether somebody listens at `socket`. It never waits: a server that is stopped takes connections until no more fit, and
/// then none.
pub(crate) fn is_listened_at(socket: &Path) -> bool {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect};
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let opened = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(opened), Ok(address)) = (opened, SocketAddrUnix::new(socket)) else {
        return false;
    };
    matches!(
        connect(&opened, &address),
        Ok(()) | Err(rustix::io::Errno::AGAIN)
    )
}

/// The state of a process as the system writes it, such as `Z` for one that has ended; nothing where it does not tell.
pub(crate) fn process_state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything, a parenthesis too.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.trim_start().chars().next()
}

/// The servers that run and stand in for OpenWork's, each with its data directory.
pub(crate) fn openwork_servers(data: &Path) -> Vec<(PathBuf, ServerFile)> {
    let folders = std::fs::read_dir(data.join(OPENWORK_SERVERS));
    let mut servers: Vec<_> = folders
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|folder| {
            let server = ServerFile::read(&folder.path()).ok()??;
            server.process_is_alive().then(|| (folder.path(), server))
        })
        .collect();
    servers.sort_by(|(one, _), (other, _)| one.cmp(other));
    servers
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
            ("OPENCODE_COMPANION_DATA", "/companion"),
            ("XDG_STATE_HOME", "/state"),
            ("HOME", "/home/ada"),
        ];
        assert_eq!(chosen(&all), Some("/data".into()));
        assert_eq!(chosen(&all[1..]), Some("/companion".into()));
        assert_eq!(chosen(&all[2..]), Some("/state/countersign".into()));
        assert_eq!(
            chosen(&all[3..]),
            Some("/home/ada/.local/state/countersign".into())
        );
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[("CLAUDE_PLUGIN_DATA", "/codex")]), None);
        assert_eq!(
            chosen(&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")]),
            Some("/h/.local/state/countersign".into())
        );
    }

    #[test]
    fn of_the_servers_for_openwork_those_that_run_are_found() {
        let data = tempfile::tempdir().unwrap();
        assert!(openwork_servers(data.path()).is_empty());
        for (name, pid) in [
            ("one", std::process::id()),
            ("dead", u32::MAX),
            ("empty", 0),
        ] {
            let folder = data.path().join(OPENWORK_SERVERS).join(name);
            std::fs::create_dir_all(&folder).unwrap();
            let server = ServerFile {
                pid,
                url: "http://127.0.0.1:1".to_owned(),
                socket: folder.join("socket"),
                version: "0".to_owned(),
                started_at: Timestamp::from_micros(0),
            };
            if name != "empty" {
                let text = serde_json::to_string(&server).unwrap();
                std::fs::write(folder.join(SERVER_FILE), text).unwrap();
            }
        }
        let found = openwork_servers(data.path());
        assert_eq!(found.len(), 1);
        assert!(found[0].0.ends_with("one"));
    }

    #[test]
    fn a_directory_without_a_runtime_file_has_no_server() {
        let data = tempfile::tempdir().unwrap();
        assert!(ServerFile::read(data.path()).unwrap().is_none());
        std::fs::write(data.path().join(SERVER_FILE), "{").unwrap();
        assert!(ServerFile::read(data.path()).is_err());
    }
}
