//! Writes that wait for somebody's word: asks in the ledger, whoever answers them and whatever becomes of the server.

use std::thread::{self, JoinHandle};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::server::{By, Server, eventually};
use crate::wire::{self, Response};

fn issue(server: &Server, scope: &str) -> String {
    let wanted = json!({ "scope": scope });
    let issued = server.good(By::Host, "POST", "/tokens", Some(&wanted));
    issued["token"].as_str().unwrap().to_owned()
}

/// Sends a request that waits for somebody's word.
fn proposing(server: &Server, by: By<'_>, below: &str, body: Value) -> JoinHandle<Response> {
    let (port, path, headers) = (server.port(), server.path(below), by.headers());
    thread::spawn(move || {
        wire::send(port, "POST", &path, &headers, Some(&body.to_string())).unwrap()
    })
}

/// The asks of the ledger whose state is `state`, as `owner` sees them.
fn asks(server: &Server, owner: &str, state: &str) -> Vec<Value> {
    let path = format!("/api/v1/asks?state={state}");
    let listed = server.good(By::Bearer(owner), "GET", &path, None);
    listed["asks"].as_array().unwrap().clone()
}

#[track_caller]
fn wait_for_ask(server: &Server, owner: &str) -> Value {
    eventually("it waits in the inbox", || {
        !asks(server, owner, "open").is_empty()
    });
    asks(server, owner, "open").remove(0)
}

fn ask(server: &Server, owner: &str, id: &Value) -> Value {
    let path = format!("/api/v1/asks/{}", id.as_str().unwrap());
    server.good(By::Bearer(owner), "GET", &path, None)
}

#[track_caller]
fn assert_said(ask: &Value, why: &str) {
    assert_eq!(ask["state"], "withdrawn", "{ask}");
    assert!(ask["why"].as_str().unwrap().contains(why), "{ask}");
}

fn config(server: &Server) -> String {
    std::fs::read_to_string(server.root().join("ws1/opencode.jsonc")).unwrap()
}

#[test]
fn a_write_is_in_the_inbox_with_its_difference_and_is_done_when_it_is_allowed_there() {
    let server = Server::start(&["--approval", "manual"]);
    let (owner, collaborator) = (issue(&server, "owner"), issue(&server, "collaborator"));
    let writing = proposing(&server, By::Client, "/plugins", json!({ "spec": "wanted" }));
    let open = wait_for_ask(&server, &owner);
    assert_eq!(open["door"], "workspace");
    assert_eq!(open["summary"], "Add plugin wanted");
    let change = &open["subject"]["changes"][0];
    assert_eq!(change["path"], "opencode.jsonc");
    assert!(
        change["patch"].as_str().unwrap().contains("wanted"),
        "{change}"
    );
    let listed = server.good(By::Host, "GET", "/approvals", None);
    assert_eq!(listed["items"][0]["action"], "plugins.add");

    let path = format!("/api/v1/asks/{}/answer", open["id"].as_str().unwrap());
    let allow = json!({ "answer": "option", "option": "allow" });
    let refused = server.send(By::Bearer(&collaborator), "POST", &path, Some(&allow));
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(refused.body.contains("approve"), "{}", refused.body);
    assert!(!config(&server).contains("wanted"));

    server.good(By::Bearer(&owner), "POST", &path, Some(&allow));
    assert_eq!(writing.join().unwrap().status, 200);
    assert!(config(&server).contains("wanted"));
    let done = ask(&server, &owner, &open["id"]);
    assert_eq!(done["state"], "delivered", "{done}");
    assert_eq!(done["delivery"]["evidence"]["kind"], "files_written");
    assert!(server.waiting().is_empty());
}

