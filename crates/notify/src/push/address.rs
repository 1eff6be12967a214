//! Where a browser is told: what it said, checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::rand::SystemRandom;

/// The longest address that is taken.
const LONGEST: usize = 2_048;
/// A point of the curve, uncompressed.
const KEY_BYTES: usize = 65;
const SECRET_BYTES: usize = 16;

/// Browsers leave the padding out; others may not.
const BASE_64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Where a browser is told, and what its messages are encrypted with.
#[derive(Clone)]
pub struct PushAddress {
    endpoint: Url,
    key: [u8; KEY_BYTES],
    secret: [u8; SECRET_BYTES],
}

/// Why a browser cannot be told where it says. The address is in no message: it is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnfitPushAddress {
    /// It is no URL, or a very long one.
    #[error("the address of the push service cannot be read")]
    Malformed,
    /// What is sent could be seen on the way.
    #[error("the address of the push service has to begin with https://")]
    Unencrypted,
    /// Credentials would be in it.
    #[error("the address of the push service must not hold a user or a password")]
    Credentials,
    /// It is not in the public network.
    #[error(
        "the push service is not in the public network; `[push] private_endpoints` in the configuration allows that"
    )]
    Private,
    /// The browser's key is none.
    #[error("the browser's key cannot be read")]
    Key,
    /// The browser's secret is none.
    #[error("the browser's secret cannot be read")]
    Secret,
}

impl PushAddress {
    /// The address that a browser said; `private` allows push services of the local network, and such on this machine
    /// without encryption.
    pub fn read(
        endpoint: &str,
        p256dh: &str,
        auth: &str,
        private: bool,
    ) -> Result<Self, UnfitPushAddress> {
        if endpoint.len() > LONGEST {
            return Err(UnfitPushAddress::Malformed);
        }
        let endpoint = Url::parse(endpoint).map_err(|_| UnfitPushAddress::Malformed)?;
        let host = Host::of(&endpoint).ok_or(UnfitPushAddress::Malformed)?;
        let here = private && host == Host::Address(IpAddr::V4(Ipv4Addr::LOCALHOST));
        if endpoint.scheme() != "https" && !(endpoint.scheme() == "http" && here) {
            return Err(UnfitPushAddress::Unencrypted);
        }
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err(UnfitPushAddress::Credentials);
        }
        if !private && !host.may_be_public() {
            return Err(UnfitPushAddress::Private);
        }
        let key = decoded(p256dh).ok_or(UnfitPushAddress::Key)?;
        if !is_point(&key) {
            return Err(UnfitPushAddress::Key);
        }
        let secret = decoded(auth).ok_or(UnfitPushAddress::Secret)?;
        Ok(Self {
            endpoint,
            key,
            secret,
        })
    }

    /// What may be shown of it.
    pub fn origin(&self) -> String {
        self.endpoint.origin().ascii_serialization()
    }

    pub(super) fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE_64.decode(text).ok()?.try_into().ok()
}

/// Whether `key` lies on the curve, as only an agreement tells.
fn is_point(key: &[u8]) -> bool {
    EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new())
        .and_then(|own| agree_ephemeral(own, &UnparsedPublicKey::new(&ECDH_P256, key), |_| ()))
        .is_ok()
}

/// Whom an address names.
#[derive(Debug, PartialEq, Eq)]
enum Host {
    Address(IpAddr),
    Name(String),
}

impl Host {
    fn of(url: &Url) -> Option<Self> {
        let host = url.host_str()?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        Some(match bare.parse() {
            Ok(address) => Self::Address(address),
            Err(_) => Self::Name(host.trim_end_matches('.').to_ascii_lowercase()),
        })
    }

    /// A name is looked at again when it is looked up.
    fn may_be_public(&self) -> bool {
        match self {
            Self::Address(address) => is_public(*address),
            Self::Name(name) => name.contains('.') && !name.ends_with(".localhost"),
        }
    }
}

