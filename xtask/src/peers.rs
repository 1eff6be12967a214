//! Installs the programs that the tests talk to: agents, a browser, a database, a terminal, an API tester.
//!
//! All of them are pinned or come from the distribution, and all but the distribution's go to `target/peers`.
//! What is there already is left alone, so the second run takes no time.

mod debian;
mod npm;
mod python;

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use crate::repository::Repository;

/// Installs whatever is missing.
pub(crate) fn install(repository: &Repository) -> anyhow::Result<()> {
    let directory = repository.peers();
    fs::create_dir_all(&directory)
        .with_context(|| format!("failed to create `{}`", directory.display()))?;
    debian::install()?;
    npm::install(&repository.root.join("peers"), &directory)?;
    python::install(&directory)
}

/// Tells whether a program of this name would be found.
pub(crate) fn on_path(program: &str) -> bool {
    env::var_os("PATH").is_some_and(|path| {
        env::split_paths(&path).any(|directory| directory.join(program).is_file())
    })
}

#[expect(
    clippy::print_stdout,
    reason = "progress is for the person at the terminal"
)]
fn say(what: &str) {
    println!("    {what}");
}

/// A file that says what was installed: written last, so a broken installation is made anew.
struct Stamp {
    path: PathBuf,
    wanted: Vec<u8>,
}

impl Stamp {
    fn new(path: &Path, wanted: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            wanted: wanted.to_owned(),
        }
    }

    fn is_current(&self) -> bool {
        fs::read(&self.path).is_ok_and(|found| found == self.wanted)
    }

    fn write(&self) -> anyhow::Result<()> {
        fs::write(&self.path, &self.wanted)
            .with_context(|| format!("failed to write `{}`", self.path.display()))
    }
}

/// Removes what a broken or older installation left.
fn remove(directory: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove `{}`", directory.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_current_only_for_what_was_installed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("installed");
        let stamp = Stamp::new(&path, b"one");

        assert!(!stamp.is_current());
        stamp.write().unwrap();

        assert!(stamp.is_current());
        assert!(!Stamp::new(&path, b"two").is_current());
    }

    #[test]
    fn programs_are_looked_for_where_the_shell_looks() {
        assert!(on_path("sh"));
        assert!(!on_path("no-program-has-this-name"));
    }
}
