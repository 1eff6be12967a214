//! What a workspace holds for its agents: shown, looked at as it would be, changed by proposals, exported.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use countersign_api::{
    AskView, Belongs, ChangeOutcome, ChangePreviewRequest, ChangePreviewView, ChangeProposal,
    CommandView, ConfigFile, ErrorBody, ExportView, HoldingsView, McpView, NewChange,
    NewerFileView, PluginView, SecretWarning, SkillDetail, SkillView, TextProblem, WritesMode,
    WritesView,
};
use countersign_broker::{
    Basis, BrokerError, ChangePreview, Holdings, Problem, Proposed, WriteMode, problems_of,
};
use countersign_core::digest::Digest;
use countersign_core::grant::Grant;
use countersign_core::id::WorkspaceId;
use countersign_workspace::front_matter::FrontMatter;
use countersign_workspace::{
    Change, Command, CommandDraft, Import, McpServer, Plugin, Scope, Skill, mcp,
};
use http::StatusCode;
use serde_json::{Value, json};

use crate::auth::Admitted;
use crate::endpoints::refusals::{Conflicting, Missing, Refused, Unfit, UnfitBody};
use crate::error::ApiError;
use crate::extract::{Id, LongJson};
use crate::state::Server;

/// What a file is said to be that was not there.
const NONE: &str = "none";

/// Shows what a workspace holds for its agents: configuration, skills, commands, plugins, MCP servers.
#[utoipa::path(get, path = "/api/v1/workspaces/{id}/holdings", tag = "holdings",
    params(("id" = WorkspaceId, Path)),
    responses((status = 200, body = HoldingsView), Refused, Missing, Unfit))]
pub(crate) async fn show_holdings(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
) -> Result<Json<HoldingsView>, ApiError> {
    let holdings = server.broker.holdings(&admitted.caller, id).await?;
    Ok(Json(holdings_view(holdings)))
}

/// Shows a skill with its text.
#[utoipa::path(get, path = "/api/v1/workspaces/{id}/skills/{name}", tag = "holdings",
    params(("id" = WorkspaceId, Path), ("name" = String, Path)),
    responses((status = 200, body = SkillDetail), Refused, Missing, Unfit))]
pub(crate) async fn show_skill(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
) -> Result<Json<SkillDetail>, ApiError> {
    let nothing = || ApiError::not_found("there is nothing here");
    let Path((id, name)) = path.map_err(|_| nothing())?;
    let id: WorkspaceId = id.parse().map_err(|_| nothing())?;
    let found = server.broker.skill(&admitted.caller, id, &name).await?;
    let (_, body) = FrontMatter::split(&found.content).map_err(BrokerError::from)?;
    Ok(Json(SkillDetail {
        body: body.trim_start_matches('\n').to_owned(),
        digest: Digest::of_bytes(found.content.as_bytes()),
        skill: skill_view(&found.skill),
    }))
}

/// Shows everything of a workspace that another one could take in, and what of it looks like a secret.
#[utoipa::path(get, path = "/api/v1/workspaces/{id}/export", tag = "holdings",
    params(("id" = WorkspaceId, Path)),
    responses((status = 200, body = ExportView), Refused, Missing, Unfit))]
pub(crate) async fn export_workspace(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
) -> Result<Json<ExportView>, ApiError> {
    let exported = server.broker.export_workspace(&admitted.caller, id).await?;
    let mut export = json!(exported.export);
    if let Some(parts) = export.as_object_mut() {
        // What says nothing makes no file elsewhere.
        parts.retain(|_, part| part.as_object().is_none_or(|said| !said.is_empty()));
    }
    Ok(Json(ExportView {
        export,
        warnings: exported
            .warnings
            .into_iter()
            .map(|warning| SecretWarning {
                label: warning.label,
                detail: warning.detail,
            })
            .collect(),
    }))
}

/// Tells what a change would come to. Nothing is changed by it.
#[utoipa::path(post, path = "/api/v1/workspaces/{id}/changes/preview", tag = "holdings",
    params(("id" = WorkspaceId, Path)), request_body = ChangePreviewRequest,
    responses(
        (status = 200, body = ChangePreviewView),
        (status = 429, body = ErrorBody, description = "Too many long bodies at once; try again"),
        Refused, Missing, Conflicting, UnfitBody))]
