//! What is set for sessions, as surfaces see it, and who may set it.
//!
//! A mode can amount to a standing answer. So to set something takes the grants `prompt` and `answer`, and only what
//! the agent offers can be set.

use countersign_core::grant::{Caller, Forbidden, Grant};
use countersign_core::id::{SessionId, WorkspaceId};
use countersign_core::session::Session;
use countersign_core::settings::{Chosen, SessionSettings, SettingName, SettingValue};

use crate::Broker;
use crate::acp::Fate;
use crate::error::BrokerError;

/// What is set for a session, and what could be.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsContext {
    /// The session.
    pub session: SessionId,
    /// What its agent tells.
    pub told: SessionSettings,
    /// What people chose.
    pub chosen: Vec<Chosen>,
    /// Whether the caller may set something.
    pub may_set: bool,
}

/// Something that was set, or will be.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingMade {
    /// How things stand now.
    pub settings: SettingsContext,
    /// Whether the agent has set it; if it has not, none runs, and its next life is told before it is prompted.
    pub applied: bool,
}

impl Broker {
    /// What is set for a session, and what could be.
    pub async fn session_settings(
        &self,
        caller: &Caller,
        id: SessionId,
    ) -> Result<SettingsContext, BrokerError> {
        caller.require(Grant::Read)?;
        let session = self.visible_session(caller, id).await?;
        self.settings_context(caller, &session).await
    }

    /// Sets something for a session. The choice is durable before the agent hears of it; what the agent refuses is
    /// not kept.
    pub async fn set(
        &self,
        caller: &Caller,
        id: SessionId,
        name: SettingName,
        value: SettingValue,
    ) -> Result<SettingMade, BrokerError> {
        let session = self.visible_session(caller, id).await?;
        may_set(caller, session.workspace)?;
        let told = self.told(&session).await?;
        let name = told.name_of(name);
        told.check(&name, &value)?;
        let now = self.clock.now();
        let chosen = self
            .store
            .choose(session.workspace, id, (name, value), caller.actor(), now)
            .await?;
        if session.engine == Session::OPENCODE {
            // It goes along with the next prompt.
            self.show_choice(&session, &chosen).await?;
            return Ok(SettingMade {
                settings: self.settings_context(caller, &session).await?,
                applied: true,
            });
        }
        let applied = match self.agents.set(id, &chosen).await {
            Fate::Set => true,
            Fate::Kept => false,
            Fate::Refused(words) => {
                let what = chosen.setting.spoken();
                return Err(BrokerError::Refused(format!(
                    "the agent did not set {what} to `{}`: {words}",
                    chosen.value
                )));
            }
            Fate::Unanswered => {
                let why = "the agent has not answered yet; what you chose is kept, and it is not prompted before it answers";
                return Err(BrokerError::EngineUnavailable(why.to_owned()));
            }
        };
        Ok(SettingMade {
            settings: self.settings_context(caller, &session).await?,
            applied,
        })
    }

    /// Fails unless the caller may set what comes with a prompt for an agent, and the agent offers it.
    pub(crate) async fn check_wishes(
        &self,
        caller: &Caller,
        session: &Session,
        (mode, model): (Option<&String>, Option<&String>),
    ) -> Result<(), BrokerError> {
        let wishes = [(SettingName::Mode, mode), (SettingName::Model, model)];
        if wishes.iter().all(|(_, value)| value.is_none()) {
            return Ok(());
        }
        may_set(caller, session.workspace)?;
        let told = self.told(session).await?;
        for (name, value) in wishes {
            if let Some(value) = value.cloned().map(SettingValue::Selected) {
                told.check(&name, &value)?;
            }
        }
        Ok(())
    }

    /// What an agent tells of a session.
    async fn told(&self, session: &Session) -> Result<SessionSettings, BrokerError> {
        let kept = self.store.settings(session.id).await?.unwrap_or_default();
        if session.engine == Session::OPENCODE {
            self.told_by_opencode(session, kept).await
        } else {
            Ok(kept)
        }
    }

    async fn settings_context(
        &self,
        caller: &Caller,
        session: &Session,
    ) -> Result<SettingsContext, BrokerError> {
        let told = self.told(session).await?;
        let chosen = self.store.choices(session.id).await?;
        Ok(SettingsContext {
            session: session.id,
            told,
            chosen: chosen.into_iter().map(|choice| choice.chosen).collect(),
            may_set: may_set(caller, session.workspace).is_ok(),
        })
    }
}

fn may_set(caller: &Caller, workspace: WorkspaceId) -> Result<(), Forbidden> {
    caller.require_in(Grant::Prompt, workspace)?;
    caller.require_in(Grant::Answer, workspace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::actor::{Actor, ActorKind, Surface};
    use countersign_core::id::ActorId;
    use countersign_core::time::Timestamp;

    #[test]
    fn to_set_something_takes_the_right_to_prompt_and_the_right_to_answer() {
        let now = Timestamp::from_micros(0);
        let workspace = WorkspaceId::generate(now);
        let with = |grants: &[Grant]| {
            let actor = Actor {
                id: ActorId::generate(now),
                kind: ActorKind::Person,
                name: "ada".to_owned(),
            };
            let grants = grants.iter().copied().collect();
            let caller = Caller::new(actor, grants, None, Surface::Api);
            may_set(&caller, workspace)
        };
        assert_eq!(with(&[Grant::Prompt, Grant::Answer]), Ok(()));
        for (held, missing) in [
            (Grant::Prompt, Grant::Answer),
            (Grant::Answer, Grant::Prompt),
        ] {
            assert_eq!(with(&[held]), Err(Forbidden::MissingGrant(missing)));
        }
    }
}
