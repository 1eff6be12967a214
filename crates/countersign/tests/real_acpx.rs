//! An ACP client that is not ours, acpx: it drives the demo agent, and an agent behind the proxy, whose asks are answered
//! by acpx itself or here.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Output;

use countersign_testkit::acp_agents::AgentCommand;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{RealAgent, StubModel, TestServer, eventually, peers};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

#[expect(
    dead_code,
    reason = "nothing is waited for here until it leaves the screen"
)]
#[path = "plugin/terminal.rs"]
mod terminal;

use terminal::Terminal;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A server, and a home directory for acpx.
struct Desk {
    server: TestServer,
    home: TempDir,
    /// More variables of acpx, which are also those of its agent.
    more: Vec<(String, String)>,
}

impl Desk {
    async fn set_up() -> Self {
        Self {
            server: Setup::new(BINARY, Engine::None).start().await,
            home: tempfile::tempdir().expect("a temporary directory can be made"),
            more: Vec::new(),
        }
    }

    /// Has a real agent with `model` at hand, and returns the words that start it behind the proxy.
    fn prepare(&mut self, agent: RealAgent, model: &StubModel) -> String {
        let AgentCommand {
            program,
            arguments,
            variables,
        } = agent.prepare(self.home.path(), model);
        self.more = variables;
        let program = program.display();
        format!("{BINARY} acp-proxy -- {program} {}", arguments.join(" "))
    }

    fn variables(&self) -> Vec<(String, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut variables = vec![
            ("HOME".to_owned(), text(self.home.path().to_owned())),
            ("COUNTERSIGN_DATA".to_owned(), text(self.server.data())),
        ];
        variables.extend(self.more.iter().cloned());
        variables
    }

    /// acpx with `agent`, these options and one prompt, as words.
    fn acpx(&self, agent: &str, options: &[&str], prompt: &str) -> Vec<String> {
        let (node, script) = peers::acpx();
        let workspace = self.server.workspace().to_string_lossy();
        let mut words = vec![node.to_string_lossy().into_owned()];
        words.extend(script);
        words.extend(["--agent", agent, "--cwd", &workspace].map(str::to_owned));
        words.extend(options.iter().map(|option| (*option).to_owned()));
        words.extend(["exec", prompt].map(str::to_owned));
        words
    }

    /// Runs acpx without a terminal.
    async fn run(&self, agent: &str, options: &[&str], prompt: &str) -> Output {
        let words = self.acpx(agent, options, prompt);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.variables())
            .kill_on_drop(true)
            .output();
        tokio::time::timeout(PATIENCE, output)
            .await
            .expect("acpx ends")
            .expect("acpx can be started")
    }

    /// Runs acpx in a terminal, where it asks whoever sits there.
    fn open_terminal(&self, agent: &str, prompt: &str) -> Terminal {
        let words: Vec<String> = self
            .acpx(agent, &[], prompt)
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        let script = self.home.path().join("acpx.sh");
        let text = format!(
            "#!/bin/sh\n{}\necho \"acpx ended: $?\"\nread -r end\n",
            words.join(" ")
        );
        std::fs::write(&script, text).expect("the directory can be written");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700))
            .expect("the directory can be written");
        Terminal::open(&script, self.server.workspace(), &self.variables())
    }

    fn has_made(&self) -> bool {
        self.server.workspace().join("made.txt").exists()
    }

    async fn asks(&self) -> Vec<Value> {
        let list = self.server.api().get("/api/v1/asks").await;
        list["asks"].as_array().expect("a list of asks").clone()
    }
}

fn demo() -> String {
    format!("{BINARY} demo-agent")
}

fn proxied() -> String {
    format!("{BINARY} acp-proxy -- {}", demo())
}

const PROMPT: &str = "RUN echo done > made.txt";

