//! Web Push: a paired browser says where it wants to be told of new asks, and that it wants no more.

use countersign_core::grant::{Caller, Grant};
use countersign_core::token::TokenKind;
use countersign_notify::PushAddress;
use countersign_store::NewPushDevice;

use crate::Broker;
use crate::access::Admission;
use crate::error::BrokerError;

/// Where a browser wants to be told, as it says itself.
#[derive(Clone)]
pub struct PushWish {
    /// The address at its push service.
    pub endpoint: String,
    /// Its public key, in base 64.
    pub p256dh: String,
    /// Its secret, in base 64.
    pub auth: String,
}

impl Broker {
    /// The key that browsers subscribe with, in base 64.
    pub async fn push_key(&self, caller: &Caller) -> Result<String, BrokerError> {
        caller.require(Grant::Read)?;
        Ok(self.notifications.sender().await?.public_key())
    }

    /// Whether the caller's own browser is told.
    pub async fn is_pushed_to(&self, admission: Option<&Admission>) -> Result<bool, BrokerError> {
        let Some(admission) = admission else {
            return Ok(false);
        };
        let now = self.clock.now();
        let known = self.store.push_devices(Some(admission.token.id), now);
        Ok(!known.await?.is_empty())
    }

    /// Has the caller's own browser told of new asks from now on.
    pub async fn subscribe(
        &self,
        admission: &Admission,
        wish: PushWish,
    ) -> Result<(), BrokerError> {
        let browser = browser(admission)?;
        let private = self.settings.push.private_endpoints;
        let address = PushAddress::read(&wish.endpoint, &wish.p256dh, &wish.auth, private);
        let address = address.map_err(|unfit| BrokerError::Invalid {
            field: "endpoint",
            problem: unfit.to_string(),
        })?;
        let device = NewPushDevice {
            token: browser.token.id,
            endpoint: wish.endpoint,
            p256dh: wish.p256dh,
            auth: wish.auth,
        };
        // Before it is written down: what happens from then on must not be missed.
        self.notifications.begin_following().await?;
        let actor = browser.caller.actor();
        let (origin, now) = (address.origin(), self.clock.now());
        let put = self.store.put_push_device(&device, &origin, actor, now);
        Ok(put.await?)
    }

    /// Has the caller's own browser told no more.
    pub async fn unsubscribe(&self, admission: &Admission) -> Result<(), BrokerError> {
        let browser = browser(admission)?;
        let actor = browser.caller.actor();
        let (token, now) = (browser.token.id, self.clock.now());
        self.store
            .remove_push_device(token, Some(actor), now)
            .await?;
        Ok(())
    }
}

/// Fails unless the caller is a paired browser that may read.
fn browser(admission: &Admission) -> Result<&Admission, BrokerError> {
    admission.caller.require(Grant::Read)?;
    match admission.token.kind {
        TokenKind::Browser => Ok(admission),
        TokenKind::Bearer => Err(BrokerError::Refused(
            "only a paired browser is told this way; programs have `[[notify]]`".to_owned(),
        )),
    }
}
