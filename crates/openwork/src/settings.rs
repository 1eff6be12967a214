//! What the server is told at its start: flags, then the environment, then the configuration file, then defaults.
//!
//! It is read as OpenWork's server reads it, with all that this one forgives: unknown flags are passed over, a value is
//! always the next argument, and a configuration file that cannot be read counts as an empty one.

mod arguments;
mod file;
mod lists;
mod places;
#[cfg(test)]
mod tests;

pub use arguments::{Arguments, USAGE};
pub use places::{resolve, workspace_id};

use std::path::{Path, PathBuf};

use crate::compat::Compat;
use crate::roster::{Entry, Opencode};
use file::File;

/// The port if nothing is said, or nothing that is a number.
const DEFAULT_PORT: u16 = 8787;
/// How long a write waits for approval, in milliseconds.
const DEFAULT_PATIENCE: u64 = 30_000;
/// How many bytes an upload may have, and how many can be asked for.
const INBOX_BYTES: (u64, u64) = (50_000_000, 250_000_000);

/// What the server is told at its start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Whose answers are given.
    pub compat: Compat,
    /// The name or address to listen on.
    pub host: String,
    /// The port to listen on.
    pub port: u16,
    /// What clients show.
    pub client_token: Secret,
    /// What the host shows.
    pub host_token: Secret,
    /// Who approves writes.
    pub approval: Approval,
    /// How long a write waits for approval, in milliseconds.
    pub patience_ms: u64,
    /// Origins whose pages may read answers; `*` for all.
    pub cors: Vec<String>,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// The workspaces, the active one first.
    pub workspaces: Vec<Entry>,
    /// Below which folders a workspace has to be.
    pub authorized_roots: Vec<String>,
    /// Where the configuration file is, or would be.
    pub config_path: PathBuf,
    /// Where 0.13 keeps what it writes outside workspaces.
    pub data_directory: PathBuf,
    /// The user's own environment variables.
    pub env_path: PathBuf,
    /// How opencode is reached by workspaces that say nothing themselves.
    pub usual_opencode: Opencode,
    /// The user's home.
    pub home: PathBuf,
    /// How the log is written.
    pub log: Log,
    /// How many bytes an upload may have; nothing if uploads are switched off.
    pub inbox_bytes: Option<u64>,
    /// Whether what agents put into the outbox can be fetched.
    pub is_outbox_open: bool,
}

/// A secret that callers show.
#[derive(Clone)]
pub struct Secret {
    /// The secret itself.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A flag.
    Cli,
    /// The environment.
    Env,
    /// The configuration file.
    File,
    /// Nowhere: it was made at random.
    Generated,
}

/// Who approves writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// The host is asked.
    Manual,
    /// Everybody's own word is enough.
    Auto,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Log {
    /// One JSON object a line.
    pub is_json: bool,
    /// More than warnings.
    pub is_verbose: bool,
    /// Every request.
    pub has_requests: bool,
}

impl Log {
    /// From which level on what is logged.
    pub const fn filter(self) -> &'static str {
        match (self.is_verbose, self.has_requests) {
            (true, true) => "info",
            (true, false) => "info,countersign_openwork::requests=off",
            (false, true) => "warn,countersign_openwork::requests=info",
            (false, false) => "warn",
        }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({:?})", self.source)
    }
}

impl Source {
    /// The source's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Env => "env",
            Self::File => "file",
            Self::Generated => "generated",
        }
    }
}

impl Approval {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "manual" => Some(Self::Manual),
            "auto" => Some(Self::Auto),
            _ => None,
        }
    }

    /// The mode's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
        }
    }
}

/// What is taken from the process: how to read a variable, and where it was started.
pub struct Surroundings<'a> {
    /// Reads a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The directory in which the program was called.
    pub directory: &'a Path,
}

impl Surroundings<'_> {
    /// A variable that says something.
    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

