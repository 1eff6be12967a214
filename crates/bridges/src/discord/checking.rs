//! Tries the token, what the bot may read, and what it may do in each channel.

use reqwest::Method;
use serde_json::Value;
use twilight_model::guild::Permissions;

use super::client::send;
use super::{Discord, known, number};
use crate::adapter::{Failure, Finding};

/// What is needed in a channel, and what it is called where it is given.
const NEEDED: [(Permissions, &str); 7] = [
    (Permissions::VIEW_CHANNEL, "View Channel"),
    (Permissions::SEND_MESSAGES, "Send Messages"),
    (Permissions::CREATE_PUBLIC_THREADS, "Create Public Threads"),
    (
        Permissions::SEND_MESSAGES_IN_THREADS,
        "Send Messages in Threads",
    ),
    (Permissions::READ_MESSAGE_HISTORY, "Read Message History"),
    (Permissions::ADD_REACTIONS, "Add Reactions"),
    (Permissions::ATTACH_FILES, "Attach Files"),
];
/// The application may read messages: as one of many servers, or of few.
const READS: u64 = (1 << 18) | (1 << 19);
/// The channels that have threads: of text, and of news.
const WITH_THREADS: [u64; 2] = [0, 5];

impl Discord {
    pub(super) async fn check_all(&self, channels: &[String]) -> Vec<Finding> {
        let who = "the bot's token";
        let me = match self.me().await {
            Ok(me) => me,
            Err(failure) => return vec![Finding::wrong(who, failure.to_string())],
        };
        let mut findings = vec![Finding::well(format!("{who}, which is {me}"))];
        findings.push(self.check_intent().await);
        for channel in channels {
            let tried = format!("the channel {channel}");
            findings.push(match self.check_channel(channel, me).await {
                Ok(None) => Finding::well(tried),
                Ok(Some(problem)) => Finding::wrong(tried, problem),
                Err(Failure::Gone(_) | Failure::Refused(_)) if known(channel).is_ok() => {
                    Finding::wrong(
                        tried,
                        "the bot does not see it. Invite the bot to the server, and let it view the channel",
                    )
                }
                Err(failure) => Finding::wrong(tried, failure.to_string()),
            });
        }
        findings
    }

    async fn check_intent(&self) -> Finding {
        let tried = "the intent to read messages";
        match send(self.client.call(Method::GET, "applications/@me")).await {
            Ok(told) if told["flags"].as_u64().unwrap_or_default() & READS != 0 => {
                Finding::well(tried)
            }
            Ok(_) => Finding::wrong(
                tried,
                "it is off. Switch on “Message Content Intent” under *Bot* on the application's page of the developer portal",
            ),
            Err(refusal) => Finding::wrong(tried, refusal.failure.to_string()),
        }
    }

    /// What is wrong with a channel, if anything.
    async fn check_channel(&self, channel: &str, me: u64) -> Result<Option<String>, Failure> {
        let path = format!("channels/{}", known(channel)?);
        let found = send(self.client.call(Method::GET, path)).await?;
        let kind = found["type"].as_u64().unwrap_or(u64::MAX);
        let Some(guild) = number(&found["guild_id"]).filter(|_| WITH_THREADS.contains(&kind))
        else {
            return Ok(Some("it is no text channel of a server".to_owned()));
        };
        let path = format!("guilds/{guild}");
        let server = send(self.client.call(Method::GET, path)).await?;
        let path = format!("guilds/{guild}/members/{me}");
        let member = send(self.client.call(Method::GET, path)).await?;
        let may = permissions(&server, &member, &found, guild, me);
        let missing: Vec<&str> = NEEDED
            .into_iter()
            .filter(|(permission, _)| !may.contains(*permission))
            .map(|(_, name)| name)
            .collect();
        Ok((!missing.is_empty()).then(|| {
            format!(
                "the bot lacks permissions there: {}. Give them to its role, or in the channel's settings",
                missing.join(", ")
            )
        }))
    }
}

/// What a member may do in a channel, by Discord's rules: the roles together, then what the channel says of everybody, of
/// the roles together, and of the member.
fn permissions(
    server: &Value,
    member: &Value,
    channel: &Value,
    guild: u64,
    me: u64,
) -> Permissions {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if number(&server["owner_id"]) == Some(me) {
        return Permissions::all();
    }
    let mut roles: Vec<u64> = list(&member["roles"]).iter().filter_map(number).collect();
    roles.push(guild);
    let bits = |value: &Value| Permissions::from_bits_truncate(number(value).unwrap_or_default());
    let mut may = Permissions::empty();
    for role in list(&server["roles"]) {
        if number(&role["id"]).is_some_and(|id| roles.contains(&id)) {
            may |= bits(&role["permissions"]);
        }
    }
    if may.contains(Permissions::ADMINISTRATOR) {
        return Permissions::all();
    }
    let overwrites = list(&channel["permission_overwrites"]);
    let steps: [&dyn Fn(u64) -> bool; 3] = [
        &|id| id == guild,
        &|id| id != guild && roles.contains(&id),
        &|id| id == me,
    ];
    for step in steps {
        let (mut allowed, mut denied) = (Permissions::empty(), Permissions::empty());
        for overwrite in &overwrites {
            if number(&overwrite["id"]).is_some_and(step) {
                allowed |= bits(&overwrite["allow"]);
                denied |= bits(&overwrite["deny"]);
            }
        }
        may = (may - denied) | allowed;
    }
    may
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_channel_overrides_what_the_roles_give_and_a_member_what_the_channel_says() {
        let view = Permissions::VIEW_CHANNEL.bits().to_string();
        let server = json!({"owner_id": "1", "roles": [
            {"id": "10", "permissions": view},
            {"id": "11", "permissions": Permissions::SEND_MESSAGES.bits().to_string()},
            {"id": "12", "permissions": Permissions::ADMINISTRATOR.bits().to_string()},
        ]});
        let member = json!({"roles": ["11"]});
        let channel = |overwrites: Value| json!({"permission_overwrites": overwrites});
        let may = |channel: &Value| permissions(&server, &member, channel, 10, 7);
        let both = Permissions::VIEW_CHANNEL | Permissions::SEND_MESSAGES;
        assert_eq!(may(&channel(json!([]))), both);
        let hidden = json!({"id": "10", "allow": "0", "deny": view});
        assert_eq!(may(&channel(json!([hidden]))), Permissions::SEND_MESSAGES);
        let shown = json!({"id": "7", "allow": view, "deny": "0"});
        assert_eq!(may(&channel(json!([hidden, shown]))), both);
        let all = Permissions::all();
        assert_eq!(
            permissions(&server, &member, &channel(json!([hidden])), 10, 1),
            all
        );
        let admin = json!({"roles": ["12"]});
        assert_eq!(
            permissions(&server, &admin, &channel(json!([hidden])), 10, 7),
            all
        );
    }
}
