//! `countersign serve`: one process from the command line to the last engine's end.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use countersign_bridges::Bridges;
use countersign_broker::{
    AgentEntry, Broker, ChangeSettings, EngineChoice, ForeignAnswer, Settings, SoleUse, Store,
    StoreError, WorkspaceList, WriteMode,
};
use countersign_cli::discovery::ServerFile;
use countersign_core::time::Clock;
use countersign_engine::opencode::Endpoint;
use countersign_openwork::OpenWork;
use countersign_server::{PathPrefix, Presence, ServerSettings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::arguments::{DEFAULT_PORT, Options, Serve};
use crate::bridges::Chats;
use crate::config::notify;
use crate::config::{ApprovalConfig, AttachConfig, Config, EngineConfig, ForeignAnswerConfig};
use crate::data::DataDirectory;
use crate::files;
use crate::footprint;
use crate::hardening::harden;
use crate::idle;
use crate::message::{print, say};

/// For how many seconds an engine goes on without a server if nothing is said.
pub(crate) const LONELY_LIMIT_S: u64 = 600;

/// What to do about a second server on a database.
const ONE_SERVER: &str = "A database is for one server at a time: stop the other one, or give this one a database of its own \
     with `--database`";

/// A server that is up.
pub(crate) struct Running {
    pub(crate) broker: Broker,
    pub(crate) url: String,
    data: DataDirectory,
    sole_use: SoleUse,
    socket: PathBuf,
    openwork: Option<Arc<OpenWork>>,
    bridges: Option<Bridges>,
    presence: Presence,
    /// After which time without anything to do it ends by itself.
    idle_limit: Option<Duration>,
    stopping: CancellationToken,
    serving: tokio::task::JoinHandle<io::Result<()>>,
}

/// Runs `countersign serve`.
pub(crate) async fn run(serve: Serve) -> anyhow::Result<()> {
    log_to_stderr(serve.options.log_json);
    let (folders, manner) = if serve.in_background {
        // Workspaces come with the jobs that are handed in.
        (serve.workspace, Manner::Background)
    } else if serve.workspace.is_empty() {
        (vec![PathBuf::from(".")], Manner::Attended)
    } else {
        (serve.workspace, Manner::Attended)
    };
    let running = start(&folders, &serve.options, manner).await?;
    print(&format!("countersign serves on {}", running.url));
    say("Pair a browser with `countersign pair`. Stop with Ctrl-C.");
    running.until_stopped().await
}

/// Who the server is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Somebody who stops it.
    Attended,
    /// Commands that started it: it ends by itself.
    Background,
}

