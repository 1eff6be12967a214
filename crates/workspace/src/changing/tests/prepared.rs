//! What is on the disk before anybody has allowed it, and what becomes of it.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

impl Ground {
    /// Prepares a plan, and holds that it can be.
    fn prepare(&self, plan: &Plan) -> Prepared {
        let spare = Spare::open(&self.root.path().join("spare")).unwrap();
        self.workspace().prepare(plan, &spare).unwrap()
    }

    /// How many files are in the place for what is prepared.
    fn spare(&self) -> usize {
        fs::read_dir(self.root.path().join("spare"))
            .unwrap()
            .count()
    }
}

#[test]
fn what_is_prepared_is_nowhere_to_be_seen_and_is_what_is_written() {
    let ground = Ground::new();
    let workspace = ground.workspace();
    ground.write("ws/opencode.jsonc", "{} // mine\n");
    let path = ground.root.path().join("ws/opencode.jsonc");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let plan = workspace.plan(&add("prepared")).unwrap();
    let before = ground.everything();
    drop(ground.prepare(&plan));
    assert_eq!(ground.everything(), before, "nothing is left of it");
    let in_workspace = || fs::read_dir(ground.root.path().join("ws")).unwrap().count();
    let names = in_workspace();
    let prepared = ground.prepare(&plan);
    assert_eq!(in_workspace(), names, "nobody has allowed it yet");
    assert_eq!(ground.spare(), 1);

    let applied = workspace.apply(&plan, prepared).unwrap();
    assert_eq!(applied.digest, plan.digest());
    assert_eq!(
        ground.read("ws/opencode.jsonc").as_bytes(),
        plan.files[0].after.as_ref().unwrap()
    );
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(
        ground.everything().len(),
        before.len(),
        "nothing is left beside it"
    );
}

#[test]
fn what_was_prepared_for_other_files_is_not_what_is_written() {
    // Somebody writes the file, changes its rights, or has another folder in the place of its folder.
    type Meddling = fn(&Ground);
    let meddlings: [Meddling; 3] = [
        |ground| ground.write("ws/.opencode/openwork.json", "{ \"theirs\": 1 }\n"),
        |ground| {
            let path = ground.root.path().join("ws/.opencode/openwork.json");
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        },
        |ground| {
            let root = ground.root.path();
            fs::rename(root.join("ws/.opencode"), root.join("taken")).unwrap();
            ground.write("ws/.opencode/openwork.json", "{}\n");
        },
    ];
    for (which, meddle) in meddlings.into_iter().enumerate() {
        let ground = Ground::new();
        let workspace = ground.workspace();
        ground.write("ws/.opencode/openwork.json", "{}\n");
        let patch = Change::PatchConfig {
            opencode: Value::Null,
            openwork: json!({ "ours": 2 }),
        };
        let plan = workspace.plan(&patch).unwrap();
        let prepared = ground.prepare(&plan);
        assert_eq!(ground.spare(), 1);
        meddle(&ground);
        let left = fs::metadata(ground.root.path().join("ws/.opencode/openwork.json")).unwrap();
        workspace.apply(&plan, prepared).unwrap();
        let text = ground.read("ws/.opencode/openwork.json");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["ours"], 2, "{which}: {text}");
        assert_eq!(value["theirs"] == 1, which == 0, "{which}: {text}");
        let written = fs::metadata(ground.root.path().join("ws/.opencode/openwork.json")).unwrap();
        assert_eq!(written.permissions(), left.permissions(), "{which}");
        assert_eq!(ground.spare(), 0);
        if ground.has("taken") {
            let taken = ground.read("taken/openwork.json");
            assert_eq!(taken, "{}\n", "what left the workspace is left alone");
        }
    }
}

#[test]
fn nothing_is_prepared_where_that_would_be_seen() {
    let ground = Ground::new();
    let workspace = ground.workspace();
    let plan = workspace.plan(&skill("fresh", "Do it.\n")).unwrap();
    let prepared = ground.prepare(&plan);
    assert!(!ground.has("ws/.opencode"), "a folder would be seen");
    workspace.apply(&plan, prepared).unwrap();
    assert!(ground.has("ws/.opencode/skills/fresh/SKILL.md"));
}

#[test]
fn what_others_took_away_meanwhile_is_not_half_put_back() {
    let ground = Ground::new();
    let workspace = ground.workspace();
    ground.write(
        "ws/.opencode/skills/known/SKILL.md",
        "---\nname: known\ndescription: d\n---\n",
    );
    let plan = workspace.plan(&skill("known", "Do it.\n")).unwrap();
    let prepared = ground.prepare(&plan);
    fs::remove_dir_all(ground.root.path().join("ws/.opencode")).unwrap();
    let applied = workspace.apply(&plan, prepared);
    assert!(matches!(applied, Err(ApplyError::Changed)), "{applied:?}");
    assert!(!ground.has("ws/.opencode"), "not even a folder");
}

#[test]
fn what_is_in_the_way_meanwhile_is_said_as_when_it_is_planned() {
    // A folder in the place of the file, and a workspace that is gone.
    type Meddling = fn(&Ground);
    let meddlings: [Meddling; 2] = [
        |ground| {
            let path = ground
                .root
                .path()
                .join("ws/.opencode/skills/known/SKILL.md");
            fs::create_dir_all(path).unwrap();
        },
        |ground| fs::remove_dir_all(ground.root.path().join("ws")).unwrap(),
    ];
    for meddle in meddlings {
        let ground = Ground::new();
        let workspace = ground.workspace();
        let change = skill("known", "Do it.\n");
        let plan = workspace.plan(&change).unwrap();
        let prepared = ground.prepare(&plan);
        meddle(&ground);
        let planned = workspace.plan(&change).unwrap_err();
        match workspace.apply(&plan, prepared) {
            Err(ApplyError::Refused(refusal)) => {
                assert_eq!(refusal.to_string(), planned.to_string());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_plan_is_not_carried_out_where_another_file_is_the_configuration_by_now() {
    let ground = Ground::new();
    let workspace = ground.workspace();
    ground.write("ws/opencode.json", "{}\n");
    let plan = workspace.plan(&add("prepared")).unwrap();
    assert_eq!(plan.config(), Some(Path::new("opencode.json")));
    let prepared = ground.prepare(&plan);
    ground.write("ws/opencode.jsonc", "{}\n");
    let applied = workspace.apply(&plan, prepared);
    assert!(matches!(applied, Err(ApplyError::Changed)), "{applied:?}");
    assert_eq!(ground.read("ws/opencode.json"), "{}\n");
    assert_eq!(ground.read("ws/opencode.jsonc"), "{}\n");
}

#[test]
fn what_a_killed_process_had_made_ready_goes_with_the_next_one() {
    let ground = Ground::new();
    ground.write("spare/.countersign-0123456789abcdef", "left");
    ground.write("spare/notes", "mine");
    let spare = Spare::open(&ground.root.path().join("spare")).unwrap();
    assert!(!ground.has("spare/.countersign-0123456789abcdef"));
    assert!(ground.has("spare/notes"));
    drop(spare);
    Spare::open(&ground.root.path().join("other")).unwrap();
    let made = fs::metadata(ground.root.path().join("other")).unwrap();
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
}
