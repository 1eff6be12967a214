//! A real agent with a model and a home of its own, behind a server that finds it on the `PATH`.

use std::time::Duration;

use countersign_testkit::test_server::{Engine, Reply, Setup};
use countersign_testkit::{RealAgent, StubModel, TestServer, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long an agent may take for anything: it is heavy, and the machine may be busy with two of them.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// An agent with a model and a home of its own, found on the `PATH` by the server as the one that it knows.
pub(crate) struct Scene {
    pub(crate) agent: RealAgent,
    pub(crate) server: TestServer,
    pub(crate) session: String,
    pub(crate) model: StubModel,
    pub(crate) home: TempDir,
}

/// What the server calls an agent.
pub(crate) fn engine(agent: RealAgent) -> &'static str {
    match agent {
        RealAgent::Opencode => "opencode-acp",
        RealAgent::Claude => "claude",
        RealAgent::Codex => "codex",
        RealAgent::Gemini => "gemini",
    }
}

impl Scene {
    pub(crate) async fn set(agent: RealAgent) -> Self {
        Self::with(agent, "").await
    }

    /// An agent with more settings than the server has for it by itself.
    pub(crate) async fn with(agent: RealAgent, settings: &str) -> Self {
        let model = StubModel::start().await;
        let home = tempfile::tempdir().expect("a directory can be made");
        let mut variables = agent.prepare(home.path(), &model).variables;
        if let Some(mode) = agent.asking_mode() {
            variables.push(("INITIAL_AGENT_MODE".to_owned(), mode.to_owned()));
        }
        let programs = home.path().join("programs");
        RealAgent::install(&programs);
        let path = std::env::var("PATH").unwrap_or_default();
        variables.push(("PATH".to_owned(), format!("{}:{path}", programs.display())));
        let setup = Setup {
            engine_settings: settings.to_owned(),
            variables,
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        let server = setup.start().await;
        let session = server.api().start_session_with(engine(agent)).await;
        Self {
            agent,
            server,
            session,
            model,
            home,
        }
    }

    /// Has the agent run a command, if it is let.
    pub(crate) async fn prompt(&self, command: &str) {
        let prompt = self.agent.shell_directive(command);
        self.server.api().prompt(&self.session, &prompt).await;
    }

    /// Has the agent ask for a command.
    pub(crate) async fn ask(&self, command: &str) -> Value {
        self.prompt(command).await;
        self.asked(command).await
    }

    /// Waits for the ask for a command, and panics if the turn ends without one.
    pub(crate) async fn asked(&self, command: &str) -> Value {
        eventually(PATIENCE, "the agent asks", async || {
            let open = self.server.api().open_asks().await;
            let ended = self.outcome().await;
            assert!(ended.is_none() || !open.is_empty(), "{ended:?}");
            let asks_for_it = |ask: &Value| {
                ask["summary"]
                    .as_str()
                    .expect("it is a text")
                    .contains(command)
            };
            open.into_iter().find(asks_for_it)
        })
        .await
    }

    pub(crate) async fn answer(&self, ask: &Value, answer: &Value) -> Value {
        self.server.api().answer(id(ask), answer).await.expect(200);
        self.server.api().settled(id(ask)).await
    }

    pub(crate) async fn allow(&self, ask: &Value) {
        let settled = self.answer(ask, &json!({ "answer": "allow_once" })).await;
        assert_eq!(settled["state"], "delivered");
    }

    /// Kills the server while the agent asks: the next one has the ask, and the agent gets the answer.
    pub(crate) async fn ask_outlives_the_server(&mut self) {
        let ask = self.ask("touch late.txt").await;
        self.server.kill();
        self.server.restart().await;
        self.allow(&ask).await;
        assert_eq!(self.comes_to_rest().await, "completed");
        assert!(self.has("late.txt"));
    }

    pub(crate) async fn cancel(&self) -> Reply {
        let path = format!("/api/v1/sessions/{}/cancel", self.session);
        self.server.api().post(&path, &json!({})).await
    }

    /// The life of the agent that serves the session.
    pub(crate) fn life(&self) -> String {
        self.server.agents().remove(0).run
    }

    /// How many asks there have been.
    pub(crate) async fn asks(&self) -> usize {
        let path = format!("/api/v1/asks?session={}", self.session);
        let asks = self.server.api().get(&path).await;
        asks["asks"].as_array().expect("it is a list").len()
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    /// How the newest turn ended, if it has.
    pub(crate) async fn outcome(&self) -> Option<Value> {
        let turn = self.server.api().session(&self.session).await["turn"].clone();
        (!turn["outcome"].is_null()).then(|| turn["outcome"].clone())
    }

    /// Waits until nothing goes on any more, and returns how the newest turn ended.
    pub(crate) async fn comes_to_rest(&self) -> String {
        let ended = eventually(PATIENCE, "the session comes to rest", async || {
            self.outcome().await
        });
        let ended = ended.await;
        ended["outcome"].as_str().expect("it is a text").to_owned()
    }

    /// How often the transcript has the words with which the model ends a turn.
    pub(crate) async fn told(&self) -> usize {
        let items = self.server.api().items(&self.session).await;
        let ends = |item: &&Value| item["kind"] == "text" && item["text"] == "DONE";
        items.iter().filter(ends).count()
    }

    pub(crate) async fn comes_to_an_end(mut self) {
        self.server.stop().await;
    }
}

pub(crate) fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("it is a text")
}
