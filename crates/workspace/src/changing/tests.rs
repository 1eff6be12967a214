use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::change::Act;
use crate::workspace::{Home, Reach};

mod prepared;

struct Ground {
    root: TempDir,
}

impl Ground {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        fs::create_dir_all(root.path().join("ws/.git")).unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        fs::create_dir_all(root.path().join("spare")).unwrap();
        Self { root }
    }

    fn workspace(&self) -> Workspace {
        let home = Home::new(self.root.path().join("home"));
        Workspace::new(self.root.path().join("ws"), home)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.root.path().join(path).exists()
    }

    /// Every file with its content.
    fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        let mut open = vec![self.root.path().to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                } else {
                    let content = fs::read(&path).unwrap_or_default();
                    all.push((path, content));
                }
            }
        }
        all.sort();
        all
    }
}

fn add(spec: &str) -> Change {
    Change::AddPlugin {
        spec: spec.to_owned(),
    }
}

fn patch(opencode: Value) -> Change {
    Change::PatchConfig {
        opencode,
        openwork: Value::Null,
    }
}

fn skill(name: &str, content: &str) -> Change {
    Change::UpsertSkill {
        name: name.to_owned(),
        content: content.to_owned(),
        description: Some("d".to_owned()),
    }
}

#[test]
fn a_plan_writes_nothing_and_says_what_would_be() {
    let ground = Ground::new();
    ground.write(
        "ws/opencode.jsonc",
        "{\n  // why\n  \"plugin\": [\"a\"]\n}\n",
    );
    let before = ground.everything();
    let workspace = ground.workspace();
    let plan = workspace.plan(&add("b@1")).unwrap();
    assert_eq!(ground.everything(), before);
    assert!(plan.changed);
    assert_eq!(plan.files.len(), 1);
    assert_eq!(plan.files[0].path, Path::new("opencode.jsonc"));
    let after = "{\n  // why\n  \"plugin\": [\"a\", \"b@1\"]\n}\n";
    assert_eq!(plan.files[0].after.as_deref(), Some(after.as_bytes()));
    assert!(matches!(&plan.effect.acts[..], [Act::Append { value, .. }] if value == "b@1"));
    let applied = workspace.apply(&plan, Prepared::default()).unwrap();
    assert_eq!(applied.files, plan.files);
    assert_eq!(applied.digest, plan.digest());
    assert_eq!(ground.read("ws/opencode.jsonc"), after);
    let again = workspace.plan(&add("b@2")).unwrap();
    assert!(!again.changed && again.effect.acts.is_empty());
    assert!(
        !workspace
            .apply(&again, Prepared::default())
            .unwrap()
            .changed
    );
}

#[test]
fn what_others_wrote_meanwhile_stays_if_the_change_means_the_same() {
    let ground = Ground::new();
    let workspace = ground.workspace();
    let plans: Vec<_> = (0..5)
        .map(|it| workspace.plan(&add(&format!("p{it}"))).unwrap())
        .collect();
    ground.write("ws/opencode.jsonc", "{\n  // mine\n  \"model\": \"m\"\n}\n");
    for plan in plans.iter().chain(&plans) {
        workspace.apply(plan, Prepared::default()).unwrap();
    }
    let text = ground.read("ws/opencode.jsonc");
    assert!(text.contains("// mine"), "{text}");
    let config = workspace.opencode_config().unwrap();
    assert_eq!(config["plugin"], json!(["p0", "p1", "p2", "p3", "p4"]));
    assert_eq!(config["model"], "m");
}

#[test]
fn a_change_that_would_mean_something_else_now_has_to_be_asked_anew() {
    let ground = Ground::new();
    ground.write("ws/opencode.json", "{\"model\": \"old\"}\n");
    ground.write(
        "ws/.opencode/skills/one/SKILL.md",
        "---\ndescription: d\n---\nold\n",
    );
    let workspace = ground.workspace();
    let set = workspace.plan(&patch(json!({"model": "new"}))).unwrap();
    let write = workspace.plan(&skill("one", "new")).unwrap();
    ground.write("ws/opencode.json", "{\"model\": \"other\"}\n");
    ground.write(
        "ws/.opencode/skills/one/SKILL.md",
        "---\ndescription: d\n---\nother\n",
    );
    let before = ground.everything();
    for plan in [&set, &write] {
        let applied = workspace.apply(plan, Prepared::default());
        assert!(matches!(applied, Err(ApplyError::Changed)), "{applied:?}");
    }
    assert_eq!(ground.everything(), before);
    // What has come about by itself is done.
    ground.write("ws/opencode.json", "{\"model\": \"new\"}\n");
    assert!(!workspace.apply(&set, Prepared::default()).unwrap().changed);
    // Whoever needs no leave writes over what is there.
    workspace.carry_out(&skill("one", "new")).unwrap();
    assert!(
        ground
            .read("ws/.opencode/skills/one/SKILL.md")
            .ends_with("new\n")
    );
    assert_ne!(set.effect.digest(), write.effect.digest());
}

