//! Requests to the Bot API, and what their failures mean.
//!
//! Telegram wants the token in the path of each address. So no address is ever told: not in a failure, not in a log, and
//! no redirection is followed, which would carry it elsewhere.

use std::time::Duration;

use bytes::Bytes;
use reqwest::RequestBuilder;
use serde_json::Value;

use crate::Secret;
use crate::adapter::{Failure, IncomingFile};
use crate::http::{self, Form, USUAL_WAIT, content_of, told, unanswered};

/// What an error says of something that is not there: Telegram has no codes for it.
const GONE: [&str; 8] = [
    "not found",
    "can't be edited",
    "message_id_invalid",
    "topic_deleted",
    "query is too old",
    "query id is invalid",
    "message identifier is not specified",
    "user is deactivated",
];

/// The Bot API, as one bot.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    token: Secret,
}

impl Client {
    pub(super) fn new(base: &str, token: Secret) -> Result<Self, reqwest::Error> {
        let http = http::client()
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            token,
        })
    }

    fn request(&self, method: &str) -> RequestBuilder {
        let token = self.token.expose();
        self.http.post(format!("{}/bot{token}/{method}", self.base))
    }

    /// Calls a method and returns its result.
    pub(super) async fn call(&self, method: &str, arguments: &Value) -> Result<Value, Failure> {
        answer(self.request(method).json(arguments)).await
    }

    /// Calls a method that takes as long as it likes, up to a limit.
    pub(super) async fn wait(
        &self,
        method: &str,
        arguments: &Value,
        limit: Duration,
    ) -> Result<Value, Failure> {
        answer(self.request(method).json(arguments).timeout(limit)).await
    }

    /// Calls a method with a file.
    pub(super) async fn call_with_file(&self, method: &str, form: Form) -> Result<Value, Failure> {
        let (content_type, body) = form.end();
        let request = self.request(method).header("content-type", content_type);
        answer(request.body(body)).await
    }

    /// Fetches what is at this path, unless it has more than `limit` bytes.
    pub(super) async fn file(
        &self,
        path: &str,
        file: &IncomingFile,
        limit: u64,
    ) -> Result<Bytes, Failure> {
        let token = self.token.expose();
        let address = format!("{}/file/bot{token}/{path}", self.base);
        let response = self.http.get(address).send().await;
        let response = response.map_err(|error| unanswered(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response.status().as_u16(), &Value::Null));
        }
        content_of(response, file, limit).await
    }
}

async fn answer(request: RequestBuilder) -> Result<Value, Failure> {
    let response = request.send().await.map_err(|error| unanswered(&error))?;
    let status = response.status().as_u16();
    let bytes = response.bytes().await.map_err(|error| unanswered(&error))?;
    let mut body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if body["ok"] == true {
        return Ok(body["result"].take());
    }
    let status = body["error_code"]
        .as_u64()
        .map_or(status, |code| u16::try_from(code).unwrap_or(status));
    Err(refusal(status, &body))
}

/// What an error of the platform means.
fn refusal(status: u16, body: &Value) -> Failure {
    let said = told(body["description"].as_str().unwrap_or_default());
    let lower = said.to_ascii_lowercase();
    let problem = format!("{status} {said}");
    match status {
        429 => {
            let wait = body["parameters"]["retry_after"].as_u64();
            Failure::Later {
                after: wait.map_or(USUAL_WAIT, Duration::from_secs),
                problem,
            }
        }
        // A token of another shape than a token's is an address that is not there.
        401 | 404 => Failure::Unauthorised(problem),
        403 => Failure::Gone(problem),
        400 if GONE.iter().any(|words| lower.contains(words)) => Failure::Gone(problem),
        400 => match body["parameters"]["migrate_to_chat_id"].as_i64() {
            Some(chat) => Failure::Refused(format!("the group is now called {chat}: {problem}")),
            None => Failure::Refused(problem),
        },
        409 => Failure::Refused(format!(
            "another program takes this bot's messages, or a webhook does: {problem}"
        )),
        // What stands before the Bot API answers so as well, when it has waited too long for what may have been done.
        500.. => Failure::Unknown(problem),
        _ => Failure::Refused(problem),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(status: u16, description: &str) -> Failure {
        refusal(status, &json!({"ok": false, "description": description}))
    }

    #[test]
    fn failures_are_told_apart_by_what_telegram_says() {
        let gone = [
            (400, "Bad Request: message to edit not found"),
            (400, "Bad Request: message can't be edited"),
            (400, "Bad Request: message thread not found"),
            (400, "Bad Request: chat not found"),
            (400, "Bad Request: MESSAGE_ID_INVALID"),
            (
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
            ),
            (403, "Forbidden: bot was blocked by the user"),
            (
                403,
                "Forbidden: bot can't initiate conversation with a user",
            ),
        ];
        for (status, words) in gone {
            assert!(matches!(said(status, words), Failure::Gone(_)), "{words}");
        }
        assert!(matches!(
            said(401, "Unauthorized"),
            Failure::Unauthorised(_)
        ));
        assert!(matches!(said(404, "Not Found"), Failure::Unauthorised(_)));
        assert!(matches!(
            said(400, "Bad Request: message is too long"),
            Failure::Refused(_)
        ));
        assert!(matches!(said(502, "Bad Gateway"), Failure::Unknown(_)));
        let wait = json!({"description": "Too Many Requests: retry after 7", "parameters": {"retry_after": 7}});
        let Failure::Later { after, .. } = refusal(429, &wait) else {
            panic!("it wants us to wait")
        };
        assert_eq!(after, Duration::from_secs(7));
        let moved = json!({
            "description": "Bad Request: group chat was upgraded to a supergroup chat",
            "parameters": {"migrate_to_chat_id": -100_123},
        });
        assert!(
            refusal(400, &moved)
                .to_string()
                .contains("now called -100123")
        );
    }

    #[tokio::test]
    async fn the_token_is_in_no_failure_and_in_no_debug_text() {
        // It puts in place what TLS needs.
        drop(countersign_testkit::http::client());
        let token = "123456:hidden-away";
        let file = IncomingFile {
            name: "a".to_owned(),
            media_type: None,
            size: None,
            handle: "1".to_owned(),
        };
        // Nobody listens there; and that is no port.
        for base in ["http://127.0.0.1:1", "http://127.0.0.1:99999"] {
            let client = Client::new(base, Secret::new(token)).unwrap();
            let failures = [
                client.call("getMe", &Value::Null).await.unwrap_err(),
                client.file("documents/1", &file, 10).await.unwrap_err(),
            ];
            let told = format!("{client:?} {failures:?} {} {}", failures[0], failures[1]);
            assert!(!told.contains("hidden-away"), "{told}");
        }
    }
}