/// Starts a server for `folders`.
pub(crate) async fn start(
    folders: &[PathBuf],
    options: &Options,
    manner: Manner,
) -> anyhow::Result<Running> {
    harden();
    files::make_room();
    let config = Config::load(options.config.as_deref())?;
    let workspaces: Vec<_> = folders
        .iter()
        .map(|folder| workspace(folder))
        .collect::<anyhow::Result<_>>()?;
    let notify = notify::targets(config.notify, &workspaces)?;
    let prefix = config.server.path_prefix.as_deref().unwrap_or_default();
    let path_prefix = PathPrefix::read(prefix).context("`path_prefix` cannot be used")?;
    let chats = match manner {
        Manner::Attended => Some(Chats::of(config.bridges, config.schedules, &workspaces)?),
        // It is there for commands, has no workspaces of its own, and ends by itself.
        Manner::Background => None,
    };
    let engine = engine_choice(options, &config.engine)?;
    check_names(&config.agents)?;
    let data = match manner {
        Manner::Attended => DataDirectory::hold()?,
        Manner::Background => DataDirectory::hold_in_time().await?,
    };
    let public_url = config.server.public_url.as_deref().map(str::parse);
    let public_url = public_url.transpose();
    let public_url = public_url.context("`server.public_url` is wrong")?;
    let port = options.port.or(config.server.port).unwrap_or(DEFAULT_PORT);
    let tcp = match (listen(port).await, manner) {
        // Nobody has been told of a port yet.
        (Err(_), Manner::Background) => listen(0).await?,
        (listening, _) => listening?,
    };
    let idle_limit = match manner {
        Manner::Attended => None,
        Manner::Background => Some(idle::limit(config.jobs.idle_exit_s)),
    };
    let database = options.database.as_ref().or(config.database.as_ref());
    let (store, sole_use) = open_store(database, &data).await?;
    let settings = Settings {
        data_directory: data.path().to_owned(),
        own_program: std::env::current_exe().context("failed to find our own program")?,
        owner_name: config.owner.unwrap_or_else(login_name),
        workspaces,
        engine,
        agents: config.agents,
        unasked_tools: config.engine.unasked_tools.clone(),
        foreign_answer: match config.engine.foreign_answer {
            ForeignAnswerConfig::Abort => ForeignAnswer::Abort,
            ForeignAnswerConfig::Alarm => ForeignAnswer::Alarm,
        },
        ask_expiry: config.asks.expire_after_s.map(Duration::from_secs),
        lonely_limit_s: config.engine.lonely_limit_s.unwrap_or(LONELY_LIMIT_S),
        job_caps: config.jobs.caps(),
        notify,
        changes: ChangeSettings {
            home: home(),
            writes: match options.approval.unwrap_or(config.writes.approval) {
                ApprovalConfig::Ask => WriteMode::Ask,
                ApprovalConfig::Auto => WriteMode::Auto,
            },
            workspaces: WorkspaceList::Ours,
        },
        push: config.push.settings(&config.server.public_hosts)?,
    };
    let broker = Broker::start(store.clone(), settings, Clock::System)
        .await
        .context("failed to read the ledger")?;
    let bridges = chats
        .map(|chats| chats.start(&broker, &store))
        .transpose()?;
    let server = ServerSettings {
        limits: config.server.limits(),
        public_url,
        public_hosts: config.server.public_hosts,
        behind_proxy: config.server.behind_proxy,
        path_prefix,
        ..ServerSettings::default()
    };
    let mut running = Running::begin(broker, data, sole_use, tcp, server, None)?;
    running.idle_limit = idle_limit;
    running.bridges = bridges;
    Ok(running)
}

impl Running {
    /// Serves `broker` on `tcp` and on the socket of `data`, and says so there. What `openwork` answers it is asked first.
    pub(crate) fn begin(
        broker: Broker,
        data: DataDirectory,
        sole_use: SoleUse,
        tcp: TcpListener,
        settings: ServerSettings,
        openwork: Option<Arc<OpenWork>>,
    ) -> anyhow::Result<Self> {
        let address = tcp.local_addr().context("failed to learn the port")?;
        let (unix, socket) = data.listen()?;
        let url = format!("http://{address}");
        data.announce(&ServerFile {
            pid: std::process::id(),
            url: url.clone(),
            socket: socket.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: broker.clock().now(),
        })?;
        let stopping = CancellationToken::new();
        let presence = settings.presence.clone();
        let serving = countersign_server::serve(
            broker.clone(),
            tcp,
            Some(unix),
            settings,
            openwork.as_ref().map(OpenWork::front),
            stopping.clone(),
        );
        #[expect(
            clippy::disallowed_methods,
            reason = "`Running` owns the task and waits for its end"
        )]
        let serving = tokio::spawn(serving);
        Ok(Self {
            broker,
            url,
            data,
            sole_use,
            socket,
            openwork,
            bridges: None,
            presence,
            idle_limit: None,
            stopping,
            serving,
        })
    }

    /// Serves until somebody says stop, then ends in order: no new calls, engines ended with all that they
    /// started, nothing left behind. A second signal ends at once.
    pub(crate) async fn until_stopped(self) -> anyhow::Result<()> {
        let mut interrupt =
            signal(SignalKind::interrupt()).context("failed to listen for signals")?;
        let mut terminate =
            signal(SignalKind::terminate()).context("failed to listen for signals")?;
        let Self {
            broker,
            data,
            mut sole_use,
            socket,
            openwork,
            bridges,
            presence,
            idle_limit,
            stopping,
            mut serving,
            ..
        } = self;
        let idle = async {
            match idle_limit {
                Some(limit) => idle::until_idle(&broker, &presence, limit).await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            _ = interrupt.recv() => End::Told,
            _ = terminate.recv() => End::Told,
            () = sole_use.lost() => End::Displaced,
            // Whoever comes from now on finds no server, and starts the next one.
            () = idle => {
                presence.end_idle();
                data.withdraw(&socket);
                End::Idle
            }
            never = footprint::shrink_after_start() => match never {},
            ended = &mut serving => {
                ended.context("the server failed")?.context("the server failed")?;
                bail!("the server ended by itself");
            }
        };
        match end {
            End::Told | End::Idle => say("Stopping; once more to stop at once."),
            End::Displaced => say("Stopping: another server uses this database."),
        }
        let orderly = async {
            // Clients that wait for leave to write would hold the server up, and are told why they are let go.
            broker.stop_writes();
            stopping.cancel();
            let served = serving.await;
            // Somebody may have been let in just before the door was closed.
            let unended = end == End::Idle && broker.count_unended_jobs().await.unwrap_or(0) > 0;
            if let Some(openwork) = openwork {
                openwork.stop().await;
            }
            if let Some(bridges) = bridges {
                bridges.stop().await;
            }
            broker.stop().await;
            (served, unended)
        };
        let unended = tokio::select! {
            (served, unended) = orderly => {
                served.context("the server failed")?.context("the server failed")?;
                unended
            }
            _ = interrupt.recv() => false,
            _ = terminate.recv() => false,
        };
        data.withdraw(&socket);
        drop(data);
        if unended {
            succeed()?;
        }
        match end {
            End::Told | End::Idle => Ok(()),
            End::Displaced => bail!(
                "another server took the database while this one had lost its connection. {ONE_SERVER}"
            ),
        }
    }
}

