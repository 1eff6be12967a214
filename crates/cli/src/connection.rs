//! Talks to the server: over the Unix socket of this machine, or over HTTP with a token.
//!
//! A token is never taken from the command line, where every process could read it, and is never sent
//! along a redirect. Every request has a deadline.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use countersign_api::ErrorBody;
use countersign_core::time::Clock;
use countersign_core::visible::visible;
use reqwest::{Method, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::discovery::{ServerFile, Surroundings, openwork_servers};
use crate::exit::Failure;
use crate::follow::Manner;

mod address;
mod fate;
mod health;
mod refusal;
mod secret;
mod socket;

pub(crate) use fate::Fate;
use secret::Secret;

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
const REQUEST_LIMIT: Duration = Duration::from_secs(30);
/// An event stream says something every 15 seconds; three times that without a byte is a dead line.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

/// What the client calls itself.
const NAME: &str = concat!("countersign/", env!("CARGO_PKG_VERSION"));

/// How the server is reached, and in which form it is told; the same for every command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConnectionOptions {
    /// Talk to the server at this address, with a token, and not to this machine's own
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "COUNTERSIGN_URL",
        help_heading = "Connection and output"
    )]
    pub(crate) url: Option<String>,
    /// Read the token from this file; the variable `COUNTERSIGN_TOKEN` does as well
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Connection and output"
    )]
    pub(crate) token_file: Option<PathBuf>,
    /// Print the API's JSON
    #[arg(long, global = true, help_heading = "Connection and output")]
    pub(crate) json: bool,
}

impl ConnectionOptions {
    /// The server at `url`, or this machine's own; with the token in `token_file`, or the environment's.
    pub fn to(url: Option<String>, token_file: Option<PathBuf>) -> Self {
        Self {
            url,
            token_file,
            json: false,
        }
    }
}

/// Where the server is.
#[derive(Debug, Clone)]
enum Place {
    /// On this machine, through its socket.
    Socket {
        /// Where its runtime file is.
        folder: PathBuf,
        /// What that says.
        server: ServerFile,
    },
    /// At an address, with or without a token.
    Address {
        /// What is known of it, if it is this machine's own.
        server: Option<ServerFile>,
    },
}

/// A way to the server.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Made when it is needed: the socket is mostly used without.
    http: OnceLock<reqwest::Client>,
    base: String,
    token: Option<Secret>,
    place: Place,
    clock: Clock,
    options: ConnectionOptions,
    surroundings: Surroundings,
}

/// What the server sent: the value, and the very text it came in.
#[derive(Debug)]
pub struct Reply<T> {
    /// What it means.
    pub value: T,
    /// What it says, byte for byte.
    pub text: String,
}

impl Connection {
    /// Finds the server; nothing is sent yet.
    ///
    /// A token decides who the caller is, so one that is given is used: without an address it goes to this
    /// machine's server, never to the socket, where the caller would be the owner.
    pub fn find(
        options: &ConnectionOptions,
        surroundings: &Surroundings,
        clock: &Clock,
    ) -> anyhow::Result<Self> {
        let token = secret::find(options, surroundings)?;
        let (place, base) = match (&options.url, &token) {
            (Some(url), _) => (Place::Address { server: None }, address::read(url)?),
            (None, Some(_)) => {
                let (_, server) = find_server(surroundings)?;
                let base = address::read(&server.url)?;
                let server = Some(server);
                (Place::Address { server }, base)
            }
            (None, None) => {
                let (folder, server) = find_server(surroundings)?;
                let place = Place::Socket { folder, server };
                (place, "http://localhost".to_owned())
            }
        };
        Ok(Self {
            http: OnceLock::new(),
            base,
            token,
            place,
            clock: clock.clone(),
            options: options.clone(),
            surroundings: surroundings.clone(),
        })
    }

    /// Finds the server once more: another one may have taken the place of the one that was there.
    pub(crate) fn find_again(&self) -> anyhow::Result<Self> {
        Self::find(&self.options, &self.surroundings, &self.clock)
    }

