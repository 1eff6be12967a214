//! The workspaces that are served: which there are, which is the active one, and how clients see them.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use countersign_broker::Endpoint;
use countersign_core::id::WorkspaceId;
use countersign_workspace::{Home, Workspace};
use serde::Serialize;

use crate::compat::Compat;
use crate::keys::Scope;
use crate::listings::Listings;
use crate::refusal::Refusal;
use crate::reply;
use crate::trail::Trail;

/// A workspace as it was configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is called on the wire.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// `local`, as a rule.
    pub workspace_type: String,
    /// How its opencode is reached.
    pub opencode: Opencode,
    /// Whether only owners answer what its engine asks.
    pub is_for_owners: bool,
}

/// How the opencode of a workspace is reached.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Opencode {
    /// Where it listens.
    pub base_url: Option<String>,
    /// The directory it works in, if that is not the workspace.
    pub directory: Option<String>,
    /// The user of its server.
    pub username: Option<String>,
    /// The password of that user.
    pub password: Option<String>,
}

impl std::fmt::Debug for Opencode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opencode")
            .field("base_url", &self.base_url)
            .field("directory", &self.directory)
            .field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "(secret)"))
            .finish()
    }
}

/// Whether a view of a workspace has the credentials of its engine in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// For those who could answer its asks anyway.
    Shown,
    /// For everybody else.
    Hidden,
}

impl Entry {
    /// What it takes to answer what its engine asks.
    pub(crate) fn answered_by(&self) -> Scope {
        if self.is_for_owners {
            Scope::Owner
        } else {
            Scope::Collaborator
        }
    }

    /// Whether its opencode is the one of `other` too.
    fn has_engine_of(&self, other: &Self) -> bool {
        let address = |entry: &Self| {
            let address = entry.opencode.base_url.as_deref()?.trim();
            Some(address.trim_end_matches('/').to_owned())
        };
        address(self).is_some_and(|own| Some(own) == address(other))
    }
}

impl Credentials {
    /// Whether who may do so much is shown those of the engine of `entry`. They open the engine for every workspace of
    /// `all` that has it too, so they are for those who may answer in each of these.
    fn of<'a>(entry: &Entry, scope: Scope, all: impl IntoIterator<Item = &'a Arc<Seat>>) -> Self {
        let mut sharing = all.into_iter().map(|seat| &seat.entry);
        let is_kept =
            sharing.any(|other| other.has_engine_of(entry) && scope < other.answered_by());
        if is_kept || scope < entry.answered_by() {
            Self::Hidden
        } else {
            Self::Shown
        }
    }
}

/// A workspace as clients see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct View<'a> {
    id: &'a str,
    name: &'a str,
    path: &'a str,
    workspace_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opencode: Option<OpencodeView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpencodeView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
}

impl Entry {
    /// How clients see it.
    pub(crate) fn view(&self, credentials: Credentials) -> View<'_> {
        let is_local = self.workspace_type == "local";
        let engine = &self.opencode;
        let own = is_local.then_some(self.path.as_str());
        let shown = credentials == Credentials::Shown;
        let is_known = is_local || engine.base_url.is_some() || engine.directory.is_some();
        View {
            id: &self.id,
            name: &self.name,
            path: &self.path,
            workspace_type: &self.workspace_type,
            base_url: engine.base_url.as_deref(),
            directory: engine.directory.as_deref(),
            opencode: is_known.then(|| OpencodeView {
                base_url: engine.base_url.as_deref(),
                directory: engine.directory.as_deref().or(own),
                username: engine.username.as_deref().filter(|_| shown),
                password: engine.password.as_deref().filter(|_| shown),
            }),
        }
    }

    /// How its opencode is reached, if it has one.
    pub fn endpoint(&self) -> Option<Endpoint> {
        let engine = &self.opencode;
        let base_url = engine.base_url.as_deref().map(str::trim);
        let base_url = base_url.filter(|base_url| !base_url.is_empty())?;
        Some(Endpoint {
            base_url: base_url.trim_end_matches('/').to_owned(),
            credentials: engine.username.clone().zip(engine.password.clone()),
        })
    }

    /// The directory that its opencode works in.
    pub(crate) fn directory(&self) -> &str {
        self.opencode.directory.as_deref().unwrap_or(&self.path)
    }
}

/// A workspace that is served.
pub(crate) struct Seat {
    pub(crate) entry: Entry,
    /// Its place in the ledger.
    pub(crate) ledger: WorkspaceId,
    /// Its files.
    pub(crate) files: Workspace,
    /// What was done in it.
    pub(crate) trail: Trail,
    /// Answers that hold as long as its files are the same.
    pub(crate) listings: Listings,
    /// Whether it is below a folder that may be served.
    pub(crate) is_authorized: bool,
}

/// The workspaces that are served, the active one first.
pub(crate) struct Roster {
    compat: Compat,
    home: Home,
    authorized_roots: RwLock<Vec<String>>,
    seats: RwLock<Seats>,
}

struct Seats {
    list: Vec<Arc<Seat>>,
    /// What `/workspaces` answers to viewers, collaborators and owners.
    listings: [Bytes; 3],
}

impl Roster {
    pub(crate) fn new(
        compat: Compat,
        home: Home,
        authorized_roots: Vec<String>,
        entries: Vec<(Entry, WorkspaceId, Trail)>,
    ) -> Self {
        let mut roster = Self {
            compat,
            home,
            authorized_roots: RwLock::new(authorized_roots),
            seats: RwLock::new(Seats::of(Vec::new(), compat)),
        };
        let seats = entries
            .into_iter()
            .map(|(entry, ledger, trail)| roster.seat(entry, ledger, trail));
        roster.seats = RwLock::new(Seats::of(seats.collect(), compat));
        roster
    }

