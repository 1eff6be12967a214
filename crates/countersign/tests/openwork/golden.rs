//! `countersign openwork-server` against recordings of the server that it stands in for: every request, its answer, what
//! it did to the disk and what it asked of opencode.

use std::path::Path;

use crate::json::Json;
use crate::replay::{Step, replay};

const GOLDEN: &str = include_str!("../data/openwork-golden-b.jsonl");

/// A step that comes out differently on purpose. `docs/openwork-compatibility.md` explains each.
struct Difference {
    step: &'static str,
    how: How,
}

/// In what a step differs. Everything else of it is as it was recorded.
enum How {
    /// It is refused with this status and this code, and nothing is written.
    Refused(u16, &'static str),
    /// It is answered as recorded, and leaves other files.
    Files,
    /// It is answered otherwise, and leaves the files that were recorded.
    Answer,
    /// It is answered otherwise, and leaves other files.
    Both,
}

const fn step(step: &'static str, how: How) -> Difference {
    Difference { step, how }
}

const DIFFERENCES: &[Difference] = &[
    // What cannot be decoded or is no object is refused with a reason.
    step(
        "bad percent-encoding in :id",
        How::Refused(400, "invalid_path"),
    ),
    step("config patch json null", How::Refused(400, "invalid_json")),
    step("plugins add null body", How::Refused(400, "invalid_json")),
    step("import null", How::Refused(400, "invalid_json")),
    step(
        "approvals reply null body",
        How::Refused(400, "invalid_json"),
    ),
    step(
        "config patch opencode is a string",
        How::Refused(400, "invalid_payload"),
    ),
    step(
        "config patch opencode is an array",
        How::Refused(400, "invalid_payload"),
    ),
    step("config after patches", How::Answer),
    step(
        "import skills not an array",
        How::Refused(400, "invalid_payload"),
    ),
    step(
        "import skill name not a string",
        How::Refused(400, "invalid_payload"),
    ),
    step(
        "skills upsert bad yaml frontmatter",
        How::Refused(422, "invalid_frontmatter"),
    ),
    // A configuration that cannot be read is not edited, and one that is no object is said to be none.
    step(
        "config patch ws3 broken jsonc is edited anyway",
        How::Refused(422, "invalid_jsonc"),
    ),
    step(
        "jsonc shape 15: set plugin and new key",
        How::Refused(422, "invalid_config"),
    ),
    step(
        "jsonc shape 16: set plugin and new key",
        How::Refused(422, "invalid_config"),
    ),
    // Of a key that is there twice, the one that counts is set.
    step("jsonc shape 17: set plugin and new key", How::Files),
    // Comments inside `mcp` are kept.
    step("mcp add local", How::Files),
    step("mcp add remote", How::Files),
    step("mcp add replaces", How::Files),
    step("mcp add remote odd url", How::Files),
    step("two pending (1)", How::Files),
    // `__proto__` is a name like any other.
    step("mcp add __proto__ name", How::Both),
    step("mcp delete", How::Both),
    step("mcp delete unknown", How::Answer),
    step("export", How::Answer),
    // A command without a model has none in its file.
    step("commands upsert minimal", How::Files),
    step("commands upsert non-boolean subtask", How::Files),
    step("import merge all", How::Files),
    step("import replace opencode+skills+commands", How::Files),
    // An import is done as a whole or not at all.
    step(
        "import bad skill name after writing opencode (partial apply)",
        How::Files,
    ),
    // Nobody is asked about what can only be refused.
    step("pending list shows traversal path", How::Answer),
    step(
        "reply junk value = deny",
        How::Refused(404, "approval_not_found"),
    ),
    step(
        "pending: skill upsert with invalid name still asks (background)",
        How::Refused(400, "invalid_skill_name"),
    ),
    // Who is asked about an import is told every file that it changes.
    step(
        "pending list config.import names only the two config files",
        How::Answer,
    ),
    // An engine that cannot be reached is no failure of the server.
    step(
        "engine reload upstream unreachable",
        How::Refused(502, "opencode_unreachable"),
    ),
];

#[test]
fn everything_is_as_it_was_recorded_but_for_the_documented_differences() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let steps = replay(
        GOLDEN,
        Path::new(env!("CARGO_BIN_EXE_countersign")),
        &folder,
    );
    let mut wrong = Vec::new();
    for step in &steps {
        let known = DIFFERENCES.iter().find(|known| known.step == step.name);
        match known {
            None if step.recorded == step.replayed => {}
            None => wrong.push(describe("differs", step)),
            Some(_) if step.recorded == step.replayed => {
                wrong.push(describe("differs no more", step));
            }
            Some(known) if !is_as_documented(known, step) => {
                wrong.push(describe("differs otherwise than documented", step));
            }
            Some(_) => {}
        }
    }
    for known in DIFFERENCES {
        if !steps.iter().any(|step| step.name == known.step) {
            wrong.push(format!("`{}` is no step of the recordings", known.step));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        steps.len(),
        wrong.join("\n")
    );
}

fn is_as_documented(known: &Difference, step: &Step) -> bool {
    let Step {
        recorded, replayed, ..
    } = step;
    let same_answer = recorded.status == replayed.status && recorded.body == replayed.body;
    let same_files = recorded.disk == replayed.disk;
    match known.how {
        How::Refused(status, code) => {
            let said = replayed.body.get("code").and_then(Json::as_str);
            (replayed.status, said) == (status, Some(code)) && replayed.disk.is_empty()
        }
        How::Files => same_answer && !same_files,
        How::Answer => !same_answer && same_files && replayed.status == 200,
        How::Both => !same_answer && !same_files && replayed.status == 200,
    }
}

fn describe(what: &str, step: &Step) -> String {
    let Step {
        name,
        profile,
        recorded,
        replayed,
    } = step;
    format!("{profile} / {name} {what}\n  recorded {recorded:?}\n  replayed {replayed:?}")
}
