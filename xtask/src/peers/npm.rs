//! The agents that npm installs, as the lock in `peers/` pins them.

use std::{fs, path::Path};

use anyhow::Context as _;

use super::{Stamp, say};
use crate::invocation::Invocation;

/// Installs what the lock in `source` names into `directory`/`node_modules`.
pub(super) fn install(source: &Path, directory: &Path) -> anyhow::Result<()> {
    let lock = source.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("failed to read `{}`", lock.display()))?;
    let stamp = Stamp::new(&directory.join("node_modules/.installed"), &wanted);
    if stamp.is_current() {
        say("npm packages: as locked");
        return Ok(());
    }
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), directory.join(name))
            .with_context(|| format!("failed to copy `peers/{name}`"))?;
    }
    say("npm packages: installing");
    Invocation::new(directory, "npm ci --no-audit --no-fund").run_with_retries()?;
    stamp.write()
}
