//! What a message says, found out another way than the door does: with a plain reader of JSON.
//!
//! It must read whatever the door can. What is not looked at therefore stays text: a tree of a whole line would refuse
//! one that holds a value too deep or a number too large in a place that nobody reads.

use std::collections::{BTreeMap, HashSet};

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

/// The fields of an object; of two with one name the last counts.
type Fields = BTreeMap<String, Box<RawValue>>;

/// The objects on a line: one, several that are glued together, or none.
///
/// What comes after something that is no JSON is not looked at.
fn objects(line: &str) -> Vec<Fields> {
    let line = line.trim_start_matches('\u{feff}').trim_ascii();
    let values = serde_json::Deserializer::from_str(line).into_iter::<Box<RawValue>>();
    values
        .map_while(Result::ok)
        .filter_map(|value| serde_json::from_str(value.get()).ok())
        .collect()
}

/// What was offered in requests for leave: the id of each request, the option and its kind.
#[derive(Debug, Default)]
pub(crate) struct Offers(HashSet<(String, String, String)>);

impl Offers {
    /// Everything that was offered on these lines.
    pub(crate) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut offers = HashSet::new();
        for message in lines.flat_map(objects) {
            let Some(id) = part::<Value>(&message, "id") else {
                continue;
            };
            let params: Fields = part(&message, "params").unwrap_or_default();
            let options: Vec<Box<RawValue>> = part(&params, "options").unwrap_or_default();
            for option in options {
                let option: Fields = serde_json::from_str(option.get()).unwrap_or_default();
                if let (Some(name), Some(kind)) = (part(&option, "optionId"), part(&option, "kind"))
                {
                    offers.insert((id.to_string(), name, kind));
                }
            }
        }
        Self(offers)
    }

    /// Whether some request with this id offered this option as one of `kind`.
    pub(crate) fn has(&self, id: &Value, option: &str, kind: &str) -> bool {
        let offer = (id.to_string(), option.to_owned(), kind.to_owned());
        self.0.contains(&offer)
    }
}

fn part<T: DeserializeOwned>(fields: &Fields, name: &str) -> Option<T> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A request for leave as a line, with `more` as the text of one further field of it and of its parameters.
    fn asked(more: &str) -> String {
        let options = r#"[{"optionId":"no","name":"No","kind":"reject_once"}]"#;
        format!(
            r#"{{"more":{more},"id":7,"method":"session/request_permission","params":{{"options":{options}}}}}"#
        )
    }

    fn is_read(line: &str) -> bool {
        Offers::read(line.lines()).has(&json!(7), "no", "reject_once")
    }

    #[test]
    fn what_nobody_reads_hides_no_offer() {
        let deep = format!("{}0{}", "[".repeat(200), "]".repeat(200));
        for more in ["0", "1e999", deep.as_str()] {
            assert!(is_read(&asked(more)), "with {more}");
        }
        assert!(is_read(&format!("\u{feff}{}", asked("0"))));
        assert!(is_read(&format!("\x0c{{}} {}", asked("0"))));
    }

    #[test]
    fn another_offer_is_none() {
        let line = asked("0");
        let offers = Offers::read(line.lines());
        assert!(!offers.has(&json!(8), "no", "reject_once"));
        assert!(!offers.has(&json!(7), "yes", "reject_once"));
        assert!(!offers.has(&json!(7), "no", "allow_once"));
        assert!(!is_read(&format!("x{line}")));
    }
}
