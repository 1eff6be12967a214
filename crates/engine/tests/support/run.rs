//! A run of the keeper with a shell script as its engine, and what it takes to watch it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_engine::keeper::{Attach, Exit, Keeper, KeeperSpec, ReadyRule, Streams};
use countersign_engine::process::{ProcessIdentity, tree};
use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_keeper-for-tests");
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// A run to be: its directories, and an engine that is a shell script.
pub(crate) struct Run {
    pub(crate) home: TempDir,
    pub(crate) spec: KeeperSpec,
}

impl Run {
    pub(crate) fn of(script: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mark = home.path().display().to_string();
        let environment = [
            ("PATH", "/usr/bin:/bin"),
            ("RUN_MARK", &mark),
            ("SECRET", "s3cret"),
        ];
        let spec = KeeperSpec {
            program: PathBuf::from("sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            working_directory: home.path().to_owned(),
            environment: environment
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            kept_variables: BTreeSet::new(),
            mark: Some("RUN_MARK".to_owned()),
            ready: ReadyRule::StdoutLine("listening on".to_owned()),
            streams: Streams::Logged,
            lonely_limit_s: 60,
            grace_ms: 1_000,
        };
        Self { home, spec }
    }

    /// An engine whose streams are held.
    pub(crate) fn held(script: &str) -> Self {
        let mut run = Self::of(script);
        run.spec.ready = ReadyRule::Started;
        run.spec.streams = Streams::held();
        run
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.home.path().join("run")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) async fn start(&self) -> Keeper {
        within(Keeper::spawn(
            Path::new(PROGRAM),
            &self.directory(),
            &self.spec,
        ))
        .await
        .unwrap()
    }

    pub(crate) async fn attach(&self) -> Attach {
        within(Keeper::attach(&self.directory())).await.unwrap()
    }

    pub(crate) async fn attach_live(&self) -> Keeper {
        match self.attach().await {
            Attach::Live(keeper) => keeper,
            other @ (Attach::Gone { .. } | Attach::Orphaned(_)) => {
                panic!("no live keeper: {other:?}")
            }
        }
    }

    pub(crate) async fn attach_gone(&self) -> Exit {
        match self.attach().await {
            Attach::Gone { exit } => exit,
            other @ (Attach::Live(_) | Attach::Orphaned(_)) => panic!("not gone: {other:?}"),
        }
    }

    /// Every live process of this run, wherever it is in the process tree.
    pub(crate) fn processes(&self) -> Vec<ProcessIdentity> {
        tree::started_with("RUN_MARK", &self.home.path().display().to_string()).unwrap()
    }
}

impl Drop for Run {
    /// A test that fails leaves nothing behind either.
    fn drop(&mut self) {
        for process in self.processes() {
            kill(process);
        }
        // The keeper might wait for somebody to hear of it.
        let state = std::fs::read(self.directory().join("state.json")).unwrap_or_default();
        let state: serde_json::Value = serde_json::from_slice(&state).unwrap_or_default();
        let keeper = state.get("keeper").cloned().unwrap_or_default();
        if let Ok(keeper) = serde_json::from_value::<ProcessIdentity>(keeper) {
            kill(keeper);
        }
    }
}

pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future)
        .await
        .expect("it took too long")
}

pub(crate) async fn until(condition: impl Fn() -> bool) {
    within(async {
        let mut look_again = tokio::time::interval(Duration::from_millis(5));
        while !condition() {
            look_again.tick().await;
        }
    })
    .await;
}

pub(crate) async fn exit_of(keeper: &Keeper) -> Exit {
    let mut phase = keeper.phase();
    let phase = within(phase.wait_for(|phase| phase.exit().is_some()))
        .await
        .unwrap();
    phase.exit().unwrap().clone()
}

pub(crate) fn kill(process: ProcessIdentity) {
    if process.is_alive() {
        let killed = std::process::Command::new("kill")
            .args(["-9", &process.pid.to_string()])
            .status();
        drop(killed);
    }
}
