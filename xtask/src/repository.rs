//! Where things are in the repository.

use std::{env, path::PathBuf};

/// The paths that the commands work with.
pub(crate) struct Repository {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Cargo's target directory, which also holds what the commands install.
    pub(crate) target: PathBuf,
}

impl Repository {
    /// The repository that this program was built in.
    pub(crate) fn here() -> Self {
        let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        root.pop();
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |directory| root.join(directory));
        Self { root, target }
    }

    /// The web app's sources.
    pub(crate) fn web(&self) -> PathBuf {
        self.root.join("web")
    }

    /// Where the programs are installed that the tests talk to.
    pub(crate) fn peers(&self) -> PathBuf {
        self.target.join("peers")
    }

    /// Where cargo's own extensions are installed if the machine has none.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// The program, as `cargo build` leaves it.
    pub(crate) fn binary(&self) -> PathBuf {
        self.target.join("debug/countersign")
    }
}
