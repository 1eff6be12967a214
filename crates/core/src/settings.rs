//! What can be set for a session: what its agent offers, what is set, and what people chose.
//!
//! Agents offer modes and models in an older and in a newer way, and some in both; here a session has at most one
//! mode and one model, whichever way they came. Only what is offered can be set.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::actor::Actor;
use crate::time::Timestamp;

mod bounds;
#[cfg(test)]
mod tests;

/// What an agent tells of a session besides what is said in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionSettings {
    /// The modes, where the agent has them in the older way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<Selection>,
    /// The models, where the agent has them in the older way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Selection>,
    /// Everything else, and in newer agents these too.
    #[serde(default)]
    pub options: Vec<ConfigOption>,
    /// The commands that can begin a prompt.
    #[serde(default)]
    pub commands: Vec<SlashCommand>,
    /// How full the agent's memory is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// One of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Selection {
    /// Which one it is now.
    pub current: String,
    /// Which ones it can be.
    pub choices: Vec<Alternative>,
}

/// One that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Alternative {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The heading that it stands under.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
}

/// Something that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigOption {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is about, in the agent's word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// What it is set to.
    #[serde(flatten)]
    pub setting: Setting,
}

/// What something is set to, and what it could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Setting {
    /// One of several.
    Select(Selection),
    /// On or off.
    Boolean {
        /// Whether it is on.
        on: bool,
    },
    /// Something that a later version knows; it can be shown and not set.
    Unknown,
}

/// A command that can begin a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What can follow it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

/// How full an agent's memory is, and what was paid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Tokens in use.
    pub used: u64,
    /// Tokens that fit; 0 where that is not known.
    pub size: u64,
    /// What was paid so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What was paid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// In which currency, as `USD`.
    pub currency: String,
}

/// Which of a session's settings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingName {
    /// The mode.
    Mode,
    /// The model.
    Model,
    /// The option that the agent calls so.
    Option(String),
}

impl SettingName {
    /// How it is spoken of: `the mode`, `` `pace` ``.
    pub fn spoken(&self) -> String {
        match self {
            Self::Mode => "the mode".to_owned(),
            Self::Model => "the model".to_owned(),
            Self::Option(id) => format!("`{id}`"),
        }
    }
}

/// What something is to be set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SettingValue {
    /// On or off.
    Boolean(bool),
    /// The id of one of several.
    Selected(String),
}

impl std::fmt::Display for SettingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean(true) => f.write_str("on"),
            Self::Boolean(false) => f.write_str("off"),
            Self::Selected(id) => f.write_str(id),
        }
    }
}

/// What somebody chose for a session; it is set again in every later life of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Chosen {
    /// What.
    pub setting: SettingName,
    /// To what.
    pub value: SettingValue,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

impl Chosen {
    /// What a transcript says of it.
    pub fn sentence(&self) -> String {
        let what = self.setting.spoken();
        format!("{} set {what} to `{}`.", self.by.name, self.value)
    }
}

/// What was wished for is not offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}")]
pub struct UnfitSetting {
    /// The field that is wrong.
    pub field: &'static str,
    /// What is wrong with it, with what is offered.
    pub problem: String,
    /// What is offered.
    pub offered: Vec<String>,
}

/// How an agent is told what to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way<'a> {
    /// As a mode, in the older way.
    Mode,
    /// As a model, in the older way.
    Model,
    /// As the option of this id.
    Option(&'a str),
}

/// The categories by which options are known to be the mode and the model.
const MODE: &str = "mode";
const MODEL: &str = "model";
/// The category by which an option is known to say how hard the model is to think.
const EFFORT: &str = "thought_level";
/// What such an option is called by agents that do not say so.
const EFFORT_NAMES: [&str; 5] = [
    "effort",
    "reasoning_effort",
    "thought_level",
    "thinking_level",
    "thinking_effort",
];

