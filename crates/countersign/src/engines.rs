//! The engines of this machine, for a command that finds no server to ask.

use anyhow::Context as _;
use countersign_api::EngineOffers;
use countersign_broker::engines_here;
use countersign_server::engine_offers;

use crate::config::Config;
use crate::serve::configured_engine;

/// Looks which engines a server with the usual configuration would find.
pub(crate) fn look() -> anyhow::Result<EngineOffers> {
    let config = Config::load(None)?;
    let engine = configured_engine(&config.engine)?;
    let own_program = std::env::current_exe().context("failed to find our own program")?;
    Ok(engine_offers(engines_here(
        &engine,
        &config.agents,
        &own_program,
    )))
}
