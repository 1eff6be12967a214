//! Sessions with ACP agents, from the prompt to what is on disk: the agent that needs no model does what it is answered.

use countersign_testkit::test_server::{Engine, PATIENCE, ServeCommand, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

/// A server whose one workspace has no engine of its own.
async fn server() -> TestServer {
    Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        .start()
        .await
}

/// A session with the demo agent, in which `text` was said.
async fn prompted(server: &TestServer, text: &str) -> String {
    let session = server.api().start_session_with("demo").await;
    server.api().prompt(&session, text).await;
    session
}

fn id(thing: &Value) -> &str {
    thing["id"].as_str().expect("it has an id")
}

async fn allow(server: &TestServer, ask: &Value) -> Value {
    let answer = json!({ "answer": "allow_once" });
    server.api().answer(id(ask), &answer).await.expect(200);
    server.api().settled(id(ask)).await
}

fn texts(items: &[Value], kind: &str) -> Vec<String> {
    items
        .iter()
        .filter(|item| item["kind"] == kind)
        .map(|item| {
            item["text"]
                .as_str()
                .unwrap_or_default()
                .trim_end()
                .to_owned()
        })
        .collect()
}

fn outcome(turn: &Value) -> &str {
    turn["outcome"].as_str().unwrap_or_default()
}

/// Waits until the turn that began with `prompt` has ended, and returns how.
async fn turn_ends(server: &TestServer, session: &str, prompt: &str) -> Value {
    eventually(PATIENCE, "the turn ends", async || {
        let turn = server.api().session(session).await["turn"].clone();
        let said = turn["prompt"].as_str()?.contains(prompt);
        (said && !turn["outcome"].is_null()).then(|| turn["outcome"].clone())
    })
    .await
}

#[tokio::test]
async fn what_is_allowed_is_done_and_the_transcript_tells_it() {
    let mut server = server().await;
    let session = prompted(&server, "SAY Hello from here.\nRUN echo done > made.txt").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    assert_eq!(ask["door"], "acp");
    assert_eq!(ask["summary"], "echo done > made.txt");
    assert!(!server.workspace().join("made.txt").exists());
    let settled = allow(&server, &ask).await;
    assert_eq!(settled["state"], "delivered");
    assert_eq!(settled["delivery"]["evidence"]["kind"], "written");
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "done\n");
    let items = server.api().items(&session).await;
    let said = texts(&items, "text").join("");
    assert!(said.contains("Hello from here."), "{items:#?}");
    let tool = items.iter().find(|item| item["kind"] == "tool").unwrap();
    assert_eq!(tool["status"], "completed");
    let seen = server.api().session(&session).await;
    assert_eq!(seen["engine"], "demo");
    assert_eq!(seen["activity"], "idle");
    assert_eq!(seen["title"], "SAY Hello from here.");
    server.stop().await;
}

#[tokio::test]
async fn what_is_denied_is_not_done_and_the_reason_follows_as_a_prompt() {
    let mut server = server().await;
    let session = prompted(&server, "RUN touch never.txt\nSAY I went on.").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let answer = json!({ "answer": "deny", "reason": "not on a Monday" });
    server.api().answer(id(&ask), &answer).await.expect(200);
    assert_eq!(server.api().settled(id(&ask)).await["state"], "delivered");
    let ended = turn_ends(&server, &session, "was denied. The reason: not on a Monday").await;
    assert_eq!(outcome(&ended), "completed");
    assert!(!server.workspace().join("never.txt").exists());
    let items = server.api().items(&session).await;
    let prompts = texts(&items, "prompt");
    assert_eq!(prompts.len(), 2, "{items:#?}");
    assert!(prompts[1].contains("not on a Monday"));
    let said = texts(&items, "text").join("\n");
    assert!(said.contains("I went on."), "{said}");
    server.stop().await;
}

