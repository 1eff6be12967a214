//! A server on a free port, with a workspace, an engine's asks and people's tokens.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_broker::{
    Broker, ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, PushSettings, Settings, Store,
    Target,
};
use countersign_core::ask::{Ask, Door, Question, Subject};
use countersign_core::grant::Role;
use countersign_core::id::{RunId, SessionId, WorkspaceId};
use countersign_core::notification::{Interest, Schedule};
use countersign_core::session::{Activity, Session};
use countersign_core::time::{Clock, Timestamp};
use countersign_notify::{CommandTarget, Way};
use countersign_server::ServerSettings;
use countersign_store::NewAsk;
use rand::RngExt as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::{Client, Reply};

/// A server with somebody to talk to.
pub(crate) struct Stage {
    pub(crate) store: Store,
    pub(crate) broker: Broker,
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) workspace: WorkspaceId,
    pub(crate) session: SessionId,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
    run: RunId,
    /// The folder of a workspace that came later.
    _folder: Option<TempDir>,
    held: Arc<Held>,
}

/// What ends with the last stage of a server.
struct Held {
    _directory: TempDir,
    shutdown: CancellationToken,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(ServerSettings::default()).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Self {
        Self::at(Clock::System, settings).await
    }

    /// A server whose time a test may set.
    pub(crate) async fn at(clock: Clock, settings: ServerSettings) -> Self {
        Self::made(clock, settings, ChangeSettings::default()).await
    }

    /// A server that is told how workspaces and their files can be changed.
    pub(crate) async fn changing(changes: ChangeSettings) -> Self {
        Self::made(Clock::System, ServerSettings::default(), changes).await
    }

    async fn made(clock: Clock, settings: ServerSettings, changes: ChangeSettings) -> Self {
        // What pushes go out by needs a provider of cryptography, as the program installs one.
        drop(countersign_testkit::http::client());
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open_sqlite(&directory.path().join("ledger.db"))
            .await
            .unwrap();
        let mut inside = broker_settings(&directory);
        inside.changes = changes;
        let broker = Broker::start(store.clone(), inside, clock).await.unwrap();
        let workspace = broker.workspaces()[0].0.id;
        let engine = store
            .ensure_engine(workspace, "opencode", now())
            .await
            .unwrap();
        let run = store.begin_run(&engine, now()).await.unwrap().id;
        let session = store.put_session(&session(workspace)).await.unwrap().id;

        let tcp = countersign_testkit::ports::listen();
        let address = tcp.local_addr().unwrap();
        let socket = directory.path().join("countersign.sock");
        let unix = UnixListener::bind(&socket).unwrap();
        let shutdown = CancellationToken::new();
        let server_end = shutdown.clone();
        let tasks = TaskTracker::new();
        let serving = countersign_server::serve(
            broker.clone(),
            tcp,
            Some(unix),
            settings,
            None,
            shutdown.clone(),
        );
        tasks.spawn(async { serving.await.unwrap() });
        Self {
            store,
            broker,
            address,
            socket,
            workspace,
            session,
            shutdown,
            tasks,
            run,
            _folder: None,
            held: Arc::new(Held {
                _directory: directory,
                shutdown: server_end,
            }),
        }
    }

    /// The same server, seen from another workspace of it that is called `name`.
    pub(crate) async fn beside(&self, name: &str) -> Self {
        // Not in the data directory, which is no place for agents.
        let folder = tempfile::Builder::new().prefix(name).tempdir().unwrap();
        let owner = self.broker.local_owner();
        let path = folder.path().canonicalize().unwrap();
        let path = path.to_str().unwrap();
        let added = self.broker.serve_workspace(&owner, path, Some(name));
        let workspace = added.await.unwrap().id;
        let engine = self.store.ensure_engine(workspace, "opencode", now()).await;
        let run = self.store.begin_run(&engine.unwrap(), now()).await;
        let session = Session {
            native_id: format!("ses_{name}"),
            title: name.to_owned(),
            directory: path.to_owned(),
            ..session(workspace)
        };
        Self {
            store: self.store.clone(),
            broker: self.broker.clone(),
            address: self.address,
            socket: self.socket.clone(),
            workspace,
            session: self.store.put_session(&session).await.unwrap().id,
            shutdown: self.shutdown.clone(),
            tasks: self.tasks.clone(),
            run: run.unwrap().id,
            _folder: Some(folder),
            held: Arc::clone(&self.held),
        }
    }

    /// The folder of the workspace.
    pub(crate) fn folder(&self) -> String {
        let all = self.broker.workspaces();
        let own = all.into_iter().find(|(it, _)| it.id == self.workspace);
        own.unwrap().0.path
    }

    /// A client with a new token of `role` for the workspace alone.
    pub(crate) async fn client_here(&self, role: Role) -> Client {
        let new = json!({ "name": role.name(), "role": role, "workspace": self.workspace });
        let made = Client::local(&self.socket)
            .post("/api/v1/tokens", &new)
            .await;
        assert_eq!(made.status, 201, "{made:?}");
        let secret = made.json()["secret"].as_str().unwrap().to_owned();
        self.nobody()
            .with("authorization", &format!("Bearer {secret}"))
    }

    /// A token of `role`.
    pub(crate) async fn token(&self, role: Role) -> String {
        let reply = Client::local(&self.socket)
            .post(
                "/api/v1/tokens",
                &json!({ "name": role.name(), "role": role }),
            )
            .await;
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()["secret"].as_str().unwrap().to_owned()
    }

    /// A client with a new token of `role`.
    pub(crate) async fn client(&self, role: Role) -> Client {
        self.nobody().with(
            "authorization",
            &format!("Bearer {}", self.token(role).await),
        )
    }

