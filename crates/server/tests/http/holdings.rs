//! What a workspace holds for its agents, shown and changed over HTTP.

use std::path::{Path, PathBuf};

use countersign_broker::{ChangeSettings, WriteMode};
use countersign_core::grant::Role;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, Reply};
use crate::stage::Stage;

/// A configuration as people write it.
const CONFIG: &str = "{\n  // our model\n  \"model\": \"stub/one\", /* cheap */\n}\n";

/// A server, a workspace with a configuration, and people.
struct Garden {
    stage: Stage,
    folder: PathBuf,
    base: String,
    bob: Client,
    approver: Client,
    owner: Client,
    _home: TempDir,
}

impl Garden {
    async fn new(writes: WriteMode) -> Self {
        let home = tempfile::tempdir().unwrap();
        let stage = Stage::changing(ChangeSettings {
            home: home.path().to_owned(),
            writes,
            ..ChangeSettings::default()
        })
        .await;
        let folder = PathBuf::from(&stage.broker.workspaces()[0].0.path);
        std::fs::write(folder.join("opencode.jsonc"), CONFIG).unwrap();
        Self {
            base: format!("/api/v1/workspaces/{}", stage.workspace),
            bob: stage.client(Role::Collaborator).await,
            approver: stage.client(Role::Approver).await,
            owner: stage.client(Role::Owner).await,
            stage,
            folder,
            _home: home,
        }
    }

    async fn asking() -> Self {
        Self::new(WriteMode::Ask).await
    }

    fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(path)).ok()
    }

    /// Every file of the workspace, with what is in it.
    fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, files);
                } else {
                    files.push((path.clone(), std::fs::read(&path).unwrap()));
                }
            }
        }
        let mut files = Vec::new();
        collect(&self.folder, &mut files);
        files.sort();
        files
    }

    async fn holdings(&self) -> Value {
        let reply = self.bob.get(&format!("{}/holdings", self.base)).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    async fn preview(&self, who: &Client, change: &Value) -> Reply {
        let path = format!("{}/changes/preview", self.base);
        who.post(&path, &json!({ "change": change })).await
    }

    async fn propose(&self, who: &Client, change: &Value) -> Reply {
        let preview = self.preview(who, change).await;
        assert_eq!(preview.status, 200, "{preview:?}");
        let digest = &preview.json()["digest"];
        let body = json!({ "change": change, "digest": digest });
        who.post(&format!("{}/changes", self.base), &body).await
    }

    /// Has the change proposed by bob, allowed, and written.
    async fn change(&self, change: &Value) -> Value {
        let proposed = self.propose(&self.bob, change).await;
        assert_eq!(proposed.status, 202, "{proposed:?}");
        let ask = proposed.json()["ask"]["id"].as_str().unwrap().to_owned();
        self.answer(&ask, &json!({ "answer": "allow_once" })).await
    }

    /// Answers an ask as somebody who may, and waits for what becomes of it.
    async fn answer(&self, ask: &str, answer: &Value) -> Value {
        let path = format!("/api/v1/asks/{ask}/answer");
        let answered = self.approver.post(&path, answer).await;
        assert_eq!(answered.status, 200, "{answered:?}");
        let settled = format!("/api/v1/asks/{ask}/settled");
        self.approver.get(&settled).await.json()
    }
}

#[tokio::test]
async fn a_change_is_shown_proposed_allowed_and_written_and_comments_stay() {
    let garden = Garden::asking().await;
    let change = json!({ "kind": "add_plugin", "spec": "opencode-notes" });
    let preview = garden.preview(&garden.bob, &change).await.json();
    assert_eq!(preview["summary"], "Add plugin opencode-notes");
    assert_eq!(preview["changed"], true);
    assert_eq!(preview["asked"], true);
    let patch = preview["files"][0]["patch"].as_str().unwrap();
    assert!(patch.contains("+  \"plugin\": ["), "{patch}");
    assert_eq!(garden.file("opencode.jsonc").unwrap(), CONFIG);

    let settled = garden.change(&change).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    assert_eq!(settled["delivery"]["evidence"]["kind"], "files_written");
    let written = garden.file("opencode.jsonc").unwrap();
    assert!(written.contains("// our model"), "{written}");
    assert!(written.contains("/* cheap */"), "{written}");
    let holdings = garden.holdings().await;
    assert_eq!(holdings["plugins"][0]["spec"], "opencode-notes");
    assert_eq!(holdings["config"]["text"], written.as_str());
    assert_eq!(holdings["writes"], json!({ "mode": "ask", "asked": true }));
    // Again there is nothing to do.
    let again = garden.propose(&garden.bob, &change).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(again.json()["outcome"], "unchanged");
    let audit = format!("/api/v1/audit?workspace={}", garden.stage.workspace);
    let audit = garden.owner.get(&audit).await.json().to_string();
    assert!(audit.contains("plugins.add"), "{audit}");
}