impl ConfigOption {
    /// Whether it is the session's mode, or its model, as `what` says.
    fn is(&self, what: &str) -> bool {
        let named = self.category == what || (self.category.is_empty() && self.id == what);
        named && matches!(self.setting, Setting::Select(_))
    }

    fn selection(&self) -> Option<&Selection> {
        match &self.setting {
            Setting::Select(selection) => Some(selection),
            Setting::Boolean { .. } | Setting::Unknown => None,
        }
    }
}

impl SessionSettings {
    /// The mode that the session is in, and those that it could be in.
    pub fn mode(&self) -> Option<&Selection> {
        let option = self.option_for(MODE).and_then(ConfigOption::selection);
        option.or(self.modes.as_ref())
    }

    /// The model that the session uses, and those that it could use.
    pub fn model(&self) -> Option<&Selection> {
        let option = self.option_for(MODEL).and_then(ConfigOption::selection);
        option.or(self.models.as_ref())
    }

    /// The options that are neither the mode nor the model.
    pub fn others(&self) -> impl Iterator<Item = &ConfigOption> {
        let special = [MODE, MODEL].map(|what| self.option_for(what).map(|option| &option.id));
        self.options
            .iter()
            .filter(move |option| !special.contains(&Some(&option.id)))
    }

    /// The option that says how hard the model is to think. Agents that do not say what an option is about are known by
    /// what they call it.
    pub fn effort(&self) -> Option<&ConfigOption> {
        let is_choice = |option: &&ConfigOption| option.selection().is_some();
        let by_category = self.options.iter().find(|it| it.category == EFFORT);
        let by_name = || {
            let is_named = |option: &&ConfigOption| {
                let id = option.id.to_ascii_lowercase().replace('-', "_");
                EFFORT_NAMES.contains(&id.as_str())
            };
            self.options.iter().find(is_named)
        };
        by_category
            .filter(is_choice)
            .or_else(|| by_name().filter(is_choice))
    }

    fn option_for(&self, what: &str) -> Option<&ConfigOption> {
        self.options.iter().find(|option| option.is(what))
    }

    /// The same setting by the name that it has here: an option that is the mode is called the mode.
    #[must_use]
    pub fn name_of(&self, name: SettingName) -> SettingName {
        let is = |what| match &name {
            SettingName::Option(id) => self.option_for(what).is_some_and(|it| it.id == *id),
            SettingName::Mode | SettingName::Model => false,
        };
        if is(MODE) {
            SettingName::Mode
        } else if is(MODEL) {
            SettingName::Model
        } else {
            name
        }
    }

