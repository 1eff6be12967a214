//! By what push services know this server: RFC 8292.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_core::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;

/// How long a push service may believe that a push is ours; a day is the most.
const BELIEVED: Duration = Duration::from_hours(12);

/// The key that this server signs its pushes with.
pub struct Vapid {
    pair: EcdsaKeyPair,
    contact: Option<String>,
}

impl fmt::Debug for Vapid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vapid").finish_non_exhaustive()
    }
}

/// What is kept as the server's key is none, or none could be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key for Web Push cannot be read or made")]
pub struct UnfitPushKey;

impl Vapid {
    /// A new key, in the form in which it is kept.
    pub fn generate() -> Result<String, UnfitPushKey> {
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
            .map(|key| URL_SAFE_NO_PAD.encode(key))
            .map_err(|_| UnfitPushKey)
    }

    /// Reads a key in the form in which it is kept. `contact` is told to push services.
    pub fn read(kept: &str, contact: Option<String>) -> Result<Self, UnfitPushKey> {
        let key = URL_SAFE_NO_PAD.decode(kept).map_err(|_| UnfitPushKey)?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random);
        Ok(Self {
            pair: pair.map_err(|_| UnfitPushKey)?,
            contact,
        })
    }

    /// The half that everybody may know: a point of the curve, uncompressed.
    pub(super) fn public_key(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// The header that shows the push service at `origin` that a push is ours.
    pub(super) fn authorization(&self, origin: &str, now: Timestamp) -> Option<String> {
        let until = now.after(BELIEVED).as_micros() / 1_000_000;
        let mut claims = json!({ "aud": origin, "exp": until });
        if let Some(contact) = &self.contact {
            claims["sub"] = json!(contact);
        }
        let encode = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!(
            "{}.{}",
            encode(&json!({ "typ": "JWT", "alg": "ES256" })),
            encode(&claims)
        );
        let signature = self
            .pair
            .sign(&SystemRandom::new(), signed.as_bytes())
            .ok()?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        let key = URL_SAFE_NO_PAD.encode(self.public_key());
        Some(format!("vapid t={signed}.{signature}, k={key}"))
    }
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_push_is_signed_for_its_service_and_for_half_a_day() {
        let kept = Vapid::generate().unwrap();
        let vapid = Vapid::read(&kept, Some("mailto:ada@example".to_owned())).unwrap();
        let now = Timestamp::from_micros(1_700_000_000_000_000);

        let header = vapid.authorization("https://push.example", now).unwrap();

        let (token, key) = header
            .strip_prefix("vapid t=")
            .and_then(|rest| rest.split_once(", k="))
            .unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (head, claims) = signed.split_once('.').unwrap();
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let read = |text: &str| serde_json::from_slice::<Value>(&decode(text)).unwrap();
        assert_eq!(read(head)["alg"], "ES256");
        assert_eq!(
            read(claims),
            json!({ "aud": "https://push.example", "exp": 1_700_043_200, "sub": "mailto:ada@example" })
        );
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decode(key))
            .verify(signed.as_bytes(), &decode(signature))
            .unwrap();
    }

    #[test]
    fn the_secret_half_is_never_shown() {
        let kept = Vapid::generate().unwrap();
        let shown = format!("{:?}", Vapid::read(&kept, None).unwrap());
        assert_eq!(shown, "Vapid { .. }");
        assert!(Vapid::read("nonsense", None).is_err());
    }
}
