//! Works off what came in: answers and commands at once, prompts one after the other in each thread.

use std::collections::HashSet;
use std::time::Duration;

use countersign_broker::{
    AttachmentWish, BridgeThread, BrokerError, ChatPlace, Inbound, JobFilter, NewSessionWish,
    PromptWish, StoreError,
};
use countersign_core::answer::Choice;
use countersign_core::ask::AskPhase;
use countersign_core::attachment::ImageType;
use countersign_core::grant::Caller;

use crate::adapter::{
    Failure, Happening, IncomingFile, MessageId, Outgoing, Pressed, Reaction, Tone, What,
};
use crate::asks::{AskError, choice_of_words};
use crate::bridge::{About, Bridge, Saying};
use crate::card;
use crate::commands::{Command, help};
use crate::settings::ChannelSettings;
use crate::text::Text;

/// How many rows are looked at: what is further behind waits.
const LOOKED_AT: i64 = 500;
/// How often what waits is looked at again.
const LOOK: Duration = Duration::from_secs(2);
/// The biggest file that is taken along with a prompt.
const BIGGEST_FILE: u64 = 5 << 20;
/// How many jobs are listed.
const JOBS: i64 = 10;

/// What became of something that came in.
enum Fate {
    /// It is dealt with.
    Done,
    /// It has to wait.
    Waits,
}

