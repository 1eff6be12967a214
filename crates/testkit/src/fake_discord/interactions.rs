//! What is answered to presses and commands: once, in time, and where only one sees it.

use std::time::Duration;

use serde_json::Value;

use super::messages::{is_sound, pings};
use super::rest::{Answer, Asked, Refused, checked, refused};
use super::world::{Answered, World};

/// How long an interaction can be answered.
const TO_ANSWER: Duration = Duration::from_secs(3);

pub(super) fn call_back(
    world: &mut World,
    asked: &Asked,
    interaction: u64,
    token: &str,
) -> Result<Answer, Refused> {
    let operation = "POST /interactions/{interaction_id}/{interaction_token}/callback";
    checked(world, operation, asked)?;
    let found = world
        .interactions
        .get_mut(&interaction)
        .filter(|it| it.token == token);
    let Some(found) = found else {
        return refused(404, 10_062, "Unknown interaction");
    };
    if found.answered.is_some() {
        return refused(400, 40_060, "Interaction has already been acknowledged.");
    }
    if found.begun.elapsed() > TO_ANSWER || world.given_up.contains(&interaction) {
        return refused(404, 10_062, "Unknown interaction");
    }
    is_sound(&asked.body["data"])?;
    let kind = asked.body["type"].as_u64().unwrap_or_default();
    found.answered = Some(Answered {
        kind,
        after: found.begun.elapsed(),
    });
    if kind == 4 {
        let person = found.person;
        whisper(world, person, &asked.body["data"]);
    }
    Ok((operation, 204, Value::Null))
}

pub(super) fn follow_up(world: &mut World, asked: &Asked, token: &str) -> Result<Answer, Refused> {
    let operation = "POST /webhooks/{webhook_id}/{webhook_token}";
    checked(world, operation, asked)?;
    let found = world.interactions.values().find(|it| it.token == token);
    match found.filter(|it| it.answered.is_some()).map(|it| it.person) {
        None => refused(404, 10_015, "Unknown Webhook"),
        Some(person) => {
            whisper(world, person, &asked.body);
            let content = asked.body["content"].as_str().unwrap_or_default();
            let mut message = world.new_message(world.channel, world.bot, content);
            message["flags"] = asked.body["flags"].clone();
            Ok((operation, 200, message))
        }
    }
}

/// Notes what only somebody sees. What everybody would see is against what a reply is for.
fn whisper(world: &mut World, person: u64, body: &Value) {
    let content = body["content"].as_str().unwrap_or_default().to_owned();
    if body["flags"].as_u64().unwrap_or_default() & (1 << 6) == 0 {
        world
            .violations
            .push(format!("everybody sees a reply: {content}"));
    }
    if !pings(world, &content, &body["allowed_mentions"]).is_empty() {
        world.violations.push(format!("a reply pings: {content}"));
    }
    world.whispers.push((person, content));
}
