//! Asks of a real opencode, answered over HTTP: the tool runs or does not, the model gets to read why, and the ledger
//! says what the engine showed.

use std::path::Path;

use countersign_testkit::stub_model::tool_results;
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{StubModel, TestServer, eventually};
use serde_json::{Value, json};

#[path = "real_journeys/provider.rs"]
mod provider;
#[path = "real_journeys/standing.rs"]
mod standing;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// What the model reads when a person said no and not why.
const DENIED: &str = "A person denied this.";

/// A server with a real opencode, and the model behind it.
struct Stage {
    model: StubModel,
    server: TestServer,
}

impl Stage {
    async fn set() -> Self {
        let model = StubModel::start().await;
        let server = TestServer::with_real_opencode(BINARY, &model).await;
        Self { model, server }
    }

    /// A workspace that brings a configuration of its own.
    async fn with_project_configuration(configuration: &Value) -> Self {
        let model = StubModel::start().await;
        let engine = Engine::Real {
            model: model.base_url(),
        };
        let setup = Setup {
            files: vec![("opencode.json".to_owned(), configuration.to_string())],
            ..Setup::new(BINARY, engine)
        };
        let server = setup.start().await;
        server.api().wait_for_engine().await;
        Self { model, server }
    }

    fn api(&self) -> &Api {
        self.server.api()
    }

    fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    /// Says `text` in a new session, and returns the session and the ask that follows.
    async fn asked(&self, text: &str) -> (String, Value) {
        let session = self.api().start_and_prompt(text).await;
        let ask = self.api().wait_for_ask_of(&session).await;
        (session, ask)
    }

    /// Gives an answer that wins, and returns the ask once it is over.
    async fn answered(&self, ask: &Value, answer: &Value) -> Value {
        let taken = self.api().answer(id(ask), answer).await.expect_success();
        assert!(
            taken["state"] == "answered" || taken["state"] == "delivered",
            "{taken}"
        );
        self.api().settled(id(ask)).await
    }

    /// Waits until the model gets to read `text` as the result of a tool call.
    async fn model_reads(&self, text: &str) {
        let reads = |request: &Value| tool_results(request).iter().any(|it| it.contains(text));
        let description = format!("the model reads `{text}`");
        self.model
            .wait_for_request(PATIENCE, &description, reads)
            .await;
    }

    /// Waits until the model gets to read `text` in whatever place.
    async fn model_hears(&self, text: &str) {
        let hears = |request: &Value| request["messages"].to_string().contains(text);
        let description = format!("the model hears `{text}`");
        self.model
            .wait_for_request(PATIENCE, &description, hears)
            .await;
    }

    async fn turn_is(&self, session: &str, outcome: &str) {
        let ended = self.api().turn_outcome(session).await;
        assert_eq!(ended["outcome"], outcome, "{ended}");
    }

    async fn no_alarm(&self) {
        assert_eq!(self.api().alarms().await, Vec::<Value>::new());
    }
}

fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("an ask has an id")
}

fn allow_once() -> Value {
    json!({"answer": "allow_once"})
}

/// Checks that an ask was delivered, with the engine's own announcement as the proof.
#[track_caller]
fn assert_delivered(ask: &Value, event: &str) {
    assert_eq!(ask["state"], "delivered", "{ask}");
    let evidence = json!({"kind": "announced", "event": event});
    assert_eq!(ask["delivery"]["evidence"], evidence, "{ask}");
}

