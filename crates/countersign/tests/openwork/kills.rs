//! A server that is killed in the middle of a write: the file is the old one or the new one, and never half of either.

use std::time::Duration;

use countersign_testkit::seed::Seed;
use rand::RngExt as _;
use serde_json::json;

use crate::jsonc::meaning;
use crate::server::{By, Server};

/// How often the server is killed.
const KILLS: usize = 20;
/// How often a text is repeated that is written as one value.
const LENGTH: usize = 40_000;
/// Longer than a write takes.
const WRITE_US: u64 = 12_000;

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

fn names_in(folder: &std::path::Path) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