    /// What became of the server that this connection leads to, once it is known.
    pub(crate) async fn fate(&self) -> Fate {
        match &self.place {
            Place::Socket { folder, server } => fate::of(folder, server).await,
            Place::Address { .. } => Fate::Unknown,
        }
    }

    /// Whether the server is on this machine, so that its paths mean something here.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.place, Place::Socket { .. })
    }

    /// Whether the server's processes are this machine's, so that their numbers mean something there.
    pub fn is_on_this_machine(&self) -> bool {
        self.is_local() || address::is_loopback(&self.base)
    }

    /// Whether a token would cross a network that others can read.
    pub fn exposes_token(&self) -> bool {
        self.token.is_some() && self.base.starts_with("http:") && !address::is_loopback(&self.base)
    }

    /// Reads what is at `path`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Reply<T>> {
        self.call(Method::GET, path, None, REQUEST_LIMIT).await
    }

    /// Reads what is at `path`, where the server may take up to `wait` to answer.
    pub async fn get_waiting<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> anyhow::Result<Reply<T>> {
        self.call(Method::GET, path, None, REQUEST_LIMIT + wait)
            .await
    }

    /// Posts `body` to `path`.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Reply<T>> {
        self.call(
            Method::POST,
            path,
            Some(serde_json::to_vec(body)?),
            REQUEST_LIMIT,
        )
        .await
    }

    /// Posts `body` to `path`, where the server may take up to `wait` to answer.
    pub(crate) async fn post_waiting<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        wait: Duration,
    ) -> anyhow::Result<Reply<T>> {
        self.call(
            Method::POST,
            path,
            Some(serde_json::to_vec(body)?),
            REQUEST_LIMIT + wait,
        )
        .await
    }

    /// Posts `body` to `path`, where the server has nothing to say in return.
    pub async fn tell(&self, path: &str, body: &impl Serialize) -> anyhow::Result<()> {
        let body = Some(serde_json::to_vec(body)?);
        self.exchange(Method::POST, path, body, REQUEST_LIMIT)
            .await
            .map(drop)
    }

    /// Posts nothing to `path`.
    pub(crate) async fn post_nothing<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> anyhow::Result<Reply<T>> {
        self.call(Method::POST, path, None, REQUEST_LIMIT).await
    }

    /// Posts to `path`, where the server may take up to `wait` to answer.
    pub(crate) async fn post_nothing_waiting<T: DeserializeOwned>(
        &self,
        path: &str,
        wait: Duration,
    ) -> anyhow::Result<Reply<T>> {
        self.call(Method::POST, path, None, REQUEST_LIMIT + wait)
            .await
    }

    /// Deletes what is at `path`.
    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        self.exchange(Method::DELETE, path, None, REQUEST_LIMIT)
            .await
            .map(drop)
    }

    /// Opens the event stream after `cursor`, or from now on.
    pub(crate) async fn events(
        &self,
        cursor: Option<i64>,
        manner: Manner,
    ) -> anyhow::Result<Response> {
        let path = match manner {
            Manner::Needs => "/api/v1/events",
            Manner::LooksOn => "/api/v1/events?bystander=true",
        };
        let mut request = self
            .request(Method::GET, path)?
            .header("accept", "text/event-stream");
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor.to_string());
        }
        let sending = async { request.send().await.map_err(Unsent::from) };
        let sent = self.unless_silent(sending).await;
        let response = sent.map_err(|unsent| self.unsent(unsent))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let said = response.text().await;
        let said = said.map_err(|error| self.unsent(error.into()))?;
        Err(self.refused(status, said))
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        limit: Duration,
    ) -> anyhow::Result<Reply<T>> {
        let text = self.exchange(method, path, body, limit).await?;
        let value = serde_json::from_str(&text)
            .with_context(|| format!("the server's answer to `{path}` is not what was expected"))?;
        Ok(Reply { value, text })
    }

    /// What the server says to a request, if it does what is asked.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        limit: Duration,
    ) -> anyhow::Result<String> {
        let exchanged = match &self.place {
            Place::Socket { server, .. } => {
                let exchanging = socket::exchange(&server.socket, (method, path), body);
                self.unless_silent(within(limit, exchanging)).await
            }
            Place::Address { .. } => {
                let request = self.request(method, path)?;
                let exchanging = over_network(request, body);
                self.unless_silent(within(limit, exchanging)).await
            }
        };
        let (status, text) = exchanged.map_err(|unsent| self.unsent(unsent))?;
        if status.is_success() {
            return Ok(text);
        }
        Err(self.refused(status, text))
    }

    /// Does `work`, unless the server turns out to be there and not to answer; then there is nothing to wait for. Every
    /// request to a server of this machine goes through here.
    async fn unless_silent<T>(
        &self,
        work: impl Future<Output = Result<T, Unsent>>,
    ) -> Result<T, Unsent> {
        let Some(server) = self.own_server() else {
            return work.await;
        };
        tokio::select! {
            biased;
            done = work => done,
            () = health::until_silent(&server.socket, health::OF_A_REQUEST) => Err(Unsent::Silent),
        }
    }

    /// Waits until the server of this machine turns out not to answer while its events are followed, and says so.
    pub(crate) async fn silence(&self) -> anyhow::Error {
        match self.own_server() {
            Some(server) => health::until_silent(&server.socket, health::OF_A_STREAM).await,
            None => std::future::pending().await,
        }
        self.unsent(Unsent::Silent)
    }

    /// The server, if it is this machine's.
    fn own_server(&self) -> Option<&ServerFile> {
        match &self.place {
            Place::Socket { server, .. } => Some(server),
            Place::Address { server } => server.as_ref(),
        }
    }

    fn request(&self, method: Method, path: &str) -> anyhow::Result<reqwest::RequestBuilder> {
        let http = if let Some(http) = self.http.get() {
            http
        } else {
            let built = build_client(&self.place, &self.base)?;
            self.http.get_or_init(|| built)
        };
        let request = http.request(method, format!("{}{path}", self.base));
        Ok(match &self.token {
            Some(token) => request.bearer_auth(&token.text),
            None => request,
        })
    }

    /// What the server said when it did not do what was asked.
    fn refused(&self, status: StatusCode, raw: String) -> anyhow::Error {
        match serde_json::from_str::<ErrorBody>(&raw) {
            Ok(body) => Failure::Refused {
                sentence: refusal::sentence(&body, self.credentials(), self.clock.now()),
                body: Box::new(body),
                raw,
            }
            .into(),
            Err(_) => unknown_answer(&self.base, status),
        }
    }

    /// By what right this connection calls, for somebody who is told that it is not enough.
    fn credentials(&self) -> refusal::Credentials<'_> {
        match (&self.token, &self.place) {
            (Some(token), _) => refusal::Credentials::Token { from: &token.from },
            (None, Place::Socket { .. }) => refusal::Credentials::Socket,
            (None, Place::Address { .. }) => refusal::Credentials::Nothing,
        }
    }

    /// Says why a request got no answer.
    fn unsent(&self, why: Unsent) -> anyhow::Error {
        match why {
            Unsent::NoServer(cause) => {
                let sentence = match &self.place {
                    Place::Socket { server, .. } if server.process_is_alive() => format!(
                        "no server answers at {}, though process {} should",
                        server.socket.display(),
                        server.pid
                    ),
                    Place::Socket { server, .. } => format!(
                        "no server is running: the last one here, process {}, is gone",
                        server.pid
                    ),
                    Place::Address { .. } => format!("no server answers at {}: {cause}", self.base),
                };
                Failure::NoServer(sentence).into()
            }
            Unsent::Silent => match self.own_server() {
                Some(server) => Failure::ServerSilent(health::sentence(server)).into(),
                None => anyhow::anyhow!("the server does not answer"),
            },
            Unsent::TooLate => {
                anyhow::anyhow!("the server did not answer in time; try again")
            }
            Unsent::Broken(error) => error.context(
                "the connection broke before the server's answer was there; what was asked for may have been done",
            ),
        }
    }
}

