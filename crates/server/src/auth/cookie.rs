//! The cookie that a paired browser holds.

use countersign_core::time::Timestamp;
use countersign_core::token::Token;
use http::HeaderValue;
use http::header::{COOKIE, HeaderMap};

const NAME: &str = "countersign";

/// The secret in a request's cookie.
pub(super) fn read(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .find_map(|cookie| cookie.trim().strip_prefix(NAME)?.strip_prefix('='))
}

/// Whether a cookie may only travel encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// The browser reached us by `https`.
    Encrypted,
    /// It did not; on loopback nobody listens in.
    Plain,
}

/// Gives a browser its secret, for as long as the token lives.
pub(crate) fn set_cookie(
    secret: &str,
    token: &Token,
    now: Timestamp,
    transport: Transport,
) -> HeaderValue {
    let life = token.expires_at.map_or(0, |end| end.since(now).as_secs());
    write(secret, life, transport)
}

/// Takes the secret away from a browser.
pub(crate) fn clear_cookie(transport: Transport) -> HeaderValue {
    write("", 0, transport)
}

fn write(secret: &str, life: u64, transport: Transport) -> HeaderValue {
    let secure = match transport {
        Transport::Encrypted => "; Secure",
        Transport::Plain => "",
    };
    let cookie =
        format!("{NAME}={secret}; Path=/; Max-Age={life}; HttpOnly; SameSite=Strict{secure}");
    let mut value =
        HeaderValue::try_from(cookie).expect("a secret is made of letters, digits and `_`");
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
            HeaderValue::from_static("theme=dark; countersigned=no"),
        );
        assert_eq!(read(&headers), None);
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=b;countersign=cs_1; c=d"),
        );
        assert_eq!(read(&headers), Some("cs_1"));
    }
}
