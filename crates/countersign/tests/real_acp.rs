//! Real ACP agents behind the whole program: each asks, is answered by a person, and does what it was answered.

use std::time::Duration;

use countersign_testkit::test_server::{Engine, PATIENCE, Reply, Setup};
use countersign_testkit::{RealAgent, StubModel, TestServer, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long after an answer the turn is cancelled: before it, on its heels, and while it may be at work.
const HEADSTARTS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(20),
];

/// An agent with a model and a home of its own, as an engine of a server.
struct Scene {
    agent: RealAgent,
    server: TestServer,
    session: String,
    model: StubModel,
    home: TempDir,
}

impl Scene {
    async fn set(agent: RealAgent) -> Self {
        Self::with(agent, "{ questions = 'forms' }").await
    }

    /// An agent that is offered these abilities.
    async fn with(agent: RealAgent, capabilities: &str) -> Self {
        let model = StubModel::start().await;
        let home = tempfile::tempdir().expect("it can be read");
        let mut command = agent.prepare(home.path(), &model);
        if let Some(mode) = agent.asking_mode() {
            let initial = ("INITIAL_AGENT_MODE".to_owned(), mode.to_owned());
            command.variables.push(initial);
        }
        let names: Vec<&String> = command.variables.iter().map(|(name, _)| name).collect();
        let setup = Setup {
            engine_settings: format!(
                "[[agents]]\nname = 'peer'\ncommand = {:?}\nargs = {:?}\nenv = {names:?}\n\
                 capabilities = {capabilities}\n",
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
            model,
            home,
        }
    }

    /// Has the agent run a command, if it is let.
    async fn prompt(&self, command: &str) {
        let prompt = self.agent.shell_directive(command);
        self.server.api().prompt(&self.session, &prompt).await;
    }

    /// Has the agent ask for a command.
    async fn ask(&self, command: &str) -> Value {
        self.prompt(command).await;
        self.asked(command).await
    }

    /// Waits for the ask for a command, and panics if the turn ends without one.
    async fn asked(&self, command: &str) -> Value {
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

    async fn answer(&self, ask: &Value, answer: &Value) -> Value {
        self.server.api().answer(id(ask), answer).await.expect(200);
        self.server.api().settled(id(ask)).await
    }

    async fn allow(&self, ask: &Value) {
        let settled = self.answer(ask, &json!({ "answer": "allow_once" })).await;
        assert_eq!(settled["state"], "delivered");
    }

    async fn cancel(&self) -> Reply {
        let path = format!("/api/v1/sessions/{}/cancel", self.session);
        self.server.api().post(&path, &json!({})).await
    }

    fn has(&self, file: &str) -> bool {
        self.server.workspace().join(file).exists()
    }

    /// How the newest turn ended, if it has.
    async fn outcome(&self) -> Option<Value> {
        let turn = self.server.api().session(&self.session).await["turn"].clone();
        (!turn["outcome"].is_null()).then(|| turn["outcome"].clone())
    }

    /// Waits until nothing goes on any more, and returns how the newest turn ended.
    async fn comes_to_rest(&self) -> String {
        let ended = eventually(PATIENCE, "the session comes to rest", async || {
            self.outcome().await
        });
        let ended = ended.await;
        ended["outcome"].as_str().expect("it is a text").to_owned()
    }

    /// How often the transcript has the words with which the model ends a turn.
    async fn told(&self) -> usize {
        let items = self.server.api().items(&self.session).await;
        let ends = |item: &&Value| item["kind"] == "text" && item["text"] == "DONE";
        items.iter().filter(ends).count()
    }

    async fn comes_to_an_end(mut self) {
        self.server.stop().await;
    }
}

fn id(ask: &Value) -> &str {
    ask["id"].as_str().expect("it is a text")
}

/// What is allowed runs; what is denied does not, and its reason is the next prompt; what is always allowed is answered by a
/// rule of ours the next time.
async fn what_is_answered_is_what_happens(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch allowed.txt").await;
    assert!(!scene.has("allowed.txt"));
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("allowed.txt"));

    let ask = scene.ask("touch denied.txt").await;
    let denial = json!({ "answer": "deny", "reason": "use the other folder" });
    assert_eq!(scene.answer(&ask, &denial).await["state"], "delivered");
    eventually(PATIENCE, "the reason was said", async || {
        let session = scene.server.api().session(&scene.session).await;
        let prompt = session["turn"]["prompt"].as_str()?;
        prompt.contains("use the other folder").then_some(())
    })
    .await;
    scene.comes_to_rest().await;
    assert!(!scene.has("denied.txt"));
    let heard = scene.model.conversations().into_iter();
    let mut prompts = heard.map(|conversation| conversation.prompt);
    assert!(prompts.any(|prompt| prompt.contains("use the other folder")));

    always_is_our_own_rule(&scene).await;
    scene.comes_to_an_end().await;
}

/// The agent is told "once" and goes on asking; it is us who do not ask a second time.
async fn always_is_our_own_rule(scene: &Scene) {
    const COMMAND: &str = "echo again >> again.txt";
    let ask = scene.ask(COMMAND).await;
    let always = json!({ "answer": "allow_always", "scope": "session" });
    if scene.agent == RealAgent::Gemini {
        // It says what will run nowhere but in its title, which no rule trusts.
        let refused = scene.server.api().answer(id(&ask), &always).await;
        refused.expect(422);
        scene.allow(&ask).await;
        scene.comes_to_rest().await;
        return;
    }
    assert_eq!(scene.answer(&ask, &always).await["state"], "delivered");
    scene.comes_to_rest().await;
    scene.prompt(COMMAND).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    let made = std::fs::read_to_string(scene.server.workspace().join("again.txt"))
        .expect("it can be read");
    assert_eq!(made, "again\nagain\n");
    let path = format!("/api/v1/asks?session={}", scene.session);
    let asks = scene.server.api().get(&path).await;
    let newest = &asks["asks"][0];
    assert!(
        newest["summary"]
            .as_str()
            .expect("it is a text")
            .contains(COMMAND)
    );
    assert_ne!(newest["id"], ask["id"], "the agent did not ask again");
    assert_eq!(newest["answer"]["by"]["kind"], "rule", "{newest}");
}

/// What is cancelled does not run, and what is cancelled while it is answered runs only if the ledger says so.
async fn a_cancelled_turn_runs_nothing_more(agent: RealAgent) {
    let scene = Scene::set(agent).await;
    let ask = scene.ask("touch cancelled.txt").await;
    scene.cancel().await.expect(200);
    let ask = scene.server.api().settled(id(&ask)).await;
    assert_eq!(ask["state"], "withdrawn");
    assert_eq!(scene.comes_to_rest().await, "cancelled");

    let mut withdrawn = vec!["cancelled.txt".to_owned()];
    for (round, headstart) in HEADSTARTS.into_iter().enumerate() {
        let file = format!("race-{round}.txt");
        let ask = scene.ask(&format!("touch {file}")).await;
        let allow = json!({ "answer": "allow_once" });
        let cancel = async {
            tokio::time::sleep(headstart).await;
            scene.cancel().await
        };
        let (answered, cancelled) =
            tokio::join!(scene.server.api().answer(id(&ask), &allow), cancel);
        cancelled.expect(200);
        let settled = scene.server.api().settled(id(&ask)).await;
        scene.comes_to_rest().await;
        match settled["state"].as_str().expect("it is a text") {
            "delivered" => {}
            "withdrawn" => {
                assert_eq!(answered.status, 410, "{}", answered.body);
                withdrawn.push(file);
            }
            "undeliverable" => withdrawn.push(file),
            other => panic!("{other}: {settled}"),
        }
    }
    // The agent is as good as before.
    let ask = scene.ask("touch after.txt").await;
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("after.txt"));
    for file in withdrawn {
        assert!(!scene.has(&file), "{file} was made");
    }
    scene.comes_to_an_end().await;
}

