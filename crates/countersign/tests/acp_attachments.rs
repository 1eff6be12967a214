//! Files, texts and images that come along with the prompts of ACP agents: what was accepted reaches the agent once,
//! and what cannot be is refused in words.

use std::os::unix::fs::symlink;

use countersign_core::id::TurnId;
use countersign_core::time::Clock;
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{AcpSchema, TestServer, eventually};
use reqwest::Method;
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
/// A picture of one dot, in base 64.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DOT_BYTES: usize = 70;

/// A server with three agents: `demo`, `taped`, which is the same and has what it is told written down, and `plain`,
/// which takes nothing but words and links.
async fn server() -> (TestServer, tempfile::TempDir) {
    let tapes = tempfile::tempdir().expect("a directory can be made");
    let told = tapes.path().join("told");
    let agents = [
        (
            "taped",
            format!("tee -a {} | {BINARY} demo-agent", told.display()),
        ),
        // What it says about itself is made less.
        (
            "plain",
            format!(
                r#"{BINARY} demo-agent | sed -u 's/"\(image\|embeddedContext\)":true/"\1":false/g'"#
            ),
        ),
    ];
    let settings = agents.map(|(name, script)| {
        let script = json!(script);
        format!("[[agents]]\nname = '{name}'\ncommand = '/bin/sh'\nargs = ['-c', {script}]\n")
    });
    let setup = Setup {
        engine_settings: settings.concat(),
        ..Setup::new(BINARY, Engine::None)
    };
    (setup.start().await, tapes)
}

/// Everything that the taped agent was told.
fn lines(tapes: &tempfile::TempDir) -> Vec<Value> {
    let lines = std::fs::read_to_string(tapes.path().join("told")).unwrap_or_default();
    let messages = lines.lines().map(serde_json::from_str);
    // The last line may be on its way.
    messages.filter_map(Result::ok).collect()
}

/// The blocks of the prompts that the taped agent was told.
fn told(tapes: &tempfile::TempDir) -> Vec<Vec<Value>> {
    lines(tapes)
        .into_iter()
        .filter(|message| message["method"] == "session/prompt")
        .map(|message| {
            message["params"]["prompt"]
                .as_array()
                .expect("a prompt has parts")
                .clone()
        })
        .collect()
}

fn image() -> Value {
    json!({ "kind": "image", "name": "dot.png", "media_type": "image/png", "data": DOT })
}

async fn prompt(api: &Api, session: &str, body: &Value) -> (u16, Value) {
    let path = format!("/api/v1/sessions/{session}/prompt");
    let reply = api.post(&path, body).await;
    (reply.status.as_u16(), reply.body)
}

/// What came along, as the transcript tells it.
fn attachments(items: &[Value]) -> Vec<Value> {
    let attached = items.iter().filter(|item| item["kind"] == "attachment");
    attached.map(|item| item["attachment"].clone()).collect()
}

fn said(items: &[Value]) -> String {
    let texts = items.iter().filter(|item| item["kind"] == "text");
    let texts: Vec<&str> = texts.filter_map(|item| item["text"].as_str()).collect();
    texts.join("\n")
}

async fn turn_ends(server: &TestServer, session: &str, words: &str) -> Value {
    eventually(PATIENCE, "the turn ends", async || {
        let turn = server.api().session(session).await["turn"].clone();
        let is_it = turn["prompt"].as_str()?.contains(words);
        (is_it && !turn["outcome"].is_null()).then(|| turn["outcome"].clone())
    })
    .await
}

