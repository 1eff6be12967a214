//! Tokens: listed, made, taken back.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use countersign_api::{NewToken, TokenList, TokenMade};
use countersign_broker::NewTokenWish;
use countersign_core::id::TokenId;
use http::StatusCode;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id};
use crate::state::Server;

/// Lists the tokens, without their secrets.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "callers",
    responses((status = 200, body = TokenList), Refused))]
pub(crate) async fn list_tokens(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
) -> Result<Json<TokenList>, ApiError> {
    Ok(Json(TokenList {
        tokens: server.broker.tokens(&admitted.caller).await?,
    }))
}

/// Makes a token. Its secret is shown this once.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "callers", request_body = NewToken,
    responses((status = 201, body = TokenMade), Refused, Missing, UnfitBody))]
pub(crate) async fn make_token(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(new): extract::Json<NewToken>,
) -> Result<(StatusCode, Json<TokenMade>), ApiError> {
    let wish = NewTokenWish {
        name: new.name,
        role: new.role,
        workspace: new.workspace,
        life: new.expires_in_s.map(Duration::from_secs),
    };
    let (token, secret) = server.broker.make_token(&admitted.caller, wish).await?;
    Ok((StatusCode::CREATED, Json(TokenMade { token, secret })))
}

/// Takes a token back; streams that it holds open end within a second.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "callers",
    params(("id" = TokenId, Path)),
    responses((status = 204), Refused, Missing))]
pub(crate) async fn revoke_token(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<TokenId>,
) -> Result<StatusCode, ApiError> {
    server.broker.revoke_token(&admitted.caller, id).await?;
    server.streams.end(id);
    Ok(StatusCode::NO_CONTENT)
}
