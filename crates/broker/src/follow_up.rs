//! What an agent is told after a refusal, as a prompt of its own, where the engine has no place for the reason.

use countersign_core::ask::Ask;
use countersign_core::id::{AskId, TurnId};

/// The turn that tells why an ask was denied. It is always the same one, so that it is told once.
pub(crate) fn turn_after(ask: AskId) -> Option<TurnId> {
    let id = ask.to_string();
    let (_, digits) = id.split_once('_')?;
    format!("turn_{digits}").parse().ok()
}

/// What the agent is told when `ask` was denied for `reason`.
pub(crate) fn denial_words(ask: &Ask, reason: &str) -> String {
    let what = ask.subject.summary();
    format!("`{what}` was denied. The reason: {reason}")
}