#[tokio::test]
async fn what_comes_along_reaches_the_agent_and_stands_in_the_transcript() {
    let (mut server, tapes) = server().await;
    std::fs::create_dir(server.workspace().join("src")).unwrap();
    std::fs::write(server.workspace().join("src/a b.rs"), "fn a() {}").unwrap();
    std::fs::write(server.workspace().join("data.bin"), [0, 1, 2]).unwrap();
    let session = server.api().start_session_with("taped").await;
    let takes = server.api().session(&session).await["takes"].clone();
    assert_eq!(takes, json!({ "images": true, "content": true }));
    let body = json!({ "text": "SAY Looked.", "attachments": [
        { "kind": "file", "path": "src/a b.rs" },
        { "kind": "file", "path": "data.bin" },
        { "kind": "text", "name": "notes.md", "text": "RUN touch never.txt" },
        image(),
    ] });
    let (status, answer) = prompt(server.api(), &session, &body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(
        turn_ends(&server, &session, "SAY").await["outcome"],
        "completed"
    );

    let schema = AcpSchema::official();
    for message in lines(&tapes).iter().filter(|it| it["method"].is_string()) {
        schema.check(message, None);
    }
    let blocks = told(&tapes).remove(0);
    let here = server.workspace().display().to_string();
    assert_eq!(blocks[0], json!({ "type": "text", "text": "SAY Looked." }));
    assert_eq!(blocks[1]["resource"]["text"], "fn a() {}");
    assert_eq!(
        blocks[1]["resource"]["uri"],
        format!("file://{here}/src/a%20b.rs")
    );
    assert_eq!(blocks[2]["type"], "resource_link");
    assert_eq!(blocks[2]["uri"], format!("file://{here}/data.bin"));
    assert_eq!(blocks[3]["resource"]["text"], "RUN touch never.txt");
    assert_eq!(blocks[4]["type"], "image");
    assert_eq!(blocks[4]["data"], DOT);
    assert_eq!(blocks.len(), 5);

    let items = server.api().items(&session).await;
    let words = said(&items);
    assert!(
        words.contains(&format!("an image (image/png, {DOT_BYTES} bytes)")),
        "{words}"
    );
    assert!(!server.workspace().join("never.txt").exists());
    let shown: Vec<Value> = attachments(&items)
        .iter()
        .map(|it| json!([it["kind"], it["name"], it["size"], it["kept"]]))
        .collect();
    assert_eq!(
        json!(shown),
        json!([
            ["file", "src/a b.rs", 9, true],
            ["file", "data.bin", 3, false],
            ["text", "notes.md", 19, true],
            ["image", "dot.png", DOT_BYTES, true],
        ])
    );
    server.stop().await;
}

#[tokio::test]
async fn an_attachment_is_shown_to_who_may_read_it_and_never_as_a_page() {
    let (server, _tapes) = server().await;
    let session = server.api().start_session_with("demo").await;
    let page = "<html><script>alert(1)</script>";
    let body = json!({ "text": "SAY Seen.", "attachments": [
        image(), { "kind": "text", "name": "page.html", "text": page },
    ] });
    assert_eq!(prompt(server.api(), &session, &body).await.0, 202);
    turn_ends(&server, &session, "SAY").await;
    let ids: Vec<String> = attachments(&server.api().items(&session).await)
        .iter()
        .map(|it| it["id"].as_str().unwrap().to_owned())
        .collect();
    let path = |id: &str| format!("/api/v1/attachments/{id}");
    let viewer = server.api_as("viewer").await;
    for (id, kind, disposition) in [
        (&ids[0], "image/png", "inline"),
        (&ids[1], "text/plain; charset=utf-8", "attachment"),
    ] {
        let shown = viewer.request(Method::GET, &path(id)).send().await.unwrap();
        assert_eq!(shown.status(), 200);
        let header = |name: &str| shown.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), kind);
        assert_eq!(header("content-disposition"), disposition);
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").contains("sandbox"));
        assert!(header("cache-control").contains("no-store"));
    }
    let text = viewer.request(Method::GET, &path(&ids[1])).send().await;
    assert_eq!(text.unwrap().text().await.unwrap(), page);
    let stranger = server.api_without_token();
    let refused = Api::send(stranger.request(Method::GET, &path(&ids[0]))).await;
    refused.unwrap().expect(401);
    let unknown = path("att_01jc0000000000000000000001");
    let missing = Api::send(viewer.request(Method::GET, &unknown)).await;
    missing.unwrap().expect(404);
}