/// Why a server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Somebody said so.
    Told,
    /// Nobody has anything to do for it.
    Idle,
    /// Another server has the ledger.
    Displaced,
}

/// Has another server bring to an end what this one began and was told to leave.
fn succeed() -> anyhow::Result<()> {
    let program = std::env::current_exe().context("failed to find our own program")?;
    std::process::Command::new(program)
        .args(["serve", "--in-background"])
        .stdin(std::process::Stdio::null())
        .spawn()
        .context("failed to start the next server")?;
    Ok(())
}

async fn listen(port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).await.map_err(|error| {
        if error.kind() == io::ErrorKind::AddrInUse {
            anyhow!("port {port} is taken by another program. Choose another with `--port`")
        } else {
            anyhow!(error).context(format!("failed to listen on port {port}"))
        }
    })
}

pub(crate) async fn open_store(
    database: Option<&String>,
    data: &DataDirectory,
) -> anyhow::Result<(Store, SoleUse)> {
    let opened = match database {
        None => Store::open_sqlite(&data.database()?).await,
        Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Store::open_postgres(url).await
        }
        Some(_) => bail!("the database has to be a `postgres://` address"),
    };
    let store = opened.context("failed to open the ledger")?;
    match store.claim().await {
        Ok(sole_use) => Ok((store, sole_use)),
        Err(StoreError::InUse) => bail!("another server uses this database. {ONE_SERVER}"),
        Err(error) => Err(error).context("failed to take the ledger for this server"),
    }
}

pub(crate) fn workspace(folder: &Path) -> anyhow::Result<(String, String)> {
    let path = folder
        .canonicalize()
        .and_then(|path| std::fs::read_dir(&path).map(|_| path))
        .map_err(|error| unusable(folder, &error))?;
    let text = path.to_str().ok_or_else(|| {
        anyhow!(
            "the path of the workspace `{}` is not valid UTF-8. Rename the folder, or serve another",
            path.display()
        )
    })?;
    let name = path
        .file_name()
        .map_or_else(|| text.to_owned(), |name| name.to_string_lossy().into());
    Ok((text.to_owned(), name))
}

