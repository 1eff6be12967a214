//! A stand-in for opencode's server that speaks its v1 wire and does only what the test says.
//!
//! Sessions, asks, replies and events are those of opencode 1.18.33: `reject` takes the session's other permissions
//! with it, an abort leaves zombies, a request in the wrong directory does not exist. What the real program does by
//! chance or bug (losing a reply, cutting a stream) is a switch here. In a prompt `ASK n` opens n asks and the turn
//! ends when all have a reply; `QUESTION text | a | b` asks a question; `HOLD` stays busy until aborted; any other
//! prompt is `DONE` at once.
//!
//! The binary `scripted-opencode` is the same behind opencode's command line, with the switches under `/__control`;
//! [`RemoteControl`] is how a test reaches them.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::loopback::LoopbackServer;
use asking::Wish;
use world::World;

mod asking;
mod control;
mod event_stream;
mod remote;
mod replying;
mod routes;
mod session;
mod transcript;
mod wire;
mod world;

pub use remote::RemoteControl;

/// The release that it passes for.
pub const VERSION: &str = "1.18.33";

/// A running stand-in; it ends when dropped and cuts every connection.
#[derive(Debug)]
pub struct ScriptedOpencode {
    server: LoopbackServer,
    shared: Shared,
}

/// Who may talk to it, and in which directory it is at home.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The directory of requests that name none.
    pub directory: String,
    /// The user of Basic authentication, `opencode` if not said.
    pub username: Option<String>,
    /// The password, without which everybody may.
    pub password: Option<String>,
}

/// One reply that came in, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivedReply {
    /// Milliseconds since the start, when it was dealt with.
    pub at: u64,
    /// When it was there whole, in microseconds since 1970: the same clock for every process.
    pub received_at_micros: i64,
    /// The permission or question that it names.
    pub id: String,
    /// Its body, as received.
    pub body: Value,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was taken, and the tool ran or did not.
    Taken,
    /// There was nothing of this id in this directory, or no longer.
    NotFound,
    /// It made no sense.
    Invalid,
    /// It got `200 true` and was thrown away.
    Swallowed,
    /// It was taken, and was not Countersign's: [`ScriptedOpencode::reply_as_foreigner`].
    Foreign,
}

/// Something that happened to its asks. Their order is the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// Somebody began to listen to everything that happens from here on.
    Listened {
        /// When, in microseconds since 1970.
        at_micros: i64,
    },
    /// It asked.
    Asked {
        /// The permission or question.
        id: String,
        /// The command that it is about; empty for everything else.
        command: String,
    },
    /// It took a reply.
    Replied {
        /// The permission or question.
        id: String,
    },
    /// It dropped a request by itself, because another one of the session was refused.
    Fell {
        /// The permission.
        id: String,
    },
}

/// What goes wrong from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// What becomes of replies.
    pub replies: ReplyFault,
    /// How long a reply is held before it takes effect.
    pub delay_replies_milliseconds: u64,
    /// How long the acknowledgement is held after the reply took effect.
    pub delay_acknowledgements_milliseconds: u64,
    /// Whether new permissions come with empty metadata, as from 1.15.3.
    pub withhold_metadata: bool,
    /// Whether no event tells of new requests, as when a stream is not written to yet.
    pub withhold_asks: bool,
    /// Whether nobody gets to listen to events any more; streams that are open stay open.
    pub refuse_listeners: bool,
    /// The route that fails, if one does.
    pub route: Option<RouteFault>,
}

/// A route that fails, whatever it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteFault {
    /// The method, such as `GET`.
    pub method: String,
    /// The path, in which `*` stands for any one segment.
    pub path: String,
    /// How it fails.
    pub kind: RouteFaultKind,
}

/// How a route fails. What is sent to it has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteFaultKind {
    /// It answers 400, as `GET /permission` of the real one does while a request has an argument that is undefined.
    BadRequest,
    /// It answers 500.
    Broken,
    /// It never answers.
    Hangs,
    /// It answers 200 with something that is not JSON.
    Garbage,
}

