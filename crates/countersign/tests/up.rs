//! `countersign up` as a person meets it: a link that pairs, a page that answers, the truth about where prompts go, and
//! nothing left after Ctrl-C.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use countersign_testkit::process::{Launch, Program};
use countersign_testkit::{eventually, http, peers, ports};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
const PATIENCE: Duration = Duration::from_secs(50);
/// No program is found there.
const NOWHERE: &str = "/nonexistent";

/// A running `countersign up` in a home of its own.
struct Up {
    program: Program,
    url: String,
    root: TempDir,
}

/// What it is started with.
#[derive(Default)]
struct Wish<'a> {
    /// Where programs are looked for; nowhere if it is not said.
    path: Option<&'a Path>,
    arguments: &'a [&'a str],
    configuration: &'a str,
}

impl Wish<'_> {
    fn start(self) -> Up {
        let root = tempfile::tempdir().unwrap();
        for directory in ["home", "folder"] {
            std::fs::create_dir(root.path().join(directory)).unwrap();
        }
        std::fs::write(root.path().join("config.toml"), self.configuration).unwrap();
        let port = ports::free();
        let path = self.path.unwrap_or(Path::new(NOWHERE));
        let program = Launch::new(BINARY, root.path().join("up.log"))
            .variable("PATH", path)
            .variables(variables(root.path()))
            // As at a screen: what keeps the browser closed is that nobody sits at the terminal.
            .variable("DISPLAY", ":0")
            .directory(root.path().join("folder"))
            .arguments(["up", "--port", &port.to_string(), "--config"])
            .arguments([root.path().join("config.toml")])
            .arguments(self.arguments)
            .start()
            .unwrap();
        Up {
            program,
            url: format!("http://127.0.0.1:{port}"),
            root,
        }
    }
}

fn variables(root: &Path) -> [(&'static str, PathBuf); 3] {
    [
        ("HOME", root.join("home")),
        ("COUNTERSIGN_DATA", root.join("data")),
        ("USER", "ada".into()),
    ]
}

impl Up {
    /// Waits for a line that begins with `beginning`, and returns it.
    async fn line(&mut self, beginning: &str) -> String {
        let wanted = |line: &str| {
            line.trim_start()
                .starts_with(beginning)
                .then(|| line.trim().to_owned())
        };
        let found = self.program.wait_for_line(PATIENCE, beginning, wanted);
        found.await
    }

    /// What it says about where prompts go.
    async fn where_prompts_go(&mut self) -> String {
        let about_prompts = |line: &str| line.contains("rompts go ").then(|| line.to_owned());
        let found = self
            .program
            .wait_for_line(PATIENCE, "where prompts go", about_prompts);
        found.await
    }

    fn command(&self, arguments: &[&str]) -> Output {
        let output = Command::new(BINARY)
            .args(arguments)
            .current_dir(self.root.path().join("folder"))
            .env_clear()
            .envs(variables(self.root.path()))
            .output();
        output.expect("the program can be started")
    }

    /// The engine of a session for which none was named.
    fn engine_of_a_prompt(&self) -> String {
        let taken = self.command(&["prompt", "--detach", "--json", "SAY hello"]);
        assert!(taken.status.success(), "{taken:?}");
        let taken: Value = serde_json::from_slice(&taken.stdout).unwrap();
        let listed = self.command(&["sessions", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        let mut sessions = listed["sessions"].as_array().unwrap().iter();
        let session = sessions.find(|session| session["id"] == taken["session"]);
        session.unwrap()["engine"].as_str().unwrap().to_owned()
    }

    /// Presses Ctrl-C, and makes sure that nothing is left.
    async fn interrupt(mut self) {
        self.program.signal(Signal::INT);
        let status = self.program.wait_for_exit(PATIENCE).await;
        assert!(status.success(), "{status}: {}", self.program.output());
        assert_eq!(self.program.descendants(), Vec::<u32>::new());
        let data = self.root.path().join("data");
        for left in ["server.json", "countersign.sock"] {
            assert!(!data.join(left).exists(), "{left} is left");
        }
        let gone = self.command(&["inbox"]);
        assert_eq!(gone.status.code(), Some(7), "{gone:?}");
    }
}

/// A folder with a program called `name` that leaves a trace when it is started, and the trace.
fn traced(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let program = folder.path().join(name);
    std::fs::write(&program, format!("#!/bin/sh\n: > '{}'\n", trace.display())).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (folder, trace)
}

#[tokio::test]
async fn the_link_that_is_printed_pairs_one_browser_and_the_page_answers() {
    let (folder, opened) = traced("xdg-open");
    let wish = Wish {
        path: Some(folder.path()),
        ..Wish::default()
    };
    let mut up = wish.start();
    let link = up.line(&format!("{}/app/#pair=", up.url)).await;
    let (page, code) = link.split_once("#pair=").unwrap();

    let client = http::client();
    let page = client.get(page).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let kind = page.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("text/html"), "{kind}");
    let pair = async || {
        let request = client
            .post(format!("{}/api/v1/pair", up.url))
            .header("origin", &up.url)
            .json(&json!({ "code": code }));
        request.send().await.unwrap()
    };
    let paired = pair().await;
    assert_eq!(paired.status(), 200);
    assert!(paired.headers().contains_key("set-cookie"));
    let paired: Value = paired.json().await.unwrap();
    assert!(paired["page_key"].is_string(), "{paired}");
    assert_ne!(pair().await.status(), 200, "it works once");

    up.interrupt().await;
    assert!(!opened.exists(), "nobody sees a browser here");
}

#[tokio::test]
async fn without_any_agent_prompts_go_to_the_demo_agent_and_it_says_so() {
    let mut up = Wish::default().start();
    let said = up.where_prompts_go().await;
    assert_eq!(
        said,
        "No agent is installed: prompts go to the demo agent, which needs no model. \
         `countersign engines` says what to install."
    );
    // What is missing for opencode is said too.
    up.line("! opencode was not found on the PATH. Install it with `npm install -g opencode-ai`")
        .await;
    assert_eq!(up.engine_of_a_prompt(), "demo");
    up.interrupt().await;
}

#[tokio::test]
async fn an_opencode_that_the_configuration_names_is_where_prompts_go() {
    let program = peers::scripted_opencode();
    let configuration = format!("[engine]\nprogram = '{}'\n", program.display());
    let wish = Wish {
        configuration: &configuration,
        ..Wish::default()
    };
    let mut up = wish.start();
    let said = up.where_prompts_go().await;
    let expected = format!("Prompts go to opencode ({}). By name", program.display());
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.ends_with(": demo."), "{said}");
    up.line("✓ opencode is ready in ").await;
    assert_eq!(up.engine_of_a_prompt(), "opencode");
    up.interrupt().await;
}

#[tokio::test]
async fn an_opencode_on_the_path_is_where_prompts_go() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("opencode");
    symlink(peers::scripted_opencode(), &program).unwrap();
    let wish = Wish {
        path: Some(folder.path()),
        ..Wish::default()
    };
    let mut up = wish.start();
    let said = up.where_prompts_go().await;
    let expected = format!("Prompts go to opencode ({}).", program.display());
    assert!(said.starts_with(&expected), "{said}");
    up.line("✓ opencode is ready in ").await;
    assert_eq!(up.engine_of_a_prompt(), "opencode");
    up.interrupt().await;
}

