//! The server is killed at any moment while asks come in and many clients answer them: nothing that was accepted is
//! lost, nothing is answered twice, and nothing is forgotten.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_core::id::TurnId;
use countersign_core::time::Timestamp;
use countersign_testkit::scripted_opencode::{Outcome as Fate, ReceivedReply, RemoteControl};
use countersign_testkit::test_server::{Api, Engine, KeptEngine, PATIENCE, Setup};
use countersign_testkit::{Seed, TestServer, eventually};
use rand::RngExt as _;
use rand::rngs::StdRng;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use clients::{Clients, Weather};
use history::Outcome;
use unheard::{Asked, Comparison};

#[path = "kill_loop/clients.rs"]
mod clients;
#[path = "kill_loop/history.rs"]
mod history;
#[path = "kill_loop/ledger.rs"]
mod ledger;
#[path = "kill_loop/unheard.rs"]
mod unheard;

/// How often each of the two tests kills the server.
const KILLS: usize = 95;
const CLIENTS: usize = 4;
const SESSIONS: usize = 5;
/// How many asks wait at once; the server may be down, and then they only pile up.
const WAITING: usize = 20;
/// How many prompts the load sends at most. Those of a session wait for each other at the engine, where nothing but their
/// number bounds how long they take to come to an end.
const PROMPTS: i64 = 40;
/// How long all of that may take: a busy machine works off some asks a second.
const LAST_TURNS: Duration = Duration::from_mins(3);
/// How many asks a prompt of the load leads to.
const ASKS_OF_A_PROMPT: usize = 2;
/// How long the load waits before it looks for room again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The longest life of a server.
const LONGEST_LIFE: Duration = Duration::from_millis(450);
/// The most answers of a life that ends by their number.
const MOST_ANSWERS: usize = 10;
/// The longest life of one that is killed while it starts.
const SHORTEST_LIFE: Duration = Duration::from_millis(80);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_answered_twice_however_often_the_server_is_killed() {
    assert_eq!(survive_kills(0).await, 0, "everything is in the ledger");
}

/// A denial takes the other asks of its session with it, inside the engine. One that is asked while a denial is on
/// its way, and falls with it, is never heard of if the server is killed before it has read so far: the engine's
/// lists do not show it any more. It was not allowed and nobody can have answered it, but the ledger misses it.
/// Nothing else may be missing: `unheard.rs` tells the two apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_denials_only_what_fell_with_one_unheard_is_missing_from_the_ledger() {
    let unheard = survive_kills(12).await;
    eprintln!("{unheard} fell unheard");
}

/// Kills the server again and again under load, of which `denials` in a hundred answers are a no, and checks
/// everything that has to hold. Returns how many asks fell before any server could know of them.
#[expect(clippy::print_stderr, reason = "the test's own output")]
async fn survive_kills(denials: u32) -> usize {
    let seed = Seed::take();
    let mut server = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::Scripted)
        .start()
        .await;
    server.api().wait_for_engine().await;
    let engine = server.engine();
    let control = RemoteControl::find(server.workspace()).expect("the engine is running");
    let mut clients = Clients::send_out(server.api(), &server.url(), seed, CLIENTS, denials).await;
    let mut load = Load::start(&server, &engine, &control, &clients, seed).await;

    let kills = kill_again_and_again(&mut server, &mut clients, seed).await;

    load.stop().await;
    all_turns_end(&engine, server.api()).await;
    ledger::wait_until_all_is_settled(server.api()).await;
    clients.go_home().await;
    let asks = ledger::all_asks(server.api()).await;
    let events = ledger::all_events(server.api()).await;
    let replies = control.replies().await;
    let accepted = clients
        .history
        .count(|outcome| matches!(outcome, Outcome::Accepted));
    let unknown = clients
        .history
        .count(|outcome| matches!(outcome, Outcome::Unknown));
    eprintln!(
        "{kills} kills, {} asks, {} answers tried, {accepted} accepted, {unknown} unknown, {} events",
        asks.len(),
        clients.history.len(),
        events.len()
    );

    let happenings = control.happenings().await;
    let comparison = Comparison::new(&happenings, &asks);
    let unheard: Vec<&Asked> = comparison.unheard().collect();
    let (fell, told) = comparison.fallen();
    eprintln!("{fell} asks fell, {told} of them certainly told");

    let mut wrong = clients.history.contradictions(&asks);
    let lost = comparison.lost().into_iter();
    wrong.extend(lost.map(|lost| format!("not in the ledger: {lost:?}")));
    wrong.extend(answered_unheard(&unheard, &replies));
    wrong.extend(load.wrong_prompts(&asks, &unheard));
    wrong.extend(untrue_ends(&asks, &replies));
    wrong.extend(ledger::impossible_events(&events, &asks));
    let alarms = server.api().alarms().await;
    wrong.extend(alarms.iter().map(|alarm| false_alarm(alarm, &asks)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted > kills, "hardly anything was answered");
    assert_eq!(
        server.engine().process,
        engine.process,
        "the engine lives on"
    );
    server.cli(&["audit", "verify"]).await.expect_success();
    server.stop().await;
    unheard.len()
}