    /// A seat for a workspace, which is not served by that.
    pub(crate) fn seat(&self, entry: Entry, ledger: WorkspaceId, trail: Trail) -> Arc<Seat> {
        let roots = self
            .authorized_roots
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let is_authorized = roots.iter().any(|root| {
            let below = entry.path.strip_prefix(root.as_str());
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        });
        Arc::new(Seat {
            files: Workspace::new(&entry.path, self.home.clone()),
            entry,
            ledger,
            trail,
            listings: Listings::default(),
            is_authorized,
        })
    }

    /// The workspace called `id`, if it may be served.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Seat>, Refusal> {
        let seat = self.any(id)?;
        if seat.is_authorized {
            Ok(seat)
        } else {
            Err(Refusal::new(
                403,
                "workspace_unauthorized",
                "Workspace is not authorized",
            ))
        }
    }

    /// The workspace called `id`, whether or not it may be served.
    pub(crate) fn any(&self, id: &str) -> Result<Arc<Seat>, Refusal> {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        let seat = seats.list.iter().find(|seat| seat.entry.id == id);
        seat.cloned()
            .ok_or_else(|| Refusal::new(404, "workspace_not_found", "Workspace not found"))
    }

    /// Every workspace, the active one first.
    pub(crate) fn all(&self) -> Vec<Arc<Seat>> {
        self.seats
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .list
            .clone()
    }

    /// The workspaces that have the same engine as `seat`, itself included.
    pub(crate) fn sharing(&self, seat: &Arc<Seat>) -> Vec<Arc<Seat>> {
        let mut sharing = self.all();
        sharing.retain(|other| {
            other.entry.id != seat.entry.id && other.entry.has_engine_of(&seat.entry)
        });
        sharing.push(Arc::clone(seat));
        sharing
    }

    /// Whether who may do so much is shown the credentials of the engine of `entry`.
    pub(crate) fn credentials(&self, entry: &Entry, scope: Scope) -> Credentials {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        Credentials::of(entry, scope, &seats.list)
    }

    /// The active workspace, whether or not it may be served.
    pub(crate) fn first(&self) -> Option<Arc<Seat>> {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        seats.list.first().cloned()
    }

    /// What `/workspaces` answers to who may do so much.
    pub(crate) fn listing(&self, scope: Scope) -> Bytes {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        seats.listings[scope as usize].clone()
    }

    /// The active workspace.
    pub(crate) fn active(&self) -> Result<Arc<Seat>, Refusal> {
        let seats = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        let id = seats.list.first().map(|seat| seat.entry.id.clone());
        drop(seats);
        self.find(id.as_deref().unwrap_or_default())
    }

    /// Below which folders a workspace has to be.
    pub(crate) fn authorized_roots(&self) -> Vec<String> {
        let roots = self
            .authorized_roots
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        roots.clone()
    }

    /// Lets the workspace at `path` be served.
    pub(crate) fn authorize(&self, path: &str) {
        let mut roots = self
            .authorized_roots
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if !roots.iter().any(|root| root == path) {
            roots.push(path.to_owned());
        }
    }

    /// Serves a workspace, as the active one.
    pub(crate) fn add(&self, seat: &Arc<Seat>) {
        self.change(|list| {
            list.retain(|other| other.entry.id != seat.entry.id);
            list.insert(0, Arc::clone(seat));
        });
    }

    /// Puts a seat in the place of the one of the same workspace.
    pub(crate) fn replace(&self, seat: &Arc<Seat>) {
        self.change(|list| {
            for other in list
                .iter_mut()
                .filter(|other| other.entry.id == seat.entry.id)
            {
                *other = Arc::clone(seat);
            }
        });
    }

    /// Serves the workspace called `id` no more.
    pub(crate) fn remove(&self, id: &str) {
        self.change(|list| list.retain(|seat| seat.entry.id != id));
    }

    /// Makes the workspace called `id` the active one.
    pub(crate) fn activate(&self, id: &str) -> Result<Arc<Seat>, Refusal> {
        let seat = self.any(id)?;
        self.change(|list| {
            list.retain(|other| other.entry.id != id);
            list.insert(0, Arc::clone(&seat));
        });
        Ok(seat)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Seat>>)) {
        let mut seats = self.seats.write().unwrap_or_else(PoisonError::into_inner);
        let mut list = seats.list.clone();
        change(&mut list);
        *seats = Seats::of(list, self.compat);
    }
}

impl Seats {
    fn of(list: Vec<Arc<Seat>>, compat: Compat) -> Self {
        Self {
            listings: [Scope::Viewer, Scope::Collaborator, Scope::Owner]
                .map(|scope| listing(&list, compat, scope)),
            list,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListingView<'a> {
    items: Vec<View<'a>>,
    /// 0.13 says it twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    workspaces: Option<Vec<View<'a>>>,
    active_id: Option<&'a str>,
}

fn listing(list: &[Arc<Seat>], compat: Compat, scope: Scope) -> Bytes {
    let views = |count: usize| -> Vec<_> {
        list.iter()
            .take(count)
            .map(|seat| seat.entry.view(Credentials::of(&seat.entry, scope, list)))
            .collect()
    };
    let (items, workspaces) = match compat {
        // 0.1 shows the active one alone; the others answer all the same.
        Compat::January => (views(1), None),
        Compat::Scoped => (views(list.len()), Some(views(list.len()))),
    };
    reply::compact(&ListingView {
        items,
        workspaces,
        active_id: list.first().map(|seat| seat.entry.id.as_str()),
    })
}
