//! Opens asks: durable, with the rules applied, before anybody hears of them.

use countersign_core::actor::{ActorKind, Surface};
use countersign_core::answer::{Answer, Choice};
use countersign_core::ask::{Ask, AskState, Door, OfferedOption, Subject, Withdrawal};
use countersign_core::delivery::{DeliveryState, Undeliverable};
use countersign_core::digest::Digest;
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, RunId, SessionId, WorkspaceId};
use countersign_core::rule::{self, Rule, Verdict};
use countersign_core::time::Timestamp;
use serde_json::{Value, json};

use crate::Store;
use crate::asks::answer::{claim, record_answer};
use crate::asks::end::withdraw_in;
use crate::asks::row::{AskRow, select_asks};
use crate::asks::{ask_in, tool_of};
use crate::database::{Tx, on_tx};
use crate::engines::hold_run;
use crate::error::StoreError;
use crate::jobs::expiry_by_job;
use crate::rules::rules_for;
use crate::sql::query;
use crate::tokens::ensure_actor;
use crate::write::{Write, name_in_audit, to_json};

/// An ask as a door hands it in.
#[derive(Debug, Clone)]
pub struct NewAsk {
    /// The workspace it is about.
    pub workspace: WorkspaceId,
    /// Where it came in.
    pub door: Door,
    /// The life of the engine that asks.
    pub run: RunId,
    /// The session that asks.
    pub session: SessionId,
    /// What the engine calls the request.
    pub native_id: String,
    /// The directory that the engine works in.
    pub directory: String,
    /// What is asked.
    pub subject: Subject,
    /// The arguments of the tool: what makes two asks alike.
    pub arguments: Value,
    /// What the engine sent, as it came.
    pub raw: Value,
    /// The options that the engine offers.
    pub options: Vec<OfferedOption>,
    /// When it runs out.
    pub expires_at: Option<Timestamp>,
}

impl NewAsk {
    /// The ask as it is written down.
    fn into_ask(self, requester: String, parent_session: Option<SessionId>, now: Timestamp) -> Ask {
        let tool = self.subject.tool().to_owned();
        let arguments = Digest::of_json(&self.arguments);
        let session = self.session.to_string();
        // Where a link leads now is another place than where it led before.
        let location = match &self.subject {
            Subject::Permission { location, .. } if !location.is_plain() => to_json(location),
            Subject::Permission { .. }
            | Subject::Question { .. }
            | Subject::WorkspaceWrite { .. } => String::new(),
        };
        let parts = [
            tool.as_bytes(),
            arguments.as_bytes(),
            self.directory.as_bytes(),
            location.as_bytes(),
        ];
        let alike = || {
            parts
                .into_iter()
                .take(if location.is_empty() { 3 } else { 4 })
        };
        Ask {
            id: AskId::generate(now),
            likeness: Digest::of_parts(alike()),
            fingerprint: Digest::of_parts([session.as_bytes()].into_iter().chain(alike())),
            digest: Digest::of_json(&self.raw),
            workspace: self.workspace,
            door: self.door,
            run: self.run,
            session: self.session,
            parent_session,
            requester,
            native_id: self.native_id,
            directory: self.directory,
            subject: self.subject,
            raw: self.raw,
            options: self.options,
            opened_at: now,
            expires_at: self.expires_at,
            previous: None,
            state: AskState::Open,
        }
    }
}

/// What came of handing an ask in.
#[derive(Debug, Clone, PartialEq)]
pub enum Opened {
    /// It is new; a rule may have answered it already.
    Fresh(Ask),
    /// The same request of the same life of its engine is in the ledger.
    Known(Ask),
}

impl Opened {
    /// The ask, new or not.
    pub fn into_ask(self) -> Ask {
        match self {
            Self::Fresh(ask) | Self::Known(ask) => ask,
        }
    }
}

impl Store {
    /// Opens an ask. Within one life of an engine its own request id is the ask's identity.
    pub async fn open_ask(&self, new: NewAsk, now: Timestamp) -> Result<Opened, StoreError> {
        let (opened, unannounced) = self.open_ask_unannounced(new, now).await?;
        if let Some(head) = unannounced {
            self.announce_durably(head).await;
        }
        Ok(opened)
    }

