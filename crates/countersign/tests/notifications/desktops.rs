//! The desktop, where there is one and where there is none.

use std::os::unix::fs::PermissionsExt as _;

use crate::scene::Scene;

const DESK: &str = "[[notify]]\nname = 'desk'\nkind = 'desktop'\n";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_desktop_it_is_a_dead_letter_at_once_that_says_what_is_missing() {
    let scene = Scene::with_variables(DESK, &[("PATH", "/nonexistent")]).await;
    scene.ask().await;
    let dead = scene.wait_for("dead", 1).await;
    assert_eq!(dead[0]["attempts"], 1);
    let problem = dead[0]["problem"].as_str().unwrap();
    assert!(problem.contains("`notify-send` was not found"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_wrote_is_made_visible_on_a_desktop() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("notify-send");
    let seen = directory.path().join("seen");
    let text = format!("#!/bin/sh\nprintf '%s\\n' \"$5\" >> {}\n", seen.display());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", directory.path().display());
    let settings = format!("{DESK}details = true\nevents = ['ask.opened']\n");
    let scene = Scene::with_variables(&settings, &[("PATH", &path)]).await;
    scene.ask_for("echo a\u{202e}b <i>").await;
    scene.wait_for("sent", 1).await;
    let shown = std::fs::read_to_string(seen).unwrap();
    assert_eq!(
        shown,
        "An agent asks for leave in workspace-1: bash: echo a⟨U+202E⟩b &lt;i&gt;\n"
    );
}
