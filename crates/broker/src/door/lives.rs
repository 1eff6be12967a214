//! The programs that hand asks in by themselves: whose they are, and which of them are still there.
//!
//! A life ends when its process is seen to be gone, or when nothing was heard of it for [`PATIENCE`]. What is
//! known here is rebuilt from the ledger at the start; every life then has that long to be heard of again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::actor::Actor;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{RunId, WorkspaceId};
use countersign_core::time::Clock;
use countersign_engine::process::{ProcessIdentity, tree};
use countersign_store::{Store, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::BrokerError;

/// How long a life may be silent.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked which lives are over.
const LOOK: Duration = Duration::from_secs(1);
/// What the names of such engines begin with; the name of the actor follows.
const PROGRAM: &str = "opencode plugin of ";

/// The lives that go on.
#[derive(Clone, Default)]
pub(crate) struct Lives(Arc<Mutex<HashMap<RunId, Life>>>);

struct Life {
    workspace: WorkspaceId,
    /// The engine's name, which is made of its actor's: only that actor may touch it.
    program: String,
    process: Option<ProcessIdentity>,
    heard: Instant,
}

/// The name of the engine whose asks `actor` hands in. Agents are told apart by their names.
pub(super) fn program_of(actor: &Actor) -> String {
    format!("{PROGRAM}{}", actor.name)
}

impl Lives {
    /// Takes up the lives of a workspace that had not ended when the last server did.
    pub(crate) async fn take_up(
        &self,
        store: &Store,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        for engine in store.engines(workspace).await? {
            if !engine.program.starts_with(PROGRAM) {
                continue;
            }
            for run in store.unended_runs(engine.id).await? {
                self.begin(run.id, workspace, engine.program.clone(), None);
            }
        }
        Ok(())
    }

    pub(super) fn begin(
        &self,
        run: RunId,
        workspace: WorkspaceId,
        program: String,
        process: Option<ProcessIdentity>,
    ) {
        let life = Life {
            workspace,
            program,
            process,
            heard: Instant::now(),
        };
        self.lock().insert(run, life);
    }

    /// Notes that `caller` spoke for `run`, and returns its workspace. Nobody else's life exists for it.
    pub(super) fn hear(&self, caller: &Caller, run: RunId) -> Result<WorkspaceId, BrokerError> {
        caller.require(Grant::Ask)?;
        let mut lives = self.lock();
        let life = lives
            .get_mut(&run)
            .filter(|life| life.program == program_of(caller.actor()))
            .filter(|life| caller.sees(life.workspace))
            .ok_or_else(|| BrokerError::missing("run", run))?;
        life.heard = Instant::now();
        Ok(life.workspace)
    }

    /// Notes which process a life is.
    pub(super) fn identify(&self, run: RunId, process: ProcessIdentity) {
        if let Some(life) = self.lock().get_mut(&run) {
            life.process = Some(process);
        }
    }

    pub(super) fn forget(&self, run: RunId) {
        self.lock().remove(&run);
    }

    /// Whether a process descends from one of these programs. Who cannot be placed is not let through.
    pub(crate) fn own_process(&self, pid: u32) -> bool {
        let processes: Vec<ProcessIdentity> = self
            .lock()
            .values()
            .filter_map(|life| life.process)
            .collect();
        processes
            .into_iter()
            .any(|process| tree::descends_from(pid, process).unwrap_or(true))
    }

    /// Ends lives that are over until `ending`.
    pub(crate) async fn watch(self, store: Store, clock: Clock, ending: CancellationToken) {
        loop {
            tokio::select! {
                () = ending.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            for (run, workspace, why) in self.over(Instant::now()) {
                match store.end_run(workspace, run, why, clock.now()).await {
                    Ok(_) => self.forget(run),
                    Err(error) => tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the end of a run was not noted"
                    ),
                }
            }
        }
    }

    /// The lives that are over at `now`, and why.
    fn over(&self, now: Instant) -> Vec<(RunId, WorkspaceId, &'static str)> {
        let why = |life: &Life| {
            if life.process.is_some_and(|process| !process.is_alive()) {
                Some("the opencode that handed asks in has ended")
            } else if now.duration_since(life.heard) >= PATIENCE {
                Some("nothing was heard of the opencode that handed asks in")
            } else {
                None
            }
        };
        self.lock()
            .iter()
            .filter_map(|(run, life)| why(life).map(|why| (*run, life.workspace, why)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Life>> {
        // No step of a change can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use countersign_core::actor::{ActorKind, Surface};
    use countersign_core::grant::Role;
    use countersign_core::id::ActorId;
    use countersign_core::time::Timestamp;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(0);

    fn agent(name: &str, workspace: Option<WorkspaceId>) -> Caller {
        let actor = Actor {
            id: ActorId::generate(NOW),
            kind: ActorKind::Agent,
            name: name.to_owned(),
        };
        Caller::new(actor, Role::Agent.grants(), workspace, Surface::Api)
    }

    fn life_of(caller: &Caller, process: Option<ProcessIdentity>) -> (Lives, RunId, WorkspaceId) {
        let lives = Lives::default();
        let (run, workspace) = (RunId::generate(NOW), WorkspaceId::generate(NOW));
        lives.begin(run, workspace, program_of(caller.actor()), process);
        (lives, run, workspace)
    }

    #[test]
    fn a_life_that_is_silent_for_too_long_is_over() {
        let (lives, run, workspace) = life_of(&agent("laptop", None), None);
        let begun = Instant::now();
        assert!(lives.over(begun + PATIENCE / 2).is_empty());
        let over = lives.over(begun + PATIENCE);
        assert_eq!(over.len(), 1);
        assert_eq!((over[0].0, over[0].1), (run, workspace));
    }

    #[test]
    fn a_life_is_over_as_soon_as_its_process_is() {
        let mut program = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = ProcessIdentity::of(program.id()).unwrap();
        let (lives, ..) = life_of(&agent("laptop", None), Some(process));
        assert!(lives.over(Instant::now()).is_empty());
        assert!(lives.own_process(program.id()));
        assert!(!lives.own_process(std::process::id()));
        program.kill().unwrap();
        program.wait().unwrap();
        assert_eq!(lives.over(Instant::now()).len(), 1);
    }

    #[test]
    fn nobody_speaks_for_the_life_of_another() {
        let (lives, run, workspace) = life_of(&agent("laptop", None), None);
        assert_eq!(lives.hear(&agent("laptop", None), run).unwrap(), workspace);
        let elsewhere = Some(WorkspaceId::generate(NOW));
        for other in [agent("desktop", None), agent("laptop", elsewhere)] {
            let heard = lives.hear(&other, run);
            assert!(matches!(heard, Err(BrokerError::Missing { .. })));
        }
        let person = Actor {
            kind: ActorKind::Person,
            ..agent("laptop", None).actor().clone()
        };
        let owner = Caller::new(person, Role::Owner.grants(), None, Surface::Cli);
        let heard = lives.hear(&owner, run);
        assert!(matches!(heard, Err(BrokerError::Forbidden(_))));
    }
}
