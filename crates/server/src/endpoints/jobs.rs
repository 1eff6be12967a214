//! Jobs: handed in, listed, shown, waited for, cancelled, and what came of them.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use countersign_api::{
    ErrorBody, HealAction, HealReport, HealRequest, Healed, JobDiff, JobList, JobLog, JobView,
    NewJob, PriorityRequest, RetryRequest,
};
use countersign_broker::{Changes, Found, HealWish, HealedJob, JobContext, JobFilter, JobWish};
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::WorkspaceId;
use countersign_core::job::{JobId, JobState};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use crate::auth::Admitted;
use crate::endpoints::attachments;
use crate::endpoints::refusals::{Missing, Refused, TooMany, Unavailable, Unfit, UnfitBody};
use crate::error::ApiError;
use crate::extract::{self, Id, Query};
use crate::state::Server;

/// How much of a result is its summary, in characters.
const SUMMARY: usize = 500;
/// How many lines of a log are shown at a time.
const LOG_LIMIT: i64 = 1_000;

/// Hands a job in. It is durable when this returns; the same id again returns the same job.
#[utoipa::path(post, path = "/api/v1/jobs", tag = "jobs", request_body = NewJob,
    responses((status = 201, body = JobView),
        (status = 409, body = ErrorBody, description = "What is to be resumed is still at work"),
        Refused, Missing, UnfitBody, TooMany, Unavailable))]
pub(crate) async fn hand_in_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::LongJson(new): extract::LongJson<NewJob>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    let wish = JobWish {
        id: new.id,
        kind: new.kind,
        prompt: new.prompt,
        title: new.title,
        directory: new.directory,
        workspace: new.workspace,
        engine: new.engine,
        model: new.model,
        agent: new.agent,
        mode: new.mode,
        effort: new.effort,
        on_ask: new.on_ask,
        ask_expires_seconds: new.ask_expires_seconds,
        deadline_seconds: new.deadline_seconds,
        idle_limit_seconds: new.idle_limit_seconds,
        priority: new.priority,
        resume: new.resume,
        access: new.access,
        worktree: new.worktree,
        group: new.group,
        attachments: attachments::wishes(new.attachments)?,
    };
    let context = server.broker.hand_in_job(&admitted.caller, wish).await?;
    Ok((StatusCode::CREATED, Json(view(context))))
}

/// Which jobs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobQuery {
    /// Only those in this state.
    #[param(inline)]
    state: Option<JobState>,
    /// Only those of the workspace around this directory.
    directory: Option<String>,
    /// Only those of this workspace.
    workspace: Option<WorkspaceId>,
    /// Only those that were handed in with this session of the caller's own.
    group: Option<String>,
    /// Besides those of the page, all that have not ended, however old they are. There is no next page then.
    #[serde(default)]
    unended: bool,
    /// How many; 50 if it is not said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<i64>,
    /// Only those handed in before this one: the `next` of the page before.
    before: Option<JobId>,
}

/// Lists jobs, newest first, each with the beginning of what is long.
#[utoipa::path(get, path = "/api/v1/jobs", tag = "jobs", params(JobQuery),
    responses((status = 200, body = JobList), Refused, Unfit))]
pub(crate) async fn list_jobs(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Query(query): Query<JobQuery>,
) -> Result<Json<JobList>, ApiError> {
    let limit = extract::within("limit", query.limit, 1..=500, 50)?;
    let broker = &server.broker;
    let around = match query.directory.as_deref() {
        None => None,
        Some(directory) => match broker
            .workspace_of_directory(&admitted.caller, directory)
            .await?
        {
            Some(workspace) => Some(workspace),
            // No job was ever handed in there.
            None => return Ok(Json(empty())),
        },
    };
    if around.is_some() && query.workspace.is_some() && around != query.workspace {
        return Ok(Json(empty()));
    }
    let filter = JobFilter {
        state: query.state,
        workspace: around.or(query.workspace),
        group: query.group,
        before: query.before,
        unended: query.unended,
    };
    if query.unended {
        let contexts = broker.jobs(&admitted.caller, filter, limit).await?;
        return Ok(Json(JobList {
            jobs: contexts.into_iter().map(in_short).collect(),
            next: None,
        }));
    }
    let mut contexts = broker.jobs(&admitted.caller, filter, limit + 1).await?;
    // The one more than was wished for tells that there is a next page.
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = contexts.len() > limit;
    contexts.truncate(limit);
    let next = contexts
        .last()
        .map(|last| last.job.id.clone())
        .filter(|_| more);
    Ok(Json(JobList {
        jobs: contexts.into_iter().map(in_short).collect(),
        next,
    }))
}

/// Shows a job.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 200, body = JobView),
        (status = 409, body = ErrorBody, description = "Several begin like that; `details.candidates` names them"),
        Refused, Missing))]
pub(crate) async fn show_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
) -> Result<Json<JobView>, ApiError> {
    let context = find(&server, &admitted.caller, &text).await?;
    Ok(Json(view(context)))
}

