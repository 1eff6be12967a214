//! The run directory: private to its user, written atomically, with a socket address that is short however deep it lies.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixListener;

use crate::process;

const SOCKET: &str = "keeper.sock";
const LOCK: &str = "keeper.lock";

/// An open run directory.
#[derive(Debug)]
pub(super) struct RunDirectory {
    path: PathBuf,
    handle: File,
}

impl RunDirectory {
    /// Makes the directory, for its user alone.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
        Self::open(path)
    }

    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let handle = File::open(&path)?;
        Ok(Self { path, handle })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        self.path.join(name).try_exists()
    }

    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<T> {
        let bytes = fs::read(self.path.join(name))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Writes `value` so that a reader, or a machine that went down, has all of it or what was there before.
    pub(super) fn write<T: Serialize>(&self, name: &str, value: &T) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
        let draft = self.path.join(format!(".{name}.draft"));
        self.remove_path(&draft)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&draft, self.path.join(name))?;
        self.handle.sync_all()
    }

    /// Removes a file; one that is not there is no error.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        self.remove_path(&self.path.join(name))
    }

    /// Opens a file for its user alone, empty.
    pub(super) fn start_file(&self, name: &str) -> io::Result<File> {
        let path = self.path.join(name);
        self.remove_path(&path)?;
        OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    }

    /// Takes the directory for this keeper alone, until the returned file is dropped.
    pub(super) fn lock(&self) -> io::Result<File> {
        let path = self.path.join(LOCK);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::AddrInUse, "another keeper is there already")
            }
            fs::TryLockError::Error(error) => error,
        })?;
        Ok(lock)
    }

    /// Listens on the directory's socket. Only the keeper that holds the lock may.
    pub(super) fn listen(&self) -> io::Result<UnixListener> {
        self.remove(SOCKET)?;
        let address = self.socket();
        let listener = UnixListener::bind(&address)?;
        fs::set_permissions(&address, Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    pub(super) fn stop_listening(&self, listener: UnixListener) -> io::Result<()> {
        drop(listener);
        self.remove(SOCKET)
    }

    /// Returns the socket's address, good while this directory is open.
    pub(super) fn socket(&self) -> PathBuf {
        process::short_path(self.handle.as_fd(), &self.path, SOCKET)
    }

    #[expect(clippy::unused_self, reason = "only for files of this directory")]
    fn remove_path(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_directory_and_what_is_written_in_it_are_for_its_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&parent.path().join("run")).unwrap();
        directory.write("state.json", &["first"]).unwrap();
        directory.write("state.json", &["second"]).unwrap();
        assert_eq!(mode(directory.path()), 0o700);
        assert_eq!(mode(&directory.path().join("state.json")), 0o600);
        assert_eq!(
            directory.read::<Vec<String>>("state.json").unwrap(),
            ["second"]
        );
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "no draft is left"
        );
    }

    #[test]
    fn one_keeper_at_a_time_has_the_directory() {
        let parent = tempfile::tempdir().unwrap();
        let directory = RunDirectory::open(parent.path()).unwrap();
        let lock = directory.lock().unwrap();
        assert_eq!(
            directory.lock().unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        drop(lock);
        directory.lock().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_directory_deeper_than_a_socket_address_is_long_can_be_listened_in() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("d".repeat(120)).join("e".repeat(120));
        let directory = RunDirectory::create(&deep).unwrap();
        let listener = directory.listen().unwrap();
        assert_eq!(mode(&deep.join(SOCKET)), 0o600);
        tokio::net::UnixStream::connect(directory.socket())
            .await
            .unwrap();
        directory.stop_listening(listener).unwrap();
        assert!(!directory.has(SOCKET).unwrap());
    }
}
