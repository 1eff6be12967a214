//! What a scalar of YAML is that has neither quotes nor a tag: the core schema of YAML 1.2.

use serde_json::{Number, Value};

/// What `text` means, written plainly.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        text => number(text).unwrap_or_else(|| Value::from(text)),
    }
}

/// Whether `text`, written plainly, means itself.
pub(super) fn is_text(text: &str) -> bool {
    // What is no number in JSON is one in YAML.
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_special =
        matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN");
    !is_special && resolve(text).is_string()
}

fn number(text: &str) -> Option<Value> {
    let radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix)?;
        let are_digits = !digits.is_empty() && digits.chars().all(|it| it.is_digit(radix));
        are_digits.then(|| u64::from_str_radix(digits, radix).ok())?
    };
    if let Some(number) = radix("0o", 8).or_else(|| radix("0x", 16)) {
        return Some(Value::from(number));
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !unsigned.starts_with(|it: char| it.is_ascii_digit() || it == '.') {
        return None;
    }
    let is_number = unsigned
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if !is_number {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
    // What has no fraction is written without one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only what an integer can say exactly is made one"
    )]
    if float.fract() == 0.0 && float.abs() < 9e15 {
        return Some(Value::from(float as i64));
    }
    Number::from_f64(float).map(Value::Number)
}
