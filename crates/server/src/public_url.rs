//! Where other devices reach the server: the address of the proxy that stands in front.

use std::fmt;
use std::str::FromStr;

use http::Uri;

/// An address such as `https://countersign.example/agents`, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    text: String,
    host: String,
}

/// A text that is no such address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address of the form `https://host/path`")]
pub struct InvalidPublicUrl(String);

impl PublicUrl {
    /// The host, with its port if it has one, as browsers write it.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidPublicUrl(text.to_owned());
        let url: Uri = text.parse().map_err(|_| invalid())?;
        let host = url.authority().ok_or_else(invalid)?.as_str();
        let is_web = matches!(url.scheme_str(), Some("http" | "https"));
        // `Uri` drops what is behind a `#`.
        if !is_web || host.contains('@') || url.query().is_some() || text.contains('#') {
            return Err(invalid());
        }
        Ok(Self {
            host: host.to_ascii_lowercase(),
            text: text.trim_end_matches('/').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_perhaps_a_path_and_nothing_else() {
        for (text, host, written) in [
            (
                "https://Desk.example",
                "desk.example",
                "https://Desk.example",
            ),
            (
                "http://10.0.0.7:8443/",
                "10.0.0.7:8443",
                "http://10.0.0.7:8443",
            ),
            (
                "https://desk.example/agents/",
                "desk.example",
                "https://desk.example/agents",
            ),
        ] {
            let url: PublicUrl = text.parse().unwrap();
            assert_eq!((url.host(), url.to_string().as_str()), (host, written));
        }
        for bad in [
            "",
            "desk.example",
            "ftp://desk.example",
            "https://ada@desk.example",
            "https://desk.example/?a=b",
            "https://desk.example/#x",
            "javascript:alert(1)",
        ] {
            assert!(bad.parse::<PublicUrl>().is_err(), "{bad}");
        }
    }
}
