//! What streams through the proxy: it arrives as it is said, and nothing stays behind when its client goes away.

use std::path::Path;

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::sdk::Sdk;
use crate::stage::{CLIENT, Stage};

/// How many sockets a process holds.
fn sockets(process: u32) -> usize {
    let folder = format!("/proc/{process}/fd");
    let entries = std::fs::read_dir(Path::new(&folder)).unwrap().flatten();
    let targets = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn words_arrive_while_the_model_is_silent_in_the_middle_of_them() {
    let stage = Stage::set(&[]).await;
    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    let stream = sdk.follow().await;
    let session = sdk.session().await;
    // The turn never ends: what is heard of it was passed on while it was under way.
    sdk.prompt(&session, "STALL\nFINAL Peas and beans").await;
    let says = |event: &Value| event.to_string().contains("Peas and beans");
    sdk.event("the words arrive", says).await;
    let status = sdk.call("session.status", json!({})).await.good();
    assert_eq!(status[&session]["type"], "busy", "{status}");

    // A stream on which nothing is said lives by its heartbeats.
    for _ in 0..2 {
        let beats = |event: &Value| event["type"] == "server.heartbeat";
        sdk.event("a heartbeat", beats).await;
    }
    let abort = json!({ "sessionID": session });
    sdk.call("session.abort", abort).await.good();
    sdk.event_of("session.idle", &session).await;
    sdk.leave(stream).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_leaves_nothing_behind() {
    const STREAMS: usize = 20;
    let mut stage = Stage::set(&[]).await;
    let (server, engine) = (stage.server.id(), stage.engine());
    let mut first = Sdk::start(&stage, "/opencode", CLIENT);
    // What is opened once and kept is there already.
    let stream = first.follow().await;
    first.leave(stream).await;
    first.vanish();
    // A few are kept for the next request, and one waits for the model: far fewer than there were streams.
    let rest = async |process: u32, before: usize| {
        eventually(PATIENCE, "the connections are closed", async || {
            (sockets(process) <= before + STREAMS / 4).then_some(())
        })
        .await;
    };
    let (at_server, at_engine) = (sockets(server), sockets(engine));

    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    for _ in 0..STREAMS {
        sdk.follow().await;
    }
    let session = sdk.session().await;
    sdk.prompt(&session, "STALL\nFINAL Nobody hears this to its end")
        .await;
    // One that waits for the end of a turn hangs up as well.
    let other = sdk.session().await;
    let parts = json!([{ "type": "text", "text": "STALL\nFINAL Nor is this heard" }]);
    let prompt = json!({ "sessionID": other, "parts": parts });
    sdk.begin("session.prompt", &prompt);
    let is_heard = |request: &Value| request["messages"].to_string().contains("Nor is this");
    stage
        .model
        .wait_for_request(PATIENCE, "the turn has begun", is_heard)
        .await;
    // Each has a connection to the client and one to the engine.
    assert!(sockets(server) >= at_server + 2 * STREAMS);
    assert!(sockets(engine) >= at_engine + STREAMS);
    sdk.vanish();
    rest(server, at_server).await;
    rest(engine, at_engine).await;

    // The server is as it was for the next one.
    let mut next = Sdk::start(&stage, "/opencode", CLIENT);
    next.follow().await;
    let abort = json!({ "sessionID": session });
    next.call("session.abort", abort).await.good();
    next.event_of("session.idle", &session).await;
}
