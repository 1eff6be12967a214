//! The path under which a reverse proxy serves us. Some proxies take it off and some leave it on: both are understood.

use axum::extract::Request;
use http::Uri;
use http::uri::PathAndQuery;

/// The path under which a proxy serves us: `/countersign`, or nothing. Browsers find everything below it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathPrefix(String);

/// A text that is no path prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no path prefix: one looks like `/countersign`, of letters, digits, `-`, `_`, `.` and `/`"
)]
pub struct UnfitPrefix(String);

impl PathPrefix {
    /// Reads `/countersign`, `/a/b/`, or nothing.
    pub fn read(text: &str) -> Result<Self, UnfitPrefix> {
        let bare = text.trim_end_matches('/');
        let is_plain = |part: &str| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
            !part.is_empty() && part != "." && part != ".." && part.chars().all(plain)
        };
        let fits = bare.is_empty()
            || bare
                .strip_prefix('/')
                .is_some_and(|rest| rest.split('/').all(is_plain));
        if fits {
            Ok(Self(bare.to_owned()))
        } else {
            Err(UnfitPrefix(text.to_owned()))
        }
    }

    /// It, without a slash at its end.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes it off the request's path, where a proxy has left it on.
    pub(crate) fn take_off(&self, request: &mut Request) {
        if let Some(uri) = self.without(request.uri()) {
            *request.uri_mut() = uri;
        }
    }

    fn without(&self, uri: &Uri) -> Option<Uri> {
        if self.0.is_empty() || uri.authority().is_some() {
            return None;
        }
        let whole = uri.path_and_query()?.as_str();
        let rest = whole.strip_prefix(&self.0)?;
        let rest: PathAndQuery = match rest.as_bytes().first() {
            Some(b'/') => rest.parse().ok()?,
            Some(b'?') => format!("/{rest}").parse().ok()?,
            None => PathAndQuery::from_static("/"),
            Some(_) => return None,
        };
        Some(Uri::from(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_plain_path() {
        for good in ["", "/", "/countersign", "/a/b/", "/a.b-c_d"] {
            assert!(PathPrefix::read(good).is_ok(), "{good}");
        }
        for bad in [
            "countersign",
            "//evil.example",
            "/a/../b",
            "/a b",
            "/a;Path=/",
            "/a?b",
            "/a//b",
        ] {
            assert!(PathPrefix::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn it_is_taken_off_as_a_whole_and_once() {
        let prefix = PathPrefix::read("/some/prefix").unwrap();
        for (path, rest) in [
            ("/some/prefix", Some("/")),
            ("/some/prefix/", Some("/")),
            ("/some/prefix?a=b", Some("/?a=b")),
            ("/some/prefix/app/?a=b", Some("/app/?a=b")),
            ("/some/prefix/some/prefix/x", Some("/some/prefix/x")),
            ("/some/prefixed/app/", None),
            ("/app/", None),
        ] {
            let found = prefix.without(&Uri::from_static(path));
            assert_eq!(found.map(|uri| uri.to_string()).as_deref(), rest, "{path}");
        }
        let none = PathPrefix::default();
        assert_eq!(none.without(&Uri::from_static("/app/")), None);
    }
}
