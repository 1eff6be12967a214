//! The agents that sessions can be begun with, and the sessions that they had before.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{EarlierSession, EarlierSessions, EngineOffer, EngineOffers, SignIn};
use countersign_broker::{EngineListing, SignedIn};
use countersign_core::id::WorkspaceId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, Unavailable, Unfit};
use crate::error::ApiError;
use crate::extract::{Id, Query};
use crate::state::Server;

/// Lists the agents that sessions can be begun with, found on this machine or not.
#[utoipa::path(get, path = "/api/v1/engines", tag = "workspaces",
    responses((status = 200, body = EngineOffers), Refused))]
pub(crate) async fn list_engines(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<EngineOffers>, ApiError> {
    let engines = server.broker.engines(&admitted.caller)?;
    Ok(Json(engine_offers(engines)))
}

/// What was found, on the wire.
pub fn engine_offers(engines: Vec<EngineListing>) -> EngineOffers {
    EngineOffers {
        engines: engines.into_iter().map(offer).collect(),
    }
}

/// Where to look for earlier sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EarlierQuery {
    /// In this workspace; the server's first one if it is not said.
    workspace: Option<WorkspaceId>,
}

/// Lists the sessions that an engine had before in a workspace.
///
/// An ACP agent is started for the question, and ended again.
#[utoipa::path(get, path = "/api/v1/engines/{name}/sessions", tag = "sessions",
    params(("name" = String, Path, description = "`opencode`, or the name of an agent"), EarlierQuery),
    responses((status = 200, body = EarlierSessions), Refused, Missing, Unfit, Unavailable))]
pub(crate) async fn list_earlier_sessions(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(name): Id<String>,
    Query(query): Query<EarlierQuery>,
) -> Result<Json<EarlierSessions>, ApiError> {
    let earlier = server
        .broker
        .earlier_sessions(&admitted.caller, &name, query.workspace)
        .await?;
    let sessions = earlier.sessions.into_iter().map(|session| EarlierSession {
        native_id: session.native_id,
        title: session.title,
        updated_at: session.updated_at,
        known: session.known,
    });
    Ok(Json(EarlierSessions {
        sessions: sessions.collect(),
        has_more: earlier.has_more,
    }))
}

fn offer(listing: EngineListing) -> EngineOffer {
    let (signed_in, signed_in_by) = match listing.signed_in {
        SignedIn::Seen(by) => (SignIn::Seen, Some(by)),
        SignedIn::NotSeen => (SignIn::NotSeen, None),
        SignedIn::Unknown => (SignIn::Unknown, None),
    };
    EngineOffer {
        name: listing.name,
        title: listing.title,
        program: listing.program,
        signed_in,
        signed_in_by,
        advice: listing.advice,
    }
}
