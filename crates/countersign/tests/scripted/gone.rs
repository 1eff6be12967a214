//! Engines that die, lie, fall silent or talk nonsense: every ask still comes to a true end, and says which.

use countersign_core::time::{Clock, Timestamp};
use countersign_testkit::eventually;
use countersign_testkit::scripted_opencode::{Faults, Outcome, ReplyFault};
use countersign_testkit::test_server::{Engine, PATIENCE, Setup};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::scene::Scene;

/// How many seconds an ask of a dead engine may stay open, by what the ledger says.
const QUICKLY: f64 = 5.0;

fn seconds_between(earlier: Timestamp, later: &Value) -> f64 {
    let later: Timestamp = serde_json::from_value(later.clone()).expect("the ledger says when");
    later.since(earlier).as_secs_f64()
}

#[tokio::test]
async fn a_request_that_the_engine_tells_nobody_of_is_found_all_the_same() {
    let mut scene = Scene::set().await;
    let faults = Faults {
        withhold_asks: true,
        ..Faults::default()
    };
    scene.control.set_faults(&faults).await;
    let request = scene.ask_engine("ls").await;

    let ask = scene.ask_in_ledger(&request).await;

    let ask = ask["id"].as_str().expect("an ask has an id");
    scene.allow(ask).await;
    let settled = scene.server.api().settled(ask).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    assert_eq!(scene.server.api().alarms().await, Vec::<Value>::new());
    scene.server.stop().await;
}

#[tokio::test]
async fn asks_of_an_engine_that_is_killed_end_quickly_with_the_reason_and_another_one_starts() {
    let mut scene = Scene::set().await;
    scene.set_fault(ReplyFault::Swallowed).await;
    let open = scene.ask("touch a").await;
    let answered = scene.ask("touch b").await;
    scene.allow(&answered).await;
    scene.wait_for_tries(&answered, 1).await;

    let dead = scene.server.engine();
    dead.kill();
    let killed = Clock::System.now();
    let open = scene.server.api().settled(&open).await;
    let answered = scene.server.api().settled(&answered).await;

    assert!(
        seconds_between(killed, &open["ended_at"]) < QUICKLY,
        "{open}"
    );
    let given_up = &answered["delivery"]["at"];
    assert!(seconds_between(killed, given_up) < QUICKLY, "{answered}");
    assert_eq!(open["state"], "withdrawn");
    assert!(open["why"].as_str().unwrap().contains("engine"), "{open}");
    assert_eq!(answered["state"], "undeliverable");
    assert_eq!(answered["delivery"]["why"]["kind"], "engine_gone");
    let late = json!({"answer": "allow_once"});
    let api = scene.server.api();
    api.answer(open["id"].as_str().unwrap(), &late)
        .await
        .expect(410);
    scene.meet_next_engine(&dead.run).await;
    let next = scene.ask_of_a_new_session().await;
    scene.allow(&next).await;
    assert_eq!(
        scene.server.api().settled(&next).await["state"],
        "delivered"
    );
    scene.server.stop().await;
}

#[tokio::test]
async fn asks_whose_keeper_is_killed_end_quickly_and_another_engine_starts() {
    let mut scene = Scene::set().await;
    let ask = scene.ask("touch a").await;
    let dead = scene.server.engine();
    let keeper = i32::try_from(dead.keeper).ok().and_then(Pid::from_raw);

    rustix::process::kill_process(keeper.unwrap(), Signal::KILL).unwrap();
    let killed = Clock::System.now();

    let ask = scene.server.api().settled(&ask).await;
    assert!(seconds_between(killed, &ask["ended_at"]) < QUICKLY, "{ask}");
    assert_eq!(ask["state"], "withdrawn");
    scene.meet_next_engine(&dead.run).await;
    scene.server.stop().await;
}

