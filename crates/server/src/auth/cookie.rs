//! The cookie that a paired browser holds.

use countersign_core::time::Timestamp;
use countersign_core::token::Token;
use http::HeaderValue;
use http::header::{COOKIE, HeaderMap};

use crate::prefix::PathPrefix;

/// The cookie's name. Cookies are shared by all ports of a host, so that two servers need two names.
fn name(port: u16) -> String {
    format!("countersign_{port}")
}

/// The half of a secret in a request's cookie.
pub(super) fn read(headers: &HeaderMap, port: u16) -> Option<&str> {
    let name = name(port);
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .find_map(|cookie| cookie.trim().strip_prefix(name.as_str())?.strip_prefix('='))
}

/// Whether a cookie may only travel encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// The browser reached us by `https`.
    Encrypted,
    /// It did not; on loopback nobody listens in.
    Plain,
}

/// Where a cookie is sent back to.
pub(crate) struct Place<'a> {
    /// The port that we listen on.
    pub(crate) port: u16,
    /// The path that everything of ours is below.
    pub(crate) prefix: &'a PathPrefix,
    /// Whether it may only travel encrypted.
    pub(crate) transport: Transport,
}

/// Gives a browser its half of the secret, for as long as the token lives.
pub(crate) fn set_cookie(
    place: &Place<'_>,
    secret: &str,
    token: &Token,
    now: Timestamp,
) -> HeaderValue {
    let life = token.expires_at.map_or(0, |end| end.since(now).as_secs());
    write(place, secret, life)
}

/// Takes the secret away from a browser.
pub(crate) fn clear_cookie(place: &Place<'_>) -> HeaderValue {
    write(place, "", 0)
}

fn write(place: &Place<'_>, secret: &str, life: u64) -> HeaderValue {
    let secure = match place.transport {
        Transport::Encrypted => "; Secure",
        Transport::Plain => "",
    };
    let (name, path) = (name(place.port), place.prefix.as_str());
    let cookie =
        format!("{name}={secret}; Path={path}/; Max-Age={life}; HttpOnly; SameSite=Strict{secure}");
    let mut value =
        HeaderValue::try_from(cookie).expect("a secret and a prefix are made of plain letters");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others_and_by_its_whole_name() {
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("theme=dark; countersign_80=no"),
        );
        assert_eq!(read(&headers, 8787), None);
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=b;countersign_8787=cs_1; c=d"),
        );
        assert_eq!(read(&headers, 8787), Some("cs_1"));
    }
}
