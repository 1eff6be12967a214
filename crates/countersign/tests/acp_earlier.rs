//! Sessions that an agent had before: listed, and taken up with what was said in them.

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A server with two names for the demo agent, so that what one had before is new to the other; and with an agent that
/// cannot list.
async fn server() -> TestServer {
    // What it says about itself is made less.
    let plain = format!(r#"{BINARY} demo-agent | sed -u 's/"list":{{}}/"list":null/'"#);
    let setup = Setup {
        engine_settings: format!(
            "[[agents]]\nname = 'other'\ncommand = '{BINARY}'\nargs = ['demo-agent']\n\
             [[agents]]\nname = 'plain'\ncommand = '/bin/sh'\nargs = ['-c', {}]\n",
            json!(plain)
        ),
        workspaces: 2,
        ..Setup::new(BINARY, Engine::None)
    };
    setup.start().await
}

async fn earlier(server: &TestServer, engine: &str) -> Vec<Value> {
    let path = format!("/api/v1/engines/{engine}/sessions");
    let listed = server.api().get(&path).await;
    assert_eq!(listed["has_more"], false);
    listed["sessions"].as_array().expect("a list").clone()
}

async fn finished(server: &TestServer, session: &str, words: &str) {
    eventually(PATIENCE, "the turn ends", async || {
        let turn = server.api().session(session).await["turn"].clone();
        let is_it = turn["prompt"].as_str()?.contains(words);
        (is_it && !turn["outcome"].is_null()).then_some(())
    })
    .await;
}

fn told(items: &[Value]) -> Vec<String> {
    items
        .iter()
        .filter(|item| item["kind"] != "notice")
        .map(|item| {
            let words = item["text"].as_str().or(item["status"].as_str());
            let words = words.unwrap_or_default().trim_end();
            format!(
                "{}: {words}",
                item["kind"].as_str().expect("an item has a kind")
            )
        })
        .collect()
}

/// Has a session with a past, and returns what the agent calls it.
async fn with_a_past(server: &TestServer) -> String {
    let session = server.api().start_session_with("demo").await;
    server
        .api()
        .prompt(&session, "SAY First words.\nRUN touch made.txt")
        .await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let answer = json!({ "answer": "allow_once" });
    let ask = ask["id"].as_str().expect("an ask has an id");
    server.api().answer(ask, &answer).await.expect(200);
    finished(server, &session, "First").await;
    server.api().prompt(&session, "SAY Second words.").await;
    finished(server, &session, "Second").await;
    let native = server.api().session(&session).await["native_id"].clone();
    native.as_str().expect("it has one").to_owned()
}

#[tokio::test]
async fn an_earlier_session_is_listed_and_taken_up_with_its_past_once() {
    let mut server = server().await;
    let native = with_a_past(&server).await;
    let before = server.agents().len();
    let listed = earlier(&server, "other").await;
    assert_eq!(listed.len(), 1, "{listed:#?}");
    assert_eq!(listed[0]["native_id"], native);
    assert_eq!(listed[0]["title"], "SAY First words.");
    assert!(listed[0]["known"].is_null());
    // The agent that was started for the question is gone.
    eventually(PATIENCE, "the agent that listed has ended", async || {
        (server.agents().len() == before).then_some(())
    })
    .await;

    let wish = json!({ "engine": "other", "earlier": native });
    let taken_up = server
        .api()
        .post("/api/v1/sessions", &wish)
        .await
        .expect(201);
    assert_eq!(taken_up["title"], "SAY First words.");
    assert_eq!(taken_up["activity"], "idle");
    assert_eq!(taken_up["takes"]["images"], true);
    let session = taken_up["id"].as_str().unwrap();
    let past = told(&server.api().items(session).await);
    assert_eq!(
        past,
        [
            "prompt: SAY First words.\nRUN touch made.txt",
            "text: First words.",
            "tool: completed",
            "text: `touch made.txt` was allowed and is done.",
            "prompt: SAY Second words.",
            "text: Second words.",
        ]
    );
    // Again it is the same session, and nothing is doubled.
    let again = server
        .api()
        .post("/api/v1/sessions", &wish)
        .await
        .expect(200);
    assert_eq!(again["id"], taken_up["id"]);
    assert_eq!(told(&server.api().items(session).await), past);
    let known = &earlier(&server, "other").await[0]["known"];
    assert_eq!(*known, taken_up["id"]);

    server.api().prompt(session, "SAY Third words.").await;
    finished(&server, session, "Third").await;
    let more = told(&server.api().items(session).await);
    assert_eq!(more[..past.len()], past);
    assert_eq!(
        more[past.len()..],
        ["prompt: SAY Third words.", "text: Third words."]
    );
    server.stop().await;
}

#[tokio::test]
async fn a_session_that_was_taken_up_outlives_the_server_without_being_doubled() {
    let mut server = server().await;
    let native = with_a_past(&server).await;
    let wish = json!({ "engine": "other", "earlier": native });
    let taken_up = server
        .api()
        .post("/api/v1/sessions", &wish)
        .await
        .expect(201);
    let session = taken_up["id"].as_str().unwrap();
    let past = told(&server.api().items(session).await);
    server.kill();
    server.restart().await;
    server.api().prompt(session, "SAY After.").await;
    finished(&server, session, "After").await;
    let more = told(&server.api().items(session).await);
    assert_eq!(more[..past.len()], past);
    assert_eq!(more.len(), past.len() + 2);
    server.stop().await;
}

#[tokio::test]
async fn of_those_who_take_up_a_session_at_the_same_moment_each_gets_the_same() {
    let mut server = server().await;
    let native = with_a_past(&server).await;
    let wish = json!({ "engine": "other", "earlier": native });
    let post = || server.api().post("/api/v1/sessions", &wish);
    let (one, two, three) = tokio::join!(post(), post(), post());
    let mut statuses = [&one, &two, &three].map(|reply| reply.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 201]);
    assert_eq!(one.body["id"], two.body["id"]);
    assert_eq!(one.body["id"], three.body["id"]);
    server.stop().await;
}

