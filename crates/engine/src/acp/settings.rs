//! What can be set for a session: its mode, its model, and whatever else the agent offers.

use serde::{Deserialize, Serialize};

use crate::acp::fields::Fields;

/// What can be set for a session, as the agent tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The modes, where the agent has them in the older way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<Selection>,
    /// The models, where the agent has them in the older way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Selection>,
    /// Everything else, and in newer agents these too.
    pub options: Vec<ConfigOption>,
}

/// One of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Which one it is now.
    pub current: String,
    /// Which ones it can be.
    pub choices: Vec<Alternative>,
}

/// One that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is about, such as `mode` or `model`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// What it is set to.
    #[serde(flatten)]
    pub setting: Setting,
}

/// What something is set to, and what it could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl Settings {
    pub(super) fn read(fields: &Fields<'_>) -> Self {
        let legacy = |name: &str, current: &str, all: &str, id: &str| {
            fields.raw(name)?;
            let state = fields.object(name);
            Some(Selection {
                current: state.text_or_empty(current),
                choices: state
                    .objects(all)
                    .iter()
                    .filter_map(|one| alternative(one, id, ""))
                    .collect(),
            })
        };
        Self {
            modes: legacy("modes", "currentModeId", "availableModes", "id"),
            models: legacy("models", "currentModelId", "availableModels", "modelId"),
            options: config_options(fields),
        }
    }
}

/// The options in the field `configOptions`; those without an id are left out, for they cannot be set.
pub(super) fn config_options(fields: &Fields<'_>) -> Vec<ConfigOption> {
    fields
        .objects("configOptions")
        .iter()
        .filter_map(|option| {
            let id = option.text("id").or_else(|| option.text("configId"))?;
            Some(ConfigOption {
                name: option.text("name").unwrap_or_else(|| id.clone()),
                description: option.text_or_empty("description"),
                category: option.text_or_empty("category"),
                setting: setting(option),
                id,
            })
        })
        .collect()
}

fn setting(option: &Fields<'_>) -> Setting {
    match option.text_or_empty("type").as_str() {
        "boolean" => option
            .get("currentValue")
            .map_or(Setting::Unknown, |on| Setting::Boolean { on }),
        "select" => {
            let mut choices = vec![];
            for entry in option.objects("options") {
                if entry.has("options") {
                    let group = entry.text_or_empty("name");
                    let within = entry.objects("options");
                    choices.extend(
                        within
                            .iter()
                            .filter_map(|one| alternative(one, "value", &group)),
                    );
                } else {
                    choices.extend(alternative(&entry, "value", ""));
                }
            }
            Setting::Select(Selection {
                current: option.text_or_empty("currentValue"),
                choices,
            })
        }
        _ => Setting::Unknown,
    }
}

fn alternative(fields: &Fields<'_>, id: &str, group: &str) -> Option<Alternative> {
    let id = fields.text(id)?;
    Some(Alternative {
        name: fields.text("name").unwrap_or_else(|| id.clone()),
        description: fields.text_or_empty("description"),
        group: group.to_owned(),
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_and_newer_ways_are_read() {
        let text = r#"{
            "modes": {"currentModeId": "default", "availableModes": [{"id": "default", "name": "Manual"}, {"name": "?"}]},
            "models": {"currentModelId": "a", "availableModels": [{"modelId": "a"}]},
            "configOptions": [
                {"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "x",
                 "options": [{"group": "g", "name": "Group", "options": [{"value": "x", "name": "X"}]}, {"value": "y"}]},
                {"configId": "fast", "type": "boolean", "currentValue": true},
                {"id": "later", "type": "slider"},
                {"name": "no id"}
            ]
        }"#;
        let settings = Settings::read(&Fields::read(text));
        assert_eq!(settings.modes.unwrap().choices.len(), 1);
        assert_eq!(settings.models.unwrap().choices[0].name, "a");
        let [mode, fast, later] = &settings.options[..] else {
            panic!("{:?}", settings.options);
        };
        let Setting::Select(selection) = &mode.setting else {
            panic!("no selection");
        };
        assert_eq!(selection.choices[0].group, "Group");
        assert_eq!(selection.choices[1].id, "y");
        assert_eq!(fast.setting, Setting::Boolean { on: true });
        assert_eq!(later.setting, Setting::Unknown);
    }
}
