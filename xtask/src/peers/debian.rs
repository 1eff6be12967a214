//! The distribution's programs: installed by us as root on Debian, by the person elsewhere.

use std::{fs, path::Path};

use anyhow::bail;

use super::{on_path, say};
use crate::invocation::Invocation;

/// A package, and how to tell that what it brings is there, whoever installed it.
struct Package {
    name: &'static str,
    is_present: fn() -> bool,
}

const PACKAGES: [Package; 3] = [
    Package {
        name: "chromium",
        is_present: || on_path("chromium"),
    },
    Package {
        name: "postgresql",
        is_present: has_postgresql,
    },
    Package {
        name: "tmux",
        is_present: || on_path("tmux"),
    },
];

/// Installs the packages that are missing.
pub(super) fn install() -> anyhow::Result<()> {
    let missing: Vec<&str> = PACKAGES
        .iter()
        .filter(|package| !(package.is_present)())
        .map(|package| package.name)
        .collect();
    if missing.is_empty() {
        say("distribution's packages: installed");
        return Ok(());
    }
    let names = missing.join(" ");
    if !(on_path("apt-get") && rustix::process::geteuid().is_root()) {
        bail!(
            "the tests need {}; on Debian: sudo apt-get install {names}",
            missing.join(", ")
        );
    }
    say(&format!("distribution's packages: installing {names}"));
    apt_get("update").run_with_retries()?;
    apt_get(&format!("install --yes --no-install-recommends {names}")).run_with_retries()
}

fn apt_get(arguments: &str) -> Invocation {
    Invocation::new(Path::new("/"), &format!("apt-get {arguments}"))
        .variable("DEBIAN_FRONTEND", "noninteractive")
}

/// Debian keeps the server's programs out of the search path.
fn has_postgresql() -> bool {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    on_path("postgres")
        || versions
            .into_iter()
            .any(|version| version.path().join("bin/postgres").is_file())
}
