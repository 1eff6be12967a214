//! Figures about the asks of the last days.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use countersign_api::{
    AnswererView, DayView, FatesView, FiguresView, SloView, ToolView, WaitsView,
};
use countersign_broker::{
    AnswererFigures, DayFigures, Fates, Figures, FiguresWish, ToolFigures, Waits,
};
use countersign_core::id::WorkspaceId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused, Unfit};
use crate::error::ApiError;
use crate::extract::{self, Query};
use crate::state::Server;

/// Which figures are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FiguresQuery {
    /// Only of this workspace; of all that the caller may see if it is not said.
    workspace: Option<WorkspaceId>,
    /// How many days, today included; 30 if it is not said.
    #[param(minimum = 1, maximum = 90)]
    days: Option<i64>,
    /// How many minutes the caller's days begin before those of Greenwich; none if it is not said.
    #[param(minimum = -840, maximum = 840)]
    utc_offset_min: Option<i64>,
    /// How many seconds an answer may take; 300 if it is not said.
    #[param(minimum = 1, maximum = 86400)]
    target_s: Option<i64>,
}

/// Tells how many asks there were in the last days, how long people took, who answered what, and whether in time. The
/// newest 500,000 asks are counted at most.
#[utoipa::path(get, path = "/api/v1/figures", tag = "audit", params(FiguresQuery),
    responses((status = 200, body = FiguresView), Refused, Missing, Unfit))]
pub(crate) async fn show_figures(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<FiguresQuery>,
) -> Result<Json<FiguresView>, ApiError> {
    let days = extract::within("days", query.days, 1..=90, 30)?;
    let utc_offset_min = extract::within("utc_offset_min", query.utc_offset_min, -840..=840, 0)?;
    let target_s = extract::within("target_s", query.target_s, 1..=86_400, 300)?;
    let wish = FiguresWish {
        workspace: query.workspace,
        days: u32::try_from(days).unwrap_or(1),
        utc_offset_min,
        target: Duration::from_secs(target_s.unsigned_abs()),
    };
    let figures = server.broker.figures(&admitted.caller, wish).await?;
    Ok(Json(view(figures, target_s)))
}

fn view(figures: Figures, target_s: i64) -> FiguresView {
    let day = |day: DayFigures| DayView {
        from: day.from,
        fates: fates(day.fates),
        waits: waits(day.waits),
    };
    let person = |person: AnswererFigures| AnswererView {
        actor: person.actor,
        allowed: person.allowed,
        denied: person.denied,
    };
    let tool = |tool: ToolFigures| ToolView {
        tool: tool.tool,
        fates: fates(tool.fates),
    };
    FiguresView {
        complete: figures.complete,
        days: figures.days.into_iter().map(day).collect(),
        waits: waits(figures.waits),
        people: figures.people.into_iter().map(person).collect(),
        tools: figures.tools.into_iter().map(tool).collect(),
        slo: SloView {
            target_s,
            counted: figures.counted,
            in_time: figures.in_time,
        },
    }
}

fn fates(fates: Fates) -> FatesView {
    FatesView {
        asks: fates.all(),
        allowed: fates.allowed,
        denied: fates.denied,
        allowed_by_rule: fates.allowed_by_rule,
        denied_by_rule: fates.denied_by_rule,
        expired: fates.expired,
        withdrawn: fates.withdrawn,
        open: fates.open,
    }
}

fn waits(waits: Waits) -> WaitsView {
    WaitsView {
        answers: waits.answers,
        p50_s: waits.p50_s,
        p90_s: waits.p90_s,
    }
}