/// An ask outlives the server; that of an agent that dies is withdrawn, and the next prompt goes on with the session.
async fn deaths_lose_nothing(agent: RealAgent) {
    let mut scene = Scene::set(agent).await;
    let ask = scene.ask("touch late.txt").await;
    scene.server.kill();
    scene.server.restart().await;
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("late.txt"));

    let lost = scene.ask("touch lost.txt").await;
    let before = scene.server.agents().remove(0);
    before.kill();
    let lost = scene.server.api().settled(id(&lost)).await;
    assert_eq!(lost["state"], "withdrawn");
    assert_eq!(lost["why"], "the engine is gone");
    assert_eq!(scene.comes_to_rest().await, "failed");

    scene.agent.age_sessions(scene.home.path());
    let heard = scene.model.requests().len();
    let told = scene.told().await;
    scene.prompt("touch found.txt").await;
    if agent == RealAgent::Gemini {
        // It forgets that it has asked, and so its model wants the first command once more.
        let again = scene.asked("touch lost.txt").await;
        scene.answer(&again, &json!({ "answer": "deny" })).await;
    }
    let ask = scene.asked("touch found.txt").await;
    assert_ne!(scene.server.agents().remove(0).run, before.run);
    // It is the same session: the model hears what was said in the life before.
    let later = &scene.model.requests()[heard..];
    let remembers = |request: &Value| request.to_string().contains("touch late.txt");
    assert!(later.iter().any(remembers));
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    assert!(scene.has("found.txt") && !scene.has("lost.txt"));
    assert_eq!(
        scene.told().await,
        told + 1,
        "what was said before is told once"
    );
    scene.comes_to_an_end().await;
}

