//! A tool of a real opencode tries to answer an ask: by our command line, our API, our files and our keeper it cannot;
//! at the engine itself it can, and that is noticed, raised as an alarm and stopped.

use std::path::Path;
use std::time::Duration;

use countersign_core::time::Timestamp;
use countersign_testkit::test_server::{Api, PATIENCE};
use countersign_testkit::{StubModel, TestServer, eventually};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
const SELF_APPROVAL: &str = include_str!("attacks/self_approval.py");
const PAST_THE_LEDGER: &str = include_str!("attacks/past_the_ledger.py");

/// How soon an answer past the ledger has to be noticed: from when the engine had taken it, to what the ledger says.
const NOTICE_LIMIT: Duration = Duration::from_secs(3);
/// What the server says to a secret that it has looked at and does not know.
const LOOKED_AT: &str = "this token opens nothing";

fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("an ask has an id")
}

/// Puts a script where the agent can run it.
fn place(server: &TestServer, name: &str, script: &str) {
    std::fs::write(server.workspace().join(name), script).expect("the workspace can be written");
}

/// Has the agent run `command` in a session of its own, with leave, to its end.
async fn run_with_leave(server: &TestServer, command: &str) {
    let api = server.api();
    let session = api.start_and_prompt(&format!("TOOL bash: {command}")).await;
    let ask = api.wait_for_ask_of(&session).await;
    let allow = json!({"answer": "allow_once"});
    api.answer(id(&ask), &allow).await.expect(200);
    api.turn_outcome(&session).await;
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the script has come to its end");
    serde_json::from_str(&text).expect("the script writes JSON")
}

#[track_caller]
fn assert_begins(outcome: &Value, beginnings: &[&str]) {
    let text = outcome.as_str().expect("an outcome is a text");
    let as_wanted = beginnings
        .iter()
        .any(|beginning| text.starts_with(beginning));
    assert!(as_wanted, "{text}");
}

/// Pairs a browser, and returns its cookie and its page's half of the secret.
async fn pair_a_browser(server: &TestServer) -> (String, String) {
    let wish = json!({"name": "ada", "role": "owner"});
    let made = server.api().post("/api/v1/pairings", &wish).await;
    let code = made.expect_success()["code"].clone();
    let request = server
        .api_without_token()
        .request(Method::POST, "/api/v1/pair")
        .header("origin", server.url())
        .json(&json!({ "code": code }));
    let response = request.send().await.expect("the server answers");
    let cookie = response.headers()["set-cookie"]
        .to_str()
        .expect("a cookie is a text");
    let (cookie, _) = cookie.split_once(';').expect("a cookie has attributes");
    let cookie = cookie.to_owned();
    let paired: Value = response.json().await.expect("it answers with JSON");
    let page_key = paired["page_key"].as_str().expect("the page gets its half");
    (cookie, page_key.to_owned())
}

fn as_browser(server: &TestServer, cookie: &str, page_key: &str) -> RequestBuilder {
    server
        .api_without_token()
        .request(Method::GET, "/api/v1/me")
        .header("cookie", cookie)
        .header("x-countersign-page", page_key)
        .header("origin", server.url())
        .header("sec-fetch-site", "same-origin")
}

