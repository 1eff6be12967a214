//! The surface: takes requests, and hands on what is not OpenWork's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use countersign_broker::{Broker, BrokerError};
use countersign_core::actor::Actor;
use countersign_core::id::WorkspaceId;
use countersign_core::time::Clock;
use countersign_server::{Answering, Body, Front, Request, Response, Routes};
use countersign_workspace::{Home, Spare};
use http::header::{ACCEPT, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio_util::task::TaskTracker;

use crate::approvals::Coming;
use crate::body::Reader;
use crate::capabilities::{Engines, capabilities};
use crate::compat::Compat;
use crate::cors::Cors;
use crate::endpoints::{self, Environment, Upstream};
use crate::file_sessions::FileSessions;
use crate::keys::Keys;
use crate::refusal::Refusal;
use crate::reloads::Reloads;
use crate::requests::Note;
use crate::roster::{Entry, Roster, Seat};
use crate::routes::Route;
use crate::settings::Settings;
use crate::trail::Trail;

/// What a client is called in the ledger that shows the client token.
const CLIENT: &str = "openwork client";
/// What the host is called in the ledger.
const HOST: &str = "openwork host";

/// OpenWork's server as its clients see it.
pub struct OpenWork {
    pub(crate) broker: Broker,
    pub(crate) settings: Settings,
    pub(crate) roster: Roster,
    pub(crate) keys: Keys,
    pub(crate) coming: Coming,
    pub(crate) reloads: Reloads,
    pub(crate) bodies: Reader,
    pub(crate) upstream: Upstream,
    pub(crate) environment: Environment,
    pub(crate) file_sessions: FileSessions,
    pub(crate) clock: Clock,
    /// Writes that were approved are carried out, whoever still waits for them.
    pub(crate) tasks: TaskTracker,
    /// Where what they write is made ready; nothing if there can be no such place.
    pub(crate) spare: Option<Spare>,
    pub(crate) started: Instant,
    cors: Cors,
    /// Whether somebody has looked into Countersign's own inbox.
    is_inbox_open: AtomicBool,
}

impl OpenWork {
    /// Takes up what the ledger of `broker` knows of the workspaces.
    pub async fn start(broker: &Broker, settings: Settings) -> Result<Arc<Self>, BrokerError> {
        let client: Actor = broker.know_person(CLIENT).await?;
        let host: Actor = broker.know_person(HOST).await?;
        let mut entries = Vec::with_capacity(settings.workspaces.len());
        for entry in &settings.workspaces {
            let (ledger, trail) = known(broker, &settings, entry).await?;
            entries.push((entry.clone(), ledger, trail));
        }
        let clock = broker.clock().clone();
        let home = Home::new(&settings.home);
        let roots = settings.authorized_roots.clone();
        let spare = Spare::open(&broker.data_directory().join("prepared"));
        let spare = spare.inspect_err(|error| {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "what waits for approval cannot be made ready meanwhile"
            );
        });
        let surface = Arc::new(Self {
            spare: spare.ok(),
            roster: Roster::new(settings.compat, home, roots, entries),
            keys: Keys::new(broker.clone(), &settings, client, host),
            coming: Coming::default(),
            reloads: Reloads::new(settings.compat, clock.clone()),
            bodies: Reader::default(),
            upstream: Upstream::default(),
            environment: Environment::new(settings.env_path.clone()),
            file_sessions: FileSessions::new(clock.clone()),
            broker: broker.clone(),
            cors: Cors::new(&settings.cors, settings.compat),
            clock,
            tasks: TaskTracker::new(),
            started: Instant::now(),
            is_inbox_open: AtomicBool::new(false),
            settings,
        });
        for seat in surface.roster.all() {
            surface.begin_noticing(seat);
        }
        Ok(surface)
    }

    /// Takes note of the files of a workspace beside everything else, so that changes of them are noticed.
    pub(crate) fn begin_noticing(self: &Arc<Self>, seat: Arc<Seat>) {
        if self.settings.compat.is_scoped() {
            let surface = Arc::clone(self);
            self.tasks
                .spawn_blocking(move || surface.reloads.begin(&seat));
        }
    }

    /// A seat for a workspace that comes while the server runs.
    pub(crate) async fn seat(&self, entry: Entry) -> Result<Arc<Seat>, Refusal> {
        let (ledger, trail) = known(&self.broker, &self.settings, &entry).await?;
        self.roster.authorize(&entry.path);
        Ok(self.roster.seat(entry, ledger, trail))
    }

    /// Has the engine of a workspace that came later followed, if somebody has looked into the inbox.
    pub(crate) fn follow(&self, seat: &Seat) {
        if self.is_inbox_open.load(Ordering::Relaxed) {
            self.broker.call_engine(seat.ledger);
        }
    }

    /// Fails if nothing may be written.
    pub(crate) fn ensure_writable(&self) -> Result<(), Refusal> {
        if self.settings.read_only {
            return Err(Refusal::new(403, "read_only", "Server is read-only"));
        }
        Ok(())
    }

    /// What `/capabilities` answers.
    pub(crate) fn capabilities(&self) -> bytes::Bytes {
        let all = self.roster.all();
        let engines = Engines {
            are_there: all
                .iter()
                .any(|seat| seat.entry.opencode.base_url.is_some()),
            version: self.opencode_version(),
        };
        capabilities(&self.settings, engines)
    }

    /// The version of the active workspace's opencode, if somebody has called it and it has said so. It is never asked
    /// for this.
    pub(crate) fn opencode_version(&self) -> Option<String> {
        let active = self.roster.first()?;
        self.broker.engine_version(active.ledger)
    }

    /// What stands before the routes of Countersign itself.
    pub fn front(self: &Arc<Self>) -> Arc<Front> {
        let surface = Arc::clone(self);
        Arc::new(move |request, routes| surface.take(request, routes))
    }

    /// Waits for the writes that are under way.
    pub async fn stop(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn take(self: &Arc<Self>, request: Request, routes: &Routes) -> Answering {
        if is_countersigns(&request) {
            // Who looks into the inbox wants to see what engines ask.
            if request.uri().path().starts_with("/api/v1/")
                && !self.is_inbox_open.swap(true, Ordering::Relaxed)
            {
                for seat in self.roster.all() {
                    self.broker.call_engine(seat.ledger);
                }
            }
            return routes.answer(request);
        }
        let surface = Arc::clone(self);
        routes.reading_out(request, move |request| surface.answer(request))
    }

    async fn answer(self: Arc<Self>, request: Request) -> Response {
        let origin = request.headers().get(ORIGIN).cloned();
        let note = self.settings.log.has_requests.then(|| Note::of(&request));
        let mut response = if request.method() == Method::OPTIONS {
            nothing()
        } else {
            let surface = Arc::clone(&self);
            surface
                .route(request)
                .await
                .unwrap_or_else(Refusal::into_response)
        };
        self.cors.add(origin.as_ref(), response.headers_mut());
        if let Some(note) = note {
            note.log(&response);
        }
        response
    }

    async fn route(self: Arc<Self>, request: Request) -> Result<Response, Refusal> {
        let route = Route::find(request.method(), request.uri().path())?;
        let route = route.ok_or_else(Refusal::not_found)?;
        // What is asked for most waits for nothing.
        if matches!(route, Route::Health) {
            return Ok(endpoints::health(&self));
        }
        if matches!(route, Route::Workspaces)
            && let Some(scope) = self.keys.known_scope(request.headers())
        {
            return Ok(endpoints::listing(&self, scope));
        }
        Box::pin(endpoints::answer(self, route, request)).await
    }
}

/// What the ledger knows of a workspace.
async fn known(
    broker: &Broker,
    settings: &Settings,
    entry: &Entry,
) -> Result<(WorkspaceId, Trail), BrokerError> {
    let known = broker
        .add_workspace(&entry.path, &entry.name, entry.endpoint())
        .await?;
    let elsewhere = match settings.compat {
        Compat::January => None,
        Compat::Scoped => {
            let file = format!("audit/{}.jsonl", entry.id);
            Some(settings.data_directory.join(file))
        }
    };
    let trail = Trail::load(broker.clone(), (known.id, entry.id.as_str()), elsewhere).await?;
    Ok((known.id, trail))
}

fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Whether a request is for Countersign itself: its API, its page, and what tells how it is.
fn is_countersigns(request: &Request) -> bool {
    match request.uri().path() {
        "/" => accepts_pages(request.headers()),
        "/app" | "/healthz" | "/readyz" | "/metrics" => true,
        path => path.starts_with("/app/") || path.starts_with("/api/"),
    }
}

fn accepts_pages(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).map(HeaderValue::as_bytes);
    accept.is_some_and(|accept| accept.windows(9).any(|word| word == b"text/html"))
}

#[cfg(test)]
mod tests;