/// Why a request got no answer.
#[derive(Debug)]
enum Unsent {
    /// Nobody was there to take it.
    NoServer(String),
    /// The answer was not there in time.
    TooLate,
    /// The server is there and does not even say that it lives.
    Silent,
    /// Something came between.
    Broken(anyhow::Error),
}

impl From<reqwest::Error> for Unsent {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() {
            Self::NoServer(root(&error))
        } else if error.is_timeout() {
            Self::TooLate
        } else {
            Self::Broken(anyhow::Error::new(error.without_url()))
        }
    }
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Unsent>>,
) -> Result<T, Unsent> {
    let done = tokio::time::timeout(limit, work).await;
    done.unwrap_or(Err(Unsent::TooLate))
}

/// One request over a network.
async fn over_network(
    mut request: reqwest::RequestBuilder,
    body: Option<Vec<u8>>,
) -> Result<(StatusCode, String), Unsent> {
    if let Some(body) = body {
        request = request
            .header("content-type", "application/json")
            .body(body);
    }
    let response = request.send().await?;
    Ok((response.status(), response.text().await?))
}

/// A name as it stands in a path.
pub(crate) fn in_path(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes()
        .map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    visible(&cause.to_string()).into_owned()
}

fn unknown_answer(base: &str, status: StatusCode) -> anyhow::Error {
    anyhow::anyhow!(
        "{base} answered {status}, and not as Countersign does: is this the right address?"
    )
}

