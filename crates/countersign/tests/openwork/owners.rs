//! Engines whose asks not everybody answers, and engines of workspaces that came later.

use countersign_testkit::ScriptedOpencode;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture;
use crate::server::{By, Server, eventually};

/// An engine in the workspace `ws1`, the folders around it, and a conversation.
struct Ground {
    engine: ScriptedOpencode,
    folder: TempDir,
    session: String,
}

impl Ground {
    fn start() -> Self {
        let (folder, engine, session) = fixture::with_engine();
        Self {
            engine,
            folder,
            session,
        }
    }

    /// A server whose configuration file names these workspaces.
    fn serve(self, workspaces: &Value, arguments: &[&str]) -> Stage {
        let root = self.folder.path().canonicalize().unwrap().join("fixture");
        let config = root.join("server.json");
        std::fs::write(&config, json!({ "workspaces": workspaces }).to_string()).unwrap();
        let url = self.engine.url();
        let named = ["--config", config.to_str().unwrap()];
        let reached = [
            "--opencode-base-url",
            &url,
            "--opencode-username",
            "opencode",
        ];
        let all = [
            &named[..],
            &reached,
            &["--opencode-password", "pw"],
            arguments,
        ]
        .concat();
        let all = all.into_iter().map(str::to_owned).collect();
        Stage {
            server: Server::start_with(self.folder, all),
            engine: self.engine,
            session: self.session,
        }
    }
}

struct Stage {
    server: Server,
    engine: ScriptedOpencode,
    session: String,
}

impl Stage {
    fn ask(&self, command: &str) -> String {
        let metadata = json!({ "command": command });
        self.engine
            .open_ask(&self.session, "bash", &[command], &metadata)
    }

    fn token(&self, scope: &str) -> String {
        let body = json!({ "scope": scope });
        let issued = self.server.good(By::Host, "POST", "/tokens", Some(&body));
        issued["token"].as_str().unwrap().to_owned()
    }

    fn has_reply(&self, ask: &str) -> bool {
        self.engine.replies().iter().any(|reply| reply.id == ask)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_can_keep_answers_to_themselves() {
    let workspaces = json!([{ "path": "ws1", "collaboratorsAnswer": false }]);
    let stage = Ground::start().serve(&workspaces, &[]);
    let server = &stage.server;
    let (collaborator, owner) = (stage.token("collaborator"), stage.token("owner"));
    let ask = stage.ask("ls");
    let once = json!({ "reply": "once", "response": "once" });
    for path in [
        format!("/opencode/permission/{ask}/reply"),
        format!("/opencode/permission/{ask}/repl%79"),
        format!("/opencode/session/{}/permissions/{ask}", stage.session),
    ] {
        for by in [By::Client, By::Bearer(&collaborator)] {
            let response = server.send(by, "POST", &path, Some(&once));
            assert_eq!(response.status, 403, "{path}: {}", response.body);
            let said: Value = serde_json::from_str(&response.body).unwrap();
            assert_eq!(
                said["message"],
                "Only owner tokens can reply to permission requests"
            );
            assert_eq!(
                said["details"],
                json!({ "required": "answer", "scope": "collaborator" })
            );
        }
        assert!(!stage.has_reply(&ask), "{path}");
    }
    // The engine's credentials would be a way around that.
    for (token, shown) in [(&collaborator, false), (&owner, true)] {
        let listed = server.good(By::Bearer(token), "GET", "/workspaces", None);
        let engine = &listed["items"][0]["opencode"];
        assert_eq!(engine.get("password").is_some(), shown);
    }
    let path = format!("/opencode/permission/{ask}/reply");
    let answered = server.good(By::Bearer(&owner), "POST", &path, Some(&once));
    assert_eq!(answered, json!(true));
    assert!(stage.has_reply(&ask));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_the_engine_of_a_workspace_that_came_later_is_an_answer_in_the_ledger() {
    let workspaces = json!([{ "path": "ws2", "baseUrl": "http://127.0.0.1:9" }]);
    let stage = Ground::start().serve(&workspaces, &["--compat", "0.13"]);
    let server = &stage.server;
    let body = json!({ "folderPath": server.root().join("ws1") });
    server.good(By::Host, "POST", "/workspaces/local", Some(&body));
    assert_eq!(server.get("/health")["opencodeVersion"], json!(null));
    let ask = stage.ask("ls");
    let path = format!("/w/{}/opencode/permission/{ask}/reply", server.id("ws1"));
    let viewer = stage.token("viewer");
    let always = json!({ "reply": "always" });
    let refused = server.refused(By::Bearer(&viewer), "POST", &path, Some(&always));
    assert_eq!(refused.0, 403);
    let answered = server.good(By::Client, "POST", &path, Some(&always));
    assert_eq!(answered, json!(true));
    // The engine is told `once`: what is meant by always is a rule of the ledger's.
    let replies = stage.engine.replies();
    assert_eq!(replies[0].body["reply"], "once");
    let again = server.refused(
        By::Client,
        "POST",
        &path,
        Some(&json!({ "reply": "reject" })),
    );
    assert_eq!(again, (409, "ask_answered".to_owned()));
    let owner = stage.token("owner");
    let listed = "/api/v1/asks?state=delivered";
    let listed = server.good(By::Bearer(&owner), "GET", listed, None);
    assert!(listed.to_string().contains("openwork client"), "{listed}");
    eventually("its version is known", || {
        server.get("/health")["opencodeVersion"] == "1.18.33"
    });
    assert_eq!(server.get("/status")["opencodeVersion"], "1.18.33");
    assert_eq!(server.get("/capabilities")["opencodeVersion"], "1.18.33");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_of_a_workspace_asked_that_is_served_no_more_is_withdrawn() {
    let workspaces = json!([{ "path": "ws2", "baseUrl": "http://127.0.0.1:9" }]);
    let stage = Ground::start().serve(&workspaces, &["--compat", "0.13"]);
    let (server, owner) = (&stage.server, stage.token("owner"));
    let body = json!({ "folderPath": server.root().join("ws1") });
    let listed = |state: &str| {
        let path = format!("/api/v1/asks?state={state}");
        let listed = server.good(By::Bearer(&owner), "GET", &path, None);
        listed["asks"].as_array().unwrap().clone()
    };
    for round in 1..=2 {
        server.good(By::Host, "POST", "/workspaces/local", Some(&body));
        stage.ask(&format!("ls {round}"));
        eventually("it is in the inbox", || !listed("open").is_empty());
        let path = format!("/workspaces/{}", server.id("ws1"));
        server.good(By::Host, "DELETE", &path, None);
        assert_eq!(listed("open"), Vec::<Value>::new());
        assert!(listed("withdrawn").len() >= round, "{round}");
    }
    let again = stage.ask("ls behind its back");
    server.get("/health");
    assert!(!stage.has_reply(&again));
    assert_eq!(listed("open"), Vec::<Value>::new(), "nobody listens there");
}
