//! What a happening was about, from the ledger.

use countersign_core::id::{AlarmId, AskId};
use countersign_core::job::JobId;
use countersign_core::notification::{Details, Notification, Occasion};
use countersign_store::StoreError;

use super::Notifications;

impl Notifications {
    /// What `notification` is about; as much of it as the ledger still has.
    pub(super) async fn details(&self, notification: &Notification) -> Result<Details, StoreError> {
        let workspace = self.store.workspace(notification.workspace).await?;
        let mut details = Details {
            workspace: workspace
                .map(|workspace| workspace.name)
                .unwrap_or_default(),
            ..Details::default()
        };
        match notification.occasion {
            Occasion::AskOpened | Occasion::AskExpired => {
                if let Ok(id) = notification.subject.parse::<AskId>()
                    && let Some(ask) = self.store.ask(id).await?
                {
                    details.tool = Some(ask.subject.tool().to_owned());
                    details.what = Some(ask.subject.summary());
                }
            }
            Occasion::AlarmRaised => {
                if let Ok(id) = notification.subject.parse::<AlarmId>()
                    && let Some(alarm) = self.store.alarm(id).await?
                {
                    details.what = Some(alarm.alarm.message);
                }
            }
            Occasion::JobCompleted | Occasion::JobFailed => {
                if let Ok(id) = notification.subject.parse::<JobId>()
                    && let Some(job) = self.store.job(&id).await?
                {
                    let why = job.failure.map(|failure| failure.message);
                    details.what = Some(why.unwrap_or(job.title));
                }
            }
            Occasion::Test => {}
        }
        Ok(details)
    }
}
