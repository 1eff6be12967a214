//! The names under which browsers may reach us: what stands between a page of another site, or a name that
//! was rebound to our address, and the API.

use http::HeaderValue;
use http::uri::Authority;

/// The hosts, as browsers write them, that are ours.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    port: u16,
    names: Vec<String>,
}

impl Hosts {
    pub(crate) fn new(port: u16, public: &[String]) -> Self {
        const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
        let mut names: Vec<String> = LOOPBACK
            .iter()
            .map(|name| format!("{name}:{port}"))
            .collect();
        // Browsers leave the default port out.
        if port == 80 {
            names.extend(LOOPBACK.map(str::to_owned));
        }
        names.extend(public.iter().map(|name| name.to_ascii_lowercase()));
        Self { port, names }
    }

    /// Whether a `Host` header names us.
    pub(crate) fn has(&self, host: &str) -> bool {
        self.names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host))
    }

    /// Reads a `Host` header that names us.
    pub(crate) fn find<'a>(&self, value: &'a HeaderValue) -> Option<&'a str> {
        value.to_str().ok().filter(|host| self.has(host))
    }

    /// Whether an `Origin` header names a page of ours.
    pub(crate) fn has_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        let host = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        host.is_some_and(|host| self.has(host))
    }

    /// The port that we listen on.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where a person at this machine finds us.
    pub(crate) fn loopback(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// Reads a `Host` header: a name or address with an optional port, and nothing else.
pub(crate) fn read_host(value: &HeaderValue) -> Option<&str> {
    let host = value.to_str().ok()?;
    let authority: Authority = host.parse().ok()?;
    (authority.as_str() == host && !host.contains('@')).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_ours_are_ours() {
        let hosts = Hosts::new(8787, &["Countersign.Example".to_owned()]);
        for ours in [
            "http://127.0.0.1:8787",
            "http://localhost:8787",
            "http://[::1]:8787",
            "https://countersign.example",
        ] {
            assert!(hosts.has_origin(&HeaderValue::from_static(ours)), "{ours}");
        }
        for foreign in [
            "null",
            "",
            "http://localhost:3000",
            "http://localhost",
            "https://evil.example",
            "http://127.0.0.1:8787.evil.example",
            "http://evil.example#http://127.0.0.1:8787",
            "ftp://localhost:8787",
            "http://user@localhost:8787",
            "http://countersign.example:8787",
        ] {
            assert!(
                !hosts.has_origin(&HeaderValue::from_static(foreign)),
                "{foreign}"
            );
        }
    }

    #[test]
    fn a_host_is_a_name_and_a_port() {
        for bad in [
            "",
            "a b",
            "me@localhost:8787",
            "localhost:8787/path",
            "http://localhost",
        ] {
            let value = HeaderValue::from_str(bad).unwrap();
            assert_eq!(read_host(&value), None, "{bad}");
        }
        for good in ["localhost", "[::1]:8787", "127.0.0.1:1"] {
            assert_eq!(read_host(&HeaderValue::from_static(good)), Some(good));
        }
    }
}