#[tokio::test]
async fn an_opencode_that_runs_already_is_where_prompts_go() {
    let folder = tempfile::tempdir().unwrap();
    let port = ports::free().to_string();
    // A program of its own: what descends from an engine is not let in.
    let opencode = Launch::new(peers::scripted_opencode(), folder.path().join("log"))
        .arguments(["serve", "--port", &port])
        .start();
    let _opencode = opencode.unwrap();
    let address = format!("http://127.0.0.1:{port}");
    let wish = Wish {
        arguments: &["--attach", &address],
        ..Wish::default()
    };
    let mut up = wish.start();
    let said = up.where_prompts_go().await;
    let expected = format!("Prompts go to the opencode at {address}. By name");
    assert!(said.starts_with(&expected), "{said}");
    up.line("✓ opencode is ready in ").await;
    assert_eq!(up.engine_of_a_prompt(), "opencode");
    up.interrupt().await;
}

#[tokio::test]
async fn an_agent_of_the_configuration_is_where_prompts_go_if_there_is_no_opencode() {
    let configuration =
        format!("[[agents]]\nname = 'mine'\ncommand = '{BINARY}'\nargs = ['demo-agent']\n");
    for arguments in [&[][..], &["--no-engine"]] {
        let wish = Wish {
            arguments,
            configuration: &configuration,
            ..Wish::default()
        };
        let mut up = wish.start();
        let said = up.where_prompts_go().await;
        assert!(said.starts_with("Prompts go to mine (`mine`)."), "{said}");
        assert_eq!(up.engine_of_a_prompt(), "mine");
        up.interrupt().await;
    }
}

#[tokio::test]
async fn without_an_engine_prompts_go_nowhere_and_it_says_so() {
    // An agent that cannot be started does not let others in.
    for configuration in ["", "[[agents]]\nname = 'mine'\ncommand = '/nonexistent'\n"] {
        let wish = Wish {
            arguments: &["--no-engine"],
            configuration,
            ..Wish::default()
        };
        let mut up = wish.start();
        let said = up.where_prompts_go().await;
        assert_eq!(
            said,
            "Prompts go nowhere unless they name an agent. \
             By name (`countersign prompt --engine NAME`): demo."
        );
        let refused = up.command(&["prompt", "--detach", "SAY hello"]);
        assert!(!refused.status.success(), "{refused:?}");
        let why = String::from_utf8_lossy(&refused.stderr);
        assert!(why.contains("Name an agent with `--engine`"), "{why}");
        let named = up.command(&["prompt", "--detach", "--engine", "demo", "SAY hello"]);
        assert!(named.status.success(), "{named:?}");
        up.interrupt().await;
    }
}

#[tokio::test]
async fn a_browser_is_not_opened_where_it_is_not_wished_for() {
    let (folder, opened) = traced("xdg-open");
    let wish = Wish {
        path: Some(folder.path()),
        arguments: &["--no-open"],
        ..Wish::default()
    };
    let mut up = wish.start();
    let url = up.url.clone();
    up.line(&format!("{url}/app/#pair=")).await;
    eventually(PATIENCE, "the server is found", async || {
        up.command(&["inbox"]).status.success().then_some(())
    })
    .await;
    up.interrupt().await;
    assert!(!opened.exists());
}
