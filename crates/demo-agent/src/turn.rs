//! A turn: from a prompt to the reason why it ended. Everything in it can be cancelled at any moment.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentChunk, MessageId, SessionInfoUpdate, SessionUpdate, StopReason, UsageUpdate,
};
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::prompt::Prompt;
use crate::script::{Directive, HELP, Script};
use crate::session::Session;
use crate::settings::Mode;
use crate::tour;

mod act;
mod command;
mod host;
mod question;

pub(crate) use host::Host;
pub(crate) use question::Answer;

/// How many words this agent could hold if it held any.
const CONTEXT: u64 = 32_000;

/// Words in one streamed piece of a message.
const WORDS_IN_A_PIECE: usize = 3;

/// The turn was cancelled, and nothing more is done in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cancelled;

/// What became of something that leave was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was allowed and done.
    Done,
    /// It was allowed and did not work.
    Failed,
    /// It was not allowed.
    Denied,
    /// The mode says that nothing is done.
    OnlyPlanned,
}

/// A turn that runs.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) session: Arc<Session>,
    pub(crate) connection: Connection,
    pub(crate) cancelled: CancellationToken,
    /// Whether the client shows forms.
    pub(crate) forms: bool,
    /// What the client does for the agent.
    pub(crate) host: Host,
}

impl Turn {
    /// Does what the prompt says.
    pub(crate) async fn run(&self, prompt: &Prompt) -> StopReason {
        let acknowledgement = prompt.acknowledgement();
        let prompt = prompt.words.as_str();
        self.session.count(prompt);
        let said = ContentChunk::new(prompt.into()).message_id(new_message());
        self.session.remember(SessionUpdate::UserMessageChunk(said));
        if let Some(title) = self.session.name_after(prompt) {
            let named = SessionInfoUpdate::new().title(title);
            self.tell(SessionUpdate::SessionInfoUpdate(named)).await;
        }
        self.session.keep();
        let done = self.answer(acknowledgement, Script::read(prompt)).await;
        let words = self.session.count("");
        let usage = UsageUpdate::new(words.min(CONTEXT), CONTEXT);
        self.tell(SessionUpdate::UsageUpdate(usage)).await;
        match done {
            Ok(()) => StopReason::EndTurn,
            Err(Cancelled) => StopReason::Cancelled,
        }
    }

    async fn answer(
        &self,
        acknowledgement: Option<String>,
        script: Script,
    ) -> Result<(), Cancelled> {
        if let Some(acknowledgement) = acknowledgement {
            self.say(&acknowledgement).await?;
        }
        self.play(script).await
    }

    async fn play(&self, script: Script) -> Result<(), Cancelled> {
        match script {
            Script::Help => self.say(HELP).await,
            Script::Reason(reason) => {
                let noted = format!("Understood. I leave it, because I was told: {reason}");
                self.say(&noted).await
            }
            Script::Tour => tour::give(self).await,
            Script::Directives(directives) => {
                for directive in directives {
                    self.follow(directive).await?;
                }
                Ok(())
            }
        }
    }

    async fn follow(&self, directive: Directive) -> Result<(), Cancelled> {
        match directive {
            Directive::Run(command) => {
                let outcome = self.run_command(&command).await?;
                self.say_outcome(&format!("`{command}`"), outcome).await
            }
            Directive::Edit { path, text } => {
                let outcome = self.write_file(&path, &format!("{text}\n")).await?;
                self.say_outcome(&format!("The edit of `{path}`"), outcome)
                    .await
            }
            Directive::Say(text) => self.say(&text).await,
            Directive::Ask { question, choices } => {
                let answer = self.ask(&question, &choices).await?;
                self.say(&answer.in_words()).await
            }
            Directive::Flood(count) => self.flood(count).await,
            Directive::Wait => self.unless_cancelled(std::future::pending()).await,
            Directive::Unclear(line) => {
                let unclear = format!("I do not understand `{line}`. Say `help` to see what I do.");
                self.say(&unclear).await
            }
        }
    }

    async fn say_outcome(&self, what: &str, outcome: Outcome) -> Result<(), Cancelled> {
        let became = match outcome {
            Outcome::Done => "was allowed and is done.",
            Outcome::Failed => "was allowed, but it failed.",
            Outcome::Denied => "was denied, so I did not do it.",
            Outcome::OnlyPlanned => "is what I would do next.",
        };
        self.say(&format!("{what} {became}")).await
    }

    /// Says something, piece by piece.
    pub(crate) async fn say(&self, text: &str) -> Result<(), Cancelled> {
        self.stream(text, SessionUpdate::AgentMessageChunk).await
    }

    /// Shows what it thinks, unless that is switched off.
    pub(crate) async fn think(&self, text: &str) -> Result<(), Cancelled> {
        if !self.session.settings().thoughts {
            return Ok(());
        }
        self.stream(text, SessionUpdate::AgentThoughtChunk).await
    }

    async fn stream(
        &self,
        text: &str,
        kind: fn(ContentChunk) -> SessionUpdate,
    ) -> Result<(), Cancelled> {
        // Pieces are put together again by whoever shows them: what follows is a paragraph of its own.
        let text = format!("{}\n\n", text.trim_end());
        self.session.count(&text);
        let message = new_message();
        let chunk =
            |piece: String| kind(ContentChunk::new(piece.into()).message_id(message.clone()));
        let pause = self.session.settings().pause();
        self.session.remember(chunk(text.clone()));
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        for piece in words.chunks(WORDS_IN_A_PIECE) {
            let told = self.tell(chunk(piece.concat()));
            self.unless_cancelled(told).await?;
            if let Some(pause) = pause {
                self.unless_cancelled(tokio::time::sleep(pause)).await?;
            }
        }
        Ok(())
    }

    /// Says `count` pieces without a pause. Only that it did is remembered.
    async fn flood(&self, count: u32) -> Result<(), Cancelled> {
        let message = new_message();
        for number in 1..=count {
            let piece = ContentChunk::new(format!("{number} ").into()).message_id(message.clone());
            let told = self.tell(SessionUpdate::AgentMessageChunk(piece));
            self.unless_cancelled(told).await?;
        }
        self.say(&format!("These were {count} pieces.")).await
    }

    /// Tells the client something that is not part of the conversation.
    pub(crate) async fn tell(&self, update: SessionUpdate) {
        self.connection.tell(&self.session.id, update).await;
    }

    /// Waits for `future`, but not longer than until the turn is cancelled.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        future: impl Future<Output = T>,
    ) -> Result<T, Cancelled> {
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err(Cancelled),
            value = future => Ok(value),
        }
    }

    pub(crate) fn only_plans(&self) -> bool {
        self.session.settings().mode == Mode::Plan
    }
}

fn new_message() -> MessageId {
    MessageId::new(uuid::Uuid::now_v7().to_string())
}
