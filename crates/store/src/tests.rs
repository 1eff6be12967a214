//! What the ledger promises, tried on both databases.

mod answering;
mod attachments;
mod audit;
mod backend;
mod bridges;
mod delivering;
mod durability;
mod earlier;
mod ending;
mod events;
mod figures;
mod jobs;
mod model;
mod notifying;
mod opening;
mod pushing;
mod racing;
mod repeating;
mod scene;
mod search;
mod settings;
mod tokens;
mod transcript;
mod upgrading;
mod writes;