/// Kills the server again and again; after each start everything that was accepted in the life before is there.
async fn kill_again_and_again(server: &mut TestServer, clients: &mut Clients, seed: Seed) -> usize {
    let mut dice = seed.dice("kills");
    let mut kills = 0;
    let mut checked = 0;
    while kills < KILLS {
        live_a_while(clients, &mut dice).await;
        clients.assert_well();
        server.kill();
        clients.tell(Weather::Down);
        kills += 1;
        if dice.random_ratio(1, 5) {
            // It comes no further than into the middle of its start.
            let _served =
                tokio::time::timeout(some_of(SHORTEST_LIFE, &mut dice), server.restart()).await;
            server.kill();
            kills += 1;
        }
        server.restart().await;
        for attempt in clients.history.since(checked) {
            checked += 1;
            let ask = server.api().ask(&attempt.ask).await;
            let wrong = history::contradiction(&attempt, &ask);
            assert_eq!(wrong, None, "after {kills} kills");
        }
        clients.tell(Weather::Up);
    }
    kills
}

/// Waits for a random moment: of time, or of what the clients have achieved since the start.
async fn live_a_while(clients: &Clients, dice: &mut StdRng) {
    if dice.random() {
        tokio::time::sleep(some_of(LONGEST_LIFE, dice)).await;
        return;
    }
    let accepted = || {
        clients
            .history
            .count(|outcome| matches!(outcome, Outcome::Accepted))
    };
    let enough = accepted() + dice.random_range(1..=MOST_ANSWERS);
    eventually(PATIENCE, "answers are accepted", async || {
        (accepted() >= enough).then_some(())
    })
    .await;
}

fn some_of(longest: Duration, dice: &mut StdRng) -> Duration {
    longest.mul_f64(dice.random::<f64>())
}

/// What the ledger never heard of cannot have been answered.
fn answered_unheard(unheard: &[&Asked], replies: &[ReceivedReply]) -> Vec<String> {
    let is_unheard = |id: &str| unheard.iter().any(|asked| asked.id == id);
    let answered = replies
        .iter()
        .filter(|reply| reply.outcome == Fate::Taken && is_unheard(&reply.id));
    answered
        .map(|reply| format!("{reply:?} answers what is not in the ledger"))
        .collect()
}

/// Compares how the ledger says that each ask ended with what the engine really got.
fn untrue_ends(asks: &[Value], replies: &[ReceivedReply]) -> Vec<String> {
    let mut taken: BTreeMap<&str, Vec<&ReceivedReply>> = BTreeMap::new();
    for reply in replies.iter().filter(|reply| reply.outcome == Fate::Taken) {
        taken.entry(&reply.id).or_default().push(reply);
    }
    let is_untrue = |ask: &&Value| {
        let got = ask["raw"]["id"].as_str().and_then(|id| taken.get(id));
        let got = got.map_or(&[][..], Vec::as_slice);
        let is_true = match (ask["state"].as_str(), got) {
            (Some("delivered"), [reply]) => is_wording_of(reply, &ask["answer"]),
            (Some("undeliverable"), []) => true,
            // The engine may have been told that nobody wants it any more.
            (Some("withdrawn"), got) => got.iter().all(|reply| reply.body["reply"] == "reject"),
            _ => false,
        };
        !is_true
    };
    asks.iter()
        .filter(is_untrue)
        .map(|ask| {
            let id = ask["raw"]["id"].as_str().unwrap_or_default();
            let got: Vec<_> = replies.iter().filter(|reply| reply.id == id).collect();
            format!("the engine got {got:?} for {ask}")
        })
        .collect()
}

/// Tells of an alarm with what became of everything that its session asked.
fn false_alarm(alarm: &Value, asks: &[Value]) -> String {
    let of_session = asks.iter().filter(|ask| ask["session"] == alarm["session"]);
    let ends = of_session.map(|ask| {
        let (answer, delivery) = (&ask["answer"], &ask["delivery"]);
        format!(
            "  {} {} {} {answer} {delivery}",
            ask["opened_at"], ask["id"], ask["state"]
        )
    });
    let ends: Vec<String> = ends.collect();
    format!(
        "a false alarm: {alarm}, of a session that asked:\n{}",
        ends.join("\n")
    )
}

fn is_wording_of(reply: &ReceivedReply, answer: &Value) -> bool {
    match answer["answer"].as_str() {
        Some("allow_once") => reply.body["reply"] == "once",
        Some("deny") => {
            reply.body["reply"] == "reject" && reply.body["message"] == answer["reason"]
        }
        _ => false,
    }
}

/// Waits until the engine has nothing more to do, and the ledger knows it.
async fn all_turns_end(engine: &KeptEngine, api: &Api) {
    eventually(LAST_TURNS, "every turn ends", async || {
        let busy = engine.get("/session/status").await;
        let sessions = api.get("/api/v1/sessions").await;
        let mut sessions = sessions["sessions"].as_array()?.iter();
        // Chance can leave a session without any turn.
        let rests = |session: &Value| {
            let turn = &session["turn"];
            session["activity"] == "idle" && (turn.is_null() || !turn["outcome"].is_null())
        };
        (busy == json!({}) && sessions.all(rests)).then_some(())
    })
    .await;
}