#[tokio::test]
async fn an_option_that_a_person_picks_reaches_the_agent_as_that_very_option() {
    let server = server().await;
    let session = prompted(&server, "RUN echo 1 >> made.txt\nRUN echo 2 >> made.txt").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let ids: Vec<&str> = ask["options"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|option| option["id"].as_str())
        .collect();
    assert_eq!(ids, ["allow-once", "allow-for-session", "reject"]);
    let refused = json!({ "answer": "option", "option": "allow_always" });
    server.api().answer(id(&ask), &refused).await.expect(422);
    let answer = json!({ "answer": "option", "option": "allow-for-session" });
    server.api().answer(id(&ask), &answer).await.expect(200);
    let settled = server.api().settled(id(&ask)).await;
    assert_eq!(settled["answer"]["id"], "allow-for-session");
    // The agent remembers it, so the second command is not asked for.
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "1\n2\n");
}

#[tokio::test]
async fn a_question_is_answered_with_a_choice() {
    let server = server().await;
    let session = prompted(&server, "ASK Which colour? | red | blue").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    assert_eq!(ask["subject"]["kind"], "question");
    let answer = json!({ "answer": "choices", "choices": [["blue"]] });
    server.api().answer(id(&ask), &answer).await.expect(200);
    assert_eq!(server.api().settled(id(&ask)).await["state"], "delivered");
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let said = texts(&server.api().items(&session).await, "text").join("\n");
    assert!(said.contains("blue"), "{said}");
}

#[tokio::test]
async fn a_rule_answers_the_very_same_command_the_next_time() {
    let server = server().await;
    let session = prompted(&server, "RUN echo again >> made.txt").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let always = json!({ "answer": "allow_always", "scope": "workspace" });
    server.api().answer(id(&ask), &always).await.expect(200);
    server.api().turn_outcome(&session).await;
    let session = prompted(&server, "RUN echo again >> made.txt").await;
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "again\nagain\n");
    assert_eq!(server.api().open_asks().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_it_asks_withdraws_the_ask_and_nothing_runs() {
    let mut server = server().await;
    let session = prompted(&server, "RUN touch never.txt").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let path = format!("/api/v1/sessions/{session}/cancel");
    server.api().post(&path, &json!({})).await.expect(200);
    let withdrawn = server.api().settled(id(&ask)).await;
    assert_eq!(withdrawn["state"], "withdrawn");
    assert_eq!(withdrawn["why"], "the turn was cancelled");
    let late = json!({ "answer": "allow_once" });
    server.api().answer(id(&ask), &late).await.expect(410);
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "cancelled"
    );
    assert!(!server.workspace().join("never.txt").exists());
    // The same process goes on with the next prompt.
    let before = server.agents();
    server.api().prompt(&session, "SAY Still here.").await;
    assert_eq!(
        outcome(&turn_ends(&server, &session, "Still").await),
        "completed"
    );
    assert_eq!(server.agents(), before);
    server.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_killed_while_it_asks_loses_the_ask_and_the_next_prompt_goes_on() {
    let mut server = server().await;
    let session = prompted(&server, "SAY Remember me.\nRUN touch never.txt").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let agent = server.agents().remove(0);
    agent.kill();
    let withdrawn = server.api().settled(id(&ask)).await;
    assert_eq!(withdrawn["state"], "withdrawn");
    assert_eq!(withdrawn["why"], "the engine is gone");
    let ended = server.api().turn_outcome(&session).await;
    assert_eq!(outcome(&ended), "failed");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("signal 9 killed it"), "{reason}");

    server.api().prompt(&session, "SAY I am back.").await;
    assert_eq!(
        outcome(&turn_ends(&server, &session, "back").await),
        "completed"
    );
    let items = server.api().items(&session).await;
    assert_eq!(texts(&items, "text").join("|"), "Remember me.|I am back.");
    assert_ne!(server.agents().remove(0).run, agent.run);
    assert!(!server.workspace().join("never.txt").exists());
    server.stop().await;
}

