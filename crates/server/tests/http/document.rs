//! The OpenAPI document is committed; it changes only on purpose.

use std::path::Path;

/// Set it to write the document anew.
const UPDATE: &str = "UPDATE_OPENAPI";

#[test]
fn the_committed_openapi_document_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi.json");
    let mut document = countersign_server::openapi().to_pretty_json().unwrap();
    document.push('\n');
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == document,
        "openapi.json is not what the code says; run the test with {UPDATE}=1 and look at the change"
    );
}

#[test]
fn every_operation_says_how_it_refuses() {
    let document = serde_json::to_value(countersign_server::openapi()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let responses = operation["responses"].as_object().unwrap();
            let is_open = operation["security"] == serde_json::json!([{}]);
            assert!(is_open || responses.contains_key("401"), "{path}");
            assert!(operation["summary"].is_string(), "{path}");
            assert_eq!(
                operation["requestBody"].is_object(),
                responses.contains_key("415"),
                "{path}"
            );
            assert!(
                !path.contains('{') || responses.contains_key("404"),
                "{path}"
            );
        }
    }
}
