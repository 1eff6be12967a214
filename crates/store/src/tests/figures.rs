//! Figures: each ask is counted once, where it belongs, and no more are looked at than was said.

use std::time::Duration;

use countersign_core::actor::Surface;
use countersign_core::answer::Choice;
use countersign_core::ask::{Ask, AskPhase};
use countersign_core::id::{RuleId, WorkspaceId};
use countersign_core::rule::{Matcher, Rule, Verdict};

use super::backend::{each_backend, plan_on_file};
use super::scene::{START, Scene, at, deny, says};
use crate::figures::{ANSWERED, SECONDS, UNANSWERED};
use crate::{NewAsk, Slice, SliceFigures, Store};

const DAY_S: u64 = 24 * 60 * 60;

fn day(number: u64) -> Slice {
    Slice {
        from: at(number * DAY_S),
        to: at((number + 1) * DAY_S),
        workspace: None,
        most: 1_000,
        target: 60_000_000,
        late: at(number * DAY_S + 100),
    }
}

/// How many asks of `tool` this person answered like this.
fn answered(figures: &SliceFigures, tool: Option<&str>, by: &str, yes: bool) -> i64 {
    let all = figures.answered.iter();
    all.filter(|it| it.tool.as_deref() == tool && it.by.name == by && it.yes == yes)
        .map(|it| it.asks)
        .sum()
}

/// How many asks stand like this.
fn unanswered(figures: &SliceFigures, phase: AskPhase) -> i64 {
    let all = figures.unanswered.iter();
    all.filter(|it| it.phase == phase).map(|it| it.asks).sum()
}

fn total(figures: &SliceFigures) -> i64 {
    let answered = figures.answered.iter().map(|it| it.asks);
    answered
        .chain(figures.unanswered.iter().map(|it| it.asks))
        .sum()
}

/// Allows what a matcher is about, without an end.
fn rule(scene: &Scene, matcher: Matcher) -> Rule {
    Rule {
        id: RuleId::generate(START),
        workspace: scene.workspace,
        session: None,
        tool: "bash".to_owned(),
        verdict: Verdict::Allow,
        matcher,
        made_by: scene.ada.clone(),
        made_at: START,
        made_from: None,
        expires_at: None,
        revoked_at: None,
    }
}

/// Opens an ask `second` seconds after the beginning.
async fn open_at(store: &Store, ask: NewAsk, second: u64) -> Ask {
    store.open_ask(ask, at(second)).await.unwrap().into_ask()
}

#[tokio::test]
async fn every_ask_of_a_day_is_counted_once_where_it_belongs() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let rule = rule(&scene, Matcher::exactly(vec!["known".to_owned()]));
        store.add_rule(&rule).await.unwrap();

        let quick = open_at(&store, scene.command("per_1", "quick"), 10).await;
        let slow = open_at(&store, scene.command("per_2", "slow"), 20).await;
        open_at(&store, scene.command("per_3", "known"), 30).await;
        open_at(&store, scene.command("per_4", "gone"), 40).await;
        let question = open_at(&store, scene.question("que_1"), 50).await;
        let tomorrow = open_at(&store, scene.command("per_6", "tomorrow"), DAY_S + 5).await;
        let said = |actor, choice, second| {
            let mut answer = says(actor, choice);
            answer.at = at(second);
            answer
        };
        for (ask, answer, second) in [
            (&quick, said(&scene.ada, Choice::AllowOnce, 13), 13),
            (&question, said(&scene.ada, deny(), 60), 60),
            (
                &tomorrow,
                said(&scene.bob, Choice::AllowOnce, DAY_S + 6),
                DAY_S + 6,
            ),
            (&slow, said(&scene.bob, deny(), 90), 90),
        ] {
            store.answer(ask.id, answer, at(second)).await.unwrap();
        }
        open_at(&store, scene.command("per_5", "waits"), 200).await;

        let first = store.figures(day(0)).await.unwrap();
        assert_eq!(total(&first), 6, "{first:?}");
        assert_eq!(answered(&first, Some("bash"), "ada", true), 1);
        assert_eq!(answered(&first, Some("bash"), "bob", false), 1);
        assert_eq!(answered(&first, None, "ada", false), 1);
        let by_rule = first.answered.iter();
        let by_rule = by_rule.filter(|it| it.surface == Surface::Rule && it.yes);
        assert_eq!(by_rule.map(|it| it.asks).sum::<i64>(), 1);
        assert_eq!(
            unanswered(&first, AskPhase::Withdrawn),
            1,
            "it fell with a denial"
        );
        assert_eq!(unanswered(&first, AskPhase::Open), 1);
        // Seventy seconds are too many.
        let in_time: i64 = first.answered.iter().map(|it| it.in_time).sum();
        let late: i64 = first.unanswered.iter().map(|it| it.late).sum();
        assert_eq!((in_time, late), (3, 1));
        let mut seconds = first.seconds.clone();
        seconds.sort_unstable();
        assert_eq!(seconds, [(3, 1), (10, 1), (70, 1)], "a rule takes no time");

        let second = store.figures(day(1)).await.unwrap();
        assert_eq!(total(&second), 1);
        assert_eq!(second.seconds, [(1, 1)]);
        let none = store.figures(day(2)).await.unwrap();
        assert_eq!(none, SliceFigures::default());
    })
    .await;
}

