use std::path::Path;

use countersign_broker::{
    ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, PushSettings, Settings as BrokerSettings,
    Store,
};
use http::header::AUTHORIZATION;
use serde_json::json;

use super::*;
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
