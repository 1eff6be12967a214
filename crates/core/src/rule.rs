//! Rules: standing answers, and which asks they answer.
//!
//! A rule looks at the tool's name, at the targets word for word, and at where the tool acts. It never looks at titles or
//! other text that an agent can choose freely. A shell command matches by its exact string alone.

mod matcher;

pub use matcher::Matcher;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::actor::Actor;
use crate::ask::{Folder, Location, ResolvedFile, Shown, Subject};
use crate::id::{AskId, RuleId, SessionId, WorkspaceId};
use crate::rule::matcher::files_to_keep;
use crate::time::Timestamp;

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Allow it once, each time.
    Allow,
    /// Deny it.
    Deny,
}

/// A rule that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnfitRule {
    /// Shell commands are not matched by patterns.
    #[error(
        "commands of `{tool}` are matched by their exact text only: a pattern cannot tell what a command line would run"
    )]
    GlobForShell {
        /// The tool.
        tool: String,
    },
    /// The glob cannot be read.
    #[error("`{pattern}` is not a pattern: {message}")]
    InvalidGlob {
        /// The text.
        pattern: String,
        /// What is wrong with it.
        message: String,
    },
    /// The glob is not about what was asked.
    #[error("`{pattern}` does not match what is asked here, so the rule would not allow it")]
    NotCovered {
        /// The glob.
        pattern: String,
    },
    /// A rule for nothing.
    #[error("a rule needs a target to match")]
    NoTarget,
    /// Where it acts is not known.
    #[error("{what} is not known, so no rule can allow it")]
    UnknownLocation {
        /// What of it.
        what: String,
    },
    /// Questions are for people.
    #[error("a question is answered by a person, not by a rule")]
    Question,
    /// Writes are for people.
    #[error("a workspace write is answered by a person, not by a rule")]
    WorkspaceWrite,
}

/// A standing answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Rule {
    /// Its id.
    pub id: RuleId,
    /// The workspace it is for.
    pub workspace: WorkspaceId,
    /// The one session it is for, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The tool it is about.
    pub tool: String,
    /// What it says.
    pub verdict: Verdict,
    /// The targets it is about.
    #[serde(flatten)]
    pub matcher: Matcher,
    /// Who made it.
    pub made_by: Actor,
    /// When.
    pub made_at: Timestamp,
    /// The ask it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<AskId>,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl Rule {
    /// Whether the rule is in force.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether the rule, if it is in force, answers an ask about `subject` in `session`.
    pub fn matches(&self, workspace: WorkspaceId, session: SessionId, subject: &Subject) -> bool {
        let Subject::Permission {
            tool,
            targets,
            location,
            ..
        } = subject
        else {
            return false;
        };
        let covers = || match self.verdict {
            Verdict::Allow => self.matcher.covers_all(targets, location),
            // What is not known may be anything, but for a command: that is a text, which another text does not deny.
            Verdict::Deny if targets.is_empty() => !matcher::SHELL_TOOLS.contains(&tool.as_str()),
            Verdict::Deny => self.matcher.covers_any(targets, location),
        };
        self.workspace == workspace
            && self.session.is_none_or(|only| only == session)
            && self.tool == *tool
            && self.matcher.check(tool).is_ok()
            && covers()
    }
}

/// The rule that answers, if one does: a denial goes before every leave, and the oldest of equals decides.
pub fn decide<'a>(
    rules: &'a [Rule],
    workspace: WorkspaceId,
    session: SessionId,
    subject: &Subject,
    now: Timestamp,
) -> Option<&'a Rule> {
    let matching = || {
        rules
            .iter()
            .filter(|rule| rule.is_active(now) && rule.matches(workspace, session, subject))
    };
    matching()
        .find(|rule| rule.verdict == Verdict::Deny)
        .or_else(|| matching().min_by_key(|rule| (rule.made_at, rule.id)))
}

