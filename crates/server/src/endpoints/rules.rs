//! Rules: listed, looked at before they are made, made, taken back.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use countersign_api::{NewRule, RuleEnd, RuleList, RulePreview, RulePreviewRequest, RuleSample};
use countersign_broker::{Foresight, Match, RuleGuess, RuleWish};
use countersign_core::id::RuleId;
use countersign_core::rule::Rule;
use http::StatusCode;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id};
use crate::state::Server;

/// The longest life of a rule that can be asked for: ten years.
const LONGEST_LIFE: Duration = Duration::from_hours(10 * 366 * 24);

/// How many days a preview looks back if nothing else is said.
const PREVIEW_DAYS: i64 = 7;

/// Lists the rules, newest first.
#[utoipa::path(get, path = "/api/v1/rules", tag = "rules",
    responses((status = 200, body = RuleList), Refused))]
pub(crate) async fn list_rules(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<RuleList>, ApiError> {
    Ok(Json(RuleList {
        rules: server.broker.rules(&admitted.caller).await?,
    }))
}

/// Makes a rule.
#[utoipa::path(post, path = "/api/v1/rules", tag = "rules", request_body = NewRule,
    responses((status = 201, body = Rule), Refused, Missing, UnfitBody))]
pub(crate) async fn make_rule(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(new): extract::Json<NewRule>,
) -> Result<(StatusCode, Json<Rule>), ApiError> {
    let life = new.expires_in_s.map(life).transpose()?;
    let wish = RuleWish {
        workspace: new.workspace,
        session: new.session,
        tool: new.tool,
        verdict: new.verdict,
        matcher: new.matcher,
        life,
    };
    let rule = server.broker.make_rule(&admitted.caller, wish).await?;
    Ok((StatusCode::CREATED, Json(rule)))
}

/// A life that a rule can have.
fn life(seconds: u64) -> Result<Duration, ApiError> {
    let life = Duration::from_secs(seconds);
    if life.is_zero() || life > LONGEST_LIFE {
        let problem = "must be at least one second and at most ten years";
        return Err(ApiError::invalid("expires_in_s", problem));
    }
    Ok(life)
}

/// Has a rule end in a while. Its end can be brought forward, and never put off.
#[utoipa::path(post, path = "/api/v1/rules/{id}/expire", tag = "rules",
    params(("id" = RuleId, Path)), request_body = RuleEnd,
    responses((status = 200, body = Rule), Refused, Missing, UnfitBody))]
pub(crate) async fn expire_rule(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<RuleId>,
    extract::Json(end): extract::Json<RuleEnd>,
) -> Result<Json<Rule>, ApiError> {
    let life = life(end.expires_in_s)?;
    let broker = &server.broker;
    Ok(Json(broker.expire_rule(&admitted.caller, id, life).await?))
}

/// Tells what a rule would have matched in the last days, had it been there. Nothing is changed by it.
#[utoipa::path(post, path = "/api/v1/rules/preview", tag = "rules", request_body = RulePreviewRequest,
    responses((status = 200, body = RulePreview), Refused, Missing, UnfitBody))]
pub(crate) async fn preview_rule(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(request): extract::Json<RulePreviewRequest>,
) -> Result<Json<RulePreview>, ApiError> {
    let days = extract::within("days", request.days, 1..=90, PREVIEW_DAYS)?;
    let guess = RuleGuess {
        workspace: request.workspace,
        session: request.session,
        tool: request.tool,
        matcher: request.matcher,
    };
    let span = Duration::from_hours(24 * days.unsigned_abs());
    let seen = server
        .broker
        .preview_rule(&admitted.caller, guess, span)
        .await?;
    Ok(Json(told(seen)))
}

fn told(seen: Foresight) -> RulePreview {
    let sample = |found: Match| RuleSample {
        ask: found.ask,
        session: found.session,
        opened_at: found.opened_at,
        targets: found.targets,
        times: found.times,
        state: found.phase,
        denied: found.denied,
    };
    RulePreview {
        since: seen.since,
        looked_at: seen.looked_at,
        complete: seen.complete,
        count: seen.count,
        denied: seen.denied,
        sessions: seen.sessions,
        open: seen.open,
        samples: seen.samples.into_iter().map(sample).collect(),
    }
}

/// Takes a rule back.
#[utoipa::path(delete, path = "/api/v1/rules/{id}", tag = "rules", params(("id" = RuleId, Path)),
    responses((status = 204), Refused, Missing))]
pub(crate) async fn revoke_rule(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<RuleId>,
) -> Result<StatusCode, ApiError> {
    server.broker.revoke_rule(&admitted.caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
