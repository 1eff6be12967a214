//! Rules.

use countersign_core::actor::{Actor, ActorKind};
use countersign_core::event::EventBody;
use countersign_core::id::{RuleId, WorkspaceId};
use countersign_core::rule::{Rule, Verdict};
use countersign_core::time::Timestamp;
use serde_json::json;

use crate::Store;
use crate::database::{Tx, on_db, on_tx, row};
use crate::error::StoreError;
use crate::sql::query;
use crate::write::{Write, name_in_audit, to_json};

row! {
    struct RuleRow {
        id: String,
        workspace: String,
        session: Option<String>,
        tool: String,
        verdict: String,
        matcher: String,
        actor: String,
        actor_kind: String,
        actor_name: String,
        made_at: i64,
        made_from: Option<String>,
        expires_at: Option<i64>,
        revoked_at: Option<i64>,
    }
}

impl TryFrom<RuleRow> for Rule {
    type Error = StoreError;

    fn try_from(row: RuleRow) -> Result<Self, Self::Error> {
        let corrupt = |column| StoreError::corrupt("rules", &row.id, column);
        Ok(Self {
            id: row.id.parse().map_err(|_| corrupt("id"))?,
            workspace: row.workspace.parse().map_err(|_| corrupt("workspace"))?,
            session: row
                .session
                .map(|id| id.parse())
                .transpose()
                .map_err(|_| corrupt("session"))?,
            verdict: match row.verdict.as_str() {
                "allow" => Verdict::Allow,
                "deny" => Verdict::Deny,
                _ => return Err(corrupt("verdict")),
            },
            matcher: serde_json::from_str(&row.matcher).map_err(|_| corrupt("matcher"))?,
            made_by: Actor {
                id: row.actor.parse().map_err(|_| corrupt("made_by"))?,
                kind: ActorKind::from_name(&row.actor_kind).ok_or_else(|| corrupt("made_by"))?,
                name: row.actor_name,
            },
            made_from: row
                .made_from
                .map(|id| id.parse())
                .transpose()
                .map_err(|_| corrupt("made_from"))?,
            tool: row.tool,
            made_at: Timestamp::from_micros(row.made_at),
            expires_at: row.expires_at.map(Timestamp::from_micros),
            revoked_at: row.revoked_at.map(Timestamp::from_micros),
        })
    }
}

macro_rules! select_rules {
    ($rest:literal) => {
        concat!(
            "SELECT rules.id, rules.workspace, rules.session, rules.tool, rules.verdict, ",
            "rules.matcher, rules.made_by AS actor, actors.kind AS actor_kind, ",
            "actors.name AS actor_name, rules.made_at, rules.made_from, rules.expires_at, ",
            "rules.revoked_at FROM rules JOIN actors ON actors.id = rules.made_by ",
            $rest
        )
    };
}

/// The rules that could answer an ask about `tool`.
pub(crate) async fn rules_for(
    tx: &mut Tx,
    workspace: WorkspaceId,
    tool: &str,
) -> Result<Vec<Rule>, StoreError> {
    const LIST: &str = select_rules!(
        "WHERE rules.workspace = $1 AND rules.tool = $2 AND rules.revoked_at IS NULL ORDER BY rules.id"
    );
    let rows: Vec<RuleRow> = on_tx!(tx, |connection| {
        query(LIST)
            .bind(workspace.to_string())
            .bind(tool)
            .fetch_all(connection)
            .await?
    });
    rows.into_iter().map(Rule::try_from).collect()
}

