//! What 0.13 added for one skill, one MCP server, the configuration as text, and names in a conversation.

use serde_json::json;

use crate::jsonc::meaning;
use crate::server::{By, Server};

fn config(server: &Server) -> String {
    std::fs::read_to_string(server.root().join("ws1/opencode.jsonc")).unwrap()
}

#[test]
fn one_skill_is_shown_with_its_text_and_deleted_with_its_folder() {
    let server = Server::start(&["--approval", "auto", "--compat", "0.13"]);
    let skill = json!({ "name": "tidy", "content": "Do it.\n", "description": "Tidies up" });
    server.good(By::Client, "POST", &server.path("/skills"), Some(&skill));
    let path = server.path("/skills/tidy");
    let shown = server.get(&path);
    assert_eq!(shown["item"]["description"], "Tidies up", "{shown}");
    let content = shown["content"].as_str().unwrap();
    assert!(content.ends_with("Do it.\n"), "{shown}");
    let folder = server.root().join("ws1/.opencode/skills/tidy");
    assert!(folder.exists());
    server.good(By::Client, "DELETE", &path, None);
    assert!(!folder.exists());
    assert_eq!(server.refused(By::Client, "GET", &path, None).0, 404);
    assert_eq!(server.refused(By::Client, "DELETE", &path, None).0, 404);
}

#[test]
fn one_server_is_switched_off_and_on_in_place() {
    let server = Server::start(&["--approval", "auto", "--compat", "0.13"]);
    let comments = meaning(&config(&server)).unwrap().1;
    let path = server.path("/mcp/notes/enabled");
    for enabled in [false, true] {
        let wish = json!({ "enabled": enabled });
        server.good(By::Client, "POST", &path, Some(&wish));
        let (data, kept) = meaning(&config(&server)).unwrap();
        assert_eq!(data["mcp"]["notes"]["enabled"], enabled);
        assert_eq!(data["mcp"]["notes"]["type"], "local");
        assert_eq!(kept, comments);
    }
    let wish = json!({ "enabled": "yes" });
    let refused = server.refused(By::Client, "POST", &path, Some(&wish));
    assert_eq!(refused, (400, "invalid_payload".to_owned()));
    let unknown = server.path("/mcp/nobody/enabled");
    let wish = json!({ "enabled": true });
    let refused = server.refused(By::Client, "POST", &unknown, Some(&wish));
    assert_eq!(refused, (404, "mcp_not_found".to_owned()));
}

#[test]
fn the_configuration_is_read_and_written_as_it_is() {
    let server = Server::start(&["--approval", "auto", "--compat", "0.13"]);
    let path = server.path("/opencode-config?scope=project");
    let shown = server.get(&path);
    assert_eq!(shown["content"], config(&server), "{shown}");
    let text = "{\n  // all of it\n  \"model\": \"m\"\n}\n";
    let wish = json!({ "scope": "project", "content": text });
    server.good(
        By::Client,
        "POST",
        &server.path("/opencode-config"),
        Some(&wish),
    );
    assert_eq!(config(&server), text);
    let wish = json!({ "scope": "project", "content": "{ no" });
    let path = server.path("/opencode-config");
    let refused = server.refused(By::Client, "POST", &path, Some(&wish));
    assert!((400..500).contains(&refused.0), "{refused:?}");
    assert_eq!(config(&server), text);
}

#[test]
fn names_are_resolved_within_the_workspace_alone() {
    let server = Server::start(&["--approval", "auto", "--compat", "0.13"]);
    let absolute = server.root().join("ws1/opencode.jsonc");
    let wish = json!({ "targets": [
        { "kind": "file", "value": "opencode.jsonc" },
        { "kind": "file", "value": absolute },
        { "kind": "file", "value": "not-there.md" },
        { "kind": "file", "value": "/etc/hostname" },
        { "kind": "file", "value": "../home" },
        { "kind": "url", "value": "https://example.com/" },
        { "kind": "url", "value": "file:///etc/hostname" },
    ] });
    let path = server.path("/artifacts/resolve");
    let resolved = server.good(By::Client, "POST", &path, Some(&wish));
    let values: Vec<_> = resolved["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["value"].as_str().unwrap(), item["exists"] == true))
        .collect();
    assert_eq!(
        values,
        [
            ("opencode.jsonc", true),
            ("opencode.jsonc", true),
            ("not-there.md", false),
            ("https://example.com/", true)
        ]
    );
}
