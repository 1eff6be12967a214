//! What can be set for a session: its mode, its model, and whatever else the agent offers.

use countersign_core::settings::{
    Alternative, ConfigOption, Selection, SessionSettings, Setting, SettingName, SettingValue, Way,
};

use crate::acp::fields::Fields;
use crate::acp::initialize::Shape;
use crate::acp::message::Params;
use crate::acp::session;

/// Reads what an agent offers to set when a session begins or goes on.
pub(super) fn read(fields: &Fields<'_>) -> SessionSettings {
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
    SessionSettings {
        modes: legacy("modes", "currentModeId", "availableModes", "id"),
        models: legacy("models", "currentModelId", "availableModels", "modelId"),
        options: config_options(fields),
        ..SessionSettings::default()
    }
}

/// Reads the options in the answer to a request that set one; nothing if it tells of none.
pub fn read_options(result: &Params) -> Option<Vec<ConfigOption>> {
    let fields = Fields::read(result.text());
    fields.raw("configOptions")?;
    Some(config_options(&fields))
}

/// The line that sets `name` to `value`; nothing if the agent offers no way to.
pub fn set(
    id: &str,
    shape: Shape,
    session: &str,
    offered: &SessionSettings,
    (name, value): (&SettingName, &SettingValue),
) -> Option<Vec<u8>> {
    Some(match (offered.way(name)?, value) {
        (Way::Mode, SettingValue::Selected(mode)) => session::set_mode(id, session, mode),
        (Way::Model, SettingValue::Selected(model)) => session::set_model(id, session, model),
        (Way::Mode | Way::Model, SettingValue::Boolean(_)) => return None,
        (Way::Option(option), value) => session::set_option(id, shape, session, option, value),
    })
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
        let settings = read(&Fields::read(text));
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
