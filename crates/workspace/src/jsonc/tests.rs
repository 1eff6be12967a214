use proptest::prelude::*;
use serde_json::json;

use super::scan::{Scanner, Token};
use super::*;

#[track_caller]
fn check_set(before: &str, keys: &[&str], value: &Value, after: &str) {
    assert_eq!(set(before, keys, value).unwrap(), after);
}

fn faults(text: &str) -> Value {
    parse(text).unwrap_err().details.unwrap()
}

#[test]
fn what_is_wrong_is_said_as_jsonc_parser_says_it() {
    assert_eq!(
        faults("{ \"plugin\": [ \"x\", }"),
        json!([
            {"code": "ValueExpected", "offset": 19, "length": 1},
            {"code": "CloseBracketExpected", "offset": 20, "length": 0},
            {"code": "CloseBraceExpected", "offset": 20, "length": 0},
        ])
    );
    assert_eq!(
        faults(""),
        json!([{"code": "ValueExpected", "offset": 0, "length": 0}])
    );
    assert_eq!(
        faults("{\"ü😀\": x}"),
        json!([
            {"code": "InvalidSymbol", "offset": 8, "length": 1},
            {"code": "ValueExpected", "offset": 9, "length": 1},
        ])
    );
    assert_eq!(
        faults("{\"a\" 1}")[0],
        json!({"code": "ColonExpected", "offset": 5, "length": 1})
    );
    assert_eq!(
        faults("{\"a\": 1 \"b\": 2}")[0],
        json!({"code": "CommaExpected", "offset": 8, "length": 3})
    );
    assert_eq!(
        faults("{} {}")[0],
        json!({"code": "EndOfFileExpected", "offset": 3, "length": 1})
    );
    assert_eq!(faults("[\"a")[0]["code"], "UnexpectedEndOfString");
    assert_eq!(faults("[1.]")[0]["code"], "UnexpectedEndOfNumber");
    assert_eq!(faults("[\"\\x\"]")[0]["code"], "InvalidEscapeCharacter");
    assert_eq!(faults("[\"\\u12\"]")[0]["code"], "InvalidUnicode");
    assert_eq!(faults("{} /*")[0]["code"], "UnexpectedEndOfComment");
    let deep = "[".repeat(100_000);
    assert!(parse(&deep).is_err());
}

#[test]
fn what_is_right_is_read() {
    let text = "\u{feff}// head\n{ /* in */ \"a\": [1, -2.5e3, \"\\u00fc\\n\",], \"b\": {\"c\": null,}, }\n";
    assert_eq!(
        parse(text).unwrap(),
        json!({"a": [1, -2500.0, "ü\n"], "b": {"c": null}})
    );
    assert_eq!(parse("{\"a\": 1, \"a\": 2}").unwrap(), json!({"a": 2}));
    assert_eq!(parse("\"\\ud800\"").unwrap(), json!("\u{fffd}"));
}

#[test]
fn a_new_key_goes_behind_the_others_and_what_is_around_it_stays() {
    let new = json!("new");
    check_set("{}", &["k"], &new, "{\n  \"k\": \"new\"\n}\n");
    check_set("", &["k"], &new, "{\n  \"k\": \"new\"\n}\n");
    check_set(
        "// only\n",
        &["k"],
        &new,
        "// only\n{\n  \"k\": \"new\"\n}\n",
    );
    check_set(
        "{\n    \"a\": 1 // tail\n    // last\n}\n// foot\n",
        &["k"],
        &new,
        "{\n    \"a\": 1, // tail\n    \"k\": \"new\"\n    // last\n}\n// foot\n",
    );
    check_set(
        "{\n\t\"a\": 1, // tail\n}\n",
        &["k"],
        &json!({"x": [1]}),
        "{\n\t\"a\": 1, // tail\n\t\"k\": {\n\t\t\"x\": [\n\t\t\t1\n\t\t]\n\t},\n}\n",
    );
    check_set(
        "{\r\n  \"a\": 1\r\n}\r\n",
        &["k"],
        &json!([1, 2]),
        "{\r\n  \"a\": 1,\r\n  \"k\": [\r\n    1,\r\n    2\r\n  ]\r\n}\r\n",
    );
    check_set(
        "{ \"a\": 1 }",
        &["k"],
        &json!([1, 2]),
        "{ \"a\": 1, \"k\": [1, 2] }\n",
    );
    check_set(
        "\u{feff}{ // why\n}",
        &["k", "l"],
        &new,
        "\u{feff}{ // why\n  \"k\": {\n    \"l\": \"new\"\n  }\n}\n",
    );
    check_set(
        "{/* why */}",
        &["k"],
        &json!(1),
        "{/* why */\n  \"k\": 1\n}\n",
    );
}

