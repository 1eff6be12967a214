//! The data directory: private to its user, held by one server at a time, with a file that says where the
//! server listens.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use countersign_cli::discovery::{SERVER_FILE, ServerFile, data_directory};
use countersign_cli::is_served;
use rustix::fs::{FlockOperation, flock};
use tokio::net::UnixListener;

/// The longest address of a Unix socket that Linux and macOS both take.
const LONGEST_SOCKET: usize = 100;
/// How long another server may take to end.
const PATIENCE: Duration = Duration::from_secs(45);
const LOOK: Duration = Duration::from_millis(20);

/// A data directory that this process holds.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    /// The lock goes with the process, however it ends.
    _lock: File,
}

/// Another server holds the data directory.
#[derive(Debug, thiserror::Error)]
#[error(
    "another Countersign (process {pid}) serves from `{path}` already. Talk to that one, stop it, or give \
     this one a data directory of its own with COUNTERSIGN_DATA"
)]
pub(crate) struct Held {
    pid: String,
    path: String,
}

impl DataDirectory {
    /// Takes hold of the data directory, and makes it if it is not there.
    pub(crate) fn hold() -> anyhow::Result<Self> {
        let path = data_directory().ok_or_else(|| {
            anyhow!("neither COUNTERSIGN_DATA nor HOME says where to keep the ledger")
        })?;
        Self::hold_at(&path)
    }

    /// Takes hold of the data directory, and waits for a server that is about to end; not for one that answers.
    pub(crate) async fn hold_in_time() -> anyhow::Result<Self> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let held = Self::hold();
            let is_held = held.as_ref().is_err_and(anyhow::Error::is::<Held>);
            let is_served = || data_directory().is_some_and(|path| is_served(&path));
            if !is_held || is_served() || tokio::time::Instant::now() >= deadline {
                return held;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Takes hold of the directory `path`, and makes it if it is not there.
    pub(crate) fn hold_at(path: &Path) -> anyhow::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(0o700)))
            .with_context(|| format!("failed to make the data directory `{}`", path.display()))?;
        let path = path
            .canonicalize()
            .context("failed to resolve the data directory")?;
        let lock = Self::lock(&path)?;
        Ok(Self { path, _lock: lock })
    }

    fn lock(path: &Path) -> anyhow::Result<File> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join("lock"))
            .context("failed to open the data directory's lock")?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            file.read_to_string(&mut pid)
                .context("failed to read the data directory's lock")?;
            bail!(Held {
                pid: pid.trim().to_owned(),
                path: path.display().to_string()
            });
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .context("failed to write the lock")?;
        write!(file, "{}", std::process::id()).context("failed to write the lock")?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The SQLite database, which nobody but this user can open; SQLite gives its other files the same mode.
    pub(crate) fn database(&self) -> anyhow::Result<PathBuf> {
        let path = self.path.join("ledger.db");
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("failed to open the ledger `{}`", path.display()))?;
        Ok(path)
    }

    /// Listens on the socket for local callers, which nobody but this user can open.
    pub(crate) fn listen(&self) -> anyhow::Result<(UnixListener, PathBuf)> {
        let path = self.socket_path()?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context("failed to remove an old socket");
            }
            _ => {}
        }
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("failed to listen on `{}`", path.display()))?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))
            .context("failed to make the socket private")?;
        Ok((listener, path))
    }

    /// In the data directory, or for one that lies too deep for a socket's address in a private folder
    /// that is named after it.
    fn socket_path(&self) -> anyhow::Result<PathBuf> {
        let path = self.path.join("countersign.sock");
        if path.as_os_str().len() <= LONGEST_SOCKET {
            return Ok(path);
        }
        let digest =
            countersign_core::digest::Digest::of_bytes(self.path.as_os_str().as_encoded_bytes());
        let name: String = digest.to_string().chars().take(16).collect();
        let base =
            std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let folder = base.join(format!("countersign-{name}"));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(error).context("failed to make a folder for the socket");
            }
            _ => {}
        }
        let meta = folder
            .symlink_metadata()
            .context("failed to look at the socket's folder")?;
        let own = rustix::process::getuid().as_raw();
        if !meta.is_dir()
            || std::os::unix::fs::MetadataExt::uid(&meta) != own
            || meta.permissions().mode() & 0o077 != 0
        {
            bail!("`{}` is not a private folder of yours", folder.display());
        }
        Ok(folder.join("s"))
    }

    /// Says where the server listens.
    pub(crate) fn announce(&self, server: &ServerFile) -> anyhow::Result<()> {
        let draft = self.path.join(".server.json.draft");
        let text = serde_json::to_vec_pretty(server).context("failed to describe the server")?;
        std::fs::write(&draft, text)
            .and_then(|()| std::fs::rename(&draft, self.path.join(SERVER_FILE)))
            .context("failed to say where the server listens")
    }

    /// Takes back what was announced.
    pub(crate) fn withdraw(&self, socket: &Path) {
        // Both are found to be stale by whoever comes across them.
        drop(std::fs::remove_file(self.path.join(SERVER_FILE)));
        drop(std::fs::remove_file(socket));
    }
}
