//! The plugin in an opencode that somebody runs himself: its asks are answered from here or in its own terminal,
//! whichever is first, and count as delivered only when opencode has announced it.

use std::path::{Path, PathBuf};

use countersign_testkit::peers::Opencode;
use countersign_testkit::process::Launch;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{Program, RealOpencode, StubModel, TestServer, eventually, ports};
use serde_json::{Value, json};
use tempfile::TempDir;

use terminal::Terminal;

#[path = "plugin/terminal.rs"]
mod terminal;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
const DIALOG: &str = "Permission required";

/// A server without an engine of its own, and an opencode of somebody's with the plugin.
struct Stage {
    model: StubModel,
    server: TestServer,
    release: Opencode,
    environment: Vec<(String, String)>,
    _home: TempDir,
}

impl Stage {
    async fn set(release: Opencode) -> Self {
        let model = StubModel::start().await;
        let server = Setup::new(BINARY, Engine::None).start().await;
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let token = home.path().join("agent.token");
        std::fs::write(&token, server.token("agent").await).expect("the directory can be written");
        let mut environment = RealOpencode::environment_of(release, home.path(), &model.base_url());
        load_plugin(home.path());
        environment.extend([
            ("COUNTERSIGN_URL".to_owned(), server.url()),
            (
                "COUNTERSIGN_TOKEN_FILE".to_owned(),
                token.to_string_lossy().into_owned(),
            ),
        ]);
        Self {
            model,
            server,
            release,
            environment,
            _home: home,
        }
    }

    fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    async fn appears(&self, file: &str) {
        eventually(PATIENCE, &format!("`{file}` is written"), async || {
            self.has(file).then_some(())
        })
        .await;
    }

    /// opencode as its user sees it.
    async fn terminal(&self) -> Terminal {
        let program = self.release.executable();
        let terminal = Terminal::open(&program, self.server.workspace(), &self.environment);
        terminal.shows("Ask anything").await;
        terminal
    }

    /// opencode with more arguments and without a terminal.
    fn start(&self, arguments: &[&str]) -> Program {
        Launch::new(
            self.release.executable(),
            self.server.data().join("opencode.log"),
        )
        .inherit(&["PATH"])
        .variables(self.environment.iter().map(|(name, value)| (name, value)))
        .directory(self.server.workspace())
        .arguments(arguments)
        .start()
        .expect("the pinned opencode can be started")
    }

    async fn ask(&self, command: &str) -> Value {
        let description = format!("`{command}` is asked");
        let wanted = |ask: &Value| ask["subject"]["targets"] == json!([command]);
        self.server.api().wait_for_ask(&description, wanted).await
    }

    async fn answered(&self, ask: &Value, answer: &Value) -> Value {
        let id = ask["id"].as_str().expect("an ask has an id");
        self.server.api().answer(id, answer).await.expect(200);
        self.server.api().settled(id).await
    }
}

/// Names the plugin in the configuration that was prepared in `home`.
fn load_plugin(home: &Path) {
    let path = home.join(".config/opencode/opencode.json");
    let text = std::fs::read_to_string(&path).expect("it was just written");
    let mut configuration: Value = serde_json::from_str(&text).expect("it is JSON");
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/opencode/src/index.ts");
    let plugin: PathBuf = plugin.canonicalize().expect("the plugin is there");
    configuration["plugin"] = json!([format!("file://{}", plugin.display())]);
    std::fs::write(&path, configuration.to_string()).expect("the directory can be written");
}

fn reported() -> Value {
    json!({ "kind": "reported", "event": "permission.replied" })
}