#[tokio::test]
async fn everything_that_a_workspace_holds_is_made_changed_and_taken_away() {
    let garden = Garden::asking().await;
    let steps = [
        json!({ "kind": "set_skill", "name": "prune-roses", "description": "How: to prune", "body": "Cut low.\n" }),
        json!({ "kind": "set_command", "name": "/water", "template": "Water $ARGUMENTS", "description": "Waters" }),
        json!({ "kind": "set_mcp", "name": "weather", "config": { "type": "remote", "url": "https://weather.example/mcp", "enabled": true } }),
        json!({ "kind": "set_mcp", "name": "notes", "config": { "type": "local", "command": ["notes", "--stdio"] } }),
        json!({ "kind": "enable_mcp", "name": "weather", "enabled": false }),
    ];
    for step in &steps {
        let settled = garden.change(step).await;
        assert_eq!(settled["state"], "delivered", "{step}: {settled}");
    }
    let holdings = garden.holdings().await;
    assert_eq!(holdings["skills"][0]["description"], "How: to prune");
    assert_eq!(holdings["skills"][0]["belongs"], "workspace");
    assert_eq!(holdings["commands"][0]["name"], "water");
    assert_eq!(holdings["commands"][0]["template"], "Water $ARGUMENTS");
    let mcp = holdings["mcp"].as_array().unwrap();
    let named = |name: &str| mcp.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(named("weather")["enabled"], false);
    assert_eq!(named("notes")["enabled"], true);
    assert!(
        garden
            .file("opencode.jsonc")
            .unwrap()
            .contains("// our model")
    );

    // What stands before a skill's text besides stays.
    let path = garden.folder.join(".opencode/skills/prune-roses/SKILL.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replacen("---\n", "---\nlicense: MIT\n", 1);
    std::fs::write(&path, text.replace("---\nCut", "---\n\nCut")).unwrap();
    let detail = format!("{}/skills/prune-roses", garden.base);
    let skill = garden.bob.get(&detail).await.json();
    assert_eq!(skill["body"], "Cut low.\n", "{skill}");
    let change = json!({ "kind": "set_skill", "name": "prune-roses", "description": "Other", "body": "---\nCut lower.\n" });
    garden.change(&change).await;
    let text = garden
        .file(".opencode/skills/prune-roses/SKILL.md")
        .unwrap();
    assert!(text.contains("license: MIT"), "{text}");
    assert!(text.ends_with("---\n\n---\nCut lower.\n"), "{text}");

    let steps = [
        json!({ "kind": "delete_skill", "name": "prune-roses" }),
        json!({ "kind": "delete_command", "name": "water" }),
        json!({ "kind": "remove_mcp", "name": "weather" }),
        json!({ "kind": "remove_mcp", "name": "notes" }),
    ];
    for step in &steps {
        garden.change(step).await;
    }
    let holdings = garden.holdings().await;
    for part in ["skills", "commands", "mcp"] {
        assert_eq!(holdings[part], json!([]), "{part}");
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_its_place_and_changes_nothing() {
    let garden = Garden::asking().await;
    let before = garden.everything();
    let text = "{\n  // größer\n  \"a\": 1\n  \"b\": 2\n}\n";
    let broken = json!({ "kind": "write_config", "text": text });
    let refused = garden.preview(&garden.bob, &broken).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(
        refused.json()["details"]["problems"],
        json!([{ "line": 4, "column": 3, "message": "comma expected" }])
    );
    assert!(
        refused.json()["message"]
            .as_str()
            .unwrap()
            .starts_with("line 4, column 3")
    );
    let bad = [
        json!({ "kind": "write_config", "text": "[]" }),
        json!({ "kind": "write_config", "text": "" }),
        json!({ "kind": "set_skill", "name": "../../etc", "description": "x", "body": "x" }),
        json!({ "kind": "set_skill", "name": "ok", "description": "", "body": "x" }),
        json!({ "kind": "set_command", "name": "a/b", "template": "x" }),
        json!({ "kind": "set_command", "name": "empty", "template": " " }),
        json!({ "kind": "add_plugin", "spec": "" }),
        json!({ "kind": "set_mcp", "name": "-x", "config": { "type": "local", "command": ["x"] } }),
        json!({ "kind": "set_mcp", "name": "x", "config": { "type": "local" } }),
        json!({ "kind": "set_mcp", "name": "x", "config": { "type": "remote" } }),
        json!({ "kind": "import", "export": { "skills": "all" } }),
        json!({ "kind": "import", "export": { "opencode": { "model": "x" }, "skills": [{ "name": "Not Kebab", "content": "x" }] } }),
        json!({ "kind": "fly" }),
        json!({ "kind": "add_plugin", "spec": "x", "more": 1 }),
    ];
    for change in &bad {
        let refused = garden.preview(&garden.bob, change).await;
        assert_eq!(refused.status, 422, "{change}: {refused:?}");
        let body = json!({ "change": change, "digest": "0".repeat(64) });
        let path = format!("{}/changes", garden.base);
        let refused = garden.bob.post(&path, &body).await;
        assert_eq!(refused.status, 422, "{change}: {refused:?}");
    }
    let missing = json!({ "kind": "delete_skill", "name": "nowhere" });
    assert_eq!(garden.preview(&garden.bob, &missing).await.status, 404);
    assert_eq!(garden.everything(), before);
    assert!(
        garden
            .stage
            .store
            .open_writes(None)
            .await
            .unwrap()
            .is_empty()
    );
    // What is broken on the disk is told, and everything else is shown.
    std::fs::write(garden.folder.join("opencode.jsonc"), "{ \"a\": }").unwrap();
    let holdings = garden.holdings().await;
    assert_eq!(holdings["config"]["problems"][0]["line"], 1, "{holdings}");
    assert_eq!(holdings["plugins"], json!([]));
}

#[tokio::test]
async fn a_file_that_changed_meanwhile_is_never_overwritten_unseen() {
    let garden = Garden::asking().await;
    let read = garden.holdings().await["config"]["digest"].clone();
    let change = json!({ "kind": "write_config", "text": "{ \"model\": \"stub/mine\" }\n" });
    let preview = format!("{}/changes/preview", garden.base);
    let body = json!({ "change": change, "read": read });
    let fresh = garden.bob.post(&preview, &body).await.json();
    assert_eq!(fresh.get("newer"), None, "{fresh}");

    let theirs = "{ \"model\": \"stub/theirs\" }\n";
    std::fs::write(garden.folder.join("opencode.jsonc"), theirs).unwrap();
    // What was seen before is not what would be written now.
    let stale = json!({ "change": change, "digest": fresh["digest"] });
    let refused = garden
        .bob
        .post(&format!("{}/changes", garden.base), &stale)
        .await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let shown = &refused.json()["details"]["preview"];
    assert!(
        shown["files"][0]["patch"]
            .as_str()
            .unwrap()
            .contains("stub/theirs")
    );
    // Who says what was read is told that it is another one by now.
    let told = garden.bob.post(&preview, &body).await.json();
    assert_eq!(told["newer"]["text"], theirs);
    assert_eq!(garden.file("opencode.jsonc").unwrap(), theirs);

    // Whoever has seen it may propose it; if it changes again while it waits, it is not written.
    let seen = json!({ "change": change, "digest": told["digest"] });
    let proposed = garden
        .bob
        .post(&format!("{}/changes", garden.base), &seen)
        .await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    std::fs::write(garden.folder.join("opencode.jsonc"), CONFIG).unwrap();
    let ask = proposed.json()["ask"]["id"].as_str().unwrap().to_owned();
    let settled = garden
        .answer(&ask, &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(settled["state"], "undeliverable", "{settled}");
    assert_eq!(garden.file("opencode.jsonc").unwrap(), CONFIG);
    let none = json!({ "change": change, "read": "none" });
    assert!(garden.bob.post(&preview, &none).await.json()["newer"].is_object());
    let unreadable = json!({ "change": change, "read": "yesterday" });
    assert_eq!(garden.bob.post(&preview, &unreadable).await.status, 422);
}

#[tokio::test]
async fn nobody_allows_their_own_change_and_a_denial_writes_nothing() {
    let garden = Garden::asking().await;
    let change = json!({ "kind": "add_plugin", "spec": "notes" });
    let proposed = garden.propose(&garden.owner, &change).await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let ask = proposed.json()["ask"].clone();
    assert_eq!(ask["may_answer"], false);
    let id = ask["id"].as_str().unwrap();
    let path = format!("/api/v1/asks/{id}/answer");
    let own = garden
        .owner
        .post(&path, &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(own.status, 403, "{own:?}");
    let deny = json!({ "answer": "deny", "reason": "not today" });
    let settled = garden.answer(id, &deny).await;
    assert_eq!(settled["delivery"]["evidence"]["kind"], "nothing_written");
    assert_eq!(garden.file("opencode.jsonc").unwrap(), CONFIG);
}

#[tokio::test]
async fn where_one_person_does_both_nobody_is_asked_and_who_may_only_propose_still_is() {
    let garden = Garden::new(WriteMode::Auto).await;
    let change = json!({ "kind": "add_plugin", "spec": "notes" });
    let preview = garden.preview(&garden.owner, &change).await.json();
    assert_eq!(preview["asked"], false);
    let proposed = garden.propose(&garden.bob, &change).await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let mut events = garden.owner.events(None).await;
    let written = garden.propose(&garden.owner, &change).await;
    assert_eq!(written.status, 200, "{written:?}");
    assert_eq!(written.json()["outcome"], "written");
    assert!(garden.file("opencode.jsonc").unwrap().contains("\"notes\""));
    let audit = format!("/api/v1/audit?workspace={}", garden.stage.workspace);
    let audit = garden.owner.get(&audit).await.json().to_string();
    assert!(audit.contains("plugins.add"), "{audit}");
    loop {
        let frame = events.next().await.expect("others hear of it");
        if frame.event == "workspace.changed" {
            break;
        }
    }
}

#[tokio::test]
async fn a_server_that_writes_nothing_shows_and_refuses() {
    let garden = Garden::new(WriteMode::ReadOnly).await;
    let change = json!({ "kind": "add_plugin", "spec": "notes" });
    let refused = garden.preview(&garden.owner, &change).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(garden.holdings().await["writes"]["mode"], "read_only");
    assert_eq!(garden.file("opencode.jsonc").unwrap(), CONFIG);
}

#[tokio::test]
async fn what_is_exported_is_taken_in_elsewhere_after_a_look() {
    let one = Garden::asking().await;
    let skill =
        json!({ "kind": "set_skill", "name": "prune", "description": "d", "body": "Cut.\n" });
    one.change(&skill).await;
    let mcp = json!({ "kind": "set_mcp", "name": "jira", "config": {
        "type": "remote", "url": "https://jira.example/mcp", "headers": { "Authorization": "Bearer abcdefghijklmnop" } } });
    one.change(&mcp).await;
    let before = one.everything();
    let exported = one.bob.get(&format!("{}/export", one.base)).await;
    assert_eq!(exported.status, 200, "{exported:?}");
    let exported = exported.json();
    assert_eq!(exported["warnings"][0]["label"], "MCP servers");
    assert!(
        !exported["warnings"]
            .to_string()
            .contains("abcdefghijklmnop")
    );
    assert_eq!(one.everything(), before, "reading writes nothing");
    assert_eq!(exported["export"].get("openwork"), None, "there is none");

    let other = Garden::asking().await;
    let import = json!({ "kind": "import", "export": exported["export"] });
    let preview = other.preview(&other.bob, &import).await.json();
    let paths: Vec<_> = preview["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].to_string())
        .collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(other.file(".opencode/skills/prune/SKILL.md").is_none());
    let settled = other.change(&import).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    assert!(
        other
            .file(".opencode/skills/prune/SKILL.md")
            .unwrap()
            .contains("Cut.")
    );
    assert!(
        other
            .file("opencode.jsonc")
            .unwrap()
            .contains("// our model")
    );
    let holdings = other.holdings().await;
    assert_eq!(holdings["mcp"][0]["name"], "jira");
}
