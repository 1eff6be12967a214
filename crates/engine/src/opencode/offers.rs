//! What opencode offers for a session: its agents, which are the modes there, its models, and how much each holds.

use std::collections::HashMap;

use countersign_core::settings::{Alternative, Selection, SessionSettings};
use serde::Deserialize;
use serde_json::Value;

use crate::opencode::command::Command;

/// What can be chosen in a directory, and said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offers {
    /// The modes, the models and the commands; what is current is what a new session has.
    pub settings: SessionSettings,
    /// How many tokens each model holds.
    contexts: HashMap<String, u64>,
    commands: Vec<Command>,
}

#[derive(Deserialize)]
pub(super) struct ListedAgent {
    name: String,
    #[serde(default)]
    description: Option<String>,
    /// `primary`, `subagent` or `all`.
    #[serde(default)]
    mode: String,
    #[serde(default)]
    hidden: bool,
}

impl ListedAgent {
    /// Its name, if a person can talk to it.
    pub(super) fn talkative(self) -> Option<Alternative> {
        (self.mode != "subagent" && !self.hidden).then(|| Alternative {
            name: self.name.clone(),
            id: self.name,
            description: self.description.unwrap_or_default(),
            group: String::new(),
        })
    }
}

impl Offers {
    /// Puts together what `/config`, `/config/providers`, `/agent` and `/command` say.
    pub(super) fn new(
        config: &Value,
        providers: &Value,
        agents: Vec<ListedAgent>,
        commands: Vec<Command>,
    ) -> Self {
        let mut contexts = HashMap::new();
        let mut models = Vec::new();
        let listed = providers["providers"].as_array();
        for provider in listed.into_iter().flatten() {
            let Some(of) = provider["id"].as_str() else {
                continue;
            };
            let group = provider["name"].as_str().unwrap_or(of);
            for (id, model) in provider["models"].as_object().into_iter().flatten() {
                let id = format!("{of}/{id}");
                if let Some(context) = model["limit"]["context"].as_u64() {
                    contexts.insert(id.clone(), context);
                }
                models.push(Alternative {
                    name: model["name"].as_str().unwrap_or(&id).to_owned(),
                    id,
                    description: String::new(),
                    group: group.to_owned(),
                });
            }
        }
        let modes: Vec<Alternative> = agents
            .into_iter()
            .filter_map(ListedAgent::talkative)
            .collect();
        let selection = |current: Option<&str>, choices: Vec<Alternative>| {
            let first = choices.first().map(|choice| choice.id.clone());
            let current = current.map(str::to_owned).or(first).unwrap_or_default();
            (!choices.is_empty()).then_some(Selection { current, choices })
        };
        let settings = SessionSettings {
            modes: selection(config["default_agent"].as_str(), modes),
            models: selection(config["model"].as_str(), models),
            commands: commands.iter().filter_map(Command::offered).collect(),
            ..SessionSettings::default()
        };
        Self {
            settings: settings.bounded(),
            contexts,
            commands,
        }
    }

    /// How many tokens a model holds, called `provider/model`; nothing if that is not known.
    pub fn context_of(&self, model: &str) -> Option<u64> {
        self.contexts.get(model).copied()
    }

    /// The command that a prompt begins with.
    pub fn command_in(&self, prompt: &str) -> Option<&Command> {
        let name = prompt.strip_prefix('/')?;
        let name = name.split(char::is_whitespace).next()?;
        self.commands.iter().find(|command| command.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn offers() -> Offers {
        let providers = json!({ "providers": [{ "id": "acme", "name": "Acme", "models": {
            "big": { "name": "Big", "limit": { "context": 200_000 } }, "small": {} } }] });
        let agents = json!([
            { "name": "build", "description": "Does it", "mode": "primary" },
            { "name": "explore", "mode": "subagent" },
            { "name": "title", "mode": "primary", "hidden": true },
        ]);
        let commands = json!([{ "name": "tidy", "description": "Tidies", "template": "Tidy $1" },
            { "name": "date", "template": "It is !`date`" }]);
        Offers::new(
            &json!({ "model": "acme/small" }),
            &providers,
            serde_json::from_value(agents).unwrap(),
            serde_json::from_value(commands).unwrap(),
        )
    }

    #[test]
    fn what_a_person_can_choose_is_offered_and_nothing_else() {
        let offers = offers();
        let modes = offers.settings.mode().unwrap();
        assert_eq!(modes.current, "build");
        let names: Vec<&str> = modes.choices.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(names, ["build"]);
        let models = offers.settings.model().unwrap();
        assert_eq!(models.current, "acme/small");
        assert_eq!(models.choices[0].name, "Big");
        assert_eq!(models.choices[0].group, "Acme");
        assert_eq!(offers.context_of("acme/big"), Some(200_000));
        assert_eq!(offers.context_of("acme/small"), None);
        let commands: Vec<&str> = offers
            .settings
            .commands
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(commands, ["tidy"], "what runs by itself is not offered");
    }

    #[test]
    fn a_command_is_known_by_the_first_word_of_a_prompt() {
        let offers = offers();
        assert_eq!(offers.command_in("/tidy up").unwrap().name, "tidy");
        assert_eq!(offers.command_in("/date").unwrap().name, "date");
        for other in ["tidy", "/tidyup", "/ tidy", "please /tidy"] {
            assert_eq!(offers.command_in(other), None, "{other}");
        }
    }

    #[test]
    fn an_engine_that_offers_nothing_has_nothing_to_choose() {
        let none = Offers::new(&Value::Null, &Value::Null, Vec::new(), Vec::new());
        assert_eq!(none, Offers::default());
    }
}
