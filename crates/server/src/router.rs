//! Every route there is.

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use countersign_api::{AcpRequest, ErrorCode, Goodbye};
use countersign_core::event::{Delta, Event};
use http::StatusCode;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::PAGE_HEADER;
use crate::endpoints::{
    alarms, app, asks, attachments, audit, docs, door, engines, events, figures, health, holdings,
    jobs, notifications, pairing, push, rules, schedules, search, sessions, settings, tokens,
    workspaces,
};
use crate::error::ApiError;
use crate::requests::Conduct;
use crate::state::Server;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Countersign",
        description = "The one place where the asks of coding agents arrive, are answered once by \
            somebody who may answer, and are proved to have reached the agent.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(Event, Delta, Goodbye, AcpRequest)),
    modifiers(&Credentials),
    security(("bearer" = []), ("cookie" = [], "page" = []))
)]
struct ApiDocument;

/// How callers show who they are.
struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token: `cs_…`"))
            .build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        let cookie = ApiKeyValue::with_description(
            "countersign_8787",
            "A paired browser's half of its secret; the number is the server's port",
        );
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
        let page = ApiKeyValue::with_description(
            PAGE_HEADER,
            "The page's half of the browser's secret, which pairing returns as `page_key`",
        );
        components.add_security_scheme("page", SecurityScheme::ApiKey(ApiKey::Header(page)));
    }
}

/// The routes that the OpenAPI document describes.
fn described() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::with_openapi(ApiDocument::openapi())
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .routes(routes!(workspaces::me))
        .routes(routes!(
            workspaces::list_workspaces,
            workspaces::add_workspace
        ))
        .routes(routes!(
            workspaces::rename_workspace,
            workspaces::remove_workspace
        ))
        .routes(routes!(workspaces::restart_engine))
        .routes(routes!(workspaces::reload_engine))
        .routes(routes!(holdings::show_holdings))
        .routes(routes!(holdings::show_skill))
        .routes(routes!(holdings::export_workspace))
        .routes(routes!(holdings::preview_change))
        .routes(routes!(holdings::propose_change))
        .routes(routes!(engines::list_engines))
        .routes(routes!(engines::list_earlier_sessions))
        .routes(routes!(asks::list_asks))
        .routes(routes!(asks::show_ask))
        .routes(routes!(asks::answer_ask))
        .routes(routes!(asks::settled_ask))
        .routes(routes!(sessions::list_sessions, sessions::start_session))
        .routes(routes!(sessions::show_session))
        .routes(routes!(sessions::list_items))
        .routes(routes!(sessions::prompt_session))
        .routes(routes!(sessions::cancel_session))
        .routes(routes!(sessions::take_back_prompt))
        .routes(routes!(search::search_transcripts))
        .routes(routes!(attachments::show_attachment))
        .routes(routes!(jobs::list_jobs, jobs::hand_in_job))
        .routes(routes!(jobs::heal_jobs))
        .routes(routes!(jobs::show_job))
        .routes(routes!(jobs::ended_job))
        .routes(routes!(jobs::cancel_job))
        .routes(routes!(jobs::job_log))
        .routes(routes!(jobs::job_diff))
        .routes(routes!(jobs::keep_job))
        .routes(routes!(jobs::discard_job))
        .routes(routes!(jobs::prioritise_job))
        .routes(routes!(jobs::retry_job))
        .routes(routes!(settings::show_settings, settings::change_settings))
        .routes(routes!(tokens::list_tokens, tokens::make_token))
        .routes(routes!(tokens::revoke_token))
        .routes(routes!(pairing::make_pairing))
        .routes(routes!(pairing::pair))
        .routes(routes!(pairing::sign_out))
        .routes(routes!(rules::list_rules, rules::make_rule))
        .routes(routes!(rules::preview_rule))
        .routes(routes!(rules::revoke_rule))
        .routes(routes!(rules::expire_rule))
        .routes(routes!(audit::list_audit))
        .routes(routes!(audit::verify_audit))
        .routes(routes!(audit::search_audit))
        .routes(routes!(audit::list_chains))
        .routes(routes!(figures::show_figures))
        .routes(routes!(alarms::list_alarms))
        .routes(routes!(notifications::list_notifications))
        .routes(routes!(notifications::retry_notifications))
        .routes(routes!(notifications::retry_notification))
        .routes(routes!(notifications::test_target))
        .routes(routes!(schedules::list_schedules))
        .routes(routes!(push::show_push))
        .routes(routes!(push::subscribe, push::unsubscribe))
        .routes(routes!(events::follow_events))
        .routes(routes!(door::begin_run))
        .routes(routes!(door::keep_run))
        .routes(routes!(door::end_run))
        .routes(routes!(door::hand_in))
        .routes(routes!(door::fetch_answer))
        .routes(routes!(door::report))
}

/// Every route, behind the gate.
pub(crate) fn router(server: Arc<Server>) -> Router {
    let (router, _) = described().split_for_parts();
    router
        .route("/api/openapi.json", get(docs::document))
        .route("/api/docs", get(docs::page))
        .route("/api/docs/docs.js", get(docs::script))
        .route("/api/docs/docs.css", get(docs::style))
        .route("/api/docs/icon.svg", get(docs::icon))
        .route("/", get(app::to_app))
        .route("/app", get(app::to_app))
        .route("/app/", get(app::index))
        .route("/app/{*path}", get(app::file))
        .fallback(nothing_here)
        .method_not_allowed_fallback(other_method)
        .layer(Conduct::new(Arc::clone(&server)))
        .with_state(server)
}

/// The OpenAPI document of the API.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().into_openapi()
}

async fn nothing_here() -> ApiError {
    ApiError::not_found("there is nothing here; the API is described at /api/docs")
}

async fn other_method() -> ApiError {
    let message = "this path takes another method; see /api/docs";
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::MethodNotAllowed,
        message,
    )
}
