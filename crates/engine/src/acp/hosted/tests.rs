use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use countersign_core::actor::{Actor, ActorKind, Surface};
use countersign_core::answer::{Answer, Choice};
use countersign_core::ask::{Ask, AskState, Door, OptionKind, Shown, Subject};
use countersign_core::delivery::{Delivery, DeliveryState};
use countersign_core::digest::Digest;
use countersign_core::id::{ActorId, AskId, RunId, SessionId, WorkspaceId};
use countersign_core::time::Timestamp;
use serde_json::json;
use tempfile::TempDir;

use super::leave::Leave;
use super::*;
use crate::acp::agents::Agent;
use crate::acp::ask::permission_ask;
use crate::acp::message::Params;
use crate::acp::tool_call::ToolCalls;
use crate::ask::EngineAsk;
use crate::files::Folders;

const NOW: Timestamp = Timestamp::from_micros(0);

struct Ground {
    root: TempDir,
    directory: PathBuf,
    folders: Folders,
}

impl Ground {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().canonicalize().unwrap();
        let folders = Folders::new([directory.clone()]);
        Self {
            root,
            directory,
            folders,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn write(&self, name: &str, content: &str) -> WantedWrite {
        let path = self.path(name);
        let request = json!({ "sessionId": "s", "path": path, "content": content });
        let place = self.folders.find(&path).unwrap();
        WantedWrite {
            at: 7,
            request,
            named: path,
            before: place.before().unwrap(),
            place,
            content: content.to_owned(),
        }
    }

    fn command(&self, request: &Value) -> WantedCommand {
        let mut all = json!({ "sessionId": "s" });
        for (key, value) in request.as_object().unwrap() {
            all[key] = value.clone();
        }
        let request: CreateTerminalRequest = serde_json::from_value(all.clone()).unwrap();
        let cwd = request.cwd.clone().unwrap_or(self.directory.clone());
        WantedCommand {
            at: 7,
            line: CommandLine::of(&request).unwrap(),
            variables: WantedCommand::variables_of(&request),
            request: all,
            directory: self.folders.find(&cwd).unwrap(),
        }
    }

    /// The leave that a request for it gives when it is answered with `choice`.
    fn leave(&self, tool_call: &Value, choice: Choice) -> Option<Leave> {
        let params = Params::of(&json!({
            "sessionId": "s",
            "toolCall": tool_call,
            "options": [
                { "optionId": "y", "name": "Yes", "kind": "allow_once" },
                { "optionId": "n", "name": "No", "kind": "reject_once" },
            ],
        }));
        let id = RpcId::from_text("1").unwrap();
        let mut calls = ToolCalls::default();
        let agent = Agent::default();
        let asked = permission_ask(&id, &params, &mut calls, &agent, &self.directory).unwrap();
        Leave::of(&answered(asked, choice), &self.directory)
    }

    fn edit(&self, name: &str, old: Option<&str>, new: &str) -> Leave {
        let path = self.path(name);
        let call = json!({
            "toolCallId": "c", "name": "edit", "kind": "edit", "rawInput": { "path": path },
            "content": [{ "type": "diff", "path": path, "oldText": old, "newText": new }],
        });
        self.leave(&call, Choice::AllowOnce).unwrap()
    }

    fn run(&self, input: &Value) -> Option<Leave> {
        let call =
            json!({ "toolCallId": "c", "name": "shell", "kind": "execute", "rawInput": input });
        self.leave(&call, Choice::AllowOnce)
    }
}

fn answered(asked: EngineAsk, choice: Choice) -> Ask {
    let nothing = Digest::of_bytes(b"");
    Ask {
        id: AskId::generate(NOW),
        workspace: WorkspaceId::generate(NOW),
        door: Door::Acp,
        run: RunId::generate(NOW),
        session: SessionId::generate(NOW),
        parent_session: None,
        requester: String::new(),
        native_id: asked.native_id,
        directory: String::new(),
        subject: asked.subject,
        digest: Digest::of_json(&asked.raw),
        raw: asked.raw,
        options: asked.options,
        opened_at: NOW,
        expires_at: None,
        likeness: nothing,
        fingerprint: nothing,
        previous: None,
        state: AskState::Answered(
            Answer {
                choice,
                by: Actor {
                    id: ActorId::generate(NOW),
                    kind: ActorKind::Person,
                    name: "somebody".to_owned(),
                },
                surface: Surface::Web,
                at: NOW,
                rule: None,
            },
            Delivery {
                state: DeliveryState::Pending,
                attempts: 0,
            },
        ),
    }
}

#[test]
fn a_write_that_was_just_allowed_is_covered_once() {
    let ground = Ground::new();
    fs::write(ground.path("a.txt"), "one\ntwo\n").unwrap();
    // The whole text, and a part of it.
    for (old, new) in [("one\ntwo\n", "one\n2\n"), ("two", "2")] {
        let mut leave = ground.edit("a.txt", Some(old), new);
        let wanted = ground.write("a.txt", "one\n2\n");
        assert!(leave.use_for_write(&wanted), "{old}");
        assert!(leave.is_used_up());
        assert!(!leave.use_for_write(&wanted), "a second write");
    }
    let mut new = ground.edit("new.txt", None, "fresh");
    assert!(new.use_for_write(&ground.write("new.txt", "fresh")));
}

#[test]
fn another_file_another_content_and_what_was_not_shown_are_not_covered() {
    let ground = Ground::new();
    for name in ["a.txt", "b.txt"] {
        fs::write(ground.path(name), "one\ntwo\ntwo\n").unwrap();
    }
    let mut leave = ground.edit("a.txt", Some("one"), "1");
    assert!(!leave.use_for_write(&ground.write("b.txt", "1\ntwo\ntwo\n")));
    assert!(!leave.use_for_write(&ground.write("a.txt", "1\ntwo\ntwo\nand more")));
    // The new part alone, as if it were the whole.
    assert!(!leave.use_for_write(&ground.write("a.txt", "1")));
    // What was shown as a change of a text that the file does not have (any more).
    fs::write(ground.path("a.txt"), "other\n").unwrap();
    assert!(!leave.use_for_write(&ground.write("a.txt", "1\ntwo\ntwo\n")));
    fs::write(ground.path("a.txt"), "one\ntwo\ntwo\n").unwrap();
    // Which of two places is meant cannot be told.
    let mut unclear = ground.edit("a.txt", Some("two"), "2");
    assert!(!unclear.use_for_write(&ground.write("a.txt", "one\n2\ntwo\n")));
    // A file that was shown as new, and is there.
    let mut fresh = ground.edit("b.txt", None, "fresh");
    assert!(!fresh.use_for_write(&ground.write("b.txt", "fresh")));
    assert!(!leave.use_for_command(&ground.command(&json!({ "command": "ls" }))));
    assert!(
        leave.use_for_write(&ground.write("a.txt", "1\ntwo\ntwo\n")),
        "it was not used"
    );
}

#[test]
fn a_file_that_was_named_through_a_link_is_not_the_file_that_was_shown() {
    let ground = Ground::new();
    fs::write(ground.path("b.txt"), "old").unwrap();
    symlink("b.txt", ground.path("a.txt")).unwrap();
    let mut leave = ground.edit("a.txt", Some("old"), "new");
    let wanted = ground.write("a.txt", "new");
    assert_eq!(wanted.place.path(), ground.path("b.txt"));
    assert!(!leave.use_for_write(&wanted));
    assert!(!leave.use_for_write(&ground.write("b.txt", "new")));
    // Nor does a link help that is put there after the answer.
    fs::remove_file(ground.path("a.txt")).unwrap();
    fs::write(ground.path("a.txt"), "old").unwrap();
    let mut leave = ground.edit("a.txt", Some("old"), "new");
    fs::remove_file(ground.path("a.txt")).unwrap();
    symlink("b.txt", ground.path("a.txt")).unwrap();
    assert!(!leave.use_for_write(&ground.write("a.txt", "new")));
    let climbing = json!({
        "toolCallId": "c", "name": "edit",
        "rawInput": { "path": ground.path("x/../b.txt") },
    });
    let mut leave = ground.leave(&climbing, Choice::AllowOnce).unwrap();
    assert!(!leave.use_for_write(&ground.write("b.txt", "new")));
}

#[test]
fn an_input_with_the_whole_content_covers_that_and_one_without_any_its_path() {
    let ground = Ground::new();
    let leave = |input: Value, locations: Value| {
        let call = json!({
            "toolCallId": "c", "name": "write", "kind": "edit",
            "rawInput": input, "locations": locations,
        });
        ground.leave(&call, Choice::AllowOnce)
    };
    let other = json!([{ "path": ground.path("b.txt") }]);
    let input = json!({ "path": ground.path("a.txt"), "content": "exactly this" });
    let mut whole = leave(input, other.clone()).unwrap();
    assert!(!whole.use_for_write(&ground.write("a.txt", "something else")));
    assert!(!whole.use_for_write(&ground.write("b.txt", "exactly this")));
    assert!(whole.use_for_write(&ground.write("a.txt", "exactly this")));
    let mut named = leave(json!({ "file_path": "a.txt", "edits": 1 }), other).unwrap();
    assert!(!named.use_for_write(&ground.write("b.txt", "x")));
    assert!(named.use_for_write(&ground.write("a.txt", "x")));
    let two = json!({ "path": ground.path("a.txt"), "content": "a", "file_text": "b" });
    assert!(leave(two, json!([])).unwrap().is_used_up());
}

#[test]
fn leave_to_read_and_a_refusal_are_no_leave_to_write() {
    let ground = Ground::new();
    let path = ground.path("a.txt");
    let read = json!({
        "toolCallId": "c", "name": "read", "kind": "read",
        "rawInput": { "path": path }, "locations": [{ "path": path }],
    });
    assert_eq!(ground.leave(&read, Choice::AllowOnce), None);
    let edit = json!({ "toolCallId": "c", "name": "edit", "rawInput": { "path": path } });
    let option = |kind| Choice::Option {
        id: "o".to_owned(),
        kind,
        reason: None,
    };
    for no in [
        Choice::Deny { reason: None },
        Choice::Choices { choices: vec![] },
        option(OptionKind::Deny),
        option(OptionKind::Other),
    ] {
        assert_eq!(ground.leave(&edit, no), None);
    }
    assert!(ground.leave(&edit, option(OptionKind::AllowOnce)).is_some());
}

#[test]
fn exactly_the_command_that_was_allowed_is_covered_once() {
    let ground = Ground::new();
    fs::create_dir(ground.path("sub")).unwrap();
    let input = json!({ "command": "npm test && ls", "description": "Test" });
    for same in [
        json!({ "command": "npm test && ls" }),
        json!({ "command": "npm test && ls", "cwd": ground.directory }),
        json!({ "command": "bash", "args": ["-c", "npm test && ls"] }),
        json!({ "command": "/bin/sh", "args": ["-lc", "npm test && ls"] }),
    ] {
        let mut leave = ground.run(&input).unwrap();
        let wanted = ground.command(&same);
        assert!(leave.use_for_command(&wanted), "{same}");
        assert!(leave.is_used_up() && !leave.use_for_command(&wanted));
    }
    let mut words = ground
        .run(&json!({ "command": ["npm", "test it"] }))
        .unwrap();
    assert!(
        words.use_for_command(&ground.command(&json!({ "command": "npm", "args": ["test it"] })))
    );
    let mut leave = ground.run(&input).unwrap();
    for other in [
        json!({ "command": "npm test && ls " }),
        json!({ "command": "npm", "args": ["test", "&&", "ls"] }),
        json!({ "command": "npm test && ls", "cwd": ground.path("sub") }),
        json!({ "command": "npm test && ls", "env": [{ "name": "A", "value": "b" }] }),
        json!({ "command": "evil", "args": ["-c", "npm test && ls"] }),
        json!({ "command": "bash", "args": ["-c", "npm test && ls", "more"] }),
    ] {
        assert!(!leave.use_for_command(&ground.command(&other)), "{other}");
    }
    let cwd = json!({ "command": "ls", "cwd": ground.path("sub") });
    let mut elsewhere = ground.run(&cwd).unwrap();
    assert!(!elsewhere.use_for_command(&ground.command(&json!({ "command": "ls" }))));
    assert!(elsewhere.use_for_command(&ground.command(&cwd)));
    assert_eq!(
        ground.run(&json!({ "command": "ls", "env": { "A": "b" } })),
        None
    );
}

#[test]
fn an_ask_for_a_write_shows_the_change_and_is_bound_to_it() {
    let ground = Ground::new();
    fs::write(ground.path("a.txt"), "old\n").unwrap();
    symlink("a.txt", ground.path("link.txt")).unwrap();
    let id = RpcId::from_text("\"w\"").unwrap();
    let mut wanted = ground.write("link.txt", "new\n");
    wanted.named = ground.path("link.txt");
    let asked = write_ask(&id, &wanted, "s", &ground.directory);
    let Subject::Permission {
        tool,
        targets,
        shown,
        ..
    } = &asked.subject
    else {
        panic!("{asked:?}");
    };
    assert_eq!(
        (tool.as_str(), targets.as_slice()),
        ("edit", &["a.txt".to_owned()][..])
    );
    let Shown::Diff { path, patch } = &shown[0] else {
        panic!("{shown:?}");
    };
    assert_eq!(Path::new(path), ground.path("a.txt"));
    assert!(patch.contains("-old") && patch.contains("+new"), "{patch}");
    let named = ground.path("link.txt").display().to_string();
    assert!(matches!(&shown[1], Shown::Text { text, .. } if *text == named));
    let ask = answered(asked, Choice::AllowOnce);
    let hosted = Hosted::of(&ask).unwrap();
    let act = HostedAct::Write {
        path: ground.path("a.txt"),
        content: "new\n".to_owned(),
        before: Some(Digest::of_bytes(b"old\n")),
    };
    assert_eq!((hosted.at, hosted.act), (7, Some(act)));
    // What is written is what was shown, or nothing.
    let mut forged = ask;
    forged.raw["request"]["content"] = json!("something else");
    assert_eq!(Hosted::of(&forged).unwrap().act, None);
    drop(ground.root);
}

#[test]
fn an_ask_for_a_command_shows_all_of_it() {
    let ground = Ground::new();
    fs::create_dir(ground.path("sub")).unwrap();
    let id = RpcId::from_text("1").unwrap();
    let plain = ground.command(&json!({ "command": "ls -l | wc" }));
    let asked = command_ask(&id, &plain, "s", &ground.directory);
    assert!(
        matches!(&asked.subject, Subject::Permission { tool, targets, .. }
            if tool == "shell" && targets == &["ls -l | wc"])
    );
    let request = json!({
        "command": "printf", "args": ["%s", "a; b"], "cwd": ground.path("sub"),
        "env": [{ "name": "A", "value": "1" }], "outputByteLimit": 10,
    });
    let asked = command_ask(&id, &ground.command(&request), "s", &ground.directory);
    let Subject::Permission { targets, shown, .. } = &asked.subject else {
        panic!("{asked:?}");
    };
    assert_eq!(
        targets.len(),
        2,
        "a rule for the plain command is not one for this"
    );
    assert!(matches!(&shown[0], Shown::Command { text } if text == "printf %s 'a; b'"));
    let texts = format!("{shown:?}");
    assert!(texts.contains("/sub") && texts.contains("A=1"), "{texts}");
    let ask = answered(asked, Choice::AllowOnce);
    let Some(HostedAct::Run {
        line,
        output_limit,
        variables,
        ..
    }) = Hosted::of(&ask).unwrap().act
    else {
        panic!("{ask:?}");
    };
    assert_eq!((line.program.as_str(), line.args.len()), ("printf", 2));
    assert_eq!((output_limit, variables.len()), (Some(10), 1));
}

#[test]
fn no_question_and_no_request_for_leave_is_taken_for_something_that_the_host_is_to_do() {
    let ground = Ground::new();
    let id = RpcId::from_text("1").unwrap();
    let wanted = ground.write("a.txt", "new");
    let real = write_ask(&id, &wanted, "s", &ground.directory);
    // A question with the very record of a write in it.
    let params = Params::of(&real.raw);
    let question = crate::acp::elicitation::elicitation_ask(&id, &params, "s").unwrap();
    assert_eq!(Hosted::of(&answered(question, Choice::AllowOnce)), None);
    let params = Params::of(&json!({
        "sessionId": "s", "host": real.raw["host"], "request": real.raw["request"],
        "toolCall": { "toolCallId": "c", "host": real.raw["host"], "rawInput": real.raw },
        "options": [],
    }));
    let mut calls = ToolCalls::default();
    let leave = permission_ask(
        &id,
        &params,
        &mut calls,
        &Agent::default(),
        &ground.directory,
    );
    assert_eq!(
        Hosted::of(&answered(leave.unwrap(), Choice::AllowOnce)),
        None
    );
    assert!(Hosted::of(&answered(real, Choice::AllowOnce)).is_some());
}
