//! Scheduled prompts, as people look at them.

use countersign_core::grant::{Caller, Grant};
use countersign_core::schedule::Schedule;

use crate::Broker;
use crate::error::BrokerError;

impl Broker {
    /// Every scheduled prompt, by name. They are of the whole server, as its configuration is.
    pub async fn schedules(&self, caller: &Caller) -> Result<Vec<Schedule>, BrokerError> {
        caller.require(Grant::Administer)?;
        Ok(self.store.schedules().await?)
    }
}
