//! A server whose engine is scripted, and one session in it.

use countersign_testkit::scripted_opencode::{Faults, RemoteControl, ReplyFault};
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

/// A server with a scripted engine, and one session in it.
pub(crate) struct Scene {
    pub(crate) server: TestServer,
    pub(crate) control: RemoteControl,
    pub(crate) session: String,
    /// What the engine calls the session.
    pub(crate) native: String,
}

impl Scene {
    pub(crate) async fn set() -> Self {
        Self::with("").await
    }

    /// The same, with more lines for the `[engine]` part of the configuration, and for what follows it.
    pub(crate) async fn with(settings: &str) -> Self {
        let setup = Setup {
            engine_settings: settings.to_owned(),
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Scripted)
        };
        let server = setup.start().await;
        server.api().wait_for_engine().await;
        let session = server.api().start_session().await;
        let native = server.api().session(&session).await["native_id"].clone();
        Self {
            control: control(&server),
            native: native.as_str().expect("it has one").to_owned(),
            session,
            server,
        }
    }

    /// Lets the engine ask for a command, and returns the ask's id once it is in the ledger.
    pub(crate) async fn ask(&self, command: &str) -> String {
        let request = self.ask_engine(command).await;
        self.ask_in_ledger(&request).await["id"]
            .as_str()
            .expect("an ask has an id")
            .to_owned()
    }

    /// Lets the engine ask for a command, and returns what the engine calls it.
    pub(crate) async fn ask_engine(&self, command: &str) -> String {
        let metadata = json!({"command": command});
        self.control
            .open_ask(Some(&self.native), "bash", &[command], metadata)
            .await
    }

    pub(crate) async fn ask_in_ledger(&self, request: &str) -> Value {
        eventually(PATIENCE, "the ask is in the ledger", async || {
            let list = self.server.api().get("/api/v1/asks?limit=100").await;
            let mut asks = list["asks"].as_array()?.iter();
            asks.find(|ask| ask["raw"]["id"] == request).cloned()
        })
        .await
    }

    pub(crate) async fn allow(&self, ask: &str) {
        let answer = json!({"answer": "allow_once"});
        self.server.api().answer(ask, &answer).await.expect(200);
    }

    /// Waits until an answer was tried so many times.
    pub(crate) async fn wait_for_tries(&self, ask: &str, tries: u64) -> Value {
        eventually(PATIENCE, "the answer is tried", async || {
            let ask = self.server.api().ask(ask).await;
            (ask["delivery"]["attempts"].as_u64()? >= tries).then_some(ask)
        })
        .await
    }

    pub(crate) async fn set_fault(&self, replies: ReplyFault) {
        let faults = Faults {
            replies,
            ..Faults::default()
        };
        self.control.set_faults(&faults).await;
    }

    /// Kills the engine, and meets the next one.
    pub(crate) async fn kill_engine(&mut self) {
        let dead = self.server.engine();
        dead.kill();
        self.meet_next_engine(&dead.run).await;
    }

    pub(crate) async fn meet_next_engine(&mut self, dead: &str) {
        eventually(PATIENCE, "another engine is started", async || {
            let engines = self.server.engines();
            engines
                .iter()
                .any(|engine| engine.run != dead)
                .then_some(())
        })
        .await;
        self.server.api().wait_for_engine().await;
        self.control = control(&self.server);
    }

    /// Lets a new session ask, and returns the ask's id.
    pub(crate) async fn ask_of_a_new_session(&self) -> String {
        let session = self.server.api().start_and_prompt("ASK 1").await;
        let ask = self.server.api().wait_for_ask_of(&session).await;
        ask["id"].as_str().expect("an ask has an id").to_owned()
    }

    /// Waits for the alarm about an ask for `rm -rf precious`, and returns what it says.
    pub(crate) async fn is_alarmed_about(&self, ask: &Value) -> String {
        let alarm = eventually(PATIENCE, "the alarm is raised", async || {
            self.server.api().alarms().await.into_iter().next()
        })
        .await;
        assert_eq!(alarm["ask"], ask["id"]);
        assert_eq!(alarm["session"], self.session.as_str());
        let message = alarm["message"]
            .as_str()
            .expect("an alarm says what happened");
        assert!(message.contains("rm -rf precious"), "{message}");
        message.to_owned()
    }

    /// Cuts the event stream of an engine that refuses listeners, and waits until it is not listened to any more:
    /// nothing leaves from then on.
    pub(crate) async fn is_cut_off(&self) {
        self.control.drop_events().await;
        eventually(PATIENCE, "the engine cannot be listened to", async || {
            let list = self.server.api().get("/api/v1/workspaces").await;
            (list["workspaces"][0]["engine"]["state"] == "unreachable").then_some(())
        })
        .await;
    }

    /// Waits until no session of the engine does anything.
    pub(crate) async fn is_stopped(&self) {
        eventually(PATIENCE, "the session is at rest", async || {
            let busy = self.server.engine().get("/session/status").await;
            (busy == json!({})).then_some(())
        })
        .await;
    }
}

fn control(server: &TestServer) -> RemoteControl {
    RemoteControl::find(server.workspace()).expect("the engine is running")
}
