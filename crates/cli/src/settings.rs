//! `settings`: what is set for a session and what could be, the agent's commands and its usage.

use countersign_api::{SetRequest, SettingSet, SettingsView};
use countersign_core::settings::{Alternative, ConfigOption, Selection, Setting, SettingValue};
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::{Connection, Reply};
use crate::exit::{Exit, Failure};
use crate::reference;

/// Which session, and what to set.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// What to set, one after the other: mode=ID, model=ID, or an option and its value; on and off are values too
    #[arg(value_name = "NAME=VALUE", value_parser = parse_wish)]
    set: Vec<(String, String)>,
}

fn parse_wish(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        Some(_) | None => Err("write the name, `=`, and the value".to_owned()),
    }
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Settings) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let session = reference::session(&connection, &arguments.session).await?;
    let path = format!("/api/v1/sessions/{session}/settings");
    let mut shown: Reply<SettingsView> = connection.get(&path).await?;
    for (name, value) in arguments.set {
        let request = request(&shown.value, name, value)?;
        let Reply { value: made, text } = set(&connection, &path, &request).await?;
        if !call.json() && !made.applied {
            call.output
                .note("No agent runs for this session: it is set before the next prompt")?;
        }
        shown = Reply {
            value: made.settings,
            text,
        };
    }
    if call.json() {
        call.output.json(&shown.text)?;
    } else {
        print(call, &shown.value)?;
    }
    Ok(Exit::Success)
}

async fn set(
    connection: &Connection,
    path: &str,
    request: &SetRequest,
) -> anyhow::Result<Reply<SettingSet>> {
    connection.post(path, request).await
}

/// What to send; whether an option takes a word or a yes is known from what is offered.
fn request(known: &SettingsView, name: String, value: String) -> Result<SetRequest, Failure> {
    Ok(match name.as_str() {
        "mode" => SetRequest {
            mode: Some(value),
            ..SetRequest::default()
        },
        "model" => SetRequest {
            model: Some(value),
            ..SetRequest::default()
        },
        _ => {
            let option = known.options.iter().find(|option| option.id == name);
            let value = match option.map(|option| &option.setting) {
                Some(Setting::Boolean { .. }) => match value.as_str() {
                    "on" | "true" | "yes" => SettingValue::Boolean(true),
                    "off" | "false" | "no" => SettingValue::Boolean(false),
                    _ => {
                        let problem = format!("`{}` is on or off", visible(&name));
                        return Err(Failure::Usage(problem));
                    }
                },
                Some(Setting::Select(_) | Setting::Unknown) | None => SettingValue::Selected(value),
            };
            SetRequest {
                option: Some(name),
                value: Some(value),
                ..SetRequest::default()
            }
        }
    })
}

fn print(call: &mut Call<'_>, settings: &SettingsView) -> anyhow::Result<()> {
    let width = call.output.width();
    if let Some(table) = offered(settings) {
        call.output.line(&table.render(width))?;
    } else {
        call.output
            .note("There is nothing to set for this session")?;
    }
    if let Some(usage) = &settings.usage {
        let cost = usage.cost.as_ref().map(|cost| {
            let currency = visible(&cost.currency);
            format!(", {:.2} {currency} so far", cost.amount)
        });
        let (used, size) = (usage.used, usage.size);
        let cost = cost.unwrap_or_default();
        call.output
            .line(&format!("\n{used} of {size} tokens are in use{cost}"))?;
    }
    if !settings.commands.is_empty() {
        let mut table = Table::new(["COMMAND", "TAKES", "WHAT IT DOES"]);
        for command in &settings.commands {
            table.row([
                Cell::styled(format!("/{}", visible(&command.name)), Style::new().bold()),
                visible(&command.hint).into(),
                visible(&command.description).into(),
            ]);
        }
        call.output.line(&format!("\n{}", table.render(width)))?;
    }
    Ok(())
}

/// A row for each value that something can be set to.
fn offered(settings: &SettingsView) -> Option<Table<4>> {
    let mut table = Table::new(["NAME", "NOW", "VALUE", "WHAT IT IS"]);
    let mut is_empty = true;
    let mut add = |name: &str, about: &str, choices: &[Alternative], current: &str| {
        for choice in choices {
            is_empty = false;
            let is_current = choice.id == current;
            let now = if is_current { "*" } else { "" };
            let what = if choice.description.is_empty() {
                &choice.name
            } else {
                &choice.description
            };
            let style = if is_current {
                Style::new().bold()
            } else {
                Style::new()
            };
            let what = if about.is_empty() {
                visible(what).into_owned()
            } else {
                format!("{}: {}", visible(about), visible(what))
            };
            table.row([
                visible(name).into(),
                Cell::styled(now, Style::new().green()),
                Cell::styled(visible(&choice.id), style),
                what.into(),
            ]);
        }
    };
    for (name, selection) in [("mode", &settings.mode), ("model", &settings.model)] {
        if let Some(Selection { current, choices }) = selection {
            add(name, "", choices, current);
        }
    }
    for option in &settings.options {
        let (current, choices) = choices(option);
        add(&option.id, &option.name, &choices, &current);
    }
    (!is_empty).then_some(table)
}

fn choices(option: &ConfigOption) -> (String, Vec<Alternative>) {
    match &option.setting {
        Setting::Select(Selection { current, choices }) => (current.clone(), choices.clone()),
        Setting::Boolean { on } => {
            let each = ["on", "off"].map(|id| Alternative {
                id: id.to_owned(),
                name: id.to_owned(),
                description: option.description.clone(),
                group: String::new(),
            });
            (SettingValue::Boolean(*on).to_string(), each.to_vec())
        }
        Setting::Unknown => (String::new(), Vec::new()),
    }
}
