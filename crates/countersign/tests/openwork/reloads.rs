//! Events: what an engine has to load anew, told once.

use serde_json::{Value, json};

use crate::server::{By, Server};

/// What is new since `cursor`, which moves on.
fn told(server: &Server, cursor: &mut u64) -> Vec<Value> {
    let told = server.get(&server.path(&format!("/events?since={cursor}")));
    *cursor = told["cursor"].as_u64().unwrap();
    told["items"].as_array().unwrap().clone()
}

#[test]
fn what_somebody_changes_on_the_disk_is_told() {
    let server = Server::start(&["--compat", "0.13"]);
    let workspace = server.root().join("ws1");
    let mut cursor = 0;
    assert_eq!(told(&server, &mut cursor), Vec::<Value>::new());
    for (path, reason, kind, name) in [
        (
            ".opencode/skills/beta-skill/more/notes.md",
            "skills",
            "skill",
            json!("beta-skill"),
        ),
        (
            ".opencode/commands/fresh.md",
            "commands",
            "command",
            json!("fresh"),
        ),
        (
            ".opencode/agents/build.md",
            "agents",
            "agent",
            json!("build.md"),
        ),
        (
            ".opencode/plugins/local.js",
            "plugins",
            "plugin",
            Value::Null,
        ),
        (
            "opencode.jsonc",
            "config",
            "config",
            json!("opencode.jsonc"),
        ),
    ] {
        let file = workspace.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "{}").unwrap();
        let items = told(&server, &mut cursor);
        let [item] = &items[..] else {
            panic!("{path}: {items:?}")
        };
        assert_eq!(item["reason"], reason);
        assert_eq!(item["trigger"]["type"], kind);
        assert_eq!(item["trigger"]["action"], "updated");
        assert_eq!(item["trigger"]["path"], json!(file));
        assert_eq!(item["trigger"]["name"], name);
        assert_eq!(told(&server, &mut cursor), Vec::<Value>::new(), "{path}");
    }
    // What engines do not load is nobody's business, and another workspace's is not this one's.
    std::fs::write(workspace.join("notes.md"), "x").unwrap();
    std::fs::write(server.root().join("ws2/opencode.json"), "{ }").unwrap();
    assert_eq!(told(&server, &mut cursor), Vec::<Value>::new());
}

#[test]
fn a_write_is_told_once_although_it_is_on_the_disk() {
    let server = Server::start(&["--compat", "0.13", "--approval", "auto"]);
    let mut cursor = 0;
    assert_eq!(told(&server, &mut cursor), Vec::<Value>::new());
    let skill = json!({ "name": "new-skill", "content": "x", "description": "d" });
    let plugin = json!({ "spec": "another-plugin" });
    let command = json!({ "name": "fresh", "template": "t" });
    for (below, body, reason) in [
        ("/skills", skill, "skills"),
        ("/plugins", plugin, "plugins"),
        ("/commands", command, "commands"),
    ] {
        server.good(By::Client, "POST", &server.path(below), Some(&body));
        let items = told(&server, &mut cursor);
        let reasons: Vec<_> = items.iter().map(|item| &item["reason"]).collect();
        assert_eq!(reasons, [reason]);
        assert_eq!(items[0]["trigger"]["action"], "added");
    }
    // Somebody was told; what follows is another change.
    let file = server.root().join("ws1/.opencode/agents/late.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, "x").unwrap();
    assert_eq!(told(&server, &mut cursor)[0]["reason"], "agents");
}

#[test]
fn january_tells_of_writes_alone() {
    let server = Server::start(&["--approval", "auto"]);
    let mut cursor = 0;
    assert_eq!(told(&server, &mut cursor), Vec::<Value>::new());
    let file = server.root().join("ws1/.opencode/commands/fresh.md");
    std::fs::write(file, "x").unwrap();
    assert_eq!(told(&server, &mut cursor), Vec::<Value>::new());
    for number in 0..3 {
        let spec = json!({ "spec": format!("p{number}") });
        server.good(By::Client, "POST", &server.path("/plugins"), Some(&spec));
    }
    assert_eq!(told(&server, &mut cursor).len(), 3);
}

#[test]
fn a_workspace_that_comes_later_is_watched_too() {
    let server = Server::start(&["--compat", "0.13"]);
    let folder = server.root().join("ws6");
    let body = json!({ "folderPath": folder });
    server.good(By::Host, "POST", "/workspaces/local", Some(&body));
    let events = format!("/workspace/{}/events", server.id("ws6"));
    server.get(&events);
    std::fs::write(folder.join("AGENTS.md"), "x").unwrap();
    let told = server.get(&events);
    assert_eq!(told["items"][0]["reason"], "agents");
}
