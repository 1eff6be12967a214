//! Asks on the wire.

use std::time::Duration;

use countersign_core::answer::{Answer, Choice, Scope, UnfitAnswer};
use countersign_core::ask::{Ask, AskPhase, AskState, Door, OfferedOption, Subject};
use countersign_core::delivery::{Delivery, DeliveryState};
use countersign_core::digest::Digest;
use countersign_core::id::{AskId, RunId, SessionId, WorkspaceId};
use countersign_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::depth::shallow;

/// The longest life of a rule that an answer can ask for: ten years.
const LONGEST_EXPIRY: Duration = Duration::from_hours(10 * 366 * 24);

/// The longest pattern of a rule, in bytes.
const LONGEST_PATTERN: usize = 4_096;

/// An ask as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AskView {
    /// Its id.
    pub id: AskId,
    /// The workspace it is about.
    pub workspace: WorkspaceId,
    /// Where it came in.
    pub door: Door,
    /// The life of the engine that asked.
    pub run: RunId,
    /// The session that asked.
    pub session: SessionId,
    /// The session that started the one that asked, for a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// Who asks: the agent's name within its engine.
    pub requester: String,
    /// The directory that it works in.
    pub directory: String,
    /// What is asked.
    pub subject: Subject,
    /// One line that says what is asked.
    pub summary: String,
    /// What the engine sent, as it came; what is nested deeper than 48 levels is there as its text.
    #[schema(value_type = Object)]
    pub raw: Value,
    /// The options that the engine offers.
    pub options: Vec<OfferedOption>,
    /// When it was asked.
    pub opened_at: Timestamp,
    /// When it runs out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Digest of what the engine sent.
    pub digest: Digest,
    /// The same for every ask about the same tool, arguments and directory.
    pub likeness: Digest,
    /// The ask that this one repeats: of an engine that died, or of a client that nobody could serve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<AskId>,
    /// How it stands.
    pub state: AskPhase,
    /// Why it ended without being delivered, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// When it ended without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The answer that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// How the answer's delivery stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Other open asks of the same session; the engine drops them when this one is denied.
    pub siblings: Vec<AskId>,
    /// Whether whoever reads this may answer it.
    pub may_answer: bool,
}

impl AskView {
    /// The view of `ask`, with what is not in the ask itself.
    pub fn new(ask: Ask, siblings: Vec<AskId>, may_answer: bool) -> Self {
        let state = ask.state.phase();
        let (why, ended_at) = match &ask.state {
            AskState::Undeliverable(
                _,
                Delivery {
                    state: DeliveryState::Undeliverable { why, .. },
                    ..
                },
            ) => (Some(why.sentence()), None),
            AskState::Expired { at } => (Some("nobody answered in time".to_owned()), Some(*at)),
            AskState::Withdrawn { at, why } => (Some(why.sentence()), Some(*at)),
            AskState::Open
            | AskState::Answered(..)
            | AskState::Delivered(..)
            | AskState::Undeliverable(..) => (None, None),
        };
        Self {
            id: ask.id,
            workspace: ask.workspace,
            door: ask.door,
            run: ask.run,
            session: ask.session,
            parent_session: ask.parent_session,
            requester: ask.requester,
            directory: ask.directory,
            summary: ask.subject.summary(),
            subject: ask.subject,
            raw: shallow(ask.raw),
            options: ask.options,
            opened_at: ask.opened_at,
            expires_at: ask.expires_at,
            digest: ask.digest,
            likeness: ask.likeness,
            previous: ask.previous,
            state,
            why,
            ended_at,
            answer: ask.state.answer().cloned(),
            delivery: ask.state.delivery().cloned(),
            siblings,
            may_answer: may_answer && state == AskPhase::Open,
        }
    }
}

/// A page of asks, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AskList {
    /// The asks.
    pub asks: Vec<AskView>,
    /// Pass it as `before` for the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<AskId>,
}

/// The ways to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// Yes, this one time.
    AllowOnce,
    /// Yes, and make a rule of it; see `scope`, `pattern` and `expires_in_s`.
    AllowAlways,
    /// No; see `reason`.
    Deny,
    /// The answers to a question; see `choices`.
    Choices,
    /// One of the options that the engine offers; see `option`.
    Option,
}

/// An answer on its way in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// How it is answered.
    pub answer: AnswerKind,
    /// With `option`: the id of an offered option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// With `deny`: why; the agent gets to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With `allow_always`: how far the rule reaches; the session if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// With `allow_always`: a glob that the rule allows, in place of exactly what was asked. It has to match what was
    /// asked; commands for a shell take none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 4096)]
    pub pattern: Option<String>,
    /// With `allow_always`: how long the rule lives, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 316_224_000)]
    pub expires_in_s: Option<u64>,
    /// With `choices`: for each part of the question, the labels chosen or the text written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Vec<String>>>,
}

/// Why a request is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidAnswerRequest {
    /// A field does not go with the kind of answer, or is missing from it.
    Field {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The option was not offered.
    Unfit(UnfitAnswer),
}

impl AnswerRequest {
    /// A plain answer of `kind`.
    pub fn of(kind: AnswerKind) -> Self {
        Self {
            answer: kind,
            option: None,
            reason: None,
            scope: None,
            pattern: None,
            expires_in_s: None,
            choices: None,
        }
    }