#[test]
fn what_is_inside_a_value_and_stays_keeps_its_comments() {
    let before = "{\n  \"mcp\": {\n    /* local */\n    \"notes\": { \"type\": \"local\" }, // one\n    \"linear\": { \"enabled\": true } // two\n  }, // end\n}\n";
    check_set(
        before,
        &["mcp", "new"],
        &json!({"type": "remote"}),
        "{\n  \"mcp\": {\n    /* local */\n    \"notes\": { \"type\": \"local\" }, // one\n    \"linear\": { \"enabled\": true }, // two\n    \"new\": {\n      \"type\": \"remote\"\n    }\n  }, // end\n}\n",
    );
    check_set(
        before,
        &["mcp"],
        &json!({"linear": {"enabled": false}, "notes": {"type": "local"}}),
        &before.replace("true", "false"),
    );
    assert_eq!(
        remove(before, &["mcp", "linear"]).unwrap(),
        "{\n  \"mcp\": {\n    /* local */\n    \"notes\": { \"type\": \"local\" } // one\n    // two\n  }, // end\n}\n"
    );
    assert_eq!(
        remove(before, &["mcp", "notes"]).unwrap(),
        "{\n  \"mcp\": {\n    /* local */\n    // one\n    \"linear\": { \"enabled\": true } // two\n  }, // end\n}\n"
    );
    assert_eq!(remove(before, &["mcp", "nobody"]).unwrap(), before);
    assert_eq!(
        remove("{\"a\": {\"b\": 1}}\n", &["a", "b"]).unwrap(),
        "{\"a\": {}}\n"
    );
}

#[test]
fn a_list_keeps_what_it_had() {
    let before = "{\n  \"plugin\": [\n    \"a\", // first\n    \"b\" // second\n  ]\n}\n";
    check_set(
        before,
        &["plugin"],
        &json!(["a", "b", "c"]),
        "{\n  \"plugin\": [\n    \"a\", // first\n    \"b\", // second\n    \"c\"\n  ]\n}\n",
    );
    check_set(
        before,
        &["plugin"],
        &json!(["z", "a", "b"]),
        "{\n  \"plugin\": [\n    \"z\",\n    \"a\", // first\n    \"b\" // second\n  ]\n}\n",
    );
    check_set(
        before,
        &["plugin"],
        &json!(["b"]),
        "{\n  \"plugin\": [\n    // first\n    \"b\" // second\n  ]\n}\n",
    );
    check_set(before, &["plugin"], &json!([]), "{\n  \"plugin\": []\n}\n");
    check_set(
        "{\"plugin\": [\"a\", \"b\"]}\n",
        &["plugin"],
        &json!(["a", "c", "b"]),
        "{\"plugin\": [\"a\", \"c\", \"b\"]}\n",
    );
    check_set(
        "{\"plugin\": \"one\"}\n",
        &["plugin"],
        &json!(["one", "two"]),
        "{\"plugin\": [\n  \"one\",\n  \"two\"\n]}\n",
    );
}

#[test]
fn of_two_equal_keys_the_one_that_counts_is_set_and_both_are_taken_out() {
    let before = "{\"a\": 1, \"a\": 2}\n";
    check_set(before, &["a"], &json!(3), "{\"a\": 1, \"a\": 3}\n");
    assert_eq!(remove(before, &["a"]).unwrap(), "{}\n");
}

#[test]
fn what_is_no_object_or_broken_is_not_edited() {
    assert_eq!(
        set("[]", &["a"], &json!(1)).unwrap_err().code,
        "invalid_config"
    );
    assert_eq!(
        set("{ \"a\": [ }", &["a"], &json!(1)).unwrap_err().code,
        "invalid_jsonc"
    );
}

fn comments_of(text: &str) -> Vec<&str> {
    let mut scanner = Scanner::new(text);
    let mut comments = Vec::new();
    loop {
        let scanned = scanner.next();
        if scanned.token == Token::End {
            break;
        }
        if matches!(scanned.token, Token::LineComment | Token::BlockComment) {
            comments.push(&text[scanned.at]);
        }
    }
    comments.sort_unstable();
    comments
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~ü😀\\\\\"\n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-d]", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    proptest::collection::vec(("[a-d]", any_value()), 0..5)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

/// Space and comments, which may be anywhere between tokens.
fn any_filler() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[a-z, \"{}\\[\\]]{0,5}".prop_map(|it| format!(" // {it}\n")),
        1 => "[a-z, \"{}\\[\\]\n]{0,5}".prop_map(|it| format!("/* {it} */")),
    ]
}

