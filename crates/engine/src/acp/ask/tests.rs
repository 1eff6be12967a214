use std::path::PathBuf;

use countersign_core::ask::Shown;
use proptest::prelude::*;

use super::*;
use crate::acp::agents::known_agents;
use crate::acp::reply::{Answer, Reply, choose};
use crate::acp::update::{self, Update};

fn usual_options() -> Value {
    json!([
        { "optionId": "always", "name": "Always", "kind": "allow_always" },
        { "optionId": "once", "name": "Once", "kind": "allow_once" },
        { "optionId": "no", "name": "No", "kind": "reject_once" },
    ])
}

fn ask_of(agent: &str, params: &Value) -> EngineAsk {
    let agents = known_agents();
    let agent = agents.iter().find(|known| known.name == agent).unwrap();
    permission_ask(
        &RpcId::from_text("7").unwrap(),
        &Params::of(params),
        &mut ToolCalls::default(),
        agent,
        &PathBuf::from("/srv/work"),
    )
    .unwrap()
}

fn ask(tool_call: &Value) -> EngineAsk {
    ask_with(tool_call, &usual_options())
}

fn ask_with(tool_call: &Value, options: &Value) -> EngineAsk {
    ask_of(
        "opencode",
        &json!({ "sessionId": "s", "toolCall": tool_call, "options": options }),
    )
}

fn permission(ask: &EngineAsk) -> (&str, &[String], &[Shown]) {
    match &ask.subject {
        Subject::Permission {
            tool,
            targets,
            shown,
            ..
        } => (tool, targets, shown),
        Subject::Question { .. } | Subject::WorkspaceWrite { .. } => {
            panic!("a permission became something else")
        }
    }
}

#[test]
fn a_command_is_shown_and_matched_whole() {
    let asked = ask(&json!({
        "toolCallId": "a", "kind": "execute", "title": "Lists files",
        "rawInput": { "command": "ls; rm -rf /", "cwd": "/srv/work", "description": "lists files" },
    }));
    let (tool, targets, shown) = permission(&asked);
    assert_eq!((tool, targets), ("shell", &["ls; rm -rf /".to_owned()][..]));
    assert_eq!(
        shown[0],
        Shown::Command {
            text: "ls; rm -rf /".to_owned()
        }
    );
    assert!(
        shown
            .iter()
            .any(|part| matches!(part, Shown::Text { label, text }
        if label == "In the agent's own words" && text == "Lists files"))
    );
    assert_eq!(asked.person, None);
    assert_eq!(asked.native_id, "7");
}

