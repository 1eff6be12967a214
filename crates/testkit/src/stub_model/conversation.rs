//! What a request says, whichever API it came by: the prompt, the results since, the tools on offer.

use serde_json::Value;

use super::arguments::names_of;
use super::wire::Wire;

/// What the model is told by one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conversation {
    /// The text of the last user message.
    pub prompt: String,
    /// The results of tool calls since that message, oldest first. Denials are among them.
    pub results: Vec<String>,
    pub(super) tools: Vec<Tool>,
}

/// One tool on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) input: Input,
}

/// What a tool wants to be called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// An object of this schema.
    Schema(Value),
    /// Plain text.
    Freeform,
}

/// One thing that was said before, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// A user message, by its parts.
    Prompt(Vec<String>),
    /// The result of a tool call.
    Result(String),
}

/// Returns the text of the last user message of a chat completion request.
pub fn last_user_text(request: &Value) -> String {
    Wire::Chat.conversation(request).prompt
}

/// Returns the results of tool calls since the last user message of a chat completion request, oldest first. Denials
/// are among them.
pub fn tool_results(request: &Value) -> Vec<String> {
    Wire::Chat.conversation(request).results
}

impl Conversation {
    pub(super) fn new(said: impl IntoIterator<Item = Said>, tools: Vec<Tool>) -> Self {
        let mut conversation = Self {
            tools,
            ..Self::default()
        };
        for said in said {
            match said {
                Said::Prompt(parts) => {
                    if let Some(prompt) = prompt(&parts) {
                        conversation.prompt = prompt;
                        conversation.results.clear();
                    }
                }
                Said::Result(text) => conversation.results.push(text),
            }
        }
        conversation
    }

    /// Returns the tool of exactly this name.
    pub(super) fn tool_named(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns the tool that `name` means, in whatever case, under this or under another name of the same thing.
    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        names_of(name).find_map(|name| {
            let mut tools = self.tools.iter();
            tools.find(|tool| tool.name.eq_ignore_ascii_case(name))
        })
    }
}

/// Returns what the user wrote. Agents put words of their own into the user's mouth, in tags: reminders, the
/// surroundings, that a turn was aborted.
fn prompt(parts: &[String]) -> Option<String> {
    let written = parts
        .iter()
        .map(String::as_str)
        .filter(|part| !part.trim_start().starts_with('<'))
        .collect::<Vec<_>>()
        .join("\n");
    (!written.trim().is_empty()).then_some(written)
}

/// Returns the texts of content, which comes as a string or as a list of parts.
pub(super) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.map(str::to_owned).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the elements of a list; what is no list has none.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(parts: &[&str]) -> Said {
        Said::Prompt(parts.iter().map(|part| (*part).to_owned()).collect())
    }

    #[test]
    fn results_are_those_since_the_last_prompt() {
        let said = [
            prompt(&["one"]),
            Said::Result("old".into()),
            prompt(&["two"]),
            Said::Result("new".into()),
        ];
        let conversation = Conversation::new(said, Vec::new());
        assert_eq!(conversation.prompt, "two");
        assert_eq!(conversation.results, ["new"]);
    }

    #[test]
    fn what_the_agent_itself_adds_in_tags_is_no_prompt() {
        let said = [
            prompt(&["<surroundings/>"]),
            prompt(&["<reminder/>", "do it"]),
            Said::Result("done".into()),
            prompt(&[" <reminder/>"]),
        ];
        let conversation = Conversation::new(said, Vec::new());
        assert_eq!(conversation.prompt, "do it");
        assert_eq!(conversation.results, ["done"]);
    }

    #[test]
    fn a_tool_is_found_under_the_name_that_the_agent_has_for_it() {
        let tools = ["READ", "run_shell_command"].map(|name| Tool {
            name: name.to_owned(),
            input: Input::Freeform,
        });
        let conversation = Conversation::new([], tools.into());
        assert_eq!(conversation.tool("read").unwrap().name, "READ");
        assert_eq!(conversation.tool("bash").unwrap().name, "run_shell_command");
        assert_eq!(conversation.tool("write"), None);
    }
}
