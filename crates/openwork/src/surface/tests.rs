use std::path::Path;

use countersign_broker::{
    ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, NewTokenWish, PushSettings,
    Settings as BrokerSettings, Store,
};
use countersign_core::grant::Role;
use http::header::AUTHORIZATION;
use serde_json::json;

use super::*;
use crate::routes::{Env, Exchange, FileAct, Part};
use crate::settings::{Arguments, Surroundings};

/// The settings of a server for the workspace at `workspace`, which asks nobody.
fn settings(folder: &Path, workspace: &Path) -> Settings {
    let words = ["--approval", "auto", "--token", "t", "--workspace"].map(str::to_owned);
    let words = words
        .into_iter()
        .chain([workspace.to_str().unwrap().to_owned()]);
    let home = folder.join("home").to_str().unwrap().to_owned();
    let variable = |name: &str| (name == "HOME").then(|| home.clone());
    let around = Surroundings {
        variable: &variable,
        directory: folder,
    };
    Settings::gather(&Arguments::parse(words), &around)
}

async fn broker(folder: &Path, settings: &Settings) -> Broker {
    let store = Store::open_sqlite(&folder.join("ledger.db")).await.unwrap();
    let entries = settings.workspaces.iter();
    let settings = BrokerSettings {
        data_directory: folder.to_owned(),
        own_program: "countersign".into(),
        owner_name: "ada".to_owned(),
        workspaces: entries
            .map(|entry| (entry.path.clone(), entry.name.clone()))
            .collect(),
        engine: EngineChoice::None,
        agents: Vec::new(),
        foreign_answer: ForeignAnswer::Alarm,
        unasked_tools: vec![],
        ask_expiry: None,
        lonely_limit_s: 1,
        job_caps: JobCaps::default(),
        notify: Vec::new(),
        changes: ChangeSettings::default(),
        push: PushSettings::default(),
    };
    Broker::start(store, settings, Clock::System).await.unwrap()
}

#[tokio::test]
async fn what_is_done_and_not_recorded_is_said_to_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("ws");
    std::fs::create_dir_all(&workspace).unwrap();
    let settings = settings(folder.path(), &workspace);
    let broker = broker(folder.path(), &settings).await;
    let id = settings.workspaces[0].id.clone();
    let surface = OpenWork::start(&broker, settings).await.unwrap();
    let add = |spec: &str| {
        let request = http::Request::post(format!("/workspace/{id}/plugins"))
            .header(AUTHORIZATION, "Bearer t")
            .body(Body::from(json!({ "spec": spec }).to_string()));
        Arc::clone(&surface).route(request.unwrap())
    };
    add("before").await.unwrap();
    // From here on the ledger fails.
    broker.stop().await;
    let refusal = add("after").await.unwrap_err();
    assert_eq!(
        (refusal.status.as_u16(), &*refusal.code),
        (500, "not_recorded")
    );
    assert!(refusal.message.starts_with("It was done"), "{refusal:?}");
    let written = std::fs::read_to_string(workspace.join("opencode.jsonc")).unwrap();
    assert!(written.contains("\"after\""), "{written}");
    // What is not in the ledger is not in the audit, and an engine has to load it all the same.
    let seat = surface.roster.first().unwrap();
    let audit = seat.trail.newest(9);
    assert!(audit.contains("Added before") && !audit.contains("Added after"));
    let told = serde_json::to_value(surface.reloads.since(&seat, 0.0)).unwrap();
    assert_eq!(told["items"].as_array().unwrap().len(), 2);
}

/// The name of what a request is for, and all such names, from one list: a route that is not in it does not compile.
macro_rules! kinds {
    ($($pattern:pat => $name:literal,)*) => {
        fn kind(route: &Route) -> &'static str {
            match route { $($pattern => $name,)* }
        }
        const KINDS: &[&str] = &[$($name),*];
    };
}

macro_rules! part {
    ($pattern:pat) => {
        Route::Of { part: $pattern, .. }
    };
}

macro_rules! exchange {
    ($pattern:pat) => {
        Route::Of {
            part: Part::Exchange($pattern),
            ..
        }
    };
}

macro_rules! act {
    ($pattern:pat) => {
        Route::FileSession { act: $pattern, .. }
    };
}

