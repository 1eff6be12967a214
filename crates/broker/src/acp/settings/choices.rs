//! What people chose for a session, on its way to the agent.
//!
//! Each life of the agent is told every choice that stands, before its next prompt. An agent that does not take the
//! mode that somebody chose is not prompted. Only what the agent offers is ever sent.

use countersign_core::digest::Digest;
use countersign_core::session::{Item, Turn};
use countersign_core::settings::{Chosen, SettingName, SettingValue};
use countersign_engine::acp::message::{Params, RpcError};
use countersign_engine::acp::settings as wire;
use countersign_store::{Choice, ChoiceFate, StoreError};
use tokio::time::Instant;

use crate::acp::driver::Driver;
use crate::acp::settings::{LIMIT, Pending, Waiter};
use crate::acp::wire::Purpose;

/// Whether an agent can be prompted.
pub(in crate::acp) enum Readiness {
    /// Everything is set.
    Ready,
    /// Something is being set.
    Waiting,
    /// Something that has to be set is not.
    Impossible(String),
}

impl Driver {
    /// Somebody chose something and waits for what the agent says to it.
    pub(in crate::acp) async fn take_choice(
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
    pub(in crate::acp) async fn apply_choices(&mut self) -> Result<(), StoreError> {
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
    pub(in crate::acp) async fn take_set(
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
        let Chosen { setting, value, .. } = &choice.chosen;
        if let Some(options) = wire::read_options(result).filter(|all| !all.is_empty()) {
            let key = format!("{}/{request}/options", self.run.id);
            self.take_options(&key, options).await?;
        } else {
            self.settings.told.set(setting, value);
            self.settings.has_changed = true;
        }
        if choice.run.is_none() {
            let text = choice.chosen.sentence();
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
    pub(in crate::acp) async fn ready_for(&mut self, turn: &Turn) -> Result<Readiness, StoreError> {
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
pub(super) fn id_of(chosen: &Chosen) -> String {
    let name = match &chosen.setting {
        SettingName::Mode => "mode".to_owned(),
        SettingName::Model => "model".to_owned(),
        SettingName::Option(id) => Digest::of_bytes(id.as_bytes()).to_string(),
    };
    format!("set-{}-{name}", chosen.at.as_micros())
}