/// Why `folder` cannot be a workspace, and what to do.
fn unusable(folder: &Path, error: &io::Error) -> anyhow::Error {
    let (wrong, remedy) = if error.kind() == io::ErrorKind::NotFound {
        (
            "is not there".to_owned(),
            "Check the path, or make the folder first",
        )
    } else if error.kind() == io::ErrorKind::NotADirectory {
        (
            "is not a folder".to_owned(),
            "Name the folder that the agent is to work in",
        )
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        (
            "cannot be read by this user".to_owned(),
            "Give this user leave to read and enter it, or serve as the user that owns it",
        )
    } else {
        (
            format!("cannot be opened: {error}"),
            "Check the path and the disk that it is on",
        )
    };
    anyhow!("the workspace `{}` {wrong}. {remedy}", folder.display())
}

/// An agent's name is said on command lines and kept in the ledger, among the names of other engines.
fn check_names(agents: &[AgentEntry]) -> anyhow::Result<()> {
    for agent in agents {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        if agent.name.is_empty() || !agent.name.chars().all(is_plain) {
            bail!(
                "`{}` is no name for an agent: it has letters, digits, `.`, `_` and `-` alone",
                agent.name
            );
        }
    }
    Ok(())
}

fn engine_choice(options: &Options, config: &EngineConfig) -> anyhow::Result<EngineChoice> {
    if options.no_engine {
        return Ok(EngineChoice::None);
    }
    if let Some(url) = &options.attach {
        let attach = AttachConfig {
            url: url.clone(),
            username: None,
            password_file: None,
        };
        return attached(&attach);
    }
    configured_engine(config)
}

/// The home of whoever runs the server.
fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// The engine that the configuration says.
pub(crate) fn configured_engine(config: &EngineConfig) -> anyhow::Result<EngineChoice> {
    if let Some(attach) = &config.attach {
        return attached(attach);
    }
    Ok(EngineChoice::Start {
        program: config.program.clone(),
        inherit: config.environment.clone(),
    })
}

fn attached(attach: &AttachConfig) -> anyhow::Result<EngineChoice> {
    let base_url = attach.url.trim_end_matches('/').to_owned();
    if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
        bail!(
            "`{base_url}` is no address of an opencode server; it begins with http:// or https://"
        );
    }
    let password = match &attach.password_file {
        Some(file) => Some(
            std::fs::read_to_string(file)
                .with_context(|| format!("failed to read the password from `{}`", file.display()))?
                .trim_end_matches(['\r', '\n'])
                .to_owned(),
        ),
        None => std::env::var("OPENCODE_SERVER_PASSWORD").ok(),
    };
    let user = attach
        .username
        .clone()
        .or_else(|| std::env::var("OPENCODE_SERVER_USERNAME").ok())
        .unwrap_or_else(|| "opencode".to_owned());
    Ok(EngineChoice::Attach(Endpoint {
        base_url,
        credentials: password.map(|word| (user, word)),
    }))
}

pub(crate) fn login_name() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| "owner".to_owned())
}

/// Logs to stderr: warnings, and more if `COUNTERSIGN_LOG` says so.
pub(crate) fn log_to_stderr(json: bool) {
    log_from("warn", json);
}

/// Logs to stderr from `level` on, or what `COUNTERSIGN_LOG` says.
pub(crate) fn log_from(level: &str, json: bool) {
    let filter =
        EnvFilter::try_from_env("COUNTERSIGN_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let installed = if json {
        registry.with(layer.json()).try_init()
    } else {
        let colours = io::IsTerminal::is_terminal(&io::stderr());
        registry.with(layer.with_ansi(colours)).try_init()
    };
    // Only a second call could fail, and then there is a log already.
    drop(installed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_that_cannot_be_used_is_told_with_what_to_do() {
        for (kind, wrong, remedy) in [
            (io::ErrorKind::NotFound, "is not there", "Check the path"),
            (
                io::ErrorKind::NotADirectory,
                "is not a folder",
                "Name the folder",
            ),
            (
                io::ErrorKind::PermissionDenied,
                "cannot be read by this user",
                "Give this user leave",
            ),
            (
                io::ErrorKind::StaleNetworkFileHandle,
                "cannot be opened",
                "Check the path",
            ),
        ] {
            let said = unusable(Path::new("/srv/app"), &kind.into()).to_string();
            assert!(said.contains("`/srv/app`"), "{said}");
            assert!(said.contains(wrong) && said.contains(remedy), "{said}");
        }
    }
}
