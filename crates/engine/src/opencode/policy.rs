//! The rules that every session gets last: opencode has to ask, whatever a project's configuration says.
//!
//! The last rule that matches decides in opencode. So what the configuration denies is said once more
//! after our rules, and stays denied.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::opencode::delegation::Agent;
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

/// Tools of opencode's own that only look, plan or delegate; `write` and its like ask as `edit`.
const HARMLESS: [&str; 21] = [
    "invalid",
    "question",
    "read",
    "glob",
    "grep",
    "list",
    "lsp",
    "todowrite",
    "todoread",
    "task",
    "skill",
    "batch",
    "plan_enter",
    "plan_exit",
    "codesearch",
    "write",
    "apply_patch",
    "patch",
    "multiedit",
    "edit",
    "bash",
];

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
            .filter(|tool| !HARMLESS.contains(tool))
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

    #[test]
    fn tools_that_opencode_does_not_bring_are_asked_for() {
        let rules = ask_rules(&json!({}), ["read", "deploy"], ["my server"], &[]);
        assert_eq!(actions(&rules, "deploy").len(), 1);
        assert_eq!(actions(&rules, "my_server_*").len(), 1);
        assert!(actions(&rules, "read").is_empty());
    }
}
