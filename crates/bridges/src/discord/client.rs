//! Requests to Discord, and what their failures mean.
//!
//! By our own hands and not by twilight's: that one repeats what is answered 429 by itself until it is taken, and knows no
//! nonces that are enforced. When to try again is for the core to say.

use std::fmt::Display;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

use crate::adapter::Failure;
use crate::http::{self, USUAL_WAIT, told, unanswered};
use crate::{Secret, UnfitBridge};

/// Where Discord is unless something else is said.
const USUAL: &str = "https://discord.com";

/// Discord's own numbers of what is wrong.
pub(super) mod code {
    /// The interaction was answered before.
    pub(crate) const ANSWERED: u64 = 40_060;
    /// The message has its thread already.
    pub(crate) const HAS_THREAD: u64 = 160_004;
}

/// Discord, as one bot.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    authorisation: HeaderValue,
}

/// Something that was not done.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Discord's number for it; zero if it gave none.
    pub(super) code: u64,
    pub(super) failure: Failure,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        refusal.failure
    }
}

impl Client {
    pub(super) fn new(base: Option<&str>, token: &Secret) -> Result<Self, UnfitBridge> {
        let invalid = |field, problem: &str| UnfitBridge::Invalid {
            field,
            problem: problem.to_owned(),
        };
        let base = base.unwrap_or(USUAL).trim_end_matches('/');
        if !base.starts_with("http://") && !base.starts_with("https://") {
            return Err(invalid("url", "has to begin with http:// or https://"));
        }
        let mut authorisation = HeaderValue::from_str(&format!("Bot {}", token.expose()))
            .map_err(|_| invalid("token", "is no token"))?;
        authorisation.set_sensitive(true);
        let http = http::client()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!(
                "DiscordBot (countersign, ",
                env!("CARGO_PKG_VERSION"),
                ")"
            ))
            .build()
            .map_err(|_| invalid("url", "is no address"))?;
        Ok(Self {
            http,
            base: base.to_owned(),
            authorisation,
        })
    }

    /// A request of the API. Paths are made of our words and of numbers.
    pub(super) fn call(&self, method: Method, path: impl Display) -> RequestBuilder {
        self.http
            .request(method, format!("{}/api/v10/{path}", self.base))
            .header(AUTHORIZATION, self.authorisation.clone())
    }

    /// A request for a file. It carries no credential, and goes to no other place than Discord says by TLS.
    pub(super) fn file(&self, address: &str) -> Result<RequestBuilder, Failure> {
        let is_ours = address
            .strip_prefix(&self.base)
            .is_some_and(|rest| rest.starts_with('/'));
        if !is_ours && !address.starts_with("https://") {
            return Err(Failure::Refused("it is no file of Discord".to_owned()));
        }
        Ok(self.http.get(address))
    }
}

/// Sends a request and reads the answer.
pub(super) async fn send(request: RequestBuilder) -> Result<Value, Refusal> {
    let lost = |error: &reqwest::Error| Refusal {
        code: 0,
        failure: unanswered(error),
    };
    let response = request.send().await.map_err(|error| lost(&error))?;
    let status = response.status();
    let wait = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let bytes = response.bytes().await.map_err(|error| lost(&error))?;
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if status.is_success() {
        return Ok(body);
    }
    Err(refusal(status, wait, &body))
}

/// What an error of Discord means.
pub(super) fn refusal(status: StatusCode, wait: Option<Duration>, body: &Value) -> Refusal {
    let code = body["code"].as_u64().unwrap_or_default();
    let said = told(body["message"].as_str().unwrap_or_default());
    let problem = format!("{} {code} {said}", status.as_u16());
    let failure = match status {
        StatusCode::TOO_MANY_REQUESTS => {
            let also = body["retry_after"].as_f64();
            let also = also.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            Failure::Later {
                after: also.max(wait).unwrap_or(USUAL_WAIT),
                problem,
            }
        }
        StatusCode::UNAUTHORIZED => Failure::Unauthorised(problem),
        StatusCode::NOT_FOUND => Failure::Gone(problem),
        StatusCode::SERVICE_UNAVAILABLE => Failure::Unreached(problem),
        // Whatever breaks down behind the gateway may have done it before.
        status if status.is_server_error() => Failure::Unknown(problem),
        _ => Failure::Refused(problem),
    };
    Refusal { code, failure }
}
