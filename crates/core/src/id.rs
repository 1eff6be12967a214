//! Identifiers: one newtype each, written `prefix_` plus 26 base-32 digits of a UUID version 7.
//!
//! They sort by the time of their making, to the microsecond, and can be told apart by a reader and by the compiler.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::time::Timestamp;

/// Crockford's digits in lower case: no `i`, `l`, `o` or `u` to misread.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an id of the form `{prefix}_…`")]
pub struct InvalidId {
    prefix: &'static str,
    text: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Makes a new id that sorts by `now`.
            pub fn generate(now: Timestamp) -> Self {
                Self(uuid_at(now))
            }

            /// The id with this UUID, which other protocols know it by.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Its UUID, for protocols that know ids of that form.
            pub const fn as_uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_id(f, Self::PREFIX, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                read_id(Self::PREFIX, text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                id_schema(Self::PREFIX)
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

id!(
    /// Identifies an ask.
    AskId, "ask"
);
id!(
    /// Identifies a workspace.
    WorkspaceId, "ws"
);
id!(
    /// Identifies an engine of a workspace, over all its lives.
    EngineId, "engine"
);
id!(
    /// Identifies one life of an engine's process.
    RunId, "run"
);
id!(
    /// Identifies a session, whatever the engine itself calls it.
    SessionId, "session"
);
id!(
    /// Identifies a turn.
    TurnId, "turn"
);
id!(
    /// Identifies something that came along with a prompt.
    AttachmentId, "att"
);
id!(
    /// Identifies an actor.
    ActorId, "actor"
);
id!(
    /// Identifies a token; it is not the secret.
    TokenId, "tok"
);
id!(
    /// Identifies a rule.
    RuleId, "rule"
);
id!(
    /// Identifies an alarm.
    AlarmId, "alarm"
);
id!(
    /// Identifies a notification, over all the attempts to send it.
    NotificationId, "ntf"
);

impl WorkspaceId {
    /// Stands for the server itself where a deed is about no one workspace.
    pub const SERVER: Self = Self(Uuid::nil());
}

/// Of its random digits the first ten bits are what lies below the millisecond: several asks are opened within one, and
/// lists are by id.
fn uuid_at(now: Timestamp) -> Uuid {
    const BITS_BELOW_MILLISECOND: u8 = 10;
    let micros = u64::try_from(now.as_micros()).unwrap_or_default();
    let nanos = u32::try_from(micros % 1_000_000 * 1_000).unwrap_or_default();
    Uuid::new_v7(uuid::Timestamp::from_unix_time(
        micros / 1_000_000,
        nanos,
        u128::from(micros % 1_000),
        BITS_BELOW_MILLISECOND,
    ))
}

fn write_id(f: &mut fmt::Formatter<'_>, prefix: &str, id: Uuid) -> fmt::Result {
    let mut rest = id.as_u128();
    let mut digits = [0; LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest & 31) as usize];
        rest >>= 5;
    }
    f.write_str(prefix)?;
    f.write_str("_")?;
    // At once, not digit by digit: every row of the ledger has some.
    f.write_str(str::from_utf8(&digits).map_err(|_| fmt::Error)?)
}

fn read_id(prefix: &'static str, text: &str) -> Result<Uuid, InvalidId> {
    parse(prefix, text).ok_or_else(|| InvalidId {
        prefix,
        text: text.chars().take(80).collect(),
    })
}

fn parse(prefix: &str, text: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    // 26 digits hold 130 bits: the first may only carry three of its five.
    if digits.len() != LENGTH || digits.as_bytes()[0] > b'7' {
        return None;
    }
    digits
        .bytes()
        .try_fold(0_u128, |sum, byte| {
            let digit = DIGITS.iter().position(|known| *known == byte)?;
            Some(sum << 5 | digit as u128)
        })
        .map(Uuid::from_u128)
}

fn id_schema(prefix: &str) -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .pattern(Some(format!("^{prefix}_[0-7][0-9a-hjkmnp-tv-z]{{25}}$")))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let ask = AskId::generate(Timestamp::from_micros(0)).to_string();
        assert!(ask.parse::<RuleId>().is_err());
        assert!(format!("{ask}0").parse::<AskId>().is_err());
    }

    proptest! {
        #[test]
        fn ids_sort_by_the_time_of_their_making(
            // A version 7 UUID has 48 bits of milliseconds.
            micros in 0..(1_i64 << 48) * 1_000 - 1_000_000,
            later in prop_oneof![Just(1), 1..1_000_000_i64],
        ) {
            let early = AskId::generate(Timestamp::from_micros(micros));
            let late = AskId::generate(Timestamp::from_micros(micros + later));
            prop_assert!(early < late);
            prop_assert!(early.to_string() < late.to_string());
        }

        #[test]
        fn what_is_written_is_read_back(micros in 0..i64::MAX / 2) {
            let id = AskId::generate(Timestamp::from_micros(micros));
            prop_assert_eq!(id.to_string().parse::<AskId>().unwrap(), id);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            drop(text.parse::<AskId>());
            drop(format!("ask_{text}").parse::<AskId>());
        }
    }
}
