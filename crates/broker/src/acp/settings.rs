//! What is set for a session: what the agent tells of it is kept, and what people chose is told to the agent.
//!
//! Each life of the agent is told every choice that stands, before its next prompt. An agent that does not take the
//! mode that somebody chose is not prompted. Only what the agent offers is ever sent.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_core::digest::Digest;
use countersign_core::id::{SessionId, TurnId};
use countersign_core::session::{Item, Turn};
use countersign_core::settings::{
    Chosen, ConfigOption, SessionSettings, SettingName, SettingValue, SlashCommand, Usage,
};
use countersign_engine::acp::lines::Line;
use countersign_engine::acp::message::{Params, RpcError};
use countersign_engine::acp::settings as wire;
use countersign_engine::acp::update::Update;
use countersign_store::{Choice, ChoiceFate, StoreError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::acp::driver::Driver;
use crate::acp::wire::Purpose;
use crate::acp::{Agents, Conversation, Order, lock};

/// How long an agent may take to set something.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

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

/// Whether an agent can be prompted.
pub(super) enum Readiness {
    /// Everything is set.
    Ready,
    /// Something is being set.
    Waiting,
    /// Something that has to be set is not.
    Impossible(String),
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

    /// Somebody chose something and waits for what the agent says to it.
    pub(super) async fn take_choice(
        &mut self,
        request: &str,
        waiter: Waiter,
    ) -> Result<(), StoreError> {
        self.apply_choices().await?;
        let answer = if let Some(pending) = self.settings.pending.get_mut(request) {
            pending.waiters.push(waiter);
            return Ok(());
        } else if let Some(words) = self.settings.refused.get(request) {
            Err(words.clone())
        } else {
            // It was taken before the order came, or something else was chosen since.
            Ok(())
        };
        self.settings.tell(vec![waiter], &answer);
        Ok(())
    }

    /// Tells the agent every choice that stands and that this life has not taken.
    pub(super) async fn apply_choices(&mut self) -> Result<(), StoreError> {
        let choices = self.shared().store.choices(self.session.id).await?;
        // Nobody waits for what something else was chosen in place of.
        self.settings.pending.retain(|_, pending| {
            let chosen = &pending.choice.chosen;
            choices.iter().any(|choice| choice.chosen == *chosen)
        });
        for choice in choices {
            let request = id_of(&choice.chosen);
            if choice.run == Some(self.run.id) || self.settings.pending.contains_key(&request) {
                continue;
            }
            if let Some(words) = self.settings.refused.get(&request).cloned() {
                self.note_obstacle(&choice, &words);
                continue;
            }
            let Chosen { setting, value, .. } = &choice.chosen;
            let told = &self.settings.told;
            let offered = told
                .check(setting, value)
                .map_err(|unfit| unfit.to_string());
            let line = offered.and_then(|()| {
                let native = &self.session.native_id;
                wire::set(&request, self.shape, native, told, (setting, value))
                    .ok_or_else(|| "the agent offers no way to set it".to_owned())
            });
            match line {
                Ok(line) => {
                    self.out.push(Purpose::Other, request.clone(), line);
                    let waiters = Vec::new();
                    self.settings
                        .pending
                        .insert(request, Pending { choice, waiters });
                }
                Err(words) => self.take_refusal(request, choice, words).await?,
            }
        }
        Ok(())
    }

    /// Takes in what the agent answers to a request that sets something.
    pub(super) async fn take_set(
        &mut self,
        request: &str,
        outcome: Result<Params, RpcError>,
    ) -> Result<(), StoreError> {
        let Some(pending) = self.settings.pending.get(request) else {
            return Ok(());
        };
        let choice = pending.choice.clone();
        let answer = match outcome {
            Ok(result) => {
                self.take_setting(request, &choice, &result).await?;
                Ok(())
            }
            Err(error) => {
                let more = error.data.as_ref().map(|data| format!(" {data}"));
                let words = format!("{error}{}", more.unwrap_or_default());
                self.take_refusal(request.to_owned(), choice, words.clone())
                    .await?;
                Err(words)
            }
        };
        let pending = self.settings.pending.remove(request);
        let waiters = pending.map(|pending| pending.waiters);
        self.settings.tell(waiters.unwrap_or_default(), &answer);
        self.look_for_turns = true;
        Ok(())
    }

    async fn take_setting(
        &mut self,
        request: &str,
        choice: &Choice,
        result: &Params,
    ) -> Result<(), StoreError> {
        let Chosen {
            setting, value, by, ..
        } = &choice.chosen;
        if let Some(options) = wire::read_options(result).filter(|all| !all.is_empty()) {
            let key = format!("{}/{request}/options", self.run.id);
            self.take_options(&key, options).await?;
        } else {
            self.settings.told.set(setting, value);
            self.settings.has_changed = true;
        }
        if choice.run.is_none() {
            let text = format!("{} set {} to `{value}`.", by.name, setting.spoken());
            self.finish_words().await?;
            let key = format!("{}/{request}", self.run.id);
            self.page().put(&key, &Item::Notice { text }).await?;
        }
        self.keep_settings().await?;
        self.settle(&choice.chosen, ChoiceFate::Taken).await
    }

    /// The agent does not set what was chosen.
    async fn take_refusal(
        &mut self,
        request: String,
        choice: Choice,
        words: String,
    ) -> Result<(), StoreError> {
        let Chosen { setting, value, .. } = &choice.chosen;
        let what = setting.spoken();
        let text = format!("The agent did not set {what} to `{value}`: {words}");
        let key = format!("{}/{request}", self.run.id);
        self.finish_words().await?;
        self.page().put(&key, &Item::Notice { text }).await?;
        self.settle(&choice.chosen, ChoiceFate::Refused(&words))
            .await?;
        self.note_obstacle(&choice, &words);
        self.settings.refused.insert(request, words);
        Ok(())
    }

    /// A turn does not begin without what was chosen for it. An option that an earlier life took may be gone for
    /// good, and only the mode decides what the agent asks for: without the rest of those it goes on.
    fn note_obstacle(&mut self, choice: &Choice, words: &str) {
        let Chosen { setting, value, .. } = &choice.chosen;
        if *setting == SettingName::Mode || choice.run.is_none() {
            let what = setting.spoken();
            let why = format!("the agent did not set {what} to `{value}`: {words}");
            self.settings.obstacle = Some(why);
        }
    }

    async fn settle(&mut self, chosen: &Chosen, fate: ChoiceFate<'_>) -> Result<(), StoreError> {
        let shared = self.agents.shared();
        let session = &self.session;
        let now = shared.clock.now();
        shared
            .store
            .settle_choice(
                session.workspace,
                session.id,
                chosen,
                self.run.id,
                fate,
                now,
            )
            .await
    }

    /// Whether the agent can be prompted with `turn`: has set everything that was chosen, and what comes with it.
    pub(super) async fn ready_for(&mut self, turn: &Turn) -> Result<Readiness, StoreError> {
        if self.settings.turn != Some(turn.id) {
            self.choose_for(turn).await?;
            self.apply_choices().await?;
            self.settings.turn = Some(turn.id);
            self.settings.until = Some(Instant::now() + LIMIT);
        }
        if let Some(why) = self.settings.obstacle.clone() {
            return Ok(Readiness::Impossible(why));
        }
        if self.settings.pending.is_empty() {
            return Ok(Readiness::Ready);
        }
        if self
            .settings
            .until
            .is_some_and(|until| Instant::now() < until)
        {
            return Ok(Readiness::Waiting);
        }
        self.give_up_settings().await
    }

    /// The agent had its time: what it has not answered is as good as refused, but for a mode, which it may still set.
    async fn give_up_settings(&mut self) -> Result<Readiness, StoreError> {
        let words = format!("it did not answer within {} s", LIMIT.as_secs());
        let late: Vec<String> = self.settings.pending.keys().cloned().collect();
        for request in late {
            let Some(pending) = self.settings.pending.get(&request) else {
                continue;
            };
            let choice = pending.choice.clone();
            if choice.chosen.setting == SettingName::Mode {
                self.note_obstacle(&choice, &words);
            } else {
                self.take_refusal(request.clone(), choice, words.clone())
                    .await?;
                self.settings.pending.remove(&request);
            }
        }
        Ok(match self.settings.obstacle.clone() {
            Some(why) => Readiness::Impossible(why),
            None => Readiness::Ready,
        })
    }

    /// What comes with a prompt is chosen for the session by whoever prompts.
    async fn choose_for(&mut self, turn: &Turn) -> Result<(), StoreError> {
        let wishes = [
            (SettingName::Mode, &turn.mode),
            (SettingName::Model, &turn.model),
        ];
        let shared = self.agents.shared();
        for (name, wish) in wishes {
            let Some(value) = wish.clone().map(SettingValue::Selected) else {
                continue;
            };
            let Some(by) = shared.store.prompter(turn.id).await? else {
                continue;
            };
            let (workspace, session) = (self.session.workspace, self.session.id);
            let now = shared.clock.now();
            let what = (name, value);
            shared
                .store
                .choose(workspace, session, what, &by, now)
                .await?;
        }
        Ok(())
    }
}

/// The id of the request that carries a choice; it is the same for every server that serves this life.
fn id_of(chosen: &Chosen) -> String {
    let name = match &chosen.setting {
        SettingName::Mode => "mode".to_owned(),
        SettingName::Model => "model".to_owned(),
        SettingName::Option(id) => Digest::of_bytes(id.as_bytes()).to_string(),
    };
    format!("set-{}-{name}", chosen.at.as_micros())
}
