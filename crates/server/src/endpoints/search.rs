//! Words that are looked for in every transcript.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use countersign_api::{PassageKind, SearchHit, SearchResult};
use countersign_broker::{Excerpt, Hit, Passage, Place, SearchWish};
use countersign_core::id::WorkspaceId;
use countersign_core::session::Item;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Refused, Unfit};
use crate::error::ApiError;
use crate::extract::{self, Query};
use crate::state::Server;

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// The words, whatever their case: all of them have to be in one item. At most eight, with 200 characters.
    q: String,
    /// Only in sessions of this workspace.
    workspace: Option<WorkspaceId>,
    /// How many places; 20 if it is not said.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Only in what is older: the `next` of the page before.
    before: Option<String>,
}

/// Looks for words in what was said and done, the newest first. How much is looked at for one request is bounded;
/// `next` goes on from there.
#[utoipa::path(get, path = "/api/v1/search", tag = "sessions", params(SearchQuery),
    responses((status = 200, body = SearchResult), Refused, Unfit))]
pub(crate) async fn search_transcripts(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<SearchQuery>,
) -> Result<Json<SearchResult>, ApiError> {
    let limit = extract::within("limit", query.limit, 1..=100, 20)?;
    let before = query
        .before
        .map(|text| {
            text.parse::<Place>()
                .map_err(|()| ApiError::invalid("before", "is not the `next` of a page"))
        })
        .transpose()?;
    let wish = SearchWish {
        text: query.q,
        workspace: query.workspace,
        before,
        limit: usize::try_from(limit).unwrap_or(1),
    };
    let found = server.broker.search(&admitted.caller, wish).await?;
    Ok(Json(SearchResult {
        hits: found.hits.into_iter().map(view).collect(),
        looked_at: found.looked_at,
        complete: found.next.is_none(),
        next: found.next.map(|place| place.to_string()),
    }))
}

fn view(hit: Hit) -> SearchHit {
    let Hit {
        passage:
            Passage {
                session,
                workspace,
                title,
                item,
                ..
            },
        excerpt: Excerpt {
            before,
            matched,
            after,
        },
    } = hit;
    SearchHit {
        session,
        workspace,
        title,
        seq: item.seq,
        at: item.at,
        kind: kind(&item.item),
        before,
        matched,
        after,
    }
}

fn kind(item: &Item) -> PassageKind {
    match item {
        Item::Prompt { .. } => PassageKind::Prompt,
        Item::Attachment { .. } => PassageKind::Attachment,
        Item::Text { .. } => PassageKind::Text,
        Item::Thought { .. } => PassageKind::Thought,
        Item::Tool { .. } => PassageKind::Tool,
        Item::Plan { .. } => PassageKind::Plan,
        Item::Notice { .. } => PassageKind::Notice,
    }
}