#[test]
fn what_changes_the_meaning_of_a_command_is_a_target_too() {
    let asked = ask(&json!({
        "toolCallId": "a", "kind": "execute", "rawInput": { "command": "make", "cwd": "/etc", "env": { "A": "b" } },
    }));
    assert_eq!(permission(&asked).1, ["make", r#"{"env":{"A":"b"}}"#]);
    let Subject::Permission { location, .. } = &asked.subject else {
        panic!("{:?}", asked.subject)
    };
    assert_eq!(location.folder.shown(), Some("/etc"));
}

#[test]
fn a_title_is_never_a_target() {
    let asked = ask(&json!({ "toolCallId": "a", "kind": "execute", "title": "echo RAN" }));
    let (tool, targets, shown) = permission(&asked);
    assert_eq!((tool, targets.len()), ("unknown", 0));
    assert!(
        matches!(&shown[0], Shown::Text { label, text } if label.contains("does not say") && text == "echo RAN")
    );
    assert_eq!(asked.person, Some(PersonNeeded::UnknownInput));
    assert_eq!(asked.subject.summary(), "echo RAN");
}

#[test]
fn a_tool_that_only_looks_like_a_shell_is_none() {
    for call in [
        json!({ "toolCallId": "a", "kind": "other", "rawInput": { "command": "ls" } }),
        json!({ "toolCallId": "a", "kind": "execute", "rawInput": { "command": "ls", "cmd": "rm" } }),
        json!({ "toolCallId": "a", "kind": "execute", "rawInput": { "command": 7 } }),
        json!({ "toolCallId": "a", "kind": "execute", "rawInput": "ls" }),
    ] {
        let asked = ask(&call);
        assert!(permission(&asked).1.is_empty(), "{call}");
    }
    let named = ask(&json!({
        "toolCallId": "a", "name": "mcp__x__deploy", "kind": "execute", "rawInput": { "command": "ls" },
    }));
    assert_eq!(permission(&named).0, "mcp__x__deploy");
    let posing =
        ask(&json!({ "toolCallId": "a", "name": "shell", "rawInput": { "program": "ls" } }));
    assert!(permission(&posing).1.is_empty());
}

#[test]
fn a_command_of_words_is_quoted_so_that_no_two_look_alike() {
    let target = |words: Value| {
        let asked =
            ask(&json!({ "toolCallId": "a", "kind": "execute", "rawInput": { "command": words } }));
        permission(&asked).1[0].clone()
    };
    assert_eq!(
        target(json!(["bash", "-lc", "echo 'hi'"])),
        r"bash -lc 'echo '\''hi'\'''"
    );
    assert_ne!(target(json!(["a b", "c"])), target(json!(["a", "b c"])));
}

#[test]
fn a_change_is_shown_as_a_difference_and_matched_by_its_files() {
    let asked = ask(&json!({
        "toolCallId": "a", "kind": "edit",
        "rawInput": { "file_path": "/srv/work/src/a.rs", "old_string": "b", "new_string": "c", "replace_all": true },
        "content": [{ "type": "diff", "path": "/srv/work/src/a.rs", "oldText": "a\nb\n", "newText": "a\nc\n" }],
        "locations": [{ "path": "/srv/work/src/a.rs" }],
    }));
    let (tool, targets, shown) = permission(&asked);
    assert_eq!((tool, targets), ("edit", &["src/a.rs".to_owned()][..]));
    let Shown::Diff { path, patch } = &shown[0] else {
        panic!("{shown:?}");
    };
    assert_eq!(path, "/srv/work/src/a.rs");
    assert!(patch.contains("\n-b\n+c\n"), "{patch}");
    assert!(
        matches!(&shown[1], Shown::Text { text, .. } if text.contains("replace_all") && !text.contains("old_string"))
    );
}

#[test]
fn a_file_that_is_given_and_not_shown_is_matched_too() {
    let asked = ask(&json!({
        "toolCallId": "a", "name": "Write", "rawInput": { "file_path": "/etc/passwd", "content": "x" },
        "content": [{ "type": "diff", "path": "/srv/work/harmless", "newText": "x" }],
        "locations": [{ "path": "/root/.ssh/config" }],
    }));
    assert_eq!(
        permission(&asked).1,
        ["/etc/passwd", "/root/.ssh/config", "harmless"]
    );
    assert!(permission(&asked).2.iter().any(
        |part| matches!(part, Shown::Path { path, outside: true } if path == "/root/.ssh/config")
    ));
}

#[test]
fn a_change_without_a_name_is_one_only_if_nothing_else_is_given() {
    let change = |more: &Value| {
        let mut input = json!({ "path": "a.txt", "content": "b" });
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        ask(&json!({ "toolCallId": "a", "kind": "edit", "rawInput": input }))
    };
    let plain = change(&json!({ "replace_all": true }));
    assert_eq!(permission(&plain).1, ["a.txt"]);
    assert_eq!(plain.person, None);
    // What else it is given may make it something else, and the kind is only the agent's word.
    for more in [
        json!({ "command": "rm -rf /" }),
        json!({ "mode": "0777" }),
        json!({ "anything": null }),
    ] {
        let asked = change(&more);
        assert_eq!(asked.person, Some(PersonNeeded::UnknownInput), "{more}");
        assert!(permission(&asked).1.is_empty());
    }
    let named = ask(&json!({
        "toolCallId": "a", "name": "write_file", "rawInput": { "path": "a.txt", "content": "b", "mode": "0777" },
    }));
    assert_eq!(permission(&named).1, ["a.txt"]);
}

#[test]
fn a_difference_in_the_input_is_that_of_the_named_file_or_the_act_is_not_known() {
    let tool = |diff: &str| {
        let input = json!({ "filepath": "/srv/work/a.txt", "diff": diff });
        let call = json!({ "toolCallId": "a", "kind": "edit", "rawInput": input });
        permission(&ask(&call)).0.to_owned()
    };
    let one = "--- /srv/work/a.txt\n+++ /srv/work/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(tool(one), "edit");
    assert_eq!(
        tool(&one.replace("+++ /srv/work/a", "+++ /srv/work/b")),
        "unknown"
    );
    assert_eq!(
        tool(&format!("{one}--- b\n+++ b\n@@ -1 +1 @@\n-a\n+b\n")),
        "unknown"
    );
    assert_eq!(tool("anything"), "unknown");
}

#[test]
fn other_tools_are_matched_by_everything_they_are_given() {
    let asked = ask(&json!({
        "toolCallId": "a", "name": "WebFetch", "rawInput": { "url": "https://example.org", "prompt": "p" },
    }));
    let (tool, targets, shown) = permission(&asked);
    assert_eq!(tool, "WebFetch");
    assert_eq!(targets, [r#"{"prompt":"p","url":"https://example.org"}"#]);
    assert!(
        matches!(&shown[0], Shown::Text { label, text } if label == "With" && text.contains("example.org"))
    );
}

#[test]
fn what_the_request_lacks_is_taken_from_what_was_told_before() {
    let mut calls = ToolCalls::default();
    let told = json!({
        "toolCallId": "a", "name": "bash", "title": "x", "rawInput": { "command": "ls" },
    });
    calls.take(ToolCallChange::read(&Fields::read(&told.to_string())).unwrap());
    let params =
        json!({ "sessionId": "s", "toolCall": { "toolCallId": "a" }, "options": usual_options() });
    let asked = permission_ask(
        &RpcId::from_text("\"x\"").unwrap(),
        &Params::of(&params),
        &mut calls,
        &Agent::default(),
        &PathBuf::from("/srv/work"),
    )
    .unwrap();
    assert_eq!(permission(&asked).1, ["ls"]);
    assert_eq!(asked.native_id, "\"x\"");
    assert_eq!(asked.raw["tool_call"]["input"]["command"], "ls");
}

#[test]
fn leaving_a_plan_and_switching_modes_are_for_people() {
    let call =
        json!({ "toolCallId": "a", "name": "ExitPlanMode", "rawInput": { "plan": "do it" } });
    let options = json!([
        { "optionId": "exit-plan-default", "name": "Yes", "kind": "allow_once" },
        { "optionId": "exit-plan-bypass", "name": "Yes, and bypass", "kind": "allow_always" },
        { "optionId": "reject", "name": "No", "kind": "reject_once" },
    ]);
    for asked in [
        ask_with(&call, &options),
        ask(
            &json!({ "toolCallId": "a", "kind": "switch_mode", "name": "x", "rawInput": { "a": 1 } }),
        ),
        ask(&json!({ "toolCallId": "a", "rawInput": { "plan": "do it" } })),
    ] {
        assert_eq!(asked.person, Some(PersonNeeded::ModeSwitch));
        assert!(permission(&asked).1.is_empty());
    }
}

#[test]
fn two_options_of_a_kind_are_for_people_unless_both_are_known_and_lasting() {
    let call = json!({ "toolCallId": "a", "kind": "execute", "rawInput": { "command": "ls" } });
    let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
    let vibe = json!([
        option("allow_once", "allow_once"),
        option("allow_always", "allow_always"),
        option("allow_always_permanent", "allow_always"),
        option("reject_once", "reject_once"),
    ]);
    let params = json!({ "sessionId": "s", "toolCall": call, "options": vibe });
    assert_eq!(ask_of("vibe", &params).person, None);
    assert_eq!(ask_of("goose", &params).person, Some(PersonNeeded::Twins));
    let twice = json!([
        option("a", "allow_once"),
        option("b", "allow_once"),
        option("c", "reject_once")
    ]);
    assert_eq!(ask_with(&call, &twice).person, Some(PersonNeeded::Twins));
    let shared = json!([option("a", "allow_once"), option("a", "reject_once")]);
    assert_eq!(
        ask_with(&call, &shared).person,
        Some(PersonNeeded::UnclearOptions)
    );
    assert_eq!(
        ask_with(&call, &json!([])).person,
        Some(PersonNeeded::UnclearOptions)
    );
}

#[test]
fn a_kind_of_option_that_nobody_knows_is_kept() {
    let options = json!([
        { "optionId": "once", "kind": "allow_once" },
        { "optionId": "moon", "name": "To the moon", "kind": "allow_on_mondays" },
        { "name": "no id" },
    ]);
    let asked = ask_with(&json!({ "toolCallId": "a" }), &options);
    assert_eq!(asked.options.len(), 2);
    assert_eq!(asked.options[1].kind, OptionKind::Other);
    assert_eq!(asked.options[0].name, "once");
}

#[test]
fn questions_that_come_as_requests_for_leave_are_questions() {
    let asked = ask(&json!({ "toolCallId": "a", "rawInput": { "questions": [{
        "question": "How?", "header": "Way", "multiSelect": true,
        "options": [{ "label": "Polling", "description": "again and again" }],
    }] } }));
    assert_eq!(asked.person, Some(PersonNeeded::Question));
    let Subject::Question { questions } = &asked.subject else {
        panic!("no question");
    };
    assert_eq!(questions[0].options[0].label, "Polling");
    assert!(questions[0].multiple);
}

#[test]
fn requests_of_version_two_are_read() {
    let command = ask_of(
        "codex",
        &json!({
            "sessionId": "s", "title": "Run command?", "description": "x",
            "subject": { "type": "command", "command": "ls", "cwd": "/srv/work", "toolCallId": "a" },
            "options": usual_options(),
        }),
    );
    assert_eq!(permission(&command).1, ["ls"]);
    assert_eq!(command.tool_call.as_deref(), Some("a"));
    let unknown = ask_of(
        "codex",
        &json!({
            "sessionId": "s", "title": "Launch?", "subject": { "type": "rocket" }, "options": usual_options(),
        }),
    );
    assert_eq!(unknown.person, Some(PersonNeeded::UnknownInput));
}

#[test]
fn an_input_of_more_values_than_a_tree_may_have_is_shown_as_its_text() {
    let many = vec![json!({ "": 0 }); 20_000];
    let input = json!({ "command": "ls", "questions": many });
    let mut calls = ToolCalls::default();
    let update = json!({ "sessionId": "s", "update": {
        "sessionUpdate": "tool_call", "toolCallId": "a", "kind": "execute", "rawInput": input } });
    let Update::Tool(change) = update::read(&Params::of(&update)).update else {
        panic!("a tool call became something else");
    };
    calls.take(change);
    let request =
        json!({ "sessionId": "s", "toolCall": { "toolCallId": "a" }, "options": usual_options() });
    let asked = permission_ask(
        &RpcId::from_text("7").unwrap(),
        &Params::of(&request),
        &mut calls,
        &known_agents()[0],
        &PathBuf::from("/srv/work"),
    )
    .unwrap();
    assert_eq!(asked.person, Some(PersonNeeded::UnknownInput));
    let (_, _, shown) = permission(&asked);
    let whole = Value::from(input.to_string()).to_string();
    assert!(
        shown
            .iter()
            .any(|part| matches!(part, Shown::Text { text, .. } if *text == whole))
    );

    let request = json!({ "sessionId": "s", "toolCall": { "toolCallId": "b", "rawInput": input } });
    let refused = permission_ask(
        &RpcId::from_text("7").unwrap(),
        &Params::of(&request),
        &mut calls,
        &known_agents()[0],
        &PathBuf::from("/srv/work"),
    );
    assert!(matches!(refused, Err(UnreadableAsk::Params(_))));
}

#[test]
fn what_is_nested_deeply_is_shown_without_the_space_that_this_would_take() {
    let deep = (0..100).fold(json!(vec![1; 500]), |inner, _| json!([inner]));
    let asked = ask(&json!({ "toolCallId": "a", "rawInput": { "deep": deep } }));
    let (_, _, shown) = permission(&asked);
    let with = shown.iter().find_map(|part| match part {
        Shown::Text { label, text } if label == "With" => Some(text),
        Shown::Text { .. } | Shown::Command { .. } | Shown::Diff { .. } | Shown::Path { .. } => {
            None
        }
    });
    assert_eq!(*with.unwrap(), json!({ "deep": deep }).to_string());
}

#[test]
fn many_changes_are_looked_at_no_longer_than_one() {
    let old = |number: usize| {
        let lines: Vec<String> = (0..400)
            .map(|line| ((line * number) % 97).to_string())
            .collect();
        lines.join("\n")
    };
    let content: Vec<Value> = (1..200)
        .map(|number| json!({ "type": "diff", "path": "a", "oldText": old(number), "newText": old(number + 31) }))
        .collect();
    let began = std::time::Instant::now();
    let asked = ask(&json!({ "toolCallId": "a", "kind": "edit", "content": content }));
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(5), "it took {took:?}");
    let (_, _, shown) = permission(&asked);
    assert_eq!(
        shown
            .iter()
            .filter(|part| matches!(part, Shown::Diff { .. }))
            .count(),
        199
    );
}

#[test]
fn two_asks_of_which_nothing_is_known_are_never_alike() {
    let one = ask(&json!({ "toolCallId": "a", "title": "ls" }));
    let other = ask(&json!({ "toolCallId": "b", "title": "ls" }));
    assert_ne!(one.arguments, other.arguments);
    let known =
        |id: &str| ask(&json!({ "toolCallId": id, "rawInput": { "command": "ls" } })).arguments;
    assert_eq!(known("a"), known("b"));
}

#[test]
fn a_request_without_a_session_or_readable_parameters_is_refused() {
    let refused = |params: &Params| {
        permission_ask(
            &RpcId::from_text("1").unwrap(),
            params,
            &mut ToolCalls::default(),
            &Agent::default(),
            &PathBuf::from("/"),
        )
        .unwrap_err()
    };
    assert!(matches!(
        refused(&Params::of(&json!({}))),
        UnreadableAsk::NoSession
    ));
}

proptest! {
    #[test]
    fn what_a_rule_may_answer_can_always_be_told_to_the_agent(
        options in proptest::collection::vec(
            ("[a-c]", "(allow_once|allow_always|reject_once|reject_always|other)"), 0..5
        ),
        kind in "(execute|edit|switch_mode|)",
        input in prop_oneof![
            Just(json!({ "command": "ls" })), Just(json!({ "path": "a" })), Just(json!({})),
            Just(json!({ "plan": "p" })), Just(json!("text")), Just(json!({ "questions": [{ "question": "q" }] })),
        ],
    ) {
        let options: Vec<Value> = options
            .iter()
            .map(|(id, kind)| json!({ "optionId": id, "name": id, "kind": kind }))
            .collect();
        let asked = ask_with(&json!({ "toolCallId": "a", "kind": kind, "rawInput": input }), &json!(options));
        if asked.person.is_none() {
            prop_assert!(matches!(choose(Answer::Allow, &asked.options), Reply::Selected(_)));
            prop_assert!(!matches!(choose(Answer::Deny, &asked.options), Reply::NeedsPerson(_)));
        } else if let Subject::Permission { targets, .. } = &asked.subject {
            prop_assert!(targets.is_empty());
        }
    }
}
