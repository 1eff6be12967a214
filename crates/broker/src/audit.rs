//! The audit and the alarms as surfaces see them.

use countersign_core::audit::AuditEntry;
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_store::{Alarm, Chain, ChainVerdict, Record};

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
        let workspace = self.meant_workspace(caller, workspace)?;
        caller.require_in(Grant::Administer, workspace)?;
        Ok(self.store.audit(workspace, after, limit).await?)
    }

    /// The entries of a chain before place `before` (all of them if none is named), newest first.
    pub async fn audit_before(
        &self,
        caller: &Caller,
        workspace: WorkspaceId,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<AuditEntry>, BrokerError> {
        caller.require_in(Grant::Administer, workspace)?;
        Ok(self.store.audit_before(workspace, before, limit).await?)
    }

    /// Records what the caller did, where nothing else in the ledger says so.
    pub async fn record(
        &self,
        caller: &Caller,
        workspace: WorkspaceId,
        records: Vec<Record>,
    ) -> Result<(), BrokerError> {
        caller.require_in(Grant::Propose, workspace)?;
        let now = self.clock.now();
        self.store
            .record(workspace, caller.actor(), records, now)
            .await?;
        Ok(())
    }

    /// Follows every chain that the caller may see from end to end.
    pub async fn verify_audit(&self, caller: &Caller) -> Result<Vec<ChainVerdict>, BrokerError> {
        caller.require(Grant::Administer)?;
        let mut verdicts = self.store.verify_audit().await?;
        self.store
            .note_verified(&verdicts, self.clock.now())
            .await?;
        verdicts.retain(|verdict| caller.sees(verdict.workspace));
        Ok(verdicts)
    }

    /// The chains that the caller may see: how long they are, and how each was found when it was last followed. What is
    /// in them is for whoever administers.
    pub async fn chains(&self, caller: &Caller) -> Result<Vec<Chain>, BrokerError> {
        caller.require(Grant::Read)?;
        let mut chains = self.store.chains().await?;
        chains.retain(|chain| caller.sees(chain.workspace));
        Ok(chains)
    }

    /// The newest alarms.
    pub async fn alarms(&self, caller: &Caller) -> Result<Vec<Alarm>, BrokerError> {
        caller.require(Grant::Read)?;
        let mut alarms = self.store.alarms(ALARM_LIMIT).await?;
        alarms.retain(|alarm| caller.sees(alarm.alarm.workspace));
        Ok(alarms)
    }
}