impl Bridge {
    /// Works off what came in until the server ends.
    pub(crate) async fn work_off_inbox(self) {
        loop {
            if let Err(error) = self.work_through().await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(bridge = self.name(), error, "what came in waits");
            }
            tokio::select! {
                () = self.ending.cancelled() => return,
                () = self.came.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Goes once through all that waits. A thread whose oldest has to wait waits, but for answers and commands.
    async fn work_through(&self) -> Result<(), AskError> {
        let mut held: HashSet<ChatPlace> = HashSet::new();
        for inbound in self.store.waiting_inbound(self.name(), LOOKED_AT).await? {
            let Ok(happening) = serde_json::from_str::<Happening>(&inbound.body) else {
                tracing::warn!(
                    bridge = self.name(),
                    "something that came in cannot be read"
                );
                self.store.finish_inbound(self.name(), &inbound.id).await?;
                continue;
            };
            let fate = self.deal_with(&inbound, happening, &held).await?;
            match fate {
                Fate::Done => self.store.finish_inbound(self.name(), &inbound.id).await?,
                Fate::Waits => {
                    held.insert(inbound.place);
                }
            }
        }
        Ok(())
    }

    async fn deal_with(
        &self,
        inbound: &Inbound,
        happening: Happening,
        held: &HashSet<ChatPlace>,
    ) -> Result<Fate, AskError> {
        if happening.by.is_bot {
            return Ok(Fate::Done);
        }
        match &happening.what {
            What::Press {
                payload, handle, ..
            } => {
                let mut parts = payload.split(':').skip(1);
                let token = parts.next().unwrap_or_default();
                let n = parts
                    .next()
                    .and_then(|n| n.parse().ok())
                    .unwrap_or(usize::MAX);
                let card = self
                    .store
                    .chat_message_with_token(self.name(), token)
                    .await?;
                let handle = Some(handle.clone());
                self.press(&happening.by, &happening.place, handle, card, n)
                    .await?;
                Ok(Fate::Done)
            }
            What::Reaction { message, sign } => {
                self.take_reaction(&happening, message, sign).await?;
                Ok(Fate::Done)
            }
            What::Command {
                name,
                arguments,
                handle,
            } => {
                let command = Command::named(name, arguments);
                let handle = Some(handle.clone());
                self.obey(inbound, &happening, handle, command).await?;
                Ok(Fate::Done)
            }
            What::Message { text, .. } => {
                let sign = self.adapter.capabilities().command_sign;
                let is_known = self.store.bridge_thread(&inbound.place).await?.is_some();
                if let Some(command) = Command::read(text, sign)
                    && (is_known || is_meant(&happening) || command.is_answer())
                {
                    if self
                        .route(&happening.place.channel, happening.is_direct)
                        .is_some()
                    {
                        self.obey(inbound, &happening, None, command).await?;
                    }
                    return Ok(Fate::Done);
                }
                if held.contains(&inbound.place) {
                    return Ok(Fate::Waits);
                }
                self.take_message(inbound, &happening).await
            }
        }
    }

    /// A reaction is an answer where the platform has no buttons, on a card, by a sign that stands for an option.
    async fn take_reaction(
        &self,
        happening: &Happening,
        message: &MessageId,
        sign: &str,
    ) -> Result<(), AskError> {
        if self.adapter.capabilities().buttons != crate::adapter::Buttons::Reactions {
            return Ok(());
        }
        let channel = &happening.place.channel;
        let called = self
            .store
            .chat_message_called(self.name(), channel, &message.0);
        let card = called.await?.filter(|row| row.token.is_some());
        let Some((ask, _)) = self.ask_of(card.as_ref()).await? else {
            return Ok(());
        };
        let Some(n) = card::pressed_by(sign, &card::offers(&ask)) else {
            return Ok(());
        };
        self.press(&happening.by, &happening.place, None, card, n)
            .await
    }

    /// Somebody says something to an agent.
    async fn take_message(
        &self,
        inbound: &Inbound,
        happening: &Happening,
    ) -> Result<Fate, AskError> {
        let What::Message {
            message,
            text,
            files,
            ..
        } = &happening.what
        else {
            return Ok(Fate::Done);
        };
        let known = self.store.bridge_thread(&inbound.place).await?;
        if known.is_none() && !is_meant(happening) {
            return Ok(Fate::Done);
        }
        let channel = &happening.place.channel;
        let Some(route) = self.route(channel, happening.is_direct) else {
            return Ok(Fate::Done);
        };
        let Some(caller) = self.talker(route, &happening.by.id).await? else {
            if is_meant(happening) {
                let text =
                    "You may not talk to agents here. Whoever set the bridge up can change that.";
                self.tell(&pressed(happening, None), Tone::Refused, text)
                    .await;
            }
            return Ok(Fate::Done);
        };
        let thread = match known {
            Some(thread) => thread,
            None => match self.open(happening, message, text, route).await? {
                Some(thread) => thread,
                None => return Ok(Fate::Waits),
            },
        };
        if self.is_busy(&thread, inbound).await? {
            self.note_waiting(&thread, inbound, message).await?;
            return Ok(Fate::Waits);
        }
        self.prompt(inbound, &caller, thread, route, message, text, files)
            .await
    }

    /// The conversation that a message begins; nothing if the platform does not open it now.
    async fn open(
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
    async fn is_busy(&self, thread: &BridgeThread, inbound: &Inbound) -> Result<bool, AskError> {
        let Some(turn) = thread.turn.filter(|turn| *turn != inbound.turn) else {
            return Ok(false);
        };
        let turn = self.store.turn(turn).await?;
        Ok(turn.is_some_and(|turn| turn.outcome.is_none()))
    }

    /// Says, once, that a message waits, and for what.
    async fn note_waiting(
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
    async fn prompt(
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
                    workspace: self.workspace_of(route)?,
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

    fn workspace_of(
        &self,
        route: &ChannelSettings,
    ) -> Result<Option<countersign_core::id::WorkspaceId>, BrokerError> {
        let Some(named) = &route.workspace else {
            return Ok(None);
        };
        let workspaces = self.broker.workspaces();
        let found = workspaces
            .iter()
            .find(|(it, _)| it.path == *named || it.name == *named);
        match found {
            Some((workspace, _)) => Ok(Some(workspace.id)),
            None => Err(BrokerError::EngineUnavailable(format!(
                "the workspace `{named}` is not served"
            ))),
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
                            problems.push(format!("{} is neither text nor picture", file.name))
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

    /// Says something in a thread, once.
    async fn reply(&self, key: &str, thread: &BridgeThread, text: &str) -> Result<(), StoreError> {
        let saying = Saying::Say(Outgoing::plain(Text::plain(text)));
        self.say(key, &thread.place, &thread.route, &saying, About::default())
            .await
    }

    /// Does what a command says.
    async fn obey(
        &self,
        inbound: &Inbound,
        happening: &Happening,
        handle: Option<String>,
        command: Command,
    ) -> Result<(), AskError> {
        let pressed = pressed(happening, handle);
        match command {
            Command::Allow { token, words } => {
                return self
                    .answer_by_words(&pressed, inbound, token, Ok(words))
                    .await;
            }
            Command::Deny { token, reason } => {
                return self
                    .answer_by_words(&pressed, inbound, token, Err(reason))
                    .await;
            }
            Command::New
            | Command::Stop
            | Command::Status
            | Command::Jobs
            | Command::Engine(_)
            | Command::Model(_)
            | Command::Help
            | Command::Unknown(_) => {}
        }
        let channel = &happening.place.channel;
        let Some(route) = self.route(channel, happening.is_direct) else {
            return Ok(());
        };
        let Some(caller) = self.talker(route, &happening.by.id).await? else {
            let text = "You may not give commands here.";
            self.tell(&pressed, Tone::Refused, text).await;
            return Ok(());
        };
        let known = self.store.bridge_thread(&inbound.place).await?;
        let mut thread = known.unwrap_or_else(|| BridgeThread {
            place: inbound.place.clone(),
            route: route.id.clone(),
            session: None,
            engine: route.engine.clone(),
            model: route.model.clone(),
            turn: None,
            message: None,
        });
        let said = self.carry_out_command(&caller, &mut thread, command).await;
        let text = match said {
            Ok(text) => text,
            Err(AskError::Broker(error)) => format!("That cannot be done: {}", chain(&error)),
            Err(error) => return Err(error),
        };
        if pressed.handle.is_some() {
            self.tell(&pressed, Tone::Done, &text).await;
        }
        self.reply(&format!("command:{}", inbound.id), &thread, &text)
            .await?;
        Ok(())
    }

    async fn carry_out_command(
        &self,
        caller: &Caller,
        thread: &mut BridgeThread,
        command: Command,
    ) -> Result<String, AskError> {
        let sign = self.adapter.capabilities().command_sign;
        let keep = async |thread: &BridgeThread| {
            self.store
                .keep_bridge_thread(thread, self.clock.now())
                .await
        };
        Ok(match command {
            Command::New => {
                (thread.session, thread.turn, thread.message) = (None, None, None);
                keep(thread).await?;
                "The next message begins a new session.".to_owned()
            }
            Command::Stop => match thread.session {
                Some(session) => {
                    self.broker.cancel(caller, session).await?;
                    "Stopping.".to_owned()
                }
                None => "Nothing goes on here.".to_owned(),
            },
            Command::Status => match thread.session {
                Some(session) => {
                    let context = self.broker.session(caller, session).await?;
                    let session = &context.session;
                    format!(
                        "{} with {} is {}; {} open asks. {}",
                        session.id,
                        session.engine,
                        session.activity.name(),
                        context.open_asks,
                        session.directory
                    )
                }
                None => "There is no session here yet.".to_owned(),
            },
            Command::Jobs => {
                let jobs = self.broker.jobs(caller, JobFilter::default(), JOBS).await?;
                if jobs.is_empty() {
                    "There are no jobs.".to_owned()
                } else {
                    let line = |it: &countersign_broker::JobContext| {
                        format!("{} {}: {}", it.job.id, it.job.state.name(), it.job.title)
                    };
                    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
                }
            }
            Command::Engine(Some(name)) => {
                thread.engine = Some(name.clone());
                (thread.session, thread.turn, thread.message) = (None, None, None);
                keep(thread).await?;
                format!("The next message begins a new session with {name}.")
            }
            Command::Engine(None) => {
                let engine = thread.engine.as_deref().unwrap_or("the usual one");
                let known = self.broker.engines(caller)?;
                let known: Vec<String> = known.into_iter().map(|it| it.name).collect();
                format!(
                    "The engine is {engine}. There are: opencode, {}",
                    known.join(", ")
                )
            }
            Command::Model(Some(name)) => {
                thread.model = Some(name.clone());
                keep(thread).await?;
                format!("The model is {name} from the next message on.")
            }
            Command::Model(None) => {
                let model = thread.model.as_deref().unwrap_or("the engine's own");
                format!("The model is {model}.")
            }
            Command::Unknown(name) => format!("There is no command {name}.\n{}", help(sign)),
            Command::Help | Command::Allow { .. } | Command::Deny { .. } => help(sign),
        })
    }

    /// Answers an ask by words: `Ok` has the number of an option or an answer, `Err` the reason of a no.
    async fn answer_by_words(
        &self,
        pressed: &Pressed,
        inbound: &Inbound,
        token: Option<String>,
        words: Result<String, String>,
    ) -> Result<(), AskError> {
        let card = match &token {
            Some(token) => {
                self.store
                    .chat_message_with_token(self.name(), token)
                    .await?
            }
            None => self.only_card(&inbound.place).await?,
        };
        let Some((ask, route)) = self.ask_of(card.as_ref()).await? else {
            let text = if token.is_some() {
                "There is no ask of this name."
            } else {
                "Say which ask is meant: not exactly one is open here."
            };
            self.tell(pressed, Tone::Refused, text).await;
            return Ok(());
        };
        let choice = match words {
            Ok(words) => choice_of_words(&ask, &words),
            Err(reason) => Some(Choice::Deny {
                reason: (!reason.is_empty()).then_some(reason),
            }),
        };
        let Some(choice) = choice else {
            let text = "That is none of the options: say the number of one.";
            self.tell(pressed, Tone::Refused, text).await;
            return Ok(());
        };
        self.answer(pressed, route, &ask, choice).await
    }

    /// The card of the one ask that is open in a place.
    async fn only_card(
        &self,
        place: &ChatPlace,
    ) -> Result<Option<countersign_broker::BridgeMessage>, AskError> {
        let thread = self.store.bridge_thread(place).await?;
        let Some(session) = thread.and_then(|thread| thread.session) else {
            return Ok(None);
        };
        let caller = self.own_caller().await?;
        let filter = countersign_broker::AskFilter {
            phase: Some(AskPhase::Open),
            session: Some(session),
            ..countersign_broker::AskFilter::default()
        };
        let open = self.broker.asks(&caller, filter, 2).await?;
        let [only] = open.as_slice() else {
            return Ok(None);
        };
        let id = only.ask.id.to_string();
        let cards = self.store.chat_messages_about(self.name(), &id).await?;
        Ok(cards.into_iter().find(|row| row.token.is_some()))
    }
}

/// Whether something was said to us.
fn is_meant(happening: &Happening) -> bool {
    let mentions_us = matches!(
        &happening.what,
        What::Message {
            mentions_us: true,
            ..
        }
    );
    happening.is_direct || mentions_us
}

fn pressed(happening: &Happening, handle: Option<String>) -> Pressed {
    Pressed {
        place: happening.place.clone(),
        by: happening.by.clone(),
        handle,
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