#[tokio::test]
async fn an_answer_from_here_runs_the_tool_and_closes_the_dialog() {
    let stage = Stage::set(Opencode::V1_18_33).await;
    let terminal = stage.terminal().await;
    terminal.says("TOOL bash: echo hi > allowed.txt").await;
    let ask = stage.ask("echo hi > allowed.txt").await;
    terminal.shows(DIALOG).await;
    assert_eq!(ask["door"], "opencode_plugin");

    let settled = stage
        .answered(&ask, &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    assert_eq!(settled["delivery"]["evidence"], reported());
    stage.appears("allowed.txt").await;
    terminal.shows_no_more(DIALOG).await;

    terminal.says("TOOL bash: echo hi > denied.txt").await;
    let ask = stage.ask("echo hi > denied.txt").await;
    let deny = json!({ "answer": "deny", "reason": "the moon is full" });
    let settled = stage.answered(&ask, &deny).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    let reads = |request: &Value| request.to_string().contains("the moon is full");
    stage
        .model
        .wait_for_request(PATIENCE, "the model reads the reason", reads)
        .await;
    terminal.shows_no_more(DIALOG).await;
    assert!(!stage.has("denied.txt"));
    assert!(stage.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn an_answer_in_the_terminal_ends_the_ask_here() {
    let stage = Stage::set(Opencode::V1_18_33).await;
    let terminal = stage.terminal().await;
    terminal.says("TOOL bash: echo hi > here.txt").await;
    let ask = stage.ask("echo hi > here.txt").await;
    terminal.shows(DIALOG).await;
    terminal.presses("Enter");

    let id = ask["id"].as_str().expect("an ask has an id");
    let settled = stage.server.api().settled(id).await;
    assert_eq!(settled["state"], "withdrawn", "{settled}");
    let why = settled["why"].to_string();
    assert!(why.contains("answered at the engine itself"), "{why}");
    stage.appears("here.txt").await;
    assert!(stage.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn the_end_of_opencode_ends_its_asks() {
    let stage = Stage::set(Opencode::V1_18_33).await;
    let terminal = stage.terminal().await;
    terminal.says("TOOL bash: echo hi > never.txt").await;
    let ask = stage.ask("echo hi > never.txt").await;
    drop(terminal);
    let id = ask["id"].as_str().expect("an ask has an id");
    let settled = stage.server.api().settled(id).await;
    assert_eq!(settled["state"], "withdrawn", "{settled}");
    assert!(!stage.has("never.txt"));
}

#[tokio::test]
async fn a_reply_that_an_old_server_accepts_and_drops_is_brought_over_its_address() {
    let stage = Stage::set(Opencode::V1_15_3).await;
    let port = ports::free().to_string();
    let mut opencode = stage.start(&["serve", "--hostname", "127.0.0.1", "--port", &port]);
    let url = format!("http://127.0.0.1:{port}");
    let line = format!("opencode server listening on {url}");
    let ready = |printed: &str| (printed == line).then_some(());
    opencode.wait_for_line(PATIENCE, &line, ready).await;

    let http = countersign_testkit::http::client();
    let post = async |path: &str, body: Value| {
        let request = http.post(format!("{url}{path}")).json(&body);
        let response = request.send().await.expect("opencode answers");
        let text = response.text().await.expect("the answer is whole");
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    let session = post("/session", json!({})).await;
    let session = session["id"].as_str().expect("a session has an id");
    let text = "TOOL bash: echo hi > old.txt && echo done";
    let parts = json!({ "parts": [{ "type": "text", "text": text }] });
    post(&format!("/session/{session}/prompt_async"), parts).await;

    // This release does not tell the command with the request; it is known from the tool call.
    let ask = stage.ask("echo hi > old.txt && echo done").await;
    let settled = stage
        .answered(&ask, &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    assert_eq!(settled["delivery"]["evidence"], reported());
    stage.appears("old.txt").await;

    // It says yes to everything, also about what it does not know: that proves nothing.
    let native = ask["raw"]["id"].as_str().expect("a request has an id");
    for unknown in [native, "per_never_asked"] {
        let path = format!("/permission/{unknown}/reply");
        assert_eq!(post(&path, json!({ "reply": "reject" })).await, true);
    }
    let id = ask["id"].as_str().expect("an ask has an id");
    assert_eq!(stage.server.api().ask(id).await, settled);

    // A request that it has dropped ends here too, and not as delivered, whatever it says to a reply.
    let session = post("/session", json!({})).await;
    let session = session["id"].as_str().expect("a session has an id");
    let text = "TOOL bash: echo hi > dropped.txt";
    let parts = json!({ "parts": [{ "type": "text", "text": text }] });
    post(&format!("/session/{session}/prompt_async"), parts).await;
    let ask = stage.ask("echo hi > dropped.txt").await;
    post(&format!("/session/{session}/abort"), json!({})).await;
    let id = ask["id"].as_str().expect("an ask has an id");
    let settled = stage.server.api().settled(id).await;
    assert_eq!(settled["state"], "withdrawn", "{settled}");
    let allow = json!({ "answer": "allow_once" });
    stage.server.api().answer(id, &allow).await.expect(410);
    let native = ask["raw"]["id"].as_str().expect("a request has an id");
    let path = format!("/permission/{native}/reply");
    assert_eq!(post(&path, json!({ "reply": "once" })).await, true);
    assert!(!stage.has("dropped.txt"));
    assert_eq!(stage.server.api().ask(id).await["state"], "withdrawn");
}

#[tokio::test]
async fn opencode_run_rejects_by_itself_and_it_is_said() {
    let stage = Stage::set(Opencode::V1_18_33).await;
    let mut run = stage.start(&["run", "\nTOOL bash: echo hi > run.txt\n"]);
    run.wait_for_exit(PATIENCE).await;
    let said = run.output();
    assert!(
        said.contains("`opencode run` rejects every ask by itself"),
        "{said}"
    );
    assert!(!stage.has("run.txt"));
    eventually(PATIENCE, "no ask is left open", async || {
        stage
            .server
            .api()
            .open_asks()
            .await
            .is_empty()
            .then_some(())
    })
    .await;
}
