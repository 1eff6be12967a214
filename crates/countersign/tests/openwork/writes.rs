//! Writes: none is lost, none is half done, and none is done for somebody who has gone.

use std::sync::Barrier;

use serde_json::json;

use crate::fixture;
use crate::jsonc::meaning;
use crate::server::{By, Server};

/// How many write at once.
const CROWD: usize = 50;

#[test]
fn of_fifty_plugins_and_fifty_servers_at_once_none_is_lost_and_no_comment() {
    let server = Server::start(&["--approval", "auto"]);
    let before = std::fs::read_to_string(server.root().join("ws1/opencode.jsonc")).unwrap();
    let start = Barrier::new(2 * CROWD);
    std::thread::scope(|scope| {
        for number in 0..CROWD {
            let (server, start) = (&server, &start);
            scope.spawn(move || {
                start.wait();
                let spec = json!({ "spec": format!("plugin-{number}") });
                server.good(By::Client, "POST", &server.path("/plugins"), Some(&spec));
            });
            scope.spawn(move || {
                start.wait();
                let config = json!({ "type": "local", "command": ["x", number.to_string()] });
                let body = json!({ "name": format!("mcp-{number}"), "config": config });
                server.good(By::Client, "POST", &server.path("/mcp"), Some(&body));
            });
        }
    });
    let after = std::fs::read_to_string(server.root().join("ws1/opencode.jsonc")).unwrap();
    let (data, comments) = meaning(&after).unwrap();
    let plugins: Vec<_> = data["plugin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect();
    for number in 0..CROWD {
        assert!(
            plugins.contains(&format!("plugin-{number}").as_str()),
            "{after}"
        );
        assert!(
            data["mcp"].get(format!("mcp-{number}")).is_some(),
            "{after}"
        );
    }
    assert_eq!(comments, meaning(&before).unwrap().1);
    let audit = server.get(&server.path("/audit?limit=200"));
    assert_eq!(audit["items"].as_array().unwrap().len(), 2 * CROWD);
}

#[test]
fn an_import_with_one_bad_entry_changes_nothing() {
    let server = Server::start(&["--approval", "auto"]);
    let before = fixture::snapshot(&server.root());
    let body = json!({
        "mode": { "skills": "replace", "opencode": "replace" },
        "opencode": { "gone": true },
        "skills": [
            { "name": "fine", "content": "x", "description": "d" },
            { "name": "../evil", "content": "x", "description": "d" },
        ],
    });
    let refused = server.refused(By::Client, "POST", &server.path("/import"), Some(&body));
    assert_eq!(refused, (400, "invalid_skill_name".to_owned()));
    assert_eq!(fixture::snapshot(&server.root()), before);
}

#[test]
fn nobody_is_asked_about_what_can_only_be_refused() {
    let server = Server::start(&["--approval", "manual"]);
    for (path, body, code) in [
        (
            "/skills",
            json!({ "name": "../../evil", "content": "x", "description": "d" }),
            "invalid_skill_name",
        ),
        (
            "/mcp",
            json!({ "name": "-x", "config": { "type": "local", "command": ["x"] } }),
            "invalid_mcp_name",
        ),
        (
            "/commands",
            json!({ "name": "a/b", "template": "t" }),
            "invalid_command_name",
        ),
        ("/plugins", json!({ "spec": " " }), "invalid_plugin_spec"),
    ] {
        let refused = server.refused(By::Client, "POST", &server.path(path), Some(&body));
        assert_eq!(refused, (400, code.to_owned()), "{path}");
    }
    assert!(server.waiting().is_empty());
}

#[test]
fn a_body_that_is_too_long_is_refused_before_it_is_read() {
    let server = Server::start(&["--approval", "auto"]);
    let mut headers = By::Client.headers();
    headers.push(("Expect".to_owned(), "100-continue".to_owned()));
    headers.push(("Content-Length".to_owned(), (100_u64 << 20).to_string()));
    let response = crate::wire::send(
        server.port(),
        "POST",
        &server.path("/skills"),
        &headers,
        None,
    )
    .unwrap();
    assert_eq!(response.status, 413, "{}", response.body);
}
