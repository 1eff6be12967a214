//! What OpenWork's own server was recorded to do with files, done here: the same answers, and the same on the disk.
//!
//! JSON is compared by what it says and by its comments, everything else by its bytes. Each step begins with the files as
//! they were recorded.
#![expect(
    clippy::unwrap_used,
    reason = "what helps the tests may fail as they do"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use countersign_workspace::{
    Change, CommandDraft, Home, Import, Plan, Prepared, Reach, Refusal, Scope, Workspace, jsonc,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

#[derive(Deserialize)]
struct Recordings {
    fixture: BTreeMap<String, String>,
    folders: Vec<String>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    profile: String,
    #[serde(rename = "step")]
    name: String,
    method: String,
    path: String,
    #[serde(default)]
    body: Value,
    /// What is in `opencode.jsonc` before it.
    file: Option<String>,
    /// Whether the recorded server was wrong here.
    #[serde(default)]
    bug: bool,
    status: u16,
    json: Value,
    disk: BTreeMap<String, Option<String>>,
}

/// What a step came to.
enum Outcome {
    Answered(Value),
    Planned(Box<Plan>),
}

struct Ground {
    root: TempDir,
}

impl Ground {
    fn new(recordings: &Recordings) -> Self {
        let ground = Self {
            root: TempDir::new().unwrap(),
        };
        for folder in &recordings.folders {
            fs::create_dir_all(ground.root.path().join(folder)).unwrap();
        }
        for (path, content) in &recordings.fixture {
            ground.put(path, Some(content));
        }
        ground
    }

    fn put(&self, path: &str, content: Option<&str>) {
        let path = self.root.path().join(path);
        match content {
            Some(content) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            None => drop(fs::remove_file(path)),
        }
    }

    fn workspace(&self, name: &str) -> Workspace {
        let home = Home::new(self.root.path().join("home"));
        Workspace::new(self.root.path().join(name), home)
    }

    fn recorded(&self, text: &str) -> String {
        text.replace("${ROOT}", self.root.path().to_str().unwrap())
    }
}

#[test]
fn what_was_recorded_is_done() {
    let recordings = include_str!("data/recordings.json");
    let recordings: Recordings = serde_json::from_str(recordings).unwrap();
    let mut ground = Ground::new(&recordings);
    let mut profile = "auto";
    for step in &recordings.steps {
        if step.profile != profile {
            ground = Ground::new(&recordings);
            profile = &step.profile;
        }
        if let Some(file) = &step.file {
            ground.put("ws5/opencode.jsonc", Some(file));
        }
        if !step.bug {
            check(&ground, step);
        }
        for (path, content) in &step.disk {
            ground.put(path, content.as_deref());
        }
    }
}

fn check(ground: &Ground, step: &Step) {
    let name = &step.name;
    match run(ground, step) {
        Ok(Outcome::Answered(answer)) => {
            let recorded = ground.recorded(&step.json.to_string());
            let recorded = serde_json::from_str(&recorded).unwrap();
            assert_eq!(unordered(answer), unordered(recorded), "{name}");
            assert!(step.disk.is_empty(), "{name}");
        }
        Ok(Outcome::Planned(plan)) => {
            assert_eq!(step.status, 200, "{name}");
            let (_, applied) = {
                let workspace = ground.workspace(workspace_of(step));
                let applied = workspace.apply(&plan, Prepared::default()).unwrap();
                (workspace, applied)
            };
            assert_eq!(applied.changed, plan.changed, "{name}");
            assert_eq!(applied.digest, plan.digest(), "{name}");
            compare_disk(ground, step);
        }
        // The recorded server says this of what it did not think of.
        Err(refusal) if step.status == 500 => assert_eq!(refusal.kind.status(), 422, "{name}"),
        Err(refusal) => {
            assert_eq!(refusal.kind.status(), step.status, "{name}: {refusal:?}");
            assert_eq!(refusal.code, step.json["code"], "{name}");
            assert_eq!(refusal.message, step.json["message"], "{name}");
            let details = refusal.details.unwrap_or_default();
            assert_eq!(details, *step.json.get("details").unwrap_or(&Value::Null));
        }
    }
}

fn compare_disk(ground: &Ground, step: &Step) {
    for (path, recorded) in &step.disk {
        let name = &step.name;
        let now = fs::read_to_string(ground.root.path().join(path)).ok();
        let (Some(recorded), Some(now)) = (recorded, &now) else {
            assert_eq!(now, *recorded, "{name}: {path}");
            continue;
        };
        if Path::new(path).extension() == Some("md".as_ref()) {
            // A model that is `null` makes opencode refuse the file: it is left out.
            assert_eq!(*now, recorded.replace("model: null\n", ""), "{name}");
            continue;
        }
        // The recorded server set the first of two equal keys, of which the last counts.
        let recorded = recorded.replace(",\n  \"plugin\": \"dup\"", "");
        assert_eq!(
            jsonc::parse(now).unwrap(),
            jsonc::parse(recorded.trim_start_matches('\u{feff}')).unwrap(),
            "{name}: {now}"
        );
        let (mut kept, mut lost) = (comments(now), comments(&recorded));
        if step.path.contains("/mcp") {
            // Which lost those inside `mcp`.
            kept.retain(|comment| lost.contains(comment) || *comment == "/* local server */");
            lost.retain(|comment| kept.contains(comment));
        }
        kept.sort_unstable();
        lost.sort_unstable();
        assert!(lost.iter().all(|it| kept.contains(it)), "{name}: {now}");
        if !step.path.contains("/mcp") {
            assert_eq!(kept, lost, "{name}: {now}");
        }
        assert!(now.ends_with('\n'), "{name}");
    }
}

fn run(ground: &Ground, step: &Step) -> Result<Outcome, Refusal> {
    let workspace = ground.workspace(workspace_of(step));
    let (path, query) = step.path.split_once('?').unwrap_or((&step.path, ""));
    let reach = match query {
        "includeGlobal=true" => Reach::Everything,
        _ => Reach::Project,
    };
    let rest: Vec<_> = path.split('/').skip(3).collect();
    let change = match (step.method.as_str(), rest.as_slice()) {
        ("GET", ["config"]) => {
            let config = workspace.config()?;
            let updated = step.json["updatedAt"].clone();
            let answer = json!({"opencode": *config.opencode, "openwork": *config.openwork, "updatedAt": updated});
            return Ok(Outcome::Answered(answer));
        }
        ("GET", ["plugins"]) => {
            let order = countersign_workspace::plugins::LOAD_ORDER;
            let answer = json!({"items": workspace.plugins(reach)?, "loadOrder": order});
            return Ok(Outcome::Answered(answer));
        }
        ("GET", ["skills"]) => return items(workspace.skills(reach)?),
        ("GET", ["mcp"]) => return items(workspace.mcp()?),
        ("GET", ["commands"]) => {
            let scope = match query {
                "scope=global" => Scope::Global,
                _ => Scope::Project,
            };
            return items(workspace.commands(scope)?);
        }
        ("GET", ["export"]) => {
            let mut answer = serde_json::to_value(workspace.export()?).unwrap();
            for key in ["workspaceId", "exportedAt"] {
                answer[key] = step.json[key].clone();
            }
            return Ok(Outcome::Answered(answer));
        }
        ("GET", ["scheduler", "jobs"]) => return items(workspace.home().jobs()?),
        (_, rest) => change(&step.method, rest, &step.body)?,
    };
    workspace
        .plan(&change)
        .map(|plan| Outcome::Planned(Box::new(plan)))
}

fn change(method: &str, rest: &[&str], body: &Value) -> Result<Change, Refusal> {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let if_there = |key: &str| body[key].as_str().map(str::to_owned);
    let name = |name: &str| name.replace("%40", "@").replace("%2F", "/");
    Ok(match (method, rest) {
        ("PATCH", ["config"]) => Change::PatchConfig {
            opencode: body["opencode"].clone(),
            openwork: body["openwork"].clone(),
        },
        ("POST", ["plugins"]) => Change::AddPlugin { spec: text("spec") },
        ("DELETE", ["plugins", it]) => Change::RemovePlugin { name: name(it) },
        ("POST", ["skills"]) => Change::UpsertSkill {
            name: text("name"),
            content: text("content"),
            description: if_there("description"),
        },
        ("POST", ["mcp"]) => Change::SetMcp {
            name: text("name"),
            config: body["config"].clone(),
        },
        ("DELETE", ["mcp", it]) => Change::RemoveMcp { name: name(it) },
        ("POST", ["commands"]) => Change::UpsertCommand(CommandDraft {
            name: text("name"),
            template: text("template"),
            description: if_there("description"),
            agent: if_there("agent"),
            model: if_there("model"),
            subtask: body["subtask"].as_bool(),
        }),
        ("DELETE", ["commands", it]) => Change::DeleteCommand { name: name(it) },
        ("POST", ["import"]) => Change::Import(Import::parse(body)?),
        ("DELETE", ["scheduler", "jobs", it]) => Change::DeleteJob { name: name(it) },
        (method, rest) => panic!("{method} {rest:?}"),
    })
}

fn workspace_of(step: &Step) -> &str {
    let number = step.path.split_once("${WS").unwrap().1;
    let number = number.split_once('}').unwrap().0;
    ["", "ws1", "ws2", "ws3", "ws4", "ws5"][number.parse::<usize>().unwrap()]
}

#[expect(clippy::unnecessary_wraps, reason = "it is returned as it is")]
fn items(items: impl serde::Serialize) -> Result<Outcome, Refusal> {
    Ok(Outcome::Answered(json!({ "items": items })))
}

/// What folders hold was recorded in no order.
fn unordered(mut answer: Value) -> Value {
    for key in ["items", "skills", "commands"] {
        if let Some(Value::Array(items)) = answer.get_mut(key) {
            items.sort_by_key(Value::to_string);
        }
    }
    answer
}

fn comments(text: &str) -> Vec<String> {
    let mut comments = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/']) {
        rest = &rest[at..];
        let length = match rest.as_bytes() {
            [b'"', ..] => {
                let mut escaped = false;
                let end = rest[1..].find(|it| {
                    let ends = it == '"' && !escaped;
                    escaped = it == '\\' && !escaped;
                    ends
                });
                end.unwrap() + 2
            }
            [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest.find("*/").unwrap() + 2,
            _ => 1,
        };
        if rest.starts_with("//") || rest.starts_with("/*") {
            comments.push(rest[..length].trim().to_owned());
        }
        rest = &rest[length..];
    }
    comments
}
