//! Whether a folder's review gate is on: a small file in the data directory, for every entry point the same.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use anyhow::Context as _;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

const FILE: &str = "review-gate.json";
const LOCK: &str = "review-gate.lock";
const DRAFT: &str = ".review-gate.json.draft";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Gates {
    /// The folders whose gate is on.
    workspaces: BTreeSet<String>,
}

/// Whether the gate of the workspace at `root` is on. What cannot be read is off: a gate holds nobody up by mistake.
pub(crate) fn is_on(data: Option<&Path>, root: &str) -> bool {
    data.and_then(|data| read(data).ok())
        .is_some_and(|gates| gates.workspaces.contains(root))
}

/// Turns the gate of the workspace at `root` on or off.
pub(super) fn set(data: &Path, root: &str, on: bool) -> anyhow::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .with_context(|| format!("failed to make {}", data.display()))?;
    let lock = private().open(data.join(LOCK));
    let lock = lock.context("failed to open the lock of the review gate")?;
    // Held for as long as a small file takes to be written.
    flock(&lock, FlockOperation::LockExclusive).context("failed to lock the review gate")?;
    let mut gates = read(data).context("failed to read the review gate")?;
    if on {
        gates.workspaces.insert(root.to_owned());
    } else {
        gates.workspaces.remove(root);
    }
    write(data, &gates).context("failed to write the review gate")
}

fn private() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
}

fn read(data: &Path) -> io::Result<Gates> {
    match std::fs::read(data.join(FILE)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Gates::default()),
        Err(error) => Err(error),
    }
}

fn write(data: &Path, gates: &Gates) -> io::Result<()> {
    let draft = data.join(DRAFT);
    let mut file = private().open(&draft)?;
    file.write_all(&serde_json::to_vec_pretty(gates)?)?;
    file.sync_all()?;
    std::fs::rename(draft, data.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_turned_on_and_off_for_one_folder() {
        let data = tempfile::tempdir().unwrap();
        let on = |root| is_on(Some(data.path()), root);
        assert!(!on("/a"));
        set(data.path(), "/a", true).unwrap();
        set(data.path(), "/b", true).unwrap();
        set(data.path(), "/b", false).unwrap();
        assert!(on("/a") && !on("/b"));
        std::fs::write(data.path().join(FILE), "{").unwrap();
        assert!(!on("/a"));
        assert!(set(data.path(), "/a", false).is_err());
        assert!(!is_on(None, "/a"));
    }
}
