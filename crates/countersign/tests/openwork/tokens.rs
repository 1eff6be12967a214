//! Tokens that are given out: what each opens, and what it does not.

use std::sync::Barrier;

use serde_json::{Value, json};

use crate::server::{By, Server};

fn issue(server: &Server, scope: &str) -> Value {
    server.good(
        By::Host,
        "POST",
        "/tokens",
        Some(&json!({ "scope": scope, "label": " boss " })),
    )
}

#[test]
fn of_thirty_tokens_at_once_each_opens() {
    const CROWD: usize = 30;
    let server = Server::start(&[]);
    let start = Barrier::new(CROWD);
    let tokens: Vec<String> = std::thread::scope(|scope| {
        let issuing: Vec<_> = (0..CROWD)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    issue(&server, "viewer")["token"]
                        .as_str()
                        .unwrap()
                        .to_owned()
                })
            })
            .collect();
        issuing.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let server = server.restart();
    for token in &tokens {
        let who = server.good(By::Bearer(token), "GET", "/whoami", None);
        assert_eq!(who["actor"]["scope"], "viewer");
    }
    let listed = server.good(By::Host, "GET", "/tokens", None);
    assert_eq!(listed["items"].as_array().unwrap().len(), CROWD);
    assert_eq!(listed["items"][0]["label"], "boss");
}

#[test]
fn a_scope_opens_what_it_is_for() {
    let server = Server::start(&[
        "--approval",
        "auto",
        "--opencode-username",
        "oc",
        "--opencode-password",
        "pw",
    ]);
    let [viewer, collaborator, owner] = ["viewer", "collaborator", "owner"]
        .map(|scope| issue(&server, scope)["token"].as_str().unwrap().to_owned());
    let spec = json!({ "spec": "x" });
    let plugins = server.path("/plugins");
    let refused = server.refused(By::Bearer(&viewer), "POST", &plugins, Some(&spec));
    assert_eq!(refused, (403, "forbidden".to_owned()));
    server.good(By::Bearer(&viewer), "GET", &plugins, None);
    server.good(By::Bearer(&collaborator), "POST", &plugins, Some(&spec));
    for (token, opens) in [(&viewer, false), (&collaborator, false), (&owner, true)] {
        let response = server.send(By::Bearer(token), "GET", "/approvals", None);
        assert_eq!(response.status == 200, opens);
        let response = server.send(By::Bearer(token), "GET", "/env", None);
        assert_eq!(
            response.status, 401,
            "the environment is for who shows the host token itself"
        );
    }
    // The engine's credentials are for those who could answer it.
    for (token, shown) in [(&viewer, false), (&collaborator, true)] {
        let listed = server.good(By::Bearer(token), "GET", "/workspaces", None);
        assert_eq!(
            listed["items"][0]["opencode"].get("password").is_some(),
            shown
        );
    }
}

#[test]
fn a_token_that_was_taken_back_opens_nothing() {
    let server = Server::start(&[]);
    let issued = issue(&server, "collaborator");
    let (token, id) = (
        issued["token"].as_str().unwrap(),
        issued["id"].as_str().unwrap(),
    );
    server.good(By::Bearer(token), "GET", "/whoami", None);
    let path = format!("/tokens/{id}");
    server.good(By::Host, "DELETE", &path, None);
    assert_eq!(
        server.refused(By::Host, "DELETE", &path, None),
        (404, "token_not_found".to_owned())
    );
    assert_eq!(
        server.refused(By::Bearer(token), "GET", "/whoami", None),
        (401, "unauthorized".to_owned())
    );
    let wrong = json!({ "scope": "admin" });
    assert_eq!(
        server.refused(By::Host, "POST", "/tokens", Some(&wrong)),
        (400, "invalid_scope".to_owned())
    );
    assert_eq!(server.refused(By::Client, "GET", "/tokens", None).0, 401);
}

#[test]
fn the_environment_is_kept_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start(&[]);
    let folder = server.root().join("home/.config/openwork");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["env.json", "env.json.draft"] {
        // What others left behind, for everybody to read.
        let file = folder.join(name);
        std::fs::write(&file, r#"{"variables": []}"#).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let body = json!({ "entries": [{ "key": "A_KEY", "value": "secret" }] });
    server.good(By::Host, "PUT", "/env", Some(&body));
    assert_eq!(
        server.good(By::Host, "GET", "/env/keys", None),
        json!({ "keys": ["A_KEY"] })
    );
    let file = server.root().join("home/.config/openwork/env.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    for (key, code) in [
        ("OPENWORK_X", "reserved_env_key"),
        ("1x", "invalid_env_key"),
    ] {
        let body = json!({ "key": key, "value": "v" });
        assert_eq!(
            server.refused(By::Host, "PUT", "/env", Some(&body)),
            (400, code.to_owned())
        );
    }
    server.good(By::Host, "DELETE", "/env/A_KEY", None);
    assert_eq!(
        server.refused(By::Host, "DELETE", "/env/A_KEY", None).0,
        404
    );
}
