//! A supervisor and a scripted opencode, in a time that passes only when the test lets it.

mod route_faults;
mod scene;
