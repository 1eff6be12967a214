//! A broker in this process, attached to a scripted opencode.
//!
//! Time stands still until a test waits for something: then it passes in steps, none of them while the engine works at a
//! response. So a limit of two minutes costs a test a second.

use std::path::Path;
use std::time::Duration;

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase};
use countersign_core::grant::{Caller, Role};
use countersign_core::id::{AskId, SessionId};
use countersign_core::time::{Clock, Timestamp};
use countersign_engine::opencode::Endpoint;
use countersign_notify::PushSettings;
use countersign_store::{AskFilter, Store};
use countersign_testkit::{FrozenTime, ScriptedOpencode};
use serde_json::json;
use tempfile::TempDir;

use crate::sessions::{NewSessionWish, PromptWish};
use crate::settings::{ChangeSettings, EngineChoice, ForeignAnswer, JobCaps, Settings};
use crate::supervisor::EngineStatus;
use crate::{Broker, BrokerError};

const PASSWORD: &str = "between us";
/// How much time passes at once.
const STEP: Duration = Duration::from_millis(500);
/// A broker with one session at a scripted opencode.
pub(super) struct Scene {
    pub(super) opencode: ScriptedOpencode,
    pub(super) broker: Broker,
    pub(super) session: SessionId,
    pub(super) ada: Caller,
    native: String,
    store: Store,
    clock: Clock,
    folder: TempDir,
    time: FrozenTime,
}

impl Scene {
    pub(super) async fn set() -> Self {
        let time = FrozenTime::new();
        // The engine's client needs what this one installs.
        drop(countersign_testkit::http::client());
        let folder = tempfile::tempdir().unwrap();
        let opencode = ScriptedOpencode::start(folder.path(), PASSWORD);
        let clock = Clock::manual(Timestamp::from_micros(1_000_000_000));
        let ledger = folder.path().join("ledger.db");
        let store = Store::open_sqlite(&ledger).await.unwrap();
        let broker = start(&store, &clock, folder.path(), &opencode).await;
        let now = clock.now();
        let actor = store.actor(ActorKind::Person, "ada", now).await.unwrap();
        let ada = Caller::new(actor, Role::Owner.grants(), None, Surface::Api);
        let mut scene = Self {
            opencode,
            broker,
            session: SessionId::generate(now),
            ada,
            native: String::new(),
            store,
            clock,
            folder,
            time,
        };
        scene.is_ready().await;
        let wish = NewSessionWish {
            workspace: None,
            directory: None,
            engine: None,
            title: None,
        };
        let started = scene.broker.start_session(&scene.ada, wish).await.unwrap();
        scene.session = started.session.id;
        scene.native = started.session.native_id;
        scene
    }

    /// Ends the broker and begins another one on the same ledger.
    pub(super) async fn restart(&mut self) {
        self.broker.stop().await;
        let ledger = self.folder.path().join("ledger.db");
        self.store = Store::open_sqlite(&ledger).await.unwrap();
        self.broker = start(&self.store, &self.clock, self.folder.path(), &self.opencode).await;
    }

    /// Has the engine ask for a command, and returns the ask once it is in the ledger.
    pub(super) async fn ask(&self, command: &str) -> Ask {
        let metadata = json!({ "command": command });
        let request = self
            .opencode
            .open_ask(&self.native, "bash", &[command], &metadata);
        self.in_ledger(&request).await
    }

    /// Has the engine ask a question, and returns the ask once it is in the ledger.
    pub(super) async fn ask_question(&self) -> Ask {
        let request = self
            .opencode
            .open_question(&self.native, "Which?", &["this", "that"]);
        self.in_ledger(&request).await
    }

    async fn in_ledger(&self, request: &str) -> Ask {
        self.until("the ask is in the ledger", async || {
            let all = self.store.asks(AskFilter::default(), 100).await.unwrap();
            all.into_iter().find(|ask| ask.native_id == request)
        })
        .await
    }

    pub(super) async fn answer(&self, ask: &Ask, choice: Choice) {
        let ask = self.broker.answerable(&self.ada, ask.id).await.unwrap();
        self.broker.answer(&self.ada, &ask, choice).await.unwrap();
    }

    pub(super) async fn prompt(&self, text: &str) -> Result<(), BrokerError> {
        let wish = PromptWish {
            turn: None,
            text: text.to_owned(),
            model: None,
            mode: None,
            agent: None,
            attachments: vec![],
        };
        self.broker
            .prompt(&self.ada, self.session, wish)
            .await
            .map(drop)
    }

    /// An ask as it is once it is over for good.
    pub(super) async fn settled(&self, id: AskId) -> Ask {
        self.until("the ask is over", async || {
            let ask = self.store.ask(id).await.unwrap().unwrap();
            ask.state.phase().is_terminal().then_some(ask)
        })
        .await
    }

    pub(super) async fn is_ready(&self) {
        self.until("the engine is ready", async || {
            self.broker.supervisors.all()[0].link().ok()
        })
        .await;
    }

    /// What the engine calls the session.
    pub(super) fn native(&self) -> &str {
        &self.native
    }

    pub(super) fn engine(&self) -> EngineStatus {
        self.broker.workspaces().remove(0).1
    }

    pub(super) async fn newest_turn(&self) -> countersign_core::session::Turn {
        let newest = self.store.newest_turn(self.session).await.unwrap();
        newest.expect("something was said")
    }

    pub(super) async fn open_asks(&self) -> usize {
        let filter = AskFilter {
            phase: Some(AskPhase::Open),
            ..AskFilter::default()
        };
        self.store.asks(filter, 100).await.unwrap().len()
    }

    /// Lets time pass until `probe` finds something; ten minutes is for ever.
    pub(super) async fn until<T>(
        &self,
        what: &str,
        mut probe: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let mut passed = Duration::ZERO;
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            assert!(passed < Duration::from_mins(10), "for ever: {what}");
            // A slow machine is no slow engine.
            while self.opencode.is_answering() {
                tokio::task::yield_now().await;
            }
            self.time.pass(STEP).await;
            self.clock.advance(STEP);
            passed += STEP;
        }
    }
}

async fn start(store: &Store, clock: &Clock, folder: &Path, opencode: &ScriptedOpencode) -> Broker {
    let endpoint = Endpoint {
        base_url: opencode.url(),
        credentials: Some(("opencode".to_owned(), PASSWORD.to_owned())),
    };
    let settings = Settings {
        data_directory: folder.to_owned(),
        own_program: "countersign".into(),
        owner_name: "ada".to_owned(),
        workspaces: vec![(folder.to_string_lossy().into_owned(), "project".to_owned())],
        engine: EngineChoice::Attach(endpoint),
        agents: vec![],
        foreign_answer: ForeignAnswer::Abort,
        unasked_tools: vec![],
        ask_expiry: None,
        lonely_limit_s: 1,
        job_caps: JobCaps::default(),
        notify: Vec::new(),
        changes: ChangeSettings::default(),
        push: PushSettings::default(),
    };
    Broker::start(store.clone(), settings, clock.clone())
        .await
        .unwrap()
}