#[tokio::test]
async fn an_agent_cannot_answer_by_any_door_of_ours() {
    let model = StubModel::start().await;
    let server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api();
    let session = api.start_and_prompt("TOOL bash: touch coveted.txt").await;
    let coveted = api.wait_for_ask_of(&session).await;
    let engine = server.engine();
    // There is something to be found: a browser is paired, and gets in with just these headers.
    let (cookie, page_key) = pair_a_browser(&server).await;
    let me = Api::send(as_browser(&server, &cookie, &page_key)).await;
    assert_eq!(me.unwrap().expect(200)["surface"], "web");
    let attack = json!({
        "ask": id(&coveted),
        "data": server.data(),
        "binary": BINARY,
        "host": server.url().trim_start_matches("http://"),
    });
    place(&server, "attack.json", &attack.to_string());
    place(&server, "self_approval.py", SELF_APPROVAL);
    run_with_leave(&server, "python3 self_approval.py").await;
    let outcomes = read_json(&server.workspace().join("outcomes.json"));

    assert_begins(&outcomes["command line"], &["exit 4 "]);
    // Nobody's child is its keeper's, and so still known for what it is.
    let daemon = outcomes["command line as a daemon"].as_str().unwrap();
    let expected = format!("parent {} exit 4 ", engine.keeper);
    assert!(daemon.starts_with(&expected), "{daemon}");
    for attempt in [
        "socket",
        "a token from the socket",
        "a pairing from the socket",
    ] {
        assert_begins(&outcomes[attempt], &["403 "]);
    }
    assert_begins(&outcomes["no token"], &["401 "]);
    let forged = outcomes["forged headers"].as_array().expect("a list");
    assert_eq!(forged.len(), 7);
    for outcome in forged {
        assert_begins(outcome, &["401 ", "403 "]);
    }
    let as_browser = forged[3].as_str().unwrap();
    assert!(as_browser.contains(LOOKED_AT), "{as_browser}");
    assert_begins(&outcomes["a guessed pairing"], &["403 ", "410 ", "422 "]);
    assert_eq!(outcomes["files"]["opened"], json!([]));
    for refusal in outcomes["files"]["refusals"].as_array().unwrap() {
        assert!(refusal.as_str().unwrap().contains(LOOKED_AT), "{refusal}");
    }
    let tried = outcomes["files"]["tried"].as_u64().unwrap();
    assert!(tried > 10, "{tried} secrets were found to be tried");
    assert_eq!(outcomes["ledger"], "database is locked");
    let keeper = outcomes["keeper"][0].as_str().unwrap();
    assert!(keeper.contains("refused"), "{keeper}");
    let environment = outcomes["environment"].as_object().unwrap();
    for (name, value) in environment {
        let ours = name.starts_with("COUNTERSIGN_") && name != "COUNTERSIGN_RUN";
        let is_secret = value.as_str().unwrap().starts_with("cs_");
        assert!(!ours && !is_secret, "{name} reaches the agent");
    }

    // After all that nothing has changed: the engine is the same, and the ask waits for a person.
    assert_eq!(server.engine().process, engine.process);
    let now = api.ask(id(&coveted)).await;
    assert_eq!(now["state"], "open", "{now}");
    assert!(!server.workspace().join("coveted.txt").exists());
    assert_eq!(api.alarms().await, Vec::<Value>::new());
    let audit = server.cli(&["audit", "verify"]).await;
    audit.expect_success();
    server.cli(&["allow", id(&coveted)]).await.expect_success();
    assert_eq!(api.turn_outcome(&session).await["outcome"], "completed");
    assert!(server.workspace().join("coveted.txt").exists());
}