/// What makes asks come in: some directly at the engine, some by prompts through the server.
struct Load {
    over: watch::Sender<bool>,
    tasks: JoinSet<()>,
    prompts: Arc<Mutex<Vec<TurnId>>>,
}

impl Load {
    async fn start(
        server: &TestServer,
        engine: &KeptEngine,
        control: &RemoteControl,
        clients: &Clients,
        seed: Seed,
    ) -> Self {
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            sessions.push(server.api().start_session().await);
        }
        let mut native = Vec::new();
        for session in &sessions {
            let session = server.api().session(session).await;
            native.push(
                session["native_id"]
                    .as_str()
                    .expect("it has one")
                    .to_owned(),
            );
        }
        let over = watch::Sender::new(false);
        let prompts = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(ask(
            Pile::new(engine, &over),
            control.clone(),
            native,
            seed.dice("asks"),
        ));
        tasks.spawn(prompt(
            Pile::new(engine, &over),
            server.api().clone(),
            clients.weather.subscribe(),
            sessions,
            Arc::clone(&prompts),
            seed.dice("prompts"),
        ));
        Self {
            over,
            tasks,
            prompts,
        }
    }

    /// Ends the load, and panics if some part of it did.
    async fn stop(&mut self) {
        self.over.send_replace(true);
        let ended = async {
            while let Some(ended) = self.tasks.join_next().await {
                ended.expect("the load goes on until it is stopped");
            }
        };
        tokio::time::timeout(PATIENCE, ended)
            .await
            .expect("the load ends");
    }

    /// Each prompt that was accepted has led to what it says, once, but for what is `unheard`.
    fn wrong_prompts(&self, asks: &[Value], unheard: &[&Asked]) -> Vec<String> {
        let prompts = self.prompts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wrong = Vec::new();
        for turn in prompts.iter() {
            let digits = turn.to_string().replace("turn_", "msg_");
            let of_prompt = |ask: &&Value| {
                ask["raw"]["metadata"]["command"]
                    .as_str()
                    .is_some_and(|command| command.contains(&digits))
            };
            let found = asks.iter().filter(of_prompt).count();
            let unheard = unheard.iter().filter(|it| it.command.contains(&digits));
            let unheard = unheard.count();
            if found + unheard != ASKS_OF_A_PROMPT {
                wrong.push(format!("{turn} led to {found} asks, {unheard} unheard"));
            }
        }
        wrong
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

/// What waits at the engine.
struct Pile {
    engine: KeptEngine,
    http: reqwest::Client,
    over: watch::Receiver<bool>,
}

impl Pile {
    fn new(engine: &KeptEngine, over: &watch::Sender<bool>) -> Self {
        Self {
            engine: engine.clone(),
            http: countersign_testkit::http::client(),
            over: over.subscribe(),
        }
    }

    /// Waits until there is room for another ask, and returns whether the load goes on.
    async fn has_room(&self) -> bool {
        while !*self.over.borrow() {
            if self.waiting().await < WAITING {
                return true;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        false
    }

    async fn waiting(&self) -> usize {
        let request = self.http.get(format!("{}/permission", self.engine.url));
        let request = request.basic_auth("opencode", Some(&self.engine.password));
        let response = request.send().await.expect("the engine answers");
        let waiting: Vec<Value> = response.json().await.expect("it answers with a list");
        waiting.len()
    }
}

/// Asks directly at the engine, whether or not there is a server.
async fn ask(pile: Pile, control: RemoteControl, sessions: Vec<String>, mut dice: StdRng) {
    for number in 1.. {
        if !pile.has_room().await {
            return;
        }
        let session = &sessions[dice.random_range(0..sessions.len())];
        let command = format!("touch {number}");
        let metadata = json!({"command": command});
        control
            .open_ask(Some(session), "bash", &[&command], metadata)
            .await;
    }
}

/// Prompts through the server; a prompt whose fate is unknown is repeated until it is taken.
async fn prompt(
    pile: Pile,
    api: Api,
    mut weather: watch::Receiver<Weather>,
    sessions: Vec<String>,
    taken: Arc<Mutex<Vec<TurnId>>>,
    mut dice: StdRng,
) {
    for number in 1..=PROMPTS {
        if !pile.has_room().await {
            return;
        }
        let session = &sessions[dice.random_range(0..sessions.len())];
        let turn = TurnId::generate(Timestamp::from_micros(number));
        let path = format!("/api/v1/sessions/{session}/prompt");
        let body = json!({"text": format!("ASK {ASKS_OF_A_PROMPT}"), "turn": turn});
        loop {
            drop(weather.wait_for(|weather| *weather == Weather::Up).await);
            let request = api.request(Method::POST, &path).json(&body);
            // Whoever gets no answer asks again; a server that has just begun may not have its engine yet.
            match Api::send(request).await.map(|reply| reply.status.as_u16()) {
                Ok(202) => break,
                Ok(503) | Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
                Ok(status) => panic!("a prompt is answered with {status}"),
            }
        }
        taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(turn);
    }
}
