//! The agents that npm installs, as the lock in `peers/` pins them.
//!
//! Their native parts are optional packages, one per platform. The ones for Linux on x64 are dependencies of their own
//! in `peers/package.json`, so that all other optional packages can be left out: two thirds of the packages, among them
//! those that would be compiled here.

use std::{fs, path::Path};

use anyhow::Context as _;

use super::{Stamp, say};
use crate::invocation::Invocation;

/// No package needs its scripts: what they would fetch is a package itself. Peers of packages are there for their types.
const INSTALL: &str = "npm ci --omit=optional --omit=peer --ignore-scripts --no-audit --no-fund";

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
    Invocation::new(directory, INSTALL).run_with_retries()?;
    stamp.write()
}
