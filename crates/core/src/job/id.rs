//! Ids of jobs: `task-<base36 milliseconds>-<6 base36 digits>`, as people and scripts know them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::digest::Digest;
use crate::job::JobKind;
use crate::time::Timestamp;

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// How many digits tell jobs of the same millisecond apart.
const RANDOM: usize = 6;
/// The longest id that is taken from a client.
const LONGEST: usize = 64;

/// Identifies a job.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(String);

/// Why a text is not a job's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a job's id of the form `task-…-…`")]
pub struct InvalidJobId(String);

impl JobId {
    /// Makes a new id.
    pub fn generate(kind: JobKind, now: Timestamp) -> Self {
        let millis = u64::try_from(now.as_micros() / 1_000).unwrap_or_default();
        // The last 62 bits of a version 7 UUID are random.
        let random = Uuid::now_v7().as_u64_pair().1 & (u64::MAX >> 2);
        let mut digits = base_36(random);
        while digits.len() < RANDOM {
            digits.insert(0, '0');
        }
        let random = &digits[digits.len() - RANDOM..];
        Self(format!("{}-{}-{random}", kind.prefix(), base_36(millis)))
    }

    /// The id of the one job that `seed` has at a time: the same each time that it is asked for.
    pub fn derived(kind: JobKind, at: Timestamp, seed: &str) -> Self {
        let millis = u64::try_from(at.as_micros() / 1_000).unwrap_or_default();
        let digest = Digest::of_bytes(seed.as_bytes());
        let digits = digest.as_bytes().iter().take(RANDOM);
        let digits = digits.map(|byte| char::from(DIGITS[usize::from(*byte) % DIGITS.len()]));
        let digits: String = digits.collect();
        Self(format!("{}-{}-{digits}", kind.prefix(), base_36(millis)))
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What kind of job it is of.
    pub fn kind(&self) -> Option<JobKind> {
        read(&self.0)
    }

    /// Whether `text` could be the beginning of an id: nothing else is worth looking for.
    pub fn could_begin_with(text: &str) -> bool {
        !text.is_empty() && text.len() <= LONGEST && text.bytes().all(is_letter)
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn base_36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from(
            DIGITS[usize::try_from(number % 36).unwrap_or_default()],
        ));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

fn read(text: &str) -> Option<JobKind> {
    let is_digits = |part: &str, least: usize| {
        part.len() >= least && part.bytes().all(|byte| is_letter(byte) && byte != b'-')
    };
    if text.len() > LONGEST {
        return None;
    }
    let (rest, random) = text.rsplit_once('-')?;
    let (prefix, millis) = rest.rsplit_once('-')?;
    let kind = JobKind::ALL
        .into_iter()
        .find(|kind| kind.prefix() == prefix)?;
    (is_digits(random, 4) && is_digits(millis, 6)).then_some(kind)
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for JobId {
    type Err = InvalidJobId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match read(text) {
            Some(_) => Ok(Self(text.to_owned())),
            None => Err(InvalidJobId(text.chars().take(80).collect())),
        }
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for JobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for JobId {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some(
                "^(task|review|adversarial-review)-[a-z0-9]{6,}-[a-z0-9]{4,}$",
            ))
            .into()
    }
}

impl utoipa::ToSchema for JobId {}
