//! The endpoints, one module for each family.

pub(crate) mod alarms;
pub(crate) mod app;
pub(crate) mod asks;
pub(crate) mod attachments;
pub(crate) mod audit;
pub(crate) mod docs;
pub(crate) mod door;
pub(crate) mod engines;
pub(crate) mod events;
pub(crate) mod figures;
pub(crate) mod health;
pub(crate) mod holdings;
pub(crate) mod jobs;
pub(crate) mod notifications;
pub(crate) mod pairing;
pub(crate) mod push;
pub(crate) mod refusals;
pub(crate) mod rules;
pub(crate) mod schedules;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod tokens;
pub(crate) mod workspaces;
