//! OpenWork's wire: the endpoints of its server, so that its clients, its orchestrator and its web app find what they
//! know, over the same ledger as every other surface.
//!
//! Reading never writes a file and never disturbs an engine. A write is planned, then approved, then put on the disk as
//! a whole, then recorded, and only then announced and answered.

mod approvals;
mod aside;
mod body;
mod capabilities;
mod compat;
mod cors;
mod endpoints;
mod file_path;
mod file_sessions;
mod keys;
mod listings;
mod multipart;
mod percent;
mod refusal;
mod reloads;
mod reply;
mod requests;
mod roster;
mod routes;
pub mod settings;
mod shared_look;
mod surface;
mod trail;
mod wire_id;
mod wire_time;
mod writing;

pub use compat::Compat;
pub use roster::{Entry, Opencode};
pub use settings::Settings;
pub use surface::OpenWork;
