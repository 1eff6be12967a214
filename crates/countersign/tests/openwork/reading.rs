//! Reading: it writes nothing, and disturbs no engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use serde_json::json;

use crate::server::{By, Server, eventually};
use crate::upstream::Upstream;

/// Where the paths are that the server knows.
const ROUTES: &str = include_str!("../../../openwork/src/routes.rs");

/// Everything below `folder`, with when it was changed.
fn tree(folder: &Path) -> BTreeMap<String, SystemTime> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let status = entry.metadata().unwrap();
            if status.is_dir() {
                folders.push(entry.path());
            }
            let path = entry.path().to_str().unwrap().to_owned();
            found.insert(path, status.modified().unwrap());
        }
    }
    found
}

/// Every path that can be read, one for each in the table of paths.
fn paths(server: &Server, file_session: &str) -> Vec<(By<'static>, String)> {
    let id = server.id("ws1");
    let of_client = [
        "/health".to_owned(),
        "/capabilities".to_owned(),
        "/workspaces".to_owned(),
        "/status".to_owned(),
        "/whoami".to_owned(),
        "/runtime/versions".to_owned(),
        format!("/w/{id}/health"),
        format!("/w/{id}/runtime/versions"),
        format!("/w/{id}/status"),
        format!("/w/{id}/capabilities"),
        format!("/w/{id}/workspaces"),
        format!("/files/sessions/{file_session}/catalog/snapshot"),
        format!("/files/sessions/{file_session}/catalog/events"),
    ];
    let of_host = ["/tokens", "/env", "/env/keys", "/env/A_KEY", "/approvals"];
    let of_workspace = [
        "/config",
        "/opencode-config?scope=global",
        "/audit",
        "/events",
        "/plugins?includeGlobal=true",
        "/skills?includeGlobal=true",
        "/skills/alpha-skill",
        "/mcp",
        "/commands",
        "/export?sensitive=exclude",
        "/scheduler/jobs",
        "/inbox",
        "/inbox/bm90ZS50eHQ",
        "/artifacts",
        "/artifacts/bm90ZS50eHQ",
        "/files/content?path=opencode.jsonc",
        "/files/stat?path=opencode.jsonc",
        "/files/raw?path=opencode.jsonc",
        "/sessions",
        "/sessions/ses_1",
        "/sessions/ses_1/messages",
        "/sessions/ses_1/snapshot",
    ];
    let of_client = of_client.into_iter().map(|path| (By::Client, path));
    let of_host = of_host.into_iter().map(|path| (By::Host, path.to_owned()));
    let of_workspace = of_workspace
        .into_iter()
        .map(|below| (By::Client, server.path(below)));
    of_client.chain(of_host).chain(of_workspace).collect()
}

#[test]
fn whatever_is_read_nothing_is_written_and_no_engine_is_disturbed() {
    for compat in ["0.1", "0.13"] {
        let upstream = Upstream::start();
        let server = Server::start(&["--compat", compat, "--opencode-base-url", &upstream.url()]);
        let key = json!({ "key": "A_KEY", "value": "v" });
        server.good(By::Host, "PUT", "/env", Some(&key));
        let opened = server.path("/files/sessions");
        let opened = server.good(By::Client, "POST", &opened, Some(&json!({})));
        let session = opened["session"]["id"].as_str().unwrap();
        let paths = paths(&server, session);
        let known = ROUTES.matches("(\"GET\", [").count();
        assert_eq!(
            paths.len(),
            known,
            "a path that is read is not in this test"
        );
        let before = tree(&server.root());
        for (by, path) in &paths {
            let response = server.send(*by, "GET", path, None);
            // The engine is an echo, and knows no conversations; and nobody controls other programs here.
            let is_refused = path.contains("/sessions/ses_1")
                || path.ends_with("/sessions")
                || path.ends_with("/runtime/versions")
                || path.contains("bm90ZS50eHQ");
            assert_eq!(
                response.status >= 400,
                is_refused,
                "{path}: {} {}",
                response.status,
                response.body
            );
        }
        // Reading through the proxy is reading too. It wakes who looks after the engine.
        server.get("/opencode/session");
        eventually("somebody looks after the engine", || {
            !upstream.asked("/global/health").is_empty()
        });
        assert_eq!(tree(&server.root()), before, "{compat}");
        for request in upstream.requests() {
            assert_eq!(request.at("method").as_str(), Some("GET"), "{request:?}");
        }
    }
}

#[test]
fn nobody_calls_an_engine_for_how_the_server_is() {
    let upstream = Upstream::start();
    let server = Server::start(&["--compat", "0.13", "--opencode-base-url", &upstream.url()]);
    for path in ["/health", "/status", "/capabilities", "/workspaces"] {
        server.get(path);
    }
    assert_eq!(server.get("/health")["opencodeVersion"], json!(null));
    assert!(upstream.requests().is_empty(), "{:?}", upstream.requests());
}
