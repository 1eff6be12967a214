//! The programs that hand asks in by themselves: whose they are, and which of them are still there.
//!
//! A life ends when its process is seen to be gone, or when nothing was heard of it for [`PATIENCE`]. What is
//! known here is rebuilt from the ledger at the start; every life then has that long to be heard of again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{RunId, WorkspaceId};
use countersign_core::time::Clock;
use countersign_engine::process::{ProcessIdentity, tree};
use countersign_store::{Store, StoreError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::door::Program;
use crate::error::BrokerError;

/// How long a life may be silent.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked which lives are over.
const LOOK: Duration = Duration::from_secs(1);

/// The lives that go on.
#[derive(Clone, Default)]
pub(crate) struct Lives(Arc<Mutex<HashMap<RunId, Life>>>);

struct Life {
    workspace: WorkspaceId,
    program: Program,
    /// The engine's name, which is made of its actor's: only that actor may touch it.
    engine: String,
    process: Option<ProcessIdentity>,
    heard: Instant,
    /// Why it is over, while that is not in the ledger yet: nobody speaks for it any more.
    over: Option<&'static str>,
}

/// A life that somebody spoke for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) workspace: WorkspaceId,
    pub(super) program: Program,
}

/// Whose a local process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// No engine's, as far as can be told.
    Nobodys,
    /// It is a proxy itself, which stands before an agent: it may hand asks in, and nothing else.
    Proxy,
    /// An engine's, or it cannot be placed: it may do nothing here.
    Engines,
}

impl Lives {
    /// Takes up the lives of a workspace that had not ended when the last server did.
    pub(crate) async fn take_up(
        &self,
        store: &Store,
        workspace: WorkspaceId,
    ) -> Result<(), StoreError> {
        for engine in store.engines(workspace).await? {
            let Some(program) = Program::of_engine(&engine.program) else {
                continue;
            };
            for run in store.unended_runs(engine.id).await? {
                let process = run.process.as_deref();
                let process = process.and_then(|text| serde_json::from_str(text).ok());
                let heard = Heard { workspace, program };
                self.begin(run.id, heard, engine.program.clone(), process);
            }
        }
        Ok(())
    }

    pub(super) fn begin(
        &self,
        run: RunId,
        Heard { workspace, program }: Heard,
        engine: String,
        process: Option<ProcessIdentity>,
    ) {
        let life = Life {
            workspace,
            program,
            engine,
            process,
            heard: Instant::now(),
            over: None,
        };
        self.lock().insert(run, life);
    }

    /// Notes that `caller` spoke for `run`, and returns what that is. Nobody else's life exists for it.
    pub(super) fn hear(&self, caller: &Caller, run: RunId) -> Result<Heard, BrokerError> {
        caller.require(Grant::Ask)?;
        let mut lives = self.lock();
        let life = lives
            .get_mut(&run)
            .filter(|life| life.over.is_none())
            .filter(|life| life.engine == life.program.engine_of(caller.actor()))
            .filter(|life| caller.sees(life.workspace))
            .ok_or_else(|| BrokerError::missing("run", run))?;
        life.heard = Instant::now();
        Ok(Heard {
            workspace: life.workspace,
            program: life.program,
        })
    }

    /// Notes which process a life is; says whether that is news.
    pub(super) fn identify(&self, run: RunId, process: ProcessIdentity) -> bool {
        let mut lives = self.lock();
        let before = lives
            .get_mut(&run)
            .map(|life| life.process.replace(process));
        before.is_some_and(|before| before != Some(process))
    }

    /// Hears no more of a life that is over, while its end is written down. Its process is still placed.
    pub(super) fn close(&self, run: RunId, why: &'static str) {
        if let Some(life) = self.lock().get_mut(&run) {
            life.over = Some(why);
        }
    }

    pub(super) fn forget(&self, run: RunId) {
        self.lock().remove(&run);
    }

    /// Whose a process is: what descends from one of these programs is an engine's, and so is who cannot be placed.
    pub(crate) fn place(&self, pid: u32) -> Placed {
        let known: Vec<(Program, ProcessIdentity)> = self
            .lock()
            .values()
            .filter_map(|life| Some((life.program, life.process?)))
            .collect();
        let own = ProcessIdentity::of(pid);
        let mut placed = Placed::Nobodys;
        for (program, process) in known {
            if program == Program::AcpProxy && own == Some(process) {
                placed = Placed::Proxy;
            } else if tree::descends_from(pid, process).unwrap_or(true) {
                return Placed::Engines;
            }
        }
        placed
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

    /// The lives that are over at `now`, and why: they are heard no more.
    fn over(&self, now: Instant) -> Vec<(RunId, WorkspaceId, &'static str)> {
        let why = |life: &Life| {
            if life.over.is_some() {
                life.over
            } else if life.process.is_some_and(|process| !process.is_alive()) {
                Some(life.program.has_ended())
            } else if now.duration_since(life.heard) >= PATIENCE {
                Some(life.program.is_silent())
            } else {
                None
            }
        };
        self.lock()
            .iter_mut()
            .filter_map(|(run, life)| {
                life.over = why(life);
                life.over.map(|why| (*run, life.workspace, why))
            })
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

    use countersign_core::actor::{Actor, ActorKind, Surface};
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
        let workspace = WorkspaceId::generate(NOW);
        let (lives, run) = life_of_a(Program::Opencode, workspace, caller, process);
        (lives, run, workspace)
    }

    fn life_of_a(
        program: Program,
        workspace: WorkspaceId,
        caller: &Caller,
        process: Option<ProcessIdentity>,
    ) -> (Lives, RunId) {
        let (lives, run) = (Lives::default(), RunId::generate(NOW));
        let heard = Heard { workspace, program };
        lives.begin(run, heard, program.engine_of(caller.actor()), process);
        (lives, run)
    }

    #[test]
    fn a_proxy_may_hand_asks_in_and_what_it_started_may_do_nothing() {
        let own = ProcessIdentity::own().unwrap();
        let workspace = WorkspaceId::generate(NOW);
        let caller = agent("acp-proxy", None);
        let (lives, _) = life_of_a(Program::AcpProxy, workspace, &caller, Some(own));
        let mut agent = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(lives.place(own.pid), Placed::Proxy);
        assert_eq!(lives.place(agent.id()), Placed::Engines);
        assert_eq!(
            lives.place(std::os::unix::process::parent_id()),
            Placed::Nobodys
        );
        agent.kill().unwrap();
        agent.wait().unwrap();
        assert_eq!(lives.place(agent.id()), Placed::Engines, "nobody is there");
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
        let laptop = agent("laptop", None);
        let (lives, run, _) = life_of(&laptop, Some(process));
        assert!(lives.over(Instant::now()).is_empty());
        assert_eq!(lives.place(program.id()), Placed::Engines);
        assert_eq!(lives.place(std::process::id()), Placed::Nobodys);
        program.kill().unwrap();
        program.wait().unwrap();
        assert_eq!(lives.over(Instant::now()).len(), 1);
        let late = lives.hear(&laptop, run);
        assert!(matches!(late, Err(BrokerError::Missing { .. })));
        assert_eq!(
            lives.over(Instant::now()).len(),
            1,
            "until its end is written down"
        );
    }

    #[test]
    fn nobody_speaks_for_the_life_of_another() {
        let (lives, run, workspace) = life_of(&agent("laptop", None), None);
        let heard = lives.hear(&agent("laptop", None), run).unwrap();
        assert_eq!(heard.workspace, workspace);
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
