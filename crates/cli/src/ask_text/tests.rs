use super::*;
use crate::fixtures::{NOW, answer_by_ada, ask, bash};
use anstream::adapter::strip_str;
use serde_json::json;

fn plain(text: &str) -> String {
    strip_str(text).to_string()
}

#[test]
fn a_list_says_how_much_it_leaves_out_and_where_to_find_it() {
    let long = bash(&"x".repeat(300), &json!({}));
    let listed = plain(&table(&[long], NOW, usize::MAX));
    assert!(
        listed.ends_with("x… 60 more characters; `countersign show k3v9qa`"),
        "{listed}"
    );
    let lines = bash("ls\nrm -rf ~", &json!({}));
    let listed = plain(&table(&[lines], NOW, usize::MAX));
    assert!(
        listed.ends_with("ls… 9 more characters; `countersign show k3v9qa`"),
        "{listed}"
    );
}

#[test]
fn a_list_shows_what_is_asked_by_whom_and_for_how_long() {
    assert_eq!(
        plain(&table(&[bash("cargo test", &json!({}))], NOW, usize::MAX)),
        "ID      AGE    STATE  TOOL  AGENT  WHAT\n\
         k3v9qa  2 min  open   bash  build  cargo test"
    );
}

#[test]
fn escape_sequences_and_hidden_characters_of_an_agent_never_reach_the_terminal() {
    let hostile = "echo \u{1b}[2K\u{1b}]0;title\u{7}\u{202e}ok\rfine";
    let changes = json!({"requester": hostile, "directory": hostile});
    let ask = bash(hostile, &changes);
    for text in [
        table(std::slice::from_ref(&ask), NOW, 80),
        whole(&ask, NOW),
        news(&ask, NOW),
    ] {
        // Colours are ours; the rest has to be free of them.
        let text = plain(&text);
        assert!(
            !text.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']),
            "{text:?}"
        );
        assert!(text.contains("⟨U+001B⟩[2K"), "{text}");
        assert!(text.contains("⟨U+202E⟩"), "{text}");
    }
}

#[test]
fn the_whole_ask_has_every_line_of_the_command() {
    let changes = json!({"siblings": ["ask_01jc0000000000000000k3v9qb"]});
    assert_eq!(
        plain(&whole(&bash("set -e\n\ncargo test", &changes), NOW)),
        "ask_01jc0000000000000000k3v9qa  bash asked by build\n\
         State      open for 2 min\n\
         Asked      2027-01-15T08:00:00.000000Z (2 min ago)\n\
         Directory  /srv/proj\n\
         Session    session_01jc0000000000000000000001\n\
         \n\
         Command\n\
         │ set -e\n\
         │ \n\
         │ cargo test\n\
         \n\
         Digest     abababababababababababababababababababababababababababababababab\n\
         \n\
         \x20 countersign allow k3v9qa\n\
         \x20 countersign allow k3v9qa --always --scope workspace --expires 7d\n\
         \x20 countersign deny k3v9qa --reason \"why, for the agent to read\"\n\
         Denying it drops the session's other open asks too: k3v9qb"
    );
}

#[test]
fn a_diff_is_whole_and_coloured() {
    let patch = format!(
        "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n{}",
        " same\n".repeat(500)
    );
    let subject = json!({
        "kind": "permission",
        "tool": "edit",
        "targets": ["src/main.rs"],
        "shown": [{"kind": "diff", "path": "src/main.rs", "patch": patch}],
    });
    let text = whole(&ask(&subject, "src/main.rs", &json!({})), NOW);
    assert!(text.contains("\u{1b}[31m-old"), "{text}");
    assert!(text.contains("\u{1b}[32m+new"), "{text}");
    let text = plain(&text);
    assert_eq!(text.matches("│  same").count(), 500);
    assert!(
        text.contains("Change of src/main.rs\n│ --- a\n│ +++ b\n"),
        "{text}"
    );
    assert!(
        text.contains("What an “always” would match\n│ src/main.rs"),
        "{text}"
    );
}

