//! What the engine offers, read when somebody looks: it is kept for a moment, for who looks at a session that is at work
//! looks often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_engine::opencode::{ClientError, Offers};
use tokio::time::Instant;

use crate::supervisor::Link;

/// How long what was read is good for. A configuration that is read anew makes it void at once.
const KEPT: Duration = Duration::from_secs(30);

/// What was read, by directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptOffers(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// How often the engine has read its configuration anew.
    readings: u64,
    offers: HashMap<String, (Instant, Arc<Offers>)>,
}

impl KeptOffers {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What was read is good whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Link {
    /// What can be chosen and said in a directory.
    pub(crate) async fn offers(&self, directory: &str) -> Result<Arc<Offers>, ClientError> {
        if let Some(known) = self.known_offers(directory) {
            return Ok(known);
        }
        let readings = self.offers.lock().readings;
        let offers = Arc::new(self.client.offers(directory).await?);
        let mut kept = self.offers.lock();
        if kept.readings == readings {
            let entry = (Instant::now(), Arc::clone(&offers));
            kept.offers.insert(directory.to_owned(), entry);
        }
        Ok(offers)
    }

    /// The same, if it was read lately.
    pub(super) fn known_offers(&self, directory: &str) -> Option<Arc<Offers>> {
        let mut kept = self.offers.lock();
        kept.offers.retain(|_, (read, _)| read.elapsed() < KEPT);
        let (_, offers) = kept.offers.get(directory)?;
        Some(Arc::clone(offers))
    }

    /// The engine has read its configuration anew.
    pub(super) fn forget_offers(&self) {
        let mut kept = self.offers.lock();
        kept.readings += 1;
        kept.offers.clear();
    }
}
