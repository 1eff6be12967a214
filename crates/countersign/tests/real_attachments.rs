//! What comes along with prompts to a real opencode, and its earlier sessions.

use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{RealOpencode, StubModel, TestServer};
use reqwest::Method;
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
/// A picture of one dot, in base 64.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn texts(items: &[Value], kind: &str) -> Vec<String> {
    items
        .iter()
        .filter(|item| item["kind"] == kind)
        .map(|item| item["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Has a session at the engine itself, as its own terminal would; returns what it is called there.
async fn session_of_its_own(opencode: &RealOpencode, server: &TestServer, text: &str) -> String {
    let directory = server.workspace().to_str().expect("a path of text");
    let post = async |path: &str, body: &Value| {
        let request = opencode.request(Method::POST, path).json(body);
        let request = request.header("x-opencode-directory", directory);
        let answer = Api::send(request).await.expect("opencode answers");
        answer.expect_success()
    };
    let made = post("/session", &json!({ "title": "Yesterday" })).await;
    let id = made["id"].as_str().expect("it has an id").to_owned();
    let parts = json!({ "parts": [{ "type": "text", "text": text }] });
    post(&format!("/session/{id}/message"), &parts).await;
    id
}

#[tokio::test]
async fn files_texts_and_images_reach_the_model() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    std::fs::write(server.workspace().join("a.rs"), "fn attached_function() {}").unwrap();
    let session = server.api().start_session().await;
    let takes = server.api().session(&session).await["takes"].clone();
    assert_eq!(takes, json!({ "images": true, "content": true }));
    let path = format!("/api/v1/sessions/{session}/prompt");
    let body = json!({ "text": "FINAL Looked.", "attachments": [
        { "kind": "file", "path": "a.rs" },
        { "kind": "text", "name": "notes.md", "text": "remember the milk" },
        { "kind": "image", "name": "dot.png", "media_type": "image/png", "data": DOT },
    ] });
    server.api().post(&path, &body).await.expect(202);
    assert_eq!(
        server.api().turn_outcome(&session).await["outcome"],
        "completed"
    );
    let request = model
        .wait_for_request(PATIENCE, "the prompt with its image", |request| {
            let text = request.to_string();
            text.contains("FINAL Looked.") && text.contains("attached_function")
        })
        .await;
    let text = request.to_string();
    assert!(text.contains("remember the milk"), "{text}");
    assert!(text.contains(DOT), "{text}");
    let items = server.api().items(&session).await;
    assert_eq!(texts(&items, "prompt"), ["FINAL Looked."], "{items:#?}");
    let names: Vec<&Value> = items
        .iter()
        .filter(|item| item["kind"] == "attachment")
        .map(|item| &item["attachment"]["name"])
        .collect();
    assert_eq!(names, ["a.rs", "notes.md", "dot.png"]);
    server.stop().await;
}

#[tokio::test]
async fn an_earlier_session_is_taken_up_with_its_past_and_asks_from_then_on() {
    let model = StubModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opencode = RealOpencode::start(folder.path(), &model).await;
    let engine = Engine::Attached {
        url: opencode.url(),
        password: Some(opencode.password().to_owned()),
    };
    let mut server = Setup::new(BINARY, engine).start().await;
    server.api().wait_for_engine().await;
    // A session of which no server heard.
    server.kill();
    let native = session_of_its_own(&opencode, &server, "FINAL Before.").await;
    server.restart().await;
    server.api().wait_for_engine().await;

    let listed = server.api().get("/api/v1/engines/opencode/sessions").await;
    let sessions = listed["sessions"].as_array().unwrap();
    let entry = sessions.iter().find(|it| it["native_id"] == native);
    let entry = entry.unwrap_or_else(|| panic!("{sessions:#?}"));
    assert_eq!(entry["title"], "Yesterday");
    assert!(entry["known"].is_null());
    assert!(entry["updated_at"].as_str().unwrap().starts_with("20"));

    let wish = json!({ "engine": "opencode", "earlier": native });
    let taken_up = server
        .api()
        .post("/api/v1/sessions", &wish)
        .await
        .expect(201);
    let session = taken_up["id"].as_str().unwrap();
    let items = server.api().items(session).await;
    assert_eq!(texts(&items, "prompt"), ["FINAL Before."], "{items:#?}");
    assert_eq!(texts(&items, "text"), ["Before."], "{items:#?}");
    let again = server
        .api()
        .post("/api/v1/sessions", &wish)
        .await
        .expect(200);
    assert_eq!(again["id"], taken_up["id"]);
    let unknown = json!({ "engine": "opencode", "earlier": "ses_unknown" });
    server
        .api()
        .post("/api/v1/sessions", &unknown)
        .await
        .expect(422);

    // It was begun without our rules; now it asks.
    server
        .api()
        .prompt(session, "TOOL bash: touch never.txt")
        .await;
    let ask = server.api().wait_for_ask_of(session).await;
    assert_eq!(ask["summary"], "touch never.txt");
    assert!(!server.workspace().join("never.txt").exists());
    server.stop().await;
}