#[tokio::test]
async fn what_cannot_come_along_is_refused_and_nothing_is_said() {
    let (server, tapes) = server().await;
    let workspace = server.workspace();
    let outside = workspace.parent().unwrap().join("secret.txt");
    std::fs::write(&outside, "secret").unwrap();
    symlink(&outside, workspace.join("escape")).unwrap();
    symlink(workspace.parent().unwrap(), workspace.join("up")).unwrap();
    let session = server.api().start_session_with("taped").await;
    let file = |path: &str| json!({ "kind": "file", "path": path });
    let text =
        |name: &str, size: usize| json!({ "kind": "text", "name": name, "text": "a".repeat(size) });
    let picture =
        |kind: &str, data: &str| json!({ "kind": "image", "media_type": kind, "data": data });
    let five = 5 << 20;
    let cases = [
        (
            vec![file("../secret.txt")],
            "`../secret.txt`, which is no file of the workspace",
        ),
        (
            vec![file(outside.to_str().unwrap())],
            "is no file of the workspace",
        ),
        (
            vec![file("escape")],
            "`escape`, which is no file of the workspace",
        ),
        (vec![file("up/secret.txt")], "is no file of the workspace"),
        (vec![file("nothing.txt")], "is no file of the workspace"),
        (vec![file(".")], "is no file of the workspace"),
        (
            vec![text("large.txt", five + 1)],
            "`large.txt`, which is larger than 5 MiB",
        ),
        (
            (0..5).map(|_| text("five.txt", five)).collect(),
            "larger than 20 MiB together",
        ),
        ((0..11).map(|_| text("a", 1)).collect(), "at most 10"),
        (vec![picture("image/png", "not base 64!")], "not base 64"),
        (
            vec![picture("image/svg+xml", "PHN2Zy8+")],
            "png, jpeg, gif and webp",
        ),
        (
            vec![picture("image/png", "PHN2Zy8+")],
            "which is no image/png",
        ),
        (
            vec![json!({ "kind": "sound", "data": "" })],
            "the body does not fit",
        ),
        (vec![text("", 1)], "names of one to 200"),
    ];
    for (attachments, why) in cases {
        let body = json!({ "text": "SAY Said.", "attachments": attachments });
        let (status, answer) = prompt(server.api(), &session, &body).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert_eq!(status, 422, "{why}: {message}");
        assert!(message.contains(why), "{why}: {message}");
        assert!(!message.contains("secret\n"), "{message}");
    }
    // Far too much is not even read, so the answer may not get through; and other endpoints take no more than before.
    let path = format!("/api/v1/sessions/{session}/prompt");
    let body = json!({ "text": "a".repeat(33 << 20) });
    if let Ok(refused) = Api::send(server.api().request(Method::POST, &path).json(&body)).await {
        refused.expect(413);
    }
    let title = json!({ "engine": "demo", "title": "a".repeat(2 << 20) });
    server
        .api()
        .post("/api/v1/sessions", &title)
        .await
        .expect(413);
    assert!(server.api().session(&session).await["turn"].is_null());
    assert!(told(&tapes).is_empty());
}

#[tokio::test]
async fn an_agent_that_takes_no_images_is_named_and_gets_texts_as_words_and_files_as_links() {
    let (server, _tapes) = server().await;
    std::fs::write(server.workspace().join("a.rs"), "fn a() {}").unwrap();
    let session = server.api().start_session_with("plain").await;
    let with = |attachment: Value| json!({ "text": "look", "attachments": [attachment] });
    let (status, answer) = prompt(server.api(), &session, &with(image())).await;
    assert_eq!(status, 422, "{answer}");
    assert_eq!(
        answer["message"],
        "`attachments` have an image, and plain takes no images"
    );
    let takes = server.api().session(&session).await["takes"].clone();
    assert_eq!(takes, json!({ "images": false, "content": false }));
    let file = json!({ "kind": "file", "path": "a.rs" });
    let (status, answer) = prompt(server.api(), &session, &with(file)).await;
    assert_eq!(status, 202, "{answer}");
    let shown = eventually(PATIENCE, "the file is in the transcript", async || {
        attachments(&server.api().items(&session).await).pop()
    })
    .await;
    assert_eq!(shown["kept"], false);
}

