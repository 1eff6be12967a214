//! The folders that the recordings were made in.

use std::collections::BTreeMap;
use std::path::Path;

use countersign_testkit::ScriptedOpencode;
use tempfile::TempDir;

const OPENCODE_JSONC: &str = r#"// Sample workspace config (comments must survive edits)
{
  "$schema": "https://opencode.ai/config.json",
  // plugins in load order
  "plugin": ["opencode-scheduler", "@acme/tools@1.2.0"], // pinned
  "mcp": {
    /* local server */
    "notes": { "type": "local", "command": ["npx", "-y", "notes-mcp"] },
    "linear": { "type": "remote", "url": "https://mcp.linear.app/sse", "enabled": true }, // trailing comma next
  },
  "tools": { "deny": ["mcp.linear*"] },
}
"#;

const SERVER_JSON: &str = r#"{
  "host": "127.0.0.1",
  "token": "client-token-123",
  "hostToken": "host-token-456",
  "approval": { "mode": "auto", "timeoutMs": 1000 },
  "workspaces": [{ "path": "ws1", "name": "Finance" }, { "path": "ws4" }],
  "authorizedRoots": ["ws1"],
  "corsOrigins": ["http://localhost:5173"]
}"#;

#[rustfmt::skip]
const FILES: &[(&str, &str)] = &[
    ("server.json", SERVER_JSON),
    ("ws1/.git/HEAD", "ref: refs/heads/main\n"),
    ("ws1/opencode.jsonc", OPENCODE_JSONC),
    ("ws1/.opencode/openwork.json", "{\n  \"version\": 1,\n  \"authorizedRoots\": [\"docs\"]\n}\n"),
    ("ws1/.opencode/skills/alpha-skill/SKILL.md", "---\nname: alpha-skill\ndescription: First skill\n---\n# Alpha\n\n## When to use\n- Use it for alpha tasks\n"),
    ("ws1/.opencode/skills/beta-skill/SKILL.md", "---\nname: beta-skill\ndescription: Second skill\ntrigger: on beta\n---\nBody\n"),
    ("ws1/.opencode/skills/mismatch/SKILL.md", "---\nname: other-name\ndescription: name differs from folder, not listed\n---\nx\n"),
    ("ws1/.opencode/skills/Bad_Name/SKILL.md", "---\nname: Bad_Name\ndescription: invalid name, not listed\n---\nx\n"),
    ("ws1/.opencode/skills/no-desc/SKILL.md", "---\nname: no-desc\n---\nnot listed\n"),
    ("ws1/.opencode/skills/empty-dir/README.md", "no SKILL.md, not listed\n"),
    ("ws1/.claude/skills/claude-skill/SKILL.md", "---\nname: claude-skill\ndescription: From .claude\n---\nBody\n"),
    ("ws1/.claude/skills/alpha-skill/SKILL.md", "---\nname: alpha-skill\ndescription: shadowed duplicate\n---\nBody\n"),
    ("ws1/.opencode/commands/deploy.md", "---\nname: deploy\ndescription: Deploy it\nagent: build\nmodel: anthropic/claude\nsubtask: true\n---\nDeploy $ARGUMENTS now.\n"),
    ("ws1/.opencode/commands/plain.md", "Just a template\n"),
    ("ws1/.opencode/commands/bad name.md", "not listed (invalid name)\n"),
    ("ws1/.opencode/commands/notes.txt", "not a command\n"),
    ("ws1/.opencode/plugins/local.js", "export const P = async () => ({})\n"),
    ("ws1/.opencode/plugins/README.md", "ignored\n"),
    ("ws2/.git/HEAD", "ref: refs/heads/main\n"),
    ("ws2/opencode.json", "{\"plugin\": \"single-string-plugin\"}"),
    ("ws3/.git/HEAD", "ref: refs/heads/main\n"),
    ("ws3/opencode.jsonc", "{ \"plugin\": [ \"x\", }"),
    ("ws3/.opencode/openwork.json", "{ not json"),
    ("ws4/.git/HEAD", "ref: refs/heads/main\n"),
    ("home/.config/opencode/commands/global-cmd.md", "---\ndescription: Global one\n---\nGlobal template\n"),
    ("home/.config/opencode/skills/global-skill/SKILL.md", "---\nname: global-skill\ndescription: Global skill\n---\nBody\n"),
    ("home/.claude/skills/claude-global/SKILL.md", "---\nname: claude-global\ndescription: Claude global skill\n---\nBody\n"),
    ("home/.config/opencode/plugins/gplug.ts", "export {}\n"),
    ("home/.config/opencode/jobs/nightly.json", "{\"slug\":\"nightly\",\"name\":\"Nightly report\",\"schedule\":\"0 9 * * *\",\"createdAt\":\"2026-01-01T00:00:00Z\"}"),
];

/// The folders whose content is part of what is compared.
const WATCHED: [&str; 8] = ["ws1", "ws2", "ws3", "ws4", "ws5", "data", "home", "outside"];

/// Lays the folders out afresh.
pub(crate) fn build(root: &Path) {
    if root.exists() {
        std::fs::remove_dir_all(root).unwrap();
    }
    for (path, content) in FILES {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::create_dir_all(root.join("ws5/.git")).unwrap();
}

/// Every watched file with its text.
pub(crate) fn snapshot(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in WATCHED {
        collect(root, &root.join(folder), &mut found);
    }
    for file in ["server.json", "tokens.json"] {
        if let Ok(text) = std::fs::read_to_string(root.join(file)) {
            found.insert(file.to_owned(), text);
        }
    }
    found
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if entry.file_name() == ".git" {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(root, &path, found);
            continue;
        }
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "<binary>".to_owned());
        found.insert(name, text);
    }
}

/// The folders of the recordings, an engine at work in the workspace `ws1`, and a conversation with it.
pub(crate) fn with_engine() -> (TempDir, ScriptedOpencode, String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("fixture");
    build(&root);
    let workspace = root.join("ws1");
    let engine = ScriptedOpencode::start(&workspace, "pw");
    let session = engine.create_session(&workspace);
    (folder, engine, session)
}
