//! Cargo's extensions that the checks use.
//!
//! One that the machine has is taken as it is; otherwise the pinned version is compiled into `target/tools`.

use std::path::PathBuf;

use crate::{invocation::Invocation, peers::on_path, repository::Repository, step::Step};

/// A `cargo something`.
pub(crate) struct Tool {
    /// The `something`.
    subcommand: &'static str,
    package: &'static str,
    version: &'static str,
}

/// Checks licences, bans and sources of dependencies.
pub(crate) const DENY: Tool = Tool {
    subcommand: "deny",
    package: "cargo-deny",
    version: "0.20.2",
};

/// Runs the tests.
pub(crate) const NEXTEST: Tool = Tool {
    subcommand: "nextest",
    package: "cargo-nextest",
    version: "0.9.143",
};

impl Tool {
    /// The step that installs the tool, if it is missing.
    pub(crate) fn installation(&self, repository: &Repository) -> Option<Step> {
        if on_path(self.package) || self.installed(repository).is_file() {
            return None;
        }
        // A debug build of a tool runs fast enough here, and compiles in a third of the time.
        let line = format!(
            "cargo install --debug --locked {}@{} --root",
            self.package, self.version
        );
        let install = Invocation::new(&repository.root, &line).argument(repository.tools());
        let repeat = install.to_string();
        Some(Step::work(self.package, &repeat, move || {
            install.run_with_retries()
        }))
    }

    /// The command `cargo <subcommand> <arguments>`.
    pub(crate) fn invocation(&self, repository: &Repository, arguments: &str) -> Invocation {
        let invocation = Invocation::new(
            &repository.root,
            &format!("cargo {} {arguments}", self.subcommand),
        );
        if on_path(self.package) {
            invocation
        } else {
            invocation.program(&self.installed(repository))
        }
    }

    fn installed(&self, repository: &Repository) -> PathBuf {
        repository.tools().join("bin").join(self.package)
    }
}
