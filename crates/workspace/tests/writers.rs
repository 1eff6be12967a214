//! Many writers of one file: everything that each wrote is kept, and whoever is killed leaves the old file or the new one.
#![expect(
    clippy::unwrap_used,
    reason = "what helps the tests may fail as they do"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use countersign_workspace::{Change, Home, Prepared, Workspace, jsonc};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How many write at once.
const WRITERS: usize = 50;
/// How often a writer is killed.
const KILLS: usize = 30;
/// How large the file is that is written then.
const LARGE: usize = 60_000;
/// Tells the test below where to write, if it is to be killed.
const VICTIM: &str = "WORKSPACE_TEST_VICTIM";

fn workspace(root: &Path) -> Workspace {
    Workspace::new(root.join("ws"), Home::new(root.join("home")))
}

#[test]
fn of_fifty_plugins_and_servers_at_once_all_are_kept_with_the_comments() {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("ws")).unwrap();
    let file = root.path().join("ws/opencode.jsonc");
    let text = "// head\n{\n  // plugins\n  \"plugin\": [\n    \"own\" // mine\n  ],\n  \"mcp\": {\n    /* servers */\n    \"own\": { \"type\": \"local\", \"command\": [\"x\"] }, // last\n  },\n}\n// foot\n";
    fs::write(&file, text).unwrap();
    let together = Barrier::new(2 * WRITERS);
    let shared = workspace(root.path());
    std::thread::scope(|scope| {
        for index in 0..WRITERS {
            let plugin = Change::AddPlugin {
                spec: format!("plugin-{index}@1"),
            };
            let server = Change::SetMcp {
                name: format!("server-{index}"),
                config: json!({"type": "remote", "url": format!("https://{index}.example")}),
            };
            for change in [plugin, server] {
                let (together, shared, root) = (&together, &shared, root.path());
                scope.spawn(move || {
                    // Whether or not they share what they remember, they are one writer at a time.
                    let own = workspace(root);
                    let workspace = if index % 2 == 0 { shared } else { &own };
                    let plan = workspace.plan(&change).unwrap();
                    together.wait();
                    assert!(workspace.apply(&plan, Prepared::default()).unwrap().changed);
                });
            }
        }
    });
    let now = fs::read_to_string(&file).unwrap();
    let config = jsonc::parse(&now).unwrap();
    let plugins = config["plugin"].as_array().unwrap();
    assert_eq!(plugins.len(), WRITERS + 1);
    for index in 0..WRITERS {
        let plugin = Value::from(format!("plugin-{index}@1"));
        assert!(plugins.contains(&plugin), "{index}");
        let url = &config["mcp"][format!("server-{index}")]["url"];
        assert_eq!(*url, format!("https://{index}.example"));
    }
    for comment in [
        "// head",
        "// plugins",
        "// mine",
        "/* servers */",
        "// last",
        "// foot",
    ] {
        assert!(now.contains(comment), "{comment}");
    }
    assert_eq!(
        shared
            .plugins(countersign_workspace::Reach::Project)
            .unwrap()
            .len(),
        WRITERS + 1
    );
    let names = fs::read_dir(root.path().join("ws")).unwrap().count();
    assert_eq!(names, 1, "something was left behind");
}

/// Does nothing, unless it is started to be killed: then it writes without end.
#[test]
fn a_victim_writes_until_it_is_killed() {
    let Some(root) = std::env::var_os(VICTIM) else {
        return;
    };
    let workspace = workspace(&PathBuf::from(root));
    for round in 0_u64.. {
        let fill = round.to_string().repeat(LARGE / round.to_string().len());
        let opencode = json!({"round": round, "fill": fill});
        let openwork = json!({"round": round});
        workspace
            .carry_out(&Change::PatchConfig { opencode, openwork })
            .unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "wrote {round}").unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn whoever_is_killed_while_writing_leaves_the_old_file_or_the_new_one() {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("ws")).unwrap();
    let file = root.path().join("ws/opencode.jsonc");
    let text = "{\n  // kept\n  \"round\": 0\n}\n";
    fs::write(&file, text).unwrap();
    let mut in_the_middle = 0;
    for kill in 0..KILLS {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "a_victim_writes_until_it_is_killed",
                "--nocapture",
            ])
            .env(VICTIM, root.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let mut wrote = lines
            .map_while(Result::ok)
            .filter(|it| it.starts_with("wrote"));
        for _ in 0..=kill % 3 {
            wrote.next().expect("the victim writes");
        }
        // It is writing again by now. Half of the time it is killed when a new file is there and not in its place yet.
        let deadline = Instant::now() + Duration::from_secs(20);
        while kill % 2 == 0 && unfinished(root.path()).is_empty() {
            assert!(Instant::now() < deadline, "the victim does not write");
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        let now = fs::read_to_string(&file).unwrap();
        let config = jsonc::parse(&now).unwrap();
        let round = config["round"].as_u64().unwrap().to_string();
        let fill = config["fill"].as_str().unwrap();
        assert_eq!(fill, round.repeat(LARGE / round.len()), "half of a file");
        assert!(now.contains("// kept"));
        let openwork = fs::read(root.path().join("ws/.opencode/openwork.json")).unwrap();
        let openwork: Value = serde_json::from_slice(&openwork).unwrap();
        assert!(openwork["round"].is_u64());
        for left_behind in unfinished(root.path()) {
            in_the_middle += 1;
            fs::remove_file(left_behind).unwrap();
        }
    }
    assert!(
        in_the_middle > 0,
        "nobody was killed in the middle of a write"
    );
}

/// New files that are not in their place.
fn unfinished(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join("ws")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().contains("/.countersign-"))
        .collect()
}
