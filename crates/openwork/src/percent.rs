//! Percent-encoding in paths and queries.

use crate::refusal::Refusal;

/// Decodes a segment of a path.
pub(crate) fn decode(segment: &str) -> Result<String, Refusal> {
    if !segment.contains('%') {
        return Ok(segment.to_owned());
    }
    bytes(segment, Spaces::AsThemselves)
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| {
            Refusal::new(
                400,
                "invalid_path",
                "The path is not valid percent-encoded UTF-8",
            )
        })
}

/// The value of `name` in a query, as browsers encode it. What cannot be decoded is taken as it is.
pub(crate) fn query<'a>(query: Option<&'a str>, name: &str) -> Option<String> {
    let pairs = query?
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let text = |encoded: &'a str| {
        let bytes = bytes(encoded, Spaces::AsPluses);
        bytes.map_or_else(
            || encoded.to_owned(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    };
    pairs
        .into_iter()
        .find(|(key, _)| text(key) == name)
        .map(|(_, value)| text(value))
}

/// Encodes a value for a query, as browsers do.
pub(crate) fn encode(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            byte => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                encoded.push('%');
                encoded.push(char::from(DIGITS[usize::from(byte >> 4)]));
                encoded.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
    encoded
}

#[derive(Clone, Copy, PartialEq)]
enum Spaces {
    AsThemselves,
    AsPluses,
}

fn bytes(text: &str, spaces: Spaces) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'%' => {
                let (digits, tail) = rest.split_at_checked(2)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                let digits = std::str::from_utf8(digits).ok()?;
                decoded.push(u8::from_str_radix(digits, 16).ok()?);
                rest = tail;
            }
            b'+' if spaces == Spaces::AsPluses => decoded.push(b' '),
            byte => decoded.push(byte),
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_or_refused() {
        assert_eq!(decode("%40acme%2Ftools").unwrap(), "@acme/tools");
        assert_eq!(decode("a+b").unwrap(), "a+b");
        for wrong in ["%E0%A4%A", "%", "%zz", "%+1", "%ff"] {
            assert_eq!(decode(wrong).unwrap_err().status, 400, "{wrong}");
        }
    }

    #[test]
    fn queries_are_read_by_name() {
        let text = Some("a=1&path=x%2Fy+z&bad=%zz&flag");
        assert_eq!(query(text, "path").as_deref(), Some("x/y z"));
        assert_eq!(query(text, "bad").as_deref(), Some("%zz"));
        assert_eq!(query(text, "flag").as_deref(), Some(""));
        assert_eq!(query(text, "none"), None);
        assert_eq!(encode("/a b/ä"), "%2Fa+b%2F%C3%A4");
    }
}
