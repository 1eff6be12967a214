//! What comes from `PyPI`: Schemathesis, which tries the API against its own description, and Synapse, the homeserver that
//! the Matrix bridge is tried on. Each has an environment of its own.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::Context as _;

use super::{Stamp, remove, say};
use crate::invocation::Invocation;

/// A package and what is called of it.
struct Requirement {
    /// The package, pinned.
    package: &'static str,
    /// Where it goes.
    environment: &'static str,
    /// What is called: `bin/<this>` of the environment.
    program: &'static str,
}

const REQUIREMENTS: [Requirement; 2] = [
    Requirement {
        package: "schemathesis==4.32.5",
        environment: "venv",
        program: "schemathesis",
    },
    Requirement {
        package: "matrix-synapse==1.163.2",
        environment: "synapse",
        program: "synapse_homeserver",
    },
];

/// Installs `venv/bin/schemathesis` and `synapse/bin/synapse_homeserver` in `directory`.
pub(super) fn install(directory: &Path) -> anyhow::Result<()> {
    REQUIREMENTS
        .iter()
        .try_for_each(|requirement| requirement.install(directory))
}

impl Requirement {
    fn install(&self, directory: &Path) -> anyhow::Result<()> {
        let package = self.package;
        let environment = directory.join(self.environment);
        let stamp = Stamp::new(&environment.join("installed"), package.as_bytes());
        if stamp.is_current() {
            say(&format!("{package}: installed"));
            return Ok(());
        }
        say(&format!("{package}: installing"));
        remove(&environment)?;
        if let Err(error) = self.install_in_environment(directory, &environment) {
            say(&format!(
                "no virtual environment ({error:#}): trying a plain directory"
            ));
            remove(&environment)?;
            self.install_in_directory(directory, &environment).context(
            "install Python 3.10 or newer with `venv` or `pip` (Debian: `apt-get install python3-venv`)",
        )?;
        }
        stamp.write()
    }

    /// The usual way.
    fn install_in_environment(&self, directory: &Path, environment: &Path) -> anyhow::Result<()> {
        Invocation::new(directory, "python3 -m venv")
            .argument(environment)
            .run()?;
        Invocation::new(
            directory,
            "python -m pip install --quiet --disable-pip-version-check",
        )
        .program(&environment.join("bin/python"))
        .argument(self.package)
        .run_with_retries()
    }

    /// For a Python without `venv`: a plain directory, and a program of the same name that knows it.
    fn install_in_directory(&self, directory: &Path, environment: &Path) -> anyhow::Result<()> {
        let packages = environment.join("packages");
        Invocation::new(
            directory,
            "python3 -m pip install --quiet --disable-pip-version-check --target",
        )
        .argument(&packages)
        .argument(self.package)
        .run_with_retries()?;
        let program = environment.join("bin").join(self.program);
        fs::create_dir_all(environment.join("bin"))?;
        fs::write(&program, self.launcher(&packages))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    fn launcher(&self, packages: &Path) -> String {
        let (packages, program) = (packages.display(), self.program);
        format!(
            "#!/bin/sh\nPYTHONPATH='{packages}' exec python3 '{packages}/bin/{program}' \"$@\"\n"
        )
    }
}
