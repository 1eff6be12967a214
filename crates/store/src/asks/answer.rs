//! Answers asks: the first answer wins, and every later one is told so.

use countersign_core::answer::{Answer, Choice, Scope};
use countersign_core::ask::{Ask, AskState, Step, Withdrawal};
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, RuleId};
use countersign_core::rule::{self, Rule, Verdict};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::asks::end::{expire_in, withdraw_in};
use crate::asks::{ask_in, open_siblings_in, tool_of};
use crate::database::on_tx;
use crate::engines::hold_run;
use crate::error::StoreError;
use crate::rules::insert_rule;
use crate::sql::query;
use crate::write::{Write, name_in_audit, to_json};

/// What happened to an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// It stands, and is on its way.
    Won(Ask),
    /// The same actor had said the same before.
    Repeated(Ask),
    /// Somebody was faster; their answer stands.
    Lost(Ask),
    /// The ask ended without an answer.
    Over(Ask),
    /// There is no such ask.
    Missing,
}

/// What happened to an answer to an ask that was open a moment ago.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub enum AnsweredOpen {
    /// It stands, and is on its way.
    Won {
        /// How the ask stands now.
        state: AskState,
        /// The number of the event that the caller is to announce, if it was not announced.
        unannounced: Option<i64>,
    },
    /// It was not open any more, and was answered as it is now.
    Late(Answered),
}

impl Store {
    /// Answers an ask that was open a moment ago, as [`Store::answer`] does. What it asks never changes, so that it need
    /// not be read again. It is the caller who announces it: whoever waits for this answer can be told before everybody else.
    pub async fn answer_open(
        &self,
        ask: &Ask,
        answer: Answer,
        now: Timestamp,
    ) -> Result<AnsweredOpen, StoreError> {
        if ask.state == AskState::Open && ask.expires_at.is_none_or(|end| end > now) {
            let mut write = self.write(now).await?;
            hold_run(&mut write.tx, ask.run).await?;
            if claim(&mut write, ask.id).await? {
                let state = record_answer(&mut write, ask, answer, now).await?;
                let unannounced = self.commit_unannounced(write).await?;
                return Ok(AnsweredOpen::Won { state, unannounced });
            }
        }
        let answered = self.answer(ask.id, answer, now).await?;
        Ok(AnsweredOpen::Late(answered))
    }

    /// Answers an ask in one transaction: the answer, its audit entry, its outbox row, the rule it makes,
    /// and the end of the asks that fall with a denial.
    pub async fn answer(
        &self,
        id: AskId,
        answer: Answer,
        now: Timestamp,
    ) -> Result<Answered, StoreError> {
        let mut write = self.write(now).await?;
        let Some(mut ask) = ask_in(&mut write.tx, id).await? else {
            return Ok(Answered::Missing);
        };
        match &ask.state {
            AskState::Open => {}
            AskState::Answered(first, _)
            | AskState::Delivered(first, _)
            | AskState::Undeliverable(first, _) => {
                let repeated = first.is_repeated_by(&answer);
                return Ok(if repeated {
                    Answered::Repeated(ask)
                } else {
                    Answered::Lost(ask)
                });
            }
            AskState::Expired { .. } | AskState::Withdrawn { .. } => {
                return Ok(Answered::Over(ask));
            }
        }
        hold_run(&mut write.tx, ask.run).await?;
        if ask.expires_at.is_some_and(|end| end <= now) {
            if expire_in(&mut write, &ask, now).await? {
                ask.state = AskState::Expired { at: now };
                self.commit(write).await?;
                return Ok(Answered::Over(ask));
            }
        } else if claim(&mut write, id).await? {
            ask.state = record_answer(&mut write, &ask, answer, now).await?;
            self.commit(write).await?;
            return Ok(Answered::Won(ask));
        }
        // Another replica came between our look and our claim; its transaction is committed.
        drop(write);
        Box::pin(self.answer(id, answer, now)).await
    }
}