#[tokio::test]
async fn an_ask_outlives_a_server_that_is_killed_and_its_answer_is_carried_by_the_next_one() {
    let mut server = server().await;
    let session = prompted(
        &server,
        "SAY Before.\nRUN echo once >> made.txt\nSAY After.",
    )
    .await;
    let ask = server.api().wait_for_ask_of(&session).await;
    let before = server.agents();
    server.kill();
    server.restart().await;
    let open = server.api().wait_for_ask_of(&session).await;
    assert_eq!(id(&open), id(&ask));
    assert_eq!(server.agents(), before);
    let settled = allow(&server, &ask).await;
    assert_eq!(settled["state"], "delivered");
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "once\n");
    let items = server.api().items(&session).await;
    assert_eq!(
        texts(&items, "text").join("|"),
        "Before.|`echo once >> made.txt` was allowed and is done.|After.",
        "{items:#?}"
    );
    assert_eq!(texts(&items, "prompt").len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn a_turn_that_ended_while_no_server_was_there_is_found_to_have_ended() {
    let mut server = server().await;
    let session = prompted(&server, "RUN sleep 1; echo slept > made.txt\nSAY Rested.").await;
    let ask = server.api().wait_for_ask_of(&session).await;
    allow(&server, &ask).await;
    server.kill();
    let made = server.workspace().join("made.txt");
    eventually(PATIENCE, "the command ends", async || {
        made.exists().then_some(())
    })
    .await;
    server.restart().await;
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let said = texts(&server.api().items(&session).await, "text").join("\n");
    assert!(said.contains("Rested."), "{said}");
    server.stop().await;
}

#[tokio::test]
async fn prompts_wait_for_each_other() {
    let server = server().await;
    let session = prompted(&server, "RUN echo 1 >> made.txt").await;
    server
        .api()
        .prompt(&session, "RUN echo 2 >> made.txt")
        .await;
    for _ in 0..2 {
        let ask = server.api().wait_for_ask_of(&session).await;
        assert_eq!(server.api().open_asks().await.len(), 1);
        allow(&server, &ask).await;
    }
    assert_eq!(
        outcome(&turn_ends(&server, &session, "echo 2").await),
        "completed"
    );
    let made = std::fs::read_to_string(server.workspace().join("made.txt")).unwrap();
    assert_eq!(made, "1\n2\n");
}

#[tokio::test]
async fn engines_are_listed_and_an_unknown_one_is_refused() {
    let server = server().await;
    let listed = server.api().get("/api/v1/engines").await;
    let engines = listed["engines"].as_array().unwrap();
    let demo = engines.iter().find(|engine| engine["name"] == "demo");
    assert!(demo.unwrap()["program"].is_string());
    assert!(engines.iter().any(|engine| engine["name"] == "claude"));
    let wish = json!({ "engine": "no-such-agent" });
    server
        .api()
        .post("/api/v1/sessions", &wish)
        .await
        .expect(404);
    let printed = server.cli(&["engines"]).await;
    assert!(printed.expect_success().stdout.contains("Demo agent"));
}

#[tokio::test]
async fn the_command_line_prompts_an_agent_by_name() {
    let server = server().await;
    let printed = server
        .cli(&["prompt", "--engine", "demo", "SAY Good day."])
        .await;
    assert!(printed.expect_success().stdout.contains("Good day."));
}

#[tokio::test]
async fn where_nothing_is_installed_a_prompt_is_for_the_demo_agent() {
    let server = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Missing)
        .start()
        .await;
    let printed = server.cli(&["prompt", "SAY Here I am."]).await;
    assert!(printed.expect_success().stdout.contains("Here I am."));
}

