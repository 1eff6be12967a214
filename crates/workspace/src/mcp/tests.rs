use serde_json::json;

use super::*;

#[test]
fn a_server_is_disabled_by_what_covers_it() {
    for (pattern, expected) in [
        ("mcp.linear*", true),
        ("mcp.linear", true),
        ("mcp:linear:*", true),
        ("mcp.*", true),
        ("*", true),
        ("mcp.{linear,notes}", true),
        ("mcp.notes", false),
        ("linear", false),
        ("mcp.[", false),
    ] {
        assert_eq!(covers(pattern, "linear"), expected, "{pattern}");
    }
}

#[test]
fn what_a_server_needs_is_asked_for() {
    assert!(check(&json!({"type": "local", "command": ["x"]})).is_ok());
    assert!(check(&json!({"type": "remote", "url": "not a url"})).is_ok());
    for (config, message) in [
        (json!(null), "MCP config is required"),
        (json!("local"), "MCP config type must be local or remote"),
        (
            json!({"type": "local", "command": "x"}),
            "Local MCP requires command array",
        ),
        (
            json!({"type": "local", "command": []}),
            "Local MCP requires command array",
        ),
        (
            json!({"type": "remote", "url": ["x"]}),
            "Remote MCP requires url",
        ),
        (
            json!({"type": "remote", "url": ""}),
            "Remote MCP requires url",
        ),
    ] {
        assert_eq!(check(&config).unwrap_err().message, message, "{config}");
    }
}