#[test]
fn an_import_with_one_bad_entry_changes_nothing() {
    let ground = Ground::new();
    ground.write("ws/opencode.jsonc", "{}\n");
    ground.write(
        "ws/.opencode/skills/old/SKILL.md",
        "---\ndescription: d\n---\nold\n",
    );
    ground.write("ws/.opencode/commands/old.md", "old\n");
    let before = ground.everything();
    let good = json!({"name": "good", "content": "x", "description": "d"});
    let replace = json!({"skills": "replace", "commands": "replace", "opencode": "replace"});
    for (bad, code) in [
        (
            json!({"skills": [good, {"name": "../evil", "content": "x", "description": "d"}]}),
            "invalid_skill_name",
        ),
        (
            json!({"skills": [good, {"name": "no-description", "content": "x"}]}),
            "invalid_description",
        ),
        (
            json!({"skills": [good, {"name": "bad", "content": "---\n: [\n---\n"}]}),
            "invalid_frontmatter",
        ),
        (
            json!({"skills": [good], "commands": [{"name": "a b", "template": "t"}]}),
            "invalid_command_name",
        ),
        (
            json!({"skills": [good], "commands": [{"name": "a", "template": " "}]}),
            "invalid_command_template",
        ),
        (
            json!({"skills": [good], "commands": [{"content": "no name"}]}),
            "invalid_command",
        ),
        (
            json!({"skills": [good], "openwork": "text"}),
            "invalid_payload",
        ),
        (json!({"skills": {"length": 1}}), "invalid_payload"),
        (
            json!({"skills": [{"name": 5, "content": "x"}]}),
            "invalid_payload",
        ),
    ] {
        let mut payload = bad.clone();
        payload["mode"] = replace.clone();
        payload["opencode"] = json!({"partial": 1});
        let refusal = Import::parse(&payload)
            .and_then(|import| ground.workspace().plan(&Change::Import(import)))
            .unwrap_err();
        assert_eq!(refusal.code, code, "{bad}");
        assert_eq!(ground.everything(), before);
    }
}

#[test]
fn an_import_replaces_what_it_is_told_to() {
    let ground = Ground::new();
    ground.write("ws/opencode.jsonc", "// gone\n{\"a\": 1}\n");
    ground.write(
        "ws/.opencode/skills/old/SKILL.md",
        "---\ndescription: d\n---\nold\n",
    );
    ground.write("ws/.opencode/skills/old/more/notes.txt", "notes\n");
    ground.write("ws/.opencode/commands/old.md", "old\n");
    let workspace = ground.workspace();
    let payload = json!({
        "mode": {"opencode": "replace", "skills": "replace", "commands": "replace"},
        "opencode": {"only": true},
        "skills": [{"name": "solo", "content": "body", "description": "Solo"}],
        "commands": [{"name": "", "content": "---\nname: cmd\nagent: plan\n---\nDo it\n"}],
    });
    let change = Change::Import(Import::parse(&payload).unwrap());
    let plan = workspace.plan(&change).unwrap();
    assert_eq!(plan.files.len(), 6, "{plan:?}");
    workspace.apply(&plan, Prepared::default()).unwrap();
    assert_eq!(ground.read("ws/opencode.jsonc"), "{\n  \"only\": true\n}\n");
    assert!(!ground.has("ws/.opencode/skills/old"));
    assert!(!ground.has("ws/.opencode/commands/old.md"));
    let command = "---\nname: cmd\nagent: plan\nsubtask: false\n---\n\nDo it\n";
    assert_eq!(ground.read("ws/.opencode/commands/cmd.md"), command);
    // Nothing to bring means that nothing goes.
    let payload = json!({"mode": {"skills": "replace"}, "skills": []});
    let change = Change::Import(Import::parse(&payload).unwrap());
    assert!(!workspace.plan(&change).unwrap().changed);
}