impl RouteFault {
    fn is_about(&self, method: &str, path: &str) -> bool {
        let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let (wanted, given) = (segments(&self.path), segments(path));
        let is_same = |(wanted, given): (&String, &String)| wanted == "*" || wanted == given;
        self.method == method
            && wanted.len() == given.len()
            && wanted.iter().zip(&given).all(is_same)
    }
}

/// What is left of a request that it has forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trace {
    /// The tool call, stopped as if with its turn.
    Stopped,
    /// Nothing.
    None,
}

/// What becomes of replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyFault {
    /// They are taken.
    #[default]
    None,
    /// They get `200 true`, and nothing happens; so do unknown ids, as in 1.15.3.
    Swallowed,
    /// They are taken, and the connection is cut before the acknowledgement.
    Unacknowledged,
    /// They are taken and acknowledged, and no event tells of it.
    Unannounced,
}

impl ScriptedOpencode {
    /// Starts one on a free port for `directory`, with `password` for the user `opencode`.
    pub fn start(directory: &Path, password: &str) -> Self {
        let settings = Settings {
            directory: directory.to_string_lossy().into_owned(),
            username: None,
            password: Some(password.to_owned()),
        };
        Self::start_on(crate::ports::listen(), &settings)
    }

    /// Starts one on `listener`.
    pub fn start_on(listener: TcpListener, settings: &Settings) -> Self {
        let shared = Shared::new(settings);
        let router =
            routes::router(shared.clone(), settings).merge(control::router(shared.clone()));
        Self {
            server: LoopbackServer::start_on(listener, router),
            shared,
        }
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns its address as a URL without a trailing slash.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Creates a session in `directory` and returns its id.
    pub fn create_session(&self, directory: &Path) -> String {
        let title = serde_json::json!({"title": "scripted"});
        let session = self
            .shared
            .world()
            .create_session(&title, &directory.to_string_lossy());
        session["id"].as_str().unwrap_or_default().to_owned()
    }

    /// Opens an ask for a permission in a session, and returns its id. A turn begins if none is running.
    pub fn open_ask(
        &self,
        session: &str,
        permission: &str,
        patterns: &[&str],
        metadata: &Value,
    ) -> String {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let wish = Wish::permission(permission, &patterns, metadata);
        self.shared
            .world()
            .ask(session, wish)
            .expect("the session exists")
    }

    /// Opens a question in a session, and returns its id. A turn begins if none is running.
    pub fn open_question(&self, session: &str, text: &str, options: &[&str]) -> String {
        let wish = Wish::question(text, options.iter().copied());
        self.shared
            .world()
            .ask(session, wish)
            .expect("the session exists")
    }

    /// Has the route fail from now on; nothing else does.
    pub fn break_route(&self, method: &str, path: &str, kind: RouteFaultKind) {
        self.set_faults(Faults {
            route: Some(RouteFault {
                method: method.to_owned(),
                path: path.to_owned(),
                kind,
            }),
            ..Faults::default()
        });
    }

    /// Returns whether a session has a turn.
    pub fn is_busy(&self, session: &str) -> bool {
        let mut world = self.shared.world();
        world.session(session).is_some_and(|it| it.turn.is_some())
    }

    /// Returns whether it works at a response, but for those that hang.
    pub fn is_answering(&self) -> bool {
        self.shared.world().answering > 0
    }

    /// Replies `once` to an ask behind everybody's back, and returns whether it was still open.
    pub fn reply_as_foreigner(&self, id: &str) -> bool {
        control::reply_as_foreigner(&mut self.shared.world(), id)
    }

    /// Returns every reply that came in, oldest first.
    pub fn replies(&self) -> Vec<ReceivedReply> {
        self.shared.world().replies.clone()
    }

    /// Says what goes wrong from now on; `Faults::default()` is nothing.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.world().faults = faults;
    }

    /// Cuts every event stream that is open.
    pub fn drop_events(&self) {
        self.shared.world().events.cut();
    }
}

/// The world as the routes see it.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<World>>);

impl Shared {
    fn new(settings: &Settings) -> Self {
        Self(Arc::new(Mutex::new(World::new(settings.directory.clone()))))
    }

    /// Never held across an await: the world changes in one piece.
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
