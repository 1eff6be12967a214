use std::time::Duration;

use super::*;

fn trigger(name: &str) -> Trigger {
    Trigger {
        kind: "skill",
        name: Some(name.to_owned()),
        action: "updated",
        path: None,
    }
}

fn reloads(compat: Compat) -> (Reloads, Clock) {
    let clock = Clock::manual(Timestamp::from_micros(1_000_000));
    (Reloads::new(compat, clock.clone()), clock)
}

/// The names of all that is told of the workspace `a`, with the times.
fn told(reloads: &Reloads) -> Vec<(String, i64)> {
    let items = reloads.tell("a", 0.0, Vec::new()).items.into_iter();
    items
        .map(|event| (event.trigger.unwrap().name.unwrap(), event.timestamp))
        .collect()
}

fn at(name: &str, millis: i64) -> (String, i64) {
    (name.to_owned(), millis)
}

#[test]
fn the_first_change_is_told_at_once_and_the_last_of_the_others_when_the_time_is_over() {
    let (reloads, clock) = reloads(Compat::Scoped);
    let announce = |name| reloads.announce("a", Reason::Skills, trigger(name));
    announce("one");
    clock.advance(Duration::from_millis(100));
    announce("two");
    announce("three");
    assert_eq!(told(&reloads), [at("one", 1000)]);
    clock.advance(Duration::from_millis(649));
    assert_eq!(told(&reloads).len(), 1);
    clock.advance(Duration::from_millis(1));
    assert_eq!(told(&reloads), [at("one", 1000), at("three", 1750)]);
    // It holds back what comes next in turn, and is forgotten when nothing does.
    announce("four");
    assert_eq!(told(&reloads).len(), 2);
    clock.advance(Duration::from_secs(10));
    announce("five");
    let all = told(&reloads);
    assert_eq!(all[2..], [at("four", 2500), at("five", 11_750)]);
}

#[test]
fn other_reasons_and_other_workspaces_wait_for_nothing() {
    let (reloads, _) = reloads(Compat::Scoped);
    for (workspace, reason) in [
        ("a", Reason::Skills),
        ("a", Reason::Agents),
        ("b", Reason::Skills),
    ] {
        reloads.announce(workspace, reason, trigger("x"));
    }
    assert_eq!(reloads.tell("a", 0.0, Vec::new()).items.len(), 2);
    let other = reloads.tell("b", 0.0, Vec::new());
    assert_eq!((other.items.len(), other.cursor), (1, 3));
}

#[test]
fn january_tells_everything_at_once() {
    let (reloads, _) = reloads(Compat::January);
    for _ in 0..3 {
        reloads.announce("a", Reason::Skills, trigger("x"));
    }
    assert_eq!(told(&reloads).len(), 3);
}

#[test]
fn what_was_announced_is_not_told_again_when_it_is_found_and_what_comes_after_it_is() {
    let (reloads, clock) = reloads(Compat::Scoped);
    let tell = |found: &[Reason]| {
        let found = found.iter().map(|reason| (*reason, trigger("found")));
        reloads.tell("a", 0.0, found.collect()).items.len()
    };
    reloads.announce("a", Reason::Mcp, trigger("x"));
    reloads.announce("b", Reason::Skills, trigger("x"));
    assert_eq!(tell(&[Reason::Config]), 1);
    clock.advance(Duration::from_secs(1));
    // Somebody was told already; this is another one.
    assert_eq!(tell(&[Reason::Config]), 2);
    // Another workspace's announcement says nothing of this one.
    assert_eq!(tell(&[Reason::Skills]), 3);
}

#[test]
fn only_the_newest_are_kept() {
    let (reloads, _) = reloads(Compat::January);
    for _ in 0..=KEPT {
        reloads.announce("a", Reason::Config, trigger("x"));
    }
    let told = reloads.tell("a", 0.0, Vec::new());
    assert_eq!((told.items.len(), told.items[0].seq), (KEPT, 2));
    assert_eq!(reloads.tell("a", 200.0, Vec::new()).items.len(), 1);
}
