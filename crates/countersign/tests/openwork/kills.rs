//! A server that is killed in the middle of a write: the file is the old one or the new one, and never half of either.

use std::time::Duration;

use countersign_testkit::seed::Seed;
use rand::RngExt as _;
use serde_json::json;

use crate::jsonc::meaning;
use crate::server::{By, Server, eventually};

/// How often the server is killed.
const KILLS: usize = 20;
/// How often a text is repeated that is written as one value.
const LENGTH: usize = 40_000;
/// Longer than a write takes.
const WRITE_US: u64 = 12_000;
/// Longer than it mostly takes from the yes to the answer.
const APPROVED_US: u64 = 6_000;

#[test]
fn a_killed_server_leaves_the_old_file_or_the_new_one() {
    let mut dice = Seed::take().dice("kills");
    let mut server = Server::start(&["--approval", "auto"]);
    let folder = server.root().join("ws1");
    let names = names_in(&folder);
    let comments = meaning(&config(&server)).unwrap().1;
    for round in 0..KILLS {
        let text = |which: &str| format!("{round} {which} ").repeat(LENGTH);
        let wish = |which: &str| json!({ "opencode": { "big": text(which) } });
        let path = server.path("/config");
        server.good(By::Client, "PATCH", &path, Some(&wish("old")));
        let cut_off = server.hang_on("PATCH", &path, &wish("new"));
        pass_by(Duration::from_micros(dice.random_range(0..WRITE_US)));
        server.kill();
        drop(cut_off);
        let left = config(&server);
        let (data, kept) = meaning(&left).expect("it is whole");
        assert_eq!(kept, comments);
        let is_new = data["big"] == text("new");
        assert!(is_new || data["big"] == text("old"), "{} bytes", left.len());
        server = server.restart();
        let shown = server.get(&server.path("/config"));
        assert_eq!(shown["opencode"]["big"], data["big"]);
    }
    let small = json!({ "opencode": { "big": "" } });
    server.good(By::Client, "PATCH", &server.path("/config"), Some(&small));
    assert_eq!(names_in(&folder), names, "nothing is left behind");
}

#[test]
fn whenever_a_server_is_killed_after_the_yes_the_ledger_says_what_became_of_the_file() {
    let mut dice = Seed::take().dice("approved kills");
    let mut server = Server::start(&["--approval", "manual"]);
    let owner = json!({ "scope": "owner" });
    let owner = server.good(By::Host, "POST", "/tokens", Some(&owner));
    let owner = owner["token"].as_str().unwrap().to_owned();
    let folder = server.root().join("ws1");
    let names = names_in(&folder);
    let (mut done, mut undone) = (0, 0);
    for round in 0..KILLS {
        let spec = format!("plugin-{round}");
        let path = server.path("/plugins");
        let cut_off = server.hang_on("POST", &path, &json!({ "spec": spec }));
        eventually("it waits", || !server.waiting().is_empty());
        let listed = server.good(By::Bearer(&owner), "GET", "/api/v1/asks?state=open", None);
        let ask = listed["asks"][0]["id"].as_str().unwrap().to_owned();
        let path = format!("/approvals/{}", server.waiting().remove(0));
        let allowing = server.begin(By::Host, "POST", &path, &json!({ "reply": "allow" }));
        pass_by(Duration::from_micros(dice.random_range(0..APPROVED_US)));
        server.kill();
        drop((cut_off, allowing));
        let is_there = config(&server).contains(&spec);
        server = server.restart();
        let path = format!("/api/v1/asks/{ask}");
        let ask = server.good(By::Bearer(&owner), "GET", &path, None);
        let audit = server.get(&server.path("/audit"));
        let audit = audit["items"].as_array().unwrap();
        let entries = audit
            .iter()
            .filter(|entry| entry["summary"].as_str().unwrap().ends_with(&spec))
            .count();
        if is_there {
            done += 1;
            assert_eq!(ask["state"], "delivered", "{ask}");
            assert_eq!(entries, 1, "{audit:?}");
        } else {
            undone += 1;
            let state = ask["state"].as_str().unwrap();
            assert!(["withdrawn", "undeliverable"].contains(&state), "{ask}");
            assert_eq!(entries, 0, "{audit:?}");
        }
    }
    println!("{done} were done, {undone} were not");
    assert_eq!(names_in(&folder), names, "nothing is left behind");
}

/// Lets a moment pass in which the server comes as far as it comes.
#[expect(
    clippy::disallowed_methods,
    reason = "nothing is waited for: the kill falls where chance puts it"
)]
fn pass_by(moment: Duration) {
    std::thread::sleep(moment);
}

fn config(server: &Server) -> String {
    std::fs::read_to_string(server.root().join("ws1/opencode.jsonc")).unwrap()
}

/// What is in a folder, but for a file that had its name and not yet its place: one is swept up by the first write after ten
/// minutes.
fn names_in(folder: &std::path::Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| !name.to_string_lossy().starts_with(".countersign-"));
    names.sort();
    names
}
