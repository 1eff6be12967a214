//! Grants: what a caller may do, and the roles that bundle them.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::actor::{Actor, ActorKind, Surface};
use crate::id::WorkspaceId;

/// One thing that a token can let its actor do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// See workspaces, sessions, asks and events.
    Read,
    /// Start sessions and send prompts.
    Prompt,
    /// Propose workspace writes.
    Propose,
    /// Answer the asks of engines.
    Answer,
    /// Approve workspace writes.
    Approve,
    /// Make tokens and rules, read the audit, stop engines.
    Administer,
    /// Hand asks in; for agents alone.
    Ask,
}

impl Grant {
    /// Every grant there is.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Prompt,
        Self::Propose,
        Self::Answer,
        Self::Approve,
        Self::Administer,
        Self::Ask,
    ];

    /// The grant's name in JSON, on the command line and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Prompt => "prompt",
            Self::Propose => "propose",
            Self::Answer => "answer",
            Self::Approve => "approve",
            Self::Administer => "administer",
            Self::Ask => "ask",
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of grants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    /// Whether `grant` is among them.
    pub fn contains(&self, grant: Grant) -> bool {
        self.0.contains(&grant)
    }

    /// The grants, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Grant> + '_ {
        self.0.iter().copied()
    }

    /// What is left of them for an actor of `kind`: an agent may hand asks in, and nothing else, ever; a bridge passes on
    /// what people say who are no actors here, and answers nothing.
    #[must_use]
    fn limited_to(mut self, kind: ActorKind) -> Self {
        match kind {
            ActorKind::Agent => self.0.retain(|grant| *grant == Grant::Ask),
            ActorKind::Bridge => self
                .0
                .retain(|grant| matches!(grant, Grant::Read | Grant::Prompt)),
            ActorKind::Person | ActorKind::Rule => {
                self.0.remove(&Grant::Ask);
            }
        }
        self
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}

impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, grant) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(grant.name())?;
        }
        Ok(())
    }
}

/// A text that is no set of grants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a grant")]
pub struct UnknownGrant(String);

impl FromStr for Grants {
    type Err = UnknownGrant;

    /// Reads the form that [`fmt::Display`] writes: names with commas between.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',')
            .filter(|name| !name.is_empty())
            .map(|name| {
                Grant::ALL
                    .into_iter()
                    .find(|grant| grant.name() == name)
                    .ok_or_else(|| UnknownGrant(name.to_owned()))
            })
            .collect()
    }
}

/// A named set of grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sees.
    Viewer,
    /// Sees, prompts, proposes writes and answers engines' asks.
    Collaborator,
    /// Sees, answers engines' asks and approves writes.
    Approver,
    /// May do everything but pose as an agent.
    Owner,
    /// Hands asks in.
    Agent,
}

impl Role {
    /// Every role there is.
    pub const ALL: [Self; 5] = [
        Self::Viewer,
        Self::Collaborator,
        Self::Approver,
        Self::Owner,
        Self::Agent,
    ];

    /// The role's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Collaborator => "collaborator",
            Self::Approver => "approver",
            Self::Owner => "owner",
            Self::Agent => "agent",
        }
    }

    /// What the role may do.
    pub fn grants(self) -> Grants {
        let grants: &[Grant] = match self {
            Self::Viewer => &[Grant::Read],
            Self::Collaborator => &[Grant::Read, Grant::Prompt, Grant::Propose, Grant::Answer],
            Self::Approver => &[Grant::Read, Grant::Answer, Grant::Approve],
            Self::Owner => &[
                Grant::Read,
                Grant::Prompt,
                Grant::Propose,
                Grant::Answer,
                Grant::Approve,
                Grant::Administer,
            ],
            Self::Agent => &[Grant::Ask],
        };
        grants.iter().copied().collect()
    }

    /// The kind of actor that a token of this role stands for.
    pub const fn actor_kind(self) -> ActorKind {
        match self {
            Self::Agent => ActorKind::Agent,
            Self::Viewer | Self::Collaborator | Self::Approver | Self::Owner => ActorKind::Person,
        }
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == text)
            .ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

/// A text that names no role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a role; the roles are viewer, collaborator, approver, owner and agent")]
pub struct UnknownRole(String);