    /// How the agent is told to set `name`; nothing if it does not offer that.
    pub fn way(&self, name: &SettingName) -> Option<Way<'_>> {
        let option = |what| self.option_for(what).map(|it| Way::Option(&it.id));
        match name {
            SettingName::Mode => option(MODE).or(self.modes.as_ref().map(|_| Way::Mode)),
            SettingName::Model => option(MODEL).or(self.models.as_ref().map(|_| Way::Model)),
            SettingName::Option(id) => {
                let found = self.options.iter().find(|option| option.id == *id);
                found.map(|option| Way::Option(&option.id))
            }
        }
    }

    /// Fails unless `name` can be set to `value`, with what is offered.
    pub fn check(&self, name: &SettingName, value: &SettingValue) -> Result<(), UnfitSetting> {
        match name {
            SettingName::Mode => check_choice("mode", self.mode(), value),
            SettingName::Model => check_choice("model", self.model(), value),
            SettingName::Option(id) => {
                let Some(option) = self.options.iter().find(|option| option.id == *id) else {
                    let offered = self.others().map(|option| option.id.clone()).collect();
                    return Err(unfit("option", "is not one that the agent offers", offered));
                };
                match (&option.setting, value) {
                    (Setting::Select(selection), _) => {
                        check_choice("value", Some(selection), value)
                    }
                    (Setting::Boolean { .. }, SettingValue::Boolean(_)) => Ok(()),
                    (Setting::Boolean { .. }, SettingValue::Selected(_)) => {
                        let offered = vec!["true".to_owned(), "false".to_owned()];
                        Err(unfit("value", "is not on or off", offered))
                    }
                    (Setting::Unknown, _) => {
                        let problem = "is of a kind that cannot be set here";
                        Err(unfit("option", problem, Vec::new()))
                    }
                }
            }
        }
    }

    /// What `name` is set to now.
    pub fn current(&self, name: &SettingName) -> Option<SettingValue> {
        let chosen = |selection: &Selection| SettingValue::Selected(selection.current.clone());
        match name {
            SettingName::Mode => self.mode().map(chosen),
            SettingName::Model => self.model().map(chosen),
            SettingName::Option(id) => {
                let option = self.options.iter().find(|option| option.id == *id)?;
                match &option.setting {
                    Setting::Select(selection) => Some(chosen(selection)),
                    Setting::Boolean { on } => Some(SettingValue::Boolean(*on)),
                    Setting::Unknown => None,
                }
            }
        }
    }

    /// Notes that `name` is set to `value` now, in every way that it is offered in.
    pub fn set(&mut self, name: &SettingName, value: &SettingValue) {
        let (what, older) = match name {
            SettingName::Mode => (Some(MODE), &mut self.modes),
            SettingName::Model => (Some(MODEL), &mut self.models),
            SettingName::Option(_) => (None, &mut None),
        };
        if let (Some(selection), SettingValue::Selected(id)) = (older, value) {
            selection.current.clone_from(id);
        }
        let option = self.options.iter_mut().find(|option| match (what, name) {
            (Some(what), _) => option.is(what),
            (None, SettingName::Option(id)) => option.id == *id,
            (None, SettingName::Mode | SettingName::Model) => false,
        });
        match (option.map(|option| &mut option.setting), value) {
            (Some(Setting::Select(selection)), SettingValue::Selected(id)) => {
                selection.current.clone_from(id);
            }
            (Some(Setting::Boolean { on }), SettingValue::Boolean(value)) => *on = *value,
            (Some(_) | None, _) => {}
        }
    }

    /// Takes in what the agent offers when a session begins or goes on. What it does not speak of stays as it was.
    pub fn take_offer(&mut self, offer: Self) {
        if offer.modes.is_some() {
            self.modes = offer.modes;
        }
        if offer.models.is_some() {
            self.models = offer.models;
        }
        if !offer.options.is_empty() {
            self.take_options(offer.options);
        }
    }

    /// Takes in the options as they are now. A mode or a model among them is what the session has.
    pub fn take_options(&mut self, options: Vec<ConfigOption>) {
        self.options = options;
        for name in [SettingName::Mode, SettingName::Model] {
            if let Some(current) = self.current(&name) {
                self.set(&name, &current);
            }
        }
    }
}

fn check_choice(
    field: &'static str,
    selection: Option<&Selection>,
    value: &SettingValue,
) -> Result<(), UnfitSetting> {
    let Some(selection) = selection else {
        return Err(unfit(field, "cannot be chosen for this agent", Vec::new()));
    };
    let ids = selection.choices.iter().map(|choice| choice.id.clone());
    match value {
        SettingValue::Selected(id) if selection.choices.iter().any(|it| it.id == *id) => Ok(()),
        SettingValue::Selected(_) | SettingValue::Boolean(_) => {
            let offered = ids.collect();
            Err(unfit(field, "is not one that the agent offers", offered))
        }
    }
}

fn unfit(field: &'static str, what: &str, offered: Vec<String>) -> UnfitSetting {
    let problem = if offered.is_empty() {
        what.to_owned()
    } else {
        let list: Vec<String> = offered.iter().map(|id| format!("`{id}`")).collect();
        format!("{what}: {}", list.join(", "))
    };
    UnfitSetting {
        field,
        problem,
        offered,
    }
}