#[test]
fn nobody_allows_what_they_proposed() {
    let server = Server::start(&["--approval", "manual"]);
    let owner = issue(&server, "owner");
    let spec = json!({ "spec": "own" });
    let writing = proposing(&server, By::Bearer(&owner), "/plugins", spec);
    eventually("it waits", || !server.waiting().is_empty());
    let path = format!("/approvals/{}", server.waiting().remove(0));
    let allow = json!({ "reply": "allow" });
    let refused = server.refused(By::Bearer(&owner), "POST", &path, Some(&allow));
    assert_eq!(refused, (403, "forbidden".to_owned()));
    assert!(!config(&server).contains("own"));
    server.good(By::Host, "POST", &path, Some(&allow));
    assert_eq!(writing.join().unwrap().status, 200);
    assert!(config(&server).contains("own"));
}

#[test]
fn what_waited_for_a_killed_server_is_shown_as_withdrawn_and_the_same_again_follows_it() {
    let server = Server::start(&["--approval", "manual"]);
    let owner = issue(&server, "owner");
    let spec = json!({ "spec": "wanted" });
    let (port, path) = (server.port(), server.path("/plugins"));
    let (headers, body) = (By::Client.headers(), spec.to_string());
    let lost = thread::spawn(move || wire::send(port, "POST", &path, &headers, Some(&body)));
    let first = wait_for_ask(&server, &owner);
    let server = server.restart();
    assert!(lost.join().unwrap().is_err(), "the server was killed");
    assert!(server.waiting().is_empty());
    let withdrawn = ask(&server, &owner, &first["id"]);
    assert_said(&withdrawn, "the server was restarted");
    assert_eq!(withdrawn["summary"], "Add plugin wanted");

    let writing = proposing(&server, By::Client, "/plugins", spec);
    let second = wait_for_ask(&server, &owner);
    assert_eq!(second["previous"], first["id"], "{second}");
    let path = format!("/approvals/{}", server.waiting().remove(0));
    server.good(By::Host, "POST", &path, Some(&json!({ "reply": "allow" })));
    assert_eq!(writing.join().unwrap().status, 200);
    assert!(config(&server).contains("wanted"));
}

#[test]
fn a_server_that_is_told_to_stop_tells_who_waits() {
    let server = Server::start(&["--approval", "manual"]);
    let owner = issue(&server, "owner");
    let writing = proposing(&server, By::Client, "/plugins", json!({ "spec": "wanted" }));
    let open = wait_for_ask(&server, &owner);
    server.signal(Signal::TERM);
    let told = writing.join().unwrap();
    assert_eq!(told.status, 503, "{}", told.body);
    assert!(told.body.contains("server_stopping"), "{}", told.body);
    let server = server.restart();
    let withdrawn = ask(&server, &owner, &open["id"]);
    assert_said(&withdrawn, "the server was restarted");
}

