//! The rules that every session gets last: opencode has to ask, whatever a project's configuration says.
//!
//! The last rule that matches decides in opencode. So what the configuration denies is said once more
//! after our rules, and stays denied.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::opencode::delegation::{Agent, AgentRule, AgentVerdict};
use crate::opencode::wire::{PermissionRule, Verdict};

/// What acts on the world, and so always needs leave.
const ACTING: [&str; 6] = [
    "bash",
    "edit",
    "webfetch",
    "websearch",
    "external_directory",
    "doom_loop",
];

/// Tools of opencode's own that only look, plan or delegate.
const LOOKING: [&str; 10] = [
    "invalid",
    "question",
    "read",
    "glob",
    "grep",
    "lsp",
    "todowrite",
    "task",
    "skill",
    "plan_exit",
];

/// What opencode lets a model read of MCP servers; it asks for that as `read`.
const MCP_RESOURCES: [&str; 3] = [
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
];

/// Tools of opencode's own that ask as `edit`.
const EDITING: [&str; 2] = ["write", "apply_patch"];

/// Whether a session with these rules of its own would act without asking. None of them is of our making: we never write a
/// rule that allows.
pub fn acts_unasked(rules: &[AgentRule]) -> bool {
    let asks = |rule: &&AgentRule| rule.action == AgentVerdict::Ask;
    let asked = rules
        .iter()
        .filter(asks)
        .map(|rule| rule.permission.clone());
    let asked: BTreeSet<String> = ACTING.into_iter().map(str::to_owned).chain(asked).collect();
    let session = Agent {
        name: String::new(),
        permission: rules.to_vec(),
    };
    session.acts_without_asking(&asked)
}

/// Whether `rules`, as a session has them, end with `ours`.
pub fn ends_with(rules: &[AgentRule], ours: &[PermissionRule]) -> bool {
    let start = rules.len().checked_sub(ours.len());
    start.is_some_and(|start| are(&rules[start..], ours))
}

/// Whether `ours` stand somewhere in `rules`, one after the other.
pub fn contains(rules: &[AgentRule], ours: &[PermissionRule]) -> bool {
    ours.is_empty() || rules.windows(ours.len()).any(|some| are(some, ours))
}

fn are(rules: &[AgentRule], ours: &[PermissionRule]) -> bool {
    let is_same = |(rule, ours): (&AgentRule, &PermissionRule)| {
        let action = match ours.action {
            Verdict::Ask => AgentVerdict::Ask,
            Verdict::Deny => AgentVerdict::Deny,
        };
        rule.permission == ours.permission && rule.pattern == ours.pattern && rule.action == action
    };
    rules.iter().zip(ours).all(is_same)
}

/// The permission that a call of `tool` asks for before it acts; nothing if the call acts on nothing.
pub fn asked_as<'a>(tool: &'a str, input: &Value) -> Option<&'a str> {
    match tool {
        tool if LOOKING.contains(&tool) || MCP_RESOURCES.contains(&tool) => None,
        tool if EDITING.contains(&tool) => Some("edit"),
        "patch" | "multiedit" => Some("edit"),
        "bash" if changes_folder_only(input) => None,
        tool => Some(tool),
    }
}

/// Whether a command only changes the folder of a shell that ends with it. opencode does not ask for that.
fn changes_folder_only(input: &Value) -> bool {
    let command = input["command"].as_str().unwrap_or_default().trim();
    let (word, folder) = command.split_once(' ').unwrap_or((command, ""));
    // Whatever a shell could run, write or look up.
    let is_plain = !folder.contains(|it| "$`;|&<>(){}[]*?!\\\n\r".contains(it));
    matches!(word, "cd" | "pushd" | "popd") && is_plain
}

/// The rules for a session.
///
/// They come from the merged configuration, the names of the tools, the names of the MCP servers, and the
/// agents. Tools that opencode does not bring along are asked for as well, and so is the start of a
/// sub-agent that would act without asking.
pub fn ask_rules<'a>(
    config: &Value,
    tools: impl IntoIterator<Item = &'a str>,
    mcp_servers: impl IntoIterator<Item = &'a str>,
    agents: &[Agent],
) -> Vec<PermissionRule> {
    let mut asked: BTreeSet<String> = ACTING.into_iter().map(str::to_owned).collect();
    asked.extend(
        tools
            .into_iter()
            .filter(|tool| !LOOKING.contains(tool) && !EDITING.contains(tool))
            .map(str::to_owned),
    );
    asked.extend(
        mcp_servers
            .into_iter()
            .map(|server| format!("{}_*", tool_prefix(server))),
    );
    let delegates = agents
        .iter()
        .filter(|agent| agent.acts_without_asking(&asked))
        .map(|agent| rule("task".to_owned(), agent.name.clone(), Verdict::Ask))
        .collect::<Vec<_>>();
    let mut rules: Vec<PermissionRule> = asked
        .into_iter()
        .map(|permission| rule(permission, "*".to_owned(), Verdict::Ask))
        .collect();
    rules.extend(delegates);
    rules.extend(denials(&config["permission"]));
    rules
}

