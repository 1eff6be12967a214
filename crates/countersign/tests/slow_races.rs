//! Many answer the same ask at the same moment: one wins, and everybody else is told who.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_testkit::scripted_opencode::{Outcome, RemoteControl};
use countersign_testkit::test_server::{Api, Engine, Reply, Setup};
use countersign_testkit::{TestServer, eventually};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const ASKS: usize = 1_000;
const RACERS: usize = 8;
/// How many asks are open at once.
const BATCH: usize = 50;
/// Every how manieth ask is answered at the terminal as well.
const AT_THE_TERMINAL: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_eight_racers_for_a_thousand_asks_one_wins_each() {
    let server = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Scripted)
        .start()
        .await;
    server.api().wait_for_engine().await;
    let control = RemoteControl::find(server.workspace()).expect("the engine is running");
    let session = server.api().start_session().await;
    let session = server.api().session(&session).await;
    let native = session["native_id"].as_str().expect("it has one");
    let racers = racers(&server).await;

    let mut winners = BTreeMap::new();
    for batch in 0..ASKS / BATCH {
        for number in batch * BATCH..(batch + 1) * BATCH {
            open(&control, native, number).await;
        }
        for (number, ask) in (1..).zip(all_open(server.api()).await) {
            let reply = if number % AT_THE_TERMINAL == 0 {
                race_with_the_terminal(&server, &racers, &ask).await
            } else {
                race(&racers, &ask).await
            };
            winners.insert(ask["raw"]["id"].as_str().unwrap().to_owned(), reply);
        }
    }

    assert_eq!(winners.len(), ASKS);
    all_are_delivered(server.api()).await;
    let mut taken: BTreeMap<String, Value> = BTreeMap::new();
    for reply in control.replies().await {
        assert_eq!(reply.outcome, Outcome::Taken, "{reply:?}");
        let second = taken.insert(reply.id.clone(), reply.body.clone());
        assert_eq!(second, None, "{} was answered twice", reply.id);
    }
    for (id, winner) in &winners {
        let got = &taken[id];
        match winner["answer"].as_str() {
            Some("choices") => assert_eq!(got["answers"], winner["choices"]),
            _ => assert_eq!(got["reply"], "once"),
        }
    }
    let by_name = winners.values().fold(BTreeMap::new(), |mut count, winner| {
        let name = winner["by"]["name"].as_str().unwrap_or_default();
        *count.entry(name).or_insert(0) += 1;
        count
    });
    eprintln!("{ASKS} asks, {RACERS} racers, won by {by_name:?}");
    assert!(server.api().alarms().await.is_empty());
    server.cli(&["audit", "verify"]).await.expect_success();
}

async fn racers(server: &TestServer) -> Vec<Api> {
    let mut racers = Vec::new();
    for number in 1..=RACERS {
        let token = server
            .api()
            .new_token(&format!("racer-{number}"), "approver")
            .await;
        racers.push(Api::new(server.url(), Some(token)));
    }
    racers
}

/// Half of the asks are permissions, half are questions, which everybody answers differently.
async fn open(control: &RemoteControl, session: &str, number: usize) {
    if number.is_multiple_of(2) {
        let command = format!("touch {number}");
        let metadata = json!({"command": command});
        control
            .open_ask(Some(session), "bash", &[&command], metadata)
            .await;
    } else {
        let question = format!("Who is first, time {number}?");
        control
            .open_question(Some(session), &question, &["me"])
            .await;
    }
}

/// Waits until a whole batch is open, and returns it.
async fn all_open(api: &Api) -> Vec<Value> {
    eventually(Duration::from_secs(30), "a batch is open", async || {
        let list = api.get("/api/v1/asks?state=open&limit=100").await;
        let asks = list["asks"].as_array()?;
        (asks.len() == BATCH).then(|| asks.clone())
    })
    .await
}

fn answer(ask: &Value, number: usize) -> Value {
    match ask["subject"]["kind"].as_str() {
        Some("question") => json!({"answer": "choices", "choices": [[format!("racer-{number}")]]}),
        _ => json!({"answer": "allow_once"}),
    }
}

/// Lets all racers answer `ask` at once, and returns the answer that stands.
async fn race(racers: &[Api], ask: &Value) -> Value {
    let replies = run(racers, ask).await;
    let won: Vec<&Reply> = replies
        .iter()
        .filter(|reply| reply.status.as_u16() == 200)
        .collect();
    let [winner] = won[..] else {
        panic!("{} have won {ask}: {replies:?}", won.len());
    };
    let stands = winner.body["answer"].clone();
    losers_know(&replies, &stands);
    stands
}

/// The same, with somebody at the terminal who joins in.
async fn race_with_the_terminal(server: &TestServer, racers: &[Api], ask: &Value) -> Value {
    let id = ask["id"].as_str().expect("an ask has an id");
    let command = match ask["subject"]["kind"].as_str() {
        Some("question") => ["answer", id, "me"].to_vec(),
        _ => ["allow", id].to_vec(),
    };
    let (printed, replies) = tokio::join!(server.cli(&command), run(racers, ask));
    let won = replies.iter().filter(|reply| reply.status.as_u16() == 200);
    let stands = server.api().ask(id).await["answer"].clone();
    match printed.code {
        0 => {
            assert_eq!(won.count(), 0, "{printed:?}");
            assert_eq!(stands["surface"], "cli");
        }
        3 => {
            assert_eq!(won.count(), 1, "{printed:?}");
            let name = stands["by"]["name"].as_str().expect("somebody has won");
            let told = format!("{}{}", printed.stdout, printed.stderr);
            assert!(told.contains(name), "{told}");
        }
        code => panic!("{code}: {printed:?}"),
    }
    losers_know(&replies, &stands);
    stands
}

async fn run(racers: &[Api], ask: &Value) -> Vec<Reply> {
    let start = Arc::new(Barrier::new(racers.len()));
    let mut running = JoinSet::new();
    for (number, racer) in (1..).zip(racers) {
        let (racer, start) = (racer.clone(), Arc::clone(&start));
        let id = ask["id"].as_str().expect("an ask has an id").to_owned();
        let answer = answer(ask, number);
        running.spawn(async move {
            start.wait().await;
            racer.answer(&id, &answer).await
        });
    }
    running.join_all().await
}

fn losers_know(replies: &[Reply], stands: &Value) {
    for reply in replies.iter().filter(|reply| reply.status.as_u16() != 200) {
        assert_eq!(reply.status.as_u16(), 409, "{reply:?}");
        assert_eq!(reply.body["code"], "already_answered");
        assert_eq!(&reply.body["details"]["ask"]["answer"], stands);
    }
}

async fn all_are_delivered(api: &Api) {
    eventually(Duration::from_secs(30), "all is delivered", async || {
        let list = api.get("/api/v1/asks?state=answered&limit=1").await;
        list["asks"].as_array()?.is_empty().then_some(())
    })
    .await;
    for state in ["open", "undeliverable", "withdrawn", "expired"] {
        let list = api.get(&format!("/api/v1/asks?state={state}")).await;
        assert_eq!(list["asks"], json!([]), "{state}");
    }
}
