//! The door for programs that hand asks in themselves, with the grant `ask`: they fetch the answers and report what
//! became of them. Nothing here answers an ask.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use countersign_api::{
    AcpRequest, DoorAlive, DoorAnswer, DoorAsk, DoorAskKind, DoorParent, DoorProgram, DoorReply,
    DoorReport, DoorRun, DoorSession, NewDoorAsk, NewDoorRun,
};
use countersign_broker::{
    Announced, AskingSession, EngineReply, EngineRequest, Fetched, HandedIn, NamedSession, Opened,
    Program, Reported,
};
use countersign_core::ask::AskPhase;
use countersign_core::id::{AskId, RunId};
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use crate::auth::AtDoor;
use crate::endpoints::refusals::{Missing, Refused, TooMany, Unfit, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id, Query};
use crate::state::Server;

/// The life and the ask in a path.
pub(crate) struct AskOfRun {
    run: RunId,
    ask: AskId,
}

impl FromRequestParts<Arc<Server>> for AskOfRun {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, server: &Arc<Server>) -> Result<Self, ApiError> {
        let Path((run, ask)) = Path::<(String, String)>::from_request_parts(parts, server)
            .await
            .map_err(|_| ApiError::not_found("there is nothing here"))?;
        let missing =
            |error: countersign_core::id::InvalidId| ApiError::not_found(error.to_string());
        Ok(Self {
            run: run.parse().map_err(missing)?,
            ask: ask.parse().map_err(missing)?,
        })
    }
}

/// Announces a program that will hand asks in.
#[utoipa::path(post, path = "/api/v1/door/runs", tag = "door", request_body = NewDoorRun,
    responses((status = 201, body = DoorRun), Refused, UnfitBody))]
pub(crate) async fn begin_run(
    State(server): State<Arc<Server>>,
    at_door: AtDoor,
    extract::Json(new): extract::Json<NewDoorRun>,
) -> Result<(StatusCode, Json<DoorRun>), ApiError> {
    let announced = Announced {
        program: match new.program {
            DoorProgram::Opencode => Program::Opencode,
            DoorProgram::AcpProxy => Program::AcpProxy,
        },
        directory: new.directory,
        version: new.version,
        process: at_door.process.or(new.process),
    };
    let run = server
        .broker
        .begin_door_run(at_door.caller(), announced)
        .await?;
    Ok((StatusCode::CREATED, Json(DoorRun { run })))
}

/// Shows that a program is still there; every other call about it does so too.
#[utoipa::path(post, path = "/api/v1/door/runs/{run}/alive", tag = "door",
    params(("run" = RunId, Path)), request_body = DoorAlive,
    responses((status = 204), Refused, Missing, UnfitBody))]
pub(crate) async fn keep_run(
    State(server): State<Arc<Server>>,
    at_door: AtDoor,
    Id(run): Id<RunId>,
    extract::Json(alive): extract::Json<DoorAlive>,
) -> Result<StatusCode, ApiError> {
    let process = at_door.process.or(alive.process);
    server
        .broker
        .hear_door_run(at_door.caller(), run, process)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says that a program has ended; its open asks end with it.
#[utoipa::path(post, path = "/api/v1/door/runs/{run}/end", tag = "door",
    params(("run" = RunId, Path)),
    responses((status = 204), Refused, Missing))]
pub(crate) async fn end_run(
    State(server): State<Arc<Server>>,
    at_door: AtDoor,
    Id(run): Id<RunId>,
) -> Result<StatusCode, ApiError> {
    server.broker.end_door_run(at_door.caller(), run).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Hands an ask in. The same request of the same life is the same ask.
#[utoipa::path(post, path = "/api/v1/door/runs/{run}/asks", tag = "door",
    params(("run" = RunId, Path)), request_body = NewDoorAsk,
    responses(
        (status = 201, body = DoorAsk, description = "The ask is open, or a rule has answered it"),
        (status = 200, body = DoorAsk, description = "The ask was handed in before"),
        Refused, Missing, UnfitBody))]