/// The matcher that "always" makes of an ask: exactly what the person was shown, or everything like `pattern`, which
/// has to match that.
pub fn always(subject: &Subject, pattern: Option<&str>) -> Result<(String, Matcher), UnfitRule> {
    let (tool, targets, location, shown) = match subject {
        Subject::Permission {
            tool,
            targets,
            location,
            shown,
        } => (tool, targets, location, shown),
        Subject::Question { .. } => return Err(UnfitRule::Question),
        Subject::WorkspaceWrite { .. } => return Err(UnfitRule::WorkspaceWrite),
    };
    let folder = known_folder(location)?;
    let Some(pattern) = pattern else {
        let matcher = Matcher::Exact {
            targets: targets.clone(),
            folder,
            files: files_to_keep(targets, location),
        };
        matcher.check(tool)?;
        return Ok((tool.clone(), matcher));
    };
    // Whatever the tool is called: what is shown as a command is one.
    if shown
        .iter()
        .any(|part| matches!(part, Shown::Command { .. }))
    {
        return Err(UnfitRule::GlobForShell { tool: tool.clone() });
    }
    let matcher = Matcher::Glob {
        pattern: pattern.to_owned(),
    };
    matcher.check(tool)?;
    if !matcher.covers_all(targets, location) {
        return Err(UnfitRule::NotCovered {
            pattern: pattern.to_owned(),
        });
    }
    Ok((tool.clone(), matcher))
}

