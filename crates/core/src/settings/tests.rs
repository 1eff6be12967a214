use super::*;

fn selection(current: &str, ids: &[&str]) -> Selection {
    let choice = |id: &&str| Alternative {
        id: (*id).to_owned(),
        name: id.to_uppercase(),
        description: String::new(),
        group: String::new(),
    };
    Selection {
        current: current.to_owned(),
        choices: ids.iter().map(choice).collect(),
    }
}

fn option(id: &str, category: &str, setting: Setting) -> ConfigOption {
    ConfigOption {
        id: id.to_owned(),
        name: id.to_owned(),
        description: String::new(),
        category: category.to_owned(),
        setting,
    }
}

fn selected(id: &str) -> SettingValue {
    SettingValue::Selected(id.to_owned())
}

/// An agent that offers its modes in both ways, its models in the newer one, and two options.
fn both_ways() -> SessionSettings {
    SessionSettings {
        modes: Some(selection("ask", &["ask", "plan"])),
        options: vec![
            option(
                "m",
                "mode",
                Setting::Select(selection("ask", &["ask", "plan"])),
            ),
            option(
                "model",
                "",
                Setting::Select(selection("big", &["big", "small"])),
            ),
            option(
                "pace",
                "",
                Setting::Select(selection("slow", &["slow", "fast"])),
            ),
            option("thoughts", "", Setting::Boolean { on: true }),
            option("later", "", Setting::Unknown),
        ],
        ..SessionSettings::default()
    }
}

#[test]
fn what_is_offered_in_two_ways_is_one_setting() {
    let mut settings = both_ways();
    let others: Vec<&str> = settings.others().map(|it| it.id.as_str()).collect();
    assert_eq!(others, ["pace", "thoughts", "later"]);
    assert_eq!(settings.way(&SettingName::Mode), Some(Way::Option("m")));
    assert_eq!(
        settings.way(&SettingName::Model),
        Some(Way::Option("model"))
    );
    let by_id = SettingName::Option("m".to_owned());
    assert_eq!(settings.name_of(by_id), SettingName::Mode);
    settings.set(&SettingName::Mode, &selected("plan"));
    assert_eq!(settings.modes.as_ref().unwrap().current, "plan");
    assert_eq!(settings.mode().unwrap().current, "plan");
    // The agent tells it in the newer way alone.
    let told = both_ways().options;
    settings.take_options(told);
    assert_eq!(settings.modes.as_ref().unwrap().current, "ask");
}

#[test]
fn what_is_offered_in_the_older_way_alone_is_set_in_it() {
    let mut settings = SessionSettings {
        modes: Some(selection("ask", &["ask"])),
        models: Some(selection("big", &["big", "small"])),
        ..SessionSettings::default()
    };
    assert_eq!(settings.way(&SettingName::Mode), Some(Way::Mode));
    assert_eq!(settings.way(&SettingName::Model), Some(Way::Model));
    settings.set(&SettingName::Model, &selected("small"));
    assert_eq!(
        settings.current(&SettingName::Model),
        Some(selected("small"))
    );
}

#[test]
fn only_what_is_offered_can_be_set_and_the_refusal_says_what_that_is() {
    let settings = both_ways();
    let option = |id: &str| SettingName::Option(id.to_owned());
    for (name, value) in [
        (SettingName::Mode, selected("plan")),
        (SettingName::Model, selected("small")),
        (option("pace"), selected("fast")),
        (option("thoughts"), SettingValue::Boolean(false)),
    ] {
        assert_eq!(settings.check(&name, &value), Ok(()), "{name:?}");
    }
    for (name, value, said) in [
        (
            SettingName::Mode,
            selected("yolo"),
            "`mode` is not one that the agent offers: `ask`, `plan`",
        ),
        (
            SettingName::Mode,
            SettingValue::Boolean(true),
            "`mode` is not one that the agent offers: `ask`, `plan`",
        ),
        (
            option("pace"),
            selected("x"),
            "`value` is not one that the agent offers: `slow`, `fast`",
        ),
        (
            option("thoughts"),
            selected("on"),
            "`value` is not on or off: `true`, `false`",
        ),
        (
            option("later"),
            selected("x"),
            "`option` is of a kind that cannot be set here",
        ),
        (
            option("x"),
            selected("y"),
            "`option` is not one that the agent offers: `pace`, `thoughts`, `later`",
        ),
    ] {
        let refused = settings.check(&name, &value).unwrap_err();
        assert_eq!(refused.to_string(), said);
    }
    let nothing = SessionSettings::default();
    let refused = nothing
        .check(&SettingName::Mode, &selected("ask"))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`mode` cannot be chosen for this agent"
    );
    assert_eq!(nothing.way(&SettingName::Mode), None);
}

#[test]
fn a_life_that_says_nothing_of_its_settings_keeps_those_of_the_last() {
    let mut settings = both_ways();
    settings.take_offer(SessionSettings::default());
    assert_eq!(settings, both_ways());
}

#[test]
fn what_is_beyond_all_measure_is_left_out() {
    let long = "x".repeat(10_000);
    let mut settings = both_ways();
    settings.options[2].name.clone_from(&long);
    settings.options[3].id.clone_from(&long);
    settings.modes = Some(selection(&long, &["ask", &long]));
    settings.commands = vec![
        SlashCommand {
            name: "go".to_owned(),
            description: long,
            hint: String::new(),
        };
        1_000
    ];
    let bounded = settings.bounded();
    assert_eq!(bounded.options.len(), 4);
    assert_eq!(bounded.options[2].name.chars().count(), 1_001);
    assert_eq!(bounded.modes, Some(selection("", &["ask"])));
    assert_eq!(bounded.commands.len(), 500);
    assert_eq!(bounded.commands[0].description.chars().count(), 1_001);
}

#[test]
fn settings_read_as_they_are_written() {
    let written = serde_json::to_string(&both_ways()).unwrap();
    assert_eq!(
        serde_json::from_str::<SessionSettings>(&written).unwrap(),
        both_ways()
    );
    let names = [SettingName::Mode, SettingName::Option("pace".to_owned())];
    let written = serde_json::to_value(&names).unwrap();
    assert_eq!(written, serde_json::json!(["mode", { "option": "pace" }]));
    let values = [SettingValue::Boolean(true), selected("true")];
    let written = serde_json::to_value(&values).unwrap();
    assert_eq!(written, serde_json::json!([true, "true"]));
}

#[test]
fn the_effort_is_known_by_what_it_is_about_or_by_its_name() {
    let offers = |options: Vec<ConfigOption>| SessionSettings {
        options,
        ..SessionSettings::default()
    };
    let levels = || Setting::Select(selection("low", &["low", "high"]));
    let effort = |settings: &SessionSettings| settings.effort().map(|option| option.id.clone());
    let named = option("Reasoning-Effort", "", levels());
    let told = option("depth", "thought_level", levels());
    assert_eq!(
        effort(&offers(vec![named.clone(), told])).as_deref(),
        Some("depth")
    );
    assert_eq!(
        effort(&offers(vec![named])).as_deref(),
        Some("Reasoning-Effort")
    );
    // What is only on or off has no levels.
    let switch = option("effort", "", Setting::Boolean { on: true });
    assert_eq!(effort(&offers(vec![switch])), None);
    assert_eq!(effort(&both_ways()), None);
}