#[tokio::test]
async fn only_what_the_agent_lists_for_the_workspace_is_taken_up() {
    let server = server().await;
    let native = with_a_past(&server).await;
    let workspaces = server.api().get("/api/v1/workspaces").await;
    let second = workspaces["workspaces"][1]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/v1/engines/other/sessions?workspace={second}");
    assert_eq!(server.api().get(&path).await["sessions"], json!([]));
    let elsewhere = json!({ "workspace": second, "engine": "other", "earlier": native });
    let refused = server.api().post("/api/v1/sessions", &elsewhere).await;
    let message = refused.expect(422)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("lists no earlier session"), "{message}");
    for id in ["../../etc/passwd", "demo-unknown"] {
        let wish = json!({ "engine": "other", "earlier": id });
        server
            .api()
            .post("/api/v1/sessions", &wish)
            .await
            .expect(422);
    }
    let empty = json!({ "engine": "other", "earlier": "" });
    server
        .api()
        .post("/api/v1/sessions", &empty)
        .await
        .expect(422);
}

#[tokio::test]
async fn an_agent_that_cannot_says_so_and_a_viewer_starts_nothing() {
    let server = server().await;
    let get = async |api: &countersign_testkit::test_server::Api, engine: &str| {
        let path = format!("/api/v1/engines/{engine}/sessions");
        let request = api.request(reqwest::Method::GET, &path);
        countersign_testkit::test_server::Api::send(request)
            .await
            .expect("the server answers")
    };
    let unable = get(server.api(), "plain").await.expect(422);
    assert_eq!(unable["message"], "plain cannot list its earlier sessions");
    let wish = json!({ "engine": "plain", "earlier": "demo-1" });
    let unable = server.api().post("/api/v1/sessions", &wish).await;
    assert!(
        unable.expect(422)["message"]
            .as_str()
            .unwrap()
            .contains("cannot list")
    );
    get(server.api(), "nobody").await.expect(404);
    let viewer = server.api_as("viewer").await;
    get(&viewer, "demo").await.expect(403);
    assert!(server.agents().is_empty());
}

#[tokio::test]
async fn the_command_line_lists_earlier_sessions_and_takes_one_up() {
    let server = server().await;
    let native = with_a_past(&server).await;
    let listed = server
        .cli(&["sessions", "--engine", "other", "--earlier"])
        .await;
    let listed = listed.expect_success();
    assert!(listed.stdout.contains(&native), "{}", listed.stdout);
    assert!(
        listed.stdout.contains("SAY First words."),
        "{}",
        listed.stdout
    );
    let printed = server
        .cli(&[
            "prompt",
            "--engine",
            "other",
            "--earlier",
            &native,
            "SAY Back again.",
        ])
        .await;
    let printed = printed.expect_success();
    assert!(printed.stdout.contains("Back again."), "{}", printed.stdout);
    assert!(
        !printed.stdout.contains("First words."),
        "{}",
        printed.stdout
    );
    let unable = server
        .cli(&["sessions", "--engine", "plain", "--earlier"])
        .await;
    assert_ne!(unable.code, 0);
    assert!(
        unable.stderr.contains("cannot list its earlier sessions"),
        "{}",
        unable.stderr
    );
    assert!(server.workspace().join("made.txt").exists());
}