#[test]
fn what_was_written_is_put_back_when_the_next_cannot_be() {
    let ground = Ground::new();
    ground.write("ws/old", "old");
    ground.write("ws/gone", "gone");
    let file = |path: &str, before: Option<&str>, after: Option<&str>| FileChange {
        base: Base::Workspace,
        path: path.into(),
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    let before = ground.everything();
    // Nobody can delete a file twice.
    let files = [
        file("new", None, Some("new")),
        file("old", Some("old"), Some("changed")),
        file("gone", Some("gone"), None),
        file("gone", Some("gone"), None),
    ];
    let workspace = ground.workspace();
    assert!(matches!(
        write::write(&workspace, &files, &mut Prepared::default()).unwrap(),
        Wrote::OthersDid
    ));
    assert_eq!(ground.everything(), before);
    assert!(matches!(
        write::write(&workspace, &files[..3], &mut Prepared::default()).unwrap(),
        Wrote::All(_)
    ));
    assert_eq!(ground.read("ws/old"), "changed");
    assert!(ground.has("ws/new") && !ground.has("ws/gone"));
    // What is there is not what it is meant to replace.
    assert!(matches!(
        write::write(&workspace, &files[..1], &mut Prepared::default()).unwrap(),
        Wrote::OthersDid
    ));
}

#[test]
fn a_place_that_cannot_be_written_keeps_everything_as_it_was() {
    let ground = Ground::new();
    ground.write("ws/opencode.jsonc", "{\"a\": 1}\n");
    let workspace = ground.workspace();
    let import = |skills: Value| {
        let payload = json!({"opencode": {"a": 2}, "skills": skills});
        Change::Import(Import::parse(&payload).unwrap())
    };
    // There is a folder where the file of the skill would be.
    ground.write("ws/.opencode/skills/zz/SKILL.md/in-the-way", "x");
    let before = ground.everything();
    let change = import(json!([
        {"name": "aa", "content": "x", "description": "d"},
        {"name": "zz", "content": "x", "description": "d"},
    ]));
    assert!(workspace.carry_out(&change).is_err());
    assert_eq!(ground.everything(), before);
}

#[test]
fn links_that_lead_out_are_not_written_through() {
    let ground = Ground::new();
    fs::create_dir(ground.root.path().join("outside")).unwrap();
    fs::create_dir_all(ground.root.path().join("ws/.opencode/skills")).unwrap();
    let link = ground.root.path().join("ws/.opencode/skills/evil");
    symlink(ground.root.path().join("outside"), link).unwrap();
    let link = ground.root.path().join("ws/.opencode/commands");
    symlink("../../outside", link).unwrap();
    let workspace = ground.workspace();
    let command = CommandDraft {
        name: "c".to_owned(),
        template: "t".to_owned(),
        ..CommandDraft::default()
    };
    for change in [skill("evil", "x"), Change::UpsertCommand(command)] {
        let refusal = workspace.plan(&change).unwrap_err();
        assert_eq!(refusal.kind, Kind::Outside);
        assert!(workspace.carry_out(&change).is_err());
    }
    let outside = fs::read_dir(ground.root.path().join("outside")).unwrap();
    assert_eq!(outside.count(), 0);
}

#[test]
fn servers_are_set_switched_and_taken_out_with_their_comments_kept() {
    let ground = Ground::new();
    let text = "{\n  \"mcp\": {\n    // mine\n    \"notes\": { \"type\": \"local\", \"command\": [\"n\"] }\n  }\n}\n";
    ground.write("ws/opencode.jsonc", text);
    let workspace = ground.workspace();
    let name = "linear".to_owned();
    let config = json!({"type": "remote", "url": "https://x"});
    let set = Change::SetMcp {
        name: name.clone(),
        config,
    };
    workspace.carry_out(&set).unwrap();
    let switch = Change::EnableMcp {
        name: name.clone(),
        enabled: false,
    };
    workspace.carry_out(&switch).unwrap();
    let servers = workspace.mcp().unwrap();
    assert_eq!(servers.len(), 2);
    assert_eq!(servers[1].config["enabled"], false);
    workspace
        .carry_out(&Change::RemoveMcp { name: name.clone() })
        .unwrap();
    assert_eq!(ground.read("ws/opencode.jsonc"), text);
    let refusal = workspace.plan(&Change::EnableMcp {
        name,
        enabled: true,
    });
    assert_eq!(refusal.unwrap_err().code, "mcp_not_found");
    ground.write(
        "home/.config/opencode/opencode.json",
        "{\"mcp\": {\"notes\": {}, \"mine\": {}}}",
    );
    let everywhere = workspace.mcp_in(Reach::Everything).unwrap();
    let everywhere: Vec<_> = everywhere.iter().map(|it| (&*it.name, it.source)).collect();
    let (project, global) = (mcp::Source::Project, mcp::Source::Global);
    assert_eq!(everywhere, [("mine", global), ("notes", project)]);
    // What the user denies is denied here too, and what the user broke is not broken here.
    ground.write(
        "home/.config/opencode/opencode.json",
        "{\"tools\": {\"deny\": [\"mcp.notes\"]}}",
    );
    let denied = workspace.mcp_in(Reach::Everything).unwrap();
    assert!(denied[0].disabled_by_tools);
    ground.write("home/.config/opencode/opencode.json", "{ half");
    assert_eq!(workspace.mcp_in(Reach::Everything).unwrap().len(), 1);
    let path = workspace.config_path().unwrap();
    assert_eq!(path, workspace.path().join("opencode.jsonc"));
    // A name that means something to JavaScript means nothing here.
    let name = "__proto__".to_owned();
    let config = json!({"type": "local", "command": ["x"]});
    workspace
        .carry_out(&Change::SetMcp { name, config })
        .unwrap();
    assert_eq!(workspace.mcp().unwrap()[1].name, "__proto__");
}

#[test]
fn a_skill_is_deleted_with_its_folder_and_a_job_with_its_units() {
    let ground = Ground::new();
    ground.write(
        "ws/.opencode/skills/one/SKILL.md",
        "---\ndescription: d\n---\n",
    );
    ground.write("ws/.opencode/skills/one/data/x.bin", "x");
    let job = "{\"slug\": \"nightly\", \"name\": \"Nightly report\", \"schedule\": \"0 9 * * *\"}";
    ground.write("home/.config/opencode/jobs/nightly.json", job);
    ground.write(
        "home/.config/systemd/user/opencode-job-nightly.timer",
        "[Timer]\n",
    );
    let evil = "{\"slug\": \"../../../evil\", \"name\": \"Evil\", \"schedule\": \"x\"}";
    ground.write("home/.config/opencode/jobs/evil.json", evil);
    ground.write("home/evil.timer", "x");
    let workspace = ground.workspace();
    let delete = |name: &str| Change::DeleteSkill {
        name: name.to_owned(),
    };
    workspace.carry_out(&delete("one")).unwrap();
    assert!(!ground.has("ws/.opencode/skills/one") && ground.has("ws/.opencode/skills"));
    assert_eq!(
        workspace.plan(&delete("one")).unwrap_err().code,
        "skill_not_found"
    );
    assert!(workspace.skills(Reach::Project).unwrap().is_empty());
    let delete = |name: &str| Change::DeleteJob {
        name: name.to_owned(),
    };
    let (plan, _) = workspace.carry_out(&delete("nightly")).unwrap();
    assert!(plan.files.iter().all(|file| file.base == Base::Home));
    assert!(!ground.has("home/.config/systemd/user/opencode-job-nightly.timer"));
    workspace.carry_out(&delete("Evil")).unwrap();
    assert!(ground.has("home/evil.timer"));
    assert_eq!(
        workspace.plan(&delete("evil")).unwrap_err().code,
        "job_not_found"
    );
}

#[test]
fn a_whole_configuration_is_written_only_if_it_can_be_read() {
    let ground = Ground::new();
    let workspace = ground.workspace();
    let write = |scope, text: &str| Change::WriteConfig {
        scope,
        text: text.to_owned(),
    };
    let refusal = workspace
        .plan(&write(Scope::Project, "{ \"a\": "))
        .unwrap_err();
    assert_eq!(refusal.code, "invalid_jsonc");
    let text = "// whole\n{ \"a\": 1 }";
    for scope in [Scope::Project, Scope::Global] {
        workspace.carry_out(&write(scope, text)).unwrap();
        let read = workspace.config_text(scope).unwrap();
        assert_eq!(read.text, Some(format!("{text}\n")));
    }
    assert!(ground.has("home/.config/opencode/opencode.jsonc"));
}
