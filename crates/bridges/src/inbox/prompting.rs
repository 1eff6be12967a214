//! Prompts: a message becomes a turn, in the session of its thread.

use countersign_broker::{
    AttachmentWish, BridgeThread, BrokerError, Inbound, NewSessionWish, PromptWish,
};
use countersign_core::attachment::ImageType;
use countersign_core::grant::Caller;

use super::{Fate, chain};
use crate::adapter::{Failure, Happening, IncomingFile, MessageId, Reaction};
use crate::asks::AskError;
use crate::bridge::{About, Bridge, Saying, workspace_called};
use crate::settings::ChannelSettings;

/// The biggest file that is taken along with a prompt.
const BIGGEST_FILE: u64 = 5 << 20;

impl Bridge {
    /// The conversation that a message begins; nothing if the platform does not open it now.
    pub(super) async fn open(
        &self,
        happening: &Happening,
        message: &MessageId,
        text: &str,
        route: &ChannelSettings,
    ) -> Result<Option<BridgeThread>, AskError> {
        let title: String = text.chars().take(60).collect();
        let place = if happening.is_direct {
            happening.place.clone()
        } else {
            let opened = self.adapter.open_thread(&happening.place, message, &title);
            match opened.await {
                Ok(place) => place,
                Err(failure) => {
                    tracing::info!(bridge = self.name(), %failure, "no thread could be opened");
                    let is_lasting = matches!(failure, Failure::Gone(_) | Failure::Refused(_));
                    if !is_lasting {
                        return Ok(None);
                    }
                    happening.place.clone()
                }
            }
        };
        let place = self.chat_place(&place);
        if let Some(thread) = self.store.bridge_thread(&place).await? {
            return Ok(Some(thread));
        }
        let thread = BridgeThread {
            place,
            route: route.id.clone(),
            session: None,
            engine: route.engine.clone(),
            model: route.model.clone(),
            turn: None,
            message: None,
        };
        self.store
            .keep_bridge_thread(&thread, self.clock.now())
            .await?;
        Ok(Some(thread))
    }

    /// Whether another turn of the thread is under way.
    pub(super) async fn is_busy(
        &self,
        thread: &BridgeThread,
        inbound: &Inbound,
    ) -> Result<bool, AskError> {
        let Some(turn) = thread.turn.filter(|turn| *turn != inbound.turn) else {
            return Ok(false);
        };
        let turn = self.store.turn(turn).await?;
        Ok(turn.is_some_and(|turn| turn.outcome.is_none()))
    }

    /// Says, once, that a message waits, and for what.
    pub(super) async fn note_waiting(
        &self,
        thread: &BridgeThread,
        inbound: &Inbound,
        message: &MessageId,
    ) -> Result<(), AskError> {
        let saying = Saying::React {
            message: message.clone(),
            reaction: Some(Reaction::Queued),
        };
        let key = format!("react:{}:{message}", thread.place.channel);
        self.say(
            &key,
            &thread.place,
            &thread.route,
            &saying,
            About::default(),
        )
        .await?;
        let Some(session) = thread.session else {
            return Ok(());
        };
        let caller = self.own_caller().await?;
        if self.broker.session(&caller, session).await?.open_asks > 0 {
            let key = format!("waits:{}", inbound.id);
            let text = "Your message waits: the agent has asked for leave and goes on when that is answered.";
            self.reply(&key, thread, text).await?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is one message")]
    pub(super) async fn prompt(
        &self,
        inbound: &Inbound,
        caller: &Caller,
        mut thread: BridgeThread,
        route: &ChannelSettings,
        message: &MessageId,
        text: &str,
        files: &[IncomingFile],
    ) -> Result<Fate, AskError> {
        let said = async {
            if thread.session.is_none() {
                let wish = NewSessionWish {
                    workspace: workspace_called(&self.broker, route.workspace.as_deref())?,
                    directory: None,
                    engine: thread.engine.clone(),
                    title: None,
                };
                let context = self.broker.start_session(caller, wish).await?;
                thread.session = Some(context.session.id);
            }
            // Before the turn: whatever it asks finds its thread.
            thread.turn = Some(inbound.turn);
            thread.message = Some(message.0.clone());
            self.store
                .keep_bridge_thread(&thread, self.clock.now())
                .await?;
            let (attachments, problem) = self.fetch_files(files).await;
            let text = match (text.trim(), problem) {
                ("", None) => "See what is attached.".to_owned(),
                (text, None) => text.to_owned(),
                (text, Some(problem)) => format!("{text}\n\n({problem})"),
            };
            let wish = PromptWish {
                turn: Some(inbound.turn),
                text,
                model: thread.model.clone(),
                mode: None,
                agent: None,
                attachments,
            };
            let session = thread
                .session
                .ok_or_else(|| BrokerError::EngineUnavailable("there is no session".to_owned()))?;
            self.broker.prompt(caller, session, wish).await
        };
        match said.await {
            Ok(_) => {
                self.react(&thread, Reaction::Working).await?;
                Ok(Fate::Done)
            }
            Err(BrokerError::Stopping) => Ok(Fate::Waits),
            Err(BrokerError::Store(error)) => Err(error.into()),
            Err(error) => {
                self.react(&thread, Reaction::Failed).await?;
                let text = format!(
                    "💥 It could not be passed on to the agent: {}",
                    chain(&error)
                );
                self.reply(&format!("failed:{}", inbound.id), &thread, &text)
                    .await?;
                if matches!(error, BrokerError::Missing { .. } | BrokerError::Unable(_)) {
                    // The session cannot be gone on with; the next message begins another, and it is said.
                    thread.session = None;
                    thread.turn = None;
                    self.store
                        .keep_bridge_thread(&thread, self.clock.now())
                        .await?;
                    let text = "What was said before is lost to the agent: the next message begins a new session.";
                    self.reply(&format!("lost:{}", inbound.id), &thread, text)
                        .await?;
                }
                Ok(Fate::Done)
            }
        }
    }

    /// What came along, and what of it could not be had.
    async fn fetch_files(&self, files: &[IncomingFile]) -> (Vec<AttachmentWish>, Option<String>) {
        let mut wishes = Vec::new();
        let mut problems = Vec::new();
        for file in files {
            match self.adapter.download(file, BIGGEST_FILE).await {
                Ok(content) => match ImageType::of_bytes(&content) {
                    Some(image_type) => wishes.push(AttachmentWish::Image {
                        name: Some(file.name.clone()),
                        image_type,
                        bytes: content.to_vec(),
                    }),
                    None => match String::from_utf8(content.to_vec()) {
                        Ok(text) => wishes.push(AttachmentWish::Text {
                            name: file.name.clone(),
                            text,
                        }),
                        Err(_) => {
                            problems.push(format!("{} is neither text nor picture", file.name));
                        }
                    },
                },
                Err(failure) => problems.push(format!("{}: {failure}", file.name)),
            }
        }
        let problem = (!problems.is_empty())
            .then(|| format!("Not everything came along: {}", problems.join("; ")));
        (wishes, problem)
    }
}
