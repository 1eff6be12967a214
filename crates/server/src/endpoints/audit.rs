//! The audit: read in order, and followed from end to end.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{AuditList, AuditVerdict};
use countersign_broker::ChainVerdict;
use countersign_core::id::WorkspaceId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, Unfit};
use crate::error::ApiError;
use crate::extract::{self, Query};
use crate::state::Server;

/// Which entries to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Whose chain; the first workspace's if it is not said.
    workspace: Option<WorkspaceId>,
    /// Only those after this place: the `next` of the page before.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// How many; 100 if it is not said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// Lists entries of one workspace's audit, oldest first.
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", params(AuditQuery),
    responses((status = 200, body = AuditList), Refused, Missing, Unfit))]
pub(crate) async fn list_audit(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditList>, ApiError> {
    let after = extract::within("after", query.after, 0..=i64::MAX, 0)?;
    let limit = extract::within("limit", query.limit, 1..=1000, 100)?;
    let broker = &server.broker;
    let mut entries = broker
        .audit(&admitted.caller, query.workspace, after, limit + 1)
        .await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().map(|last| last.seq).filter(|_| more);
    Ok(Json(AuditList { entries, next }))
}

/// Follows every chain from end to end.
#[utoipa::path(get, path = "/api/v1/audit/verify", tag = "audit",
    responses((status = 200, body = Vec<AuditVerdict>), Refused))]
pub(crate) async fn verify_audit(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<Vec<AuditVerdict>>, ApiError> {
    let verdicts = server.broker.verify_audit(&admitted.caller).await?;
    Ok(Json(verdicts.into_iter().map(view).collect()))
}

fn view(verdict: ChainVerdict) -> AuditVerdict {
    let workspace = verdict.workspace;
    match verdict.outcome {
        Ok(entries) => AuditVerdict {
            workspace,
            entries,
            whole: true,
            broken: None,
        },
        Err(broken) => AuditVerdict {
            workspace,
            entries: 0,
            whole: false,
            broken: Some(broken.to_string()),
        },
    }
}
