//! What is set for a session, and what could be, on the wire.

use countersign_core::id::SessionId;
use countersign_core::settings::{
    Chosen, ConfigOption, Selection, SessionSettings, SettingName, SettingValue, SlashCommand,
    Usage,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is set for a session, what could be, and what else its agent tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingsView {
    /// The session.
    pub session: SessionId,
    /// The mode, if the agent has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Selection>,
    /// The model, if the agent offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Selection>,
    /// What else can be set.
    pub options: Vec<ConfigOption>,
    /// The commands that can begin a prompt.
    pub commands: Vec<SlashCommand>,
    /// How full the agent's memory is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What people chose; it is set again in every later life of the agent.
    pub chosen: Vec<Chosen>,
    /// Whether whoever reads this may set something: it takes the grants `prompt` and `answer`.
    pub may_set: bool,
}

impl SettingsView {
    /// What clients see of what an agent told.
    pub fn new(
        session: SessionId,
        told: SessionSettings,
        chosen: Vec<Chosen>,
        may_set: bool,
    ) -> Self {
        Self {
            session,
            mode: told.mode().cloned(),
            model: told.model().cloned(),
            options: told.others().cloned().collect(),
            commands: told.commands,
            usage: told.usage,
            chosen,
            may_set,
        }
    }
}

/// Sets one thing for a session: `mode`, `model`, or `option` with its `value`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRequest {
    /// The id of the mode to be in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The id of the model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The id of the option to set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// What to set the option to: the id of one of its choices, or whether it is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<SettingValue>,
}

impl SetRequest {
    /// What is to be set, and to what; nothing if it does not name one thing.
    pub fn wish(self) -> Option<(SettingName, SettingValue)> {
        match (self.mode, self.model, self.option, self.value) {
            (Some(mode), None, None, None) => {
                Some((SettingName::Mode, SettingValue::Selected(mode)))
            }
            (None, Some(model), None, None) => {
                Some((SettingName::Model, SettingValue::Selected(model)))
            }
            (None, None, Some(option), Some(value)) => Some((SettingName::Option(option), value)),
            _ => None,
        }
    }
}

/// Something that was set, or will be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingSet {
    /// How things stand now.
    #[serde(flatten)]
    pub settings: SettingsView,
    /// Whether the agent has set it. If it has not, none runs: what was chosen is kept, and told to the agent's next
    /// life before it is prompted.
    pub applied: bool,
}
