//! Sub-agents whose own configuration lets them act without asking.
//!
//! A sub-agent's session begins with its agent's rules, and opencode reads them once, before anybody could add any. So
//! where those rules let it act without asking, leave is wanted for its start.

use std::collections::BTreeSet;

use serde::Deserialize;

/// What its parent's session hands down to a sub-agent's, after the agent's own rules.
const HANDED_DOWN: &str = "external_directory";

/// An agent as opencode lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What it may do: the last rule that matches decides.
    pub permission: Vec<AgentRule>,
}

/// A rule of an agent's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct AgentRule {
    /// The kind of leave, or a pattern of kinds.
    pub permission: String,
    /// What it is about.
    pub pattern: String,
    /// What happens.
    pub action: AgentVerdict,
}

/// What a rule of an agent's own says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentVerdict {
    /// Ask a person.
    Ask,
    /// Never.
    Deny,
    /// Without asking; what is not understood is taken for that.
    #[serde(other)]
    Allow,
}

impl Agent {
    /// Whether its rules let it do anything of `asked` without asking.
    pub(super) fn acts_without_asking(&self, asked: &BTreeSet<String>) -> bool {
        let mut asked = asked.iter().filter(|kind| *kind != HANDED_DOWN);
        asked.any(|kind| self.allows(kind))
    }

    fn allows(&self, kind: &str) -> bool {
        // From the last rule to the first: what stands before one that is about everything does not count.
        for rule in self.permission.iter().rev() {
            let covers = matches(&rule.permission, kind);
            if rule.action == AgentVerdict::Allow && (covers || matches(kind, &rule.permission)) {
                return true;
            }
            if covers && rule.pattern == "*" {
                return false;
            }
        }
        // opencode asks for what no rule is about.
        false
    }
}

/// Whether `pattern`, in which `*` stands for anything and `?` for one character, is about `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    // Where to go on from if it does not work out: the last star takes one character more.
    let mut retry = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at, read));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == text[read] => {
                at += 1;
                read += 1;
            }
            Some(_) | None => {
                let Some((star, taken)) = retry else {
                    return false;
                };
                retry = Some((star, taken + 1));
                at = star + 1;
                read = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|left| *left == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn acts(rules: &Value) -> bool {
        let rules: Vec<AgentRule> = rules
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| {
                serde_json::from_value(json!({
                    "permission": rule[0], "pattern": rule[1], "action": rule[2],
                }))
                .unwrap()
            })
            .collect();
        let agent = Agent {
            name: "helper".to_owned(),
            permission: rules,
        };
        let asked = ["bash", "edit", "external_directory", "my_server_*"];
        agent.acts_without_asking(&asked.map(str::to_owned).into())
    }

    #[test]
    fn an_agent_that_asks_for_everything_is_started_without_leave() {
        assert!(!acts(&json!([
            ["*", "*", "allow"],
            ["external_directory", "/tmp/*", "allow"],
            ["bash", "git *", "allow"],
            ["bash", "*", "ask"],
            ["bash", "rm *", "deny"],
            ["edit", "*", "deny"],
            ["my_server_*", "*", "ask"],
        ])));
        assert!(!acts(&json!([["*", "*", "allow"], ["*", "*", "ask"]])));
        assert!(!acts(&json!([])));
    }

    #[test]
    fn an_agent_that_may_do_anything_unasked_is_not() {
        let ask = ["*", "*", "ask"];
        assert!(acts(&json!([ask, ["bash", "*", "allow"]])));
        assert!(acts(&json!([ask, ["bash", "git *", "allow"]])));
        assert!(acts(&json!([ask, ["ed?t", "*", "allow"]])));
        assert!(acts(&json!([ask, ["*", "*", "allow"]])));
        assert!(acts(&json!([ask, ["my_server_delete", "*", "allow"]])));
    }
}
