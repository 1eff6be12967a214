use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::beneath::READS;
use crate::stamp::Stamp;
use crate::workspace::{Home, Reach, Scope, Workspace};

const MANY: usize = 3000;

fn skill(root: &TempDir, name: &str, description: &str) -> PathBuf {
    let folder = root.path().join("ws/.opencode/skills").join(name);
    fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nBody\n");
    fs::write(folder.join("SKILL.md"), text).unwrap();
    folder.join("SKILL.md")
}

fn workspace(root: &TempDir) -> Workspace {
    fs::create_dir_all(root.path().join("ws/.git")).unwrap();
    let home = Home::new(root.path().join("home"));
    Workspace::new(root.path().join("ws"), home)
}

/// Waits until a change of what is at `path` would show.
fn settle(path: &std::path::Path) {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let status = rustix::fs::stat(path).unwrap();
        if Stamp::of(&status).is_settled() {
            return;
        }
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

fn reads(work: impl FnOnce()) -> usize {
    let before = READS.get();
    work();
    READS.get() - before
}

#[test]
fn thousands_of_skills_are_read_once_and_then_only_what_changed() {
    let root = TempDir::new().unwrap();
    let workspace = workspace(&root);
    let mut last = PathBuf::new();
    for index in 0..MANY {
        last = skill(&root, &format!("skill-{index}"), "one of many");
    }
    settle(&last);
    let list = || workspace.skills(Reach::Project).unwrap();
    assert_eq!(reads(|| assert_eq!(list().len(), MANY)), MANY);
    let first = list();
    let started = Instant::now();
    assert_eq!(reads(|| assert!(list().is_same(&first))), 0);
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );

    settle(&skill(&root, "skill-7", "changed"));
    assert_eq!(reads(|| assert!(!list().is_same(&first))), 1);
    let found = list();
    let changed = found.iter().find(|it| it.name == "skill-7").unwrap();
    assert_eq!(changed.description, "changed");

    fs::remove_dir_all(root.path().join("ws/.opencode/skills/skill-8")).unwrap();
    skill(&root, "new-skill", "new");
    let found = list();
    assert_eq!(found.len(), MANY);
    assert!(found.iter().all(|it| it.name != "skill-8"));
    assert!(found.iter().any(|it| it.name == "new-skill"));
}

#[test]
fn a_change_right_after_a_look_is_seen() {
    let root = TempDir::new().unwrap();
    let workspace = workspace(&root);
    for round in 0..200 {
        // Of the same length each time, so that only the time tells.
        skill(&root, "one", &format!("d{round:04}"));
        let found = workspace.skills(Reach::Project).unwrap();
        assert_eq!(found[0].description, format!("d{round:04}"));
        let config = format!("{{\"round\": {:04}}}", round + 1000);
        fs::write(root.path().join("ws/opencode.json"), config).unwrap();
        let config = workspace.opencode_config().unwrap();
        assert_eq!(config["round"], round + 1000);
    }
}

#[test]
fn one_broken_neighbour_spoils_nothing() {
    let root = TempDir::new().unwrap();
    let workspace = workspace(&root);
    skill(&root, "good", "fine");
    let broken = skill(&root, "broken", "x");
    fs::write(&broken, "---\nname: [\n  : {\n---\n").unwrap();
    fs::write(skill(&root, "binary", "x"), b"---\nname: \xff\n---\n").unwrap();
    fs::create_dir_all(root.path().join("ws/.opencode/skills/folder/SKILL.md")).unwrap();
    let outside = root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("SKILL.md"), "---\ndescription: outside\n---\n").unwrap();
    symlink(&outside, root.path().join("ws/.opencode/skills/outside")).unwrap();
    let linked = skill(&root, "linked", "x");
    fs::remove_file(&linked).unwrap();
    symlink(outside.join("SKILL.md"), &linked).unwrap();
    let commands = root.path().join("ws/.opencode/commands");
    fs::create_dir_all(&commands).unwrap();
    fs::write(commands.join("good.md"), "template\n").unwrap();
    fs::write(commands.join("broken.md"), "---\na: b: c: [\n---\n").unwrap();

    let names = |reach| {
        let found = workspace.skills(reach).unwrap();
        found.iter().map(|it| it.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(Reach::Project), ["good"]);
    assert_eq!(names(Reach::Everything), ["good"]);
    let found = workspace.commands(Scope::Project).unwrap();
    assert_eq!(found.len(), 1);
    let export = workspace.export().unwrap();
    assert_eq!(export.skills.len(), 1);
    assert_eq!(export.commands.len(), 1);

    fs::write(&broken, "---\nname: broken\ndescription: mended\n---\n").unwrap();
    assert_eq!(names(Reach::Project), ["broken", "good"]);
}

#[test]
fn a_workspace_that_is_not_there_is_empty() {
    let root = TempDir::new().unwrap();
    let home = Home::new(root.path().join("home"));
    let workspace = Workspace::new(root.path().join("gone"), home);
    assert!(workspace.skills(Reach::Everything).unwrap().is_empty());
    assert!(workspace.commands(Scope::Global).unwrap().is_empty());
    assert!(workspace.plugins(Reach::Everything).unwrap().is_empty());
    assert!(workspace.mcp().unwrap().is_empty());
    assert!(workspace.home().jobs().unwrap().is_empty());
    assert_eq!(*workspace.config().unwrap().opencode, serde_json::json!({}));
    assert_eq!(workspace.config_text(Scope::Project).unwrap().text, None);
}
