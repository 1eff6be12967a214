//! Where an opencode server is, and what opens it.

/// Where an opencode server listens, and with which credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its base URL, perhaps with a path prefix, without a slash at the end.
    pub base_url: String,
    /// User and password for basic authentication.
    pub credentials: Option<(String, String)>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Where it listens, for people: without whatever else a URL may carry.
    pub fn address(&self) -> String {
        let Ok(mut url) = reqwest::Url::parse(&self.base_url) else {
            return "an address that cannot be read".to_owned();
        };
        url.set_query(None);
        url.set_fragment(None);
        // Only a URL without a host takes none, and has none to hide.
        let _hostless = (url.set_username(""), url.set_password(None));
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// The port, if the server is reached over the loopback address of this machine.
    pub fn loopback_port(&self) -> Option<u16> {
        let url = reqwest::Url::parse(&self.base_url).ok()?;
        let local = match url.host_str()? {
            "localhost" => true,
            host => host
                .trim_matches(['[', ']'])
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback()),
        };
        local.then(|| url.port_or_known_default()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_machine_is_known_by_its_port() {
        for (url, port) in [
            ("http://127.0.0.1:4096/agents/one", Some(4096)),
            ("http://localhost:4096", Some(4096)),
            ("http://[::1]:80", Some(80)),
            ("https://agents.example:4096", None),
            ("nonsense", None),
        ] {
            let endpoint = Endpoint {
                base_url: url.to_owned(),
                credentials: None,
            };
            assert_eq!(endpoint.loopback_port(), port, "{url}");
        }
    }

    #[test]
    fn an_address_that_is_shown_has_no_secret_in_it() {
        for (url, shown) in [
            ("http://127.0.0.1:4096", "http://127.0.0.1:4096"),
            (
                "https://ada:s3cret@agents.example/one?auth_token=s3cret#s3cret",
                "https://agents.example/one",
            ),
            ("s3cret", "an address that cannot be read"),
        ] {
            let endpoint = Endpoint {
                base_url: url.to_owned(),
                credentials: None,
            };
            assert_eq!(endpoint.address(), shown);
        }
    }

    #[test]
    fn credentials_are_not_in_debug_output() {
        let endpoint = Endpoint {
            base_url: "http://127.0.0.1:1".to_owned(),
            credentials: Some(("opencode".to_owned(), "s3cret".to_owned())),
        };
        assert!(!format!("{endpoint:?}").contains("s3cret"));
    }
}
