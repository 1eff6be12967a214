//! Clients of the event stream lose their connection a thousand times, and no event.

use std::time::Duration;

use countersign_store::Store;
use countersign_testkit::scripted_opencode::RemoteControl;
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{EventStream, Fault, FaultProxy, Seed, TestServer, eventually};
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How many clients lose their connection by themselves.
const CLIENTS: usize = 4;
const RECONNECTS_OF_A_CLIENT: usize = 225;
/// How often the network loses a connection.
const CUTS: usize = 100;
/// The most bytes that come over one connection.
const MOST_BYTES: usize = 4_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reconnects_miss_no_event_and_repeat_none() {
    let seed = Seed::take();
    let server = scripted().await;
    let begin = head(server.api()).await;
    let over = watch::Sender::new(false);
    let mut producing = JoinSet::new();
    producing.spawn(produce(
        server.api().clone(),
        control(&server),
        over.subscribe(),
    ));

    let mut clients = JoinSet::new();
    for number in 1..=CLIENTS {
        let dice = seed.dice(&format!("client-{number}"));
        clients.spawn(lose_and_resume(server.api().clone(), begin, dice));
    }
    clients.spawn(cut_and_resume(
        server.url(),
        server.api().clone(),
        begin,
        seed.dice("network"),
    ));
    let seen = clients.join_all().await;

    over.send_replace(true);
    producing.join_all().await;
    let last = seen.iter().map(Vec::len).min().unwrap_or_default();
    let reconnects = CLIENTS * RECONNECTS_OF_A_CLIENT + CUTS;
    eprintln!("{reconnects} reconnects, {last} events at least");
    assert!(last > 100, "hardly anything happened");
    for events in &seen {
        let numbers: Vec<i64> = events
            .iter()
            .filter_map(|event| event["seq"].as_i64())
            .collect();
        let expected: Vec<i64> = (begin + 1..).take(events.len()).collect();
        assert_eq!(numbers, expected, "every event, once, in order");
        assert_eq!(
            events[..last],
            seen[0][..last],
            "everybody is told the same"
        );
    }
}

#[tokio::test]
async fn a_cursor_that_is_ahead_is_reset_to_the_head() {
    let server = scripted().await;
    let head = head(server.api()).await;
    let mut stream = EventStream::open(server.api(), Some(head + 1_000))
        .await
        .unwrap();
    let hello = stream.next().await.unwrap();
    let reset = stream.next().await.unwrap();
    assert_eq!(
        (hello.event.as_str(), reset.event.as_str()),
        ("hello", "reset")
    );
    let at = reset.data["seq"].as_i64().unwrap();
    assert!(at >= head, "{reset:?}");

    server.api().start_session().await;

    let next = stream.next().await.unwrap();
    assert_eq!(next.id, Some(at + 1), "it goes on behind the head");
}

#[tokio::test]
async fn a_cursor_that_is_too_old_is_reset_to_the_head() {
    let mut server = scripted().await;
    server.api().start_session().await;
    server.kill();
    forget_everything(&server).await;
    server.restart().await;
    server.api().wait_for_engine().await;

    let mut stream = EventStream::open(server.api(), Some(1)).await.unwrap();
    let hello = stream.next().await.unwrap();
    let reset = stream.next().await.unwrap();
    assert_eq!(
        (hello.event.as_str(), reset.event.as_str()),
        ("hello", "reset")
    );

    // What is still there can be had.
    let at = reset.data["seq"].as_i64().unwrap();
    server.api().start_session().await;
    let next = stream.next().await.unwrap();
    assert_eq!(next.id, Some(at + 1));
}

#[tokio::test]
async fn events_go_on_by_number_through_a_crash() {
    let mut server = scripted().await;
    let before = head(server.api()).await;
    server.api().start_session().await;
    server.kill();
    server.restart().await;
    server.api().wait_for_engine().await;
    server.api().start_session().await;

    let mut stream = EventStream::open(server.api(), Some(before)).await.unwrap();
    let hello = stream.next().await.unwrap();
    let head = hello.data["seq"].as_i64().unwrap();
    for expected in before + 1..=head {
        assert_eq!(stream.next().await.unwrap().id, Some(expected));
    }
}

