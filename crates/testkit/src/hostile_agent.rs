//! An ACP agent that does everything wrong that an agent can do, one wrong at a time.
//!
//! `hostile-agent <mode>` is a process that behaves like a plain agent (initialize, a session, a prompt with one ask, the
//! end of the turn) but for what its [`Mode`] says. When it comes to that, it says so on standard error
//! (`hostile-agent: <mode> at <stage>`), so that a test can wait for it even where the wrong is silence. If any of its
//! asks is ever allowed, it writes [`APPROVED`] into the session's directory. It never lives longer than [`LIFETIME`].

use std::time::Duration;

mod mode;
mod normal;
mod play;
mod puppet;
mod repertoire;
mod replay;
mod script;

pub use mode::Mode;
pub use normal::{COMMAND, FOREIGN_SESSION, SESSION};
pub use play::run;
pub use puppet::{Puppet, Strings};
pub use replay::{LAST_COMMAND, REPLAY};
pub use script::Stage;

/// The file that shows that an ask was allowed: one line for each.
pub const APPROVED: &str = "hostile-agent-approved.txt";

/// The file that holds the ids of the processes that are meant to outlive the agent, one a line.
pub const OUTLIVING: &str = "hostile-agent-outliving.txt";

/// How long any of its processes lives at most, whatever happens: a test that fails leaves nothing behind for ever.
pub const LIFETIME: Duration = Duration::from_mins(5);

/// How much a mode says that says too much.
pub const TOO_MUCH: usize = 100 * 1024 * 1024;

/// How many updates a flood has.
pub const FLOOD: usize = 400_000;
