use serde_json::json;

use super::*;

fn permission(kind: &str, patterns: &[&str], metadata: Value) -> Permission {
    Permission {
        id: "per_1".to_owned(),
        session_id: "ses_1".to_owned(),
        permission: kind.to_owned(),
        patterns: patterns.iter().map(|text| (*text).to_owned()).collect(),
        metadata,
        tool: None,
    }
}

fn names(description: &Description) -> Vec<&str> {
    let files = description.location.files.iter();
    files.map(|file| file.named.as_str()).collect()
}

#[test]
fn the_whole_command_is_shown_and_matched_not_its_parts() {
    let asked = permission(
        "bash",
        &["echo hi", "cat a"],
        json!({ "command": "echo hi; cat a" }),
    );
    let input = json!({ "command": "echo hi; cat a" });
    let described = describe(&asked, Some(&input));
    assert_eq!(described.targets, ["echo hi; cat a"]);
    assert_eq!(
        described.shown,
        [Shown::Command {
            text: "echo hi; cat a".to_owned()
        }]
    );
    assert!(described.location.is_plain());
}

#[test]
fn the_folder_of_a_command_is_part_of_what_is_asked() {
    let asked = permission("bash", &["make"], json!({ "command": "make" }));
    let input = json!({ "command": "make", "workdir": "../other", "timeout": 1000 });
    let described = describe(&asked, Some(&input));
    assert_eq!(described.location.folder.shown(), Some("../other"));
    assert_eq!(described.shown[1], text("Runs in", "../other"));
    // Without the tool call nobody knows where it runs.
    let described = describe(&asked, None);
    assert!(!described.location.is_known());
    let nowhere = json!({ "command": "make", "workdir": "" });
    assert!(describe(&asked, Some(&nowhere)).location.is_plain());
}

#[test]
fn a_command_that_the_request_lacks_is_read_from_the_tool_call() {
    let asked = permission("bash", &["echo hi"], json!({}));
    let input = json!({ "command": "echo hi && rm -rf build" });
    assert_eq!(
        describe(&asked, Some(&input)).targets,
        ["echo hi && rm -rf build"]
    );
}

#[test]
fn without_the_whole_command_no_rule_can_match() {
    let described = describe(&permission("bash", &["echo hi"], json!({})), None);
    assert!(described.targets.is_empty());
    assert!(matches!(&described.shown[0], Shown::Text { text, .. } if text == "echo hi"));
}

#[test]
fn an_edit_is_shown_as_its_diff() {
    let metadata = json!({ "filepath": "/srv/proj/b.txt", "diff": "--- b.txt\n+++ b.txt\n" });
    let described = describe(&permission("edit", &["b.txt"], metadata), None);
    assert_eq!(described.targets, ["b.txt"]);
    assert_eq!(names(&described), ["/srv/proj/b.txt"]);
    assert!(matches!(&described.shown[0], Shown::Diff { path, .. } if path == "/srv/proj/b.txt"));
}

#[test]
fn where_a_patch_moves_a_file_to_is_asked_for_too() {
    let files = json!([{ "filePath": "/p/a.txt", "relativePath": "b.txt", "type": "move", "movePath": "/p/b.txt" }]);
    let metadata = json!({ "filepath": "a.txt", "diff": "…", "files": files });
    let described = describe(&permission("edit", &["a.txt"], metadata), None);
    assert_eq!(described.targets, ["a.txt", "/p/b.txt"]);
    assert_eq!(names(&described), ["/p/a.txt", "/p/b.txt"]);
}

#[test]
fn a_path_outside_is_marked() {
    let metadata = json!({ "filepath": "/etc/hosts" });
    let asked = permission("external_directory", &["/etc/*"], metadata);
    let described = describe(&asked, None);
    let is_outside = |part: &Shown| matches!(part, Shown::Path { outside: true, .. });
    assert_eq!(described.shown.len(), 2);
    assert!(described.shown.iter().all(is_outside));
    assert_eq!(names(&described), ["/etc/*"]);
}

#[test]
fn tools_that_a_request_says_nothing_of_are_matched_by_what_they_are_given() {
    for (tool, pattern, expected) in [
        ("toy_deploy", "*", vec!["*", r#"{"to":"staging"}"#]),
        ("task", "bold", vec!["bold", r#"{"to":"staging"}"#]),
    ] {
        let asked = permission(tool, &[pattern], json!({}));
        assert!(needs_input(&asked));
        let input = json!({ "to": "staging" });
        assert_eq!(describe(&asked, Some(&input)).targets, expected, "{tool}");
        assert!(describe(&asked, None).targets.is_empty(), "{tool}");
    }
}

#[test]
fn what_is_read_and_where_is_searched_is_a_file() {
    let input = json!({ "filePath": "../secret", "limit": 3 });
    let described = describe(&permission("read", &["../secret"], json!({})), Some(&input));
    assert_eq!(names(&described), ["../secret"]);
    let metadata = json!({ "pattern": "key", "path": "/etc" });
    let described = describe(&permission("grep", &["key"], metadata), None);
    assert_eq!(described.targets, ["key", "/etc"]);
    assert_eq!(names(&described), ["/etc"]);
    let metadata = json!({ "pattern": "../../etc/*", "path": "src" });
    let described = describe(&permission("glob", &["../../etc/*"], metadata), None);
    assert_eq!(names(&described), ["src", "src/../../etc"]);
    let metadata = json!({ "pattern": "/etc/**" });
    let described = describe(&permission("glob", &["/etc/**"], metadata), None);
    assert_eq!(names(&described), [".", "/etc"]);
    let unknown = describe(&permission("read", &["a"], json!({})), None);
    assert!(unknown.targets.is_empty());
}