#[tokio::test]
async fn a_command_runs_after_a_yes_and_not_after_a_no() {
    let stage = Stage::set().await;
    let api = stage.api();

    let (session, ask) = stage
        .asked("TOOL bash: touch once.txt && echo made-it")
        .await;
    assert_eq!(ask["subject"]["tool"], "bash");
    let command = json!([{"kind": "command", "text": "touch once.txt && echo made-it"}]);
    assert_eq!(ask["subject"]["shown"], command);
    assert!(!stage.has("once.txt"), "nothing runs before the answer");
    let settled = stage.answered(&ask, &allow_once()).await;
    assert_delivered(&settled, "permission.replied");
    stage.model_reads("made-it").await;
    assert!(stage.has("once.txt"));
    stage.turn_is(&session, "completed").await;

    // Whoever comes second is told who was first; the same again by the same actor is fine.
    api.answer(id(&ask), &allow_once()).await.expect(200);
    let late = json!({"answer": "deny", "reason": "too late"});
    let refused = api.answer(id(&ask), &late).await.expect(409);
    assert_eq!(refused["code"], "already_answered");
    assert_eq!(refused["details"]["ask"]["answer"]["answer"], "allow_once");
    let other = stage.server.api_as("collaborator").await;
    other.answer(id(&ask), &allow_once()).await.expect(409);
    let unknown = id(&ask).replace(|digit: char| digit.is_ascii_digit(), "0");
    api.answer(&unknown, &allow_once()).await.expect(404);

    let (session, ask) = stage.asked("TOOL bash: touch option.txt").await;
    let option = json!({"answer": "option", "option": "once"});
    assert_delivered(&stage.answered(&ask, &option).await, "permission.replied");
    stage.turn_is(&session, "completed").await;
    assert!(stage.has("option.txt"));

    let (session, ask) = stage.asked("TOOL bash: touch denied.txt").await;
    let deny = json!({"answer": "deny", "reason": "use the staging folder instead"});
    assert_delivered(&stage.answered(&ask, &deny).await, "permission.replied");
    stage.model_reads("use the staging folder instead").await;
    stage.turn_is(&session, "completed").await;

    let (session, ask) = stage.asked("TOOL bash: touch silently-denied.txt").await;
    let silent = json!({"answer": "deny"});
    assert_delivered(&stage.answered(&ask, &silent).await, "permission.replied");
    stage.model_reads(DENIED).await;
    stage.turn_is(&session, "completed").await;

    let (session, ask) = stage.asked("TOOL bash: touch rejected.txt").await;
    let reject = json!({"answer": "option", "option": "reject", "reason": "by option"});
    assert_delivered(&stage.answered(&ask, &reject).await, "permission.replied");
    stage.model_reads("by option").await;
    stage.turn_is(&session, "completed").await;

    for file in ["denied.txt", "silently-denied.txt", "rejected.txt"] {
        assert!(!stage.has(file), "{file}");
    }
    stage.no_alarm().await;
}

#[tokio::test]
async fn an_edit_is_shown_whole_and_a_path_outside_is_asked_for() {
    let stage = Stage::set().await;
    let notes = stage.server.workspace().join("notes.txt");
    std::fs::write(&notes, "one\ntwo\n").unwrap();

    let change = format!(
        "TOOL read: {0}\nTOOL edit: {0} <<< two >>> three",
        notes.display()
    );
    let (session, ask) = stage.asked(&change).await;
    assert_eq!(ask["subject"]["tool"], "edit");
    let shown = &ask["subject"]["shown"][0];
    assert_eq!(shown["kind"], "diff");
    let patch = shown["patch"].as_str().unwrap();
    assert!(
        patch.contains("-two") && patch.contains("+three"),
        "{patch}"
    );
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\ntwo\n");
    let settled = stage.answered(&ask, &allow_once()).await;
    assert_delivered(&settled, "permission.replied");
    stage.turn_is(&session, "completed").await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nthree\n");

    let change = change
        .replace("two", "three")
        .replace(">>> three", ">>> four");
    let (session, ask) = stage.asked(&change).await;
    let deny = json!({"answer": "deny", "reason": "leave my notes alone"});
    assert_delivered(&stage.answered(&ask, &deny).await, "permission.replied");
    stage.model_reads("leave my notes alone").await;
    stage.turn_is(&session, "completed").await;
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nthree\n");

    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    std::fs::write(&secret, "the treasure").unwrap();
    let look = format!("TOOL read: {}", secret.display());
    let (session, ask) = stage.asked(&look).await;
    assert_outside(&ask, outside.path());
    let deny = json!({"answer": "deny", "reason": "stay inside"});
    assert_delivered(&stage.answered(&ask, &deny).await, "permission.replied");
    stage.model_reads("stay inside").await;
    stage.turn_is(&session, "completed").await;
    let requests = stage.model.requests();
    let leaked = requests
        .iter()
        .any(|it| it.to_string().contains("the treasure"));
    assert!(!leaked, "what was denied was not read");

    let (session, ask) = stage.asked(&look).await;
    assert_outside(&ask, outside.path());
    let settled = stage.answered(&ask, &allow_once()).await;
    assert_delivered(&settled, "permission.replied");
    stage.model_reads("the treasure").await;
    stage.turn_is(&session, "completed").await;
    stage.no_alarm().await;
}

