//! What is set for a session: what the agent tells of it is kept, and that it switches its mode by itself is shown.

mod choices;

pub(super) use choices::Readiness;

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_core::id::{SessionId, TurnId};
use countersign_core::session::Item;
use countersign_core::settings::{
    Chosen, ConfigOption, SessionSettings, SettingName, SettingValue, SlashCommand, Usage,
};
use countersign_engine::acp::lines::Line;
use countersign_engine::acp::update::Update;
use countersign_store::{Choice, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::acp::driver::Driver;
use crate::acp::settings::choices::id_of;
use crate::acp::{Agents, Conversation, Order, lock};

/// How long an agent may take to set something.
const LIMIT: Duration = Duration::from_secs(20);

/// What becomes of something that somebody chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The agent has set it.
    Set,
    /// No agent runs; the next life is told.
    Kept,
    /// The agent refused it, in these words.
    Refused(String),
    /// The agent has not answered within the time that it has.
    Unanswered,
}

/// Who waits for the agent's answer; without one, the agent is gone.
pub(super) type Waiter = oneshot::Sender<Result<(), String>>;

impl Agents {
    /// Has a choice that is in the ledger told to the agent, if one runs, and waits for what it says.
    pub(crate) async fn set(&self, session: SessionId, chosen: &Chosen) -> Fate {
        let conversation = lock(&self.0.conversations).get(&session).cloned();
        let Some(Conversation { orders, .. }) = conversation else {
            return Fate::Kept;
        };
        let (waiter, answered) = oneshot::channel();
        let asked = async {
            orders.send(Order::Set(id_of(chosen), waiter)).await.ok()?;
            answered.await.ok()
        };
        match tokio::time::timeout(LIMIT, asked).await {
            Ok(Some(Ok(()))) => Fate::Set,
            Ok(Some(Err(words))) => Fate::Refused(words),
            Ok(None) => Fate::Kept,
            Err(_) => Fate::Unanswered,
        }
    }
}

/// What is known about a session's settings in one life of its agent.
pub(super) struct Settings {
    told: SessionSettings,
    /// Whether the ledger does not know it yet.
    has_changed: bool,
    /// What the agent was told to set and has not answered, by the request's id.
    pending: BTreeMap<String, Pending>,
    /// What it refused in this life, in its words.
    refused: BTreeMap<String, String>,
    /// The turn that waits for what is pending.
    turn: Option<TurnId>,
    /// Until when it waits.
    pub(super) until: Option<Instant>,
    /// Why it cannot be prompted.
    obstacle: Option<String>,
}

struct Pending {
    choice: Choice,
    waiters: Vec<Waiter>,
}

impl Settings {
    pub(super) fn new(told: SessionSettings) -> Self {
        Self {
            told,
            has_changed: false,
            pending: BTreeMap::new(),
            refused: BTreeMap::new(),
            turn: None,
            until: None,
            obstacle: None,
        }
    }

    /// The turn that was waited for is prompted, or over.
    pub(super) fn forget_turn(&mut self) {
        self.turn = None;
        self.until = None;
        self.obstacle = None;
    }

    pub(super) fn is_pending(&self, request: &str) -> bool {
        self.pending.contains_key(request)
    }

    /// Tells whoever waits what the agent answered. What they hear of stands in the way of no later turn.
    fn tell(&mut self, waiters: Vec<Waiter>, answer: &Result<(), String>) {
        if !waiters.is_empty() && self.until.is_none() {
            self.obstacle = None;
        }
        for waiter in waiters {
            if waiter.send(answer.clone()).is_err() {
                tracing::debug!("whoever chose something did not wait for it");
            }
        }
    }

    fn current_mode(&self) -> Option<String> {
        self.told.mode().map(|mode| mode.current.clone())
    }

    /// Whether somebody chose this mode and the agent has not said yet that it is in it.
    fn is_chosen_mode(&self, mode: &str) -> bool {
        let wanted = SettingValue::Selected(mode.to_owned());
        let mut pending = self.pending.values().map(|pending| &pending.choice.chosen);
        pending.any(|chosen| chosen.setting == SettingName::Mode && chosen.value == wanted)
    }
}

/// Takes in news of an agent that is only just beginning: nobody has to be told of it yet.
pub(super) fn hear(told: &mut SessionSettings, news: Update) {
    match news {
        Update::Commands(commands) => told.commands = commands,
        Update::Options(options) => told.take_options(options),
        Update::Mode(mode) => told.set(&SettingName::Mode, &SettingValue::Selected(mode)),
        Update::Usage(usage) => told.usage = Some(usage),
        Update::Text(_)
        | Update::Thought(_)
        | Update::User(_)
        | Update::Tool(_)
        | Update::Plan(_)
        | Update::Title(_)
        | Update::Notice { .. }
        | Update::State(_)
        | Update::Unknown { .. } => {}
    }
}

impl Driver {
    /// Takes in the mode that the agent says it is in.
    pub(super) async fn take_mode(&mut self, line: &Line, mode: String) -> Result<(), StoreError> {
        let before = self.settings.current_mode();
        let value = SettingValue::Selected(mode.clone());
        let is_known = before.as_ref() == Some(&mode) || self.settings.is_chosen_mode(&mode);
        if !is_known {
            self.tell_mode(&self.key(line), &mode).await?;
        }
        self.settings.told.set(&SettingName::Mode, &value);
        self.settings.has_changed = true;
        Ok(())
    }

    /// Takes in the options as the agent says they are now; `key` names what it says it with.
    pub(super) async fn take_options(
        &mut self,
        key: &str,
        options: Vec<ConfigOption>,
    ) -> Result<(), StoreError> {
        let before = self.settings.current_mode();
        let mut told = self.settings.told.clone();
        told.take_options(options);
        let now = told.mode().map(|mode| mode.current.clone());
        if let Some(mode) = now.filter(|now| before.as_ref() != Some(now))
            && before.is_some()
            && !self.settings.is_chosen_mode(&mode)
        {
            self.tell_mode(key, &mode).await?;
        }
        self.settings.told = told;
        self.settings.has_changed = true;
        Ok(())
    }

    pub(super) fn take_usage(&mut self, usage: Usage) {
        self.settings.told.usage = Some(usage);
        self.settings.has_changed = true;
    }

    pub(super) fn take_commands(&mut self, commands: Vec<SlashCommand>) {
        self.settings.told.commands = commands;
        self.settings.has_changed = true;
    }

    /// A mode decides what the agent asks for: that it switched it by itself is in the transcript.
    async fn tell_mode(&mut self, key: &str, mode: &str) -> Result<(), StoreError> {
        let text = format!("The agent is in the mode `{mode}` now.");
        self.finish_words().await?;
        self.page().put(key, &Item::Notice { text }).await
    }

    /// Writes down what the agent told, if that is news.
    pub(super) async fn keep_settings(&mut self) -> Result<(), StoreError> {
        if !self.settings.has_changed {
            return Ok(());
        }
        let told = std::mem::take(&mut self.settings.told);
        self.settings.told = told.bounded();
        let shared = self.agents.shared();
        let session = &self.session;
        shared
            .store
            .put_settings(
                session.workspace,
                session.id,
                &self.settings.told,
                shared.clock.now(),
            )
            .await?;
        self.settings.has_changed = false;
        Ok(())
    }
}
