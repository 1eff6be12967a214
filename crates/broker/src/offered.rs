//! What opencode offers for its sessions, which it is asked for when somebody looks; and what a prompt there comes to: with
//! the agent and the model that were chosen, and with a command in place of its name.
//!
//! An agent of opencode's is the mode of a session, as in ACP. What is chosen is in the ledger and goes along with each
//! prompt, so that it outlives the engine.

use countersign_core::grant::Caller;
use countersign_core::session::{Item, Session};
use countersign_core::settings::{Chosen, SessionSettings, SettingName, SettingValue};

use crate::Broker;
use crate::error::BrokerError;
use crate::sessions::PromptWish;
use crate::supervisor::{Link, UNNAMED_AGENT, split_model};

impl Broker {
    /// What can be set for a session of opencode's, and what is. While it does not run, only what it told is known.
    pub(crate) async fn told_by_opencode(
        &self,
        session: &Session,
        kept: SessionSettings,
    ) -> Result<SessionSettings, BrokerError> {
        let supervisor = self.supervisor(session.workspace);
        let offers = match supervisor.and_then(|supervisor| supervisor.link()) {
            Ok(link) => link.offers(&session.directory).await.ok(),
            Err(_) => None,
        };
        let Some(offers) = offers else {
            return Ok(SessionSettings {
                usage: kept.usage,
                ..SessionSettings::default()
            });
        };
        let mut told = SessionSettings {
            usage: kept.usage,
            ..offers.settings.clone()
        };
        if session.agent != UNNAMED_AGENT {
            let agent = SettingValue::Selected(session.agent.clone());
            told.set(&SettingName::Mode, &agent);
        }
        if let Some(spoke) = kept.models {
            let usage = told.usage.as_mut().filter(|usage| usage.size == 0);
            if let Some((usage, size)) = usage.zip(offers.context_of(&spoke.current)) {
                usage.size = size;
            }
            told.set(&SettingName::Model, &SettingValue::Selected(spoke.current));
        }
        for choice in self.store.choices(session.id).await? {
            told.set(&choice.chosen.setting, &choice.chosen.value);
        }
        Ok(told)
    }

    /// Shows in the transcript that somebody set something.
    pub(crate) async fn show_choice(
        &self,
        session: &Session,
        chosen: &Chosen,
    ) -> Result<(), BrokerError> {
        let text = chosen.sentence();
        let key = format!("set-{}", chosen.at.as_micros());
        let item = Item::Notice { text };
        self.store
            .put_item(session.workspace, session.id, &key, &item, chosen.at)
            .await?;
        Ok(())
    }

    /// What a prompt to opencode comes to.
    pub(crate) async fn wish_to_opencode(
        &self,
        caller: &Caller,
        session: &Session,
        link: &Link,
        mut wish: PromptWish,
    ) -> Result<PromptWish, BrokerError> {
        let model = wish.model.as_deref();
        if model.is_some_and(|model| split_model(model).is_none()) {
            return Err(invalid("model", "must have the form `provider/model`"));
        }
        if let Some(mode) = wish.mode.take() {
            if wish.agent.is_some() {
                return Err(invalid("mode", "is the agent for this engine: name one"));
            }
            self.check_wishes(caller, session, (Some(&mode), None))
                .await?;
            wish.agent = Some(mode);
        }
        self.put_command(session, link, &mut wish).await?;
        for choice in self.store.choices(session.id).await? {
            let wished = match choice.chosen.setting {
                SettingName::Mode => &mut wish.agent,
                SettingName::Model => &mut wish.model,
                SettingName::Option(_) => continue,
            };
            if wished.is_none() {
                *wished = Some(choice.chosen.value.to_string());
            }
        }
        Ok(wish)
    }

    /// Puts what a command says in the place of its name, with the agent and the model that it is for.
    async fn put_command(
        &self,
        session: &Session,
        link: &Link,
        wish: &mut PromptWish,
    ) -> Result<(), BrokerError> {
        if !wish.text.starts_with('/') {
            return Ok(());
        }
        let offers = link.offers(&session.directory).await;
        let offers = offers.map_err(BrokerError::Engine)?;
        let Some(command) = offers.command_in(&wish.text) else {
            return Ok(());
        };
        if command.runs_by_itself() {
            let name = &command.name;
            let problem = format!(
                "begins with `/{name}`, which would run something in a shell without asking: it cannot be used from here"
            );
            return Err(invalid("text", &problem));
        }
        let Some(text) = command.expanded(&wish.text) else {
            return Ok(());
        };
        wish.text = text;
        let is_offered = |agent: &String| {
            let modes = offers.settings.mode();
            modes.is_some_and(|modes| modes.choices.iter().any(|it| it.id == *agent))
        };
        if wish.agent.is_none() {
            wish.agent = command.agent.clone().filter(is_offered);
        }
        if wish.model.is_none() {
            let is_whole = |model: &String| split_model(model).is_some();
            wish.model = command.model.clone().filter(is_whole);
        }
        wish.check()
    }
}

fn invalid(field: &'static str, problem: &str) -> BrokerError {
    BrokerError::Invalid {
        field,
        problem: problem.to_owned(),
    }
}