pub(crate) async fn hand_in(
    State(server): State<Arc<Server>>,
    at_door: AtDoor,
    Id(run): Id<RunId>,
    extract::Json(new): extract::Json<NewDoorAsk>,
) -> Result<(StatusCode, Json<DoorAsk>), ApiError> {
    let handed_in = HandedIn {
        request: match new.kind {
            DoorAskKind::Permission => EngineRequest::Permission {
                raw: new.request,
                input: new.input,
            },
            DoorAskKind::Question => EngineRequest::Question { raw: new.request },
            DoorAskKind::Acp => acp_request(new.request)?,
        },
        session: asking(new.session),
    };
    let opened = server
        .broker
        .hand_in(at_door.caller(), run, handed_in)
        .await?;
    let status = match opened {
        Opened::Fresh(_) => StatusCode::CREATED,
        Opened::Known(_) => StatusCode::OK,
    };
    let ask = opened.into_ask();
    let state = ask.state.phase();
    Ok((status, Json(DoorAsk { ask: ask.id, state })))
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AnswerQuery {
    /// In seconds; 30 if it is not said.
    #[param(minimum = 1, maximum = 60)]
    timeout_s: Option<i64>,
}

/// Waits until the program is to be told something about an ask, or until the time is up.
#[utoipa::path(get, path = "/api/v1/door/runs/{run}/asks/{ask}/answer", tag = "door",
    params(("run" = RunId, Path), ("ask" = AskId, Path), AnswerQuery),
    responses((status = 200, body = DoorAnswer), Refused, Missing, Unfit, TooMany))]
pub(crate) async fn fetch_answer(
    State(server): State<Arc<Server>>,
    at_door: AtDoor,
    AskOfRun { run, ask }: AskOfRun,
    Query(query): Query<AnswerQuery>,
) -> Result<Json<DoorAnswer>, ApiError> {
    let seconds = extract::within("timeout_s", query.timeout_s, 1..=60, 30)?;
    let limit = Duration::from_secs(seconds.unsigned_abs());
    let place = server.streams.enter(&at_door.admitted)?;
    let fetching = server
        .broker
        .fetch_answer(at_door.caller(), run, ask, limit);
    tokio::select! {
        fetched = fetching => Ok(Json(answer(fetched?))),
        () = place.ended() => {
            if server.shutdown.is_cancelled() {
                return Err(ApiError::unavailable("the server is stopping; ask again"));
            }
            Err(ApiError::unauthorized("the token was taken back, or has run out"))
        }
    }
}

/// Reports what became of an ask at the program.
#[utoipa::path(post, path = "/api/v1/door/runs/{run}/asks/{ask}/report", tag = "door",
    params(("run" = RunId, Path), ("ask" = AskId, Path)), request_body = DoorReport,
    responses((status = 200, body = DoorAsk), Refused, Missing, UnfitBody))]
pub(crate) async fn report(
    State(server): State<Arc<Server>>,
    at_door: AtDoor,
    AskOfRun { run, ask }: AskOfRun,
    extract::Json(report): extract::Json<DoorReport>,
) -> Result<Json<DoorAsk>, ApiError> {
    let reported = match report {
        DoorReport::Announced { reply } => Reported::Announced(reply.name()),
        DoorReport::AnsweredHere { reply } => Reported::AnsweredHere(reply.name()),
        DoorReport::Written => Reported::Written,
        DoorReport::AnsweredInEditor { reply } => Reported::AnsweredInEditor(reply),
        DoorReport::TurnCancelled => Reported::TurnCancelled,
        DoorReport::Changed => Reported::Changed,
        DoorReport::Gone => Reported::Gone,
    };
    let state: AskPhase = server
        .broker
        .take_report(at_door.caller(), run, ask, reported)
        .await?;
    Ok(Json(DoorAsk { ask, state }))
}

fn acp_request(request: Value) -> Result<EngineRequest, ApiError> {
    let AcpRequest {
        line,
        tool_call,
        number,
    } = serde_json::from_value(request).map_err(|error| {
        ApiError::unprocessable(format!("`request` is none of an ACP agent's: {error}"))
    })?;
    Ok(EngineRequest::Acp {
        line,
        tool_call,
        number,
    })
}

fn asking(session: DoorSession) -> AskingSession {
    let named = |native_id, title| NamedSession { native_id, title };
    AskingSession {
        named: named(session.id, session.title),
        agent: session.agent.filter(|agent| !agent.trim().is_empty()),
        directory: session.directory,
        parent: session
            .parent
            .map(|DoorParent { id, title }| named(id, title)),
    }
}

fn answer(fetched: Fetched) -> DoorAnswer {
    DoorAnswer {
        state: fetched.phase,
        reply: fetched.reply.map(|reply| match reply {
            EngineReply::Once => DoorReply::Once,
            EngineReply::Reject(message) => DoorReply::Reject { message },
            EngineReply::Answers(answers) => DoorReply::Answers { answers },
            EngineReply::Decline => DoorReply::Decline,
            EngineReply::Line(line) => DoorReply::Line { line },
        }),
    }
}
