//! The ledger as a client can read it, and what has to hold in it whatever happened.

use std::collections::BTreeMap;

use countersign_testkit::test_server::{Api, PATIENCE};
use countersign_testkit::{EventStream, eventually};
use serde_json::Value;

/// Waits until no ask is open and no answer is under way.
pub(crate) async fn wait_until_all_is_settled(api: &Api) {
    eventually(PATIENCE, "every ask is over", async || {
        for state in ["open", "answered"] {
            let list = api
                .get(&format!("/api/v1/asks?state={state}&limit=1"))
                .await;
            if !list["asks"].as_array()?.is_empty() {
                return None;
            }
        }
        Some(())
    })
    .await;
}

/// Returns every ask that was ever opened.
pub(crate) async fn all_asks(api: &Api) -> Vec<Value> {
    let mut asks = Vec::new();
    let mut page = api.get("/api/v1/asks?limit=500").await;
    loop {
        asks.extend(page["asks"].as_array().expect("a list of asks").clone());
        let Some(next) = page["next"].as_str() else {
            return asks;
        };
        page = api
            .get(&format!("/api/v1/asks?limit=500&before={next}"))
            .await;
    }
}

/// Returns every event that was ever announced.
pub(crate) async fn all_events(api: &Api) -> Vec<Value> {
    let mut stream = EventStream::open(api, Some(0)).await.expect("it opens");
    let hello = stream.next().await.expect("a stream begins with a hello");
    let head = hello.data["seq"]
        .as_i64()
        .expect("the newest event's number");
    let mut events = Vec::new();
    while i64::try_from(events.len()).expect("few enough") < head {
        let frame = stream.next().await.expect("the stream goes on");
        assert_eq!(frame.id, frame.data["seq"].as_i64(), "{frame:?}");
        events.push(frame.data);
    }
    events
}

/// Returns where the events have a gap, or tell a life of an ask that cannot be.
pub(crate) fn impossible_events(events: &[Value], asks: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let mut lives: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (expected, event) in (1_i64..).zip(events) {
        if event["seq"] != expected {
            found.push(format!("event {expected} is missing before {event}"));
        }
        let state = match event["type"].as_str() {
            Some("ask.opened") => "open",
            Some("ask.changed") => event["state"].as_str().unwrap_or("no state"),
            Some(_) | None => continue,
        };
        let ask = event["ask"].as_str().expect("it is about an ask");
        lives.entry(ask).or_default().push(state);
    }
    for ask in asks {
        let life = ask["id"].as_str().and_then(|id| lives.get(id));
        let ends_truly = life.and_then(|life| life.last().copied()) == ask["state"].as_str();
        let is_possible = matches!(
            life.map_or(&[][..], Vec::as_slice),
            ["open", "answered", "delivered" | "undeliverable"] | ["open", "withdrawn" | "expired"]
        );
        if !(ends_truly && is_possible) {
            found.push(format!("the events tell {life:?} of {ask}"));
        }
    }
    found
}
