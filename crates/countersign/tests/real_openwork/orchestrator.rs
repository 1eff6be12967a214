//! OpenWork's orchestrator with this program as its server: it starts it by the name of OpenWork's server, looks whether it
//! answers as that one does, and ends it.

use std::path::PathBuf;
use std::time::Duration;

use countersign_testkit::process::{Launch, marked};
use countersign_testkit::test_server::{Api, PATIENCE};
use countersign_testkit::{Program, RealOpencode, StubModel, eventually, peers, ports};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sdk::Sdk;
use crate::stage::{BINARY, CLIENT, HOST, text, wire_id};

/// How often an orchestrator is started until its opencode is healthy in time.
const TRIES: usize = 5;

/// A folder in which an orchestrator runs.
struct Yard {
    folder: TempDir,
    model: StubModel,
}

impl Yard {
    async fn lay_out() -> Self {
        let yard = Self {
            folder: tempfile::tempdir().unwrap(),
            model: StubModel::start().await,
        };
        std::fs::create_dir_all(yard.place("garden/.git")).unwrap();
        std::os::unix::fs::symlink(BINARY, yard.place("openwork-server")).unwrap();
        yard
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Prepares `openwork serve` with this program and the pinned opencode.
    fn serve(&self) -> (Launch, Ports) {
        let home = self.place("home");
        let variables = RealOpencode::environment(&home, &self.model.base_url());
        // The orchestrator gives opencode a folder of its own for its configuration: as in the one at home, the traces of
        // a finished installation keep opencode from making one.
        let own = self.place("orchestrator/opencode-config");
        std::fs::create_dir_all(own.join("node_modules")).unwrap();
        let lock = "package-lock.json";
        std::fs::copy(home.join(".config/opencode").join(lock), own.join(lock)).unwrap();
        let [openwork, opencode] = [ports::free(), ports::free()];
        let launch = Launch::new(peers::openwork(), self.place("orchestrator.log"))
            .inherit(&["PATH"])
            .variables(variables)
            .arguments(["serve", "--allow-external", "--json"])
            .arguments(["--workspace", self.place("garden").to_str().unwrap()])
            .arguments(["--data-dir", self.place("orchestrator").to_str().unwrap()])
            .arguments(["--opencode-bin", peers::opencode().to_str().unwrap()])
            .arguments([
                "--openwork-server-bin",
                self.place("openwork-server").to_str().unwrap(),
            ])
            .arguments(["--openwork-port", &openwork.to_string()])
            .arguments(["--opencode-port", &opencode.to_string()])
            .arguments(["--openwork-token", CLIENT])
            .arguments(["--openwork-host-token", HOST]);
        (launch, Ports { openwork, opencode })
    }

    /// Waits until nothing of it is left.
    async fn is_empty(&self) {
        let folder = self.place("");
        eventually(PATIENCE, "every process ends", async || {
            marked(folder.to_str().unwrap()).is_empty().then_some(())
        })
        .await;
    }
}

/// Where what an orchestrator starts listens.
struct Ports {
    openwork: u16,
    opencode: u16,
}

/// Starts an orchestrator whose opencode has become healthy.
///
/// It gives opencode ten seconds, which a first start on a busy machine may take alone; the next start finds everything
/// prepared by the one before.
async fn start(yard: &Yard, more: &[&str]) -> (Program, Ports) {
    for _ in 0..TRIES {
        let (launch, ports) = yard.serve();
        let mut program = launch.arguments(more).start().unwrap();
        hold_back(&mut program, &ports).await;
        let is_healthy = eventually(PATIENCE, "opencode is healthy, or not", async || {
            let has_ended = program.exit_status().is_some();
            let is_healthy = program.output().contains("[opencode] Healthy");
            (is_healthy || has_ended).then_some(is_healthy)
        });
        if is_healthy.await {
            return (program, ports);
        }
        yard.is_empty().await;
    }
    panic!("opencode was not healthy in time, {TRIES} times");
}

/// Has an orchestrator wait until its opencode answers: opencode takes connections a moment before it answers any, what is
/// asked in that moment is never answered, and the orchestrator asks at once and without a limit.
async fn hold_back(program: &mut Program, ports: &Ports) {
    let has_begun = |line: &str| line.contains("[opencode] Process spawned").then_some(());
    program
        .wait_for_line(PATIENCE, "opencode is started", has_begun)
        .await;
    program.signal(Signal::STOP);
    let url = format!("http://127.0.0.1:{}/global/health", ports.opencode);
    let client = countersign_testkit::http::client();
    eventually(PATIENCE, "opencode answers", async || {
        let request = client.get(&url).timeout(Duration::from_millis(500));
        request.send().await.ok()
    })
    .await;
    program.signal(Signal::CONT);
}

/// What the orchestrator says of what it started, once all of it runs.
async fn summary(program: &mut Program) -> Value {
    let complete = |line: &str| (line == "}").then_some(());
    program
        .wait_for_line(PATIENCE, "the end of the summary", complete)
        .await;
    let output = program.output();
    let start = output.find("\n{\n").expect("a summary begins") + 1;
    let end = output.find("\n}\n").expect("a summary ends") + 2;
    serde_json::from_str(&output[start..end]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_checks_of_the_server_pass() {
    let yard = Yard::lay_out().await;
    let (mut program, _) = start(&yard, &["--check", "--check-events"]).await;
    let ended = program.wait_for_exit(PATIENCE).await;
    let output = program.output();
    assert!(ended.success(), "{output}");
    assert!(output.contains("Checks ok"), "{output}");
    yard.is_empty().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_hands_out_works_and_nothing_is_left_when_it_ends() {
    let yard = Yard::lay_out().await;
    let (mut program, ports) = start(&yard, &[]).await;
    let said = summary(&mut program).await;
    assert_eq!(said["openwork"]["collaboratorToken"], CLIENT, "{said}");
    let url = format!("http://127.0.0.1:{}", ports.openwork);
    let owner = text(&said["openwork"]["ownerToken"]).to_owned();
    let owner = Api::new(url.clone(), Some(owner));

    // A command of the engine that it started, asked for and allowed with the collaborator's token.
    let id = wire_id(&yard.place("garden"));
    let mount = format!("{url}/w/{id}/opencode");
    let log = yard.place("sdk.log");
    let mut sdk = Sdk::launch(&peers::opencode_sdk(), &log, &[&mount], CLIENT);
    sdk.follow().await;
    let session = sdk.session().await;
    sdk.prompt(&session, "TOOL bash: echo peas > sown.txt")
        .await;
    let asked = sdk.event_of("permission.asked", &session).await;
    let reply = json!({ "requestID": asked["id"], "reply": "once" });
    sdk.call("permission.reply", reply).await.good();
    sdk.event_of("session.idle", &session).await;
    let sown = std::fs::read_to_string(yard.place("garden/sown.txt"));
    assert_eq!(sown.unwrap(), "peas\n");
    let asks = owner.get("/api/v1/asks?state=delivered").await;
    assert_eq!(asks["asks"][0]["raw"]["id"], asked["id"], "{asks}");
    assert_eq!(asks["asks"][0]["answer"]["by"]["name"], "openwork client");
    drop(sdk);

    program.signal(Signal::TERM);
    let ended = program.wait_for_exit(PATIENCE).await;
    assert!(ended.success(), "{}", program.output());
    yard.is_empty().await;
}
