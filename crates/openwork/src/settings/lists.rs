//! Lists in one text.

/// Reads a JSON array, or what is between commas and semicolons. An array that cannot be read is empty.
pub(super) fn parse(text: &str) -> Vec<String> {
    let text = text.trim();
    if text.starts_with('[') {
        let items: Vec<serde_json::Value> = serde_json::from_str(text).unwrap_or_default();
        return items
            .iter()
            .map(in_words)
            .filter(|item| !item.is_empty())
            .collect();
    }
    text.split([',', ';'])
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

fn in_words(value: &serde_json::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), |text| text.trim().to_owned())
}
