//! When opencode itself is the trouble: too old to be trusted, without a model, or with a list that it cannot write. A
//! person reads what is wrong, and answers arrive.

use countersign_testkit::peers::Opencode;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{HttpFault, HttpFaults, RealOpencode, StubModel, TestServer, eventually};
use serde_json::{Value, json};

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

/// What makes opencode 1.18.33 answer `GET /permission` with 400 while it is asked for: an argument that is not given.
const UNLISTABLE: &str = r#"TOOLJSON webfetch {"url":"http://127.0.0.1:9/","format":"text"}"#;

/// Asks for something in a session of its own, and returns the ask and the session.
async fn asked(server: &TestServer, prompt: &str) -> (Value, String) {
    let session = server.api().start_and_prompt(prompt).await;
    (server.api().wait_for_ask_of(&session).await, session)
}

/// Answers, and waits until the answer is proved to have arrived.
async fn is_delivered(server: &TestServer, ask: &Value, answer: &Value) {
    let id = ask["id"].as_str().expect("an ask has an id");
    server.api().answer(id, answer).await.expect(200);
    let settled = server.api().settled(id).await;
    assert_eq!(settled["state"], "delivered", "{settled:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_arrive_while_opencode_cannot_list_what_it_asks() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let (fetch, fetching) = asked(&server, UNLISTABLE).await;
    let (denied, _) = asked(&server, "TOOL bash: touch denied").await;
    let (allowed, working) = asked(&server, "TOOL bash: touch allowed").await;

    let deny = json!({"answer": "deny", "reason": "not now"});
    is_delivered(&server, &denied, &deny).await;
    let engine = engine_that_says(&server, "GET /permission").await;
    assert_eq!(engine["state"], "ready", "{engine}");
    let message = engine["message"].as_str().unwrap();
    let words = "opencode answered 400 to GET /permission: Expected JSON value, got undefined";
    assert!(message.contains(words), "{message}");

    // The next server finds the list as it is.
    server.kill();
    server.restart().await;
    server.api().wait_for_engine().await;
    let allow = json!({"answer": "allow_once"});
    is_delivered(&server, &allowed, &allow).await;
    server.api().turn_outcome(&working).await;
    assert!(server.workspace().join("allowed").exists());
    assert!(!server.workspace().join("denied").exists());
    is_delivered(&server, &fetch, &allow).await;
    server.api().turn_outcome(&fetching).await;
    assert_eq!(server.api().alarms().await, Vec::<Value>::new());
    engine_that_says(&server, "opencode is ready in").await;
    server.stop().await;
}

/// Every tool of opencode's that can ask, with and without what it can do without.
const EVERY_TOOL: [(&str, &str); 19] = [
    ("bash", r#"{"command":"true"}"#),
    ("bash", r#"{"command":"true","timeout":5000,"workdir":"."}"#),
    ("read", r#"{"filePath":"a.txt"}"#),
    ("read", r#"{"filePath":"a.txt","offset":0,"limit":1}"#),
    ("glob", r#"{"pattern":"*.txt"}"#),
    ("glob", r#"{"pattern":"*.txt","path":"."}"#),
    ("grep", r#"{"pattern":"a"}"#),
    ("grep", r#"{"pattern":"a","path":".","include":"*.txt"}"#),
    (
        "edit",
        r#"{"filePath":"a.txt","oldString":"a","newString":"b"}"#,
    ),
    (
        "edit",
        r#"{"filePath":"a.txt","oldString":"b","newString":"c","replaceAll":true}"#,
    ),
    ("write", r#"{"filePath":"b.txt","content":"b"}"#),
    (
        "webfetch",
        r#"{"url":"http://127.0.0.1:9/","format":"text"}"#,
    ),
    (
        "webfetch",
        r#"{"url":"http://127.0.0.1:9/","format":"text","timeout":1}"#,
    ),
    ("websearch", r#"{"query":"a"}"#),
    (
        "todowrite",
        r#"{"todos":[{"content":"a","status":"pending","priority":"low"}]}"#,
    ),
    (
        "lsp",
        r#"{"operation":"hover","filePath":"a.txt","line":1,"character":1}"#,
    ),
    (
        "task",
        r#"{"description":"a","prompt":"SAY hello","subagent_type":"general"}"#,
    ),
    (
        "question",
        r#"{"questions":[{"question":"q","header":"h","options":[{"label":"a","description":"a"}]}]}"#,
    ),
    ("bash", r#"{"command":"cat /etc/hostname"}"#),
];

#[tokio::test(flavor = "multi_thread")]
async fn whatever_tool_asks_with_whatever_arguments_the_answer_arrives() {
    let model = StubModel::start().await;
    let mut setup = Setup::new(
        BINARY,
        Engine::Real {
            model: model.base_url(),
        },
    );
    for switch in ["OPENCODE_ENABLE_EXA", "OPENCODE_EXPERIMENTAL_LSP_TOOL"] {
        setup.variables.push((switch.to_owned(), "1".to_owned()));
    }
    let mut server = setup.start().await;
    let workspace = server.workspace().to_owned();
    std::fs::write(workspace.join("a.txt"), "a").unwrap();
    let asking = json!({"permission": {"*": "ask"}});
    std::fs::write(workspace.join("opencode.json"), asking.to_string()).unwrap();
    server.api().wait_for_engine().await;
    let prompt: Vec<String> = EVERY_TOOL
        .iter()
        .map(|(tool, input)| format!("TOOLJSON {tool} {input}"))
        .collect();
    let session = server.api().start_and_prompt(&prompt.join("\n")).await;

    let mut asked = Vec::new();
    let path = format!("/api/v1/sessions/{session}");
    loop {
        let next = eventually(PATIENCE, "it asks, or comes to its end", async || {
            if let Some(ask) = server.api().open_asks().await.into_iter().next() {
                return Some(Some(ask));
            }
            let turn = server.api().get(&path).await["turn"].clone();
            (!turn["outcome"].is_null()).then_some(None)
        });
        let Some(ask) = next.await else {
            break;
        };
        let answer = if ask["subject"]["kind"] == "question" {
            json!({"answer": "choices", "choices": [["a"]]})
        } else {
            json!({"answer": "allow_once"})
        };
        is_delivered(&server, &ask, &answer).await;
        let tool = ask["subject"]["tool"].as_str().unwrap_or("question");
        asked.push(tool.to_owned());
    }
    let count = |tool: &str| asked.iter().filter(|asked| *asked == tool).count();
    for (tool, least) in [
        ("bash", 3),
        ("read", 2),
        ("glob", 2),
        ("grep", 2),
        ("edit", 3),
        ("webfetch", 2),
        ("websearch", 1),
        ("todowrite", 1),
        ("lsp", 1),
        ("task", 1),
        ("question", 1),
        ("external_directory", 1),
    ] {
        assert!(count(tool) >= least, "{tool}: {asked:?}");
    }
    assert_eq!(server.api().alarms().await, Vec::<Value>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_arrive_whatever_way_a_list_of_the_real_opencode_fails() {
    let model = StubModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    let opencode = RealOpencode::start(folder.path(), &model).await;
    let proxy = HttpFaults::start(&opencode.url());
    let engine = Engine::Attached {
        url: proxy.url(),
        password: Some(opencode.password().to_owned()),
    };
    let mut server = Setup::new(BINARY, engine).start().await;
    server.api().wait_for_engine().await;
    for fault in [
        HttpFault::Refused,
        HttpFault::Broken,
        HttpFault::Garbage,
        HttpFault::Hangs,
    ] {
        let (denied, _) = asked(&server, "TOOL bash: touch denied").await;
        let (allowed, _) = asked(&server, "TOOL bash: true").await;
        proxy.plan("GET", "/permission", std::iter::repeat_n(fault, 1_000));
        is_delivered(&server, &denied, &json!({"answer": "deny"})).await;
        is_delivered(&server, &allowed, &json!({"answer": "allow_once"})).await;
        assert!(proxy.met() > 0);
        engine_that_says(&server, "GET /permission").await;
        proxy.plan("GET", "/permission", []);
        engine_that_says(&server, "opencode is ready in").await;
    }
    assert!(!folder.path().join("denied").exists());
    server.stop().await;
}
