//! JSON objects, read one field at a time: a field of the wrong kind is as good as none.
//!
//! Fields stay text until they are wanted, so that what a hostile agent writes takes no more memory than its
//! text does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The most fields or items that are looked at; no message of the protocol comes near.
const LIMIT: usize = 10_000;

/// The fields of an object, as they came: of two with one name the last counts. Objects are small, and most are asked for
/// a field or two, so that looking through them costs less than sorting them.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// The fields of the object in `text`; none if it is no object.
    pub(super) fn read(text: &'a str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// A field that is there and not null.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.find(name).filter(|raw| raw.get() != "null")
    }

    /// A field as a `T`.
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?.get()).ok()
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name)
    }

    /// A text, or an empty one.
    pub(super) fn text_or_empty(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// The fields of an object within this one.
    pub(super) fn object(&self, name: &str) -> Self {
        self.raw(name)
            .map_or_else(Self::default, |raw| Self::read(raw.get()))
    }

    /// The items of a list.
    pub(super) fn list(&self, name: &str) -> Vec<&'a RawValue> {
        self.raw(name).map_or_else(Vec::new, |raw| items(raw.get()))
    }

    /// The items of a list of objects.
    pub(super) fn objects(&self, name: &str) -> Vec<Self> {
        self.list(name)
            .into_iter()
            .map(|raw| Self::read(raw.get()))
            .collect()
    }

    /// Whether a field is there and says neither no nor nothing.
    pub(super) fn says_yes(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|raw| raw.get() != "false")
    }

    /// Whether there is a field of this name, whatever it holds.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// All fields in the order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let fields: BTreeMap<&str, &RawValue> = self
            .0
            .iter()
            .map(|(name, raw)| (name.as_ref(), *raw))
            .collect();
        fields.into_iter()
    }

    fn find(&self, name: &str) -> Option<&'a RawValue> {
        let mut last_first = self.0.iter().rev();
        last_first
            .find(|(known, _)| known == name)
            .map(|(_, raw)| *raw)
    }

    /// Whether there is no field.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The items of the list in `text`; none if it is no list.
pub(super) fn items(text: &str) -> Vec<&RawValue> {
    serde_json::from_str(text).map_or_else(|_| Vec::new(), |Items(items)| items)
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    if fields.len() < LIMIT {
                        fields.push((name, map.next_value()?));
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Fields(fields))
            }
        }
        object.deserialize_map(Object)
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Items<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while items.len() < LIMIT {
                    match list.next_element()? {
                        Some(item) => items.push(item),
                        None => return Ok(Items(items)),
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Items(items))
            }
        }
        list.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_the_wrong_kind_is_as_good_as_none() {
        let fields = Fields::read(
            r#"{"a":"text","b":7,"c":null,"d":[{"e":"f"},1],"g":{"h":true},"a\n":""}"#,
        );
        assert_eq!(fields.text("a").as_deref(), Some("text"));
        assert_eq!(fields.text("b"), None);
        assert_eq!(fields.get::<u64>("b"), Some(7));
        assert!(fields.raw("c").is_none() && fields.has("c"));
        assert_eq!(fields.objects("d")[0].text_or_empty("e"), "f");
        assert!(fields.objects("d")[1].is_empty());
        assert!(fields.object("g").says_yes("h"));
        assert!(fields.object("a").is_empty());
        assert!(fields.has("a\n"));
        assert!(Fields::read("[]").is_empty());
    }

    #[test]
    fn of_two_fields_with_one_name_the_last_counts() {
        let fields = Fields::read(r#"{"b":1,"a":2,"a":3}"#);
        assert_eq!(fields.get::<u64>("a"), Some(3));
        let all: Vec<_> = fields.iter().map(|(name, raw)| (name, raw.get())).collect();
        assert_eq!(all, [("a", "3"), ("b", "1")]);
    }

    #[test]
    fn more_than_the_limit_is_not_kept() {
        let text = format!("[{}0]", "0,".repeat(3 * LIMIT));
        assert_eq!(items(&text).len(), LIMIT);
    }
}
