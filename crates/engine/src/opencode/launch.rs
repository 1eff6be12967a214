//! Starting `opencode serve`: which program, with what environment, and how it is reached.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use countersign_core::digest::Digest;
use countersign_core::id::RunId;
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::environment::allowed_environment;
use crate::keeper::{KeeperSpec, ReadyRule, Streams};
use crate::opencode::endpoint::Endpoint;
use crate::opencode::policy;
use crate::program;

/// The oldest version that is known to do as it is told: older ones take replies and drop them.
const OLDEST_VERSION: (u32, u32) = (1, 18);

/// What opencode prints once it really answers; its port is open a second earlier.
const READY_LINE: &str = "opencode server listening on ";
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";
/// Configuration in the environment.
const CONFIG_CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
/// Whether opencode makes snapshots of a project as it works.
const SNAPSHOT: &str = "snapshot";
/// The user that opencode expects unless it is told otherwise.
const USER: &str = "opencode";
/// Marks everything that belongs to one life of an engine.
const MARK: &str = crate::process::RUN_MARK;
/// Below what the system hands out to outgoing connections.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Why opencode cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No port is free.
    #[error("found no free port for opencode")]
    NoPort,
    /// The run directory describes no opencode that could be reached.
    #[error("the run directory does not say how to reach opencode")]
    Unreachable,
}

/// An opencode server that is to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// The workspace.
    pub directory: PathBuf,
    /// The life that it begins.
    pub run: RunId,
    /// Names of more variables that it may inherit.
    pub inherit: Vec<String>,
    /// For how many seconds it goes on without a server.
    pub lonely_limit_s: u64,
}

impl Launch {
    /// What the keeper has to keep. `own` is our own environment, of which a part is passed on.
    pub fn spec(
        &self,
        own: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<KeeperSpec, LaunchError> {
        let port = free_port().ok_or(LaunchError::NoPort)?;
        let mut environment: BTreeMap<String, String> = allowed_environment(own, &self.inherit);
        environment.insert(PASSWORD.to_owned(), new_password());
        environment.insert(MARK.to_owned(), self.run.to_string());
        environment.insert("OPENCODE_PERMISSION".to_owned(), policy::baseline());
        let content = environment.get(CONFIG_CONTENT).map(String::as_str);
        let content = without_snapshots(content);
        environment.insert(CONFIG_CONTENT.to_owned(), content);
        Ok(KeeperSpec {
            program: self.program.clone(),
            args: [
                "serve",
                "--hostname",
                "127.0.0.1",
                "--port",
                &port.to_string(),
            ]
            .map(str::to_owned)
            .to_vec(),
            working_directory: self.directory.clone(),
            environment,
            kept_variables: BTreeSet::from([PASSWORD.to_owned()]),
            mark: Some(MARK.to_owned()),
            ready: ReadyRule::StdoutLine(READY_LINE.to_owned()),
            streams: Streams::Logged,
            lonely_limit_s: self.lonely_limit_s,
            grace_ms: KeeperSpec::DEFAULT_GRACE_MS,
        })
    }

    /// How the opencode that a keeper was told to keep is reached.
    pub fn endpoint(spec: &KeeperSpec) -> Result<Endpoint, LaunchError> {
        let after_port = spec
            .args
            .iter()
            .skip_while(|argument| *argument != "--port")
            .nth(1);
        match (after_port, spec.environment.get(PASSWORD)) {
            (Some(port), Some(password)) => Ok(Endpoint {
                base_url: format!("http://127.0.0.1:{port}"),
                credentials: Some((USER.to_owned(), password.clone())),
            }),
            _ => Err(LaunchError::Unreachable),
        }
    }
}

/// The configuration that opencode gets from its environment, which goes before a project's, with snapshots switched off
/// unless it says something about them: to make one, opencode runs the filters of repositories that an agent can write, and
/// asks nobody.
fn without_snapshots(content: Option<&str>) -> String {
    match content.map(serde_json::from_str::<Value>) {
        None => json!({ SNAPSHOT: false }).to_string(),
        Some(Ok(Value::Object(mut fields))) => {
            fields.entry(SNAPSHOT).or_insert(Value::Bool(false));
            Value::Object(fields).to_string()
        }
        // What is wrong with it is for opencode to say.
        Some(Ok(_) | Err(_)) => content.unwrap_or_default().to_owned(),
    }
}

/// Looks for `opencode` in the folders of `path`.
pub fn find_program(path: &OsString) -> Option<PathBuf> {
    program::find_program("opencode", path)
}

/// Whether a version is one that loses answers; one that cannot be read gets the benefit of the doubt.
pub fn is_too_old(version: &str) -> bool {
    version_numbers(version).is_some_and(|numbers| numbers < OLDEST_VERSION)
}

/// What is wrong with such a version, and what to do.
pub fn too_old(version: &str) -> String {
    let (major, minor) = OLDEST_VERSION;
    format!(
        "opencode {version} is too old: it takes answers and drops them. Install {major}.{minor} or newer with \
         `npm install -g opencode-ai@latest`"
    )
}

fn version_numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

/// 256 random bits in hexadecimal; a digest is the hexadecimal writer at hand.
fn new_password() -> String {
    Digest::of_bytes(&rand::rng().random::<[u8; 32]>()).to_string()
}

fn free_port() -> Option<u16> {
    (0..100)
        .map(|_| rand::rng().random_range(PORTS))
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::time::Timestamp;

    #[test]
    fn what_is_started_can_be_reached_again_and_inherits_no_token() {
        let launch = Launch {
            program: PathBuf::from("opencode"),
            directory: PathBuf::from("/srv/proj"),
            run: RunId::generate(Timestamp::from_micros(0)),
            inherit: vec![],
            lonely_limit_s: 600,
        };
        let own = [
            ("PATH", "/bin"),
            ("COUNTERSIGN_TOKEN", "cs_secret"),
            (PASSWORD, "old"),
        ]
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let spec = launch.spec(own).unwrap();
        assert!(
            !spec
                .environment
                .values()
                .any(|value| value.contains("cs_secret"))
        );
        let endpoint = Launch::endpoint(&spec).unwrap();
        let (_, password) = endpoint.credentials.unwrap();
        assert_eq!(password.len(), 64);
        assert!(!spec.args.contains(&password));
    }

    #[test]
    fn versions_that_lose_answers_are_known() {
        assert!(is_too_old("1.15.3"));
        assert!(is_too_old("0.20.0"));
        assert!(!is_too_old("1.18.33"));
        assert!(!is_too_old("2.0.0-beta"));
        assert!(!is_too_old("local"));
    }

    #[test]
    fn snapshots_are_off_unless_somebody_says_otherwise() {
        let off = r#"{"snapshot":false}"#;
        assert_eq!(without_snapshots(None), off);
        let more = without_snapshots(Some(r#"{"model":"a/b"}"#));
        assert_eq!(more, r#"{"model":"a/b","snapshot":false}"#);
        let wanted = r#"{"snapshot":true}"#;
        assert_eq!(without_snapshots(Some(wanted)), wanted);
        assert_eq!(without_snapshots(Some("{ broken")), "{ broken");
    }
}
