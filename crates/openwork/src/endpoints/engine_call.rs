//! Asks the engine of a workspace something, on behalf of a client.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::proxy::{base_url, basic, unreachable};
use crate::percent;
use crate::refusal::Refusal;
use crate::roster::Entry;

/// How long an engine may take to answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// What an engine answered.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// Its JSON; nothing if it is none.
    pub(super) body: Option<Value>,
    text: String,
    path: String,
}

impl Reply {
    /// That the engine did not do what it was asked for, as clients are told.
    pub(super) fn refused(self) -> Refusal {
        let body = self.body.unwrap_or(Value::String(self.text));
        let details = json!({ "status": self.status.as_u16(), "body": body, "path": self.path });
        Refusal::new(502, "opencode_request_failed", "OpenCode request failed")
            .with_details(details)
    }
}

/// Asks the engine of `entry`, about the directory that it works in.
pub(super) async fn ask(
    client: &reqwest::Client,
    entry: &Entry,
    method: Method,
    path: &str,
    query: &[(&str, String)],
) -> Result<Reply, Refusal> {
    let mut url = base_url(entry)?;
    url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    let directory = ("directory", entry.directory().to_owned());
    let pairs = query.iter().chain([&directory]);
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("{name}={}", percent::encode(value)))
        .collect();
    url.set_query(Some(&pairs.join("&")));
    let mut request = client.request(method, url).timeout(PATIENCE);
    if let Some(credentials) = basic(entry) {
        request = request.header(http::header::AUTHORIZATION, credentials);
    }
    let response = request.send().await.map_err(|error| unreachable(&error))?;
    let status = response.status();
    let text = response.text().await.map_err(|error| unreachable(&error))?;
    Ok(Reply {
        status,
        body: serde_json::from_str(&text).ok(),
        text,
        path: path.to_owned(),
    })
}

/// An id in a path: whatever is in it stays within its segment, and is no step up.
pub(super) fn escape(id: &str) -> String {
    let id = percent::encode(id).replace('+', "%20");
    if matches!(id.as_str(), "." | "..") {
        "_".to_owned()
    } else {
        id
    }
}