/// Takes an open ask. It is found by its id, which is one row: by an index of what is open there could be several, and SQLite
/// would write down which before it changes them.
pub(crate) const CLAIM: &str =
    "UPDATE asks SET state = 'answered' WHERE id = $1 AND state || '' = 'open'";

/// The compare-and-set: only one transaction ever sees it succeed.
pub(super) async fn claim(write: &mut Write, id: AskId) -> Result<bool, StoreError> {
    let won = on_tx!(&mut write.tx, |connection| {
        query(CLAIM)
            .bind(id.to_string())
            .execute(connection)
            .await?
            .rows_affected()
    });
    Ok(won == 1)
}

/// Writes an answer to an ask that this transaction has claimed, and everything that follows from it.
pub(super) async fn record_answer(
    write: &mut Write,
    ask: &Ask,
    mut answer: Answer,
    now: Timestamp,
) -> Result<AskState, StoreError> {
    const ADD_ANSWER: &str = "INSERT INTO answers \
         (ask, choice, actor, surface, at, rule, yes, workspace, tool, opened_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    const ADD_DELIVERY: &str = "INSERT INTO deliveries (ask, state, attempts, due_at) \
         VALUES ($1, 'pending', 0, $2)";

    // An answer that is carried over from a dead engine's ask has made its rule already.
    if answer.rule.is_none()
        && let Some(rule) = rule_of_always(ask, &answer, now)
    {
        insert_rule(write, &rule).await?;
        answer.rule = Some(rule.id);
    }
    let id = ask.id.to_string();
    on_tx!(&mut write.tx, |connection| {
        query(ADD_ANSWER)
            .bind(&id)
            .bind(to_json(&answer.choice))
            .bind(answer.by.id.to_string())
            .bind(answer.surface.name())
            .bind(answer.at.as_micros())
            .bind(answer.rule.map(|id| id.to_string()))
            .bind(i64::from(answer.choice.is_yes()))
            .bind(ask.workspace.to_string())
            .bind(tool_of(&ask.subject))
            .bind(ask.opened_at.as_micros())
            .execute(connection)
            .await?;
    });
    on_tx!(&mut write.tx, |connection| {
        query(ADD_DELIVERY)
            .bind(&id)
            .bind(now.as_micros())
            .execute(connection)
            .await?;
    });
    if !answer.choice.is_yes() && ask.door.denies_together() {
        for sibling in open_siblings_in(&mut write.tx, ask).await? {
            withdraw_in(
                write,
                &sibling,
                &Withdrawal::SiblingDenied { sibling: ask.id },
                now,
            )
            .await?;
        }
    }
    let state = AskState::Open
        .advance(Step::Answer(answer.clone()))
        .expect("an open ask takes an answer");
    write.event(
        ask.workspace,
        EventBody::AskChanged {
            ask: ask.id,
            session: ask.session,
            state: state.phase(),
        },
    );
    write.deed(
        ask.workspace,
        &name_in_audit(&answer.by),
        "ask.answer",
        ask.id,
        json!({ "choice": answer.choice, "surface": answer.surface, "rule": answer.rule,
                "digest": ask.digest }),
    );
    Ok(state)
}

/// The rule that an "always" makes: what the person was shown or a pattern of it, as far as the person said.
fn rule_of_always(ask: &Ask, answer: &Answer, now: Timestamp) -> Option<Rule> {
    let Choice::AllowAlways {
        scope,
        pattern,
        expires_at,
    } = &answer.choice
    else {
        return None;
    };
    let (tool, matcher) = rule::always(&ask.subject, pattern.as_deref()).ok()?;
    Some(Rule {
        id: RuleId::generate(now),
        workspace: ask.workspace,
        session: match scope {
            Scope::Session => Some(ask.session),
            Scope::Workspace => None,
        },
        tool,
        verdict: Verdict::Allow,
        matcher,
        made_by: answer.by.clone(),
        made_at: now,
        made_from: Some(ask.id),
        expires_at: *expires_at,
        revoked_at: None,
    })
}
