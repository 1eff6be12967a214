//! Agents that outlived the last server: taken up where it left them, or ended.

use countersign_core::session::{Session, Workspace};
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::Shape;
use countersign_store::{Engine, Run, StoreError};

use crate::acp::driver::Driver;
use crate::acp::noise::Noises;
use crate::acp::wire::Incoming;
use crate::acp::{Agents, Lifetime, failed, lock};
use crate::kept::{end_wholly, find_keeper, run_directory, stop};

impl Agents {
    /// Takes up what goes on in a workspace. When this returns every keeper that outlived the last server is known,
    /// so that no agent is taken for a person.
    pub(crate) async fn adopt(&self, workspace: &Workspace) -> Result<(), StoreError> {
        lock(&self.0.workspaces).insert(workspace.id, workspace.clone());
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
        let told = match &session {
            Some(session) => shared.store.settings(session.id).await?,
            None => None,
        };
        let why = match find_keeper(&directory, run.id).await {
            Ok(keeper) => {
                self.note_keeper(keeper.identity());
                let streams = keeper.streams(run.taken).await;
                match (session.clone(), streams) {
                    (Some(session), Ok(streams)) => {
                        let end = streams.end;
                        let (incoming, input) = Incoming::new(streams, run.taken);
                        let taken = run.taken;
                        // One that has never said it is not known to take anything.
                        let takes = shared.store.takes(session.id).await?.unwrap_or_default();
                        let life = Lifetime {
                            shape: if run.protocol == 2 {
                                Shape::Two
                            } else {
                                Shape::One
                            },
                            noise: Noises::default(),
                            tells_history: false,
                            workspace: workspace.clone(),
                            agent: self.agent(&engine.program),
                            run,
                            keeper,
                            directory,
                            incoming,
                            input,
                            takes,
                            told: told.unwrap_or_default(),
                        };
                        let driver = Driver::new(self.clone(), session, life, taken);
                        self.converse(driver.replays_until(end));
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
            Err(why) => why,
        };
        self.end_run(workspace.id, &run, &directory, &why).await?;
        if let Some(session) = session {
            let reason = format!("the agent ended while no server was there: {why}");
            self.end_turns(&session, &failed(reason)).await?;
            let now = shared.clock.now();
            shared
                .store
                .close_tools(workspace.id, session.id, now)
                .await?;
        }
        Ok(())
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
    end_wholly(&life.keeper, &life.directory).await;
    agents
        .end_run(life.workspace.id, &life.run, &life.directory, why)
        .await
}

/// Opencode has its own supervisor, and what hands asks in by itself has its own watch; both have a space or a
/// name that no agent can have.
fn is_agent(engine: &Engine) -> bool {
    engine.program != Session::OPENCODE && !engine.program.contains(' ')
}
