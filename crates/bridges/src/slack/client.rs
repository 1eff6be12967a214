//! Requests to Slack, and what their failures mean.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, StatusCode, Url};
use serde_json::Value;

use crate::Secret;
use crate::adapter::{Failure, IncomingFile};
use crate::http::{self, USUAL_WAIT, content_of, told, unanswered};

/// Slack, as one app in one workspace.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Secret,
    app_token: Secret,
}

/// What Slack said to a request that it carried out.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Value,
    pub(super) headers: HeaderMap,
}

impl Client {
    pub(super) fn new(base: Url, token: Secret, app_token: Secret) -> Result<Self, reqwest::Error> {
        let http = http::client()
            // Where a file is not for us Slack leads to a page on which people sign in.
            .redirect(Policy::none())
            .build()?;
        Ok(Self {
            http,
            base,
            token,
            app_token,
        })
    }

    fn address(&self, method: &str) -> Url {
        let mut url = self.base.clone();
        let path = format!("{}/{method}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    /// Calls a method that only reads.
    pub(super) async fn read(
        &self,
        method: &str,
        query: &[(&str, &str)],
    ) -> Result<Answer, Failure> {
        let mut url = self.address(method);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        carry_out(self.http.get(url).bearer_auth(self.token.expose())).await
    }

    /// Calls a method that changes something.
    pub(super) async fn write(&self, method: &str, body: &Value) -> Result<Value, Failure> {
        let request = self.http.post(self.address(method)).json(body);
        let answer = carry_out(request.bearer_auth(self.token.expose())).await?;
        Ok(answer.body)
    }

    /// Asks for a connection, as the app: the address has a ticket in it and is told to nobody.
    pub(super) async fn open_connection(&self) -> Result<Url, Failure> {
        let request = self.http.post(self.address("apps.connections.open"));
        let answer = carry_out(request.bearer_auth(self.app_token.expose())).await?;
        let url = answer.body["url"]
            .as_str()
            .and_then(|url| Url::parse(url).ok());
        let wanted = if self.base.scheme() == "https" {
            "wss"
        } else {
            "ws"
        };
        url.filter(|url| url.scheme() == wanted && self.is_host_of_slack(url))
            .ok_or_else(|| Failure::Unreached("Slack names no websocket of its own".to_owned()))
    }

    /// Sends what a file holds to where Slack wants it.
    pub(super) async fn put(&self, url: &str, content: Bytes) -> Result<(), Failure> {
        self.hand_over(url, |request| request.body(content)).await
    }

    /// Answers by an address that came with a press or a command.
    pub(super) async fn respond(&self, url: &str, body: &Value) -> Result<(), Failure> {
        self.hand_over(url, |request| request.json(body)).await
    }

    /// Hands something over at an address that Slack gave, which is the permission: there is no token in it.
    async fn hand_over(
        &self,
        url: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<(), Failure> {
        let request = with(self.http.post(self.own_address(url)?));
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let wait = wait_of(response.headers());
        Err(refused_with(status, wait, "it was not taken"))
    }

    /// Fetches a file of at most `limit` bytes; our token goes to Slack itself and nowhere else.
    pub(super) async fn fetch(&self, file: &IncomingFile, limit: u64) -> Result<Bytes, Failure> {
        let url = self.own_address(&file.handle)?;
        let request = self.http.get(url).bearer_auth(self.token.expose());
        let response = request.send().await.map_err(|error| unanswered(&error))?;
        let status = response.status();
        if status.is_redirection() {
            let problem = "Slack does not give the file to the app; is the scope files:read there?";
            return Err(Failure::Refused(problem.to_owned()));
        }
        if !status.is_success() {
            let wait = wait_of(response.headers());
            return Err(refused_with(status, wait, "the file is not given"));
        }
        content_of(response, file, limit).await
    }

    fn own_address(&self, url: &str) -> Result<Url, Failure> {
        let url = Url::parse(url).ok();
        url.filter(|url| url.scheme() == self.base.scheme() && self.is_host_of_slack(url))
            .ok_or_else(|| Failure::Refused("the address is not one of Slack".to_owned()))
    }

    /// Whether an address is on the host of the API or below it: `files.slack.com` is below `slack.com`.
    fn is_host_of_slack(&self, url: &Url) -> bool {
        match (self.base.host_str(), url.host_str()) {
            (Some(base), Some(host)) => {
                let above = host.strip_suffix(base);
                host == base || above.is_some_and(|above| above.ends_with('.'))
            }
            _ => false,
        }
    }
}

async fn carry_out(request: RequestBuilder) -> Result<Answer, Failure> {
    let response = request.send().await.map_err(|error| unanswered(&error))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = response.bytes().await.map_err(|error| unanswered(&error))?;
    if !status.is_success() {
        let said = String::from_utf8_lossy(&bytes);
        return Err(refused_with(status, wait_of(&headers), &said));
    }
    let Ok(body) = serde_json::from_slice::<Value>(&bytes) else {
        return Err(Failure::Unknown("the answer cannot be read".to_owned()));
    };
    if body["ok"] == true {
        return Ok(Answer { body, headers });
    }
    Err(refusal(&body, wait_of(&headers)))
}

fn wait_of(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn refused_with(status: StatusCode, wait: Option<Duration>, said: &str) -> Failure {
    let said = told(said);
    let problem = format!("{} {said}", status.as_u16());
    match status {
        StatusCode::TOO_MANY_REQUESTS => Failure::Later {
            after: wait.unwrap_or(USUAL_WAIT),
            problem,
        },
        StatusCode::UNAUTHORIZED => Failure::Unauthorised(problem),
        StatusCode::NOT_FOUND | StatusCode::GONE => Failure::Gone(problem),
        // Nobody says that nothing was done, and Slack does not know what it did already.
        status if status.is_server_error() => Failure::Unknown(problem),
        _ => Failure::Refused(problem),
    }
}

/// What an error means that Slack names.
fn refusal(body: &Value, wait: Option<Duration>) -> Failure {
    let error = body["error"].as_str().unwrap_or("it does not say why");
    let mut problem = told(error);
    if let Some(needed) = body["needed"].as_str() {
        problem = format!("{problem}: the app needs the scope {}", told(needed));
    }
    let details = body["response_metadata"]["messages"].as_array();
    if let Some(detail) = details.and_then(|details| details.first()?.as_str()) {
        problem = format!("{problem}: {}", told(detail));
    }
    match error {
        "ratelimited" | "rate_limited" | "message_limit_exceeded" => Failure::Later {
            after: wait.unwrap_or(USUAL_WAIT),
            problem,
        },
        "invalid_auth"
        | "not_authed"
        | "account_inactive"
        | "token_revoked"
        | "token_expired"
        | "not_allowed_token_type" => Failure::Unauthorised(problem),
        "message_not_found"
        | "cant_update_message"
        | "edit_window_closed"
        | "channel_not_found"
        | "not_in_channel"
        | "is_archived"
        | "is_inactive"
        | "thread_not_found"
        | "user_not_found"
        | "users_not_found"
        | "user_not_in_channel"
        | "file_not_found"
        | "file_deleted" => Failure::Gone(problem),
        "service_unavailable" | "accesslimited" => Failure::Unreached(problem),
        // «Some aspect of the operation may have succeeded.»
        "fatal_error" | "internal_error" | "request_timeout" => Failure::Unknown(problem),
        _ => Failure::Refused(problem),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn client(base: &str) -> Client {
        // Fails only when a provider is in place already, which is just as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let secret = || Secret::new("xoxb-1");
        Client::new(Url::parse(base).unwrap(), secret(), secret()).unwrap()
    }

    #[test]
    fn our_token_goes_to_slack_itself_and_nowhere_else() {
        let slack = client("https://slack.com/api");
        for own in ["https://slack.com/x", "https://files.slack.com/files-pri/x"] {
            assert!(slack.own_address(own).is_ok(), "{own}");
        }
        for foreign in [
            "http://files.slack.com/x",
            "https://slack.com.evil.example/x",
            "https://evilslack.com/x",
            "https://evil.example/slack.com",
            "https://user@evil.example/slack.com",
            "file:///etc/passwd",
            "slack.com",
        ] {
            assert!(slack.own_address(foreign).is_err(), "{foreign}");
        }
    }

    #[test]
    fn methods_are_below_the_address_of_the_api() {
        let url = client("https://slack.com/api").address("chat.update");
        assert_eq!(url.as_str(), "https://slack.com/api/chat.update");
    }

    #[test]
    fn errors_are_told_apart_by_what_to_do_about_them() {
        let of = |error: &str| refusal(&json!({"ok": false, "error": error}), None);
        assert!(matches!(of("ratelimited"), Failure::Later { .. }));
        assert!(matches!(of("token_revoked"), Failure::Unauthorised(_)));
        assert!(matches!(of("cant_update_message"), Failure::Gone(_)));
        assert!(matches!(of("fatal_error"), Failure::Unknown(_)));
        assert!(matches!(of("invalid_blocks"), Failure::Refused(_)));
        let body = json!({"ok": false, "error": "missing_scope", "needed": "files:write"});
        assert!(refusal(&body, None).to_string().contains("files:write"));
    }
}
