//! Which pages of other origins may read answers.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    HeaderMap, HeaderValue, VARY,
};

use crate::compat::Compat;

const ORIGIN: HeaderValue = HeaderValue::from_static("Origin");
const ANY: HeaderValue = HeaderValue::from_static("*");

/// Which pages of other origins may read answers.
pub(crate) struct Cors {
    allowed: Allowed,
    headers: HeaderValue,
    methods: HeaderValue,
}

enum Allowed {
    Everybody,
    Listed(Vec<String>),
}

impl Cors {
    pub(crate) fn new(origins: &[String], compat: Compat) -> Self {
        let allowed = if origins.iter().any(|origin| origin == "*") {
            Allowed::Everybody
        } else {
            Allowed::Listed(origins.to_vec())
        };
        let (headers, methods) = match compat {
            Compat::January => (
                "Authorization, Content-Type, X-OpenWork-Host-Token, X-OpenWork-Client-Id",
                "GET,POST,PATCH,DELETE,OPTIONS",
            ),
            Compat::Scoped => (
                "Authorization, Content-Type, X-OpenWork-Host-Token, X-OpenWork-Client-Id, \
                 X-OpenCode-Directory, X-Opencode-Directory, x-opencode-directory",
                "GET,POST,PUT,PATCH,DELETE,OPTIONS",
            ),
        };
        Self {
            allowed,
            headers: HeaderValue::from_static(headers),
            methods: HeaderValue::from_static(methods),
        }
    }

    /// Adds to the answer of a request from `origin` what lets its page read it, if it may.
    pub(crate) fn add(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        let allowed = match &self.allowed {
            Allowed::Everybody => ANY,
            Allowed::Listed(origins) => {
                let listed = |origin: &&HeaderValue| {
                    origin
                        .to_str()
                        .is_ok_and(|origin| origins.iter().any(|known| known == origin))
                };
                match origin.filter(listed) {
                    Some(origin) => origin.clone(),
                    None => return,
                }
            }
        };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.headers.clone());
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone());
        headers.insert(VARY, ORIGIN);
    }
}
