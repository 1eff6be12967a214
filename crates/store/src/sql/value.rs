//! What statements are given.

use std::borrow::Cow;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use sqlx::Postgres;
use sqlx::postgres::PgArguments;

/// A value, or none of its kind: a server wants to know what it is that is not there.
#[derive(Debug)]
pub(crate) enum Value<'v> {
    Integer(Option<i64>),
    Text(Option<Cow<'v, str>>),
    Bytes(Option<Cow<'v, [u8]>>),
}

impl<'v> Value<'v> {
    /// Gives a statement for a server this value.
    pub(super) fn bind_to(
        self,
        query: sqlx::query::Query<'v, Postgres, PgArguments>,
    ) -> sqlx::query::Query<'v, Postgres, PgArguments> {
        match self {
            Self::Integer(value) => query.bind(value),
            Self::Text(None) => query.bind(None::<&str>),
            Self::Text(Some(Cow::Borrowed(text))) => query.bind(text),
            Self::Text(Some(Cow::Owned(text))) => query.bind(text),
            Self::Bytes(None) => query.bind(None::<&[u8]>),
            Self::Bytes(Some(Cow::Borrowed(bytes))) => query.bind(bytes),
            Self::Bytes(Some(Cow::Owned(bytes))) => query.bind(bytes),
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Integer(Some(number)) => ValueRef::Integer(*number),
            Self::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(Some(bytes)) => ValueRef::Blob(bytes),
            Self::Integer(None) | Self::Text(None) | Self::Bytes(None) => ValueRef::Null,
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

macro_rules! from {
    ($($variant:ident: $($type:ty),*;)*) => {$($(
        impl<'v> From<$type> for Value<'v> {
            fn from(value: $type) -> Self {
                Self::$variant(Some(value.into()))
            }
        }

        impl<'v> From<Option<$type>> for Value<'v> {
            fn from(value: Option<$type>) -> Self {
                Self::$variant(value.map(Into::into))
            }
        }
    )*)*};
}

from! {
    Integer: i64;
    Text: &'v str, &'v String, String;
    Bytes: &'v [u8], Vec<u8>;
}

impl<'v> From<&'v Option<String>> for Value<'v> {
    fn from(value: &'v Option<String>) -> Self {
        value.as_deref().into()
    }
}