    /// The choice that the request makes, of an ask that came in by `door` and offers `options`.
    ///
    /// A field that does not belong to the kind of answer is refused rather than ignored: it shows that
    /// the caller meant something else.
    pub fn choice(
        self,
        door: Door,
        options: &[OfferedOption],
        now: Timestamp,
    ) -> Result<Choice, InvalidAnswerRequest> {
        let unexpected = |field| InvalidAnswerRequest::Field {
            field,
            problem: "does not go with this answer",
        };
        let missing = |field| InvalidAnswerRequest::Field {
            field,
            problem: "is missing",
        };
        let kind = self.answer;
        if self.option.is_some() && kind != AnswerKind::Option {
            return Err(unexpected("option"));
        }
        if self.choices.is_some() && kind != AnswerKind::Choices {
            return Err(unexpected("choices"));
        }
        if self.reason.is_some() && !matches!(kind, AnswerKind::Deny | AnswerKind::Option) {
            return Err(unexpected("reason"));
        }
        if kind != AnswerKind::AllowAlways {
            if self.scope.is_some() {
                return Err(unexpected("scope"));
            }
            if self.pattern.is_some() {
                return Err(unexpected("pattern"));
            }
            if self.expires_in_s.is_some() {
                return Err(unexpected("expires_in_s"));
            }
        }
        match kind {
            AnswerKind::AllowOnce => Ok(Choice::AllowOnce),
            AnswerKind::AllowAlways => Ok(Choice::AllowAlways {
                scope: self.scope.unwrap_or(Scope::Session),
                pattern: self.pattern.map(checked_pattern).transpose()?,
                expires_at: self
                    .expires_in_s
                    .map(|seconds| rule_end(seconds, now))
                    .transpose()?,
            }),
            AnswerKind::Deny => Ok(Choice::Deny {
                reason: self.reason.filter(|reason| !reason.trim().is_empty()),
            }),
            AnswerKind::Choices => Ok(Choice::Choices {
                choices: self.choices.ok_or_else(|| missing("choices"))?,
            }),
            AnswerKind::Option => {
                let option = self.option.ok_or_else(|| missing("option"))?;
                match door {
                    Door::Opencode | Door::OpencodePlugin | Door::Workspace => {
                        Choice::from_option(&option, options, self.reason)
                    }
                    // The agent is told this very option: what it means is the agent's own.
                    Door::Acp | Door::AcpProxy => Choice::picked(&option, options, self.reason),
                }
                .map_err(InvalidAnswerRequest::Unfit)
            }
        }
    }
}

fn checked_pattern(pattern: String) -> Result<String, InvalidAnswerRequest> {
    if pattern.is_empty() || pattern.len() > LONGEST_PATTERN || pattern.contains('\0') {
        return Err(InvalidAnswerRequest::Field {
            field: "pattern",
            problem: "must have at least one character, at most 4096 bytes, and no NUL",
        });
    }
    Ok(pattern)
}

fn rule_end(seconds: u64, now: Timestamp) -> Result<Timestamp, InvalidAnswerRequest> {
    let life = Duration::from_secs(seconds);
    if life.is_zero() || life > LONGEST_EXPIRY {
        return Err(InvalidAnswerRequest::Field {
            field: "expires_in_s",
            problem: "must be at least one second and at most ten years",
        });
    }
    Ok(now.after(life))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(0);

    fn request(json: &str) -> AnswerRequest {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_field_of_another_kind_of_answer_is_refused() {
        for (json, field) in [
            (r#"{"answer":"allow_once","reason":"no"}"#, "reason"),
            (r#"{"answer":"deny","scope":"session"}"#, "scope"),
            (
                r#"{"answer":"allow_once","expires_in_s":3}"#,
                "expires_in_s",
            ),
            (r#"{"answer":"allow_once","pattern":"src/**"}"#, "pattern"),
            (r#"{"answer":"allow_always","pattern":""}"#, "pattern"),
            (r#"{"answer":"allow_always","pattern":"\u0000"}"#, "pattern"),
            (r#"{"answer":"deny","choices":[["a"]]}"#, "choices"),
            (r#"{"answer":"deny","option":"once"}"#, "option"),
            (r#"{"answer":"option"}"#, "option"),
            (r#"{"answer":"choices"}"#, "choices"),
            (
                r#"{"answer":"allow_always","expires_in_s":0}"#,
                "expires_in_s",
            ),
            (
                r#"{"answer":"allow_always","expires_in_s":18446744073709551615}"#,
                "expires_in_s",
            ),
        ] {
            match request(json).choice(Door::Opencode, &[], NOW) {
                Err(InvalidAnswerRequest::Field { field: named, .. }) => {
                    assert_eq!(named, field, "{json}");
                }
                other => panic!("{json} gave {other:?}"),
            }
        }
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        assert!(
            serde_json::from_str::<AnswerRequest>(r#"{"answer":"deny","raeson":"typo"}"#).is_err()
        );
    }

    #[test]
    fn always_is_for_the_session_and_the_very_same_unless_it_is_said_otherwise() {
        for (json, pattern) in [
            (r#"{"answer":"allow_always"}"#, None),
            (
                r#"{"answer":"allow_always","pattern":"src/**"}"#,
                Some("src/**"),
            ),
        ] {
            assert_eq!(
                request(json).choice(Door::Opencode, &[], NOW),
                Ok(Choice::AllowAlways {
                    scope: Scope::Session,
                    pattern: pattern.map(str::to_owned),
                    expires_at: None
                })
            );
        }
    }
}
