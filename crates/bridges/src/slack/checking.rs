//! Whether both tokens are good, the app is allowed what it needs, and is where it should be.

use super::Slack;
use crate::adapter::Finding;

/// What the app has to be allowed: the manifest in the documentation asks for the same.
const SCOPES: [&str; 14] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "reactions:read",
    "reactions:write",
];
impl Slack {
    pub(super) async fn check_bot(&self) -> Finding {
        let tried = "the bot's token";
        let answer = match self.client.read("auth.test", &[]).await {
            Ok(answer) => answer,
            Err(failure) => return Finding::wrong(tried, failure.to_string()),
        };
        let field = |name: &str| answer.body[name].as_str().unwrap_or("?").to_owned();
        let tried = format!("{tried}, which is {} in {}", field("user"), field("team"));
        let scopes = answer.headers.get("x-oauth-scopes");
        let scopes = scopes.and_then(|scopes| scopes.to_str().ok()).unwrap_or("");
        let has = |scope: &&&str| scopes.split(',').any(|it| it.trim() == **scope);
        let missing: Vec<&str> = SCOPES.iter().filter(|scope| !has(scope)).copied().collect();
        if missing.is_empty() {
            return Finding::well(tried);
        }
        let problem = format!(
            "the app lacks the scopes {}. Add them under OAuth & Permissions, and install the app again",
            missing.join(", ")
        );
        Finding::wrong(tried, problem)
    }

    pub(super) async fn check_app(&self) -> Finding {
        let tried = "the app's token and Socket Mode";
        match self.client.open_connection().await {
            Ok(_) => Finding::well(tried),
            Err(failure) => {
                let hint = "Switch Socket Mode on, and make an app-level token with the scope connections:write";
                Finding::wrong(tried, format!("{failure}. {hint}"))
            }
        }
    }

    pub(super) async fn check_channel(&self, channel: &str) -> Finding {
        let tried = format!("the channel {channel}");
        let found = self
            .client
            .read("conversations.info", &[("channel", channel)])
            .await;
        match found.map(|answer| answer.body) {
            Ok(answer) if answer["channel"]["is_archived"] == true => {
                Finding::wrong(tried, "it is archived")
            }
            Ok(answer) if answer["channel"]["is_member"] == true => Finding::well(tried),
            Ok(_) => Finding::wrong(tried, "the app is not in it. Say `/invite @…` there"),
            Err(failure) => Finding::wrong(
                tried,
                format!("{failure}. A private channel is only seen by an app that is in it"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_in_the_documentation_asks_for_what_is_checked() {
        let guide = include_str!("../../../../docs/bridges.md");
        for scope in SCOPES {
            assert!(guide.contains(&format!("         - {scope}\n")), "{scope}");
        }
    }
}
