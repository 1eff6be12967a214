//! Web Push: a paired browser is told through its push service, which can read nothing of it.
//!
//! What is sent is encrypted for the browser (RFC 8291) and signed by this server (RFC 8292). Where it goes is a thing that
//! browsers say, so it is checked: `https`, a public address, no redirect, and little is read of what comes back.

mod address;
mod encryption;
mod vapid;

pub use address::{PushAddress, UnfitPushAddress};
pub use vapid::{UnfitPushKey, Vapid};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::notification::{Message, Occasion};
use countersign_core::time::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Client, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use self::address::PublicOnly;
use crate::webhook::{beginning, retry_after, unreached};
use crate::{Attempt, Failure};

/// How long a push service keeps what it cannot deliver: an ask of yesterday is nothing to wake anybody for.
const KEPT_S: u64 = 24 * 60 * 60;
/// The longest topic that a push service takes.
const TOPIC: usize = 32;

/// What the configuration says of Web Push.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PushSettings {
    /// How the people of a push service reach whoever runs this server: `mailto:` or `https:`.
    pub contact: Option<String>,
    /// Whether push services may be in the local network and, on this machine, without encryption.
    pub private_endpoints: bool,
}

/// What every push goes out by.
#[derive(Clone)]
pub struct PushSender {
    http: Client,
    vapid: Arc<Vapid>,
}

impl PushSender {
    /// A sender that signs with `vapid`.
    pub fn new(vapid: Vapid, settings: &PushSettings) -> Result<Self, reqwest::Error> {
        let mut builder = Client::builder()
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            // A push service that sends us elsewhere could send us anywhere.
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would look names up itself, and reach what we must not.
            .no_proxy()
            .pool_max_idle_per_host(0);
        if !settings.private_endpoints {
            builder = builder.dns_resolver(PublicOnly);
        }
        Ok(Self {
            http: builder.build()?,
            vapid: Arc::new(vapid),
        })
    }

    /// The key that browsers subscribe with, in base 64.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.vapid.public_key())
    }

    /// The browser at `address` as a target.
    pub fn to(&self, address: PushAddress) -> PushTarget {
        PushTarget {
            address,
            sender: self.clone(),
        }
    }
}

/// A browser that is told.
#[derive(Clone)]
pub struct PushTarget {
    address: PushAddress,
    sender: PushSender,
}

impl fmt::Debug for PushTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushTarget")
            .field("origin", &self.origin())
            .finish_non_exhaustive()
    }
}

/// What a browser's worker gets to read: that something happened, and which page shows it.
#[derive(Serialize)]
struct Payload<'a> {
    #[serde(rename = "type")]
    occasion: Occasion,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
}

impl PushTarget {
    /// What may be shown of the address.
    pub fn origin(&self) -> String {
        self.address.origin()
    }

    pub(crate) async fn post(&self, message: &Message, limit: Duration, now: Timestamp) -> Attempt {
        let Some(body) = self.encrypted(message) else {
            return Failure::lasting("what the browser gave as its key is none").into();
        };
        let Some(authorization) = self.sender.vapid.authorization(&self.origin(), now) else {
            return Failure::passing("the push could not be signed").into();
        };
        match tokio::time::timeout(limit, self.post_to_end(message, body, authorization)).await {
            Ok(attempt) => attempt,
            Err(_) => Failure::passing(format!(
                "{} did not answer within {} s",
                self.origin(),
                limit.as_secs()
            ))
            .into(),
        }
    }

    fn encrypted(&self, message: &Message) -> Option<Vec<u8>> {
        let payload = Payload {
            occasion: message.occasion,
            subject: message.subject.as_deref(),
        };
        let payload = serde_json::to_vec(&payload).ok()?;
        encryption::encrypt(&self.address, &payload)
    }

    async fn post_to_end(
        &self,
        message: &Message,
        body: Vec<u8>,
        authorization: String,
    ) -> Attempt {
        let request = self
            .sender
            .http
            .post(self.address.endpoint().clone())
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_ENCODING, "aes128gcm")
            .header(CONTENT_TYPE, "application/octet-stream")
            .header("ttl", KEPT_S)
            .header("urgency", "high")
            // What is sent twice is shown once.
            .header("topic", topic(message))
            .body(body);
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Failure::passing(unreached(&self.origin(), error)).into(),
        };
        let status = response.status();
        if status.is_success() {
            return Attempt::Sent;
        }
        let retry_after = retry_after(response.headers());
        let said = beginning(response).await;
        let problem = format!("{} answered {status}", self.origin());
        let failure = Failure {
            retry_after,
            lasting: is_lasting(status),
            ..Failure::passing(problem).with_output(&said)
        };
        match status {
            StatusCode::NOT_FOUND | StatusCode::GONE => Attempt::Gone(failure),
            _ => Attempt::Failed(failure),
        }
    }
}

/// Whether the same again would get the same answer.
fn is_lasting(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    !status.is_server_error() && !passing.contains(&status)
}

/// A name for what a message is about that tells nothing of it.
fn topic(message: &Message) -> String {
    let about = message.subject.as_deref().unwrap_or_default();
    let mut topic = URL_SAFE_NO_PAD.encode(Sha256::digest(about));
    topic.truncate(TOPIC);
    topic
}
