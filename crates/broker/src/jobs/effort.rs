//! How hard a job's model is to think, told to engines that can be told.

use countersign_core::id::SessionId;
use countersign_core::job::{Access, FailureCode, Job, JobFailure};
use countersign_core::session::Session;
use countersign_core::settings::{SettingName, SettingValue};
use countersign_store::StoreError;

use crate::Broker;
use crate::error::BrokerError;

/// The agent of opencode's that only looks and plans.
const PLAN: &str = "plan";

impl Broker {
    /// Has the engine think as hard as a job says, if it can be told; that it cannot is in the job's log. What it offers
    /// something else for is a failure: nobody is there to choose.
    pub(super) async fn set_effort(
        &self,
        job: &Job,
        session: SessionId,
    ) -> Result<Result<(), JobFailure>, BrokerError> {
        let Some(effort) = job.effort.as_deref() else {
            return Ok(Ok(()));
        };
        if job.engine == Session::OPENCODE {
            return self.check_variant(job, effort).await;
        }
        let told = self.store.settings(session).await?.unwrap_or_default();
        let Some(option) = told.effort() else {
            let text = format!(
                "{} offers no way to be told how hard to think: `{effort}` is not set, it goes by its own configuration",
                job.engine
            );
            self.note_about(job, &text).await?;
            return Ok(Ok(()));
        };
        let setting = SettingName::Option(option.id.clone());
        let value = SettingValue::Selected(effort.to_owned());
        if let Err(unfit) = told.check(&setting, &value) {
            let offered = unfit.offered.join(", ");
            let why = format!("the effort `{effort}` is not one that it offers: {offered}");
            return Ok(Err(JobFailure::new(FailureCode::EngineRefused, why)));
        }
        if told.current(&setting).as_ref() != Some(&value) {
            let now = self.clock.now();
            let what = (setting, value);
            self.store
                .choose(job.workspace, session, what, &job.by, now)
                .await?;
        }
        Ok(Ok(()))
    }

    /// The effort is a variant of the model there, and goes along with the prompt.
    async fn check_variant(
        &self,
        job: &Job,
        effort: &str,
    ) -> Result<Result<(), JobFailure>, BrokerError> {
        let link = self.supervisor(job.workspace)?.link()?;
        let client = &link.client;
        let variants = client.variants(&job.directory, job.model.as_deref()).await;
        let text = match variants.map_err(BrokerError::Engine)? {
            Some(offered) if offered.iter().any(|variant| variant == effort) => return Ok(Ok(())),
            Some(offered) if offered.is_empty() => {
                format!("the model cannot be told how hard to think: `{effort}` is not set")
            }
            Some(offered) => {
                let offered = offered.join(", ");
                let why = format!("the effort `{effort}` is not one that the model has: {offered}");
                return Ok(Err(JobFailure::new(FailureCode::EngineRefused, why)));
            }
            None => format!(
                "which model it will be is not known here: the effort `{effort}` is sent, and set if that model has it"
            ),
        };
        self.note_about(job, &text).await?;
        Ok(Ok(()))
    }

    /// The engine's agent that a job is for. One that may only read gets opencode's agent for that, where there is one.
    pub(super) async fn agent_for(&self, job: &Job) -> Result<Option<String>, BrokerError> {
        let is_to_plan = job.engine == Session::OPENCODE && job.access == Access::ReadOnly;
        if job.agent.is_some() || !is_to_plan {
            return Ok(job.agent.clone());
        }
        let link = self.supervisor(job.workspace)?.link()?;
        let names = link.client.agent_names(&job.directory).await;
        let names = names.map_err(BrokerError::Engine)?;
        Ok(names.into_iter().find(|name| name == PLAN))
    }

    async fn note_about(&self, job: &Job, text: &str) -> Result<(), StoreError> {
        self.store.note_job(&job.id, text, self.clock.now()).await
    }
}