    /// Opens an ask. What a client proposes need not be on the disk at once: should the machine fail, nobody is left who
    /// waits for an answer, and an answer would have had it there. For it, the number of its event is told, for
    /// [`Store::announce_durably`].
    pub async fn open_ask_unannounced(
        &self,
        new: NewAsk,
        now: Timestamp,
    ) -> Result<(Opened, Option<i64>), StoreError> {
        let is_proposal = new.door == Door::Workspace;
        let mut write = if is_proposal {
            self.write_unsynced(now).await?
        } else {
            self.write(now).await?
        };
        hold_run(&mut write.tx, new.run).await?;
        let asker = asker(&mut write.tx, new.run, new.session).await?;
        // A client that proposes a write has no ids of its own: every request of one is another.
        if !is_proposal
            && let Some(known) = known_ask(&mut write.tx, new.run, &new.native_id).await?
        {
            return Ok((Opened::Known(known), None));
        }
        let mut ask = new.into_ask(asker.agent, asker.parent, now);
        // Nobody may be watching a job: its asks end in time whatever the workspace says. No job proposes writes.
        if !is_proposal && let Some(life) = expiry_by_job(&mut write.tx, ask.session).await? {
            let end = now.after(life);
            ask.expires_at = Some(ask.expires_at.map_or(end, |other| other.min(end)));
        }
        let previous = previous_ask(&mut write.tx, &ask).await?;
        ask.previous = previous.as_ref().map(|previous| previous.id);
        insert_ask(&mut write.tx, &ask).await?;
        write.event(
            ask.workspace,
            EventBody::AskOpened {
                ask: ask.id,
                session: ask.session,
                tool: ask.subject.tool().to_owned(),
            },
        );
        let who = match ask.subject.proposer() {
            Some(proposer) => name_in_audit(proposer),
            None => format!("agent in {} ({})", ask.session, ask.run),
        };
        write.deed(
            ask.workspace,
            &who,
            "ask.open",
            ask.id,
            json!({ "tool": ask.subject.tool(), "digest": ask.digest, "previous": ask.previous }),
        );
        let mut has_changed = true;
        if !asker.goes_on {
            // Its engine died while it was handed in, or its server is taken for dead by the next.
            let why = match ask.door {
                Door::Opencode | Door::OpencodePlugin | Door::Acp | Door::AcpProxy => {
                    Withdrawal::EngineGone
                }
                Door::Workspace => Withdrawal::ServerRestarted,
            };
            withdraw_in(&mut write, &ask, &why, now).await?;
        } else if let Some(answer) = standing_answer(&mut write, &ask, previous, now).await? {
            claim(&mut write, ask.id).await?;
            record_answer(&mut write, &ask, answer, now).await?;
        } else {
            has_changed = false;
        }
        if has_changed {
            ask = ask_in(&mut write.tx, ask.id)
                .await?
                .ok_or_else(|| StoreError::corrupt("asks", ask.id, "session"))?;
        }
        let unannounced = if is_proposal {
            self.commit_unannounced(write).await?
        } else {
            self.commit(write).await?;
            None
        };
        Ok((Opened::Fresh(ask), unannounced))
    }
}

/// Who asks: a session, in the life of its engine.
struct Asker {
    goes_on: bool,
    parent: Option<SessionId>,
    agent: String,
}

/// Looks at who asks; the life is held.
async fn asker(tx: &mut Tx, run: RunId, session: SessionId) -> Result<Asker, StoreError> {
    const LOOK: &str = "SELECT runs.ended_at, sessions.parent, sessions.agent FROM runs, sessions \
         WHERE runs.id = $1 AND sessions.id = $2";
    let (ended_at, parent, agent): (Option<i64>, Option<String>, String) =
        on_tx!(tx, |connection| {
            query(LOOK)
                .bind(run.to_string())
                .bind(session.to_string())
                .fetch_one(connection)
                .await?
        });
    let parent = parent.as_deref().map(str::parse).transpose();
    Ok(Asker {
        goes_on: ended_at.is_none(),
        parent: parent.map_err(|_| StoreError::corrupt("sessions", session, "parent"))?,
        agent,
    })
}

/// The answer that is there before anybody is asked: a rule's, or one that never reached a dead engine.
async fn standing_answer(
    write: &mut Write,
    ask: &Ask,
    previous: Option<Ask>,
    now: Timestamp,
) -> Result<Option<Answer>, StoreError> {
    if ask.door == Door::Workspace {
        // No rule answers a write. And the files may have changed since: what was approved then is not what would be
        // written now.
        return Ok(None);
    }
    let rules = rules_for(&mut write.tx, ask.workspace, ask.subject.tool()).await?;
    let decided = rule::decide(&rules, ask.workspace, ask.session, &ask.subject, now);
    match (decided, previous) {
        (Some(rule), _) => answer_of_rule(write, rule, now).await.map(Some),
        (None, Some(previous)) if ask.subject.is_located() => {
            unsent_answer(&mut write.tx, &previous, ask.id).await
        }
        (None, Some(_) | None) => Ok(None),
    }
}

async fn known_ask(tx: &mut Tx, run: RunId, native_id: &str) -> Result<Option<Ask>, StoreError> {
    const GET: &str = select_asks!("WHERE asks.run = $1 AND asks.native_id = $2");
    let row: Option<AskRow> = on_tx!(tx, |connection| {
        query(GET)
            .bind(run.to_string())
            .bind(native_id)
            .fetch_optional(connection)
            .await?
    });
    row.map(Ask::try_from).transpose()
}