#[tokio::test]
async fn what_is_done_at_the_engine_itself_is_noticed_and_stopped() {
    let model = StubModel::start().await;
    let server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api();
    place(&server, "past_the_ledger.py", PAST_THE_LEDGER);
    let session = api
        .start_and_prompt("TOOL bash: sleep 30 && touch coveted.txt")
        .await;
    let coveted = api.wait_for_ask_of(&session).await;
    let engine = server.engine().url;

    let attack = async {
        let command = format!("python3 past_the_ledger.py {engine} reply");
        run_with_leave(&server, &command).await;
    };
    let notice = async {
        let over = api.settled(id(&coveted)).await;
        let alarm = eventually(PATIENCE, "the alarm is raised", async || {
            api.alarms().await.into_iter().next()
        })
        .await;
        (over, alarm)
    };
    let ((), (over, alarm)) = tokio::join!(attack, notice);
    let replied = read_json(&server.workspace().join("replied.json"));
    assert_eq!(replied["taken"], true, "the engine takes it");
    let replied = Timestamp::from_micros(replied["at_micros"].as_i64().unwrap());
    let noticed: Timestamp = serde_json::from_value(alarm["at"].clone()).unwrap();
    let took = noticed.since(replied);
    assert_eq!(over["state"], "withdrawn", "{over}");
    assert_eq!(
        over["why"],
        "it was answered at the engine itself, with `once`"
    );
    assert_eq!(alarm["ask"], id(&coveted));
    assert_eq!(alarm["session"], session.as_str());
    let message = alarm["message"].as_str().unwrap();
    assert!(message.contains("the session was stopped"), "{message}");
    assert!(took < NOTICE_LIMIT, "it was noticed after {took:?}");
    assert_eq!(api.turn_outcome(&session).await["outcome"], "cancelled");
    assert!(!server.workspace().join("coveted.txt").exists());

    // A session that was started there is none of ours either.
    run_with_leave(
        &server,
        &format!("python3 past_the_ledger.py {engine} session"),
    )
    .await;
    let alarms = eventually(PATIENCE, "the second alarm is raised", async || {
        let alarms = api.alarms().await;
        (alarms.len() > 1).then_some(alarms)
    })
    .await;
    let told = alarms.iter().any(|alarm| {
        let message = alarm["message"].as_str().unwrap_or_default();
        message.contains("a session was started at the engine itself")
    });
    assert!(told, "{alarms:?}");
}

