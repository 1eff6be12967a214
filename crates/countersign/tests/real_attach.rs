//! An opencode that somebody else runs: attached to, answered, and left alone.

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{PrefixProxy, RealOpencode, StubModel, TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

async fn attach(url: String, password: Option<String>) -> TestServer {
    let server = Setup::new(BINARY, Engine::Attached { url, password })
        .start()
        .await;
    server.api().wait_for_engine().await;
    server
}

/// A command of the attached engine is asked for, allowed here, and runs.
async fn allow_a_command(server: &TestServer, file: &str) {
    let api = server.api();
    let session = api
        .start_and_prompt(&format!("TOOL bash: echo hi > {file}"))
        .await;
    let ask = api.wait_for_ask_of(&session).await;
    let id = ask["id"].as_str().expect("an ask has an id");
    api.answer(id, &json!({ "answer": "allow_once" }))
        .await
        .expect(200);
    let settled = api.settled(id).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    eventually(PATIENCE, "the command has run", async || {
        server.workspace().join(file).exists().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_password_it_is_answered_and_outlives_the_server() {
    let model = StubModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opencode = RealOpencode::start(folder.path(), &model).await;
    let password = Some(opencode.password().to_owned());
    let mut server = attach(opencode.url(), password).await;

    allow_a_command(&server, "a.txt").await;

    // Answering at the engine itself is its user's right: it is recorded, and no alarm is raised.
    let api = server.api();
    let session = api
        .start_and_prompt("TOOL bash: echo elsewhere > b.txt")
        .await;
    let ask = api.wait_for_ask_of(&session).await;
    let native = ask["raw"]["id"].as_str().unwrap();
    let reply = countersign_testkit::http::client()
        .post(format!("{}/permission/{native}/reply", opencode.url()))
        .basic_auth("opencode", Some(opencode.password()))
        .header("x-opencode-directory", server.workspace().to_str().unwrap())
        .json(&json!({ "reply": "once" }))
        .send()
        .await
        .unwrap();
    assert!(reply.status().is_success(), "{}", reply.status());
    let settled = api.settled(ask["id"].as_str().unwrap()).await;
    assert_eq!(settled["state"], "withdrawn", "{settled}");
    assert!(
        settled["why"]
            .as_str()
            .unwrap()
            .contains("at the engine itself"),
        "{settled}"
    );
    assert_eq!(api.alarms().await, Vec::<Value>::new());

    server.stop().await;
    assert!(
        opencode.get("/global/health").await["healthy"]
            .as_bool()
            .unwrap_or(true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_password_and_under_a_path_prefix_it_works_as_well() {
    let model = StubModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opencode = RealOpencode::start(folder.path(), &model).await;
    let proxy = PrefixProxy::start(
        &opencode.url(),
        "/agents/one",
        "opencode",
        opencode.password(),
    );
    let server = attach(proxy.url(), None).await;

    allow_a_command(&server, "a.txt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_said_so() {
    let model = StubModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opencode = RealOpencode::start(folder.path(), &model).await;
    let engine = Engine::Attached {
        url: opencode.url(),
        password: Some("wrong".to_owned()),
    };
    let server = Setup::new(BINARY, engine).start().await;

    let message = eventually(PATIENCE, "the engine counts as unreachable", async || {
        let workspaces = server.api().get("/api/v1/workspaces").await;
        let engine = &workspaces["workspaces"][0]["engine"];
        (engine["state"] == "unreachable").then(|| engine["message"].as_str().unwrap().to_owned())
    })
    .await;
    assert!(message.contains("refused the credentials"), "{message}");
}
