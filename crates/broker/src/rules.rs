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
        let workspace = self.meant_workspace(caller, wish.workspace)?;
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

    /// Has a rule end in a while: whoever may take it back may. Its end can be brought forward, and never put off: for
    /// that somebody makes another rule, and sees what it reaches.
    pub async fn expire_rule(
        &self,
        caller: &Caller,
        id: RuleId,
        life: Duration,
    ) -> Result<Rule, BrokerError> {
        let rule = self.own_rule(caller, id).await?;
        let now = self.clock.now();
        let end = now.after(life);
        if !rule.is_active(now) {
            return Err(BrokerError::missing("rule", id));
        }
        let changed = self.store.expire_rule(&rule, end, caller.actor(), now);
        if !changed.await? {
            return Err(BrokerError::Invalid {
                field: "expires_in_s",
                problem: "must end the rule before it ends by itself".to_owned(),
            });
        }
        Ok(Rule {
            expires_at: Some(end),
            ..rule
        })
    }

    /// The rule, if the caller may change it: its maker may if they may answer, and whoever administers.
    async fn own_rule(&self, caller: &Caller, id: RuleId) -> Result<Rule, BrokerError> {
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
        Ok(rule)
    }

    /// Takes a rule back.
    pub async fn revoke_rule(&self, caller: &Caller, id: RuleId) -> Result<(), BrokerError> {
        let rule = self.own_rule(caller, id).await?;
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