/// How long to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EndedQuery {
    /// In seconds; 60 if it is not said.
    #[param(minimum = 1, maximum = 600)]
    wait_seconds: Option<i64>,
}

/// Waits until a job has ended, or until the time is up, and shows it as it is then.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/ended", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has"), EndedQuery),
    responses((status = 200, body = JobView),
        (status = 409, body = ErrorBody, description = "Several begin like that; `details.candidates` names them"),
        Refused, Missing, Unfit, TooMany))]
pub(crate) async fn ended_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
    Query(query): Query<EndedQuery>,
) -> Result<Json<JobView>, ApiError> {
    let seconds = extract::within("wait_seconds", query.wait_seconds, 1..=600, 60)?;
    let limit = Duration::from_secs(seconds.unsigned_abs());
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    let place = server.streams.enter(&admitted)?;
    let ended = server.broker.wait_until_ended(&admitted.caller, &id, limit);
    tokio::select! {
        context = ended => Ok(Json(view(context?))),
        () = place.ended() => {
            if server.shutdown.is_cancelled() {
                return Ok(Json(view(find(&server, &admitted.caller, &text).await?)));
            }
            Err(ApiError::unauthorized("the token was taken back, or has run out"))
        }
    }
}

/// Has a job ended. One that has ended already stays as it is.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/cancel", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 200, body = JobView, description = "It has ended, or is about to"),
        (status = 409, body = ErrorBody, description = "Several begin like that; `details.candidates` names them"),
        Refused, Missing))]
pub(crate) async fn cancel_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
) -> Result<Json<JobView>, ApiError> {
    admitted.caller.require(Grant::Prompt)?;
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    let context = server.broker.cancel_job(&admitted.caller, &id).await?;
    Ok(Json(view(context)))
}

/// From where on to show a log.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// Only lines after this one.
    #[param(minimum = 0)]
    after: Option<i64>,
}

/// Shows the log of a job.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/log", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has"), LogQuery),
    responses((status = 200, body = JobLog),
        (status = 409, body = ErrorBody, description = "Several begin like that; `details.candidates` names them"),
        Refused, Missing, Unfit))]
pub(crate) async fn job_log(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
    Query(query): Query<LogQuery>,
) -> Result<Json<JobLog>, ApiError> {
    let after = extract::within("after", query.after, 0..=i64::MAX, 0)?;
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    let (job, entries) = server
        .broker
        .job_log(&admitted.caller, &id, after, LOG_LIMIT)
        .await?;
    Ok(Json(JobLog {
        job: job.id,
        state: job.state,
        entries,
    }))
}

/// Shows what a job changed.
#[utoipa::path(get, path = "/api/v1/jobs/{id}/diff", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 200, body = JobDiff),
        (status = 409, body = ErrorBody, description = "Several begin like that; `details.candidates` names them"),
        Refused, Missing, Unfit))]
pub(crate) async fn job_diff(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
) -> Result<Json<JobDiff>, ApiError> {
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    let Changes {
        job,
        base,
        files,
        truncated,
    } = server.broker.job_diff(&admitted.caller, &id).await?;
    Ok(Json(JobDiff {
        job,
        base,
        files,
        truncated,
    }))
}

/// Keeps what a job did in its worktree: it is committed on the worktree's branch, which stays; the worktree is removed.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/keep", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 200, body = JobView),
        (status = 409, body = ErrorBody, description = "It has no worktree, or has not ended"),
        Refused, Missing, Unfit))]
pub(crate) async fn keep_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
) -> Result<Json<JobView>, ApiError> {
    admitted.caller.require(Grant::Prompt)?;
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    server.broker.keep_worktree(&admitted.caller, &id).await?;
    Ok(Json(view(
        find(&server, &admitted.caller, id.as_str()).await?,
    )))
}

/// Removes a job's worktree and its branch, with everything that was changed there.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/discard", tag = "jobs",
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 200, body = JobView),
        (status = 409, body = ErrorBody, description = "It has no worktree, or has not ended"),
        Refused, Missing, Unfit))]
pub(crate) async fn discard_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
) -> Result<Json<JobView>, ApiError> {
    admitted.caller.require(Grant::Prompt)?;
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    server
        .broker
        .discard_worktree(&admitted.caller, &id)
        .await?;
    Ok(Json(view(
        find(&server, &admitted.caller, id.as_str()).await?,
    )))
}

/// Moves a job within its queue: higher priorities are started first.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/priority", tag = "jobs", request_body = PriorityRequest,
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 200, body = JobView),
        (status = 409, body = ErrorBody, description = "It waits in no queue any more"),
        Refused, Missing, UnfitBody))]
pub(crate) async fn prioritise_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
    extract::Json(request): extract::Json<PriorityRequest>,
) -> Result<Json<JobView>, ApiError> {
    admitted.caller.require(Grant::Prompt)?;
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    let context = server
        .broker
        .set_job_priority(&admitted.caller, &id, request.priority)
        .await?;
    Ok(Json(view(context)))
}