pub(crate) async fn preview_change(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
    LongJson(request): LongJson<ChangePreviewRequest>,
) -> Result<Json<ChangePreviewView>, ApiError> {
    let basis = match request.read.as_deref() {
        None => Basis::Unsaid,
        Some(NONE) => Basis::Read(None),
        Some(digest) => {
            let problem = "must be a digest, or `none`";
            let digest = digest.parse();
            Basis::Read(Some(
                digest.map_err(|_| ApiError::invalid("read", problem))?,
            ))
        }
    };
    let change = understood(&server, &admitted, id, request.change.clone()).await?;
    let preview = server
        .broker
        .preview_change(&admitted.caller, id, change, basis)
        .await
        .map_err(|error| placed(error, &request.change))?;
    Ok(Json(preview_view(preview)))
}

/// Proposes a change that was looked at. It is written when somebody else allows it, or at once where nobody has to be
/// asked.
#[utoipa::path(post, path = "/api/v1/workspaces/{id}/changes", tag = "holdings",
    params(("id" = WorkspaceId, Path)), request_body = ChangeProposal,
    responses(
        (status = 200, body = ChangeOutcome, description = "It is written, or there was nothing to write"),
        (status = 202, body = ChangeOutcome, description = "It waits for somebody else"),
        (status = 409, body = ErrorBody,
            description = "It would come to something else by now; `details.preview` tells what"),
        (status = 429, body = ErrorBody, description = "Too many long bodies at once; try again"),
        Refused, Missing, UnfitBody))]
pub(crate) async fn propose_change(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<WorkspaceId>,
    LongJson(proposal): LongJson<ChangeProposal>,
) -> Result<(StatusCode, Json<ChangeOutcome>), ApiError> {
    let caller = &admitted.caller;
    let change = understood(&server, &admitted, id, proposal.change.clone()).await?;
    let proposed = server
        .broker
        .propose_change(caller, id, change, proposal.digest)
        .await
        .map_err(|error| placed(error, &proposal.change))?;
    Ok(match proposed {
        Proposed::Asked(ask) => {
            let context = server.broker.context(caller, *ask).await?;
            let ask = AskView::new(context.ask, context.siblings, context.may_answer);
            let ask = Box::new(ask);
            (StatusCode::ACCEPTED, Json(ChangeOutcome::Asked { ask }))
        }
        Proposed::Written(written) => {
            let digest = written.digest;
            (StatusCode::OK, Json(ChangeOutcome::Written { digest }))
        }
        Proposed::Unchanged => (StatusCode::OK, Json(ChangeOutcome::Unchanged)),
    })
}

/// The change that a client means.
async fn understood(
    server: &Server,
    admitted: &Admitted,
    id: WorkspaceId,
    change: NewChange,
) -> Result<Change, ApiError> {
    // Whoever may not propose need not know what is there.
    admitted.caller.require_in(Grant::Propose, id)?;
    Ok(match change {
        NewChange::WriteConfig { text } => Change::WriteConfig {
            scope: Scope::Project,
            text,
        },
        NewChange::SetSkill {
            name,
            description,
            body,
        } => {
            let (front, gap) = head_of_skill(server, admitted, id, &name).await?;
            skill_change(front, &gap, name, &description, &body)
        }
        NewChange::DeleteSkill { name } => Change::DeleteSkill { name },
        NewChange::SetCommand {
            name,
            template,
            description,
            agent,
            model,
            subtask,
        } => {
            let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
            Change::UpsertCommand(CommandDraft {
                name,
                template,
                description: filled(description),
                agent: filled(agent),
                model: filled(model),
                subtask: Some(subtask),
            })
        }
        NewChange::DeleteCommand { name } => Change::DeleteCommand { name },
        NewChange::AddPlugin { spec } => Change::AddPlugin { spec },
        NewChange::RemovePlugin { spec } => Change::RemovePlugin { name: spec },
        NewChange::SetMcp { name, config } => Change::SetMcp {
            name,
            config: Value::Object(config),
        },
        NewChange::EnableMcp { name, enabled } => Change::EnableMcp { name, enabled },
        NewChange::RemoveMcp { name } => Change::RemoveMcp { name },
        NewChange::Import {
            mut export,
            replace,
        } => {
            let mode = if replace { "replace" } else { "merge" };
            let mode =
                json!({ "opencode": mode, "openwork": mode, "skills": mode, "commands": mode });
            export.insert("mode".to_owned(), mode);
            let import = Import::parse(&Value::Object(export)).map_err(BrokerError::from)?;
            Change::Import(import)
        }
    })
}

