//! `inbox`: the asks that wait, once or as they come.

use std::collections::HashSet;

use countersign_api::{AskList, AskView};
use countersign_core::ask::AskPhase;
use countersign_core::event::EventBody;
use countersign_core::id::AskId;
use owo_colors::OwoColorize as _;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::connection::{Connection, Reply};
use crate::exit::Exit;
use crate::follow::{Follow, News};
use crate::{Call, ask_text, reference};

/// Which asks to list.
#[derive(Debug, clap::Args)]
pub struct Inbox {
    /// Go on and tell what happens to asks, until interrupted
    #[arg(long, short)]
    watch: bool,
    /// List asks that are answered or over as well
    #[arg(long, short)]
    all: bool,
    /// List at most this many
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// List asks that are older than this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Inbox) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    if arguments.watch {
        return watch(call, &connection, &arguments).await;
    }
    let Reply { value, text } = list(&connection, &arguments).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    print(call, &value.asks)?;
    if let Some(next) = value.next {
        let all = if arguments.all { " --all" } else { "" };
        call.output.note(&format!(
            "There are older ones: countersign inbox{all} --before {next}"
        ))?;
    }
    Ok(Exit::Success)
}

async fn list(connection: &Connection, arguments: &Inbox) -> anyhow::Result<Reply<AskList>> {
    let state = if arguments.all { "" } else { "&state=open" };
    let before = match &arguments.before {
        Some(text) => format!("&before={}", reference::ask(connection, text).await?),
        None => String::new(),
    };
    let path = format!("/api/v1/asks?limit={}{state}{before}", arguments.limit);
    connection.get(&path).await
}

fn print(call: &mut Call<'_>, asks: &[AskView]) -> anyhow::Result<()> {
    if asks.is_empty() {
        call.output.note("No ask is waiting")?;
        return Ok(());
    }
    let text = ask_text::table(asks, call.clock.now(), call.output.width());
    call.output.line(&text)?;
    Ok(())
}

/// Follows from before the list is read, so that nothing falls between the two.
async fn watch(
    call: &mut Call<'_>,
    connection: &Connection,
    arguments: &Inbox,
) -> anyhow::Result<Exit> {
    let mut follow = Follow::begin(connection).await?;
    let mut told = Told::default();
    tell_all(call, connection, arguments, &mut told).await?;
    loop {
        let news = tokio::select! {
            news = follow.next() => news?,
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                return Ok(Exit::Success);
            }
        };
        match news {
            News::Event(event, _) => match event.body {
                EventBody::AskOpened { ask, .. } | EventBody::AskChanged { ask, .. } => {
                    tell_one(call, connection, ask, &mut told).await?;
                }
                EventBody::AlarmRaised { message, .. } => {
                    let message = countersign_core::visible::visible(&message).into_owned();
                    call.output
                        .note(&format!("{}: {message}", "alarm".red().bold()))?;
                }
                EventBody::SessionChanged { .. }
                | EventBody::SettingsChanged { .. }
                | EventBody::TurnChanged { .. }
                | EventBody::ItemChanged { .. }
                | EventBody::EngineChanged { .. }
                | EventBody::WorkspaceChanged { .. }
                | EventBody::JobChanged { .. }
                | EventBody::RuleChanged { .. } => {}
            },
            News::Delta(..) => {}
            News::Reset => {
                call.output
                    .note("The server no longer has all events; here is the list again")?;
                tell_all(call, connection, arguments, &mut told).await?;
            }
            News::Disconnected(why) => call
                .output
                .note(&format!("{}: {why}; trying again", "Disconnected".yellow()))?,
            News::Reconnected => {
                call.output.note(&"Connected again".green().to_string())?;
                for ask in std::mem::take(&mut told.missed) {
                    tell_one(call, connection, ask, &mut told).await?;
                }
            }
        }
    }
}

/// A page of asks, each as the server wrote it.
#[derive(Deserialize)]
struct RawPage {
    asks: Vec<Box<RawValue>>,
}

/// What has been told of asks, so that a list and the events after it do not say a thing twice.
#[derive(Default)]
struct Told {
    states: HashSet<(AskId, AskPhase)>,
    /// Asks that changed and could not be read: the line broke in that moment.
    missed: Vec<AskId>,
}

impl Told {
    fn is_new(&mut self, ask: &AskView) -> bool {
        self.states.insert((ask.id, ask.state))
    }
}

async fn tell_all(
    call: &mut Call<'_>,
    connection: &Connection,
    arguments: &Inbox,
    told: &mut Told,
) -> anyhow::Result<()> {
    let Reply { value, text } = list(connection, arguments).await?;
    let mut asks = value.asks;
    if !call.json() {
        asks.retain(|ask| told.is_new(ask));
        return print(call, &asks);
    }
    let page: RawPage = serde_json::from_str(&text)?;
    // Oldest first, as they would have come one by one.
    for (ask, raw) in asks.iter().zip(&page.asks).rev() {
        if told.is_new(ask) {
            call.output.json_line(raw.get())?;
        }
    }
    Ok(())
}

async fn tell_one(
    call: &mut Call<'_>,
    connection: &Connection,
    ask: AskId,
    told: &mut Told,
) -> anyhow::Result<()> {
    // It may have gone on since the event; then that is told now, and not again.
    let reply: Reply<AskView> = match connection.get(&format!("/api/v1/asks/{ask}")).await {
        Ok(reply) => reply,
        Err(error) => match Exit::of(&error) {
            Exit::NotAllowed => return Err(error),
            Exit::NotFound => return Ok(()),
            Exit::Success
            | Exit::Failed
            | Exit::Usage
            | Exit::SomebodyWasFirst
            | Exit::Over
            | Exit::NoServer
            | Exit::ServerLeft
            | Exit::ServerSilent
            | Exit::StillRunning => {
                told.missed.push(ask);
                return Ok(());
            }
        },
    };
    if !told.is_new(&reply.value) {
        return Ok(());
    }
    if call.json() {
        call.output.json_line(&reply.text)?;
    } else {
        let line = ask_text::news(&reply.value, call.clock.now());
        call.output.line(&line)?;
    }
    Ok(())
}