#[tokio::test]
async fn a_turn_that_waits_keeps_what_came_along_over_the_death_of_the_server() {
    let (mut server, tapes) = server().await;
    std::fs::write(server.workspace().join("a.rs"), "fn a() {}").unwrap();
    let session = server.api().start_session_with("taped").await;
    server.api().prompt(&session, "RUN true").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let turn = TurnId::generate(Clock::System.now()).to_string();
    let body = json!({ "turn": turn, "text": "SAY Second.", "attachments": [
        { "kind": "file", "path": "a.rs" }, image(),
    ] });
    assert_eq!(prompt(server.api(), &session, &body).await.0, 202);
    // It was accepted, and the agent has not heard of it.
    assert_eq!(told(&tapes).len(), 1);
    server.kill();
    std::fs::remove_file(server.workspace().join("a.rs")).unwrap();
    server.restart().await;
    // The same turn again is the same turn, whatever became of the file and whatever is said to come along now.
    assert_eq!(prompt(server.api(), &session, &body).await.0, 202);
    let other = json!({ "turn": turn, "text": "SAY Other.", "attachments": [] });
    assert_eq!(prompt(server.api(), &session, &other).await.0, 202);
    let answer = json!({ "answer": "allow_once" });
    let id = ask["id"].as_str().unwrap();
    server.api().answer(id, &answer).await.expect(200);
    assert_eq!(
        turn_ends(&server, &session, "Second").await["outcome"],
        "completed"
    );
    let prompts = told(&tapes);
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert_eq!(prompts[1][0]["text"], "SAY Second.");
    assert_eq!(prompts[1][1]["resource"]["text"], "fn a() {}");
    assert_eq!(prompts[1][2]["data"], DOT);
    assert_eq!(attachments(&server.api().items(&session).await).len(), 2);
    // What the agent takes is known after the restart.
    let (status, answer) = prompt(
        server.api(),
        &session,
        &json!({ "text": "SAY Third.", "attachments": [image()] }),
    )
    .await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(
        turn_ends(&server, &session, "Third").await["outcome"],
        "completed"
    );
    server.stop().await;
}

#[tokio::test]
async fn many_large_images_come_along_whole() {
    let (server, tapes) = server().await;
    let session = server.api().start_session_with("taped").await;
    // Multiples of three bytes, so that base 64 can be put together from pieces.
    let large = format!("{}{}", "iVBORw0KGgoAAAAN", "AAAA".repeat((5 << 20) / 3 - 8));
    let picture = json!({ "kind": "image", "media_type": "image/png", "data": large });
    let body = json!({ "text": "SAY Much.", "attachments": [picture, picture, picture] });
    let (status, answer) = prompt(server.api(), &session, &body).await;
    assert_eq!(status, 202, "{answer}");
    assert_eq!(
        turn_ends(&server, &session, "Much").await["outcome"],
        "completed"
    );
    let blocks = told(&tapes).remove(0);
    assert_eq!(blocks.len(), 4);
    assert!(blocks[3]["data"] == large);
}

#[tokio::test]
async fn the_command_line_sends_files_and_images_along() {
    let (server, tapes) = server().await;
    std::fs::write(server.workspace().join("a.rs"), "fn a() {}").unwrap();
    let elsewhere = tapes.path().join("notes.md");
    std::fs::write(&elsewhere, "remember").unwrap();
    let dot = tapes.path().join("dot");
    let bytes = b"\x89PNG\r\n\x1a\nrest";
    std::fs::write(&dot, bytes).unwrap();
    let inside = server.workspace().join("a.rs");
    let (inside, elsewhere, dot) = (
        inside.to_str().unwrap(),
        elsewhere.to_str().unwrap(),
        dot.to_str().unwrap(),
    );
    let printed = server
        .cli(&[
            "prompt",
            "--engine",
            "taped",
            "--file",
            inside,
            "--file",
            elsewhere,
            "--image",
            dot,
            "SAY Got it.",
        ])
        .await;
    let printed = printed.expect_success();
    assert!(printed.stdout.contains("Got it."), "{}", printed.stdout);
    let blocks = told(&tapes).remove(0);
    assert_eq!(blocks[1]["resource"]["text"], "fn a() {}");
    assert_eq!(blocks[2]["resource"]["uri"], "attachment:///notes.md");
    assert_eq!(blocks[3]["mimeType"], "image/png");

    let refused = server
        .cli(&["prompt", "--engine", "taped", "--image", inside, "SAY No."])
        .await;
    refused.expect_code(2);
    assert!(
        refused.stderr.contains("is no image that is taken"),
        "{}",
        refused.stderr
    );
}