#[test]
fn what_nobody_answers_in_time_is_denied_and_the_ledger_says_that_it_ran_out() {
    let server = Server::start(&["--approval", "manual", "--approval-timeout", "300"]);
    let owner = issue(&server, "owner");
    let spec = json!({ "spec": "late" });
    let denied = server.send(By::Client, "POST", &server.path("/plugins"), Some(&spec));
    assert_eq!(denied.status, 403);
    assert!(
        denied.body.contains(r#""reason":"timeout""#),
        "{}",
        denied.body
    );
    assert_eq!(asks(&server, &owner, "expired").len(), 1);
    let audit = server.get(&server.path("/audit"));
    assert_eq!(
        audit["items"].as_array().unwrap().len(),
        0,
        "nothing was done"
    );
}

#[test]
fn who_goes_away_is_noted_as_gone() {
    let server = Server::start(&["--approval", "manual"]);
    let owner = issue(&server, "owner");
    let stream = server.hang_on(
        "POST",
        &server.path("/plugins"),
        &json!({ "spec": "left-behind" }),
    );
    let open = wait_for_ask(&server, &owner);
    let path = format!("/approvals/{}", server.waiting().remove(0));
    drop(stream);
    eventually("it is withdrawn", || server.waiting().is_empty());
    let withdrawn = ask(&server, &owner, &open["id"]);
    assert_said(&withdrawn, "the client");
    let allow = json!({ "reply": "allow" });
    let refused = server.refused(By::Host, "POST", &path, Some(&allow));
    assert_eq!(refused, (404, "approval_not_found".to_owned()));
    assert!(!config(&server).contains("left-behind"));
}

#[test]
fn what_was_allowed_is_what_is_written_or_nothing_is() {
    let server = Server::start(&["--approval", "manual"]);
    let owner = issue(&server, "owner");
    let allow = |server: &Server| {
        let path = format!("/approvals/{}", server.waiting().remove(0));
        server.good(By::Host, "POST", &path, Some(&json!({ "reply": "allow" })));
    };
    // Another key of the same file changes meanwhile: what was allowed means the same, and both are kept.
    let writing = proposing(&server, By::Client, "/plugins", json!({ "spec": "wanted" }));
    wait_for_ask(&server, &owner);
    let file = server.root().join("ws1/opencode.jsonc");
    let other = config(&server).replacen('{', "{\n  \"theme\": \"mine\",", 1);
    std::fs::write(&file, other).unwrap();
    allow(&server);
    assert_eq!(writing.join().unwrap().status, 200);
    assert!(config(&server).contains("mine") && config(&server).contains("wanted"));

    // The very file that was shown is another now: nothing is written, and everybody is told.
    let skill = json!({ "name": "alpha-skill", "content": "# New", "description": "d" });
    let writing = proposing(&server, By::Client, "/skills", skill);
    let open = wait_for_ask(&server, &owner);
    let file = server
        .root()
        .join("ws1/.opencode/skills/alpha-skill/SKILL.md");
    std::fs::write(&file, "somebody else's").unwrap();
    allow(&server);
    let refused = writing.join().unwrap();
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "somebody else's");
    let undone = ask(&server, &owner, &open["id"]);
    assert_eq!(undone["state"], "undeliverable", "{undone}");
    assert_eq!(undone["delivery"]["why"]["kind"], "not_written");
}

#[test]
fn files_of_a_session_are_shown_and_a_stale_deletion_is_not_done() {
    let server = Server::start(&["--approval", "manual"]);
    let owner = issue(&server, "owner");
    let file = server.root().join("ws1/notes.md");
    std::fs::write(&file, "one\n").unwrap();
    let opened = server.good(
        By::Client,
        "POST",
        &server.path("/files/sessions"),
        Some(&json!({})),
    );
    let session = opened["session"]["id"].as_str().unwrap();
    let propose = |act: &str, body: Value| {
        let (port, headers) = (server.port(), By::Client.headers());
        let path = format!("/files/sessions/{session}/{act}");
        thread::spawn(move || {
            wire::send(port, "POST", &path, &headers, Some(&body.to_string())).unwrap()
        })
    };
    let allow = || {
        let path = format!("/approvals/{}", server.waiting().remove(0));
        server.good(By::Host, "POST", &path, Some(&json!({ "reply": "allow" })));
    };
    let writes = json!({ "writes": [{ "path": "notes.md", "contentBase64": "dHdvCg==" }] });
    let writing = propose("write-batch", writes);
    let open = wait_for_ask(&server, &owner);
    let patch = open["subject"]["changes"][0]["patch"].as_str().unwrap();
    assert!(patch.contains("-one") && patch.contains("+two"), "{patch}");
    allow();
    let written: Value = serde_json::from_str(&writing.join().unwrap().body).unwrap();
    assert_eq!(written["items"][0]["ok"], true, "{written}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");

    let delete = json!({ "operations": [{ "type": "delete", "path": "notes.md" }] });
    let deleting = propose("ops", delete.clone());
    let open = wait_for_ask(&server, &owner);
    let summary = open["summary"].as_str().unwrap();
    assert!(summary.contains("delete notes.md"), "{summary}");
    assert!(
        open["subject"]["changes"][0]["patch"]
            .to_string()
            .contains("-two")
    );
    std::fs::write(&file, "three\n").unwrap();
    allow();
    let refused: Value = serde_json::from_str(&deleting.join().unwrap().body).unwrap();
    assert_eq!(refused["items"][0]["code"], "conflict", "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "three\n");

    let deleting = propose("ops", delete);
    wait_for_ask(&server, &owner);
    allow();
    assert_eq!(deleting.join().unwrap().status, 200);
    assert!(!file.exists());
}