/// The value of `OPENCODE_PERMISSION`: what sessions that we do not create ourselves, those of
/// sub-agents, go by until they get their rules. Where opencode knows patterns, those of the
/// configuration stay: this is merged into it.
pub(crate) fn baseline() -> String {
    let by_pattern = json!({ "*": "ask" });
    json!({
        "bash": by_pattern,
        "edit": by_pattern,
        "external_directory": by_pattern,
        "webfetch": "ask",
        "websearch": "ask",
        "doom_loop": "ask",
    })
    .to_string()
}

/// An MCP server's tools are named after it, with everything but word characters and `-` replaced.
fn tool_prefix(server: &str) -> String {
    server
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() || character == '-' {
                character
            } else {
                '_'
            }
        })
        .collect()
}

fn denials(permission: &Value) -> Vec<PermissionRule> {
    let mut rules = Vec::new();
    for (kind, value) in permission.as_object().into_iter().flatten() {
        if value.as_str() == Some("deny") {
            rules.push(rule(kind.clone(), "*".to_owned(), Verdict::Deny));
        }
        for (pattern, action) in value.as_object().into_iter().flatten() {
            if action.as_str() == Some("deny") {
                rules.push(rule(kind.clone(), pattern.clone(), Verdict::Deny));
            }
        }
    }
    rules
}

fn rule(permission: String, pattern: String, action: Verdict) -> PermissionRule {
    PermissionRule {
        permission,
        pattern,
        action,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(rules: &[PermissionRule], kind: &str) -> Vec<(String, Verdict)> {
        rules
            .iter()
            .filter(|rule| rule.permission == kind)
            .map(|rule| (rule.pattern.clone(), rule.action))
            .collect()
    }

    #[test]
    fn asking_cannot_be_switched_off_and_a_denial_stays() {
        let config =
            json!({ "permission": { "bash": { "*": "allow", "rm *": "deny" }, "edit": "allow" } });
        let rules = ask_rules(&config, [], [], &[]);
        assert_eq!(
            actions(&rules, "bash"),
            [
                ("*".to_owned(), Verdict::Ask),
                ("rm *".to_owned(), Verdict::Deny)
            ]
        );
        assert_eq!(actions(&rules, "edit"), [("*".to_owned(), Verdict::Ask)]);
    }

    #[test]
    fn the_start_of_a_sub_agent_that_would_not_ask_is_asked_for() {
        let agent = |name: &str, action: &str| -> Agent {
            let rule = json!({ "permission": "*", "pattern": "*", "action": action });
            serde_json::from_value(json!({ "name": name, "permission": [rule] })).unwrap()
        };
        let agents = [agent("careful", "ask"), agent("bold", "allow")];
        let rules = ask_rules(&json!({}), [], [], &agents);
        assert_eq!(actions(&rules, "task"), [("bold".to_owned(), Verdict::Ask)]);
    }

    fn session_rule(permission: &str, pattern: &str, action: AgentVerdict) -> AgentRule {
        AgentRule {
            permission: permission.to_owned(),
            pattern: pattern.to_owned(),
            action,
        }
    }

    #[test]
    fn a_session_that_was_let_act_is_told_apart_until_our_rules_come_last() {
        let ours = ask_rules(&json!({}), ["deploy"], [], &[]);
        let as_told: Vec<AgentRule> = ours
            .iter()
            .map(|rule| session_rule(&rule.permission, &rule.pattern, AgentVerdict::Ask))
            .collect();
        assert!(!acts_unasked(&as_told) && ends_with(&as_told, &ours));
        assert!(!acts_unasked(&[]) && !ends_with(&[], &ours));
        for (permission, pattern) in [("*", "*"), ("bash", "ls *"), ("ba*", "*"), ("deploy", "*")] {
            let mut changed = as_told.clone();
            changed.push(session_rule(permission, pattern, AgentVerdict::Allow));
            assert!(acts_unasked(&changed), "{permission} {pattern}");
            assert!(!ends_with(&changed, &ours));
            changed.extend(as_told.clone());
            assert!(!acts_unasked(&changed) && ends_with(&changed, &ours));
        }
        // A prompt that names tools replaces everything.
        assert!(acts_unasked(&[session_rule("*", "*", AgentVerdict::Allow)]));
        assert!(!acts_unasked(&[session_rule(
            "read",
            "*",
            AgentVerdict::Allow
        )]));
    }

    #[test]
    fn what_acts_has_to_be_asked_for_whatever_its_tool_is_called() {
        let none = json!({});
        assert_eq!(asked_as("write", &none), Some("edit"));
        assert_eq!(asked_as("toy_deploy", &none), Some("toy_deploy"));
        assert_eq!(asked_as("read", &none), None);
        for (command, expected) in [
            ("cd src", None),
            ("cd", None),
            ("cd 'my folder' ", None),
            ("cd ~/x", None),
            ("cd $(touch x)", Some("bash")),
            ("cd a; touch x", Some("bash")),
            ("[[ 'a[$(touch x)]' -eq 0 ]]", Some("bash")),
            ("> f", Some("bash")),
        ] {
            let input = json!({ "command": command });
            assert_eq!(asked_as("bash", &input), expected, "{command}");
        }
    }

    #[test]
    fn tools_that_opencode_does_not_bring_are_asked_for() {
        let rules = ask_rules(&json!({}), ["read", "deploy"], ["my server"], &[]);
        assert_eq!(actions(&rules, "deploy").len(), 1);
        assert_eq!(actions(&rules, "my_server_*").len(), 1);
        assert!(actions(&rules, "read").is_empty());
    }
}
