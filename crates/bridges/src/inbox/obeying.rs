//! Commands: what people say to the bridge and not to the agent.

use countersign_broker::{
    AskFilter, BridgeMessage, BridgeThread, ChatPlace, Inbound, JobContext, JobFilter, StoreError,
};
use countersign_core::answer::Choice;
use countersign_core::ask::AskPhase;
use countersign_core::grant::Caller;

use super::{chain, pressed};
use crate::adapter::{Happening, Pressed, Tone};
use crate::asks::{AskError, choice_of_words};
use crate::bridge::Bridge;
use crate::commands::{Command, help};

/// How many jobs are listed.
const JOBS: i64 = 10;

impl Bridge {
    /// Does what a command says.
    pub(super) async fn obey(
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
        let is_lasting = known.is_some() || happening.is_direct;
        let mut thread = known.unwrap_or_else(|| BridgeThread {
            place: inbound.place.clone(),
            route: route.id.clone(),
            session: None,
            engine: route.engine.clone(),
            model: route.model.clone(),
            turn: None,
            message: None,
        });
        let is_wish = matches!(
            command,
            Command::New | Command::Engine(Some(_)) | Command::Model(Some(_))
        );
        let said = if is_wish && !is_lasting {
            // A channel as a whole is no conversation, and must not become one.
            Ok("Say that in a thread of ours, or in a direct message.".to_owned())
        } else {
            self.carry_out_command(&caller, &mut thread, command).await
        };
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

    async fn keep(&self, thread: &BridgeThread) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.store.keep_bridge_thread(thread, now).await
    }

    async fn carry_out_command(
        &self,
        caller: &Caller,
        thread: &mut BridgeThread,
        command: Command,
    ) -> Result<String, AskError> {
        let sign = self.adapter.capabilities().command_sign;
        Ok(match command {
            Command::New => {
                (thread.session, thread.turn, thread.message) = (None, None, None);
                self.keep(thread).await?;
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
                    let line = |it: &JobContext| {
                        format!("{} {}: {}", it.job.id, it.job.state.name(), it.job.title)
                    };
                    jobs.iter().map(line).collect::<Vec<_>>().join("\n")
                }
            }
            Command::Engine(Some(name)) => {
                thread.engine = Some(name.clone());
                (thread.session, thread.turn, thread.message) = (None, None, None);
                self.keep(thread).await?;
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
                self.keep(thread).await?;
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
    async fn only_card(&self, place: &ChatPlace) -> Result<Option<BridgeMessage>, AskError> {
        let thread = self.store.bridge_thread(place).await?;
        let Some(session) = thread.and_then(|thread| thread.session) else {
            return Ok(None);
        };
        let caller = self.own_caller().await?;
        let filter = AskFilter {
            phase: Some(AskPhase::Open),
            session: Some(session),
            ..AskFilter::default()
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