#[tokio::test]
async fn an_answer_that_was_never_sent_goes_to_the_identical_ask_of_the_next_engine() {
    let mut scene = Scene::set().await;
    let faults = Faults {
        delay_replies_milliseconds: 60_000,
        refuse_listeners: true,
        ..Faults::default()
    };
    scene.control.set_faults(&faults).await;
    let perhaps_sent = scene.ask("touch perhaps-sent").await;
    scene.allow(&perhaps_sent).await;
    scene.wait_for_tries(&perhaps_sent, 1).await;
    let never_sent = scene.ask("touch never-sent").await;
    scene.is_cut_off().await;
    scene.allow(&never_sent).await;
    assert_eq!(
        scene.server.api().ask(&never_sent).await["delivery"]["attempts"],
        0
    );

    scene.kill_engine().await;
    scene.control.restore_session(&scene.native).await;

    // The identical ask has its answer already.
    let again = scene.ask("touch never-sent").await;
    let again = scene.server.api().settled(&again).await;
    assert_eq!(again["previous"], never_sent.as_str());
    assert_eq!(again["state"], "delivered");
    let first = scene.server.api().ask(&never_sent).await;
    assert_eq!(first["state"], "undeliverable");
    assert_eq!(again["answer"]["by"], first["answer"]["by"]);
    // One that was perhaps sent is asked again, and knows what it repeats.
    let perhaps_again = scene.ask("touch perhaps-sent").await;
    let perhaps_again = scene.server.api().ask(&perhaps_again).await;
    assert_eq!(perhaps_again["state"], "open");
    assert_eq!(perhaps_again["previous"], perhaps_sent.as_str());
    // To anything else an old answer never applies, and it applies once.
    for command in ["touch something-else", "touch never-sent"] {
        let other = scene.ask(command).await;
        assert_eq!(
            scene.server.api().ask(&other).await["state"],
            "open",
            "{command}"
        );
    }
}

#[tokio::test]
async fn a_reply_that_the_engine_swallows_is_never_shown_as_delivered() {
    let scene = Scene::set().await;
    scene.set_fault(ReplyFault::Swallowed).await;
    let ask = scene.ask("touch a").await;
    scene.allow(&ask).await;

    let swallowed = scene.wait_for_tries(&ask, 2).await;
    assert_eq!(
        swallowed["state"], "answered",
        "the engine still waits for it"
    );
    scene.set_fault(ReplyFault::None).await;

    let ask = scene.server.api().settled(&ask).await;
    assert_eq!(ask["state"], "delivered");
    let replies = scene.control.replies().await;
    let (last, before) = replies.split_last().unwrap();
    assert_eq!(last.outcome, Outcome::Taken);
    assert!(
        before
            .iter()
            .all(|reply| reply.outcome == Outcome::Swallowed)
    );
}

