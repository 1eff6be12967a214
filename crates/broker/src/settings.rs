//! What the application is told at its start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use countersign_engine::acp::agents::AgentEntry;
use countersign_engine::opencode::Endpoint;
use countersign_notify::{PushSettings, Target};

/// What the application is told at its start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The data directory: run directories of engines are below it.
    pub data_directory: PathBuf,
    /// Our own program: it is also the keeper.
    pub own_program: PathBuf,
    /// The person at this machine.
    pub owner_name: String,
    /// The workspaces, each as its resolved path and its name.
    pub workspaces: Vec<(String, String)>,
    /// Which engine the workspaces have.
    pub engine: EngineChoice,
    /// ACP agents of the configuration: more of them, or changes of the known ones.
    pub agents: Vec<AgentEntry>,
    /// What happens when somebody answers past the ledger.
    pub foreign_answer: ForeignAnswer,
    /// Tools of opencode's that may act without an ask: what a person put there themselves and trusts.
    pub unasked_tools: Vec<String>,
    /// How long an ask stays open; for ever if nothing is said.
    pub ask_expiry: Option<Duration>,
    /// For how many seconds an engine goes on without a server.
    pub lonely_limit_s: u64,
    /// How many jobs are run at once.
    pub job_caps: JobCaps,
    /// Whom to tell of what happens.
    pub notify: Vec<Target>,
    /// How workspaces and their files can be changed.
    pub changes: ChangeSettings,
    /// How paired browsers are told.
    pub push: PushSettings,
}

/// How workspaces and their files can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeSettings {
    /// The home of the user: what counts for every workspace is there.
    pub home: PathBuf,
    /// Who has to be asked before files are written.
    pub writes: WriteMode,
    /// Who says which workspaces there are.
    pub workspaces: WorkspaceList,
}

/// Who has to be asked before the files of a workspace are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteMode {
    /// Somebody else, always.
    #[default]
    Ask,
    /// Nobody, if whoever writes may approve writes as well: for one person who does both.
    Auto,
    /// Nothing is written.
    ReadOnly,
}

/// Who says which workspaces there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceList {
    /// Whoever administers this server.
    #[default]
    Ours,
    /// Another surface, which has a list of its own.
    Elsewhere,
}

/// How many jobs are run at once; the others wait in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobCaps {
    /// In one workspace.
    pub per_workspace: u32,
    /// With one engine, in all workspaces.
    pub per_engine: u32,
}

impl Default for JobCaps {
    fn default() -> Self {
        Self {
            per_workspace: 4,
            per_engine: 8,
        }
    }
}

/// Which engine a workspace has.
#[derive(Debug, Clone)]
pub enum EngineChoice {
    /// None: asks come in by other doors.
    None,
    /// An opencode that we start and keep.
    Start {
        /// The program; looked for on the `PATH` if nothing is said.
        program: Option<PathBuf>,
        /// Names of more variables that it may inherit.
        inherit: Vec<String>,
    },
    /// An opencode that we start and keep, from the moment at which somebody needs it.
    StartWhenCalled {
        /// The program; looked for on the `PATH` if nothing is said.
        program: Option<PathBuf>,
        /// Names of more variables that it may inherit.
        inherit: Vec<String>,
    },
    /// An opencode that somebody else runs.
    Attach(Endpoint),
    /// Opencodes that somebody else runs, by the paths of their workspaces. Each is left alone until it is called for
    /// the first time (`Broker::call_engine`).
    AttachWhenCalled(BTreeMap<String, Endpoint>),
}

/// What happens when somebody answers an engine of ours past the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignAnswer {
    /// The alarm is raised and the session is stopped.
    Abort,
    /// The alarm is raised.
    Alarm,
}