#[track_caller]
fn assert_outside(ask: &Value, directory: &Path) {
    assert_eq!(ask["subject"]["tool"], "external_directory", "{ask}");
    let shown = &ask["subject"]["shown"][0];
    assert_eq!(shown["outside"], true, "{ask}");
    let path = shown["path"].as_str().expect("a path is a text");
    assert!(Path::new(path).starts_with(directory), "{path}");
}

#[tokio::test]
async fn always_answers_the_same_again_and_nothing_else() {
    let stage = Stage::set().await;
    let api = stage.api();
    let log = stage.server.workspace().join("log.txt");
    let times = || {
        std::fs::read_to_string(&log)
            .unwrap_or_default()
            .lines()
            .count()
    };

    let command = "TOOL bash: echo again >> log.txt";
    let (session, ask) = stage.asked(command).await;
    let always = json!({"answer": "allow_always", "scope": "session"});
    let settled = stage.answered(&ask, &always).await;
    assert_delivered(&settled, "permission.replied");
    let rule = settled["answer"]["rule"].clone();
    assert!(rule.is_string(), "{settled}");
    stage.turn_is(&session, "completed").await;
    assert_eq!(times(), 1);

    // The same command in the same session is answered by the rule.
    api.prompt(&session, command).await;
    eventually(PATIENCE, "the command runs again", async || {
        (times() == 2).then_some(())
    })
    .await;
    stage.turn_is(&session, "completed").await;
    let second = newest_ask(api, &session).await;
    assert_ne!(id(&second), id(&ask));
    assert_delivered(&second, "permission.replied");
    assert_eq!(second["answer"]["by"]["kind"], "rule", "{second}");
    assert_eq!(second["answer"]["rule"], rule);

    // A different command is not, nor the same one in another session.
    api.prompt(
        &session,
        "TOOL bash: echo again >> log.txt; touch other.txt",
    )
    .await;
    let different = api.wait_for_ask_of(&session).await;
    stage.answered(&different, &json!({"answer": "deny"})).await;
    stage.turn_is(&session, "completed").await;
    let (elsewhere, ask) = stage.asked(command).await;
    assert_eq!(times(), 2);

    // For the whole workspace it is.
    let always = json!({"answer": "allow_always", "scope": "workspace"});
    stage.answered(&ask, &always).await;
    stage.turn_is(&elsewhere, "completed").await;
    let third = api.start_and_prompt(command).await;
    stage.turn_is(&third, "completed").await;
    assert_eq!(times(), 4);
    assert_eq!(
        newest_ask(api, &third).await["answer"]["by"]["kind"],
        "rule"
    );
    assert!(!stage.has("other.txt"));

    // The engine itself was never told "always".
    let (last, ask) = stage.asked("TOOL bash: echo another >> log.txt").await;
    stage.answered(&ask, &json!({"answer": "deny"})).await;
    stage.turn_is(&last, "completed").await;
    stage.no_alarm().await;
}

async fn newest_ask(api: &Api, session: &str) -> Value {
    let path = format!("/api/v1/asks?session={session}&limit=1");
    api.get(&path).await["asks"][0].clone()
}

#[tokio::test]
async fn a_question_is_answered_with_choices_or_words_or_declined() {
    let stage = Stage::set().await;
    let question = "TOOL question: Which database? | sqlite | postgres";

    let (session, ask) = stage.asked(question).await;
    let part = &ask["subject"]["questions"][0];
    assert_eq!(part["question"], "Which database?");
    assert_eq!(part["options"][1]["label"], "postgres");
    let unfit = stage.api().answer(id(&ask), &allow_once()).await;
    unfit.expect(422);
    let choice = json!({"answer": "choices", "choices": [["postgres"]]});
    assert_delivered(&stage.answered(&ask, &choice).await, "question.replied");
    stage.model_reads("postgres").await;
    stage.turn_is(&session, "completed").await;

    let (session, ask) = stage.asked(question).await;
    let words = json!({"answer": "choices", "choices": [["neither, use a file"]]});
    assert_delivered(&stage.answered(&ask, &words).await, "question.replied");
    stage.model_reads("neither, use a file").await;
    stage.turn_is(&session, "completed").await;

    // opencode has no place for the reason of a declined question: it follows as a prompt.
    let (session, ask) = stage.asked(question).await;
    let deny = json!({"answer": "deny", "reason": "find it out yourself"});
    assert_delivered(&stage.answered(&ask, &deny).await, "question.rejected");
    stage.model_hears("find it out yourself").await;
    stage.turn_is(&session, "completed").await;

    let (session, ask) = stage.asked(question).await;
    let option = json!({"answer": "option", "option": "reject"});
    assert_delivered(&stage.answered(&ask, &option).await, "question.rejected");
    stage.api().turn_outcome(&session).await;
    stage.no_alarm().await;
}

