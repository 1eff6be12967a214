//! A PostgreSQL cluster of our own for as long as the tests run.
//!
//! It listens on loopback alone, keeps its promise to sync as a real one does, and is gone with its folder
//! when the [`PostgresCluster`] is dropped. What a killed run left behind, the next one removes.

use std::{
    env, fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{self, Command},
};

use anyhow::{Context as _, bail};

/// Where Debian keeps the server's programs, a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The server refuses to run as root; this is who runs it then.
const ACCOUNT: &str = "postgres";
/// What our folders' names begin with; the id of the process that made one follows.
const FOLDER_PREFIX: &str = "countersign-postgres-";
/// Below those from which engines and the system get theirs, above those of the tests.
const PORTS: std::ops::Range<u16> = 18_000..20_000;
/// How often another port is tried when somebody takes ours between the look and the start.
const TRIES: usize = 5;

/// A running cluster.
pub(crate) struct PostgresCluster {
    programs: Programs,
    folder: PathBuf,
    port: u16,
}

impl PostgresCluster {
    /// Makes a cluster in `target` and starts it.
    pub(crate) fn start(target: &Path) -> anyhow::Result<Self> {
        let programs = Programs::find()?;
        let parent = programs.reachable(target);
        sweep(&programs, &parent);
        let mut cluster = Self {
            programs,
            folder: parent.join(format!("{FOLDER_PREFIX}{}", process::id())),
            port: 0,
        };
        cluster.initialize()?;
        cluster.listen()?;
        Ok(cluster)
    }

    /// Where it is: for `--database`, and for the tests.
    pub(crate) fn url(&self) -> String {
        format!(
            "postgres://{ACCOUNT}@{}:{}/postgres",
            Ipv4Addr::LOCALHOST,
            self.port
        )
    }

    fn initialize(&self) -> anyhow::Result<()> {
        self.programs.make_folder(&self.folder)?;
        let mut initdb = self.programs.command("initdb");
        initdb.arg("--pgdata").arg(data(&self.folder));
        initdb.args(["--username", ACCOUNT, "--auth", "trust"]);
        // Only the making of the empty cluster goes unsynced; what is written to it later does not.
        initdb.args(["--encoding", "UTF8", "--locale", "C", "--no-sync"]);
        run(&mut initdb)
    }

    fn listen(&mut self) -> anyhow::Result<()> {
        let mut outcome = Ok(());
        for _ in 0..TRIES {
            self.port = free_port()?;
            outcome = run(&mut self.start_command());
            if outcome.is_ok() {
                break;
            }
        }
        outcome.with_context(|| {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            format!("PostgreSQL did not start; its log:\n{log}")
        })
    }

    fn start_command(&self) -> Command {
        let options = format!(
            "-c listen_addresses={} -c port={} -c unix_socket_directories= \
             -c fsync=on -c synchronous_commit=on -c max_connections=200",
            Ipv4Addr::LOCALHOST,
            self.port
        );
        let mut command = self.programs.command("pg_ctl");
        command.args(["start", "--wait", "--silent", "--pgdata"]);
        command.arg(data(&self.folder)).arg("--log");
        command.arg(self.folder.join("log"));
        command.arg("--options").arg(options);
        command
    }
}

impl Drop for PostgresCluster {
    fn drop(&mut self) {
        remove(&self.programs, &self.folder);
    }
}

/// The server's programs, and how we have to call them.
struct Programs {
    directory: PathBuf,
    as_account: bool,
}

impl Programs {
    fn find() -> anyhow::Result<Self> {
        let version = |path: &Path| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
        let mut debian: Vec<PathBuf> = fs::read_dir(DEBIAN)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        debian.sort_by_key(|path| std::cmp::Reverse(version(path)));
        let path = env::var_os("PATH").unwrap_or_default();
        let directory = debian
            .into_iter()
            .map(|version| version.join("bin"))
            .chain(env::split_paths(&path))
            .find(|directory| directory.join("initdb").is_file());
        let Some(directory) = directory else {
            bail!("the tests need PostgreSQL's server; on Debian: sudo apt-get install postgresql");
        };
        Ok(Self {
            directory,
            as_account: rustix::process::geteuid().is_root(),
        })
    }

    /// The program, run by somebody who may run it, in a directory that everybody can enter.
    fn command(&self, program: &str) -> Command {
        let program = self.directory.join(program);
        let mut command = if self.as_account {
            let mut command = as_account();
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir("/");
        command
    }

    /// `target`, or the system's folder for temporary files if the server's account cannot get there.
    fn reachable(&self, target: &Path) -> PathBuf {
        let enters = |directory: &Path| {
            let mut test = as_account();
            test.args(["test", "-x"]).arg(directory).current_dir("/");
            run(&mut test).is_ok()
        };
        if self.as_account && !enters(target) {
            env::temp_dir()
        } else {
            target.to_owned()
        }
    }

    fn make_folder(&self, folder: &Path) -> anyhow::Result<()> {
        let mut install = Command::new("install");
        install.args(["-d", "-m", "0700"]);
        if self.as_account {
            install.args(["-o", ACCOUNT]);
        }
        run(install.arg(folder))
    }
}

fn as_account() -> Command {
    let mut command = Command::new("runuser");
    command.args(["-u", ACCOUNT, "--"]);
    command
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// Ends the server that runs in `folder`, if one does, and removes the folder.
fn remove(programs: &Programs, folder: &Path) {
    let mut stop = programs.command("pg_ctl");
    stop.args(["stop", "--wait", "--silent", "--mode", "immediate"]);
    stop.arg("--pgdata").arg(data(folder));
    // Neither failure is worth more than a folder that is left: nothing may have been running.
    let stopped = run(&mut stop);
    let removed = fs::remove_dir_all(folder);
    drop((stopped, removed));
}

/// Removes the clusters of runs that were killed.
fn sweep(programs: &Programs, parent: &Path) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for folder in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = folder.file_name();
        let Some(maker) = name
            .to_str()
            .and_then(|name| name.strip_prefix(FOLDER_PREFIX))
        else {
            continue;
        };
        if maker.parse::<u32>().is_ok() && !processes.join(maker).exists() {
            remove(programs, &folder.path());
        }
    }
}

fn free_port() -> anyhow::Result<u16> {
    // Two runs at once begin to look at different places.
    let count = PORTS.len();
    let start = process::id() as usize % count;
    PORTS
        .cycle()
        .skip(start)
        .take(count)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .context("no port is free")
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command
        .output()
        .with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "{command:?} failed: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_cluster_answers_until_it_is_dropped_and_leaves_nothing() {
        if Programs::find().is_err() {
            eprintln!("left out: PostgreSQL is not installed");
            return;
        }
        let target = tempfile::tempdir().unwrap();
        let cluster = PostgresCluster::start(target.path()).unwrap();
        let (folder, port) = (cluster.folder.clone(), cluster.port);
        let connects = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();

        assert!(folder.is_dir());
        assert!(PORTS.contains(&port));
        assert!(connects());
        drop(cluster);
        assert!(!folder.exists());
        assert!(!connects());
    }
}