#[test]
fn a_question_shows_its_parts_and_what_can_be_chosen() {
    let subject = json!({"kind": "question", "questions": [
        {"header": "Store", "question": "Which database?", "multiple": false, "options": [
            {"label": "sqlite", "description": "one file"},
            {"label": "postgres", "description": ""},
        ]},
        {"header": "Colours", "question": "Which colours?", "multiple": true, "options": []},
    ]});
    let text = plain(&whole(&ask(&subject, "Which database?", &json!({})), NOW));
    assert!(
        text.contains("1. Store\n│ Which database?\n│ 1) sqlite: one file\n│ 2) postgres\n"),
        "{text}"
    );
    assert!(
        text.contains("2. Colours (several may be chosen)\n"),
        "{text}"
    );
    assert!(
        text.contains(
            "countersign answer k3v9qa NUMBER TEXT\n  countersign answer k3v9qa --text TEXT TEXT\n"
        ),
        "{text}"
    );
}

#[test]
fn whoever_may_not_answer_is_told_which_grant_is_missing() {
    let text = plain(&whole(&bash("ls", &json!({"may_answer": false})), NOW));
    assert!(
        text.ends_with("You may not answer it: that needs the grant `answer`"),
        "{text}"
    );
}

#[test]
fn how_an_ask_ended_is_said_in_a_sentence() {
    let once = answer_by_ada(&json!({"answer": "allow_once"}));
    let denied = answer_by_ada(&json!({"answer": "deny", "reason": "use\u{1b} the API"}));
    for (changes, sentence) in [
        (
            json!({"state": "answered", "answer": once}),
            "allowed once by ada in the browser, 1 min ago; on its way to the agent",
        ),
        (
            json!({"state": "delivered", "answer": denied, "delivery": {
                "state": "delivered", "attempts": 1, "at": "2027-01-15T08:01:01Z",
                "evidence": {"kind": "announced", "event": "permission.replied"},
            }}),
            "denied (“use⟨U+001B⟩ the API”) by ada in the browser, 1 min ago; \
             delivered (the engine announced permission.replied)",
        ),
        (
            json!({"state": "undeliverable", "answer": once, "why": "the engine ended"}),
            "allowed once by ada in the browser, 1 min ago; it never reached the agent: the engine ended",
        ),
        (
            json!({"state": "withdrawn", "why": "the turn was cancelled"}),
            "withdrawn: the turn was cancelled",
        ),
        (
            json!({"state": "expired", "why": "nobody answered in time"}),
            "expired: nobody answered in time",
        ),
    ] {
        assert_eq!(plain(&standing(&bash("ls", &changes), NOW)), sentence);
    }
}

