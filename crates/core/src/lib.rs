//! The rules of Countersign: what an ask is, who may answer it, how it ends.
//!
//! Everything here is a value or a function of values. There is no I/O, no clock and no async: callers
//! pass the time in and store what comes out.

pub mod actor;
pub mod answer;
pub mod ask;
pub mod attachment;
pub mod audit;
pub mod delivery;
pub mod digest;
pub mod event;
pub mod grant;
pub mod id;
pub mod job;
pub mod notification;
pub mod rule;
pub mod schedule;
pub mod session;
pub mod settings;
pub mod time;
pub mod token;
pub mod visible;
