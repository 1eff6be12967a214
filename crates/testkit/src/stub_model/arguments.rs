//! Shapes the short form of a tool call into the arguments that the agent's own schema wants.

use serde_json::{Map, Value, json};

/// What a line break in a sub-agent's prompt is written as.
const NESTED_LINE_BREAK: &str = " ;; ";

/// What agents call the same tool; the first name is the one that directives have for it.
const NAMES: [&[&str]; 6] = [
    &["bash", "run_shell_command", "exec_command", "shell"],
    &["read", "read_file"],
    &["write", "write_file"],
    &["edit", "replace"],
    &["question", "AskUserQuestion", "ask_user"],
    &["task", "Agent"],
];

/// Returns all names of the tool that `name` is one of, `name` itself first.
pub(super) fn names_of(name: &str) -> impl Iterator<Item = &str> {
    [name].into_iter().chain(same_tool(name).iter().copied())
}

fn same_tool(name: &str) -> &'static [&'static str] {
    let is_name = |other: &&str| other.eq_ignore_ascii_case(name);
    let tool = NAMES.iter().find(|names| names.iter().any(is_name));
    tool.copied().unwrap_or_default()
}

/// Returns the arguments of `tool` for the short form `argument`.
pub(super) fn shape(tool: &str, argument: &str, schema: &Value) -> Value {
    let path_key = known(schema, &["filePath", "file_path", "path"]);
    let mut arguments = match same_tool(tool).first().copied().unwrap_or(tool) {
        "bash" => object([(known(schema, &["command", "cmd"]), json!(argument))]),
        "read" => object([(path_key, json!(argument))]),
        "write" => {
            let (path, text) = split(argument, "<<<");
            object([(path_key, json!(path)), ("content", json!(unescape(text)))])
        }
        "edit" => {
            let (path, change) = split(argument, "<<<");
            let (old, new) = split(change, ">>>");
            object([
                (path_key, json!(path)),
                (
                    known(schema, &["oldString", "old_string"]),
                    json!(unescape(old)),
                ),
                (
                    known(schema, &["newString", "new_string"]),
                    json!(unescape(new)),
                ),
            ])
        }
        "question" => object([("questions", json!([question(argument)]))]),
        "task" => {
            let (description, prompt) = split(argument, "|");
            object([
                ("description", json!(description)),
                ("prompt", json!(prompt.replace(NESTED_LINE_BREAK, "\n"))),
                ("subagent_type", json!("general")),
            ])
        }
        _ => object([(first_required(schema).unwrap_or("input"), json!(argument))]),
    };
    fill_required(&mut arguments, schema);
    Value::Object(arguments)
}

fn question(argument: &str) -> Value {
    let mut parts = argument.split('|').map(str::trim);
    let question = parts.next().unwrap_or_default();
    let options: Vec<Value> = parts
        .map(|label| json!({"label": label, "description": label}))
        .collect();
    json!({"question": question, "header": "Stub", "options": options})
}

/// Gives every required text that the short form has no word for a value, as agents refuse a call without it.
fn fill_required(arguments: &mut Map<String, Value>, schema: &Value) {
    for name in required(schema) {
        if schema["properties"][name]["type"] == "string" && !arguments.contains_key(name) {
            arguments.insert(name.to_owned(), json!("stub"));
        }
    }
}

fn first_required(schema: &Value) -> Option<&str> {
    required(schema).next()
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(Value::as_str)
}

/// Returns the first of `names` that the schema knows, or the very first.
fn known<'a>(schema: &Value, names: &[&'a str]) -> &'a str {
    let known = names
        .iter()
        .find(|name| schema["properties"].get(**name).is_some());
    known.unwrap_or(&names[0])
}

fn split<'a>(text: &'a str, separator: &str) -> (&'a str, &'a str) {
    let (before, after) = text.split_once(separator).unwrap_or((text, ""));
    (before.trim(), after.trim())
}

/// Returns a text with the line breaks that it has no room for in a directive.
pub(super) fn unescape(text: &str) -> String {
    text.replace("\\n", "\n")
}

fn object<const N: usize>(entries: [(&str, Value); N]) -> Map<String, Value> {
    entries
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_own_parameter_names_are_used() {
        let schema = json!({"properties": {"file_path": {}, "old_string": {}, "new_string": {}}});
        assert_eq!(
            shape("Edit", r"a.txt <<< one\ntwo >>> three", &schema),
            json!({"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "three"})
        );
    }

    #[test]
    fn a_tool_is_shaped_by_what_it_does_whatever_it_is_called() {
        let schema = json!({"properties": {"cmd": {"type": "string"}}, "required": ["cmd"]});
        assert_eq!(
            shape("exec_command", "true", &schema),
            json!({"cmd": "true"})
        );
        assert_eq!(
            shape(
                "read_file",
                "a.txt",
                &json!({"properties": {"file_path": {}}})
            ),
            json!({"file_path": "a.txt"})
        );
    }

    #[test]
    fn a_required_text_without_a_word_for_it_is_filled_in() {
        let schema = json!({
            "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
            "required": ["command", "description"],
        });
        assert_eq!(
            shape("bash", "true", &schema),
            json!({"command": "true", "description": "stub"})
        );
    }

    #[test]
    fn a_sub_agents_prompt_can_hold_directives() {
        let arguments = shape(
            "task",
            "look | TOOL bash: a | b ;; FINAL seen",
            &Value::Null,
        );
        assert_eq!(arguments["description"], "look");
        assert_eq!(arguments["prompt"], "TOOL bash: a | b\nFINAL seen");
    }
}
