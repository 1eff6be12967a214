use std::fs;

use tempfile::TempDir;

use super::*;
use crate::workspace::Home;

fn put(root: &TempDir, path: &str, description: &str) {
    let folder = root.path().join(path);
    fs::create_dir_all(&folder).unwrap();
    let text = format!("---\ndescription: {description}\n---\n");
    fs::write(folder.join(FILE), text).unwrap();
}

fn names(workspace: &Workspace) -> Vec<String> {
    let found = workspace.skills(Reach::Project).unwrap();
    found.iter().map(|skill| skill.name.clone()).collect()
}

#[test]
fn folders_above_count_up_to_the_repository_and_not_at_all_without_one() {
    let root = TempDir::new().unwrap();
    put(&root, "a/b/ws/.opencode/skills/own", "own");
    put(&root, "a/b/.claude/skills/above", "above");
    put(&root, "a/b/.opencode/skills/own", "shadowed");
    put(&root, ".opencode/skills/beyond", "beyond");
    let home = Home::new(root.path().join("home"));
    let workspace = Workspace::new(root.path().join("a/b/ws"), home);
    assert_eq!(names(&workspace), ["own"]);
    fs::create_dir(root.path().join("a/.git")).unwrap();
    assert_eq!(names(&workspace), ["own", "above"]);
    let read = workspace.skill("above", Reach::Project).unwrap();
    assert_eq!(read.content, "---\ndescription: above\n---\n");
    assert_eq!(read.skill.scope, Scope::Project);
    let own = workspace.skill("own", Reach::Project).unwrap();
    assert_eq!(own.skill.description, "own");
    let refusal = workspace.skill("beyond", Reach::Project).unwrap_err();
    assert_eq!(refusal.code, "skill_not_found");
}

#[test]
fn when_a_skill_is_to_be_used_is_found() {
    let trigger = |text: &str| {
        let skill = parse(
            "s",
            text.as_bytes().to_vec(),
            PathBuf::new(),
            Scope::Project,
        );
        skill.unwrap().trigger
    };
    let body = "\n# S\n\n## When to use\n\n1. First thing\n- Second\n";
    let said = |front: &str| trigger(&format!("---\ndescription: d\n{front}---\n{body}"));
    assert_eq!(said("trigger: on beta\n").as_deref(), Some("on beta"));
    assert_eq!(said("when: later\n").as_deref(), Some("later"));
    assert_eq!(said("").as_deref(), Some("First thing"));
    assert_eq!(trigger("---\ndescription: d\n---\n# Other\ntext\n"), None);
}

#[test]
fn a_description_is_counted_as_clients_count_it() {
    assert!(names::check_description(&"😀".repeat(512)).is_ok());
    assert!(names::check_description(&"😀".repeat(513)).is_err());
    assert!(names::check_skill("a-b2").is_ok());
    for bad in [
        "",
        "-a",
        "a-",
        "a--b",
        "A",
        "a_b",
        "ü",
        "../a",
        &"a".repeat(65),
    ] {
        assert!(names::check_skill(bad).is_err(), "{bad}");
    }
}