/// A caller lacks a grant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// The grant is not among the caller's.
    #[error("this needs the grant `{0}`, which your token does not have")]
    MissingGrant(Grant),
    /// The grant is there, for other workspaces.
    #[error("your token is for another workspace")]
    OtherWorkspace,
    /// The grant is there for one workspace, and is needed for the whole server.
    #[error("your token is for one workspace, and this is of the whole server")]
    WholeServer,
    /// The caller proposed what is to be answered.
    #[error("you proposed this write yourself: somebody else has to answer it")]
    OwnProposal,
}

/// Somebody who calls: an actor, what it may do, where, and through which surface.
///
/// A caller that is an agent holds at most the grant `ask`, whatever its token's row says: the only way to
/// make one takes the rest away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    actor: Actor,
    grants: Grants,
    workspace: Option<WorkspaceId>,
    surface: Surface,
}

impl Caller {
    /// A caller; `workspace` limits it to one.
    pub fn new(
        actor: Actor,
        grants: Grants,
        workspace: Option<WorkspaceId>,
        surface: Surface,
    ) -> Self {
        let grants = grants.limited_to(actor.kind);
        Self {
            actor,
            grants,
            workspace,
            surface,
        }
    }

    /// Who it is.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// What it may do.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The one workspace it is limited to, if it is.
    pub fn workspace(&self) -> Option<WorkspaceId> {
        self.workspace
    }

    /// Where it called.
    pub fn surface(&self) -> Surface {
        self.surface
    }

    /// Fails unless the caller holds `grant`, for any workspace at all.
    pub fn require(&self, grant: Grant) -> Result<(), Forbidden> {
        if self.grants.contains(grant) {
            Ok(())
        } else {
            Err(Forbidden::MissingGrant(grant))
        }
    }

    /// Fails unless the caller holds `grant` in `workspace`.
    pub fn require_in(&self, grant: Grant, workspace: WorkspaceId) -> Result<(), Forbidden> {
        self.require(grant)?;
        if self.sees(workspace) {
            Ok(())
        } else {
            Err(Forbidden::OtherWorkspace)
        }
    }

    /// Fails unless the caller holds `grant` for the whole server: in every workspace, and in what is of none.
    pub fn require_everywhere(&self, grant: Grant) -> Result<(), Forbidden> {
        self.require(grant)?;
        match self.workspace {
            None => Ok(()),
            Some(_) => Err(Forbidden::WholeServer),
        }
    }

    /// Whether `workspace` is within the caller's limits.
    pub fn sees(&self, workspace: WorkspaceId) -> bool {
        self.workspace.is_none_or(|only| only == workspace)
    }

    /// Whether something that is for `reach`, one workspace or all of them, is within the caller's limits.
    pub fn covers(&self, reach: Option<WorkspaceId>) -> bool {
        self.workspace.is_none() || reach == self.workspace
    }

    /// The reach of what the caller makes if it wishes for `wished`: its own limits if it wishes for none.
    pub fn reach(&self, wished: Option<WorkspaceId>) -> Result<Option<WorkspaceId>, Forbidden> {
        let reach = wished.or(self.workspace);
        if self.covers(reach) {
            Ok(reach)
        } else {
            Err(Forbidden::OtherWorkspace)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ActorId;
    use crate::time::Timestamp;

    #[test]
    fn an_agent_never_holds_more_than_ask_whatever_its_token_says() {
        for role in Role::ALL {
            let actor = Actor {
                id: ActorId::generate(Timestamp::from_micros(0)),
                kind: ActorKind::Agent,
                name: "opencode".to_owned(),
            };
            let caller = Caller::new(actor, role.grants(), None, Surface::Api);
            assert_eq!(
                caller
                    .grants()
                    .iter()
                    .filter(|grant| *grant != Grant::Ask)
                    .count(),
                0
            );
            assert_eq!(
                caller.require(Grant::Answer),
                Err(Forbidden::MissingGrant(Grant::Answer))
            );
        }
    }

    #[test]
    fn a_bridge_answers_nothing_by_itself() {
        let actor = Actor {
            id: ActorId::generate(Timestamp::from_micros(0)),
            kind: ActorKind::Bridge,
            name: "matrix".to_owned(),
        };
        let caller = Caller::new(actor, Role::Owner.grants(), None, Surface::Matrix);
        assert_eq!(caller.grants().to_string(), "read,prompt");
    }

    #[test]
    fn grants_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(
                role.grants().to_string().parse::<Grants>().unwrap(),
                role.grants()
            );
        }
        assert!("read,everything".parse::<Grants>().is_err());
    }
}
