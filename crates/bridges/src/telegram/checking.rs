//! What a bot needs on Telegram, and what to do where it is missing.

use serde_json::json;

use super::{Me, Telegram};
use crate::adapter::{Failure, Finding};

impl Telegram {
    async fn check_chat(&self, me: &Me, channel: &str) -> Finding {
        let tried = format!("the group {channel}");
        let Ok(chat) = channel.parse::<i64>() else {
            return Finding::wrong(
                tried,
                "a group is called by a number such as -1001234567890; docs/bridges.md says how to find it",
            );
        };
        let about = match self.client.call("getChat", &json!({"chat_id": chat})).await {
            Ok(about) => about,
            Err(Failure::Gone(_)) => {
                return Finding::wrong(tried, "we are not in it. Add the bot to the group");
            }
            Err(failure) => return Finding::wrong(tried, failure.to_string()),
        };
        let title = about["title"].as_str().unwrap_or("a direct chat");
        let tried = format!("{tried}, {title}");
        if about["type"] == "private" {
            return Finding::well(tried);
        }
        let arguments = json!({"chat_id": chat, "user_id": me.id});
        let member = match self.client.call("getChatMember", &arguments).await {
            Ok(member) => member,
            Err(failure) => return Finding::wrong(tried, failure.to_string()),
        };
        let is_admin = member["status"] == "administrator" || member["status"] == "creator";
        let problem = match member["status"].as_str() {
            Some("left" | "kicked") => "we are not in it. Add the bot to the group",
            Some("restricted") if member["can_send_messages"] != true => {
                "the bot may not write there"
            }
            _ if !is_admin && !me.reads_all => {
                "the bot does not get what is said there. Make it an administrator, or turn its privacy mode off \
                 (@BotFather, /setprivacy) and add it to the group again"
            }
            _ if about["is_forum"] == true && member["can_manage_topics"] != true => {
                "the bot may not make topics. Make it an administrator who may manage them"
            }
            _ => return Finding::well(tried),
        };
        Finding::wrong(tried, problem)
    }

    /// Tries the token, and what is needed in each of these chats.
    pub(super) async fn check_all(&self, channels: &[String]) -> Vec<Finding> {
        let who = "the token";
        let me = match self.me().await {
            Ok(me) => me,
            Err(failure) => return vec![Finding::wrong(who, failure.to_string())],
        };
        let mut findings = vec![Finding::well(format!("{who}, which is @{}'s", me.username))];
        let tried = "what the bot is told";
        findings.push(match self.client.call("getWebhookInfo", &json!({})).await {
            Ok(hook) if hook["url"].as_str().is_some_and(|url| !url.is_empty()) => Finding::wrong(
                tried,
                "it goes to a webhook, and nothing of it comes here. Remove that with Telegram's `deleteWebhook`",
            ),
            Ok(_) => Finding::well(tried),
            Err(failure) => Finding::wrong(tried, failure.to_string()),
        });
        for channel in channels {
            findings.push(self.check_chat(&me, channel).await);
        }
        findings
    }
}
