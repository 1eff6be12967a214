//! A terminal that a test looks at and types into: tmux, without a person's configuration.

use std::path::PathBuf;
use std::process::Command;

use countersign_testkit::process::Launch;
use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{Program, eventually};
use tempfile::TempDir;

/// A terminal with a program in it. Dropping it ends both.
pub(crate) struct Terminal {
    socket: PathBuf,
    _directory: TempDir,
    _tmux: Program,
}

impl Terminal {
    /// Opens a terminal in `directory`, with this environment, and starts `program` in it.
    pub(crate) fn open(
        program: &std::path::Path,
        directory: &std::path::Path,
        environment: &[(String, String)],
    ) -> Self {
        let place = tempfile::tempdir().expect("a temporary directory can be made");
        let socket = place.path().join("tmux");
        let tmux = Launch::new("tmux", place.path().join("tmux.log"))
            .inherit(&["PATH"])
            .variables(environment.iter().map(|(name, value)| (name, value)))
            .variable("LANG", "C.UTF-8")
            .variable("TERM", "xterm-256color")
            .directory(directory)
            .arguments(["-f", "/dev/null", "-S"])
            .arguments([&socket])
            .arguments(["new-session", "-d", "-x", "120", "-y", "40"])
            .arguments([program])
            .start()
            .expect("tmux is installed");
        Self {
            socket,
            _directory: place,
            _tmux: tmux,
        }
    }

    /// Returns what is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until `text` is on the screen.
    pub(crate) async fn shows(&self, text: &str) {
        self.waits_for(&format!("the screen shows `{text}`"), |screen| {
            screen.contains(text)
        })
        .await;
    }

    /// Waits until `text` is no longer on the screen.
    pub(crate) async fn shows_no_more(&self, text: &str) {
        self.waits_for(&format!("`{text}` leaves the screen"), |screen| {
            !screen.contains(text)
        })
        .await;
    }

    /// Types `text`, waits until it is there, and confirms it.
    pub(crate) async fn says(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.shows(text).await;
        self.presses("Enter");
    }

    /// Presses a key.
    pub(crate) fn presses(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    async fn waits_for(&self, description: &str, wanted: impl Fn(&str) -> bool) {
        eventually(PATIENCE, description, async || {
            wanted(&self.screen()).then_some(())
        })
        .await;
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .output()
            .expect("tmux is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
