//! A workspace with an engine at work, people to answer it, and the asks that the tests are about.

use std::time::Duration;

use countersign_core::actor::{Actor, ActorKind, Surface};
use countersign_core::answer::{Answer, Choice, Scope};
use countersign_core::ask::{Ask, Door, Question, Subject};
use countersign_core::delivery::Evidence;
use countersign_core::id::{AskId, RunId, SessionId, TurnId, WorkspaceId};
use countersign_core::session::{Activity, Session};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::{Answered, Engine, NewAsk, NewTurn, Opened, Store};

/// When every scene begins.
pub(super) const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// The moment `seconds` after the beginning.
pub(super) fn at(seconds: u64) -> Timestamp {
    START.after(Duration::from_secs(seconds))
}

/// A workspace with one engine in its first life, one session, and two people.
pub(super) struct Scene {
    pub(super) store: Store,
    pub(super) workspace: WorkspaceId,
    pub(super) engine: Engine,
    pub(super) run: RunId,
    /// When asks are opened: later in each life.
    opening: Timestamp,
    pub(super) session: SessionId,
    pub(super) ada: Actor,
    pub(super) bob: Actor,
}

impl Scene {
    pub(super) async fn new(store: &Store) -> Self {
        Self::at_path(store, "/home/ada/project").await
    }

    pub(super) async fn at_path(store: &Store, path: &str) -> Self {
        let workspace = store
            .ensure_workspace(path, "project", START)
            .await
            .unwrap()
            .id;
        let engine = store
            .ensure_engine(workspace, "opencode", START)
            .await
            .unwrap();
        let run = store.begin_run(&engine, START).await.unwrap().id;
        let ada = store.actor(ActorKind::Person, "ada", START).await.unwrap();
        let bob = store.actor(ActorKind::Person, "bob", START).await.unwrap();
        let session = put_session(store, workspace, "ses_1").await;
        Self {
            store: store.clone(),
            workspace,
            engine,
            run,
            opening: at(1),
            session,
            ada,
            bob,
        }
    }

    /// Another session of the same workspace.
    pub(super) async fn another_session(&self) -> SessionId {
        put_session(&self.store, self.workspace, "ses_2").await
    }

    /// A turn of the session that is to begin.
    pub(super) fn turn(&self, id: TurnId) -> NewTurn {
        NewTurn {
            id,
            session: self.session,
            native_id: id.to_string(),
            prompt: "look".to_owned(),
            model: None,
            mode: None,
            agent: None,
            follows: None,
        }
    }

    /// Ends the engine's life and begins its next.
    pub(super) async fn restart_engine(&mut self) {
        let ended = self
            .store
            .end_run(self.workspace, self.run, "killed", at(50));
        assert!(ended.await.unwrap());
        self.run = self.store.begin_run(&self.engine, at(60)).await.unwrap().id;
        self.opening = self.opening.after(Duration::from_mins(1));
    }

    /// Leave to run `command`, asked for by the session in the engine's present life.
    pub(super) fn command(&self, native_id: &str, command: &str) -> NewAsk {
        NewAsk {
            workspace: self.workspace,
            door: Door::Opencode,
            run: self.run,
            session: self.session,
            native_id: native_id.to_owned(),
            directory: "/home/ada/project".to_owned(),
            subject: Subject::Permission {
                location: countersign_core::ask::Location::default(),
                tool: "bash".to_owned(),
                targets: vec![command.to_owned()],
                shown: vec![],
            },
            arguments: json!({ "command": command }),
            raw: json!({ "id": native_id, "command": command }),
            options: vec![],
            expires_at: None,
        }
    }

    /// A question to the user.
    pub(super) fn question(&self, native_id: &str) -> NewAsk {
        NewAsk {
            subject: Subject::Question {
                questions: vec![Question {
                    header: "Store".to_owned(),
                    question: "Which database?".to_owned(),
                    options: vec![],
                    multiple: false,
                }],
            },
            ..self.command(native_id, "")
        }
    }

    /// Opens an ask that has to be new.
    pub(super) async fn open(&self, ask: NewAsk) -> Ask {
        match self.store.open_ask(ask, self.opening).await.unwrap() {
            Opened::Fresh(ask) => ask,
            Opened::Known(ask) => panic!("{} is in the ledger already", ask.id),
        }
    }

    /// Opens leave to run `command`.
    pub(super) async fn open_command(&self, native_id: &str, command: &str) -> Ask {
        self.open(self.command(native_id, command)).await
    }

    /// Answers an ask, as ada, with an answer that has to win.
    pub(super) async fn answer(&self, ask: AskId, choice: Choice) -> Ask {
        let answer = says(&self.ada, choice);
        let outcome = self.store.answer(ask, answer, at(2)).await.unwrap();
        let Answered::Won(ask) = outcome else {
            panic!("{ask} did not take the answer: {outcome:?}");
        };
        ask
    }

    /// An ask as it is in the ledger.
    pub(super) async fn ask(&self, id: AskId) -> Ask {
        self.store.ask(id).await.unwrap().unwrap()
    }
}

async fn put_session(store: &Store, workspace: WorkspaceId, native_id: &str) -> SessionId {
    let session = Session {
        id: SessionId::generate(START),
        workspace,
        engine: Session::OPENCODE.to_owned(),
        native_id: native_id.to_owned(),
        parent: None,
        title: "Fix the build".to_owned(),
        directory: "/home/ada/project".to_owned(),
        agent: "build".to_owned(),
        activity: Activity::Busy,
        started_at: START,
        changed_at: START,
    };
    store.put_session(&session).await.unwrap().id
}

/// What `actor` says on the page.
pub(super) fn says(actor: &Actor, choice: Choice) -> Answer {
    Answer {
        choice,
        by: actor.clone(),
        surface: Surface::Web,
        at: at(2),
        rule: None,
    }
}

pub(super) fn deny() -> Choice {
    Choice::Deny {
        reason: Some("not on a Friday".to_owned()),
    }
}

pub(super) fn always(scope: Scope) -> Choice {
    Choice::AllowAlways {
        scope,
        pattern: None,
        expires_at: None,
    }
}

pub(super) fn announced() -> Evidence {
    Evidence::Announced {
        event: "permission.replied".to_owned(),
    }
}
