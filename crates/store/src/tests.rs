//! What the ledger promises, tried on both databases.

mod answering;
mod audit;
mod backend;
mod delivering;
mod durability;
mod ending;
mod events;
mod model;
mod opening;
mod racing;
mod repeating;
mod scene;
mod tokens;
mod transcript;
mod upgrading;
