//! Real ACP agents behind the whole program: each asks, is answered by a person, and does what it was answered.

use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{RealAgent, StubModel, TestServer, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An agent with a model and a home of its own, as an engine of a server.
struct Scene {
    agent: RealAgent,
    server: TestServer,
    session: String,
    _model: StubModel,
    _home: TempDir,
}

fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("an ask has an id")
}

impl Scene {
    async fn set(agent: RealAgent) -> Self {
        let model = StubModel::start().await;
        let home = tempfile::tempdir().expect("there is a temporary directory");
        let command = agent.prepare(home.path(), &model);
        let names: Vec<&String> = command.variables.iter().map(|(name, _)| name).collect();
        let setup = Setup {
            engine_settings: format!(
                "[[agents]]\nname = 'peer'\ncommand = {:?}\nargs = {:?}\nenv = {names:?}\n\
                 capabilities = {{ questions = 'forms' }}\n",
                command.program.display().to_string(),
                command.arguments
            ),
            variables: command.variables.clone(),
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        let server = setup.start().await;
        let session = server.api().start_session_with("peer").await;
        Self {
            agent,
            server,
            session,
            _model: model,
            _home: home,
        }
    }

    /// Has the agent ask for a command.
    async fn ask(&self, command: &str) -> Value {
        let prompt = self.agent.shell_directive(command);
        self.server.api().prompt(&self.session, &prompt).await;
        self.server.api().wait_for_ask_of(&self.session).await
    }

    async fn answer(&self, ask: &Value, answer: &Value) -> Value {
        let id = id(ask);
        self.server.api().answer(id, answer).await.expect(200);
        self.server.api().settled(id).await
    }

    fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    async fn first_turn_ends(&self) {
        eventually(PATIENCE, "the session comes to rest", async || {
            let session = self.server.api().session(&self.session).await;
            let over = session["activity"] == "idle" && !session["turn"]["outcome"].is_null();
            over.then_some(())
        })
        .await;
    }

    async fn comes_to_an_end(mut self) {
        self.server.stop().await;
    }
}

async fn allowed_runs(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch allowed.txt").await;
    assert!(
        ask["summary"].to_string().contains("touch allowed.txt"),
        "{ask}"
    );
    let settled = scene.answer(&ask, &json!({ "answer": "allow_once" })).await;
    assert_eq!(settled["state"], "delivered");
    scene.first_turn_ends().await;
    assert!(scene.has("allowed.txt"));
    scene.comes_to_an_end().await;
}

async fn denied_does_not_run_and_the_reason_follows(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch denied.txt").await;
    let denial = json!({ "answer": "deny", "reason": "use the other folder" });
    assert_eq!(scene.answer(&ask, &denial).await["state"], "delivered");
    eventually(PATIENCE, "the reason was said", async || {
        let turn = scene.server.api().session(&scene.session).await["turn"].clone();
        let said = turn["prompt"].as_str()?.contains("use the other folder");
        (said && !turn["outcome"].is_null()).then_some(())
    })
    .await;
    assert!(!scene.has("denied.txt"));
    scene.comes_to_an_end().await;
}

async fn an_ask_outlives_the_server(agent: RealAgent) {
    let mut scene = Scene::set(agent).await;
    let ask = scene.ask("touch late.txt").await;
    scene.server.kill();
    scene.server.restart().await;
    let settled = scene.answer(&ask, &json!({ "answer": "allow_once" })).await;
    assert_eq!(settled["state"], "delivered");
    scene.first_turn_ends().await;
    assert!(scene.has("late.txt"));
    scene.comes_to_an_end().await;
}

async fn cancelled_does_not_run(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch cancelled.txt").await;
    let path = format!("/api/v1/sessions/{}/cancel", scene.session);
    scene.server.api().post(&path, &json!({})).await.expect(200);
    let ask = scene.server.api().settled(id(&ask)).await;
    assert_eq!(ask["state"], "withdrawn");
    let ended = scene.server.api().turn_outcome(&scene.session).await;
    assert_eq!(ended["outcome"], "cancelled");
    assert!(!scene.has("cancelled.txt"));
    scene.comes_to_an_end().await;
}

async fn a_killed_agent_goes_on_in_a_new_process(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch lost.txt").await;
    scene.server.agents().remove(0).kill();
    let ask = scene.server.api().settled(id(&ask)).await;
    assert_eq!(ask["state"], "withdrawn");
    let ended = scene.server.api().turn_outcome(&scene.session).await;
    assert_eq!(ended["outcome"], "failed");
    let again = scene.ask("touch found.txt").await;
    scene
        .answer(&again, &json!({ "answer": "allow_once" }))
        .await;
    scene.first_turn_ends().await;
    assert!(scene.has("found.txt") && !scene.has("lost.txt"));
    scene.comes_to_an_end().await;
}

macro_rules! with_each_agent {
    ($($agent:ident => $variant:ident),*) => {
        $(mod $agent {
            use super::*;

            #[tokio::test]
            async fn what_is_allowed_runs() {
                allowed_runs(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn what_is_denied_does_not_run_and_the_reason_follows() {
                denied_does_not_run_and_the_reason_follows(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn an_ask_outlives_a_killed_server() {
                an_ask_outlives_the_server(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn what_is_cancelled_does_not_run() {
                cancelled_does_not_run(RealAgent::$variant).await;
            }
        })*
    };
}

// Codex only asks in a mode that nothing here can set yet.
with_each_agent!(opencode => Opencode, claude => Claude, gemini => Gemini);

#[tokio::test]
async fn a_killed_opencode_goes_on() {
    a_killed_agent_goes_on_in_a_new_process(RealAgent::Opencode).await;
}

#[tokio::test]
async fn a_killed_claude_goes_on() {
    a_killed_agent_goes_on_in_a_new_process(RealAgent::Claude).await;
}
