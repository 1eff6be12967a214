use super::*;

#[test]
fn a_plugin_is_the_same_whatever_its_version() {
    for (spec, expected) in [
        ("a@1.0", "a"),
        (" a ", "a"),
        ("@s/a@2", "@s/a"),
        ("@s/a", "@s/a"),
        ("@", "@"),
        ("file:///x@1.js", "file:///x@1.js"),
        ("https://x/y@1", "https://x/y@1"),
        ("/abs@1", "/abs@1"),
        ("ü@1", "ü"),
        ("", ""),
    ] {
        assert_eq!(name(spec), expected, "{spec}");
    }
}