kinds! {
    Route::Health => "GET /health",
    Route::Capabilities => "GET /capabilities",
    Route::Workspaces => "GET /workspaces",
    Route::Status => "GET /status",
    Route::WhoAmI => "GET /whoami",
    Route::Versions => "GET /runtime/versions",
    Route::Tokens => "GET /tokens",
    Route::IssueToken => "POST /tokens",
    Route::RevokeToken(_) => "DELETE /tokens/x",
    Route::Env(Env::List) => "GET /env",
    Route::Env(Env::Keys) => "GET /env/keys",
    Route::Env(Env::Show(_)) => "GET /env/x",
    Route::Env(Env::Put) => "PUT /env",
    Route::Env(Env::Delete(_)) => "DELETE /env/x",
    Route::AddWorkspace => "POST /workspaces/local",
    Route::RenameWorkspace(_) => "PATCH /workspaces/ID/display-name",
    Route::RemoveWorkspace(_) => "DELETE /workspaces/ID",
    Route::Activate { .. } => "POST /workspaces/ID/activate",
    Route::Approvals => "GET /approvals",
    Route::Reply { .. } => "POST /approvals/x",
    part!(Part::MountedStatus) => "GET /w/ID/status",
    part!(Part::MountedCapabilities) => "GET /w/ID/capabilities",
    part!(Part::MountedWorkspaces) => "GET /w/ID/workspaces",
    part!(Part::Config) => "GET /workspace/ID/config",
    part!(Part::PatchConfig) => "PATCH /workspace/ID/config",
    part!(Part::ConfigText) => "GET /workspace/ID/opencode-config",
    part!(Part::WriteConfigText) => "POST /workspace/ID/opencode-config",
    part!(Part::Audit) => "GET /workspace/ID/audit",
    part!(Part::Events) => "GET /workspace/ID/events",
    part!(Part::Reload) => "POST /workspace/ID/engine/reload",
    part!(Part::Plugins) => "GET /workspace/ID/plugins",
    part!(Part::AddPlugin) => "POST /workspace/ID/plugins",
    part!(Part::RemovePlugin(_)) => "DELETE /workspace/ID/plugins/x",
    part!(Part::Skills) => "GET /workspace/ID/skills",
    part!(Part::Skill(_)) => "GET /workspace/ID/skills/x",
    part!(Part::UpsertSkill) => "POST /workspace/ID/skills",
    part!(Part::DeleteSkill(_)) => "DELETE /workspace/ID/skills/x",
    part!(Part::Mcp) => "GET /workspace/ID/mcp",
    part!(Part::SetMcp) => "POST /workspace/ID/mcp",
    part!(Part::EnableMcp(_)) => "POST /workspace/ID/mcp/x/enabled",
    part!(Part::RemoveMcp(_)) => "DELETE /workspace/ID/mcp/x",
    part!(Part::SignOutMcp(_)) => "DELETE /workspace/ID/mcp/x/auth",
    part!(Part::Commands) => "GET /workspace/ID/commands",
    part!(Part::UpsertCommand) => "POST /workspace/ID/commands",
    part!(Part::DeleteCommand(_)) => "DELETE /workspace/ID/commands/x",
    part!(Part::Export) => "GET /workspace/ID/export",
    part!(Part::Import) => "POST /workspace/ID/import",
    part!(Part::PreviewImport) => "POST /workspace/ID/import/preview",
    part!(Part::Jobs) => "GET /workspace/ID/scheduler/jobs",
    part!(Part::DeleteJob(_)) => "DELETE /workspace/ID/scheduler/jobs/x",
    exchange!(Exchange::Inbox) => "GET /workspace/ID/inbox",
    exchange!(Exchange::InboxItem(_)) => "GET /workspace/ID/inbox/x",
    exchange!(Exchange::Upload) => "POST /workspace/ID/inbox",
    exchange!(Exchange::Artifacts) => "GET /workspace/ID/artifacts",
    exchange!(Exchange::Artifact(_)) => "GET /workspace/ID/artifacts/x",
    exchange!(Exchange::ResolveArtifacts) => "POST /workspace/ID/artifacts/resolve",
    exchange!(Exchange::OpenFileSession) => "POST /workspace/ID/files/sessions",
    exchange!(Exchange::FileContent) => "GET /workspace/ID/files/content",
    exchange!(Exchange::WriteFileContent) => "POST /workspace/ID/files/content",
    exchange!(Exchange::FileStat) => "GET /workspace/ID/files/stat",
    exchange!(Exchange::RawFile) => "GET /workspace/ID/files/raw",
    exchange!(Exchange::WriteRawFile) => "POST /workspace/ID/files/raw",
    exchange!(Exchange::Sessions) => "GET /workspace/ID/sessions",
    exchange!(Exchange::Session(_)) => "GET /workspace/ID/sessions/x",
    exchange!(Exchange::SessionMessages(_)) => "GET /workspace/ID/sessions/x/messages",
    exchange!(Exchange::SessionSnapshot(_)) => "GET /workspace/ID/sessions/x/snapshot",
    exchange!(Exchange::DeleteSession(_)) => "DELETE /workspace/ID/sessions/x",
    act!(FileAct::Renew) => "POST /files/sessions/x/renew",
    act!(FileAct::Close) => "DELETE /files/sessions/x",
    act!(FileAct::Snapshot) => "GET /files/sessions/x/catalog/snapshot",
    act!(FileAct::Events) => "GET /files/sessions/x/catalog/events",
    act!(FileAct::Read) => "POST /files/sessions/x/read-batch",
    act!(FileAct::Write) => "POST /files/sessions/x/write-batch",
    act!(FileAct::Operate) => "POST /files/sessions/x/ops",
    Route::Proxy { workspace: None, .. } => "GET /opencode/session",
    Route::Proxy { workspace: Some(_), .. } => "GET /w/ID/opencode/session",
}

