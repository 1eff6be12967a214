//! The audit: read in order, looked through, and followed from end to end.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{AuditFound, AuditList, AuditVerdict, ChainList, ChainVerified, ChainView};
use countersign_broker::{AuditWish, Chain, ChainVerdict};
use countersign_core::id::WorkspaceId;
use countersign_core::time::Timestamp;
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

/// What to look for. Entries have to fit all of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditSearch {
    /// Whose chain; the first workspace's if it is not said.
    workspace: Option<WorkspaceId>,
    /// Only those before this place: the `next` of the page before.
    #[param(minimum = 1)]
    before: Option<i64>,
    /// How many; 50 if it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<i64>,
    /// What is in the name of who did it.
    actor: Option<String>,
    /// What was done, such as `ask.answer`, or what it begins with, such as `ask`.
    action: Option<String>,
    /// What is anywhere in the entry.
    text: Option<String>,
    /// Not before this time.
    since: Option<Timestamp>,
    /// Before this time.
    until: Option<Timestamp>,
}

/// Looks through one workspace's audit, newest entries first. A page looks at a bounded number of entries.
#[utoipa::path(get, path = "/api/v1/audit/search", tag = "audit", params(AuditSearch),
    responses((status = 200, body = AuditFound), Refused, Missing, Unfit))]
pub(crate) async fn search_audit(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<AuditSearch>,
) -> Result<Json<AuditFound>, ApiError> {
    let before = query
        .before
        .map(|before| extract::within("before", Some(before), 1..=i64::MAX, 1));
    let limit = extract::within("limit", query.limit, 1..=500, 50)?;
    let wish = AuditWish {
        workspace: query.workspace,
        before: before.transpose()?,
        actor: query.actor,
        action: query.action,
        text: query.text,
        since: query.since,
        until: query.until,
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = server
        .broker
        .search_audit(&admitted.caller, wish, limit)
        .await?;
    Ok(Json(AuditFound {
        entries: page.entries,
        next: page.next,
        looked_at: page.looked_at,
    }))
}

/// Lists the chains: how long they are, and how each was found when it was last followed.
#[utoipa::path(get, path = "/api/v1/audit/chains", tag = "audit",
    responses((status = 200, body = ChainList), Refused))]
pub(crate) async fn list_chains(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<ChainList>, ApiError> {
    let chains = server.broker.chains(&admitted.caller).await?;
    let chain = |chain: Chain| ChainView {
        workspace: chain.workspace,
        entries: chain.entries,
        verified: chain.verified.map(|found| ChainVerified {
            at: found.at,
            whole: found.broken.is_none(),
            entries: found.entries,
            broken: found.broken,
        }),
    };
    Ok(Json(ChainList {
        chains: chains.into_iter().map(chain).collect(),
    }))
}
