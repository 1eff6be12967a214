//! `openwork files`: everything that the command does with the files of a workspace.

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::command::openwork;
use crate::stage::{Stage, text};

/// Runs `openwork files …` and returns what it says in JSON.
async fn files(stage: &Stage, arguments: &[&str]) -> Value {
    let arguments = [&["files"], arguments, &["--json"]].concat();
    openwork(stage, &arguments).await.json()
}

async fn open_session(stage: &Stage) -> String {
    let id = stage.id("garden");
    let arguments = ["session", "create", "--workspace-id", &id, "--write"];
    let opened = files(stage, &arguments).await;
    assert_eq!(opened["session"]["canWrite"], true, "{opened}");
    assert_eq!(opened["session"]["workspaceId"], id.as_str(), "{opened}");
    text(&opened["session"]["id"]).to_owned()
}

/// The paths in a catalogue.
fn paths(catalogue: &Value) -> Vec<&str> {
    let items = catalogue["items"].as_array().expect("a list of items");
    items.iter().map(|item| text(&item["path"])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_read_listed_moved_and_removed() {
    let stage = Stage::set(&["--approval", "auto"]).await;
    let session = open_session(&stage).await;
    let session = session.as_str();

    let made = files(&stage, &["mkdir", session, "--path", "beds/north"]).await;
    assert_eq!(made["items"][0]["ok"], true, "{made}");
    assert!(stage.place("garden/beds/north").is_dir());

    let path = "beds/north/peas.txt";
    let write = ["write", session, "--path", path];
    let written = files(&stage, &[&write[..], &["--content", "sow"]].concat()).await;
    assert_eq!(written["items"][0]["ok"], true, "{written}");
    assert_eq!(stage.file(path).as_deref(), Some("sow"));

    // A revision that is no longer the file's is refused, the present one is taken, and force asks for none.
    let revision = text(&written["items"][0]["revision"]).to_owned();
    let other = stage.place("home-made.txt");
    std::fs::write(&other, "water the peas").unwrap();
    let file = ["--file", other.to_str().unwrap(), "--if-match"];
    let stale = files(&stage, &[&write[..], &file[..], &["1:1"]].concat()).await;
    assert_eq!(stale["items"][0]["ok"], false, "{stale}");
    assert_eq!(stage.file(path).as_deref(), Some("sow"));
    let fresh = files(&stage, &[&write[..], &file[..], &[&revision]].concat()).await;
    assert_eq!(fresh["items"][0]["ok"], true, "{fresh}");
    assert_eq!(stage.file(path).as_deref(), Some("water the peas"));
    let forced = [
        "--content-base64",
        "aGFydmVzdA==",
        "--if-match",
        "1:1",
        "--force",
    ];
    let forced = files(&stage, &[&write[..], &forced[..]].concat()).await;
    assert_eq!(forced["items"][0]["ok"], true, "{forced}");
    assert_eq!(stage.file(path).as_deref(), Some("harvest"));

    let read = ["read", session, "--paths", "beds/north/peas.txt,none.txt"];
    let read = files(&stage, &read).await;
    assert_eq!(read["items"][0]["contentBase64"], "aGFydmVzdA==", "{read}");
    assert_eq!(read["items"][1]["ok"], false, "{read}");

    let listed = files(&stage, &["catalog", session]).await;
    assert!(paths(&listed).contains(&path), "{listed}");
    assert!(paths(&listed).contains(&"beds/north"), "{listed}");
    let listed = ["catalog", session, "--prefix", "beds", "--no-include-dirs"];
    assert_eq!(paths(&files(&stage, &listed).await), [path]);

    let moved = ["rename", session, "--from", path, "--to", "beds/beans.txt"];
    let moved = files(&stage, &moved).await;
    assert_eq!(moved["items"][0]["ok"], true, "{moved}");
    assert_eq!(stage.file(path), None);
    assert_eq!(stage.file("beds/beans.txt").as_deref(), Some("harvest"));

    // A folder with something in it goes only when that is said.
    let kept = files(&stage, &["delete", session, "--path", "beds"]).await;
    assert_eq!(kept["items"][0]["ok"], false, "{kept}");
    assert!(stage.place("garden/beds/beans.txt").exists());
    let gone = ["delete", session, "--path", "beds", "--recursive"];
    let gone = files(&stage, &gone).await;
    assert_eq!(gone["items"][0]["ok"], true, "{gone}");
    assert!(!stage.place("garden/beds").exists());

    let events = files(&stage, &["events", session, "--since", "0"]).await;
    let told = events["items"].as_array().unwrap();
    let has = |kind: &str| told.iter().any(|event| event["type"] == kind);
    assert!(has("write") && has("rename") && has("delete"), "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_workspace() {
    let stage = Stage::set(&["--approval", "auto"]).await;
    let session = open_session(&stage).await;
    std::fs::write(stage.place("secret.txt"), "outside").unwrap();
    let inside = [
        "files",
        "write",
        &session,
        "--path",
        "in.txt",
        "--content",
        "in",
    ];
    let inside = openwork(&stage, &[&inside[..], &["--json"]].concat()).await;
    assert!(inside.said().contains("\"ok\": true"), "{}", inside.said());
    std::os::unix::fs::symlink(stage.place("secret.txt"), stage.place("garden/link.txt")).unwrap();
    for path in ["../secret.txt", "link.txt"] {
        let read = ["files", "read", &session, "--path", path];
        let write = ["files", "write", &session, "--path", path];
        let write = [&write[..], &["--content", "changed", "--force"]].concat();
        for arguments in [&read[..], &write] {
            let ended = openwork(&stage, arguments).await;
            assert!(!ended.said().contains("\"ok\": true"), "{}", ended.said());
        }
        let outside = std::fs::read_to_string(stage.place("secret.txt"));
        assert_eq!(outside.unwrap(), "outside", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_renewed_and_closed_and_then_good_for_nothing() {
    let stage = Stage::set(&["--approval", "auto"]).await;
    let session = open_session(&stage).await;
    let renewed = ["session", "renew", &session, "--ttl-seconds", "3600"];
    let renewed = files(&stage, &renewed).await;
    assert_eq!(renewed["session"]["ttlMs"], 3_600_000, "{renewed}");

    // It is bound to the token that opened it.
    let other = stage.token("collaborator", "Grace").await;
    let foreign = ["files", "catalog", &session, "--token", &other];
    let refused = openwork(&stage, &foreign).await.failure();
    assert!(refused.contains("403"), "{refused}");

    let closed = files(&stage, &["session", "close", &session]).await;
    assert_eq!(closed["ok"], true, "{closed}");
    let refused = openwork(&stage, &["files", "catalog", &session]).await;
    assert!(refused.failure().contains("404"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_the_command_waits_for_the_host_as_any_other() {
    let stage = Stage::set(&["--approval", "manual", "--approval-timeout", "120000"]).await;
    let session = open_session(&stage).await;
    for (word, allowed) in [("--allow", true), ("--deny", false)] {
        let file = format!("asked{word}.txt");
        let write = ["write", &session, "--path", &file, "--content", "sow"];
        let write = [&["files"], &write[..], &["--json"]].concat();
        let answer = async {
            let id = eventually(PATIENCE, "the write waits", async || {
                let listed = openwork(&stage, &["approvals", "list"]).await.json();
                listed["items"][0]["id"].as_str().map(str::to_owned)
            })
            .await;
            assert_eq!(stage.file(&file), None, "nothing before the answer");
            openwork(&stage, &["approvals", "reply", &id, word])
                .await
                .json()
        };
        let (written, answered) = tokio::join!(openwork(&stage, &write), answer);
        assert_eq!(answered, json!({ "ok": true, "allowed": allowed }));
        if allowed {
            assert_eq!(written.json()["items"][0]["ok"], true);
            assert_eq!(stage.file(&file).as_deref(), Some("sow"));
        } else {
            assert!(written.failure().contains("Write request denied"));
            assert_eq!(stage.file(&file), None);
        }
    }
}