/// The server of this machine, and the folder with its runtime file.
fn find_server(surroundings: &Surroundings) -> anyhow::Result<(PathBuf, ServerFile)> {
    let no_server = |sentence: String| anyhow::Error::new(Failure::NoServer(sentence));
    let data = surroundings.data.as_deref().ok_or_else(|| {
        no_server("no server is known: neither COUNTERSIGN_DATA nor HOME is set".to_owned())
    })?;
    let unreadable = || {
        format!(
            "failed to read {}",
            data.join(crate::discovery::SERVER_FILE).display()
        )
    };
    let own = ServerFile::read(data).with_context(unreadable)?;
    if let Some(own) = own.as_ref().filter(|own| own.process_is_alive()) {
        return Ok((data.to_owned(), own.clone()));
    }
    match openwork_servers(data).as_slice() {
        // One that has ended is found to be gone when it is called.
        [] => own
            .map(|own| (data.to_owned(), own))
            .ok_or_else(|| no_server(format!("no server is running for {}", data.display()))),
        [found] => Ok(found.clone()),
        several => {
            let folders: Vec<_> = several
                .iter()
                .map(|(folder, server)| {
                    format!("  COUNTERSIGN_DATA={} ({})", folder.display(), server.url)
                })
                .collect();
            let sentence =
                "several servers are running in the place of OpenWork's. Say which with one of";
            Err(no_server(format!("{sentence}\n{}", folders.join("\n"))))
        }
    }
}

fn build_client(place: &Place, base: &str) -> anyhow::Result<reqwest::Client> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing a race for it only means that somebody else has installed one.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(NAME)
        .connect_timeout(CONNECT_LIMIT)
        .read_timeout(SILENCE_LIMIT)
        .redirect(reqwest::redirect::Policy::none());
    if !base.starts_with("https:") {
        // No certificate is going to be looked at, so the machine's store of them is not read.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    if address::is_loopback(base) {
        builder = builder.no_proxy();
    }
    if let Place::Socket { server, .. } = place {
        builder = builder.unix_socket(server.socket.as_path());
    }
    builder.build().context("failed to set up the HTTP client")
}

#[cfg(test)]
mod tests;