#[tokio::test]
async fn a_reply_that_the_engine_takes_and_never_announces_is_found_in_the_tool() {
    let scene = Scene::set().await;
    scene.set_fault(ReplyFault::Unannounced).await;
    let ask = scene.ask("touch a").await;
    scene.allow(&ask).await;

    let ask = scene.server.api().settled(&ask).await;

    assert_eq!(ask["state"], "delivered", "{ask}");
    assert_eq!(ask["delivery"]["evidence"]["kind"], "tool_state");
    assert!(scene.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn a_reply_whose_acknowledgement_is_lost_is_proved_by_its_announcement() {
    let scene = Scene::set().await;
    scene.set_fault(ReplyFault::Unacknowledged).await;
    let ask = scene.ask("touch a").await;
    scene.allow(&ask).await;

    let ask = scene.server.api().settled(&ask).await;

    assert_eq!(ask["state"], "delivered", "{ask}");
    let taken = scene.control.replies().await;
    let taken = taken.iter().filter(|reply| reply.outcome == Outcome::Taken);
    assert_eq!(taken.count(), 1);
    assert!(scene.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn what_happens_while_the_event_stream_is_cut_is_found_in_the_lists() {
    let scene = Scene::set().await;
    for number in 0..5 {
        scene.control.drop_events().await;
        let ask = scene.ask(&format!("touch {number}")).await;
        scene.control.drop_events().await;
        scene.allow(&ask).await;
        let ask = scene.server.api().settled(&ask).await;
        assert_eq!(ask["state"], "delivered", "{ask}");
    }
    assert!(scene.server.api().alarms().await.is_empty());
}

#[tokio::test]
async fn an_answer_past_the_ledger_raises_the_alarm_and_stops_the_session() {
    let scene = Scene::set().await;
    let sibling = scene.ask("touch a").await;
    let request = scene.ask_engine("rm -rf precious").await;
    let ask = scene.ask_in_ledger(&request).await;

    assert!(scene.control.reply_as_foreigner(&request).await);

    let ask = scene
        .server
        .api()
        .settled(ask["id"].as_str().unwrap())
        .await;
    assert_eq!(ask["state"], "withdrawn");
    assert!(ask["why"].as_str().unwrap().contains("`once`"), "{ask}");
    let sibling = scene.server.api().settled(&sibling).await;
    assert_eq!(sibling["state"], "withdrawn", "its session was stopped");
    scene.is_alarmed_about(&ask).await;
    scene.is_stopped().await;
}

#[tokio::test]
async fn where_the_owner_wishes_so_an_answer_past_the_ledger_raises_the_alarm_and_stops_nothing() {
    let scene = Scene::with("foreign_answer = 'alarm'\n").await;
    let sibling = scene.ask("touch a").await;
    let request = scene.ask_engine("rm -rf precious").await;
    let ask = scene.ask_in_ledger(&request).await;

    assert!(scene.control.reply_as_foreigner(&request).await);

    let api = scene.server.api();
    let ask = api.settled(ask["id"].as_str().unwrap()).await;
    assert_eq!(ask["state"], "withdrawn");
    let alarm = scene.is_alarmed_about(&ask).await;
    assert!(alarm.contains("the session goes on"), "{alarm}");
    // It goes on: what else it asked is open, and its turn ends as any other.
    assert_eq!(api.ask(&sibling).await["state"], "open");
    scene.allow(&sibling).await;
    assert_eq!(api.settled(&sibling).await["state"], "delivered");
    scene.is_stopped().await;
    assert_eq!(api.alarms().await.len(), 1);
}

#[tokio::test]
async fn an_answer_past_the_ledger_is_noticed_also_when_nobody_was_there() {
    let mut scene = Scene::set().await;
    let request = scene.ask_engine("rm -rf precious").await;
    let ask = scene.ask_in_ledger(&request).await;
    let engine = scene.server.engine();
    scene.server.kill();
    assert!(scene.control.reply_as_foreigner(&request).await);
    scene.server.restart().await;

    let ask = scene
        .server
        .api()
        .settled(ask["id"].as_str().unwrap())
        .await;

    assert_eq!(ask["state"], "withdrawn");
    scene.is_alarmed_about(&ask).await;
    // Nobody heard whether it was allowed for good, so nothing of that engine stays.
    scene.meet_next_engine(&engine.run).await;
    scene.is_stopped().await;
}

#[tokio::test]
async fn an_engine_that_does_not_answer_the_next_server_at_once_keeps_its_work() {
    let mut scene = Scene::set().await;
    let ask = scene.ask("make").await;
    let engine = scene.server.engine();
    let process = Pid::from_raw(i32::try_from(engine.process).unwrap()).unwrap();
    scene.server.kill();
    rustix::process::kill_process(process, Signal::STOP).unwrap();
    scene.server.restart().await;
    eventually(PATIENCE, "the server has waited in vain", async || {
        let list = scene.server.api().get("/api/v1/workspaces").await;
        let message = list["workspaces"][0]["engine"]["message"].as_str()?;
        let words = "opencode did not answer GET /global/health yet";
        message.contains(words).then_some(())
    })
    .await;
    rustix::process::kill_process(process, Signal::CONT).unwrap();

    scene.allow(&ask).await;
    let settled = scene.server.api().settled(&ask).await;
    assert_eq!(settled["state"], "delivered", "{settled}");
    assert_eq!(scene.server.engine().process, engine.process);
    scene.server.stop().await;
}

#[tokio::test]
async fn nonsense_from_the_engine_does_no_harm() {
    let scene = Scene::set().await;
    let nonsense = [
        ("who.knows", json!({"what": ["ever"]})),
        ("permission.asked", json!({"id": 7})),
        ("permission.replied", json!({"requestID": "per_unheard_of"})),
        ("question.asked", json!(null)),
        (
            "session.status",
            json!({"sessionID": "ses_unheard_of", "status": {"type": "dreaming"}}),
        ),
        ("message.part.delta", json!({"delta": 1})),
        ("session.updated", json!({"info": "nothing"})),
    ];
    for (kind, properties) in nonsense {
        scene.control.announce(kind, properties).await;
    }

    let ask = scene.ask("touch a").await;
    scene.allow(&ask).await;
    let ask = scene.server.api().settled(&ask).await;

    assert_eq!(ask["state"], "delivered", "{ask}");
    scene.server.api().wait_for_engine().await;
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_told_who_is_there() {
    let mut server = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        .start()
        .await;
    let process = server.program().id().to_string();
    let port = countersign_testkit::ports::free().to_string();

    let second = server.cli(&["serve", "--no-engine", "--port", &port]).await;

    let said = &second.expect_code(1).stderr;
    assert!(said.contains("another Countersign"), "{said}");
    assert!(said.contains(&process), "{said}");
    assert!(said.contains("COUNTERSIGN_DATA"), "{said}");
    server.api().get("/api/v1/me").await;
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let server = Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
        .start()
        .await;
    let elsewhere = tempfile::tempdir().unwrap();
    let data = [("COUNTERSIGN_DATA", elsewhere.path().to_str().unwrap())];
    let url = server.url();
    let (_, port) = url.rsplit_once(':').unwrap();

    let second = server
        .cli_with(&data, &["serve", "--no-engine", "--port", port])
        .await;

    let said = &second.expect_code(1).stderr;
    assert!(said.contains(&format!("port {port} is taken")), "{said}");
    assert!(said.contains("--port"), "{said}");
}
