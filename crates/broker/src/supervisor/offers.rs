//! What the engine offers, read when somebody looks: it is kept for a moment, for who looks at a session that is at work
//! looks often.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_engine::opencode::{ClientError, Offers};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::supervisor::Link;

/// How long what was read is good for. A configuration that is read anew makes it void at once.
const KEPT: Duration = Duration::from_secs(30);

/// What was read, by directory.
pub(crate) type KeptOffers = Arc<Mutex<HashMap<String, (Instant, Arc<Offers>)>>>;

impl Link {
    /// What can be chosen and said in a directory.
    pub(crate) async fn offers(&self, directory: &str) -> Result<Arc<Offers>, ClientError> {
        // Held while they are read, so that several who look make one of them read.
        let mut kept = self.offers.lock().await;
        kept.retain(|_, (read, _)| read.elapsed() < KEPT);
        if let Some((_, offers)) = kept.get(directory) {
            return Ok(Arc::clone(offers));
        }
        let offers = Arc::new(self.client.offers(directory).await?);
        let entry = (Instant::now(), Arc::clone(&offers));
        kept.insert(directory.to_owned(), entry);
        Ok(offers)
    }

    /// The same, if it was read lately and nobody is about to read it.
    pub(super) fn known_offers(&self, directory: &str) -> Option<Arc<Offers>> {
        let kept = self.offers.try_lock().ok()?;
        kept.get(directory).map(|(_, offers)| Arc::clone(offers))
    }

    /// The engine has read its configuration anew.
    pub(crate) async fn forget_offers(&self) {
        self.offers.lock().await.clear();
    }
}
