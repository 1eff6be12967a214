//! `countersign openwork-server`: stands where OpenWork's server stands, for whoever starts that one.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use countersign_broker::{
    Broker, ChangeSettings, Endpoint, EngineChoice, ForeignAnswer, JobCaps, PushSettings,
    Settings as BrokerSettings, WorkspaceList, WriteMode,
};
use countersign_cli::discovery::{OPENWORK_SERVERS, data_directory};
use countersign_core::digest::Digest;
use countersign_core::time::Clock;
use countersign_openwork::settings::{self, Approval, Arguments as Flags, Source, Surroundings};
use countersign_openwork::{OpenWork, Settings};
use countersign_server::ServerSettings;
use tokio::net::TcpListener;

use crate::arguments::{Arguments, Command};
use crate::data::{DataDirectory, Held};
use crate::files;
use crate::hardening::harden;
use crate::message::print;
use crate::serve::{LONELY_LIMIT_S, Running, log_from, login_name, open_store};

/// The name under which this program is OpenWork's server.
const NAME: &str = "openwork-server";
/// How many servers of the same workspaces find a data directory of their own.
const NEIGHBOURS: usize = 16;
/// Where generated tokens are, in the data directory, when there is no terminal to show them on.
const TOKENS: &str = "openwork-tokens";

/// What the command line means if the program was called by the name of OpenWork's server.
pub(crate) fn called_by_name() -> Option<Arguments> {
    let mut words = std::env::args();
    let program = words.next()?;
    (Path::new(&program).file_name()? == NAME).then(|| Arguments {
        command: Command::OpenworkServer {
            words: words.collect(),
        },
    })
}

/// Runs `countersign openwork-server`.
pub(crate) async fn run(words: Vec<String>) -> anyhow::Result<()> {
    let flags = Flags::parse(words);
    if flags.help {
        print(settings::USAGE);
        return Ok(());
    }
    let directory = std::env::current_dir().context("failed to learn the current directory")?;
    let settings = Settings::gather(
        &flags,
        &Surroundings {
            variable: &|name| std::env::var(name).ok(),
            directory: &directory,
        },
    );
    if flags.version {
        print(settings.compat.version());
        return Ok(());
    }
    log_from(settings.log.filter(), settings.log.is_json);
    let (running, lines) = start(settings).await?;
    for line in lines {
        print(&line);
    }
    running.until_stopped().await
}

async fn start(settings: Settings) -> anyhow::Result<(Running, Vec<String>)> {
    harden();
    files::make_room();
    let data = hold(&settings)?;
    let address = (settings.host.as_str(), settings.port);
    let tcp = TcpListener::bind(address)
        .await
        .with_context(|| format!("failed to listen on {}:{}", settings.host, settings.port))?;
    let port = tcp.local_addr().context("failed to learn the port")?.port();
    let lines = start_up_lines(&settings, port, &data)?;
    let (store, sole_use) = open_store(None, &data).await?;
    let broker = BrokerSettings {
        data_directory: data.path().to_owned(),
        own_program: std::env::current_exe().context("failed to find our own program")?,
        owner_name: login_name(),
        workspaces: settings
            .workspaces
            .iter()
            .map(|entry| (entry.path.clone(), entry.name.clone()))
            .collect(),
        engine: EngineChoice::AttachWhenCalled(engines(&settings)),
        agents: Vec::new(),
        foreign_answer: ForeignAnswer::Alarm,
        unasked_tools: vec![],
        ask_expiry: None,
        lonely_limit_s: LONELY_LIMIT_S,
        job_caps: JobCaps::default(),
        notify: Vec::new(),
        changes: ChangeSettings {
            home: settings.home.clone(),
            writes: match settings.approval {
                _ if settings.read_only => WriteMode::ReadOnly,
                Approval::Manual => WriteMode::Ask,
                Approval::Auto => WriteMode::Auto,
            },
            workspaces: WorkspaceList::Elsewhere,
        },
        push: PushSettings::default(),
    };
    let broker = Broker::start(store, broker, Clock::System)
        .await
        .context("failed to read the ledger")?;
    let openwork = OpenWork::start(&broker, settings)
        .await
        .context("failed to read the ledger")?;
    let running = Running::begin(
        broker,
        data,
        sole_use,
        tcp,
        ServerSettings::default(),
        Some(openwork),
    )?;
    Ok((running, lines))
}

/// The opencodes of the workspaces, by the paths of these.
fn engines(settings: &Settings) -> BTreeMap<String, Endpoint> {
    let entries = settings.workspaces.iter();
    entries
        .filter_map(|entry| Some((entry.path.clone(), entry.endpoint()?)))
        .collect()
}

/// Takes hold of the data directory: the one that is named, or one for these workspaces. It is never in a workspace.
fn hold(settings: &Settings) -> anyhow::Result<DataDirectory> {
    if std::env::var_os("COUNTERSIGN_DATA").is_some_and(|path| !path.is_empty()) {
        return DataDirectory::hold();
    }
    let base = data_directory().context("HOME does not say where to keep the ledger")?;
    let config = settings.config_path.as_os_str().as_encoded_bytes();
    let workspaces = settings
        .workspaces
        .iter()
        .map(|entry| entry.path.as_bytes());
    let digest = Digest::of_parts([config].into_iter().chain(workspaces)).to_string();
    let folder = base.join(OPENWORK_SERVERS);
    let place = |neighbour: usize| -> PathBuf {
        let name = digest.get(..16).unwrap_or(&digest);
        match neighbour {
            0 => folder.join(name),
            neighbour => folder.join(format!("{name}-{neighbour}")),
        }
    };
    // The server that this one stands in for can be started twice with the same workspaces.
    for neighbour in 0..NEIGHBOURS {
        match DataDirectory::hold_at(&place(neighbour)) {
            Err(error) if error.is::<Held>() => {}
            held => return held,
        }
    }
    DataDirectory::hold_at(&place(0))
}

/// What OpenWork's server says when it listens.
fn start_up_lines(
    settings: &Settings,
    port: u16,
    data: &DataDirectory,
) -> anyhow::Result<Vec<String>> {
    let mut lines = vec![format!(
        "OpenWork server listening on http://{}:{port}",
        settings.host
    )];
    let generated: Vec<_> = [
        ("Client token", &settings.client_token),
        ("Host token", &settings.host_token),
    ]
    .into_iter()
    .filter(|(_, secret)| secret.source == Source::Generated)
    .map(|(name, secret)| format!("{name}: {}", secret.value))
    .collect();
    // A secret is for the person at the terminal; what is no terminal may be a log.
    if io::stdout().is_terminal() {
        lines.extend(generated);
    } else if !generated.is_empty() {
        let path = data.path().join(TOKENS);
        keep_private(&path, &generated).context("failed to keep the generated tokens")?;
        lines.push(format!("Generated tokens: {}", path.display()));
    }
    lines.push(match settings.workspaces.len() {
        0 => "No workspaces configured. Add --workspace or update server.json.".to_owned(),
        count => format!("Workspaces: {count}"),
    });
    Ok(lines)
}

fn keep_private(path: &Path, lines: &[String]) -> io::Result<()> {
    let mut file = std::fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // One that was there before may have other rights.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(format!("{}\n", lines.join("\n")).as_bytes())
}
