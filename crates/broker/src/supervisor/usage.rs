//! How full the memory of a session's model is, and what was paid, as the engine tells it message by message.

use countersign_core::session::Session;
use countersign_core::settings::{Cost, Selection, SessionSettings, Usage};
use countersign_engine::opencode::Message;

use crate::error::BrokerError;
use crate::supervisor::run::EngineRun;
use crate::supervisor::verdict::tokens_held;

/// What opencode reckons in.
const CURRENCY: &str = "USD";

impl EngineRun {
    /// Notes what a message says of the model that spoke it. One whose provider does not tell changes nothing.
    pub(super) async fn note_used(
        &self,
        session: &Session,
        message: &Message,
    ) -> Result<(), BrokerError> {
        let Some(used) = tokens_held(message).filter(|used| *used > 0) else {
            return Ok(());
        };
        let model = message
            .provider_id
            .as_deref()
            .zip(message.model_id.as_deref());
        let model = model.map(|(provider, model)| format!("{provider}/{model}"));
        // Nothing is asked of the engine here, for asks may be next: where it is not known, whoever looks finds it out.
        let offers = self.link.known_offers(&session.directory);
        let size = model
            .as_deref()
            .zip(offers)
            .and_then(|(model, offers)| offers.context_of(model));
        self.note_told(session, |told| {
            let cost = told.usage.take().and_then(|usage| usage.cost);
            told.usage = Some(Usage {
                used,
                size: size.unwrap_or(0),
                cost,
            });
            if let Some(current) = model {
                let choices = Vec::new();
                told.models = Some(Selection { current, choices });
            }
        })
        .await
    }

    /// Notes what was paid for a session so far; what costs nothing is not noted.
    pub(super) async fn note_paid(&self, session: &Session, paid: f64) -> Result<(), BrokerError> {
        if !(paid.is_finite() && paid > 0.0) {
            return Ok(());
        }
        self.note_told(session, |told| {
            let usage = told.usage.get_or_insert(Usage {
                used: 0,
                size: 0,
                cost: None,
            });
            usage.cost = Some(Cost {
                amount: paid,
                currency: CURRENCY.to_owned(),
            });
        })
        .await
    }

    async fn note_told(
        &self,
        session: &Session,
        change: impl FnOnce(&mut SessionSettings),
    ) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        let known = store.settings(session.id).await?.unwrap_or_default();
        let mut told = known.clone();
        change(&mut told);
        if told != known {
            let now = self.shared.clock.now();
            let told = told.bounded();
            store
                .put_settings(session.workspace, session.id, &told, now)
                .await?;
        }
        Ok(())
    }
}
