//! What leaves a workspace, and what opencode knows of servers elsewhere.

use serde_json::json;

use crate::server::{By, Server};
use crate::upstream::Upstream;

const SECRET: &str = r#"{
  "mcp": {
    "jira": { "type": "remote", "url": "https://jira.example.com/mcp", "headers": { "Authorization": "Bearer abcdefghijklmnop" } },
  },
}"#;

#[test]
fn in_0_13_nobody_hands_secrets_out_without_knowing() {
    let server = Server::start(&["--compat", "0.13"]);
    let export = |query: &str| server.path(&format!("/export{query}"));
    // There are none in what it was laid out with.
    server.get(&export(""));
    std::fs::write(server.root().join("ws1/opencode.jsonc"), SECRET).unwrap();
    for query in ["", "?sensitive=auto"] {
        let response = server.send(By::Client, "GET", &export(query), None);
        assert_eq!(response.status, 409, "{}", response.body);
        let said: serde_json::Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!(said["code"], "workspace_export_requires_decision");
        assert_eq!(said["details"]["warnings"][0]["id"], "mcp-config");
        assert!(!response.body.contains("abcdefghijklmnop"));
    }
    let without = server.get(&export("?sensitive=exclude"));
    assert_eq!(
        without["opencode"]["mcp"]["jira"],
        json!({ "type": "remote", "url": "https://jira.example.com/mcp" })
    );
    let with = server.get(&export("?sensitive=include"));
    assert!(with.to_string().contains("abcdefghijklmnop"));
    let refused = server.refused(By::Client, "GET", &export("?sensitive=maybe"), None);
    let code = "invalid_workspace_export_sensitive_mode".to_owned();
    assert_eq!(refused, (400, code));
}

#[test]
fn january_hands_out_what_there_is_unless_it_is_told_otherwise() {
    let server = Server::start(&[]);
    std::fs::write(server.root().join("ws1/opencode.jsonc"), SECRET).unwrap();
    let whole = server.get(&server.path("/export"));
    assert!(whole.to_string().contains("abcdefghijklmnop"));
    let without = server.get(&server.path("/export?sensitive=exclude"));
    assert!(!without.to_string().contains("abcdefghijklmnop"));
}

#[test]
fn the_users_servers_are_listed_in_0_13() {
    for (compat, names) in [
        ("0.1", &["notes", "linear"][..]),
        ("0.13", &["mine", "notes", "linear"]),
    ] {
        let server = Server::start(&["--compat", compat]);
        let global = server.root().join("home/.config/opencode/opencode.json");
        std::fs::write(global, r#"{"mcp": {"mine": {}, "notes": {}}}"#).unwrap();
        let listed = server.get(&server.path("/mcp"));
        let items = listed["items"].as_array().unwrap();
        let found: Vec<_> = items
            .iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect();
        assert_eq!(found, names, "{compat}");
        for item in items {
            let is_global = item["source"] == "config.global";
            assert_eq!(is_global, item["name"] == "mine");
        }
    }
}

#[test]
fn who_is_signed_out_of_a_server_is_so_at_the_engine() {
    let upstream = Upstream::start();
    let server = Server::start(&["--approval", "auto", "--opencode-base-url", &upstream.url()]);
    let path = server.path("/mcp/linear/auth");
    assert_eq!(
        server.good(By::Client, "DELETE", &path, None),
        json!({ "ok": true })
    );
    let asked: Vec<_> = upstream.requests();
    let asked: Vec<_> = asked
        .iter()
        .map(|request| {
            let path = request.at("path").as_str().unwrap();
            let path = path.split('?').next().unwrap();
            (request.at("method").as_str().unwrap(), path)
        })
        .collect();
    assert_eq!(
        asked,
        [
            ("POST", "/mcp/linear/disconnect"),
            ("DELETE", "/mcp/linear/auth")
        ]
    );
    let audit = server.get(&server.path("/audit"));
    assert_eq!(audit["items"][0]["action"], "mcp.auth.remove");
    assert_eq!(audit["items"][0]["summary"], "Logged out MCP linear");
    // Who was signed in nowhere is signed out; an engine that fails is said to have failed.
    upstream.fail(Some((404, "{}")));
    server.good(By::Client, "DELETE", &path, None);
    upstream.fail(Some((500, "boom")));
    let refused = server.refused(By::Client, "DELETE", &path, None);
    assert_eq!(refused, (502, "opencode_request_failed".to_owned()));
    let odd = server.path("/mcp/-x/auth");
    let refused = server.refused(By::Client, "DELETE", &odd, None);
    assert_eq!(refused, (400, "invalid_mcp_name".to_owned()));
    let audit = server.get(&server.path("/audit"));
    assert_eq!(audit["items"].as_array().unwrap().len(), 2);
}

#[test]
fn in_0_13_the_address_of_a_server_has_to_be_one() {
    for (compat, good) in [("0.1", true), ("0.13", false)] {
        let server = Server::start(&["--approval", "auto", "--compat", compat]);
        for url in [" https://x.example", "ftp://x.example", "not a url"] {
            let body = json!({ "name": "odd", "config": { "type": "remote", "url": url } });
            let response = server.send(By::Client, "POST", &server.path("/mcp"), Some(&body));
            assert_eq!(response.status == 200, good, "{url}: {}", response.body);
        }
        let body =
            json!({ "name": "fine", "config": { "type": "remote", "url": "https://x.example" } });
        server.good(By::Client, "POST", &server.path("/mcp"), Some(&body));
    }
}
