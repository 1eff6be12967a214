//! The endpoints, one module for what belongs together.

mod approvals;
mod batches;
mod commands;
mod config;
mod engine_call;
mod environment;
mod exchange;
mod files;
mod identity;
mod jobs;
mod mcp;
mod one_file;
mod overview;
mod plugins;
mod proxy;
mod records;
mod registry;
mod reload;
mod sessions;
mod skills;
mod text;

pub(crate) use environment::Environment;
pub(crate) use overview::{health, listing};
pub(crate) use reload::Upstream;

use std::sync::{Arc, Mutex, PoisonError};

use countersign_server::{Body, Request, Response};
use http::{HeaderMap, StatusCode};

use crate::keys::{Caller, Scope};
use crate::listings::Looked;
use crate::percent;
use crate::refusal::Refusal;
use crate::reply;
use crate::roster::Seat;
use crate::routes::{Exchange, Part, Route};
use crate::shared_look::SharedLook;
use crate::surface::OpenWork;

/// A request about a workspace, of somebody who was let in.
pub(crate) struct Call {
    pub(crate) surface: Arc<OpenWork>,
    pub(crate) seat: Arc<Seat>,
    pub(crate) caller: Caller,
    pub(crate) headers: HeaderMap,
    query: Option<String>,
    /// In a lock, so that the call can be looked at from another thread meanwhile.
    body: Mutex<Body>,
}

impl Call {
    /// The value of `name` in the query.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        percent::query(self.query.as_deref(), name)
    }

    /// The body, which is JSON.
    pub(crate) async fn json(&self) -> Result<crate::body::Fields, Refusal> {
        let body = std::mem::take(&mut *self.body.lock().unwrap_or_else(PoisonError::into_inner));
        self.surface.bodies.json(body).await
    }

    /// The body as it is, of at most `most` bytes.
    pub(crate) async fn bytes(&self, most: usize) -> Result<bytes::Bytes, Refusal> {
        let body = std::mem::take(&mut *self.body.lock().unwrap_or_else(PoisonError::into_inner));
        self.surface.bodies.bytes(body, most).await
    }

    /// Does `work` with the workspace where waiting for the disk is allowed.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Seat) -> Result<T, countersign_workspace::Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = Arc::clone(&self.seat);
        let looked = crate::aside::aside(move || work(&seat)).await;
        Ok(looked.ok_or_else(crate::writing::panicked)??)
    }

    /// Does the same for a look at a file or two.
    pub(crate) async fn glance<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Seat) -> Result<T, countersign_workspace::Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        static GLANCING: crate::aside::Pace = crate::aside::Pace::new();
        let seat = Arc::clone(&self.seat);
        let looked = crate::aside::briefly(&GLANCING, move || work(&seat)).await;
        Ok(looked.ok_or_else(crate::writing::panicked)??)
    }

    /// Does a look once for all who ask for it at about the same time.
    pub(crate) async fn look_together(
        &self,
        looks: &SharedLook<Looked>,
        work: impl FnOnce(&Seat) -> Looked + Send + 'static,
    ) -> Result<bytes::Bytes, Refusal> {
        let seat = Arc::clone(&self.seat);
        let looked = looks.look(move || work(&seat)).await;
        Ok(looked.ok_or_else(crate::writing::panicked)??)
    }
}

/// Answers a request that may have to wait. What takes much room is in a box: no request carries along what others take.
pub(crate) async fn answer(
    surface: Arc<OpenWork>,
    route: Route,
    request: Request,
) -> Result<Response, Refusal> {
    match route {
        Route::Health => Ok(health(&surface)),
        Route::Capabilities => overview::capabilities(&surface, request.headers()).await,
        Route::Workspaces => overview::workspaces(&surface, request.headers()).await,
        Route::Status => identity::status(&surface, request.headers()).await,
        Route::WhoAmI => identity::who_am_i(&surface, request.headers()).await,
        Route::Versions => identity::versions(&surface, request.headers()).await,
        Route::Tokens => identity::tokens(&surface, request.headers()).await,
        Route::IssueToken => Box::pin(identity::issue(&surface, request)).await,
        Route::RevokeToken(id) => {
            Box::pin(identity::revoke(&surface, &id, request.headers())).await
        }
        Route::Env(env) => Box::pin(environment::answer(&surface, env, request)).await,
        Route::AddWorkspace => Box::pin(registry::add(&surface, request)).await,
        Route::RenameWorkspace(id) => Box::pin(registry::rename(&surface, &id, request)).await,
        Route::RemoveWorkspace(id) => {
            Box::pin(registry::remove(&surface, &id, request.headers())).await
        }
        Route::Activate { workspace } => {
            Box::pin(overview::activate(&surface, &workspace, request.headers())).await
        }
        Route::Approvals => approvals::list(&surface, request.headers()).await,
        Route::Reply { approval } => Box::pin(approvals::reply(&surface, &approval, request)).await,
        Route::Of { workspace, part } => {
            Box::pin(of_workspace(surface, &workspace, part, request)).await
        }
        Route::FileSession { session, act } => {
            Box::pin(batches::answer(surface, &session, act, request)).await
        }
        Route::Proxy { workspace, path } => {
            Box::pin(proxy::pass(surface, workspace.as_deref(), &path, request)).await
        }
    }
}

