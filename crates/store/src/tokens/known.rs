//! Tokens that were looked up, as long as nobody but us can take one back.
//!
//! A file is ours alone, so that what was read of it holds until we change it. A database server has other writers, and is
//! asked each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_core::digest::Digest;
use countersign_core::token::Token;

/// How many are remembered; with one more they are all looked up anew.
const MOST: usize = 1024;

/// Tokens by the hashes of their secrets.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownTokens(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    tokens: HashMap<Digest, Token>,
    /// How often tokens were changed.
    changes: u64,
}

/// A look-up that has begun: what it finds is remembered only if nothing was changed meanwhile.
pub(crate) struct LookUp {
    changes: u64,
}

impl KnownTokens {
    /// The token whose secret has this hash, or the beginning of a look-up.
    pub(crate) fn find(&self, hash: &Digest) -> Result<Token, LookUp> {
        let known = self.lock();
        known.tokens.get(hash).cloned().ok_or(LookUp {
            changes: known.changes,
        })
    }

    /// Remembers what a look-up found.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a look-up finds something once"
    )]
    pub(crate) fn remember(&self, look_up: LookUp, hash: &Digest, token: &Token) {
        let mut known = self.lock();
        // It may have been read before the change and arrive here after it.
        if known.changes != look_up.changes {
            return;
        }
        if known.tokens.len() >= MOST {
            known.tokens.clear();
        }
        known.tokens.insert(*hash, token.clone());
    }

    /// Forgets all of them: one was changed, and that is committed.
    pub(crate) fn forget(&self) {
        let mut known = self.lock();
        known.changes += 1;
        known.tokens.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
