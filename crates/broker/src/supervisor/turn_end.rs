//! The end of turns: when a session comes to rest, and how each of its turns ended by what its messages say.

use std::time::Duration;

use countersign_core::session::{Activity, Session, Turn, TurnOutcome};
use countersign_engine::opencode::Message;

use crate::error::BrokerError;
use crate::standstill::{self, Step};
use crate::supervisor::held::Doing;
use crate::supervisor::run::EngineRun;
use crate::supervisor::verdict;

/// How long the engine may take to write down how a turn ended, once it has said that the session is idle.
const VERDICT_PATIENCE: Duration = Duration::from_secs(3);
/// How many messages are read to find out how a turn ended.
const VERDICT_MESSAGES: u32 = 30;
/// How many are read if that turn is not among them.
const OLD_MESSAGES: u32 = 2_000;

impl EngineRun {
    /// A session is idle: its turns have ended, and how is in its messages.
    pub(super) async fn take_idle(&self, session: &Session) -> Result<(), BrokerError> {
        self.rest(session, None).await
    }

    /// A session has come to rest. `otherwise` is how a turn ended that the engine never replied to.
    pub(super) async fn rest(
        &self,
        session: &Session,
        otherwise: Option<TurnOutcome>,
    ) -> Result<(), BrokerError> {
        let shared = &self.shared;
        shared.live.forget(session.id);
        self.end_turns(session, otherwise).await?;
        shared
            .store
            .set_activity(session.id, Activity::Idle, shared.clock.now())
            .await?;
        self.send_waiting_turns(session).await
    }

    async fn end_turns(
        &self,
        session: &Session,
        otherwise: Option<TurnOutcome>,
    ) -> Result<(), BrokerError> {
        let shared = &self.shared;
        let mut turns = Vec::new();
        for turn in shared.store.open_turns(session.id).await? {
            // What the engine's last life left of it says nothing about how it ends: it is about to go on.
            if !(shared.store.is_to_be_resumed(turn.id).await?
                && self.is_unfinished(session, &turn).await?)
            {
                turns.push(turn);
            }
        }
        if turns.is_empty() {
            return Ok(());
        }
        let unsent = shared
            .store
            .unsent_turns(session.workspace, Session::OPENCODE)
            .await?;
        let sent: Vec<Turn> = turns
            .iter()
            .filter(|turn| !unsent.contains(turn))
            .cloned()
            .collect();
        let Some(messages) = self.finished_messages(session, &sent).await? else {
            return Ok(());
        };
        self.conclude(session, &turns, &messages, otherwise).await
    }

    /// Ends `turns` of a session as its `messages` tell; `otherwise` is how one ended of which they tell nothing.
    pub(super) async fn conclude(
        &self,
        session: &Session,
        turns: &[Turn],
        messages: &[Message],
        otherwise: Option<TurnOutcome>,
    ) -> Result<(), BrokerError> {
        let shared = &self.shared;
        let unsent = shared
            .store
            .unsent_turns(session.workspace, Session::OPENCODE)
            .await?;
        // A prompt that came while another turn was under way is part of that turn and ends with it, but for one that
        // has not left yet: the rest sends it.
        let mut outcome = otherwise;
        for turn in turns.iter().rev() {
            let own = verdict::outcome(messages, &turn.native_id);
            if own.is_none() && unsent.contains(turn) {
                continue;
            }
            outcome = own.or(outcome);
            if let Some(outcome) = &outcome {
                self.note_usage(session, turn, messages).await?;
                standstill::before(Step::LastMessage).await;
                shared
                    .store
                    .end_turn(session.workspace, turn.id, outcome, shared.clock.now())
                    .await?;
                standstill::after(Step::LastMessage).await;
            }
        }
        Ok(())
    }

