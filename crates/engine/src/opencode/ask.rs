//! What opencode asks, in Countersign's words: complete, and from what will run rather than from titles.

use countersign_core::ask::{OfferedOption, OptionKind, Question, QuestionOption, Shown, Subject};
use serde_json::{Value, json};

use crate::ask::{EngineAsk, PersonNeeded};
use crate::opencode::wire::{Permission, QuestionRequest};

/// The ask in a permission request. `input` is what the tool call was given: older versions leave the
/// command out of the request itself.
pub fn permission_ask(permission: Permission, raw: Value, input: Option<&Value>) -> EngineAsk {
    let (targets, shown) = describe(&permission, input);
    EngineAsk {
        arguments: json!({ "targets": targets, "metadata": permission.metadata }),
        subject: Subject::Permission {
            tool: permission.permission,
            targets,
            shown,
        },
        native_id: permission.id,
        session: permission.session_id,
        raw,
        options: vec![
            option("once", "Allow once", OptionKind::AllowOnce),
            option("always", "Allow always", OptionKind::AllowAlways),
            option("reject", "Deny", OptionKind::Deny),
        ],
        tool_call: permission.tool.map(|tool| tool.call_id),
        person: None,
    }
}

/// The ask in a question request.
pub fn question_ask(request: QuestionRequest, raw: Value) -> EngineAsk {
    let questions: Vec<Question> = request
        .questions
        .into_iter()
        .map(|part| Question {
            header: part.header,
            question: part.question,
            options: part
                .options
                .into_iter()
                .map(|choice| QuestionOption {
                    label: choice.label,
                    description: choice.description,
                })
                .collect(),
            multiple: part.multiple,
        })
        .collect();
    EngineAsk {
        arguments: json!({ "questions": questions }),
        subject: Subject::Question { questions },
        native_id: request.id,
        session: request.session_id,
        raw,
        options: vec![option("reject", "Decline to answer", OptionKind::Deny)],
        tool_call: request.tool.map(|tool| tool.call_id),
        person: Some(PersonNeeded::Question),
    }
}

fn option(id: &str, name: &str, kind: OptionKind) -> OfferedOption {
    OfferedOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
        note: String::new(),
    }
}

/// What a rule is matched against, and what a person has to see.
fn describe(permission: &Permission, input: Option<&Value>) -> (Vec<String>, Vec<Shown>) {
    let said = |key: &str| permission.metadata.get(key).and_then(Value::as_str);
    match permission.permission.as_str() {
        "bash" => match said("command").or_else(|| input?.get("command")?.as_str()) {
            Some(command) => (
                vec![command.to_owned()],
                vec![Shown::Command {
                    text: command.to_owned(),
                }],
            ),
            // Parts of a command line are not the command line: no rule may go by them.
            None => (
                vec![],
                vec![text(
                    "Parts of a command that opencode did not give whole",
                    &permission.patterns.join("\n"),
                )],
            ),
        },
        "edit" => {
            let path =
                said("filepath").map_or_else(|| permission.patterns.join(", "), str::to_owned);
            let shown = match said("diff").or_else(|| said("patch")) {
                Some(patch) => Shown::Diff {
                    path,
                    patch: patch.to_owned(),
                },
                None => text("Change of", &edit_input(&path, input)),
            };
            (permission.patterns.clone(), vec![shown])
        }
        "external_directory" => {
            let mut paths: Vec<String> = permission.patterns.clone();
            paths.extend(said("filepath").map(str::to_owned));
            paths.dedup();
            let shown = paths
                .into_iter()
                .map(|path| Shown::Path {
                    path,
                    outside: true,
                })
                .collect();
            (permission.patterns.clone(), shown)
        }
        // Asked for where the sub-agent's own configuration is not one that asks.
        "task" => {
            let label = "Starts a sub-agent that may act without asking";
            let mut shown = vec![text(label, &permission.patterns.join(", "))];
            let details = input.unwrap_or(&permission.metadata);
            shown.push(text("With", &format!("{details:#}")));
            (permission.patterns.clone(), shown)
        }
        _ => {
            let mut shown: Vec<Shown> = permission
                .patterns
                .iter()
                .map(|pattern| text("On", pattern))
                .collect();
            let said_more = permission
                .metadata
                .as_object()
                .is_some_and(|fields| !fields.is_empty());
            let details = if said_more {
                Some(&permission.metadata)
            } else {
                input
            };
            shown.extend(details.map(|details| text("With", &format!("{details:#}"))));
            (permission.patterns.clone(), shown)
        }
    }
}

fn edit_input(path: &str, input: Option<&Value>) -> String {
    match input {
        Some(input) => format!("{path}\n{input:#}"),
        None => path.to_owned(),
    }
}

fn text(label: &str, text: &str) -> Shown {
    Shown::Text {
        label: label.to_owned(),
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permission(kind: &str, patterns: &[&str], metadata: Value) -> Permission {
        Permission {
            id: "per_1".to_owned(),
            session_id: "ses_1".to_owned(),
            permission: kind.to_owned(),
            patterns: patterns.iter().map(|text| (*text).to_owned()).collect(),
            metadata,
            tool: None,
        }
    }

    fn subject(permission: Permission, input: Option<&Value>) -> (Vec<String>, Vec<Shown>) {
        match permission_ask(permission, Value::Null, input).subject {
            Subject::Permission { targets, shown, .. } => (targets, shown),
            Subject::Question { .. } | Subject::WorkspaceWrite { .. } => {
                panic!("a permission became something else")
            }
        }
    }

    #[test]
    fn the_whole_command_is_shown_and_matched_not_its_parts() {
        let asked = permission(
            "bash",
            &["echo hi", "cat a"],
            json!({ "command": "echo hi; cat a" }),
        );
        let (targets, shown) = subject(asked, None);
        assert_eq!(targets, ["echo hi; cat a"]);
        assert_eq!(
            shown,
            [Shown::Command {
                text: "echo hi; cat a".to_owned()
            }]
        );
    }

    #[test]
    fn a_command_that_the_request_lacks_is_read_from_the_tool_call() {
        let asked = permission("bash", &["echo hi"], json!({}));
        let input = json!({ "command": "echo hi && rm -rf build" });
        assert_eq!(subject(asked, Some(&input)).0, ["echo hi && rm -rf build"]);
    }

    #[test]
    fn without_the_whole_command_no_rule_can_match() {
        let (targets, shown) = subject(permission("bash", &["echo hi"], json!({})), None);
        assert!(targets.is_empty());
        assert!(matches!(&shown[0], Shown::Text { text, .. } if text == "echo hi"));
    }

    #[test]
    fn an_edit_is_shown_as_its_diff() {
        let metadata = json!({ "filepath": "/srv/proj/b.txt", "diff": "--- b.txt\n+++ b.txt\n" });
        let (targets, shown) = subject(permission("edit", &["b.txt"], metadata), None);
        assert_eq!(targets, ["b.txt"]);
        assert!(matches!(&shown[0], Shown::Diff { path, .. } if path == "/srv/proj/b.txt"));
    }

    #[test]
    fn a_path_outside_is_marked() {
        let asked = permission(
            "external_directory",
            &["/etc/*"],
            json!({ "filepath": "/etc/hosts" }),
        );
        let (_, shown) = subject(asked, None);
        assert_eq!(shown.len(), 2);
        assert!(
            shown
                .iter()
                .all(|part| matches!(part, Shown::Path { outside: true, .. }))
        );
    }
}