#[tokio::test]
async fn two_asks_at_once_are_answered_apart_and_fall_together() {
    let stage = Stage::set().await;
    let api = stage.api();
    let both =
        |one: &str, other: &str| format!("TOOL bash: touch {one}\n& TOOL bash: touch {other}");
    let pair = async |session: &str| {
        eventually(PATIENCE, "two asks are open", async || {
            let mut asks = api.open_asks().await;
            asks.retain(|ask| ask["session"] == session);
            <[Value; 2]>::try_from(asks).ok()
        })
        .await
    };

    let session = api.start_and_prompt(&both("a.txt", "b.txt")).await;
    let [one, other] = pair(&session).await;
    assert_eq!(api.ask(id(&one)).await["siblings"], json!([id(&other)]));
    assert_delivered(
        &stage.answered(&one, &allow_once()).await,
        "permission.replied",
    );
    assert_eq!(api.ask(id(&other)).await["state"], "open");
    assert_delivered(
        &stage.answered(&other, &allow_once()).await,
        "permission.replied",
    );
    stage.turn_is(&session, "completed").await;
    assert!(stage.has("a.txt") && stage.has("b.txt"));

    let session = api.start_and_prompt(&both("c.txt", "d.txt")).await;
    let [one, other] = pair(&session).await;
    let deny = json!({"answer": "deny", "reason": "neither of these files"});
    assert_delivered(&stage.answered(&one, &deny).await, "permission.replied");
    let fallen = api.settled(id(&other)).await;
    assert_eq!(fallen["state"], "withdrawn", "{fallen}");
    let why = fallen["why"].as_str().unwrap();
    assert!(why.contains(id(&one)) && why.contains("denied"), "{why}");
    api.answer(id(&other), &allow_once()).await.expect(410);

    // opencode drops the reason when other asks fall, so it follows as a prompt.
    stage.model_hears("neither of these files").await;
    stage.turn_is(&session, "completed").await;
    assert!(!stage.has("c.txt") && !stage.has("d.txt"));
    stage.no_alarm().await;
}

#[tokio::test]
async fn a_sub_agents_ask_is_shown_with_its_parent() {
    let stage = Stage::set().await;
    let api = stage.api();
    let delegated = |command: &str| {
        format!("TOOL task: look into it | TOOL bash: {command} ;; FINAL the helper is done")
    };

    let parent = api.start_and_prompt(&delegated("touch sub.txt")).await;
    let of_a_child = |ask: &Value| ask["parent_session"] == parent.as_str();
    let ask = api.wait_for_ask("the sub-agent asks", of_a_child).await;
    assert_eq!(ask["requester"], "general", "{ask}");
    let child = api.session(ask["session"].as_str().unwrap()).await;
    assert_eq!(child["parent"], parent.as_str());
    assert!(!stage.has("sub.txt"));
    assert_delivered(
        &stage.answered(&ask, &allow_once()).await,
        "permission.replied",
    );
    stage.turn_is(&parent, "completed").await;
    assert!(stage.has("sub.txt"));

    let parent = api
        .start_and_prompt(&delegated("touch sub-denied.txt"))
        .await;
    let of_a_child = |ask: &Value| ask["parent_session"] == parent.as_str();
    let ask = api.wait_for_ask("the sub-agent asks", of_a_child).await;
    let deny = json!({"answer": "deny", "reason": "helpers write nothing"});
    assert_delivered(&stage.answered(&ask, &deny).await, "permission.replied");
    stage.model_reads("helpers write nothing").await;
    stage.turn_is(&parent, "completed").await;
    assert!(!stage.has("sub-denied.txt"));
    stage.no_alarm().await;
}

