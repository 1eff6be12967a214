//! The audit and the alarms as surfaces see them.

use countersign_core::audit::AuditEntry;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_store::{Alarm, ChainVerdict};

use crate::Broker;
use crate::error::BrokerError;

/// More alarms than anybody looks at.
const ALARM_LIMIT: i64 = 100;

impl Broker {
    /// The entries of a chain after place `after`; the first workspace's chain if none is named.
    pub async fn audit(
        &self,
        caller: &Caller,
        workspace: Option<WorkspaceId>,
        after: i64,
        limit: i64,
    ) -> Result<Vec<AuditEntry>, BrokerError> {
        let workspace = match workspace.or(caller.workspace()) {
            Some(workspace) => workspace,
            None => self.first_workspace()?,
        };
        caller.require_in(Grant::Administer, workspace)?;
        Ok(self.store.audit(workspace, after, limit).await?)
    }

    /// Follows every chain that the caller may see from end to end.
    pub async fn verify_audit(&self, caller: &Caller) -> Result<Vec<ChainVerdict>, BrokerError> {
        caller.require(Grant::Administer)?;
        let mut verdicts = self.store.verify_audit().await?;
        verdicts.retain(|verdict| caller.sees(verdict.workspace));
        Ok(verdicts)
    }

    /// The newest alarms.
    pub async fn alarms(&self, caller: &Caller) -> Result<Vec<Alarm>, BrokerError> {
        caller.require(Grant::Read)?;
        let mut alarms = self.store.alarms(ALARM_LIMIT).await?;
        alarms.retain(|alarm| caller.sees(alarm.alarm.workspace));
        Ok(alarms)
    }
}