/// The folder that a rule for something at `location` names; fails if it is not known where that is.
fn known_folder(location: &Location) -> Result<Option<String>, UnfitRule> {
    let unknown = |what: String| Err(UnfitRule::UnknownLocation { what });
    if let Some(named) = location
        .files
        .iter()
        .find(|named| named.file == ResolvedFile::Unknown)
    {
        return unknown(format!("which file `{}` is", named.named));
    }
    match &location.folder {
        Folder::Session => Ok(None),
        Folder::Other { path } => Ok(Some(path.clone())),
        Folder::Unknown { .. } => unknown("the folder that it runs in".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::ActorKind;
    use crate::id::ActorId;
    use proptest::prelude::*;
    use std::time::Duration;

    const START: Timestamp = Timestamp::from_micros(1_000_000);

    fn permission(tool: &str, targets: &[&str]) -> Subject {
        Subject::Permission {
            tool: tool.to_owned(),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            location: Location::default(),
            shown: vec![],
        }
    }

    fn rule(tool: &str, matcher: Matcher) -> Rule {
        Rule {
            id: RuleId::generate(START),
            workspace: WorkspaceId::generate(START),
            session: None,
            tool: tool.to_owned(),
            verdict: Verdict::Allow,
            matcher,
            made_by: Actor {
                id: ActorId::generate(START),
                kind: ActorKind::Person,
                name: "ada".to_owned(),
            },
            made_at: START,
            made_from: None,
            expires_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn an_always_matches_the_very_same_command_and_no_other() {
        let (tool, matcher) = always(&permission("bash", &["git status"]), None).unwrap();
        let rule = rule(&tool, matcher);
        let session = SessionId::generate(START);
        for (command, expected) in [
            ("git status", true),
            ("git status ", false),
            ("git status; rm -rf ~", false),
            ("git  status", false),
            ("GIT status", false),
        ] {
            let subject = permission("bash", &[command]);
            assert_eq!(
                rule.matches(rule.workspace, session, &subject),
                expected,
                "{command}"
            );
        }
        assert!(!rule.matches(
            rule.workspace,
            session,
            &permission("edit", &["git status"])
        ));
    }

    #[test]
    fn a_glob_stays_in_its_folder() {
        let rule = rule(
            "edit",
            Matcher::Glob {
                pattern: "src/**".to_owned(),
            },
        );
        let session = SessionId::generate(START);
        let covers =
            |path: &str| rule.matches(rule.workspace, session, &permission("edit", &[path]));
        assert!(covers("src/a.rs"));
        assert!(covers("src/deep/a.rs"));
        assert!(!covers("src/../secret"));
        assert!(!covers("other/src/a.rs"));
        assert!(!rule.matches(
            rule.workspace,
            session,
            &permission("edit", &["src/a.rs", "b.rs"])
        ));
    }

    #[test]
    fn shell_commands_take_no_glob() {
        let glob = Matcher::Glob {
            pattern: "git *".to_owned(),
        };
        assert!(matches!(
            glob.check("bash"),
            Err(UnfitRule::GlobForShell { .. })
        ));
        // A row that got in by another way still matches nothing.
        let rule = rule("bash", glob);
        let session = SessionId::generate(START);
        assert!(!rule.matches(rule.workspace, session, &permission("bash", &["git log"])));
    }

    #[test]
    fn an_always_with_a_pattern_allows_everything_like_it_and_nothing_else() {
        let (tool, matcher) = always(&permission("edit", &["src/a.rs"]), Some("src/**")).unwrap();
        let rule = rule(&tool, matcher);
        let session = SessionId::generate(START);
        for (tool, path, expected) in [
            ("edit", "src/a.rs", true),
            ("edit", "src/deep/b.rs", true),
            ("edit", "build.rs", false),
            ("edit", "src/../build.rs", false),
            ("webfetch", "src/a.rs", false),
        ] {
            let subject = permission(tool, &[path]);
            let matches = rule.matches(rule.workspace, session, &subject);
            assert_eq!(matches, expected, "{tool} {path}");
        }
    }

    #[test]
    fn an_always_takes_no_pattern_that_does_not_match_what_was_shown() {
        let edit = permission("edit", &["src/a.rs", "build.rs"]);
        for pattern in ["src/**", "docs/**", ""] {
            assert_eq!(
                always(&edit, Some(pattern)),
                Err(UnfitRule::NotCovered {
                    pattern: pattern.to_owned()
                })
            );
        }
        assert!(matches!(
            always(&edit, Some("src/[")),
            Err(UnfitRule::InvalidGlob { .. })
        ));
        // Nothing that could be matched is known of it.
        assert!(always(&permission("edit", &[]), Some("**")).is_err());
    }

    #[test]
    fn an_always_takes_no_pattern_for_a_command_whatever_its_tool_is_called() {
        let mut asks = matcher::SHELL_TOOLS
            .map(|tool| permission(tool, &["git log"]))
            .to_vec();
        asks.push(Subject::Permission {
            tool: "run_anything".to_owned(),
            targets: vec!["git log".to_owned()],
            location: Location::default(),
            shown: vec![Shown::Command {
                text: "git log".to_owned(),
            }],
        });
        for ask in asks {
            assert!(
                matches!(
                    always(&ask, Some("git *")),
                    Err(UnfitRule::GlobForShell { .. })
                ),
                "{ask:?}"
            );
        }
    }

    #[test]
    fn a_denial_goes_before_a_leave_and_an_ended_rule_says_nothing() {
        let exact = || Matcher::exactly(vec!["ls".to_owned()]);
        let mut allow = rule("bash", exact());
        let mut deny = Rule {
            workspace: allow.workspace,
            ..rule("bash", exact())
        };
        deny.verdict = Verdict::Deny;
        let session = SessionId::generate(START);
        let subject = permission("bash", &["ls"]);
        let verdict = |rules: &[Rule], now| {
            decide(rules, rules[0].workspace, session, &subject, now).map(|rule| rule.verdict)
        };
        assert_eq!(
            verdict(&[allow.clone(), deny.clone()], START),
            Some(Verdict::Deny)
        );
        deny.revoked_at = Some(START);
        assert_eq!(
            verdict(&[allow.clone(), deny.clone()], START),
            Some(Verdict::Allow)
        );
        allow.expires_at = Some(START.after(Duration::from_secs(1)));
        assert_eq!(
            verdict(&[allow, deny], START.after(Duration::from_secs(1))),
            None
        );
    }

    proptest! {
        #[test]
        fn an_exact_rule_never_matches_a_text_the_approver_was_not_shown(shown in "\\PC{1,40}", other in "\\PC{1,40}") {
            prop_assume!(shown != other);
            let (tool, matcher) = always(&permission("bash", &[&shown]), None).unwrap();
            let rule = rule(&tool, matcher);
            let session = SessionId::generate(START);
            prop_assert!(!rule.matches(rule.workspace, session, &permission("bash", &[&other])));
        }
    }
}

#[cfg(test)]
mod location_tests;
