//! Engines that do not come up, forget what they asked, or can hardly be reached: what is asked ends truly all the same,
//! and what is said is heard.

use std::time::Duration;

use countersign_core::time::Timestamp;
use countersign_testkit::scripted_opencode::{Faults, Outcome, Trace};
use countersign_testkit::test_server::{Api, Engine, PATIENCE, Setup};
use countersign_testkit::{EventStream, Fault, FaultProxy, ScriptedOpencode, eventually, peers};
use serde_json::{Value, json};

use crate::scene::Scene;

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

#[tokio::test]
async fn an_ask_that_nobody_answers_in_time_is_told_to_the_engine_as_nobodys_no() {
    let scene = Scene::with("[asks]\nexpire_after_s = 1\n").await;
    let request = scene.ask_engine("make").await;
    let ask = scene.ask_in_ledger(&request).await;
    let id = ask["id"].as_str().unwrap();

    let ask = scene.server.api().settled(id).await;
    assert_eq!(ask["state"], "expired", "{ask}");
    assert!(ask["answer"].is_null(), "nobody said anything");
    let reply = eventually(PATIENCE, "the engine is told", async || {
        scene.control.replies().await.into_iter().next()
    })
    .await;
    assert_eq!((reply.id, reply.outcome), (request, Outcome::Taken));
    assert_eq!(reply.body["reply"], "reject");
    let message = reply.body["message"].as_str().unwrap();
    assert!(message.contains("Nobody answered"), "{message}");
    let late = json!({"answer": "allow_once"});
    scene.server.api().answer(id, &late).await.expect(410);
    // The turn goes on without it, and nothing is told twice.
    scene.is_stopped().await;
    assert_eq!(scene.control.replies().await.len(), 1);
    assert!(scene.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn an_answer_to_what_the_engine_has_forgotten_ends_undeliverable_and_says_why() {
    let scene = Scene::set().await;
    let traces = [
        (Trace::Stopped, "turn_cancelled"),
        (Trace::None, "forgotten"),
    ];
    let mut asks = Vec::new();
    for (_, why) in traces {
        let request = scene.ask_engine(&format!("touch {why}")).await;
        asks.push((scene.ask_in_ledger(&request).await, request));
    }
    // The answers are given and cannot leave before the engine has forgotten what they are about.
    let deaf = Faults {
        refuse_listeners: true,
        ..Faults::default()
    };
    scene.control.set_faults(&deaf).await;
    scene.is_cut_off().await;
    for ((trace, _), (ask, request)) in traces.iter().zip(&asks) {
        scene.allow(ask["id"].as_str().unwrap()).await;
        assert!(scene.control.forget(request, *trace).await);
    }
    scene.control.set_faults(&Faults::default()).await;

    for ((_, why), (ask, _)) in traces.iter().zip(&asks) {
        let ask = scene
            .server
            .api()
            .settled(ask["id"].as_str().unwrap())
            .await;
        assert_eq!(ask["state"], "undeliverable", "{ask}");
        assert_eq!(ask["delivery"]["why"]["kind"], *why, "{ask}");
        assert_eq!(ask["answer"]["answer"], "allow_once", "it stands");
    }
    assert!(scene.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn an_open_ask_that_the_engine_has_forgotten_ends_with_the_next_look_at_the_lists() {
    let scene = Scene::set().await;
    for trace in [Trace::Stopped, Trace::None] {
        let request = scene.ask_engine("make").await;
        let ask = scene.ask_in_ledger(&request).await;
        assert!(scene.control.forget(&request, trace).await);
        scene.control.drop_events().await;

        let ask = scene.server.api().settled(ask["id"].as_str().unwrap());
        let ask = ask.await;
        assert_eq!(ask["state"], "withdrawn", "{ask}");
        assert_eq!(ask["why"], "the session ended", "{ask}");
    }
    assert!(scene.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn a_reason_that_waits_for_the_session_to_rest_is_said_though_others_spoke_meanwhile() {
    let scene = Scene::set().await;
    let api = scene.server.api();
    let question = "ASK 2\nQUESTION Which? | this | that";
    api.prompt(&scene.session, question).await;
    let asks = eventually(PATIENCE, "everything is asked", async || {
        let asks = api.open_asks().await;
        (asks.len() == 3).then_some(asks)
    })
    .await;
    let of_kind = |kind: &str| {
        let mut asks = asks.iter().filter(|ask| ask["subject"]["kind"] == kind);
        asks.next().unwrap()["id"].as_str().unwrap().to_owned()
    };
    let deny = json!({"answer": "deny", "reason": "the moon is full"});
    let denied = of_kind("permission");
    api.answer(&denied, &deny).await.expect(200);
    assert_eq!(api.settled(&denied).await["state"], "delivered");
    // The session waits for the question: the reason cannot be said yet, and the next prompt is queued behind it.
    eventually(PATIENCE, "the reason is written down", async || {
        let session = api.session(&scene.session).await;
        let prompt = session["turn"]["prompt"].as_str()?;
        prompt.contains("the moon is full").then_some(())
    })
    .await;
    api.prompt(&scene.session, "good morning").await;

    let choice = json!({"answer": "choices", "choices": [["this"]]});
    api.answer(&of_kind("question"), &choice).await.expect(200);

    let path = format!("/session/{}/message", scene.native);
    eventually(PATIENCE, "the engine hears the reason", async || {
        let messages = scene.server.engine().get(&path).await;
        let messages = messages.to_string();
        messages
            .contains("The reason: the moon is full")
            .then_some(())
    })
    .await;
    let outcome = api.turn_outcome(&scene.session).await;
    assert_eq!(outcome["outcome"], "completed", "{outcome}");
}

/// When the engine of a server changed to `state`, by the ledger, oldest first.
async fn changes(api: &Api, state: &str) -> Vec<Timestamp> {
    let mut stream = EventStream::open(api, Some(0)).await.expect("it opens");
    let hello = stream.next().await.expect("a stream begins with a hello");
    let head = hello.data["seq"].as_i64().expect("the newest number");
    let mut found = Vec::new();
    for _ in 0..head {
        let event = stream.next().await.expect("the stream goes on").data;
        if event["type"] == "engine.changed" && event["state"] == state {
            found.push(serde_json::from_value(event["at"].clone()).expect("it says when"));
        }
    }
    found
}

#[tokio::test]
async fn an_engine_that_ends_at_once_is_started_again_after_longer_and_longer_pauses() {
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("opencode");
    std::os::unix::fs::symlink("/bin/false", &program).unwrap();
    let setup = Setup {
        engine_settings: format!("program = '{}'\n", program.display()),
        ..Setup::new(BINARY, Engine::Missing)
    };
    let mut server = setup.start().await;
    let ends = eventually(PATIENCE, "it has ended three times", async || {
        let ends = changes(server.api(), "gone").await;
        (ends.len() >= 3).then_some(ends)
    })
    .await;
    let starts = changes(server.api(), "starting").await;
    let pauses: Vec<Duration> = ends
        .iter()
        .zip(&starts[1..])
        .map(|(end, start)| start.since(*end))
        .collect();
    assert!(pauses[0] >= Duration::from_secs(1), "{pauses:?}");
    assert!(pauses[1] >= Duration::from_secs(3), "{pauses:?}");
    let workspaces = server.api().get("/api/v1/workspaces").await;
    let engine = &workspaces["workspaces"][0]["engine"];
    assert_eq!(engine["state"], "absent", "{engine}");
    let message = engine["message"].as_str().unwrap();
    assert!(message.starts_with("opencode ended"), "{message}");

    // Once it can, it does.
    std::fs::remove_file(&program).unwrap();
    std::os::unix::fs::symlink(peers::scripted_opencode(), &program).unwrap();
    server.api().wait_for_engine().await;
    server.stop().await;
}

/// What happens on the way to the engine while something is asked and answered.
const WEATHER: [Fault; 4] = [
    Fault::Reset,
    Fault::Refuse,
    Fault::Latency(Duration::from_millis(200)),
    Fault::CutAfter(700),
];

#[tokio::test]
async fn whatever_the_network_does_each_ask_arrives_and_each_answer_is_taken_once() {
    let elsewhere = tempfile::tempdir().unwrap();
    let password = "between us";
    let opencode = ScriptedOpencode::start(elsewhere.path(), password);
    let proxy = FaultProxy::start(opencode.address());
    let engine = Engine::Attached {
        url: proxy.url(),
        password: Some(password.to_owned()),
    };
    // What listens there is this process: once the server has seen it, no command that is started here is a person's.
    proxy.set(Fault::Refuse).await;
    let mut server = Setup::new(BINARY, engine).start().await;
    let api = server.api().clone();
    proxy.set(Fault::None).await;
    api.wait_for_engine().await;
    let session = api.start_session().await;
    let native = api.session(&session).await["native_id"].clone();
    let ask = |command: &str| {
        let metadata = json!({"command": command});
        opencode.open_ask(native.as_str().unwrap(), "bash", &[command], &metadata)
    };
    let found = async |request: &str| {
        let wanted = |ask: &Value| ask["raw"]["id"] == request;
        let ask = api.wait_for_ask("the ask arrives", wanted).await;
        ask["id"].as_str().unwrap().to_owned()
    };
    let allow = json!({"answer": "allow_once"});
    for (number, fault) in WEATHER.into_iter().enumerate() {
        let before = found(&ask(&format!("touch before-{number}"))).await;
        proxy.set(fault).await;
        // Streams that are open go on under some faults; this one ends them all.
        opencode.drop_events();
        let during = ask(&format!("touch during-{number}"));
        api.answer(&before, &allow).await.expect(200);
        let tried = eventually(
            PATIENCE,
            "the answer is tried, or cannot leave",
            async || {
                let tries = &api.ask(&before).await["delivery"]["attempts"];
                let list = api.get("/api/v1/workspaces").await;
                let is_cut_off = list["workspaces"][0]["engine"]["state"] == "unreachable";
                (tries.as_u64() > Some(0) || is_cut_off).then_some(())
            },
        );
        tried.await;
        proxy.set(Fault::None).await;

        let during = found(&during).await;
        api.answer(&during, &allow).await.expect(200);
        for ask in [&before, &during] {
            let settled = api.settled(ask).await;
            assert_eq!(settled["state"], "delivered", "{fault:?}: {settled}");
        }
    }
    let replies = opencode.replies();
    let taken = |id: &Value| {
        let of_ask = |reply: &&_| is_taken(reply, id);
        replies.iter().filter(of_ask).count()
    };
    let list = api.get("/api/v1/asks?limit=100").await;
    let asks = list["asks"].as_array().unwrap();
    assert_eq!(asks.len(), 2 * WEATHER.len(), "each once");
    for ask in asks {
        assert_eq!(taken(&ask["raw"]["id"]), 1, "{ask}");
    }
    assert_eq!(api.alarms().await, Vec::<Value>::new());
    server.stop().await;
}

fn is_taken(reply: &countersign_testkit::scripted_opencode::ReceivedReply, id: &Value) -> bool {
    reply.outcome == Outcome::Taken && *id == *reply.id
}