#[test]
fn the_options_of_an_agent_are_shown_with_what_they_mean_and_how_far_they_reach() {
    let changes = json!({
        "door": "acp",
        "options": [
            {"id": "once", "name": "Yes", "kind": "allow_once"},
            {"id": "it's for ever", "name": "No, deny\u{202e}", "kind": "allow_always", "note": "For every project."},
            {"id": "no", "name": "No", "kind": "deny", "note": "This agent ends its turn when it is refused."},
        ],
    });
    let shown = plain(&whole(&bash("ls", &changes), NOW));
    for line in [
        "  countersign allow k3v9qa\n",
        "--option once  allow once: “Yes”\n",
        r"--option 'it'\''s for ever'  let the agent remember: “No, deny⟨U+202E⟩”",
        "      For every project.\n",
        "      This agent ends its turn when it is refused.\n",
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
}

#[test]
fn no_command_is_offered_that_the_agent_could_not_be_told() {
    let twins = json!({
        "door": "acp",
        "options": [
            {"id": "a", "name": "Yes", "kind": "allow_once"},
            {"id": "b", "name": "Yes, and switch", "kind": "allow_once"},
        ],
    });
    let shown = plain(&whole(&bash("ls", &twins), NOW));
    assert!(!shown.contains("countersign allow"), "{shown}");
    assert!(
        shown.contains("countersign answer k3v9qa --option b"),
        "{shown}"
    );
}

/// A write that bob proposes, with `changes` made to its JSON.
fn write(changes: &serde_json::Value) -> AskView {
    let subject = json!({
        "kind": "workspace_write",
        "action": "plugins.add",
        "summary": "Add plugin notes",
        "paths": ["opencode.jsonc"],
        "changes": [{"path": "opencode.jsonc", "patch": "@@ -1 +1 @@\n-{}\n+{\"plugin\": [\"notes\"]}\n"}],
        "by": {"id": "actor_01jc0000000000000000000002", "kind": "person", "name": "bob"},
        "wire_actor": {"type": "remote", "clientId": "phone"},
    });
    let mut all = json!({"door": "workspace", "requester": "bob"});
    for (key, value) in changes.as_object().unwrap() {
        all[key] = value.clone();
    }
    ask(&subject, "Add plugin notes", &all)
}

#[test]
fn a_write_is_shown_with_its_difference_and_who_proposes_it_from_where() {
    let previous = json!({"previous": "ask_01jc0000000000000000k3v9qb"});
    assert_eq!(
        plain(&whole(&write(&previous), NOW)),
        "ask_01jc0000000000000000k3v9qa  plugins.add proposed by bob\n\
         State      open for 2 min\n\
         Asked      2027-01-15T08:00:00.000000Z (2 min ago)\n\
         Directory  /srv/proj\n\
         Client     phone\n\
         Repeats    ask_01jc0000000000000000k3v9qb, the same wish, which was not carried out\n\
         \n\
         What is to be done\n\
         │ Add plugin notes\n\
         \n\
         Change of opencode.jsonc\n\
         │ @@ -1 +1 @@\n\
         │ -{}\n\
         │ +{\"plugin\": [\"notes\"]}\n\
         \n\
         Digest     abababababababababababababababababababababababababababababababab\n\
         \n\
         \x20 countersign allow k3v9qa\n\
         \x20 countersign deny k3v9qa --reason \"why, for the record\""
    );
    let unanswerable = plain(&whole(&write(&json!({"may_answer": false})), NOW));
    assert!(
        unanswerable.ends_with(
            "that needs the grant `approve`, and nobody answers what they proposed themselves"
        ),
        "{unanswerable}"
    );
}

#[test]
fn a_write_is_told_as_written_or_as_not_carried_out() {
    let allowed = answer_by_ada(&json!({"answer": "allow_once"}));
    let delivered = |evidence: serde_json::Value| {
        json!({"state": "delivered", "at": "2027-01-15T08:01:00.000000Z", "attempts": 0,
               "evidence": evidence})
    };
    let digest = "ef".repeat(32);
    let written = write(&json!({"state": "delivered", "answer": allowed,
        "delivery": delivered(json!({"kind": "files_written", "digest": digest}))}));
    let text = plain(&standing(&written, NOW));
    assert!(
        text.ends_with(&format!(
            "; delivered (the files were written, SHA-256 {digest})"
        )),
        "{text}"
    );
    let failed = write(&json!({"state": "undeliverable", "answer": allowed,
        "why": "it could not be written: the disk is full"}));
    let text = plain(&standing(&failed, NOW));
    assert!(
        text.ends_with("; it was not carried out: it could not be written: the disk is full"),
        "{text}"
    );
    let denied = answer_by_ada(&json!({"answer": "deny", "reason": "no"}));
    let denied = write(&json!({"state": "delivered", "answer": denied,
        "delivery": delivered(json!({"kind": "nothing_written"}))}));
    let text = plain(&standing(&denied, NOW));
    assert!(
        text.ends_with(
            ", and the client does not get to read the reason; delivered (nothing was written)"
        ),
        "{text}"
    );
}
