//! The command line, read as OpenWork's server reads it.

/// What the command line says, each as it was written.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Whether only the usage is wanted.
    pub help: bool,
    /// Whether only the version is wanted.
    pub version: bool,
    /// The configuration file.
    pub config: Option<String>,
    pub(super) compat: Option<String>,
    pub(super) host: Option<String>,
    pub(super) port: Option<String>,
    pub(super) token: Option<String>,
    pub(super) host_token: Option<String>,
    pub(super) approval: Option<String>,
    pub(super) approval_timeout: Option<String>,
    pub(super) opencode_base_url: Option<String>,
    pub(super) opencode_directory: Option<String>,
    pub(super) opencode_username: Option<String>,
    pub(super) opencode_password: Option<String>,
    pub(super) workspaces: Vec<String>,
    pub(super) cors: Option<String>,
    pub(super) read_only: bool,
    pub(super) log_format: Option<String>,
    pub(super) verbose: bool,
    pub(super) log_requests: Option<bool>,
}

/// What `--help` prints.
pub const USAGE: &str = "\
openwork-server: OpenWork's server, served by Countersign

Options:
  --config PATH              Read the configuration from this file
  --host HOST                Listen on this address [default: 127.0.0.1]
  --port PORT                Listen on this port [default: 8787]
  --token TOKEN              What clients show
  --host-token TOKEN         What the host shows
  --approval MODE            Who approves writes: manual or auto [default: manual]
  --approval-timeout MS      How long a write waits for approval [default: 30000]
  --opencode-base-url URL    Where opencode is
  --opencode-directory PATH  The directory that opencode works in
  --opencode-username NAME   The user of opencode's server
  --opencode-password WORD   The password of that user
  --workspace PATH           A workspace; can be given several times
  --cors LIST                Origins whose pages may read answers
  --read-only                Write nothing
  --compat VERSION           Answer as this version does: 0.1 or 0.13 [default: 0.1]
  --log-format FORMAT        pretty or json
  --verbose                  Log more
  --log-requests             Log every request: its method, its path and its status
  --no-log-requests          Do not
  --version                  Print the version
  -h, --help                 Print this";

impl Arguments {
    /// Reads the arguments after the program's name. What is not known is passed over.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Self {
        let mut read = Self::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            // A value is always the next argument, whatever it looks like.
            match word.as_str() {
                "--help" | "-h" => read.help = true,
                "--version" => read.version = true,
                "--verbose" => read.verbose = true,
                "--log-requests" => read.log_requests = Some(true),
                "--no-log-requests" => read.log_requests = Some(false),
                "--read-only" => read.read_only = true,
                "--config" => read.config = words.next(),
                "--compat" => read.compat = words.next(),
                "--host" => read.host = words.next(),
                "--port" => read.port = words.next(),
                "--token" => read.token = words.next(),
                "--host-token" => read.host_token = words.next(),
                "--approval" => read.approval = words.next(),
                "--approval-timeout" => read.approval_timeout = words.next(),
                "--opencode-base-url" => read.opencode_base_url = words.next(),
                "--opencode-directory" => read.opencode_directory = words.next(),
                "--opencode-username" => read.opencode_username = words.next(),
                "--opencode-password" => read.opencode_password = words.next(),
                "--workspace" => read.workspaces.extend(words.next()),
                "--cors" => read.cors = words.next(),
                "--log-format" => read.log_format = words.next(),
                _ => {}
            }
        }
        read
    }
}