    /// A client without credentials.
    pub(crate) fn nobody(&self) -> Client {
        Client::remote(self.address)
    }

    /// A browser that was paired, with the headers that browsers send.
    pub(crate) async fn browser(&self, role: Role) -> Client {
        let (cookie, page_key) = self.browser_secret(role).await;
        self.nobody()
            .with("cookie", &cookie)
            .with("x-countersign-page", &page_key)
    }

    /// What a browser that was paired holds: its cookie, and the page's half of the secret.
    pub(crate) async fn browser_secret(&self, role: Role) -> (String, String) {
        let reply = self.pair(&self.code(role).await).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let cookie = reply.header("set-cookie").unwrap();
        let (cookie, _) = cookie.split_once(';').unwrap();
        let body = reply.json();
        let page_key = body["page_key"].as_str().unwrap();
        (cookie.to_owned(), page_key.to_owned())
    }

    /// A one-time code.
    pub(crate) async fn code(&self, role: Role) -> String {
        let reply = Client::local(&self.socket)
            .post("/api/v1/pairings", &json!({ "name": "ada", "role": role }))
            .await;
        reply.json()["code"].as_str().unwrap().to_owned()
    }

    /// Uses a one-time code, as the page does.
    pub(crate) async fn pair(&self, code: &str) -> Reply {
        self.nobody()
            .with("origin", &format!("http://{}", self.address))
            .post("/api/v1/pair", &json!({ "code": code }))
            .await
    }

    /// Leave to run `command`, asked for by the session.
    pub(crate) async fn ask(&self, command: &str) -> Ask {
        let subject = Subject::Permission {
            location: countersign_core::ask::Location::default(),
            tool: "bash".to_owned(),
            targets: vec![command.to_owned()],
            shown: vec![],
        };
        self.open(subject, json!({ "command": command })).await
    }

    /// Leave to change the file at `path`, asked for by the session.
    pub(crate) async fn edit(&self, path: &str) -> Ask {
        let subject = Subject::Permission {
            location: countersign_core::ask::Location::default(),
            tool: "edit".to_owned(),
            targets: vec![path.to_owned()],
            shown: vec![],
        };
        self.open(subject, json!({ "path": path })).await
    }

    /// Leave to run a command, where what the engine sent is nested nearly as deeply as it can be read.
    pub(crate) async fn deep(&self) -> Ask {
        let subject = Subject::Permission {
            location: countersign_core::ask::Location::default(),
            tool: "bash".to_owned(),
            targets: vec!["true".to_owned()],
            shown: vec![],
        };
        let deep = (0..120).fold(json!("core"), |inner, _| json!([inner]));
        self.open(subject, json!({ "deep": deep })).await
    }

    /// A question to the user.
    pub(crate) async fn question(&self) -> Ask {
        let question = Question {
            header: "Store".to_owned(),
            question: "Which database?".to_owned(),
            options: vec![],
            multiple: false,
        };
        self.open(
            Subject::Question {
                questions: vec![question],
            },
            json!({}),
        )
        .await
    }

    async fn open(&self, subject: Subject, arguments: Value) -> Ask {
        let native_id = format!("per_{:x}", rand::rng().random::<u64>());
        let ask = NewAsk {
            workspace: self.workspace,
            door: Door::Opencode,
            run: self.run,
            session: self.session,
            raw: json!({ "id": native_id, "input": arguments }),
            native_id,
            directory: "/home/ada/project".to_owned(),
            subject,
            arguments,
            options: vec![],
            expires_at: None,
        };
        self.store.open_ask(ask, now()).await.unwrap().into_ask()
    }
}

fn broker_settings(directory: &TempDir) -> Settings {
    Settings {
        data_directory: directory.path().to_owned(),
        own_program: "/nonexistent".into(),
        owner_name: "ada".to_owned(),
        workspaces: vec![(project(directory), "project".to_owned())],
        engine: EngineChoice::None,
        agents: Vec::new(),
        foreign_answer: ForeignAnswer::Abort,
        unasked_tools: vec![],
        ask_expiry: None,
        lonely_limit_s: 60,
        job_caps: JobCaps::default(),
        notify: vec![bell()],
        changes: ChangeSettings::default(),
        push: PushSettings {
            contact: Some("mailto:ada@example.org".to_owned()),
            private_endpoints: true,
        },
    }
}

/// A target that takes everything and is told nothing by itself.
fn bell() -> Target {
    Target {
        name: "bell".to_owned(),
        interest: Interest {
            occasions: BTreeSet::new(),
            workspaces: BTreeSet::new(),
        },
        details: false,
        schedule: Schedule::default(),
        time_limit: Duration::from_secs(20),
        way: Way::Command(CommandTarget {
            program: "/bin/true".into(),
            arguments: Vec::new(),
            inherit: Vec::new(),
        }),
    }
}

/// The folder of the workspace, which is there.
fn project(directory: &TempDir) -> String {
    let path = directory.path().canonicalize().unwrap().join("project");
    std::fs::create_dir(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

fn session(workspace: WorkspaceId) -> Session {
    Session {
        id: SessionId::generate(now()),
        workspace,
        engine: Session::OPENCODE.to_owned(),
        native_id: "ses_1".to_owned(),
        parent: None,
        title: "Fix the build".to_owned(),
        directory: "/home/ada/project".to_owned(),
        agent: "build".to_owned(),
        activity: Activity::Busy,
        started_at: now(),
        changed_at: now(),
    }
}

pub(crate) fn now() -> Timestamp {
    Clock::System.now()
}
