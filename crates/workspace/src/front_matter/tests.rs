use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fields(content: &str) -> Value {
    let (front, _) = FrontMatter::split(content).unwrap();
    Value::Object(front.fields().clone())
}

fn from(value: &Value) -> FrontMatter {
    FrontMatter {
        fields: value.as_object().unwrap().clone(),
    }
}

#[test]
fn it_is_told_from_what_follows() {
    let split = |content| FrontMatter::split(content).unwrap().1;
    assert_eq!(split("---\na: 1\n---\nbody\n"), "body\n");
    assert_eq!(split("---\r\na: 1\r\n---\r\nbody\r\n"), "body\r\n");
    assert_eq!(split("---\na: 1\n---"), "");
    assert_eq!(split("no front\n---\n"), "no front\n---\n");
    assert_eq!(split("---\nnever ends\n"), "---\nnever ends\n");
    // Dashes with something behind them end nothing.
    assert_eq!(cut("---\na\n----\n---\nbody"), Some(("a\n----", "body")));
}

#[test]
fn plain_words_mean_what_yaml_says() {
    let read = fields(
        "---\nn: 1\nf: 1.50\nb: true\nz: ~\nq: \"true\"\nt: on\nd: 2026-01-31\nh: 0x1F\ne: 1e3\nm:\n  a: [1, two]\n  b: {c: d}\ntext: |\n  multi\n  line\nfolded: >-\n  one\n  two\n---\n",
    );
    assert_eq!(
        read,
        json!({
            "n": 1, "f": 1.5, "b": true, "z": null, "q": "true", "t": "on", "d": "2026-01-31",
            "h": 31, "e": 1000, "m": {"a": [1, "two"], "b": {"c": "d"}}, "text": "multi\nline\n",
            "folded": "one two",
        })
    );
    assert_eq!(
        fields("---\na: &x [1]\nb: *x\n---\n"),
        json!({"a": [1], "b": [1]})
    );
}

#[test]
fn what_is_no_yaml_is_refused() {
    for broken in [
        "---\n: : [\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\njust text\n---\n",
        "---\na: *x\n---\n",
    ] {
        let refusal = FrontMatter::split(broken).unwrap_err();
        assert_eq!(refusal.code, "invalid_frontmatter", "{broken}");
        assert_eq!(refusal.kind.status(), 422);
    }
    // Each alias doubles what the one before it said.
    let mut bomb = String::from("---\na0: &a0 [x, x]\n");
    for level in 1..30 {
        let line = format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
        bomb.push_str(&line);
    }
    bomb.push_str("---\n");
    assert!(FrontMatter::split(&bomb).is_err());
}

#[test]
fn it_is_written_as_it_was_recorded() {
    let front = from(&json!({
        "description": "d", "n": 1, "f": 1.5, "b": true, "z": null,
        "m": {"a": [1, 2], "b": {"c": "d"}, "e": [], "o": {}},
        "l": [{"x": 1, "y": "a: b"}, ["p", "q"]],
        "text": "multi\nline\n",
    }));
    assert_eq!(
        front.write(),
        "---\ndescription: d\nn: 1\nf: 1.5\nb: true\nz: null\nm:\n  a:\n    - 1\n    - 2\n  b:\n    c: d\n  e: []\n  o: {}\nl:\n  - x: 1\n    y: \"a: b\"\n  - - p\n    - q\ntext: |\n  multi\n  line\n---\n"
    );
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[a-z :#'\"\\-\n\t]{0,20}",
        "([a-z]{1,9} ?){0,40}",
        "([a-z#:\\-?&*]{1,3} {0,2}){0,60}",
        "\\PC{0,10}",
        any::<String>(),
        Just("---".to_owned()),
        Just("\n---\n".to_owned()),
        Just("null".to_owned()),
        Just(".inf".to_owned()),
        Just("+1".to_owned()),
        Just("0o7".to_owned()),
        Just("\r".to_owned()),
        Just("\u{feff}x".to_owned()),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => any_text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-1e9..1e9_f64).prop_filter("a fraction", |it| it.fract() != 0.0).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((any_text(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        pairs in proptest::collection::vec((any_text(), any_value()), 1..5),
        body in any_text(),
    ) {
        let front = FrontMatter { fields: pairs.into_iter().collect() };
        let text = front.write() + &body;
        let (read, rest) = FrontMatter::split(&text)
            .map_err(|refusal| TestCaseError::fail(format!("{refusal}: {text:?}")))?;
        prop_assert_eq!(&read.fields, &front.fields, "{:?}", text);
        prop_assert_eq!(rest, body);
    }

    #[test]
    fn nothing_is_so_broken_that_it_cannot_be_refused(text in "[-a-c:\\[\\]{}&*!|>%@`'\"#?, \n\t]{0,60}") {
        drop(FrontMatter::split(&format!("---\n{text}\n---\n")));
    }
}
