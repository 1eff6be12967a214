//! A session with an agent that says what the test says, and what it has its host do.

use std::path::PathBuf;

use countersign_testkit::TestServer;
use countersign_testkit::hostile_agent::{Puppet, Strings};
use countersign_testkit::test_server::{Engine, Setup};
use serde_json::{Value, json};

pub(crate) const DENIED: i64 = -32001;
pub(crate) const NOT_FOUND: i64 = -32002;
pub(crate) const INVALID: i64 = -32602;

/// A session with an agent that says what the test says, in a turn.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    pub(crate) puppet: Puppet,
    pub(crate) session: String,
    pub(crate) turn: Value,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        Self::with("{ files = 'read_write', terminal = true }").await
    }

    pub(crate) async fn with(capabilities: &str) -> Self {
        let strings = Strings::new();
        let (program, arguments) = strings.command();
        let setup = Setup {
            engine_settings: format!(
                "[[agents]]\nname = 'puppet'\ncommand = {:?}\nargs = {arguments:?}\ncapabilities = {capabilities}\n",
                program.display().to_string(),
            ),
            files: vec![("notes.txt".to_owned(), "one\ntwo\nthree\n".to_owned())],
            ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        };
        let server = setup.start().await;
        let session = server.api().start_session_with("puppet").await;
        let mut puppet = strings.take().await;
        server.api().prompt(&session, "Go.").await;
        let turn = puppet.prompted().await;
        Self {
            server,
            puppet,
            session,
            turn,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.server.workspace().join(name)
    }

    pub(crate) fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) async fn read(&mut self, id: i64, params: Value) -> Value {
        self.puppet.request(id, "fs/read_text_file", &params).await;
        self.puppet.response(id).await
    }

    pub(crate) async fn want_write(&mut self, id: i64, name: &str, content: &str) {
        let params = json!({ "path": self.path(name), "content": content });
        self.puppet.request(id, "fs/write_text_file", &params).await;
    }

    pub(crate) async fn want_run(&mut self, id: i64, command: &str) {
        let params = json!({ "command": command });
        self.puppet.request(id, "terminal/create", &params).await;
    }

    /// Begins a tool call, asks for leave for it, and returns the ask.
    pub(crate) async fn ask_leave(&mut self, id: i64, call: &Value) -> Value {
        let mut begun = call.clone();
        begun["sessionUpdate"] = json!("tool_call");
        begun["title"] = json!("Something");
        self.puppet.update(&begun).await;
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let params =
            json!({ "toolCall": { "toolCallId": call["toolCallId"] }, "options": options });
        self.puppet
            .request(id, "session/request_permission", &params)
            .await;
        self.asked().await
    }

    /// A tool call that changes a file from `old` to `new`.
    pub(crate) fn edit(&self, call: &str, name: &str, old: &str, new: &str) -> Value {
        let path = self.path(name);
        json!({
            "toolCallId": call, "kind": "edit", "status": "pending",
            "rawInput": { "path": path },
            "content": [{ "type": "diff", "path": path, "oldText": old, "newText": new }],
        })
    }

    pub(crate) async fn asked(&self) -> Value {
        self.server.api().wait_for_ask_of(&self.session).await
    }

    pub(crate) async fn answer(&self, ask: &Value, answer: Value) -> Value {
        let id = ask["id"].as_str().expect("it has an id");
        self.server.api().answer(id, &answer).await.expect(200);
        self.server.api().settled(id).await
    }

    pub(crate) async fn allow(&self, ask: &Value) -> Value {
        let settled = self.answer(ask, json!({ "answer": "allow_once" })).await;
        assert_eq!(settled["state"], "delivered", "{settled}");
        settled
    }

    /// Has leave for an edit, and the tool call at work.
    pub(crate) async fn allowed_edit(&mut self, id: i64, name: &str, old: &str, new: &str) {
        let edit = self.edit(&format!("call-{id}"), name, old, new);
        let ask = self.ask_leave(id, &edit).await;
        self.allow(&ask).await;
        self.puppet.response(id).await;
    }

    pub(crate) async fn no_ask(&self) {
        assert_eq!(self.server.api().open_asks().await, Vec::<Value>::new());
    }

    pub(crate) async fn items(&self, tool: &str) -> Vec<Value> {
        let mut items = self.server.api().items(&self.session).await;
        items.retain(|item| item["tool"] == tool);
        items
    }

    /// Runs a command that is allowed, and returns what its terminal is called.
    pub(crate) async fn run(&mut self, id: i64, command: &str) -> String {
        self.want_run(id, command).await;
        let is_it = |ask: &Value| ask["subject"]["tool"] == "shell" && ask["summary"] == command;
        let api = self.server.api();
        let ask = api.wait_for_ask("the command is asked for", is_it).await;
        self.allow(&ask).await;
        let created = self.puppet.response(id).await;
        let terminal = created["result"]["terminalId"].as_str();
        terminal.unwrap_or_else(|| panic!("{created}")).to_owned()
    }

    pub(crate) async fn terminal(&mut self, id: i64, method: &str, terminal: &str) -> Value {
        let params = json!({ "terminalId": terminal });
        let method = format!("terminal/{method}");
        self.puppet.request(id, &method, &params).await;
        self.puppet.response(id).await
    }

    pub(crate) async fn end(mut self) {
        let turn = self.turn.clone();
        self.puppet.end_turn(&turn, "end_turn").await;
        let outcome = self.server.api().turn_outcome(&self.session).await;
        assert_eq!(outcome["outcome"], "completed");
        self.server.stop().await;
    }
}

pub(crate) fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or_default()
}
