//! Open streams and the tokens that hold them open: when a token ends, so do its streams.
//!
//! One that is taken back here ends them at once. For those that run out, or are taken back elsewhere, one look at the
//! tokens, twice a second, serves however many streams there are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::id::TokenId;
use tokio_util::sync::CancellationToken;

use crate::auth::Admitted;
use crate::error::ApiError;
use crate::state::Server;

/// A stream outlives its token by no more than this and the look itself.
const LOOK: Duration = Duration::from_millis(500);

/// The streams that are open.
#[derive(Clone)]
pub(crate) struct Streams {
    shutdown: CancellationToken,
    most_per_token: usize,
    by_token: Arc<Mutex<HashMap<TokenId, Held>>>,
}

/// The streams that one token holds open.
struct Held {
    ending: CancellationToken,
    streams: usize,
}

/// A stream's place among the open ones; dropping it gives it back.
pub(crate) struct Place {
    token: Option<TokenId>,
    ending: CancellationToken,
    streams: Streams,
}

impl Streams {
    pub(crate) fn new(shutdown: CancellationToken, most_per_token: usize) -> Self {
        Self {
            shutdown,
            most_per_token,
            by_token: Arc::default(),
        }
    }

    /// Takes a place for a stream of `admitted`, unless its token has as many open as one may.
    ///
    /// Each stream holds a connection: without a limit one token could take all of them from everybody else.
    pub(crate) fn enter(&self, admitted: &Admitted) -> Result<Place, ApiError> {
        let token = admitted
            .admission
            .as_ref()
            .map(|admission| admission.token.id);
        let ending = match token {
            // The person at this machine has no token that could end.
            None => self.shutdown.clone(),
            Some(token) => {
                let mut by_token = self.lock();
                let held = by_token.entry(token).or_insert_with(|| Held {
                    ending: self.shutdown.child_token(),
                    streams: 0,
                });
                if held.streams >= self.most_per_token {
                    return Err(ApiError::too_many(format!(
                        "this token has {} streams open, which is as many as one may have; close some, or set \
                             `streams_per_token` in the server's configuration",
                        held.streams
                    )));
                }
                held.streams += 1;
                held.ending.clone()
            }
        };
        Ok(Place {
            token,
            ending,
            streams: self.clone(),
        })
    }

    fn tokens(&self) -> Vec<TokenId> {
        self.lock().keys().copied().collect()
    }

    /// Ends the streams that `token` holds open.
    pub(crate) fn end(&self, token: TokenId) {
        if let Some(held) = self.lock().remove(&token) {
            held.ending.cancel();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TokenId, Held>> {
        // Nothing in here is ever half changed.
        self.by_token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits until the stream has to end.
    pub(crate) async fn ended(&self) {
        self.ending.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(token) = self.token else { return };
        let mut by_token = self.streams.lock();
        // After an end there may be a new holder of the same token's name; it is not ours to count down.
        if self.ending.is_cancelled() {
            return;
        }
        if let Some(held) = by_token.get_mut(&token) {
            held.streams -= 1;
            if held.streams == 0 {
                by_token.remove(&token);
            }
        }
    }
}

/// Ends the streams of tokens that were taken back or have run out, until the server ends.
pub(crate) async fn watch(server: Arc<Server>) {
    loop {
        tokio::select! {
            () = server.shutdown.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let held = server.streams.tokens();
        if held.is_empty() {
            continue;
        }
        server.broker.note_present(&held);
        let now = server.broker.clock().now();
        let good = match server.broker.tokens(&server.broker.local_owner()).await {
            Ok(mut tokens) => {
                tokens.retain(|token| token.is_active(now));
                tokens
            }
            Err(error) => {
                // Who cannot be shown to be good is not shown anything; clients come back by themselves.
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "tokens cannot be looked up; streams end"
                );
                Vec::new()
            }
        };
        for token in held {
            if !good.iter().any(|good| good.id == token) {
                server.streams.end(token);
            }
        }
    }
}
