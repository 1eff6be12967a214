//! Writes that wait, and the host's word on them.

use countersign_server::{Request, Response};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::refusal::Refusal;
use crate::reply;
use crate::surface::OpenWork;

/// `GET /approvals`
pub(crate) async fn list(surface: &OpenWork, headers: &HeaderMap) -> Result<Response, Refusal> {
    let host = surface.keys.host(headers).await?;
    let listing = surface.open_writes(&host).await?;
    Ok(reply::bytes(StatusCode::OK, listing))
}

/// `POST /approvals/:id`: everything but `allow` is a no.
pub(crate) async fn reply(
    surface: &OpenWork,
    id: &str,
    request: Request,
) -> Result<Response, Refusal> {
    let host = surface.keys.host(request.headers()).await?;
    let body = surface.bodies.json(request.into_body()).await?;
    let is_allowed = body.get("reply") == Some(&Value::from("allow"));
    surface.answer_write(&host, id, is_allowed).await?;
    Ok(reply::ok(&json!({ "ok": true, "allowed": is_allowed })))
}
