//! A webhook: the message as JSON, signed as [Standard Webhooks](https://www.standardwebhooks.com) says, so that receivers
//! can check it with a library that they have.
//!
//! The signature is HMAC-SHA256 over the notification's id, the time of the attempt and the body. The id is the same at
//! every attempt: by it a receiver knows what it had already. Nothing but the origin of the address is ever shown.

use std::error::Error as _;
use std::fmt;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_core::notification::Message;
use countersign_core::time::Timestamp;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, StatusCode, Url};
use sha2::Sha256;

use crate::secret::SecretSource;
use crate::surroundings::Surroundings;
use crate::{Attempt, Failure};

/// The most that is kept of what a receiver answers when it refuses.
const OUTPUT_LIMIT: usize = 1024;
/// The longest that a receiver can ask to be left alone.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(1);

/// Where a webhook is, and what it is signed with.
#[derive(Clone)]
pub struct WebhookTarget {
    address: Url,
    secret: SecretSource,
    http: Client,
}

impl fmt::Debug for WebhookTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookTarget")
            .field("origin", &self.origin())
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}

/// Why an address cannot be a webhook's. The address is in no message: it may hold a secret.
#[derive(Debug, thiserror::Error)]
pub enum UnfitAddress {
    /// It is no URL.
    #[error("its `url` is no address")]
    Malformed,
    /// What is sent could be read on the way.
    #[error("its `url` has to begin with https://; http:// is for this machine alone")]
    Unencrypted,
    /// Credentials would be in it.
    #[error("its `url` must not hold a user or a password; the signature says who sends")]
    Credentials,
    /// No client can be made.
    #[error("no client could be made for it")]
    Client(#[source] reqwest::Error),
}

impl WebhookTarget {
    /// The webhook at `address`, signed with what `secret` holds.
    pub fn new(address: &str, secret: SecretSource) -> Result<Self, UnfitAddress> {
        let address = Url::parse(address).map_err(|_| UnfitAddress::Malformed)?;
        if address.host_str().is_none() {
            return Err(UnfitAddress::Malformed);
        }
        let is_here = is_loopback(&address);
        if address.scheme() != "https" && !(address.scheme() == "http" && is_here) {
            return Err(UnfitAddress::Unencrypted);
        }
        if !address.username().is_empty() || address.password().is_some() {
            return Err(UnfitAddress::Credentials);
        }
        let mut builder = Client::builder()
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            // Where it leads is configured, and not for whoever answers to say.
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0);
        if address.scheme() == "http" {
            // No certificate is going to be looked at, so the machine's store of them is not read.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        if is_here {
            builder = builder.no_proxy();
        }
        Ok(Self {
            address,
            secret,
            http: builder.build().map_err(UnfitAddress::Client)?,
        })
    }

    /// What may be shown of the address.
    pub fn origin(&self) -> String {
        self.address.origin().ascii_serialization()
    }

    /// Where its secret is.
    pub fn secret(&self) -> &SecretSource {
        &self.secret
    }

    pub(crate) async fn post(
        &self,
        message: &Message,
        surroundings: &Surroundings,
        limit: Duration,
        now: Timestamp,
    ) -> Attempt {
        let posting = self.post_to_end(message, surroundings, now);
        match tokio::time::timeout(limit, posting).await {
            Ok(Ok(())) => Attempt::Sent,
            Ok(Err(failure)) => failure.into(),
            Err(_) => Failure::passing(format!(
                "{} did not answer within {} s",
                self.origin(),
                limit.as_secs()
            ))
            .into(),
        }
    }

    async fn post_to_end(
        &self,
        message: &Message,
        surroundings: &Surroundings,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let secret = self
            .secret
            .read(surroundings)
            .map_err(|unfit| Failure::passing(unfit.to_string()))?;
        let body =
            serde_json::to_vec(message).map_err(|error| Failure::lasting(error.to_string()))?;
        let id = message.id.to_string();
        let timestamp = now.as_micros() / 1_000_000;
        let signature = signature(&secret, &id, timestamp, &body);
        let request = self
            .http
            .post(self.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature)
            .body(body);
        let response = request
            .send()
            .await
            .map_err(|error| Failure::passing(unreached(&self.origin(), error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let retry_after = retry_after(response.headers());
        let said = beginning(response).await;
        Err(Failure {
            retry_after,
            lasting: status == StatusCode::GONE,
            ..Failure::passing(self.refused(status)).with_output(&said)
        })
    }

    fn refused(&self, status: StatusCode) -> String {
        let origin = self.origin();
        if status.is_redirection() {
            format!(
                "{origin} answered {status}: redirects are not followed, name the address itself"
            )
        } else {
            format!("{origin} answered {status}")
        }
    }
}

/// What went wrong on the way, without the address.
pub(crate) fn unreached(origin: &str, error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = format!("{origin} was not reached: {error}");
    let mut cause = error.source();
    while let Some(source) = cause {
        write!(words, ": {source}").expect("a String takes every write");
        cause = source.source();
    }
    words
}

/// The signature of a body, in the form of its header.
pub(crate) fn signature(secret: &[u8], id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn is_loopback(address: &Url) -> bool {
    let Some(host) = address.host_str() else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// How long a receiver wants to be left alone.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER))
}

/// The beginning of what was answered.
pub(crate) async fn beginning(mut response: reqwest::Response) -> String {
    let mut said = Vec::new();
    while said.len() < OUTPUT_LIMIT {
        let Ok(Some(chunk)) = response.chunk().await else {
            break;
        };
        let room = OUTPUT_LIMIT - said.len();
        said.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    String::from_utf8_lossy(&said).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(address: &str) -> Result<WebhookTarget, UnfitAddress> {
        drop(rustls::crypto::ring::default_provider().install_default());
        let secret = SecretSource::Variable("COUNTERSIGN_HOOK".to_owned());
        WebhookTarget::new(address, secret)
    }

    #[test]
    fn a_body_is_signed_as_the_standard_says() {
        // The example that its libraries are tested with.
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = br#"{"test": 2432232314}"#;
        assert_eq!(
            signature(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn what_others_could_read_or_what_holds_a_password_is_no_address() {
        for (address, why) in [
            ("http://hooks.example/x", "https://"),
            ("ftp://127.0.0.1/x", "https://"),
            ("hooks.example", "no address"),
            ("http://ada:secret@127.0.0.1/x", "password"),
        ] {
            let error = webhook(address).unwrap_err().to_string();
            assert!(error.contains(why), "{address}: {error}");
            assert!(!error.contains("secret@"), "{error}");
        }
        for address in [
            "http://127.0.0.1:9/x",
            "http://localhost:9/x",
            "http://[::1]:9/x",
        ] {
            assert!(webhook(address).is_ok(), "{address}");
        }
    }

    #[test]
    fn the_path_of_an_address_is_never_shown() {
        let webhook = webhook("http://127.0.0.1:9/services/T0/very-secret?key=also").unwrap();
        assert_eq!(webhook.origin(), "http://127.0.0.1:9");
        let shown = format!("{webhook:?}");
        assert!(
            !shown.contains("secret?") && !shown.contains("also"),
            "{shown}"
        );
    }
}