impl Settings {
    /// Puts together what `arguments`, the environment and the configuration file say.
    pub fn gather(arguments: &Arguments, around: &Surroundings<'_>) -> Self {
        let home = PathBuf::from(around.set("HOME").unwrap_or_else(|| "/".to_owned()));
        let config_path = arguments
            .config
            .clone()
            .or_else(|| around.set("OPENWORK_SERVER_CONFIG"))
            .map_or_else(
                || home.join(".config/openwork/server.json"),
                |path| resolve(around.directory, &path),
            );
        let file = File::read(&config_path);
        let base = config_path.parent().unwrap_or(Path::new("/"));
        let (workspaces, usual_opencode) = places::workspaces(arguments, around, &file, base);
        Self {
            compat: compat(arguments, around),
            host: arguments
                .host
                .clone()
                .or_else(|| around.set("OPENWORK_HOST"))
                .or_else(|| file.host.clone())
                .unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: port(arguments, around, &file),
            client_token: secret(
                arguments.token.clone(),
                around.set("OPENWORK_TOKEN"),
                file.token.clone(),
            ),
            host_token: secret(
                arguments.host_token.clone(),
                around.set("OPENWORK_HOST_TOKEN"),
                file.host_token.clone(),
            ),
            approval: approval(arguments, around, &file),
            patience_ms: patience(arguments, around, &file),
            cors: cors(arguments, around, &file),
            read_only: arguments.read_only
                || around
                    .set("OPENWORK_READONLY")
                    .map_or(file.read_only, |value| is_yes(&value)),
            authorized_roots: match &file.authorized_roots {
                Some(roots) => roots
                    .iter()
                    .map(|root| places::text(&resolve(base, root)))
                    .collect(),
                None => workspaces.iter().map(|entry| entry.path.clone()).collect(),
            },
            workspaces,
            usual_opencode,
            env_path: around.set("OPENWORK_ENV_STORE").map_or_else(
                || home.join(".config/openwork/env.json"),
                |path| resolve(around.directory, path.trim()),
            ),
            data_directory: around.set("OPENWORK_DATA_DIR").map_or_else(
                || home.join(".openwork/openwork-server"),
                |path| match path.strip_prefix("~/") {
                    Some(below) => home.join(below),
                    None => resolve(around.directory, &path),
                },
            ),
            log: log(arguments, around),
            inbox_bytes: is_open(around, "OPENWORK_INBOX_ENABLED").then(|| {
                let wanted = around
                    .set("OPENWORK_INBOX_MAX_BYTES")
                    .and_then(|text| number(&text));
                wanted.map_or(INBOX_BYTES.0, |bytes| bytes.min(INBOX_BYTES.1))
            }),
            is_outbox_open: is_open(around, "OPENWORK_OUTBOX_ENABLED"),
            config_path,
            home,
        }
    }
}

fn log(arguments: &Arguments, around: &Surroundings<'_>) -> Log {
    let format = arguments.log_format.clone();
    let format = format.or_else(|| around.set("OPENWORK_LOG_FORMAT"));
    let requests = || around.set("OPENWORK_LOG_REQUESTS");
    Log {
        is_json: format.is_some_and(|format| format == "json"),
        is_verbose: arguments.verbose,
        has_requests: arguments
            .log_requests
            .unwrap_or_else(|| requests().is_some_and(|value| is_yes(&value))),
    }
}

fn cors(arguments: &Arguments, around: &Surroundings<'_>, file: &File) -> Vec<String> {
    let said = arguments.cors.clone();
    let said = said.or_else(|| around.set("OPENWORK_CORS_ORIGINS"));
    said.map(|list| lists::parse(&list))
        .or_else(|| file.cors_origins.clone())
        .unwrap_or_else(|| vec!["*".to_owned()])
}

fn compat(arguments: &Arguments, around: &Surroundings<'_>) -> Compat {
    let named = |name: &Option<String>| name.as_deref().and_then(Compat::from_name);
    named(&arguments.compat)
        .or_else(|| named(&around.set("OPENWORK_COMPAT")))
        .unwrap_or_default()
}

fn port(arguments: &Arguments, around: &Surroundings<'_>, file: &File) -> u16 {
    let said = arguments
        .port
        .clone()
        .or_else(|| around.set("OPENWORK_PORT"));
    let said = said.map_or(file.port, |text| number(&text));
    said.and_then(|port| u16::try_from(port).ok())
        .unwrap_or(DEFAULT_PORT)
}

fn approval(arguments: &Arguments, around: &Surroundings<'_>, file: &File) -> Approval {
    let named = |name: Option<String>| name.as_deref().and_then(Approval::from_name);
    named(arguments.approval.clone())
        .or_else(|| named(around.set("OPENWORK_APPROVAL_MODE")))
        .or_else(|| named(file.approval_mode.clone()))
        .unwrap_or(Approval::Manual)
}

fn patience(arguments: &Arguments, around: &Surroundings<'_>, file: &File) -> u64 {
    let said = arguments.approval_timeout.clone();
    let said = said.or_else(|| around.set("OPENWORK_APPROVAL_TIMEOUT_MS"));
    let said = said.map_or(file.approval_timeout, |text| number(&text));
    said.unwrap_or(DEFAULT_PATIENCE)
}

fn secret(flag: Option<String>, variable: Option<String>, file: Option<String>) -> Secret {
    // An empty secret would be one that everybody knows.
    let given = |value: Option<String>, source| {
        value
            .filter(|value| !value.is_empty())
            .map(|value| Secret { value, source })
    };
    given(flag, Source::Cli)
        .or_else(|| given(variable, Source::Env))
        .or_else(|| given(file, Source::File))
        .unwrap_or_else(|| Secret {
            value: uuid::Builder::from_random_bytes(rand::random())
                .into_uuid()
                .to_string(),
            source: Source::Generated,
        })
}

fn is_yes(value: &str) -> bool {
    ["true", "1", "yes"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// Whether what a variable can switch off is on.
fn is_open(around: &Surroundings<'_>, name: &str) -> bool {
    around.set(name).is_none_or(|value| is_yes(&value))
}

/// A whole number that is not negative, as a flag says it.
fn number(text: &str) -> Option<u64> {
    let value: f64 = text.trim().parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what does not fit becomes the nearest number that does"
    )]
    (value >= 0.0).then_some(value as u64)
}
