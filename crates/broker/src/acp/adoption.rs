//! Agents that outlived the last server: taken up where it left them, or ended.

use countersign_core::session::{Session, Workspace};
use countersign_engine::acp::agents::Agent;
use countersign_engine::keeper::{Attach, Keeper};
use countersign_store::{Engine, Run, StoreError};
use tokio::sync::mpsc;

use crate::acp::driver::Driver;
use crate::acp::wire::Incoming;
use crate::acp::{Agents, Lifetime, ORDERS, failed, lock};
use crate::kept::{GRACE, describe, end_what_is_left, run_directory, stop};

impl Agents {
    /// Takes up what goes on in a workspace. When this returns every keeper that outlived the last server is known,
    /// so that no agent is taken for a person.
    pub(crate) async fn adopt(&self, workspace: &Workspace) -> Result<(), StoreError> {
        let store = &self.shared().store;
        for engine in store.engines(workspace.id).await? {
            if !is_agent(&engine) {
                continue;
            }
            for run in store.unended_runs(engine.id).await? {
                self.adopt_run(workspace, &engine, run).await?;
            }
            let waiting = store
                .sessions_with_open_turns(workspace.id, &engine.program)
                .await?;
            for session in waiting {
                self.attend(&session);
            }
        }
        Ok(())
    }

    async fn adopt_run(
        &self,
        workspace: &Workspace,
        engine: &Engine,
        run: Run,
    ) -> Result<(), StoreError> {
        let shared = self.shared();
        let directory = run_directory(&shared.settings.data_directory, run.id);
        let session = shared.store.session_of_run(run.id).await?;
        let why = match Keeper::attach(&directory).await {
            Ok(Attach::Live(keeper)) => {
                self.note_keeper(keeper.identity());
                let streams = keeper.streams(run.taken).await;
                match (session.clone(), streams) {
                    (Some(session), Ok(streams)) => {
                        let end = streams.end;
                        let (incoming, input) = Incoming::new(streams, run.taken);
                        let taken = run.taken;
                        let life = Lifetime {
                            workspace: workspace.clone(),
                            agent: self.agent(&engine.program),
                            run,
                            keeper,
                            directory,
                            incoming,
                            input,
                        };
                        self.go_on(session, life, taken, end);
                        return Ok(());
                    }
                    (_, Err(error)) => {
                        stop(&keeper).await;
                        format!("its streams could not be taken up: {error}")
                    }
                    (None, Ok(_)) => {
                        stop(&keeper).await;
                        "its session was never opened".to_owned()
                    }
                }
            }
            Ok(Attach::Gone { exit }) => describe(&exit),
            Ok(Attach::Orphaned(orphan)) => {
                if let Err(error) = orphan.end(GRACE).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "an agent's processes were not ended"
                    );
                }
                "its keeper was killed".to_owned()
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "no keeper for `{}`",
                    run.id
                );
                "its keeper is gone".to_owned()
            }
        };
        self.end_run(workspace.id, &run, &directory, &why).await?;
        if let Some(session) = session {
            let reason = format!("the agent ended while no server was there: {why}");
            self.end_turns(&session, &failed(reason)).await?;
        }
        Ok(())
    }

    fn go_on(&self, session: Session, life: Lifetime, taken: u64, end: u64) {
        let (orders, ordered) = mpsc::channel(ORDERS);
        lock(&self.0.conversations).insert(session.id, orders);
        let driver = Driver::new(self.clone(), session, life, taken).replays_until(end);
        self.shared().tasks.spawn(driver.attend(ordered));
    }

    /// The agent called `name`; one that is not configured any more is only known by it.
    fn agent(&self, name: &str) -> Agent {
        let known = self.0.roster.get(name).cloned();
        known.unwrap_or_else(|| Agent {
            name: name.to_owned(),
            title: name.to_owned(),
            ..Agent::default()
        })
    }
}

/// Ends a life that nobody will speak with.
pub(super) async fn put_away(
    agents: &Agents,
    life: &Lifetime,
    why: &str,
) -> Result<(), StoreError> {
    stop(&life.keeper).await;
    end_what_is_left(&life.directory).await;
    agents
        .end_run(life.workspace.id, &life.run, &life.directory, why)
        .await
}

/// Opencode has its own supervisor, and what hands asks in by itself has its own watch; both have a space or a
/// name that no agent can have.
fn is_agent(engine: &Engine) -> bool {
    engine.program != Session::OPENCODE && !engine.program.contains(' ')
}
