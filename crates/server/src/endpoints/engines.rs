//! The agents that sessions can be begun with.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{EngineOffer, EngineOffers, SignIn};
use countersign_broker::{EngineListing, SignedIn};

use crate::auth::Admitted;
use crate::endpoints::refusals::Refused;
use crate::error::ApiError;
use crate::state::Server;

/// Lists the agents that sessions can be begun with, found on this machine or not.
#[utoipa::path(get, path = "/api/v1/engines", tag = "workspaces",
    responses((status = 200, body = EngineOffers), Refused))]
pub(crate) async fn list_engines(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<EngineOffers>, ApiError> {
    let engines = server.broker.engines(&admitted.caller)?;
    Ok(Json(EngineOffers {
        engines: engines.into_iter().map(offer).collect(),
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