/// The piece of work that a new user meets, up to its command, which is the ask that is returned.
async fn tour(server: &TestServer, session: &str) -> Value {
    let question = server.api().wait_for_ask_of(session).await;
    assert_eq!(question["subject"]["kind"], "question", "{question}");
    let answer = json!({ "answer": "choices", "choices": [["Ahoy"]] });
    server
        .api()
        .answer(id(&question), &answer)
        .await
        .expect(200);
    let is_edit = |ask: &Value| ask["session"] == session && ask["subject"]["tool"] == "edit";
    let edit = server.api().wait_for_ask("the edit is asked for", is_edit);
    let edit = edit.await;
    let diff = &edit["subject"]["shown"][0];
    let patch = diff["patch"].as_str().unwrap_or_default();
    assert!(
        patch.contains("+- Ahoy! Somebody allowed this line."),
        "{edit}"
    );
    let note = server.workspace().join("countersign-demo.md");
    assert!(
        !note.exists(),
        "it is not written before somebody allows it"
    );
    assert_eq!(allow(server, &edit).await["state"], "delivered");
    let is_command = |ask: &Value| ask["session"] == session && ask["subject"]["tool"] == "shell";
    let command = server
        .api()
        .wait_for_ask("the command is asked for", is_command);
    let command = command.await;
    assert_eq!(command["summary"], "wc -l countersign-demo.md");
    let note = std::fs::read_to_string(note).expect("there is a note");
    assert!(note.contains("- Ahoy!"), "{note}");
    command
}

/// The tools of a session by their status, and whether one of them changed a file.
fn tools(items: &[Value]) -> (Vec<&str>, bool) {
    let tools: Vec<&Value> = items.iter().filter(|item| item["kind"] == "tool").collect();
    let changes = |tool: &&Value| {
        let changes = tool["changes"].as_array();
        changes.is_some_and(|changes| !changes.is_empty())
    };
    let statuses = tools.iter().filter_map(|tool| tool["status"].as_str());
    (statuses.collect(), tools.iter().any(changes))
}

#[tokio::test]
async fn the_tour_reads_asks_edits_and_runs_as_it_is_answered() {
    let mut server = server().await;
    let session = prompted(&server, "Show me what you do").await;
    let command = tour(&server, &session).await;
    assert_eq!(allow(&server, &command).await["state"], "delivered");
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let items = server.api().items(&session).await;
    // The read, which nobody is asked for, the edit and the command.
    let statuses = vec!["completed", "completed", "completed"];
    assert_eq!(tools(&items), (statuses, true), "{items:#?}");
    let said = texts(&items, "text").join("\n");
    assert!(said.contains("Then it says \"Ahoy\"."), "{said}");
    assert!(said.contains("The command ran."), "{said}");
    server.stop().await;
}

#[tokio::test]
async fn the_tour_is_what_up_offers_where_nothing_is_installed() {
    let setup = Setup {
        command: ServeCommand::Up,
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Missing)
    };
    let mut server = setup.start().await;
    assert!(
        server.log().contains("No agent is installed"),
        "{}",
        server.log()
    );
    let session = server.api().start_session().await;
    server.api().prompt(&session, "hello").await;
    let command = tour(&server, &session).await;
    let denial = json!({ "answer": "deny" });
    server.api().answer(id(&command), &denial).await.expect(200);
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let items = server.api().items(&session).await;
    assert_eq!(server.api().session(&session).await["engine"], "demo");
    let said = texts(&items, "text").join("\n");
    assert!(said.contains("You denied the command"), "{said}");
    server.stop().await;
}

#[tokio::test]
async fn a_flood_of_words_is_taken_in_whole() {
    let server = server().await;
    let session = prompted(&server, "FLOOD 20000\nSAY The end.").await;
    assert_eq!(
        outcome(&server.api().turn_outcome(&session).await),
        "completed"
    );
    let said = texts(&server.api().items(&session).await, "text").join("");
    assert!(said.ends_with("The end."), "{} bytes", said.len());
    assert!(said.len() > 20_000, "{} bytes", said.len());
}
