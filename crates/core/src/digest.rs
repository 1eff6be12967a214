//! Digests: SHA-256 over JSON in one canonical form, so that equal content has one digest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest; hexadecimal in text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// What a chain begins with.
    pub const ZERO: Self = Self([0; 32]);

    /// The digest of `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of `value`, whatever the order of its keys.
    pub fn of_json(value: &Value) -> Self {
        let mut text = Vec::new();
        write_canonical(value, &mut text);
        Self::of_bytes(&text)
    }

    /// The digest of several parts, none of which can be mistaken for a piece of its neighbour.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The text of `value` with sorted keys and no white space: equal values have one text.
pub fn canonical(value: &Value) -> String {
    let mut text = Vec::new();
    write_canonical(value, &mut text);
    String::from_utf8(text).expect("JSON is text")
}

/// Writes `value` with sorted keys and no white space.
fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => write_plain(value, out),
        Value::String(text) => write_plain(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (index, (key, field)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_plain(key, out);
                out.push(b':');
                write_canonical(field, out);
            }
            out.push(b'}');
        }
    }
}

/// Writes what has only one text.
fn write_plain(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("memory takes all that is written to it");
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // At once, not digit by digit: every row of the ledger has some.
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest in hexadecimal")]
pub struct InvalidDigest;

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.as_bytes();
        if text.len() != 64 {
            return Err(InvalidDigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16).ok_or(InvalidDigest)?;
            let low = char::from(pair[1]).to_digit(16).ok_or(InvalidDigest)?;
            *byte = u8::try_from(high << 4 | low).map_err(|_| InvalidDigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Digest {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^[0-9a-f]{64}$"))
            .into()
    }
}

impl utoipa::ToSchema for Digest {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_does_not_matter_and_every_value_does() {
        let first = Digest::of_json(&json!({"a": 1, "b": {"c": [1, 2], "d": null}}));
        let same = Digest::of_json(&json!({"b": {"d": null, "c": [1, 2]}, "a": 1}));
        let other = Digest::of_json(&json!({"a": 1, "b": {"c": [2, 1], "d": null}}));
        assert_eq!(first, same);
        assert_ne!(first, other);
        assert_eq!(first.to_string().parse(), Ok(first));
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        assert_ne!(
            Digest::of_parts([b"ab".as_slice(), b"c"]),
            Digest::of_parts([b"a".as_slice(), b"bc"])
        );
    }
}