#[tokio::test]
async fn real_acpx_drives_the_demo_agent() {
    let desk = Desk::set_up().await;
    let denied = desk.run(&demo(), &["--deny-all"], PROMPT).await;
    let said = String::from_utf8_lossy(&denied.stdout).into_owned();
    assert!(said.contains("was denied"), "{denied:?}");
    assert!(!desk.has_made());
    let allowed = desk
        .run(&demo(), &["--approve-all", "--format", "json"], PROMPT)
        .await;
    assert!(allowed.status.success(), "{allowed:?}");
    assert!(desk.has_made());
    let frames = String::from_utf8_lossy(&allowed.stdout).into_owned();
    assert!(frames.contains(r#""stopReason":"end_turn""#), "{frames}");
}

#[tokio::test]
async fn real_acpx_answers_by_its_own_policy_behind_the_proxy() {
    let desk = Desk::set_up().await;
    let denied = desk.run(&proxied(), &["--deny-all"], PROMPT).await;
    let said = String::from_utf8_lossy(&denied.stdout).into_owned();
    assert!(said.contains("was denied"), "{denied:?}");
    assert!(!desk.has_made());
    let allowed = desk.run(&proxied(), &["--approve-all"], PROMPT).await;
    assert!(allowed.status.success(), "{allowed:?}");
    assert!(desk.has_made());
    // It is that fast that the server may not have heard of it.
    for ask in desk.asks().await {
        assert_eq!(ask["state"], "withdrawn", "{ask:#}");
    }
    eventually(PATIENCE, "nothing is left", async || {
        (desk.server.processes().len() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn real_acpx_waits_while_its_agents_ask_is_answered_here() {
    let desk = Desk::set_up().await;
    let terminal = desk.open_terminal(&proxied(), PROMPT);
    terminal.shows("(y/N)").await;
    let api = desk.server.api();
    let ask = api.wait_for_ask("it is handed in", |_| true).await;
    assert_eq!(ask["door"], "acp_proxy");
    assert_eq!(ask["summary"], "echo done > made.txt");
    assert!(!desk.has_made());
    let id = ask["id"].as_str().unwrap();
    let allowed = desk.server.cli(&["allow", id]).await;
    assert!(allowed.expect_success().stdout.contains("delivered"));
    // Nobody types anything: the dialog goes away by itself. That the agent may have the command run is acpx's own affair.
    terminal.shows("Allow terminal command").await;
    terminal.says("y").await;
    terminal.shows("was allowed and is done.").await;
    // acpx counts a dialog that was taken from it as a leave that it did not give.
    terminal.shows("acpx ended: 5").await;
    assert!(desk.has_made());
}

#[tokio::test]
async fn real_acpx_answers_first_in_its_terminal() {
    let desk = Desk::set_up().await;
    let terminal = desk.open_terminal(&proxied(), PROMPT);
    terminal.shows("(y/N)").await;
    let api = desk.server.api();
    let ask = api.wait_for_ask("it is handed in", |_| true).await;
    terminal.says("y").await;
    let settled = api.settled(ask["id"].as_str().unwrap()).await;
    assert_eq!(settled["state"], "withdrawn");
    assert_eq!(
        settled["why"],
        "it was answered in the editor, with `Allow`"
    );
    terminal.shows("Allow terminal command").await;
    terminal.says("y").await;
    terminal.shows("acpx ended: 0").await;
    assert!(desk.has_made());
    let late = json!({ "answer": "deny" });
    api.answer(ask["id"].as_str().unwrap(), &late)
        .await
        .expect(410);
}

/// A real agent behind the proxy: what is answered here is what happens, whatever stands in the terminal.
async fn a_real_agent_does_what_it_is_answered_here(agent: RealAgent) {
    let model = StubModel::start().await;
    let mut desk = Desk::set_up().await;
    let command = desk.prepare(agent, &model);
    let denial: &[&str] = &["deny", "--reason", "not now"];
    for (answer, is_made) in [(denial, false), (&["allow"], true)] {
        let prompt = agent.shell_directive("touch made.txt");
        let terminal = desk.open_terminal(&command, &prompt);
        let api = desk.server.api();
        let ask = api.wait_for_ask("it is handed in", |_| true).await;
        assert_eq!(ask["door"], "acp_proxy");
        assert_eq!(ask["summary"], "touch made.txt");
        terminal.shows("(y/N)").await;
        assert!(!desk.has_made());
        let id = ask["id"].as_str().expect("it has an id");
        let answered = desk.server.cli(&[answer, &[id]].concat()).await;
        assert!(answered.expect_success().stdout.contains("delivered"));
        terminal.shows("acpx ended:").await;
        assert_eq!(
            desk.has_made(),
            is_made,
            "{answer:?}: {}",
            terminal.screen()
        );
    }
    eventually(PATIENCE, "nothing is left", async || {
        (desk.server.processes().len() == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn real_acpx_drives_opencode_behind_the_proxy() {
    a_real_agent_does_what_it_is_answered_here(RealAgent::Opencode).await;
}

#[tokio::test]
async fn real_acpx_drives_claude_behind_the_proxy() {
    a_real_agent_does_what_it_is_answered_here(RealAgent::Claude).await;
}
