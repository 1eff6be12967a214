//! Scheduled prompts, as people look at them.

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::schedule::{Schedule, ScheduleTarget};

use crate::Broker;
use crate::error::BrokerError;

impl Broker {
    /// The scheduled prompts, by name. They are of the whole server, as its configuration is; whoever is limited to one
    /// workspace sees those that become jobs there.
    pub async fn schedules(&self, caller: &Caller) -> Result<Vec<Schedule>, BrokerError> {
        caller.require(Grant::Administer)?;
        let mut schedules = self.store.schedules().await?;
        if let Some(only) = caller.workspace() {
            schedules.retain(|schedule| self.workspace_of(&schedule.to) == Some(only));
        }
        Ok(schedules)
    }

    /// The workspace in which a scheduled prompt becomes a job; none if that is decided elsewhere, or is not served.
    fn workspace_of(&self, target: &ScheduleTarget) -> Option<WorkspaceId> {
        match target {
            ScheduleTarget::Job {
                workspace: Some(named),
                ..
            } => {
                let all = self.workspaces();
                let mut all = all.into_iter().map(|(workspace, _)| workspace);
                all.find(|it| it.path == *named || it.name == *named)
                    .map(|it| it.id)
            }
            ScheduleTarget::Job {
                workspace: None, ..
            } => self.first_workspace().ok(),
            ScheduleTarget::Channel { .. } => None,
        }
    }
}
