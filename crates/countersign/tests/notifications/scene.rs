//! A server with a scripted engine whose configuration says whom to notify.

use countersign_testkit::scripted_opencode::RemoteControl;
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};

/// What the webhooks of these tests are signed with.
pub(crate) const SECRET: &str = "a secret of the tests, long enough";
/// The variable that it is in.
pub(crate) const SECRET_VARIABLE: &str = "COUNTERSIGN_HOOK_SECRET";

pub(crate) struct Scene {
    pub(crate) server: TestServer,
}

impl Scene {
    /// A server with this after the `[engine]` part of its configuration.
    pub(crate) async fn with(settings: &str) -> Self {
        Self::with_variables(settings, &[]).await
    }

    pub(crate) async fn with_variables(settings: &str, variables: &[(&str, &str)]) -> Self {
        let variables = [(SECRET_VARIABLE, SECRET)].iter().chain(variables);
        let setup = Setup {
            engine_settings: settings.to_owned(),
            variables: variables
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Scripted)
        };
        let server = setup.start().await;
        server.api().wait_for_engine().await;
        Self { server }
    }

    /// Lets a new session ask, and returns the ask.
    pub(crate) async fn ask(&self) -> Value {
        let session = self.server.api().start_and_prompt("ASK 1").await;
        self.server.api().wait_for_ask_of(&session).await
    }

    /// Lets a new session ask for `command`, and returns the ask once it is in the ledger, whatever became of it.
    pub(crate) async fn ask_for(&self, command: &str) -> Value {
        let api = self.server.api();
        let session = api.start_session().await;
        let session = api.session(&session).await;
        let metadata = json!({ "command": command });
        let native = session["native_id"].as_str();
        let control = self.control();
        let request = control.open_ask(native, "bash", &[command], metadata).await;
        eventually(PATIENCE, "the ask is in the ledger", async || {
            let list = api.get("/api/v1/asks?limit=100").await;
            let mut asks = list["asks"].as_array()?.iter();
            asks.find(|ask| ask["raw"]["id"] == request.as_str())
                .cloned()
        })
        .await
    }

    /// The engine, to be told what to do.
    pub(crate) fn control(&self) -> RemoteControl {
        RemoteControl::find(self.server.workspace()).expect("the engine is running")
    }

    pub(crate) async fn kill_and_restart(&mut self) {
        self.server.kill();
        self.server.restart().await;
    }

    pub(crate) async fn notifications(&self, state: &str) -> Vec<Value> {
        let path = format!("/api/v1/notifications?state={state}");
        let list = self.server.api().get(&path).await;
        list["notifications"].as_array().unwrap().clone()
    }

    /// Waits until so many notifications stand so, and returns them, newest first.
    pub(crate) async fn wait_for(&self, state: &str, count: usize) -> Vec<Value> {
        let description = format!("{count} notifications are {state}");
        eventually(PATIENCE, &description, async || {
            let found = self.notifications(state).await;
            (found.len() >= count).then_some(found)
        })
        .await
    }
}