#[tokio::test]
async fn only_the_newest_asks_are_counted_and_only_of_the_workspace_that_is_wanted() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let other = Scene::at_path(&store, "/home/bob").await;
        for second in 1..=5 {
            open_at(
                &store,
                scene.command(&format!("per_{second}"), "ls"),
                second,
            )
            .await;
        }
        open_at(&store, other.command("per_9", "ls"), 9).await;
        let all = day(0);
        assert_eq!(total(&store.figures(all).await.unwrap()), 6);
        let of = |workspace: WorkspaceId| Slice {
            workspace: Some(workspace),
            ..all
        };
        assert_eq!(total(&store.figures(of(scene.workspace)).await.unwrap()), 5);
        assert_eq!(total(&store.figures(of(other.workspace)).await.unwrap()), 1);
        let few = Slice {
            most: 2,
            late: at(5),
            ..of(scene.workspace)
        };
        let found = store.figures(few).await.unwrap();
        assert_eq!(total(&found), 2);
        let late: i64 = found.unanswered.iter().map(|it| it.late).sum();
        assert_eq!(late, 2, "those of the fourth and fifth second");
    })
    .await;
}

#[tokio::test]
async fn a_day_is_counted_from_indexes_alone() {
    for (sql, index) in [
        (ANSWERED, "answers_by_opening"),
        (UNANSWERED, "asks_unanswered"),
        (SECONDS, "answers_by_opening"),
    ] {
        let plan = plan_on_file(sql, |explain| {
            let explain = explain.bind(0_i64).bind(1_i64).bind(None::<String>);
            explain.bind(1_i64).bind(1_i64)
        });
        let plan = plan.await;
        let wanted = format!("COVERING INDEX {index} (opened_at>");
        assert!(plan.iter().any(|step| step.contains(&wanted)), "{plan:?}");
        let rows = ["answers", "asks"].map(|table| format!("SCAN {table}"));
        assert!(!plan.iter().any(|step| rows.contains(step)), "{plan:?}");
    }
}

#[tokio::test]
async fn a_token_is_seen_later_and_never_earlier() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let token = super::tokens::new_token(b"secret", "laptop");
        let token = store.add_token(token, &scene.ada, at(1)).await.unwrap();
        let entries = store.audit(WorkspaceId::SERVER, 0, 100).await.unwrap();
        for (noted, seen) in [(10, 10), (70, 70), (30, 70)] {
            store.note_seen(&[(token.id, at(noted))]).await.unwrap();
            let tokens = store.tokens().await.unwrap();
            assert_eq!(tokens[0].seen_at, Some(at(seen)));
        }
        let after = store.audit(WorkspaceId::SERVER, 0, 100).await.unwrap();
        assert_eq!(after, entries, "it is no deed");
    })
    .await;
}

#[tokio::test]
async fn how_a_chain_was_found_is_kept_until_it_is_followed_again() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let chain = async || {
            let chains = store.chains().await.unwrap();
            let mut of = chains.into_iter();
            of.find(|it| it.workspace == scene.workspace).unwrap()
        };
        let before = chain().await;
        assert!(before.entries > 0 && before.verified.is_none());
        let verdicts = store.verify_audit().await.unwrap();
        store.note_verified(&verdicts, at(7)).await.unwrap();
        let found = chain().await.verified.unwrap();
        assert_eq!(
            (found.at, found.entries, found.broken),
            (at(7), before.entries, None)
        );

        let broken = crate::ChainVerdict {
            workspace: scene.workspace,
            outcome: Err(countersign_core::audit::BrokenChain::Changed(2)),
        };
        store.note_verified(&[broken], at(8)).await.unwrap();
        let found = chain().await.verified.unwrap();
        assert_eq!((found.at, found.entries), (at(8), 0));
        assert!(found.broken.unwrap().contains("entry 2 was changed"));
    })
    .await;
}

#[tokio::test]
async fn the_end_of_a_rule_is_brought_forward_and_never_put_off() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let rule = rule(
            &scene,
            Matcher::Glob {
                pattern: "*.lock".to_owned(),
            },
        );
        store.add_rule(&rule).await.unwrap();
        let hour = START.after(Duration::from_hours(1));
        for (end, changes) in [
            (hour, true),
            (hour.after(Duration::from_secs(1)), false),
            (hour, false),
            (hour.before(Duration::from_secs(1)), true),
        ] {
            let changed = store.expire_rule(&rule, end, &scene.bob, at(5)).await;
            assert_eq!(changed.unwrap(), changes);
        }
        let kept = store.rule(rule.id).await.unwrap().unwrap();
        assert_eq!(kept.expires_at, Some(hour.before(Duration::from_secs(1))));
        let entries = store.audit(scene.workspace, 0, 100).await.unwrap();
        let ended = entries.iter().filter(|it| it.action == "rule.expire");
        assert_eq!(ended.count(), 2);
        assert!(store.revoke_rule(&rule, &scene.bob, at(6)).await.unwrap());
        let late = store.expire_rule(&rule, at(7), &scene.bob, at(6)).await;
        assert!(!late.unwrap(), "it was taken back");
    })
    .await;
}