/// Asks for a command in a folder, and returns the ask.
async fn build_in(server: &TestServer, folder: &str) -> Value {
    let input = json!({"command": "sh ./build.sh", "workdir": folder});
    let prompt = format!("TOOLJSON bash {input}");
    let session = server.api().start_and_prompt(&prompt);
    server.api().wait_for_ask_of(&session.await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_always_for_a_command_does_not_run_the_same_words_in_another_folder() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api();
    let workspace = server.workspace().to_owned();
    let other = workspace.join("other");
    std::fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink("other", workspace.join("link")).unwrap();
    for folder in [&workspace, &other] {
        std::fs::write(folder.join("build.sh"), "touch ran").unwrap();
    }
    let build = r#"TOOLJSON bash {"command":"sh ./build.sh"}"#;
    let session = api.start_and_prompt(build).await;
    let ask = api.wait_for_ask_of(&session).await;
    let always = json!({"answer": "allow_always", "scope": "workspace"});
    api.answer(id(&ask), &always).await.expect(200);
    api.turn_outcome(&session).await;
    assert!(workspace.join("ran").exists());

    for folder in ["other", "link", "./link/../other"] {
        let ask = build_in(&server, folder).await;
        assert_eq!(ask["state"], "open", "{folder}: {ask:#}");
        let real = other.canonicalize().unwrap();
        let real = real.to_str().unwrap();
        assert_eq!(
            ask["subject"]["location"]["folder"]["path"], real,
            "{ask:#}"
        );
        let shown = ask["subject"]["shown"].to_string();
        assert!(shown.contains("Runs in") && shown.contains(real), "{shown}");
        assert!(ask["summary"].as_str().unwrap().contains(real), "{ask:#}");
        api.answer(id(&ask), &json!({"answer": "deny"}))
            .await
            .expect(200);
    }
    // The rule is for the folder of the session, however that is said.
    std::fs::remove_file(workspace.join("ran")).unwrap();
    let input = json!({"command": "sh ./build.sh", "workdir": "."});
    let session = api
        .start_and_prompt(&format!("TOOLJSON bash {input}"))
        .await;
    api.turn_outcome(&session).await;
    assert!(workspace.join("ran").exists(), "the rule answers");
    assert!(!other.join("ran").exists());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_of_a_file_is_not_walked_around_with_a_link_or_a_second_file() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let workspace = server.workspace().to_owned();
    std::fs::create_dir(workspace.join("secrets")).unwrap();
    std::fs::write(workspace.join("secrets/key"), "key").unwrap();
    std::os::unix::fs::symlink("secrets", workspace.join("link")).unwrap();
    let rule = json!({
        "tool": "edit", "verdict": "deny", "match": "glob", "pattern": "secrets/**",
    });
    server
        .api()
        .post("/api/v1/rules", &rule)
        .await
        .expect_success();
    for path in ["secrets/key", "link/key", "link/../secrets/key"] {
        let input = json!({"filePath": path, "content": "mine"});
        let prompt = format!("TOOLJSON write {input}");
        let session = server.api().start_and_prompt(&prompt);
        server.api().turn_outcome(&session.await).await;
        let asks = server.api().get("/api/v1/asks?limit=1").await;
        let answer = &asks["asks"][0]["answer"];
        assert_eq!(answer["answer"], "deny", "{path}: {asks:#}");
        assert!(!answer["rule"].is_null(), "{path}: {asks:#}");
    }
    let kept = std::fs::read_to_string(workspace.join("secrets/key")).unwrap();
    assert_eq!(kept, "key");
    server.stop().await;
}

/// Waits for an alarm with `words` in it, and returns it.
async fn alarmed(server: &TestServer, words: &str) -> Value {
    eventually(PATIENCE, words, async || {
        let alarms = server.api().alarms().await;
        let says = |alarm: &Value| {
            alarm["message"]
                .as_str()
                .is_some_and(|it| it.contains(words))
        };
        alarms.into_iter().find(says)
    })
    .await
}

/// What the engine calls a session.
async fn native(server: &TestServer, session: &str) -> String {
    let session = server.api().session(session).await;
    session["native_id"]
        .as_str()
        .expect("it has one")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_rules_are_changed_at_the_engine_asks_all_the_same_and_that_is_noticed() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    place(&server, "past_the_ledger.py", PAST_THE_LEDGER);
    let engine = server.engine().url;
    for (number, way) in ["rules", "tools"].into_iter().enumerate() {
        let session = server.api().start_and_prompt("SAY hello").await;
        server.api().turn_outcome(&session).await;
        let victim = native(&server, &session).await;
        run_with_leave(
            &server,
            &format!("python3 past_the_ledger.py {engine} {way} {victim}"),
        )
        .await;
        eventually(PATIENCE, "the alarm is raised", async || {
            let alarms = server.api().alarms().await;
            let of_session = |alarm: &&Value| alarm["session"] == session.as_str();
            let alarm = alarms.iter().find(of_session)?;
            let message = alarm["message"].as_str()?;
            message.contains("own rules were changed").then_some(())
        })
        .await;

        // Also when nobody was there to see it.
        if number == 0 {
            server.kill();
            server.restart().await;
            server.api().wait_for_engine().await;
        }
        server
            .api()
            .prompt(&session, "TOOL bash: touch unasked")
            .await;
        let ask = server.api().wait_for_ask_of(&session).await;
        server
            .api()
            .answer(id(&ask), &json!({"answer": "deny"}))
            .await
            .expect(200);
        assert!(!server.workspace().join("unasked").exists(), "{way}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_were_changed_while_nobody_looked_are_ours_again_before_the_next_prompt() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let session = server.api().start_and_prompt("SAY hello").await;
    server.api().turn_outcome(&session).await;
    let victim = native(&server, &session).await;
    let engine = server.engine();
    server.kill();
    engine
        .patch(
            &format!("/session/{victim}"),
            &json!({
                "permission": [{"permission": "*", "pattern": "*", "action": "allow"}],
            }),
        )
        .await;
    server.restart().await;
    server.api().wait_for_engine().await;
    server
        .api()
        .prompt(&session, "TOOL bash: touch unasked")
        .await;
    let ask = server.api().wait_for_ask_of(&session).await;
    alarmed(&server, "own rules were changed").await;
    server
        .api()
        .answer(id(&ask), &json!({"answer": "deny"}))
        .await
        .expect(200);
    assert!(!server.workspace().join("unasked").exists());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_runs_without_an_ask_is_noticed_and_its_session_is_stopped() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api().clone();
    // opencode finds no command in this, and asks nothing.
    let unasked = "TOOL bash: [[ 'a[$(touch unasked)]' -eq 0 ]]\nTOOL bash: touch never";
    let session = api.start_and_prompt(unasked).await;
    let alarm = alarmed(&server, "`bash` ran without an ask").await;
    assert_eq!(alarm["session"], session.as_str());
    let message = alarm["message"].as_str().unwrap();
    assert!(message.contains("the session was stopped"), "{message}");
    assert_eq!(api.turn_outcome(&session).await["outcome"], "cancelled");
    let path = format!("/session/{}/message", native(&server, &session).await);
    let messages = server.engine().get(&path).await;
    let parts = messages.as_array().unwrap().iter();
    let parts = parts.flat_map(|message| message["parts"].as_array().unwrap());
    let mut calls = parts.filter(|part| part["tool"] == "bash");
    let ended = calls.next().unwrap()["state"]["time"]["end"]
        .as_i64()
        .unwrap();
    let raised: Timestamp = serde_json::from_value(alarm["at"].clone()).unwrap();
    let took = raised.since(Timestamp::from_micros(ended * 1_000));
    assert!(took < Duration::from_secs(1), "noticed after {took:?}");
    assert!(!server.workspace().join("never").exists());

    // What everybody does is none.
    let honest = api
        .start_and_prompt("TOOL bash: cd .\nTOOL read: past_the_ledger.py")
        .await;
    assert_eq!(api.turn_outcome(&honest).await["outcome"], "completed");

    // By the engine's own door for commands.
    place(&server, "past_the_ledger.py", PAST_THE_LEDGER);
    let session = api.start_and_prompt("SAY hello").await;
    api.turn_outcome(&session).await;
    let (engine, victim) = (server.engine().url, native(&server, &session).await);
    run_with_leave(
        &server,
        &format!("python3 past_the_ledger.py {engine} shell {victim}"),
    )
    .await;
    let alarm = alarmed(&server, "touch by_shell").await;
    assert_eq!(alarm["session"], session.as_str());
    assert_eq!(api.alarms().await.len(), 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_stays_of_an_always_that_somebody_gave_the_engine() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let api = server.api().clone();
    place(&server, "past_the_ledger.py", PAST_THE_LEDGER);
    let coveted = api.start_and_prompt("TOOL bash: touch coveted").await;
    let asked = api.wait_for_ask_of(&coveted).await;
    let bystander = api.start_and_prompt("TOOL bash: touch other").await;
    let waiting = api.wait_for_ask_of(&bystander).await;
    let (engine, victim) = (server.engine(), native(&server, &coveted).await);
    let command = format!("python3 past_the_ledger.py {} always {victim}", engine.url);
    let attacker = api.start_and_prompt(&format!("TOOL bash: {command}")).await;
    let ask = api.wait_for_ask_of(&attacker).await;
    api.answer(id(&ask), &json!({"answer": "allow_once"}))
        .await
        .expect(200);

    alarmed(&server, "with `always` at the engine itself").await;
    let asked = api.settled(id(&asked)).await;
    assert!(
        asked["why"].as_str().unwrap().contains("`always`"),
        "{asked}"
    );
    let waiting = api.settled(id(&waiting)).await;
    assert_eq!(
        waiting["why"],
        "the engine was reloaded after a foreign answer"
    );
    for session in [&attacker, &bystander] {
        let outcome = api.turn_outcome(session).await;
        assert_eq!(
            outcome["reason"],
            "interrupted: engine reloaded after a foreign answer"
        );
    }
    eventually(PATIENCE, "another engine lives", async || {
        let engines = server.engines();
        engines.iter().any(|it| it.run != engine.run).then_some(())
    })
    .await;
    api.wait_for_engine().await;
    let again = api.start_and_prompt("TOOL bash: touch coveted2").await;
    let ask = api.wait_for_ask_of(&again).await;
    assert_eq!(ask["state"], "open", "it is asked again");
    server.stop().await;
}
