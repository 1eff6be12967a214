//! A real opencode behind `countersign openwork-server`, and everybody who may call it.

use std::path::{Path, PathBuf};

use countersign_core::digest::Digest;
use countersign_testkit::process::Launch;
use countersign_testkit::test_server::{Api, PATIENCE};
use countersign_testkit::{Program, RealOpencode, StubModel, eventually, ports};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
pub(crate) const CLIENT: &str = "client-token-123";
pub(crate) const HOST: &str = "host-token-456";

/// What a server says once it listens.
const LISTENS: &str = "OpenWork server listening on ";

/// A server with the workspaces `garden` and `orchard`, whose engine is one real opencode. Dropping it ends all of it.
pub(crate) struct Stage {
    pub(crate) model: StubModel,
    pub(crate) opencode: RealOpencode,
    pub(crate) server: Program,
    url: String,
    folder: TempDir,
}

impl Stage {
    /// Sets a stage whose server has more arguments than it needs.
    pub(crate) async fn set(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["garden", "orchard"].map(|name| place(&folder, name));
        let workspaces = paths.iter().flat_map(|path| {
            let path = path.to_str().expect("a folder of ours has a plain name");
            ["--workspace", path]
        });
        let arguments: Vec<_> = workspaces.chain(arguments.iter().copied()).collect();
        Self::set_in(folder, &arguments).await
    }

    /// Sets a stage where collaborators answer only what is asked in the workspace `garden`.
    pub(crate) async fn set_with_owners_orchard() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("server.json");
        let workspaces = json!([
            { "path": place(&folder, "garden") },
            { "path": place(&folder, "orchard"), "collaboratorsAnswer": false },
        ]);
        std::fs::write(&config, json!({ "workspaces": workspaces }).to_string()).unwrap();
        Self::set_in(folder, &["--config", config.to_str().unwrap()]).await
    }

    async fn set_in(folder: TempDir, arguments: &[&str]) -> Self {
        for workspace in ["garden", "orchard"] {
            // What a workspace is belongs to it alone: nothing is looked for above it.
            std::fs::create_dir_all(place(&folder, workspace).join(".git")).unwrap();
        }
        let model = StubModel::start().await;
        let opencode = RealOpencode::start(&place(&folder, "garden"), &model).await;
        let port = ports::free();
        let mut server = Launch::new(BINARY, folder.path().join("server.log"))
            .inherit(&["PATH"])
            .variable("HOME", place(&folder, "home"))
            .variable("COUNTERSIGN_DATA", place(&folder, "state"))
            .variable("OPENWORK_DATA_DIR", place(&folder, "data"))
            .variable("OPENWORK_TOKEN", CLIENT)
            .variable("OPENWORK_HOST_TOKEN", HOST)
            .variable("OPENWORK_OPENCODE_PASSWORD", opencode.password())
            .arguments(["openwork-server", "--port", &port.to_string()])
            .arguments(["--opencode-base-url", &opencode.url()])
            .arguments(["--opencode-username", "opencode"])
            .arguments(arguments)
            .start()
            .unwrap();
        let listens = |line: &str| line.starts_with(LISTENS).then_some(());
        server.wait_for_line(PATIENCE, LISTENS, listens).await;
        Self {
            model,
            opencode,
            server,
            url: format!("http://127.0.0.1:{port}"),
            folder,
        }
    }

    /// The process of the engine.
    pub(crate) fn engine(&mut self) -> u32 {
        self.opencode.program().id()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A folder of this stage.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        place(&self.folder, name)
    }

    /// What a file of the workspace `garden` holds; nothing if it is not there.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.place("garden").join(name)).ok()
    }

    /// The id of a workspace on OpenWork's wire.
    pub(crate) fn id(&self, workspace: &str) -> String {
        wire_id(&self.place(workspace))
    }

    /// A caller with the client token, which is a collaborator's.
    pub(crate) fn client(&self) -> Api {
        self.caller(CLIENT)
    }

    /// A caller with a token.
    pub(crate) fn caller(&self, token: &str) -> Api {
        Api::new(self.url.clone(), Some(token.to_owned()))
    }

    /// Gives out a token with OpenWork's own request for it.
    pub(crate) async fn token(&self, scope: &str, label: &str) -> String {
        let request = Api::new(self.url.clone(), None)
            .request(Method::POST, "/tokens")
            .header("X-OpenWork-Host-Token", HOST)
            .json(&json!({ "scope": scope, "label": label }));
        let issued = Api::send(request).await.unwrap().expect(201);
        issued["token"].as_str().unwrap().to_owned()
    }

    /// Waits until the ledger has the ask that the engine calls `native`, and returns it as `owner` sees it.
    pub(crate) async fn ask(&self, owner: &Api, native: &str) -> Value {
        eventually(PATIENCE, "the ask is in the ledger", async || {
            let list = owner.get("/api/v1/asks").await;
            let mut asks = list["asks"].as_array()?.iter();
            asks.find(|ask| ask["raw"]["id"] == native).cloned()
        })
        .await
    }

    /// Begins a conversation through the proxy at `mount`, and returns its id.
    pub(crate) async fn begin(&self, by: &Api, mount: &str, text: &str) -> String {
        let session = by
            .post(&format!("{mount}/session"), &json!({ "title": "test" }))
            .await;
        let session = session.expect(200)["id"].as_str().unwrap().to_owned();
        let parts = json!({ "parts": [{ "type": "text", "text": text }] });
        let path = format!("{mount}/session/{session}/prompt_async");
        by.post(&path, &parts).await.expect_success();
        session
    }

    /// Waits for what a session wants to know from `list`, which is `permission` or `question`, as the engine says it.
    pub(crate) async fn wanted(&self, by: &Api, mount: &str, list: &str, session: &str) -> Value {
        eventually(PATIENCE, "the engine asks", async || {
            let pending = by.get(&format!("{mount}/{list}")).await;
            let mut pending = pending.as_array()?.iter();
            pending.find(|ask| ask["sessionID"] == session).cloned()
        })
        .await
    }

    /// Waits until a file of the workspace `garden` is there with this text.
    pub(crate) async fn has_file(&self, name: &str, text: &str) {
        let description = format!("`{name}` is written");
        eventually(PATIENCE, &description, async || {
            (self.file(name).as_deref() == Some(text)).then_some(())
        })
        .await;
    }
}

/// What a workspace is called on OpenWork's wire.
pub(crate) fn wire_id(path: &Path) -> String {
    let digest = Digest::of_bytes(path.to_str().unwrap().as_bytes()).to_string();
    format!("ws_{}", &digest[..12])
}

fn place(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().canonicalize().unwrap().join(name)
}

/// The text of something that has one.
#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