/// Hands a job that has ended in again, as it was handed in, with what came along with it.
#[utoipa::path(post, path = "/api/v1/jobs/{id}/retry", tag = "jobs", request_body = RetryRequest,
    params(("id" = String, Path, description = "The id, or the beginning of it that no other has")),
    responses((status = 201, body = JobView),
        (status = 409, body = ErrorBody, description = "It has not ended, or what it goes on with is still at work"),
        Refused, Missing, UnfitBody, Unavailable))]
pub(crate) async fn retry_job(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(text): Id<String>,
    extract::Json(request): extract::Json<RetryRequest>,
) -> Result<(StatusCode, Json<JobView>), ApiError> {
    admitted.caller.require(Grant::Prompt)?;
    let id = find(&server, &admitted.caller, &text).await?.job.id;
    let context = server
        .broker
        .retry_job(&admitted.caller, &id, request.id)
        .await?;
    Ok((StatusCode::CREATED, Json(view(context))))
}

/// Looks at the jobs that have not ended, and ends those that nothing can come of any more. The server does so by itself
/// all the time; this says what it came to.
#[utoipa::path(post, path = "/api/v1/jobs/heal", tag = "jobs", request_body = HealRequest,
    responses((status = 200, body = HealReport), Refused, UnfitBody))]
pub(crate) async fn heal_jobs(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    extract::Json(request): extract::Json<HealRequest>,
) -> Result<Json<HealReport>, ApiError> {
    let broker = &server.broker;
    // Whoever may not ask is told so before anything is looked for.
    admitted.caller.require(if request.dry_run {
        Grant::Read
    } else {
        Grant::Prompt
    })?;
    let workspace = match (request.all, request.directory.as_deref()) {
        (false, Some(directory)) => {
            let found = broker
                .workspace_of_directory(&admitted.caller, directory)
                .await?;
            match found {
                Some(workspace) => Some(workspace),
                None => {
                    return Ok(Json(HealReport {
                        dry_run: request.dry_run,
                        scanned: 0,
                        actions: Vec::new(),
                    }));
                }
            }
        }
        (true, _) | (false, None) => None,
    };
    let wish = HealWish {
        dry_run: request.dry_run,
        workspace,
    };
    let (scanned, healed) = broker.heal_jobs(&admitted.caller, wish).await?;
    let action = |completes| match (request.dry_run, completes) {
        (true, true) => HealAction::WouldComplete,
        (true, false) => HealAction::WouldFail,
        (false, true) => HealAction::HealedCompleted,
        (false, false) => HealAction::HealedFailed,
    };
    let actions = healed.into_iter().map(|found: HealedJob| Healed {
        id: found.id,
        action: action(found.completes),
        details: found.details,
    });
    Ok(Json(HealReport {
        dry_run: request.dry_run,
        scanned,
        actions: actions.collect(),
    }))
}

/// The job that is meant by its id or the beginning of it.
async fn find(server: &Server, caller: &Caller, text: &str) -> Result<JobContext, ApiError> {
    match server.broker.find_job(caller, text).await? {
        Found::One(context) => Ok(*context),
        Found::Several(candidates) => {
            let message = format!("several jobs begin with `{text}`: say more of the id");
            Err(ApiError::conflict(message).with_details(json!({ "candidates": candidates })))
        }
    }
}

fn empty() -> JobList {
    JobList {
        jobs: Vec::new(),
        next: None,
    }
}

/// A job in a list: without what is long.
fn in_short(context: JobContext) -> JobView {
    JobView {
        result: None,
        changed_files: Vec::new(),
        ..view(context)
    }
}

fn view(context: JobContext) -> JobView {
    let deadline = context.job.deadline();
    let job = context.job;
    let summary = job
        .result
        .as_ref()
        .map(|result| result.chars().take(SUMMARY).collect());
    JobView {
        id: job.id,
        kind: job.kind,
        state: job.state,
        phase: context.phase,
        failure: job.failure,
        cancelled_by: job.cancelled_by,
        by: job.by,
        workspace: job.workspace,
        workspace_path: context.workspace_path,
        directory: job.directory,
        worktree: job.worktree,
        engine: job.engine,
        session: context.session,
        native_session: context.native_session,
        turn: job.turn,
        model: job.model,
        agent: job.agent,
        mode: job.mode,
        effort: job.effort,
        on_ask: job.on_ask,
        access: job.access,
        resume: job.resume,
        group: job.group,
        title: job.title,
        prompt: job.prompt,
        priority: job.priority,
        queue_place: context.queue_place,
        created_at: job.created_at,
        started_at: job.started_at,
        changed_at: job.changed_at,
        ended_at: job.ended_at,
        deadline,
        idle_limit_seconds: job.limits.idle_limit_seconds,
        ask_expires_seconds: job.limits.ask_expires_seconds,
        breadcrumb: context.breadcrumb,
        open_asks: context.open_asks,
        summary,
        result: job.result,
        changed_files: job.changed_files,
        usage: job.usage,
        may_cancel: context.may_cancel,
    }
}
