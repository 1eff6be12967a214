//! `notifications`: what people were told, what is still to be told, and what was given up.

use std::time::Duration;

use countersign_api::{NotificationList, NotificationsRetried, TargetTest, TargetView};
use countersign_core::notification::{Notification, NotificationState};
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::{Connection, Reply};
use crate::duration::spoken;
use crate::exit::{Exit, Failure};
use crate::reference::{self, Candidate, tails};

/// More than an attempt to tell a target can take.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(150);

/// What to do with notifications.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Notifications {
    #[command(subcommand)]
    action: Option<Action>,
    /// List the dead letters alone: what was given up, and why
    #[arg(long)]
    dead: bool,
    /// How many to list at most
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Put dead letters back, to be tried again
    #[command(group = clap::ArgGroup::new("which").required(true).args(["id", "all"]))]
    Retry {
        /// The dead letter
        id: Option<String>,
        /// Every dead letter whose target is still configured
        #[arg(long)]
        all: bool,
    },
    /// Tell a target that this is a test, and say how that ended
    Test {
        /// The target's name in the configuration
        target: String,
    },
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Notifications) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    match arguments.action {
        None => list(call, &connection, arguments.dead, arguments.limit).await,
        Some(Action::Retry { id: Some(id), .. }) => retry(call, &connection, &id).await,
        Some(Action::Retry { id: None, .. }) => retry_all(call, &connection).await,
        Some(Action::Test { target }) => test(call, &connection, &target).await,
    }
}

async fn list(
    call: &mut Call<'_>,
    connection: &Connection,
    dead: bool,
    limit: u16,
) -> anyhow::Result<Exit> {
    let state = if dead { "&state=dead" } else { "" };
    let path = format!("/api/v1/notifications?limit={limit}{state}");
    let Reply { value, text }: Reply<NotificationList> = connection.get(&path).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    if value.targets.is_empty() {
        call.output
            .note("Nobody is notified: the configuration has no `[[notify]]`")?;
    } else if !dead {
        let table = targets(&value.targets, call.output.width());
        call.output.note(&table)?;
    }
    if value.notifications.is_empty() {
        let none = if dead {
            "There is no dead letter"
        } else {
            "There was nothing to tell yet"
        };
        call.output.note(none)?;
        return Ok(Exit::Success);
    }
    let now = call.clock.now();
    let table = table(&value.notifications, now, call.output.width());
    call.output.line(&table)?;
    if dead {
        for letter in &value.notifications {
            if let Some(output) = &letter.output {
                let short = reference::short(letter.id);
                call.output
                    .note(&format!("{short} said: {}", visible(output)))?;
            }
        }
        call.output
            .note("Try them again with `countersign notifications retry --all`")?;
    }
    Ok(Exit::Success)
}

async fn retry(call: &mut Call<'_>, connection: &Connection, id: &str) -> anyhow::Result<Exit> {
    let path = "/api/v1/notifications?limit=500&state=dead";
    let dead: NotificationList = connection.get(path).await?.value;
    let candidates: Vec<_> = dead
        .notifications
        .iter()
        .map(|letter| Candidate {
            id: letter.id,
            about: format!("{} to {}", letter.occasion, visible(&letter.target)),
        })
        .collect();
    let id = reference::find("dead letter", id, &candidates)?;
    let path = format!("/api/v1/notifications/{id}/retry");
    let Reply { text, .. }: Reply<Notification> = connection.post_nothing(&path).await?;
    if call.json() {
        call.output.json(&text)?;
    } else {
        call.output.line(&format!("{id} is tried again"))?;
    }
    Ok(Exit::Success)
}

async fn retry_all(call: &mut Call<'_>, connection: &Connection) -> anyhow::Result<Exit> {
    let path = "/api/v1/notifications/retry";
    let Reply { value, text }: Reply<NotificationsRetried> = connection.post_nothing(path).await?;
    if call.json() {
        call.output.json(&text)?;
    } else {
        let said = match value.retried {
            1 => "1 dead letter is tried again".to_owned(),
            count => format!("{count} dead letters are tried again"),
        };
        call.output.line(&said)?;
    }
    Ok(Exit::Success)
}

async fn test(call: &mut Call<'_>, connection: &Connection, target: &str) -> anyhow::Result<Exit> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if target.is_empty() || !target.chars().all(is_plain) {
        let target = visible(target);
        return Err(Failure::NotFound(format!("there is no target `{target}`")).into());
    }
    let path = format!("/api/v1/notifications/targets/{target}/test");
    let trying = connection.post_nothing_waiting(&path, LONGEST_ATTEMPT);
    let Reply { value, text }: Reply<TargetTest> = trying.await?;
    let exit = if value.sent {
        Exit::Success
    } else {
        Exit::Failed
    };
    if call.json() {
        call.output.json(&text)?;
        return Ok(exit);
    }
    if value.sent {
        call.output.line(&format!("{target} took it"))?;
    } else {
        let problem = value.problem.unwrap_or_default();
        call.output
            .line(&format!("{target} did not take it: {}", visible(&problem)))?;
        if let Some(output) = value.output {
            call.output.note(&visible(&output))?;
        }
    }
    Ok(exit)
}

fn targets(targets: &[TargetView], width: usize) -> String {
    let mut table = Table::new(["TARGET", "KIND", "LEADS TO", "TOLD OF"]);
    for target in targets {
        let events: Vec<&str> = target.events.iter().map(|event| event.name()).collect();
        table.row([
            Cell::styled(&*visible(&target.name), Style::new().bold()),
            visible(&target.kind).into(),
            visible(&target.leads_to).into(),
            events.join(", ").into(),
        ]);
    }
    table.render(width)
}

fn table(notifications: &[Notification], now: Timestamp, width: usize) -> String {
    let shorts = tails(notifications.iter().map(|notification| notification.id));
    let mut table = Table::new([
        "ID", "AGE", "STATE", "TRIES", "TARGET", "EVENT", "ABOUT", "WHY",
    ]);
    for (notification, short) in notifications.iter().zip(shorts) {
        let (state, style) = match notification.state {
            NotificationState::Waiting => (waiting(notification, now), Style::new().yellow()),
            NotificationState::Sent => ("sent".to_owned(), Style::new().green()),
            NotificationState::Dead => ("dead".to_owned(), Style::new().red()),
        };
        let problem = notification.problem.as_deref().unwrap_or_default();
        table.row([
            Cell::styled(short, Style::new().bold()),
            spoken(now.since(notification.at)).into(),
            Cell::styled(state, style),
            notification.attempts.to_string().into(),
            visible(&notification.target).into(),
            notification.occasion.name().into(),
            reference::short(&notification.subject).into(),
            visible(problem).replace('\n', " ").into(),
        ]);
    }
    table.render(width)
}

fn waiting(notification: &Notification, now: Timestamp) -> String {
    if notification.due_at > now {
        format!("in {}", spoken(notification.due_at.since(now)))
    } else {
        "waiting".to_owned()
    }
}
