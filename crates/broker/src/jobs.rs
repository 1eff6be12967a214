//! Jobs: handed in as rows, run by a task that looks at the ledger and nothing else, and always brought to an end.
//!
//! What is to be done next follows from what is written down, so that the next server goes on where this one was. A job
//! has one session and one turn, both named when it is taken from the queue: what was begun is found again by its name,
//! and nothing is said twice.

mod again;
mod answering;
mod attachments;
mod closing;
mod effort;
mod ending;
mod handing_in;
mod heal;
mod outcome;
mod place;
mod result;
mod runner;
mod starting;
mod view;
mod watching;
mod worktree;

pub use handing_in::JobWish;
pub use heal::{HealWish, HealedJob};
pub use result::Changes;
pub use view::{Found, JobContext};

pub(crate) use place::folder;
pub(crate) use runner::run;