/// An agent that has its host write what it was just allowed is not asked about it again, and one whose write is denied
/// writes nothing.
#[tokio::test]
async fn opencode_has_its_host_write_what_it_was_allowed() {
    let abilities = "{ files = 'read_write', terminal = true }";
    let scene = Scene::with(RealAgent::Opencode, abilities).await;
    let path = scene.server.workspace().join("notes.txt");
    std::fs::write(&path, "one\ntwo\nthree\n").expect("it can be written");
    let prompt = |what: &str| format!("TOOL read: {0}\nTOOL {what}", path.display());
    let edit = format!("edit: {}<<<two>>>2", path.display());
    scene
        .server
        .api()
        .prompt(&scene.session, &prompt(&edit))
        .await;
    let ask = scene.asked("notes.txt").await;
    assert_eq!(ask["subject"]["tool"], "edit", "{ask}");
    scene.allow(&ask).await;
    assert_eq!(scene.comes_to_rest().await, "completed");
    let written = std::fs::read_to_string(&path).expect("it can be read");
    assert_eq!(written, "one\n2\nthree\n");
    let items = scene.server.api().items(&scene.session).await;
    let hosted = |item: &&Value| item["tool"] == "fs/write_text_file";
    let hosted: Vec<&Value> = items.iter().filter(hosted).collect();
    assert_eq!(hosted.len(), 1, "{items:#?}");
    assert_eq!(hosted[0]["status"], "completed");
    let path_of_asks = format!("/api/v1/asks?session={}", scene.session);
    let asks = scene.server.api().get(&path_of_asks).await;
    let asks = asks["asks"].as_array().expect("a list of asks").len();
    assert_eq!(asks, 1, "it was asked once");

    let edit = format!("edit: {}<<<three>>>3", path.display());
    scene
        .server
        .api()
        .prompt(&scene.session, &prompt(&edit))
        .await;
    let ask = scene.asked("notes.txt").await;
    scene.answer(&ask, &json!({ "answer": "deny" })).await;
    scene.comes_to_rest().await;
    let written = std::fs::read_to_string(&path).expect("it can be read");
    assert_eq!(written, "one\n2\nthree\n");
    scene.comes_to_an_end().await;
}

macro_rules! with_each_agent {
    ($($agent:ident => $variant:ident),*) => {
        $(mod $agent {
            use super::*;

            #[tokio::test]
            async fn does_what_it_is_answered() {
                what_is_answered_is_what_happens(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn runs_nothing_that_is_cancelled() {
                a_cancelled_turn_runs_nothing_more(RealAgent::$variant).await;
            }

            #[tokio::test]
            async fn loses_nothing_when_the_server_or_the_agent_is_killed() {
                deaths_lose_nothing(RealAgent::$variant).await;
            }
        })*
    };
}

with_each_agent!(opencode => Opencode, claude => Claude, codex => Codex, gemini => Gemini);