    /// Notes what the turn of a job used up. How much that was is not worth failing for.
    async fn note_usage(
        &self,
        session: &Session,
        turn: &Turn,
        messages: &[Message],
    ) -> Result<(), BrokerError> {
        let store = &self.shared.store;
        if !store.is_of_job(turn.id).await? {
            return Ok(());
        }
        let mut used = verdict::usage(messages, &turn.native_id);
        if used.is_none() && messages.len() >= VERDICT_MESSAGES as usize {
            let client = &self.link.client;
            let read = client.messages(&session.directory, &session.native_id, OLD_MESSAGES);
            let all: Vec<Message> = read
                .await
                .unwrap_or_default()
                .into_iter()
                .map(|(message, _)| message)
                .collect();
            used = verdict::usage(&all, &turn.native_id);
        }
        if let Some(used) = used {
            store.note_job_usage(turn.id, &used).await?;
        }
        Ok(())
    }

    /// Whether the messages of a session say that every turn of it has come to its own end.
    pub(super) async fn has_finished(&self, session: &Session) -> Result<bool, BrokerError> {
        let turns = self.shared.store.open_turns(session.id).await?;
        let client = &self.link.client;
        let read = client.messages(&session.directory, &session.native_id, VERDICT_MESSAGES);
        let messages = read.await.map_err(BrokerError::Engine)?;
        let messages: Vec<Message> = messages.into_iter().map(|(message, _)| message).collect();
        Ok(turns.iter().all(|turn| {
            let outcome = verdict::outcome(&messages, &turn.native_id);
            match outcome {
                Some(TurnOutcome::Completed) => true,
                Some(TurnOutcome::Failed { .. }) => {
                    !verdict::is_unfinished(&messages, &turn.native_id)
                }
                // Between two steps a turn looks denied.
                Some(TurnOutcome::Denied | TurnOutcome::Cancelled) | None => false,
            }
        }))
    }

    /// Whether the engine died over a turn before that came to its end.
    async fn is_unfinished(&self, session: &Session, turn: &Turn) -> Result<bool, BrokerError> {
        let client = &self.link.client;
        let messages: Vec<Message> = client
            .messages(&session.directory, &session.native_id, VERDICT_MESSAGES)
            .await
            .map_err(BrokerError::Engine)?
            .into_iter()
            .map(|(message, _)| message)
            .collect();
        Ok(match verdict::outcome(&messages, &turn.native_id) {
            Some(TurnOutcome::Completed) => false,
            // What the provider said stands; everything else is how a death looks.
            Some(TurnOutcome::Failed { .. }) => verdict::is_unfinished(&messages, &turn.native_id),
            Some(TurnOutcome::Denied | TurnOutcome::Cancelled) | None => true,
        })
    }

    /// The newest messages of a session that has come to rest, once they say how its `turns` ended; nothing
    /// if it is busy again, when the next rest tells.
    async fn finished_messages(
        &self,
        session: &Session,
        turns: &[Turn],
    ) -> Result<Option<Vec<Message>>, BrokerError> {
        let client = &self.link.client;
        let directory = &session.directory;
        let deadline = tokio::time::Instant::now() + VERDICT_PATIENCE;
        let mut limit = VERDICT_MESSAGES;
        loop {
            let messages: Vec<Message> = client
                .messages(directory, &session.native_id, limit)
                .await
                .map_err(BrokerError::Engine)?
                .into_iter()
                .map(|(message, _)| message)
                .collect();
            let is_missing = |turn: &Turn| verdict::outcome(&messages, &turn.native_id).is_none();
            if limit < OLD_MESSAGES && turns.iter().any(is_missing) {
                // It ended while nobody listened, and much was said since.
                limit = OLD_MESSAGES;
                continue;
            }
            let unfinished = turns
                .iter()
                .any(|turn| verdict::is_unfinished(&messages, &turn.native_id));
            if !unfinished || tokio::time::Instant::now() >= deadline {
                return Ok(Some(messages));
            }
            if self.doing(session).await == Doing::Busy {
                return Ok(None);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