/// What stands before the text of a skill of the workspace that is there already, and the empty lines between them.
async fn head_of_skill(
    server: &Server,
    admitted: &Admitted,
    id: WorkspaceId,
    name: &str,
) -> Result<(FrontMatter, String), ApiError> {
    let found = server.broker.skill(&admitted.caller, id, name.trim()).await;
    let found = match found {
        Ok(found) if found.skill.scope == Scope::Project => found,
        // One that is not there is made; a name that none can have is refused with the rest.
        Ok(_) | Err(BrokerError::UnfitChange(_)) => {
            return Ok((FrontMatter::default(), String::new()));
        }
        Err(error) => return Err(error.into()),
    };
    let (front, body) = FrontMatter::split(&found.content).map_err(BrokerError::from)?;
    let gap = body.len() - body.trim_start_matches('\n').len();
    Ok((front, "\n".repeat(gap)))
}

fn skill_change(
    mut front: FrontMatter,
    gap: &str,
    name: String,
    description: &str,
    body: &str,
) -> Change {
    front.set("name", Value::from(name.trim()));
    front.set("description", Value::from(description.trim()));
    let body = body.trim_start_matches('\n');
    Change::UpsertSkill {
        // The line break behind the front matter is not the text's.
        content: format!("{}\n{gap}{body}", front.write()),
        name,
        description: None,
    }
}

/// Says where in the configuration something is wrong.
fn placed(error: BrokerError, change: &NewChange) -> ApiError {
    let (BrokerError::UnfitChange(refusal), NewChange::WriteConfig { text }) = (&error, change)
    else {
        return error.into();
    };
    let problems = problems_of(text, refusal);
    let message = match problems.first() {
        Some(first) => format!(
            "line {}, column {}: {}",
            first.line, first.column, first.message
        ),
        None => refusal.message.clone(),
    };
    let problems: Vec<_> = problems.into_iter().map(problem_view).collect();
    ApiError::unprocessable(message).with_details(json!({ "problems": problems }))
}

/// What a change would come to, on the wire.
pub(crate) fn preview_view(preview: ChangePreview) -> ChangePreviewView {
    ChangePreviewView {
        action: preview.action.to_owned(),
        summary: preview.summary,
        files: preview.files,
        digest: preview.digest,
        changed: preview.is_changed,
        newer: preview.newer.map(|newer| NewerFileView {
            text: newer.text,
            digest: newer.digest,
        }),
        asked: preview.is_asked,
    }
}

fn holdings_view(holdings: Holdings) -> HoldingsView {
    let config = holdings.config;
    HoldingsView {
        config: ConfigFile {
            path: config.path,
            text: config.text,
            digest: config.digest,
            problems: config.problems.into_iter().map(problem_view).collect(),
        },
        skills: holdings.skills.iter().map(|it| skill_view(it)).collect(),
        commands: holdings
            .commands
            .iter()
            .map(|it| command_view(it))
            .collect(),
        plugins: holdings.plugins.into_iter().map(plugin_view).collect(),
        mcp: holdings.mcp.into_iter().map(mcp_view).collect(),
        writes: WritesView {
            mode: match holdings.mode {
                WriteMode::Ask => WritesMode::Ask,
                WriteMode::Auto => WritesMode::Auto,
                WriteMode::ReadOnly => WritesMode::ReadOnly,
            },
            asked: holdings.is_asked,
        },
    }
}

fn problem_view(problem: Problem) -> TextProblem {
    TextProblem {
        line: problem.line,
        column: problem.column,
        message: problem.message,
    }
}

fn belongs(scope: Scope) -> Belongs {
    match scope {
        Scope::Project => Belongs::Workspace,
        Scope::Global => Belongs::User,
    }
}

fn skill_view(skill: &Skill) -> SkillView {
    SkillView {
        name: skill.name.clone(),
        description: skill.description.clone(),
        path: skill.path.to_string_lossy().into_owned(),
        belongs: belongs(skill.scope),
    }
}

fn command_view(command: &Command) -> CommandView {
    CommandView {
        name: command.name.clone(),
        description: command.description.clone(),
        template: command.template.clone(),
        agent: command.agent.clone(),
        model: command.model.clone(),
        subtask: command.subtask.unwrap_or_default(),
    }
}

fn plugin_view(plugin: Plugin) -> PluginView {
    PluginView {
        spec: plugin.spec,
        belongs: belongs(plugin.scope),
        path: plugin.path.map(|path| path.to_string_lossy().into_owned()),
    }
}

fn mcp_view(server: McpServer) -> McpView {
    McpView {
        name: server.name,
        belongs: match server.source {
            mcp::Source::Project => Belongs::Workspace,
            mcp::Source::Global => Belongs::User,
        },
        enabled: server.config.get("enabled") != Some(&Value::Bool(false)),
        config: server.config,
        denied: server.disabled_by_tools,
    }
}