#[tokio::test]
async fn a_cancelled_turn_leaves_no_ask_behind_in_the_ledger_or_the_engine() {
    let stage = Stage::set().await;
    let api = stage.api();
    let engine = stage.server.engine();
    let prompts = [
        "TOOL bash: touch cancelled.txt\n& TOOL bash: touch cancelled.txt",
        // opencode ends the sub-agent first, and lets the parent go on until it is its turn to be ended.
        "TOOL task: look into it | TOOL bash: touch cancelled.txt\nSTALL",
        "TOOL question: Which one? | this | that",
    ];
    for prompt in prompts {
        let session = api.start_and_prompt(prompt).await;
        let of_family = |ask: &Value| {
            ask["session"] == session.as_str() || ask["parent_session"] == session.as_str()
        };
        let ask = api.wait_for_ask("the turn asks", of_family).await;
        let path = format!("/api/v1/sessions/{session}/cancel");
        api.post(&path, &json!({})).await.expect(200);
        let over = api.settled(id(&ask)).await;
        assert_eq!(over["state"], "withdrawn", "{over}");
        assert_eq!(over["why"], "the turn was cancelled");
        let late = json!({"answer": "deny"});
        api.answer(id(&ask), &late).await.expect(410);
        stage.turn_is(&session, "cancelled").await;
        for list in ["/permission", "/question"] {
            eventually(PATIENCE, "the engine holds no zombie", async || {
                (engine.get(list).await == json!([])).then_some(())
            })
            .await;
        }
        assert_eq!(api.open_asks().await, Vec::<Value>::new());
    }
    assert!(!stage.has("cancelled.txt"));
    stage.no_alarm().await;
}

#[tokio::test]
async fn a_projects_configuration_cannot_switch_asking_off_and_its_denials_stay() {
    let permission = json!({"bash": {"*": "allow", "rm *": "deny"}, "edit": "allow"});
    let configuration = json!({
        "permission": permission,
        "agent": {
            "build": {"permission": permission},
            "bold": {"description": "acts", "mode": "subagent", "permission": permission},
        },
    });
    let stage = Stage::with_project_configuration(&configuration).await;
    let api = stage.api();
    let kept = stage.server.workspace().join("kept.txt");
    std::fs::write(&kept, "precious").unwrap();
    let written = stage.server.workspace().join("written.txt");
    let steps = [
        ("bash", "TOOL bash: touch ran.txt".to_owned()),
        (
            "edit",
            format!("TOOL write: {} <<< text", written.display()),
        ),
    ];
    let deny = json!({"answer": "deny"});

    for (tool, step) in &steps {
        let (session, ask) = stage.asked(step).await;
        assert_eq!(ask["subject"]["tool"], *tool);
        stage.answered(&ask, &deny).await;
        stage.turn_is(&session, "completed").await;
    }
    for (tool, step) in &steps {
        let parent = api
            .start_and_prompt(&format!("TOOL task: do it | {step}"))
            .await;
        let of_a_child = |ask: &Value| ask["parent_session"] == parent.as_str();
        let ask = api.wait_for_ask("the sub-agent asks", of_a_child).await;
        assert_eq!(ask["subject"]["tool"], *tool);
        stage.answered(&ask, &deny).await;
        stage.turn_is(&parent, "completed").await;
    }

    // A sub-agent that would not ask is not even started without leave.
    let (_, step) = &steps[0];
    let task = json!({"description": "do it", "prompt": step, "subagent_type": "bold"});
    let (session, ask) = stage.asked(&format!("TOOLJSON task {task}")).await;
    assert_eq!(ask["subject"]["tool"], "task");
    // What it is told is part of what is asked for: an "always" is for this prompt.
    assert_eq!(ask["subject"]["targets"][0], "bold");
    let told = ask["subject"]["targets"][1].as_str().unwrap();
    assert!(told.contains("touch ran.txt"), "{told}");
    stage.answered(&ask, &deny).await;
    stage.turn_is(&session, "completed").await;
    assert!(!stage.has("ran.txt") && !stage.has("written.txt"));

    for prompt in [
        "TOOL bash: rm kept.txt",
        "TOOL task: do it | TOOL bash: rm kept.txt",
    ] {
        let session = api.start_and_prompt(prompt).await;
        stage.turn_is(&session, "completed").await;
    }
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "precious");
    let asks = api.get("/api/v1/asks").await;
    let mut asks = asks["asks"].as_array().unwrap().iter();
    let asked = asks.any(|ask| ask["subject"]["targets"] == json!(["rm kept.txt"]));
    assert!(!asked, "what is denied is not asked for");
    stage.no_alarm().await;
}