/// What else leads to opencode, whose own paths are not ours to list.
const PROXIED: &[&str] = &[
    "GET /opencode",
    "GET /opencode/event",
    "POST /opencode/session",
    "POST /opencode/session/ses_1/permissions/per_1",
    "POST /w/ID/opencode/permission/per_1/reply",
    "POST /workspace/ID/opencode/question/que_1/reply",
    "GET /workspace/ID/opencode/config/providers",
];

#[tokio::test]
async fn a_token_for_one_workspace_opens_nothing_on_this_wire() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("ws");
    std::fs::create_dir_all(&workspace).unwrap();
    let settings = settings(folder.path(), &workspace);
    let broker = broker(folder.path(), &settings).await;
    let id = settings.workspaces[0].id.clone();
    let surface = OpenWork::start(&broker, settings).await.unwrap();
    let own = surface.roster.first().unwrap().ledger;
    let token = async |role: Role, workspace| {
        let wish = NewTokenWish {
            name: role.name().to_owned(),
            role,
            workspace,
            life: None,
        };
        let made = broker.make_token(&broker.local_owner(), wish).await;
        made.unwrap().1
    };
    let ask = async |named: &str, secret: &str| {
        let (method, path) = named.split_once(' ').unwrap();
        let request = http::Request::builder()
            .method(method)
            .uri(path.replace("ID", &id))
            .header(AUTHORIZATION, format!("Bearer {secret}"))
            .body(Body::from("{}"))
            .unwrap();
        let answered = Arc::clone(&surface).route(request).await;
        answered.map_or_else(|refusal| refusal.status, |response| response.status())
    };
    for named in KINDS {
        let (method, path) = named.split_once(' ').unwrap();
        let found = Route::find(&method.parse().unwrap(), &path.replace("ID", &id));
        assert_eq!(kind(&found.unwrap().unwrap()), *named);
    }
    for role in Role::ALL {
        let secret = token(role, Some(own)).await;
        for named in KINDS.iter().chain(PROXIED) {
            let status = ask(named, &secret).await;
            let expected = match *named {
                "GET /health" => StatusCode::OK,
                _ => StatusCode::UNAUTHORIZED,
            };
            assert_eq!(status, expected, "{named} as {}", role.name());
        }
    }
    // It is the limit that shuts it out.
    let secret = token(Role::Owner, None).await;
    assert_eq!(ask("GET /workspaces", &secret).await, StatusCode::OK);
}
