//! The distribution's programs: installed by us as root on Debian, by the person elsewhere.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::bail;

use super::{on_path, say};
use crate::invocation::Invocation;

/// A package, and how to tell that what it brings is there, whoever installed it.
struct Package {
    name: &'static str,
    is_present: fn() -> bool,
}

const PACKAGES: [Package; 5] = [
    Package {
        name: "chromium",
        is_present: || on_path("chromium"),
    },
    Package {
        name: "openssl",
        is_present: || on_path("openssl"),
    },
    Package {
        name: "postgresql",
        is_present: has_postgresql,
    },
    Package {
        name: "tmux",
        is_present: || on_path("tmux"),
    },
    Package {
        name: "python3-venv",
        is_present: || can_install_packages("python3"),
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

/// Whether a Python is there that can install what the tests need of it, in either way.
fn can_install_packages(python: &str) -> bool {
    ["import ensurepip, venv", "import pip"]
        .iter()
        .any(|modules| {
            let tried = Command::new(python)
                .args(["-c", modules])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .status();
            tried.is_ok_and(|status| status.success())
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_that_is_missing_or_cannot_install_packages_is_asked_for() {
        assert!(!can_install_packages("no-program-has-this-name"));
        assert!(!can_install_packages("false"));
        assert!(can_install_packages("true"));
        let names = PACKAGES.map(|package| package.name);
        assert!(names.contains(&"python3-venv"), "{names:?}");
    }
}