async fn of_workspace(
    surface: Arc<OpenWork>,
    workspace: &str,
    part: Part,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let caller = surface.keys.client(&head.headers).await?;
    if part.writes() {
        caller.require(Scope::Collaborator)?;
        surface.ensure_writable()?;
    }
    let seat = surface.roster.find(workspace)?;
    let call = Call {
        query: head.uri.query().map(str::to_owned),
        headers: head.headers,
        surface,
        seat,
        caller,
        body: Mutex::new(body),
    };
    match part {
        Part::MountedStatus => Ok(identity::mounted_status(
            &call.surface,
            &call.caller,
            &call.seat,
        )),
        Part::MountedCapabilities => Ok(reply::bytes(StatusCode::OK, call.surface.capabilities())),
        Part::MountedWorkspaces => Ok(overview::mounted_workspaces(
            &call.surface,
            &call.caller,
            &call.seat,
        )),
        Part::Config => config::show(&call).await,
        Part::PatchConfig => config::patch(&call).await,
        Part::ConfigText => text::show(&call).await,
        Part::WriteConfigText => text::write(&call).await,
        Part::Export => config::export(&call).await,
        Part::Import => config::import(&call).await,
        Part::PreviewImport => config::preview(&call).await,
        Part::Audit => records::audit(&call).await,
        Part::Events => records::events(&call).await,
        Part::Reload => reload::reload(&call).await,
        Part::Plugins => plugins::list(&call).await,
        Part::AddPlugin => plugins::add(&call).await,
        Part::RemovePlugin(name) => plugins::remove(&call, name).await,
        Part::Skills => skills::list(&call).await,
        Part::Skill(name) => skills::show(&call, name).await,
        Part::UpsertSkill => skills::upsert(&call).await,
        Part::DeleteSkill(name) => skills::delete(&call, name).await,
        Part::Mcp => mcp::list(&call).await,
        Part::SetMcp => mcp::set(&call).await,
        Part::EnableMcp(name) => mcp::enable(&call, name).await,
        Part::RemoveMcp(name) => mcp::remove(&call, name).await,
        Part::SignOutMcp(name) => mcp::sign_out(&call, name).await,
        Part::Commands => commands::list(&call).await,
        Part::UpsertCommand => commands::upsert(&call).await,
        Part::DeleteCommand(name) => commands::delete(&call, name).await,
        Part::Jobs => jobs::list(&call).await,
        Part::DeleteJob(name) => jobs::delete(&call, name).await,
        Part::Exchange(exchange) => Box::pin(exchanged(&call, exchange)).await,
    }
}

/// What goes in and out of a workspace.
async fn exchanged(call: &Call, exchange: Exchange) -> Result<Response, Refusal> {
    match exchange {
        Exchange::Inbox => exchange::inbox(call).await,
        Exchange::InboxItem(id) => exchange::inbox_item(call, &id).await,
        Exchange::Upload => exchange::upload(call).await,
        Exchange::Artifacts => exchange::artifacts(call).await,
        Exchange::Artifact(id) => exchange::artifact(call, &id).await,
        Exchange::ResolveArtifacts => exchange::resolve(call).await,
        Exchange::OpenFileSession => files::open_session(call).await,
        Exchange::FileContent => files::content(call).await,
        Exchange::WriteFileContent => one_file::write_content(call).await,
        Exchange::FileStat => files::stat(call).await,
        Exchange::WriteRawFile => one_file::write_raw(call).await,
        Exchange::RawFile => files::raw(call).await,
        Exchange::Sessions => sessions::list(call).await,
        Exchange::Session(id) => sessions::show(call, &id).await,
        Exchange::SessionMessages(id) => sessions::messages(call, &id).await,
        Exchange::SessionSnapshot(id) => sessions::snapshot(call, &id).await,
        Exchange::DeleteSession(id) => sessions::delete(call, &id).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room<A, F>(_: impl FnOnce(A) -> F) -> usize {
        size_of::<F>()
    }

    /// What is on its way is moved about as a whole: a request that takes much room takes time for it, and drives out of the
    /// processor's memory what it needs next.
    #[test]
    fn a_request_takes_little_room_while_it_is_answered() {
        let any = room(
            |(surface, route, request): (Arc<OpenWork>, Route, Request)| {
                answer(surface, route, request)
            },
        );
        assert!(any <= 2_048, "{any} bytes");
        let write = room(|call: &'static Call| plugins::add(call));
        assert!(write <= 4_096, "{write} bytes");
    }
}
