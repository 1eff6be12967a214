//! Schemathesis, which tries the API against its own description.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::Context as _;

use super::{Stamp, remove, say};
use crate::invocation::Invocation;

const REQUIREMENT: &str = "schemathesis==4.32.5";

/// Installs `directory`/venv/bin/schemathesis.
pub(super) fn install(directory: &Path) -> anyhow::Result<()> {
    let environment = directory.join("venv");
    let stamp = Stamp::new(&environment.join("installed"), REQUIREMENT.as_bytes());
    if stamp.is_current() {
        say(&format!("{REQUIREMENT}: installed"));
        return Ok(());
    }
    say(&format!("{REQUIREMENT}: installing"));
    remove(&environment)?;
    if let Err(error) = into_environment(directory, &environment) {
        say(&format!(
            "no virtual environment ({error:#}): trying a plain directory"
        ));
        remove(&environment)?;
        into_directory(directory, &environment).context(
            "install Python 3.10 or newer with `venv` or `pip` (Debian: `apt-get install python3-venv`)",
        )?;
    }
    stamp.write()
}

/// The usual way.
fn into_environment(directory: &Path, environment: &Path) -> anyhow::Result<()> {
    Invocation::new(directory, "python3 -m venv")
        .argument(environment)
        .run()?;
    Invocation::new(
        directory,
        "python -m pip install --quiet --disable-pip-version-check",
    )
    .program(&environment.join("bin/python"))
    .argument(REQUIREMENT)
    .run_with_retries()
}

/// For a Python without `venv`: a plain directory, and a program of the same name that knows it.
fn into_directory(directory: &Path, environment: &Path) -> anyhow::Result<()> {
    let packages = environment.join("packages");
    Invocation::new(
        directory,
        "python3 -m pip install --quiet --disable-pip-version-check --target",
    )
    .argument(&packages)
    .argument(REQUIREMENT)
    .run_with_retries()?;
    let program = environment.join("bin/schemathesis");
    fs::create_dir_all(environment.join("bin"))?;
    fs::write(&program, launcher(&packages))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn launcher(packages: &Path) -> String {
    let packages = packages.display();
    format!(
        "#!/bin/sh\nPYTHONPATH='{packages}' exec python3 '{packages}/bin/schemathesis' \"$@\"\n"
    )
}
