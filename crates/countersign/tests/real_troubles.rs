//! What a person reads when opencode itself is the trouble: too old to be trusted, or without a model.

use countersign_testkit::peers::Opencode;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{RealOpencode, StubModel, TestServer, eventually};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// How the engine of the one workspace stands, once its message has `words` in it.
async fn engine_that_says(server: &TestServer, words: &str) -> Value {
    eventually(PATIENCE, words, async || {
        let listed = server.api().get("/api/v1/workspaces").await;
        let engine = listed["workspaces"][0]["engine"].clone();
        let message = engine["message"].as_str()?;
        message.contains(words).then_some(engine)
    })
    .await
}

/// Nothing is begun with an engine that would lose answers, and whoever tries is told what to do.
async fn nothing_is_begun(server: &TestServer) {
    let refused = server
        .cli(&["prompt", "--detach", "TOOL bash: touch no"])
        .await;
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("`npm install -g opencode-ai@latest`"),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opencode_that_is_too_old_is_not_used_and_it_is_said_what_to_do() {
    let release = Opencode::V1_15_3;
    let home = tempfile::tempdir().unwrap();
    let model = StubModel::start().await;
    let mut setup = Setup::new(BINARY, Engine::Missing);
    setup.engine_settings = format!("program = '{}'\n", release.executable().display());
    setup.variables = RealOpencode::environment_of(release, home.path(), &model.base_url());
    let mut server = setup.start().await;

    let engine = engine_that_says(&server, "is too old").await;
    let message = engine["message"].as_str().unwrap();
    assert!(
        message.contains(
            "opencode 1.15.3 is too old: it takes answers and drops them. Install 1.18 or newer"
        ),
        "{message}"
    );
    assert_ne!(engine["state"], "ready");
    nothing_is_begun(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attached_opencode_that_is_too_old_is_not_used_and_it_is_said_what_to_do() {
    let model = StubModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opencode = RealOpencode::start_release(Opencode::V1_15_3, folder.path(), &model).await;
    let engine = Engine::Attached {
        url: opencode.url(),
        password: Some(opencode.password().to_owned()),
    };
    let mut server = Setup::new(BINARY, engine).start().await;

    let engine = engine_that_says(&server, "is too old").await;
    assert_eq!(engine["version"], "1.15.3");
    assert_ne!(engine["state"], "ready");
    nothing_is_begun(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_configured_is_told_with_what_to_do() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let prompt = ["prompt", "--model", "nobody/nothing", "SAY hello"];
    let failed = server.cli(&prompt).await;
    assert_ne!(failed.code, 0, "{failed:?}");
    let sentence = "opencode has no model for this (Model not found: nobody/nothing). \
                    Set a model up with `opencode auth login`";
    assert!(
        failed.stderr.contains(sentence) || failed.stdout.contains(sentence),
        "{failed:?}"
    );

    let sessions = server.api().get("/api/v1/sessions").await;
    let session = sessions["sessions"][0]["id"].as_str().unwrap().to_owned();
    let outcome = server.api().turn_outcome(&session).await;
    assert_eq!(outcome["outcome"], "failed");
    assert!(
        outcome["reason"].as_str().unwrap().starts_with(sentence),
        "{outcome}"
    );
    let items = server.api().items(&session).await;
    let notices = items.iter().filter(|item| item["kind"] == "notice");
    assert_eq!(notices.count(), 1, "it is told once: {items:#?}");
    server.stop().await;
}
