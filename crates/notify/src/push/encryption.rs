//! What only the browser can read: RFC 8291, in one record of `aes128gcm` (RFC 8188).

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};

use super::PushAddress;

/// The size that every record is said to have at most.
const RECORD: u32 = 4_096;
/// Every message is filled up to this length, so that its length tells nothing.
const FILLED: usize = 256;
const SALT: usize = 16;
/// What ends the last record's content.
const LAST: u8 = 2;

/// `plaintext` for the browser at `address` alone; nothing if its key is none.
pub(super) fn encrypt(address: &PushAddress, plaintext: &[u8]) -> Option<Vec<u8>> {
    let random = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).ok()?;
    let own_public = own.compute_public_key().ok()?;
    let mut salt = [0; SALT];
    random.fill(&mut salt).ok()?;
    let peer = UnparsedPublicKey::new(&ECDH_P256, address.key());
    agree_ephemeral(own, &peer, |shared| {
        let parties = Parties {
            browser: address.key(),
            secret: address.secret(),
            sender: own_public.as_ref(),
        };
        seal(&parties, shared, salt, plaintext, FILLED)
    })
    .ok()?
}

/// Whose keys a message is between.
struct Parties<'a> {
    browser: &'a [u8],
    secret: &'a [u8],
    sender: &'a [u8],
}

/// The message with its head, filled up to `filled` bytes.
fn seal(
    parties: &Parties<'_>,
    shared: &[u8],
    salt: [u8; SALT],
    plaintext: &[u8],
    filled: usize,
) -> Option<Vec<u8>> {
    let both: [&[u8]; 3] = [b"WebPush: info\0", parties.browser, parties.sender];
    let first = Salt::new(HKDF_SHA256, parties.secret).extract(shared);
    let input: [u8; 32] = expanded(&first, &both)?;
    let keys = Salt::new(HKDF_SHA256, &salt).extract(&input);
    let key: [u8; 16] = expanded(&keys, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = expanded(&keys, &[b"Content-Encoding: nonce\0"])?;

    let mut record = plaintext.to_vec();
    record.push(LAST);
    record.resize(record.len().max(filled), 0);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::empty(), &mut record)
        .ok()?;

    let mut message = salt.to_vec();
    message.extend(RECORD.to_be_bytes());
    message.push(u8::try_from(parties.sender.len()).ok()?);
    message.extend(parties.sender);
    message.extend(record);
    Some(message)
}

/// So many bytes are wanted.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn expanded<const N: usize>(key: &Prk, info: &[&[u8]]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let expanded = key.expand(info, Length(N)).ok()?;
    expanded.fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn decoded(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn the_example_of_rfc_8291_comes_out_to_the_letter() {
        let browser = decoded(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        );
        let sender = decoded(
            "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
        );
        let parties = Parties {
            browser: &browser,
            secret: &decoded("BTBZMqHH6r4Tts7J_aSIgg"),
            sender: &sender,
        };
        let shared = decoded("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = decoded("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let plaintext = b"When I grow up, I want to be a watermelon";

        let message = seal(&parties, &shared, salt, plaintext, 0).unwrap();

        assert_eq!(
            URL_SAFE_NO_PAD.encode(message),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w\
             EqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn the_length_tells_nothing_and_no_two_messages_are_alike() {
        let address = PushAddress::read(
            "https://push.example/x",
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
            false,
        )
        .unwrap();
        let short = encrypt(&address, b"a").unwrap();
        let long = encrypt(&address, &[b'a'; 100]).unwrap();
        assert_eq!(short.len(), long.len());
        assert_ne!(short, encrypt(&address, b"a").unwrap());
    }
}
