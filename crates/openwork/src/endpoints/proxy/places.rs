//! Which folders a request to an engine means.
//!
//! opencode works in whatever folder a request names, and reads files there. Who is not shown what opens an engine sees the
//! workspaces of this server and nothing else of its machine: least of all the engine's own process, whose environment has
//! its password in it.

use std::sync::Arc;

use http::HeaderMap;

use crate::percent;
use crate::refusal::Refusal;
use crate::roster::Seat;

/// Parts of the names of parameters that say where a request is for.
const PLACES: [&str; 3] = ["directory", "workspace", "location"];

/// Fails unless all that a request says about where it is for is a workspace of `served`.
pub(super) fn stay_within(
    served: &[Arc<Seat>],
    url: &reqwest::Url,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    let is_served = |place: &String| {
        let place = place.trim_end_matches('/');
        served.iter().any(|seat| {
            seat.is_authorized && [seat.entry.directory(), &seat.entry.path].contains(&place)
        })
    };
    let named = named(url, headers);
    if named.is_some_and(|named| named.iter().all(is_served)) {
        return Ok(());
    }
    let message = "This token sees the workspaces of this server alone";
    Err(Refusal::new(403, "forbidden", message))
}

/// Every place that a request names; nothing if one of them cannot be read.
fn named(url: &reqwest::Url, headers: &HeaderMap) -> Option<Vec<String>> {
    let parameters = url.query_pairs().filter(|(name, _)| names_place(name));
    let mut named: Vec<_> = parameters.map(|(_, value)| value.into_owned()).collect();
    for (name, value) in headers {
        let name = name.as_str();
        if name.starts_with("x-opencode") && names_place(name) {
            named.push(percent::decode(value.to_str().ok()?).ok()?);
        }
    }
    Some(named)
}

fn names_place(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PLACES.iter().any(|place| name.contains(place))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn named_in(query: &str, header: Option<&'static [u8]>) -> Option<Vec<String>> {
        let url = reqwest::Url::parse(&format!("http://engine/file?{query}")).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("x-other-directory", HeaderValue::from_static("/elsewhere"));
        if let Some(header) = header {
            let value = HeaderValue::from_bytes(header).unwrap();
            headers.insert("x-opencode-directory", value);
        }
        named(&url, &headers)
    }

    #[test]
    fn a_place_is_seen_wherever_and_however_it_is_named() {
        for query in [
            "directory=/proc",
            "director%79=%2Fproc",
            "path=x&directory=/proc",
            "location[directory]=/proc",
            "location%5Bdirectory%5D=/proc",
            "workspace=/proc",
        ] {
            assert_eq!(
                named_in(query, None),
                Some(vec!["/proc".to_owned()]),
                "{query}"
            );
        }
        let twice = Some(vec!["/w".to_owned(), "/proc".to_owned()]);
        assert_eq!(named_in("directory=/w&directory=/proc", None), twice);
        assert_eq!(named_in("directory=/w", Some(b"%2Fproc")), twice);
        assert_eq!(named_in("path=/w", None), Some(Vec::new()));
        assert_eq!(named_in("", Some(b"%E0%A4%A")), None);
        assert_eq!(named_in("", Some(b"\xff")), None);
    }
}