/// Writes a rule down within a larger write.
pub(crate) async fn insert_rule(write: &mut Write, rule: &Rule) -> Result<(), StoreError> {
    const ADD: &str = "INSERT INTO rules \
         (id, workspace, session, tool, verdict, matcher, made_by, made_at, made_from, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let verdict = match rule.verdict {
        Verdict::Allow => "allow",
        Verdict::Deny => "deny",
    };
    on_tx!(&mut write.tx, |connection| {
        query(ADD)
            .bind(rule.id.to_string())
            .bind(rule.workspace.to_string())
            .bind(rule.session.map(|id| id.to_string()))
            .bind(&rule.tool)
            .bind(verdict)
            .bind(to_json(&rule.matcher))
            .bind(rule.made_by.id.to_string())
            .bind(rule.made_at.as_micros())
            .bind(rule.made_from.map(|id| id.to_string()))
            .bind(rule.expires_at.map(Timestamp::as_micros))
            .execute(connection)
            .await?;
    });
    write.event(rule.workspace, EventBody::RuleChanged { rule: rule.id });
    write.deed(
        rule.workspace,
        &name_in_audit(&rule.made_by),
        "rule.make",
        rule.id,
        json!({ "tool": rule.tool, "verdict": rule.verdict, "matcher": rule.matcher,
                "session": rule.session, "expires_at": rule.expires_at, "from": rule.made_from }),
    );
    Ok(())
}

impl Store {
    /// Makes a rule.
    pub async fn add_rule(&self, rule: &Rule) -> Result<(), StoreError> {
        let mut write = self.write(rule.made_at).await?;
        insert_rule(&mut write, rule).await?;
        self.commit(write).await
    }

    /// Every rule of one workspace or of all, newest first.
    pub async fn rules(&self, workspace: Option<WorkspaceId>) -> Result<Vec<Rule>, StoreError> {
        const LIST: &str = select_rules!(
            "WHERE CAST($1 AS TEXT) IS NULL OR rules.workspace = $1 ORDER BY rules.id DESC"
        );
        let rows: Vec<RuleRow> = on_db!(&self.db, |connection| {
            query(LIST)
                .bind(workspace.map(|id| id.to_string()))
                .fetch_all(connection)
                .await?
        });
        rows.into_iter().map(Rule::try_from).collect()
    }

    /// The rule called `id`.
    pub async fn rule(&self, id: RuleId) -> Result<Option<Rule>, StoreError> {
        const GET: &str = select_rules!("WHERE rules.id = $1");
        let row: Option<RuleRow> = on_db!(&self.db, |connection| {
            query(GET)
                .bind(id.to_string())
                .fetch_optional(connection)
                .await?
        });
        row.map(Rule::try_from).transpose()
    }

    /// Has a rule end at `end`, on behalf of `by`; false if it ends before that anyway.
    pub async fn expire_rule(
        &self,
        rule: &Rule,
        end: Timestamp,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const EXPIRE: &str = "UPDATE rules SET expires_at = $2 \
             WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)";
        let mut write = self.write(now).await?;
        let changed = on_tx!(&mut write.tx, |connection| {
            query(EXPIRE)
                .bind(rule.id.to_string())
                .bind(end.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        if changed == 0 {
            return Ok(false);
        }
        write.event(rule.workspace, EventBody::RuleChanged { rule: rule.id });
        write.deed(
            rule.workspace,
            &name_in_audit(by),
            "rule.expire",
            rule.id,
            json!({ "expires_at": end, "before": rule.expires_at }),
        );
        self.commit(write).await?;
        Ok(true)
    }

    /// Takes a rule back, on behalf of `by`; false if it was already.
    pub async fn revoke_rule(
        &self,
        rule: &Rule,
        by: &Actor,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        const REVOKE: &str =
            "UPDATE rules SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
        let mut write = self.write(now).await?;
        let revoked = on_tx!(&mut write.tx, |connection| {
            query(REVOKE)
                .bind(rule.id.to_string())
                .bind(now.as_micros())
                .execute(connection)
                .await?
                .rows_affected()
        });
        if revoked == 0 {
            return Ok(false);
        }
        write.event(rule.workspace, EventBody::RuleChanged { rule: rule.id });
        write.deed(
            rule.workspace,
            &name_in_audit(by),
            "rule.revoke",
            rule.id,
            json!({}),
        );
        self.commit(write).await?;
        Ok(true)
    }
}
