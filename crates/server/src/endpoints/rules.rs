//! Rules: listed, made, taken back.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use countersign_api::{NewRule, RuleList};
use countersign_broker::RuleWish;
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
    let life = new.expires_in_s.map(Duration::from_secs);
    if life.is_some_and(|life| life.is_zero() || life > LONGEST_LIFE) {
        let problem = "must be at least one second and at most ten years";
        return Err(ApiError::invalid("expires_in_s", problem));
    }
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
