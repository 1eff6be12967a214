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
use crate::asks::ask_in;
use crate::asks::end::withdraw_in;
use crate::asks::row::{AskRow, select_asks};
use crate::database::{Tx, on_tx};
use crate::engines::{goes_on, hold_run};
use crate::error::StoreError;
use crate::rules::rules_for;
use crate::tokens::ensure_actor;
use crate::write::{Write, to_json};

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
    /// The ask as it is written down; who asks is the session's to say.
    fn into_ask(self, now: Timestamp) -> Ask {
        let tool = self.subject.tool().to_owned();
        let arguments = Digest::of_json(&self.arguments);
        let session = self.session.to_string();
        let alike = [
            tool.as_bytes(),
            arguments.as_bytes(),
            self.directory.as_bytes(),
        ];
        Ask {
            id: AskId::generate(now),
            likeness: Digest::of_parts(alike),
            fingerprint: Digest::of_parts([session.as_bytes()].into_iter().chain(alike)),
            digest: Digest::of_json(&self.raw),
            workspace: self.workspace,
            door: self.door,
            run: self.run,
            session: self.session,
            parent_session: None,
            requester: String::new(),
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
        let mut write = self.write(now).await?;
        hold_run(&mut write.tx, new.run).await?;
        let goes_on = goes_on(&mut write.tx, new.run).await?;
        if let Some(known) = known_ask(&mut write.tx, new.run, &new.native_id).await? {
            return Ok(Opened::Known(known));
        }
        let mut ask = new.into_ask(now);
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
        write.deed(
            ask.workspace,
            &format!("agent in {} ({})", ask.session, ask.run),
            "ask.open",
            ask.id,
            json!({ "tool": ask.subject.tool(), "digest": ask.digest, "previous": ask.previous }),
        );
        if !goes_on {
            // Its engine died while it was handed in.
            withdraw_in(&mut write, &ask, &Withdrawal::EngineGone, now).await?;
        } else if let Some(answer) = standing_answer(&mut write, &ask, previous, now).await? {
            claim(&mut write, ask.id).await?;
            record_answer(&mut write, &ask, answer, now).await?;
        }
        let opened = ask_in(&mut write.tx, ask.id)
            .await?
            .ok_or_else(|| StoreError::corrupt("asks", ask.id, "session"))?;
        self.commit(write).await?;
        Ok(Opened::Fresh(opened))
    }
}

/// The answer that is there before anybody is asked: a rule's, or one that never reached a dead engine.
async fn standing_answer(
    write: &mut Write,
    ask: &Ask,
    previous: Option<Ask>,
    now: Timestamp,
) -> Result<Option<Answer>, StoreError> {
    let rules = rules_for(&mut write.tx, ask.workspace, ask.subject.tool()).await?;
    let decided = rule::decide(&rules, ask.workspace, ask.session, &ask.subject, now);
    match (decided, previous) {
        (Some(rule), _) => answer_of_rule(write, rule, now).await.map(Some),
        (None, Some(previous)) => unsent_answer(&mut write.tx, &previous, ask.id).await,
        (None, None) => Ok(None),
    }
}

async fn known_ask(tx: &mut Tx, run: RunId, native_id: &str) -> Result<Option<Ask>, StoreError> {
    const GET: &str = select_asks!("WHERE asks.run = $1 AND asks.native_id = $2");
    let row: Option<AskRow> = on_tx!(tx, |connection| {
        sqlx::query_as(GET)
            .bind(run.to_string())
            .bind(native_id)
            .fetch_optional(connection)
            .await?
    });
    row.map(Ask::try_from).transpose()
}

async fn insert_ask(tx: &mut Tx, ask: &Ask) -> Result<(), StoreError> {
    const ADD: &str = "INSERT INTO asks (id, workspace, door, run, session, native_id, directory, \
         subject, raw, options, opened_at, expires_at, digest, fingerprint, likeness, previous, state) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, 'open')";
    on_tx!(tx, |connection| {
        sqlx::query(ADD)
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
            .execute(connection)
            .await?;
    });
    Ok(())
}

/// The newest ask that this one repeats: the same in everything, and ended by the death of its engine.
async fn previous_ask(tx: &mut Tx, ask: &Ask) -> Result<Option<Ask>, StoreError> {
    const GET: &str =
        "SELECT id FROM asks WHERE fingerprint = $1 AND run <> $2 ORDER BY id DESC LIMIT 1";
    let row: Option<(String,)> = on_tx!(tx, |connection| {
        sqlx::query_as(GET)
            .bind(ask.fingerprint.to_string())
            .bind(ask.run.to_string())
            .fetch_optional(connection)
            .await?
    });
    let Some((id,)) = row else {
        return Ok(None);
    };
    let id = id
        .parse()
        .map_err(|_| StoreError::corrupt("asks", &id, "id"))?;
    let previous = ask_in(tx, id).await?;
    Ok(previous.filter(|previous| match &previous.state {
        AskState::Withdrawn { why, .. } => *why == Withdrawal::EngineGone,
        AskState::Undeliverable(_, delivery) => matches!(
            delivery.state,
            DeliveryState::Undeliverable {
                why: Undeliverable::EngineGone,
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
        sqlx::query_as(TAKERS)
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
