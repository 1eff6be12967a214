//! A browser that is told by Web Push, as far as a server knows one: it gives its keys out, and reads what it was sent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{
    ECDH_P256, EphemeralPrivateKey, PublicKey, UnparsedPublicKey, agree_ephemeral,
};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey as Verifier};
use serde_json::{Value, json};

/// What stands before the record: salt, size, length of the key, key.
const HEAD: usize = 16 + 4 + 1 + 65;
const SECRET: [u8; 16] = *b"sixteen secrets!";

/// A browser with keys of its own. It reads one message: the key is used up by it.
pub struct PushDevice {
    private: EphemeralPrivateKey,
    public: PublicKey,
}

impl Default for PushDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl PushDevice {
    /// A browser with new keys.
    pub fn new() -> Self {
        let private = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new());
        let private = private.expect("a key can be made");
        let public = private.compute_public_key().expect("a key has two halves");
        Self { private, public }
    }

    /// Its subscription at the push service at `endpoint`, as browsers write it.
    pub fn subscription(&self, endpoint: &str) -> Value {
        json!({
            "endpoint": endpoint,
            "keys": {
                "p256dh": URL_SAFE_NO_PAD.encode(self.public.as_ref()),
                "auth": URL_SAFE_NO_PAD.encode(SECRET),
            },
        })
    }

    /// Reads a message that was encrypted for it, and panics if it was not.
    pub fn read(self, message: &[u8]) -> Value {
        let (head, record) = message.split_at(HEAD);
        let (salt, sender) = (&head[..16], &head[21..]);
        assert_eq!(head[20], 65, "the key is a whole point");
        let own = self.public.as_ref().to_vec();
        let sender_key = UnparsedPublicKey::new(&ECDH_P256, sender);
        let mut record = record.to_vec();
        let opened = agree_ephemeral(self.private, &sender_key, |shared| {
            let info = [b"WebPush: info\0".as_slice(), &own, sender];
            let input = derived::<32>(&SECRET, shared, &info);
            let key = derived::<16>(salt, &input, &[b"Content-Encoding: aes128gcm\0"]);
            let nonce = derived::<12>(salt, &input, &[b"Content-Encoding: nonce\0"]);
            let key = UnboundKey::new(&AES_128_GCM, &key).expect("a key of 16 bytes");
            let nonce = Nonce::assume_unique_for_key(nonce);
            let opened = LessSafeKey::new(key).open_in_place(nonce, Aad::empty(), &mut record);
            opened.expect("it was encrypted for this browser").to_vec()
        });
        let filled = opened.expect("the sender's key is one");
        let end = filled.iter().rposition(|byte| *byte != 0);
        let end = end.expect("a record ends with a mark");
        assert_eq!(filled[end], 2, "it is the last record");
        serde_json::from_slice(&filled[..end]).expect("the message is JSON")
    }
}

/// What a push says of its sender, checked: the claims, and the key that they are signed with.
pub fn sender_of(authorization: &str) -> (Value, String) {
    let rest = authorization.strip_prefix("vapid t=");
    let (token, key) = rest
        .and_then(|rest| rest.split_once(", k="))
        .expect("the header is of RFC 8292");
    let (signed, signature) = token.rsplit_once('.').expect("a token has three parts");
    let (_, claims) = signed.split_once('.').expect("a token has three parts");
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base 64");
    Verifier::new(&ECDSA_P256_SHA256_FIXED, decoded(key))
        .verify(signed.as_bytes(), &decoded(signature))
        .expect("it is signed with that key");
    let claims = serde_json::from_slice(&decoded(claims)).expect("claims are JSON");
    (claims, key.to_owned())
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derived<const N: usize>(salt: &[u8], input: &[u8], info: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    let key = Salt::new(HKDF_SHA256, salt).extract(input);
    key.expand(info, Length(N))
        .and_then(|expanded| expanded.fill(&mut bytes))
        .expect("a short key");
    bytes
}
