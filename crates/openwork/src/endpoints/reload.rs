//! Has the opencode of a workspace load its configuration anew.

use std::sync::OnceLock;
use std::time::Duration;

use countersign_core::digest::Digest;
use countersign_server::Response;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::Call;
use super::config::config_path;
use super::proxy::{base_url, basic, unreachable};
use crate::approvals::{Permit, Question};
use crate::percent;
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::Entry;
use crate::trail::Deed;
use crate::wire_time::millis;
use crate::writing::Done;

/// How long an engine may take.
const PATIENCE: Duration = Duration::from_secs(30);
const ACTION: &str = "engine.reload";

/// How engines are called. It is made when the first is.
#[derive(Default)]
pub(crate) struct Upstream(OnceLock<reqwest::Client>);

impl Upstream {
    pub(crate) fn client(&self) -> Result<&reqwest::Client, Refusal> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(Duration::from_secs(5))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| Refusal::internal(&error))?;
        Ok(self.0.get_or_init(|| client))
    }
}

/// `POST /workspace/:id/engine/reload`
pub(crate) async fn reload(call: &Call) -> Result<Response, Refusal> {
    let url = dispose_url(&call.seat.entry)?;
    let permit = if call.surface.settings.compat.is_scoped() {
        // 0.13 asks nobody.
        Permit::NotNeeded
    } else {
        let question = Question {
            action: ACTION,
            summary: "Reload OpenCode engine".to_owned(),
            paths: vec![config_path(call).await?],
            changes: Vec::new(),
            fingerprint: Digest::of_parts([ACTION.as_bytes(), call.seat.entry.id.as_bytes()]),
        };
        let permitting = call.surface.permit(&call.caller, &call.seat, question);
        permitting.await?
    };
    let client = call.surface.upstream.client()?;
    let disposing = dispose(client, &call.seat.entry, url);
    // The client's future is large.
    let disposing = Box::pin(disposing);
    let doing = async move {
        disposing.await?;
        Ok(Done {
            digest: None,
            ground: None,
            deeds: vec![Deed {
                action: ACTION,
                target: "opencode.instance".to_owned(),
                summary: "Reloaded OpenCode engine".to_owned(),
            }],
            announce: Box::new(|_| {}),
            value: (),
        })
    };
    call.surface
        .carry_out(&call.caller, &call.seat, permit, doing)
        .await?;
    let now = millis(call.surface.clock.now());
    Ok(reply::ok(&json!({ "ok": true, "reloadedAt": now })))
}

fn dispose_url(entry: &Entry) -> Result<reqwest::Url, Refusal> {
    let mut url = base_url(entry)?;
    let path = format!("{}/instance/dispose", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_query(Some(&format!(
        "directory={}",
        percent::encode(entry.directory())
    )));
    Ok(url)
}

fn dispose(
    client: &reqwest::Client,
    entry: &Entry,
    url: reqwest::Url,
) -> impl Future<Output = Result<(), Refusal>> + use<> {
    let mut request = client.post(url).timeout(PATIENCE);
    if let Some(credentials) = basic(entry) {
        request = request.header(AUTHORIZATION, credentials);
    }
    disposed(request)
}

async fn disposed(request: reqwest::RequestBuilder) -> Result<(), Refusal> {
    let response = request.send().await.map_err(|error| unreachable(&error))?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let text = response.text().await.unwrap_or_default();
    let body = match serde_json::from_str(&text) {
        Ok(json) => json,
        Err(_) if text.is_empty() => Value::Null,
        Err(_) => Value::String(text),
    };
    let details = json!({ "status": status.as_u16(), "body": body });
    Err(Refusal::new(502, "opencode_reload_failed", "OpenCode reload failed").with_details(details))
}