pub(crate) const ADD: &str = "INSERT INTO asks (id, workspace, door, run, session, native_id, directory, \
     subject, raw, options, opened_at, expires_at, digest, fingerprint, likeness, previous, tool, state) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'open')";

async fn insert_ask(tx: &mut Tx, ask: &Ask) -> Result<(), StoreError> {
    on_tx!(tx, |connection| {
        query(ADD)
            .bind(ask.id.to_string())
            .bind(ask.workspace.to_string())
            .bind(ask.door.name())
            .bind(ask.run.to_string())
            .bind(ask.session.to_string())
            .bind(&ask.native_id)
            .bind(&ask.directory)
            .bind(to_json(&ask.subject))
            .bind(ask.raw.to_string())
            .bind(to_json(&ask.options))
            .bind(ask.opened_at.as_micros())
            .bind(ask.expires_at.map(Timestamp::as_micros))
            .bind(ask.digest.to_string())
            .bind(ask.fingerprint.to_string())
            .bind(ask.likeness.to_string())
            .bind(ask.previous.map(|id| id.to_string()))
            .bind(tool_of(&ask.subject))
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// The newest ask that this one repeats: the same in everything, and ended by the death of its engine, or before its
/// client could be served.
async fn previous_ask(tx: &mut Tx, ask: &Ask) -> Result<Option<Ask>, StoreError> {
    const OF_ANOTHER_RUN: &str = select_asks!(
        "WHERE asks.id = (SELECT id FROM asks WHERE fingerprint = $1 AND run <> $2 ORDER BY id DESC LIMIT 1)"
    );
    // Mostly it was done, and is not looked at any further.
    const OF_ANY_RUN: &str = select_asks!(
        "WHERE asks.id = (SELECT id FROM asks WHERE fingerprint = $1 AND id <> $2 ORDER BY id DESC LIMIT 1) \
         AND asks.state IN ('withdrawn', 'undeliverable')"
    );
    let row: Option<AskRow> = match ask.door {
        Door::Opencode | Door::OpencodePlugin | Door::Acp | Door::AcpProxy => {
            on_tx!(tx, |connection| {
                query(OF_ANOTHER_RUN)
                    .bind(ask.fingerprint.to_string())
                    .bind(ask.run.to_string())
                    .fetch_optional(connection)
                    .await?
            })
        }
        // A client comes and goes while the server lives.
        Door::Workspace => on_tx!(tx, |connection| {
            query(OF_ANY_RUN)
                .bind(ask.fingerprint.to_string())
                .bind(ask.id.to_string())
                .fetch_optional(connection)
                .await?
        }),
    };
    let previous = row.map(Ask::try_from).transpose()?;
    Ok(previous.filter(|previous| match &previous.state {
        AskState::Withdrawn { why, .. } => matches!(
            why,
            Withdrawal::EngineGone
                | Withdrawal::EngineReloaded { .. }
                | Withdrawal::ClientGone
                | Withdrawal::ServerRestarted
        ),
        AskState::Undeliverable(_, delivery) => matches!(
            delivery.state,
            DeliveryState::Undeliverable {
                why: Undeliverable::EngineGone
                    | Undeliverable::ClientGone
                    | Undeliverable::ServerRestarted
                    | Undeliverable::NotWritten { .. },
                ..
            }
        ),
        AskState::Open
        | AskState::Answered(..)
        | AskState::Delivered(..)
        | AskState::Expired { .. } => false,
    }))
}

/// The answer to `previous`, if it was certainly never sent and no other ask has taken it over. One that
/// was perhaps sent may have had its effect: then a person is asked again.
async fn unsent_answer(
    tx: &mut Tx,
    previous: &Ask,
    taker: AskId,
) -> Result<Option<Answer>, StoreError> {
    const TAKERS: &str = "SELECT COUNT(*) FROM asks WHERE previous = $1 AND id <> $2";
    let AskState::Undeliverable(answer, delivery) = &previous.state else {
        return Ok(None);
    };
    if delivery.attempts > 0 {
        return Ok(None);
    }
    // Two lives may ask again at the same moment; only the first of them sees no taker.
    hold_run(tx, previous.run).await?;
    let (takers,): (i64,) = on_tx!(tx, |connection| {
        query(TAKERS)
            .bind(previous.id.to_string())
            .bind(taker.to_string())
            .fetch_one(connection)
            .await?
    });
    Ok((takers == 0).then(|| answer.clone()))
}

async fn answer_of_rule(
    write: &mut Write,
    rule: &Rule,
    now: Timestamp,
) -> Result<Answer, StoreError> {
    let by = ensure_actor(&mut write.tx, ActorKind::Rule, &rule.id.to_string(), now).await?;
    let choice = match rule.verdict {
        Verdict::Allow => Choice::AllowOnce,
        Verdict::Deny => Choice::Deny {
            reason: Some("a rule of this workspace denies it".to_owned()),
        },
    };
    Ok(Answer {
        choice,
        by,
        surface: Surface::Rule,
        at: now,
        rule: Some(rule.id),
    })
}