/// Writes a value with fillers between everything, and commas behind the last here and there.
fn written(value: &Value, fillers: &mut std::vec::IntoIter<String>) -> String {
    let fill = |fillers: &mut std::vec::IntoIter<String>| fillers.next().unwrap_or_default();
    let (open, members, close) = match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| written(item, fillers));
            ('[', items.collect::<Vec<_>>(), ']')
        }
        Value::Object(map) => {
            let members = map.iter().map(|(key, value)| {
                let key = Value::from(key.as_str());
                let (one, other) = (fill(fillers), fill(fillers));
                format!("{key}{one}:{other}{}", written(value, fillers))
            });
            ('{', members.collect(), '}')
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return value.to_string();
        }
    };
    let mut text = open.to_string();
    let last = members.len();
    for (index, member) in members.into_iter().enumerate() {
        let (one, other) = (fill(fillers), fill(fillers));
        text.push_str(&one);
        text.push_str(&member);
        text.push_str(&other);
        if index + 1 < last || other.contains('\t') {
            text.push(',');
        }
    }
    text.push_str(&fill(fillers));
    text.push(close);
    text
}

/// Whether every byte of `text` is in `other`, in the same order.
fn is_within(text: &str, other: &str) -> bool {
    let mut rest = other.bytes();
    text.bytes().all(|byte| rest.any(|it| it == byte))
}

/// Where the value under `key` is.
fn place_of(text: &str, key: &str) -> std::ops::Range<usize> {
    let root = parse::parse(text).unwrap();
    root.property(key).unwrap().value.at.clone()
}

/// Where the key and its value are.
fn property_of<'t>(text: &'t str, key: &str) -> &'t str {
    let root = parse::parse(text).unwrap();
    let property = root.property(key).unwrap();
    &text[property.key_at.start..property.value.at.end]
}

proptest! {
    #[test]
    fn a_new_key_is_put_in_and_every_byte_stays(
        object in any_object(),
        fillers in proptest::collection::vec(any_filler(), 0..40),
        value in any_value(),
        mark in any::<bool>(),
    ) {
        let mut text = written(&object, &mut fillers.into_iter());
        if mark {
            text.insert(0, '\u{feff}');
        }
        prop_assert_eq!(&parse(&text).unwrap(), &object, "{}", text);
        let after = set(&text, &["new"], &value).unwrap();
        let mut expected = object.clone();
        expected["new"] = value;
        prop_assert_eq!(parse(&after).unwrap(), expected, "{:?} became {:?}", text, after);
        prop_assert_eq!(comments_of(&text), comments_of(&after), "{:?} became {:?}", text, after);
        // Only the space in an empty object is laid out anew.
        let is_empty = object.as_object().unwrap().is_empty();
        prop_assert!(is_empty || is_within(&text, &after), "{:?} became {:?}", text, after);
        // What was put in can be taken out again.
        let without = remove(&after, &["new"]).unwrap();
        prop_assert_eq!(parse(&without).unwrap(), object);
        prop_assert_eq!(comments_of(&text), comments_of(&without), "{:?} became {:?}", after, without);
    }

    #[test]
    fn a_key_is_taken_out_and_no_comment_outside_it(
        object in any_object(),
        fillers in proptest::collection::vec(any_filler(), 0..40),
    ) {
        let text = written(&object, &mut fillers.into_iter());
        for key in object.as_object().unwrap().keys() {
            let without = remove(&text, &[key]).unwrap();
            let mut expected = object.clone();
            expected.as_object_mut().unwrap().remove(key);
            prop_assert_eq!(parse(&without).unwrap(), expected, "{:?} became {:?}", text, without);
            let mut comments = comments_of(&without);
            comments.extend(comments_of(property_of(&text, key)));
            comments.sort_unstable();
            prop_assert_eq!(comments_of(&text), comments, "{:?} became {:?}", text, without);
            let without_end = without.trim_end_matches(['\r', '\n']);
            prop_assert!(is_within(without_end, &text), "{:?} became {:?}", text, without);
        }
        prop_assert_eq!(remove(&text, &["new"]).unwrap(), text);
    }

    #[test]
    fn whatever_a_value_becomes_only_that_value_changes(
        object in any_object(),
        fillers in proptest::collection::vec(any_filler(), 0..40),
        value in any_value(),
    ) {
        let text = written(&object, &mut fillers.into_iter()) + "\n";
        for (key, old) in object.as_object().unwrap() {
            prop_assert_eq!(&set(&text, &[key], old).unwrap(), &text);
            let after = set(&text, &[key], &value).unwrap();
            let mut expected = object.clone();
            expected[key] = value.clone();
            prop_assert_eq!(parse(&after).unwrap(), expected, "{:?} became {:?}", text, after);
            let (before, now) = (place_of(&text, key), place_of(&after, key));
            prop_assert_eq!(&text[..before.start], &after[..now.start]);
            prop_assert_eq!(&text[before.end..], &after[now.end..]);
        }
    }

    #[test]
    fn nothing_is_so_broken_that_it_cannot_be_refused(text in "[\\[\\]{}:,\"/*\\\\ua-c0-9.eE+-é\n ]{0,40}") {
        drop(parse(&text));
        drop(set(&text, &["a", "b"], &json!({"c": [1]})));
        drop(remove(&text, &["a"]));
    }
}