async fn scripted() -> TestServer {
    let server = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Scripted)
        .start()
        .await;
    server.api().wait_for_engine().await;
    server
}

fn control(server: &TestServer) -> RemoteControl {
    RemoteControl::find(server.workspace()).expect("the engine is running")
}

/// Returns the number of the newest event.
async fn head(api: &Api) -> i64 {
    let mut stream = EventStream::open(api, None).await.expect("it opens");
    let hello = stream.next().await.expect("a stream begins with a hello");
    hello.data["seq"]
        .as_i64()
        .expect("the newest event's number")
}

/// Makes things happen until it is over.
async fn produce(api: Api, control: RemoteControl, over: watch::Receiver<bool>) {
    let session = api.start_session().await;
    let session = api.session(&session).await;
    let native = session["native_id"].as_str().expect("it has one");
    for number in 1.. {
        let command = format!("touch {number}");
        let metadata = json!({"command": command});
        control
            .open_ask(Some(native), "bash", &[&command], metadata)
            .await;
        for ask in api.open_asks().await {
            let id = ask["id"].as_str().expect("an ask has an id");
            api.answer(id, &json!({"answer": "allow_once"})).await;
        }
        if *over.borrow() {
            return;
        }
    }
}

/// Follows the events, loses the connection after any number of bytes, and returns all that was seen.
async fn lose_and_resume(api: Api, begin: i64, mut dice: StdRng) -> Vec<Value> {
    let mut seen = Vec::new();
    for _ in 0..RECONNECTS_OF_A_CLIENT {
        let cursor = begin + i64::try_from(seen.len()).expect("few enough");
        let stream = EventStream::open(&api, Some(cursor))
            .await
            .expect("it opens");
        let bytes = dice.random_range(0..MOST_BYTES);
        follow(stream.lost_after(bytes), &mut seen).await;
    }
    seen
}

/// The same, but it is the network that loses the connection, perhaps in the middle of the answer's head.
async fn cut_and_resume(url: String, api: Api, begin: i64, mut dice: StdRng) -> Vec<Value> {
    let target = url
        .trim_start_matches("http://")
        .parse()
        .expect("an address");
    let proxy = FaultProxy::start(target);
    let api = api.through(proxy.url());
    let mut seen = Vec::new();
    for _ in 0..CUTS {
        let bytes = dice.random_range(1..MOST_BYTES);
        proxy.set(Fault::CutAfter(bytes as u64)).await;
        let cursor = begin + i64::try_from(seen.len()).expect("few enough");
        if let Ok(stream) = EventStream::open(&api, Some(cursor)).await {
            follow(stream, &mut seen).await;
        }
    }
    seen
}

/// Takes in what a stream says until it is lost. Whole frames count, whatever came after them does not.
async fn follow(mut stream: EventStream, seen: &mut Vec<Value>) {
    loop {
        let next = tokio::time::timeout(PATIENCE, stream.next()).await;
        let Some(frame) = next.expect("something happens all the time") else {
            return;
        };
        assert_ne!(frame.event, "reset", "{frame:?}");
        if frame.id.is_some() {
            seen.push(frame.data);
        }
    }
}

/// Forgets every event, as time would.
async fn forget_everything(server: &TestServer) {
    let path = server.data().join("ledger.db");
    // The one that was killed may hold the file for a moment longer.
    let store = eventually(Duration::from_secs(10), "the ledger opens", async || {
        Store::open_sqlite(&path).await.ok()
    })
    .await;
    let forgotten = store
        .forget_events(countersign_core::time::Timestamp::from_micros(i64::MAX / 4))
        .await
        .expect("they can be forgotten");
    assert!(forgotten > 1);
    store.close().await;
}
