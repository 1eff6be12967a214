//! What a workspace holds for its agents: configuration, skills, commands, plugins and MCP servers, as files.
//!
//! Nothing here knows of HTTP, of the ledger or of async; whoever calls from a task does it where waiting is allowed.
//! Reading remembers what it read as long as the file is the same. Changing takes two steps: [`Workspace::plan`] says
//! what would be on the disk, and [`Workspace::apply`] puts it there, as a whole, if that is still what it means.

pub mod beneath;
pub mod change;
mod changing;
pub mod commands;
mod config;
pub mod export;
mod folder;
pub mod front_matter;
pub mod import;
pub mod jobs;
pub mod jsonc;
pub mod listing;
pub mod mcp;
mod names;
pub mod plugins;
pub mod refusal;
pub mod secrets;
pub mod signs;
pub mod skills;
mod spare;
mod stamp;
mod workspace;

pub use change::{Act, Applied, ApplyError, Base, Change, Effect, FileChange, Plan};
pub use changing::{Names, Prepared};
pub use commands::{Command, CommandDraft};
pub use config::{Config, ConfigText};
pub use export::Export;
pub use import::Import;
pub use jobs::Job;
pub use listing::Listing;
pub use mcp::McpServer;
pub use plugins::Plugin;
pub use refusal::{Kind, Refusal};
pub use signs::Signs;
pub use skills::{Skill, SkillText};
pub use spare::Spare;
pub use workspace::{Home, Reach, Scope, Workspace};
