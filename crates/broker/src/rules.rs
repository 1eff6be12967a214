//! Rules as surfaces see and make them.

use std::time::Duration;

use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{RuleId, SessionId, WorkspaceId};
use countersign_core::rule::{Matcher, Rule, Verdict};

use crate::Broker;
use crate::error::BrokerError;

/// A rule that somebody wishes for.
#[derive(Debug, Clone)]
pub struct RuleWish {
    /// The workspace; the first if nothing is said.
    pub workspace: Option<WorkspaceId>,
    /// The one session it is for.
    pub session: Option<SessionId>,
    /// The tool it is about.
    pub tool: String,
    /// What it says.
    pub verdict: Verdict,
    /// The targets it is about.
    pub matcher: Matcher,
    /// How long it lives.
    pub life: Option<Duration>,
}

impl Broker {
    /// The rules of the workspaces that the caller may see, newest first.
    pub async fn rules(&self, caller: &Caller) -> Result<Vec<Rule>, BrokerError> {
        caller.require(Grant::Read)?;
        Ok(self.store.rules(caller.workspace()).await?)
    }

    /// Makes a rule.
    pub async fn make_rule(&self, caller: &Caller, wish: RuleWish) -> Result<Rule, BrokerError> {
        let workspace = match wish.workspace {
            Some(workspace) => workspace,
            None => self.first_workspace()?,
        };
        caller.require_in(Grant::Administer, workspace)?;
        self.supervisor(workspace)?;
        if wish.tool.trim().is_empty() {
            return Err(BrokerError::Invalid {
                field: "tool",
                problem: "must not be empty".to_owned(),
            });
        }
        if let Some(session) = wish.session {
            let known = self.store.session(session).await?;
            if known.is_none_or(|known| known.workspace != workspace) {
                return Err(BrokerError::missing("session", session));
            }
        }
        wish.matcher.check(&wish.tool)?;
        let now = self.clock.now();
        let rule = Rule {
            id: RuleId::generate(now),
            workspace,
            session: wish.session,
            tool: wish.tool,
            verdict: wish.verdict,
            matcher: wish.matcher,
            made_by: caller.actor().clone(),
            made_at: now,
            made_from: None,
            expires_at: wish.life.map(|life| now.after(life)),
            revoked_at: None,
        };
        self.store.add_rule(&rule).await?;
        Ok(rule)
    }

    /// Takes a rule back: its maker may if they may answer, and whoever administers.
    pub async fn revoke_rule(&self, caller: &Caller, id: RuleId) -> Result<(), BrokerError> {
        let rule = self
            .store
            .rule(id)
            .await?
            .filter(|rule| caller.sees(rule.workspace))
            .ok_or_else(|| BrokerError::missing("rule", id))?;
        let grant = if rule.made_by.id == caller.actor().id {
            Grant::Answer
        } else {
            Grant::Administer
        };
        caller.require_in(grant, rule.workspace)?;
        if !self
            .store
            .revoke_rule(&rule, caller.actor(), self.clock.now())
            .await?
        {
            return Err(BrokerError::missing("rule", id));
        }
        Ok(())
    }
}