/// Whether an address is one of the public network: nobody's own machine, network or router.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || first == 0
        || first >= 240
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && (18..20).contains(&second)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let segments = address.segments();
    // Behind a translator of addresses every public address looks like that.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    let is_tunnel = segments[0] == 0x2002 || segments[..2] == [0x2001, 0];
    let is_documentation = segments[..2] == [0x2001, 0xdb8];
    segments[0] & 0xe000 == 0x2000 && !is_tunnel && !is_documentation
}

/// Looks names up, and knows none that lead elsewhere than into the public network: a name can be led anywhere after it
/// was checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|it| is_public(it.ip())).collect();
            if public.is_empty() {
                return Err(UnfitPushAddress::Private.into());
            }
            let addresses: Addrs = Box::new(public.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A browser's key and secret, from the example of RFC 8291.
    const KEY: &str =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
    const SECRET: &str = "BTBZMqHH6r4Tts7J_aSIgg";

    fn problem(endpoint: &str, private: bool) -> Option<UnfitPushAddress> {
        PushAddress::read(endpoint, KEY, SECRET, private).err()
    }

    #[test]
    fn only_https_in_the_public_network_is_an_address() {
        assert_eq!(problem("https://push.example/send/abc", false), None);
        assert_eq!(problem("https://8.8.8.8/send", false), None);
        assert_eq!(problem("https://[2607:f8b0::1]/send", false), None);
        for private in [
            "https://127.0.0.1/x",
            "https://10.1.2.3/x",
            "https://192.168.0.1/x",
            "https://172.16.0.1/x",
            "https://169.254.169.254/latest/meta-data",
            "https://100.64.0.1/x",
            "https://0.0.0.0/x",
            "https://0x7f000001/x",
            "https://2130706433/x",
            "https://[::1]/x",
            "https://[::ffff:127.0.0.1]/x",
            "https://[64:ff9b::10.0.0.1]/x",
            "https://[fd00::1]/x",
            "https://[fe80::1]/x",
            "https://[2002:7f00:1::]/x",
            "https://localhost/x",
            "https://printer/x",
            "https://a.localhost./x",
        ] {
            assert_eq!(
                problem(private, false),
                Some(UnfitPushAddress::Private),
                "{private}"
            );
        }
        for plain in [
            "http://push.example/x",
            "ftp://push.example/x",
            "http://127.0.0.1/x",
        ] {
            let found = problem(plain, false);
            assert_eq!(found, Some(UnfitPushAddress::Unencrypted), "{plain}");
        }
        let credentials = Some(UnfitPushAddress::Credentials);
        assert_eq!(problem("https://a:b@push.example/x", false), credentials);
        let long = format!("https://push.example/{}", "x".repeat(LONGEST));
        for malformed in ["", "push.example", "https://", long.as_str()] {
            let found = problem(malformed, false);
            assert_eq!(found, Some(UnfitPushAddress::Malformed), "{malformed}");
        }
    }

    #[test]
    fn the_local_network_is_allowed_by_the_configuration_alone_and_plain_text_on_this_machine() {
        assert_eq!(problem("http://127.0.0.1:9/x", true), None);
        assert_eq!(problem("https://10.0.0.1/x", true), None);
        let unencrypted = Some(UnfitPushAddress::Unencrypted);
        assert_eq!(problem("http://10.0.0.1/x", true), unencrypted);
    }

    #[test]
    fn keys_are_checked_before_they_are_kept() {
        let read = |key: &str, secret: &str| {
            PushAddress::read("https://push.example/x", key, secret, false).err()
        };
        assert_eq!(read(&format!("{KEY}="), SECRET), None);
        let off_the_curve = KEY.replace("Aiw4", "Aiw8");
        for key in ["", "AAAA", SECRET, off_the_curve.as_str()] {
            assert_eq!(read(key, SECRET), Some(UnfitPushAddress::Key), "{key}");
        }
        for secret in ["", "AAAA", KEY] {
            let found = read(KEY, secret);
            assert_eq!(found, Some(UnfitPushAddress::Secret), "{secret}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_not_known() {
        let resolved = PublicOnly.resolve("localhost".parse().unwrap()).await;
        assert!(resolved.is_err());
    }
}
