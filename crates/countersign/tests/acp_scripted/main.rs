//! An agent that does what a test says, at the moment that the test chooses: what crosses a cancel, what changes while
//! somebody is asked, what is under way when the server is killed, and how sessions are taken up again.

mod cancelling;
mod changing;
mod drafting;
mod opening;
mod refusing;
mod scene;
mod stalling;
mod surviving;
