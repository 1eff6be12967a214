//! What a rule would have matched, had it been there already: so that whoever makes one sees how far it reaches.
//!
//! Nothing is changed by looking. How much is looked at is bounded, and said.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use countersign_core::actor::Surface;
use countersign_core::ask::{Ask, AskPhase, AskState, Subject};
use countersign_core::grant::{Caller, Grant};
use countersign_core::id::{AskId, RuleId, SessionId, WorkspaceId};
use countersign_core::rule::{Matcher, Rule, Verdict};
use countersign_core::time::Timestamp;
use countersign_store::AskFilter;

use crate::Broker;
use crate::error::BrokerError;

/// How many asks are read at a time.
const PAGE: i64 = 200;
/// How many are looked at: more than anybody is asked in a week.
const MOST: u64 = 5_000;
/// How many kinds of targets are told apart in the answer.
const SAMPLES: usize = 8;
/// How many open asks are named.
const OPEN: usize = 200;

/// A rule that somebody thinks of.
#[derive(Debug, Clone)]
pub struct RuleGuess {
    /// The workspace; the first if nothing is said.
    pub workspace: Option<WorkspaceId>,
    /// The one session it would be for.
    pub session: Option<SessionId>,
    /// The tool it would be about.
    pub tool: String,
    /// The targets it would be about.
    pub matcher: Matcher,
}

/// What a rule would have matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foresight {
    /// The beginning of the time that was looked at.
    pub since: Timestamp,
    /// How many asks were looked at.
    pub looked_at: u64,
    /// Whether that is all there are in this time.
    pub complete: bool,
    /// How many of them it would have matched.
    pub count: u64,
    /// How many of these a person denied.
    pub denied: u64,
    /// How many sessions they are of.
    pub sessions: u64,
    /// Those that are still open.
    pub open: Vec<AskId>,
    /// The newest of each kind of targets, those that a person denied first.
    pub samples: Vec<Match>,
}

/// Asks with the same targets, told by the newest of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The ask.
    pub ask: AskId,
    /// The session that asked.
    pub session: SessionId,
    /// When.
    pub opened_at: Timestamp,
    /// What it was about.
    pub targets: Vec<String>,
    /// How many asks were about the same.
    pub times: u64,
    /// How the newest stands.
    pub phase: AskPhase,
    /// Whether a person denied one of them.
    pub denied: bool,
}

impl Broker {
    /// What the rule would have matched in the time before now.
    pub async fn preview_rule(
        &self,
        caller: &Caller,
        guess: RuleGuess,
        span: Duration,
    ) -> Result<Foresight, BrokerError> {
        caller.require(Grant::Read)?;
        let workspace = self.meant_workspace(caller, guess.workspace)?;
        caller.require_in(Grant::Read, workspace)?;
        self.supervisor(workspace)?;
        guess.matcher.check(&guess.tool)?;
        let now = self.clock.now();
        let rule = Rule {
            id: RuleId::generate(now),
            workspace,
            session: guess.session,
            tool: guess.tool,
            verdict: Verdict::Allow,
            matcher: guess.matcher,
            made_by: caller.actor().clone(),
            made_at: now,
            made_from: None,
            expires_at: None,
            revoked_at: None,
        };
        self.look_back(&rule, now.before(span)).await
    }

    async fn look_back(&self, rule: &Rule, since: Timestamp) -> Result<Foresight, BrokerError> {
        let mut tally = Tally::default();
        let mut before = None;
        let (mut looked_at, mut complete) = (0, false);
        while !complete && looked_at < MOST {
            let filter = AskFilter {
                phase: None,
                session: rule.session,
                workspace: Some(rule.workspace),
                before,
            };
            let page = self.store.asks(filter, PAGE).await?;
            before = page.last().map(|ask| ask.id);
            complete = before.is_none();
            for ask in page {
                if ask.opened_at < since {
                    complete = true;
                    break;
                }
                looked_at += 1;
                tally.take(rule, ask);
            }
        }
        Ok(tally.told(since, looked_at, complete))
    }
}

/// What was found so far; asks come newest first.
#[derive(Default)]
struct Tally {
    count: u64,
    denied: u64,
    sessions: HashSet<SessionId>,
    open: Vec<AskId>,
    /// By their targets, and the order in which these were first met.
    places: HashMap<Vec<String>, usize>,
    kinds: Vec<Match>,
}

impl Tally {
    fn take(&mut self, rule: &Rule, ask: Ask) {
        if !rule.matches(ask.workspace, ask.session, &ask.subject) {
            return;
        }
        let Subject::Permission { targets, .. } = ask.subject else {
            return;
        };
        let phase = ask.state.phase();
        let denied = was_denied(&ask.state);
        self.count += 1;
        self.denied += u64::from(denied);
        self.sessions.insert(ask.session);
        if phase == AskPhase::Open && self.open.len() < OPEN {
            self.open.push(ask.id);
        }
        let place = *self
            .places
            .entry(targets.clone())
            .or_insert(self.kinds.len());
        match self.kinds.get_mut(place) {
            Some(known) => {
                known.times += 1;
                known.denied |= denied;
            }
            None => self.kinds.push(Match {
                ask: ask.id,
                session: ask.session,
                opened_at: ask.opened_at,
                targets,
                times: 1,
                phase,
                denied,
            }),
        }
    }

    fn told(mut self, since: Timestamp, looked_at: u64, complete: bool) -> Foresight {
        // What somebody said no to is what a person has to see before they say yes to all of it.
        self.kinds.sort_by_key(|kind| !kind.denied);
        self.kinds.truncate(SAMPLES);
        Foresight {
            since,
            looked_at,
            complete,
            count: self.count,
            denied: self.denied,
            sessions: self.sessions.len().try_into().unwrap_or(u64::MAX),
            open: self.open,
            samples: self.kinds,
        }
    }
}

/// Whether a person said no; a rule's no is none of a person's.
fn was_denied(state: &AskState) -> bool {
    state
        .answer()
        .is_some_and(|answer| answer.surface != Surface::Rule && !answer.choice.is_yes())
}
