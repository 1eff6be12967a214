//! Ids on the wire: random UUIDs.

/// One that nobody has had.
pub(crate) fn fresh() -> String {
    uuid::Builder::from_random_bytes(rand::random())
        .into_uuid()
        .hyphenated()
        .to_string()
}
