//! The commands of jobs with the real program: the exit codes, markers and JSON that scripts rely on, a server that is
//! started when it is needed, and nothing left when it is not.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

mod background;
mod contract;
mod git_programs;
mod handing_in;
mod machine;
mod place;
mod reviewing;
mod watching;
