use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::json;

use super::*;
use crate::eventually;
use crate::process::{Launch, Program};
use client::Client;

mod client;

const SOON: Duration = Duration::from_secs(10);
const PASSWORD: &str = "s3cret";
const HERE: &str = "/srv/project";

fn start() -> (ScriptedOpencode, Client) {
    let opencode = ScriptedOpencode::start(Path::new(HERE), PASSWORD);
    let client = Client::of(&opencode);
    (opencode, client)
}

#[tokio::test]
async fn nobody_gets_in_without_the_password() {
    let (_opencode, client) = start();
    let url = format!("{}/global/health", client.url);
    let response = client.http.get(url).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(
        client.get("/global/health").await,
        json!({"healthy": true, "version": "1.18.33"})
    );
}

#[tokio::test]
async fn an_ask_is_announced_listed_and_taken_once() {
    let (opencode, client) = start();
    let mut events = client.listen().await;
    let session = opencode.create_session(Path::new(HERE));
    client.prompt(&session, "ASK 1").await;

    let asked = events.next_of("permission.asked").await;
    assert_eq!(asked["metadata"]["command"], "echo msg_ASK 1 1");
    assert_eq!(client.get("/permission").await, json!([asked]));
    assert_eq!(
        client.get("/session/status").await[&session],
        json!({"type": "busy"})
    );
    let id = asked["id"].as_str().unwrap();

    let once = json!({"reply": "once"});
    assert_eq!(client.reply(id, &once).await, (StatusCode::OK, json!(true)));
    let replied = events.next_of("permission.replied").await;
    assert_eq!(
        replied,
        json!({"sessionID": session, "requestID": id, "reply": "once"})
    );
    events.next_of("session.idle").await;
    let last = client.last_message(&session).await;
    assert_eq!(last["info"]["finish"], "stop");
    assert_eq!(last["info"]["parentID"], "msg_ASK 1");
    assert_eq!(client.get("/session/status").await, json!({}));

    let (status, error) = client.reply(id, &once).await;
    assert_eq!(
        (status, &error["_tag"]),
        (StatusCode::NOT_FOUND, &json!("PermissionNotFoundError"))
    );
    let outcomes: Vec<Outcome> = opencode
        .replies()
        .iter()
        .map(|reply| reply.outcome)
        .collect();
    assert_eq!(outcomes, [Outcome::Taken, Outcome::NotFound]);
}

#[tokio::test]
async fn in_another_directory_the_ask_does_not_exist() {
    let (opencode, client) = start();
    let elsewhere = Path::new("/srv/café");
    let session = opencode.create_session(elsewhere);
    let ask = opencode.open_ask(&session, "bash", &["true"], &json!({"command": "true"}));
    assert_eq!(client.pending().await, [""; 0]);
    let once = json!({"reply": "once"});
    assert_eq!(client.reply(&ask, &once).await.0, StatusCode::NOT_FOUND);

    let path = format!("/permission/{ask}/reply");
    let request = client.http.post(format!("{}{path}", client.url));
    let request = request.basic_auth("opencode", Some(PASSWORD)).json(&once);
    let response = request
        .header("x-opencode-directory", "/srv/caf%C3%A9")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_rejection_takes_the_siblings_of_its_session_alone_and_stops_the_turn() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    let other = opencode.create_session(Path::new(HERE));
    client.prompt(&session, "ASK 2").await;
    let spared = opencode.open_ask(&other, "edit", &["a.txt"], &json!({}));
    let mut events = client.listen().await;
    let asks = client.pending().await;

    client
        .reply(&asks[0], &json!({"reply": "reject", "message": "no"}))
        .await;

    for ask in &asks[..2] {
        let replied = events.next_of("permission.replied").await;
        assert_eq!(replied["requestID"], ask.as_str());
        assert_eq!(replied["reply"], "reject");
    }
    assert_eq!(client.pending().await, [spared]);
    let last = client.last_message(&session).await;
    assert_eq!(last["info"]["finish"], "tool-calls");
    let error = last["parts"][1]["state"]["error"].as_str().unwrap();
    assert!(
        error.ends_with("with the following feedback: no"),
        "{error}"
    );
}

#[tokio::test]
async fn a_lone_rejection_with_a_message_lets_the_turn_go_on() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    client.prompt(&session, "ASK 1").await;
    let ask = client.pending().await.remove(0);
    client
        .reply(&ask, &json!({"reply": "reject", "message": "no"}))
        .await;
    assert_eq!(
        client.last_message(&session).await["info"]["finish"],
        "stop"
    );
}

#[tokio::test]
async fn always_takes_the_asks_that_it_covers() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    let first = opencode.open_ask(&session, "bash", &["echo a"], &json!({}));
    opencode.open_ask(&session, "bash", &["echo b"], &json!({}));
    let uncovered = opencode.open_ask(&session, "bash", &["rm b"], &json!({}));
    client.reply(&first, &json!({"reply": "always"})).await;
    assert_eq!(client.pending().await, [uncovered]);
}

#[tokio::test]
async fn an_abort_leaves_a_zombie_that_takes_a_reply() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    client.prompt(&session, "ASK 1").await;
    let ask = client.pending().await;
    client
        .post(&format!("/session/{session}/abort"), &json!({}))
        .await;
    assert_eq!(client.pending().await, ask);
    let last = client.last_message(&session).await;
    assert_eq!(last["info"]["error"]["name"], "MessageAbortedError");

    let mut events = client.listen().await;
    let reject = json!({"reply": "reject"});
    assert_eq!(client.reply(&ask[0], &reject).await.0, StatusCode::OK);
    events.next_of("permission.replied").await;
    assert_eq!(client.pending().await, [""; 0]);
    assert_eq!(client.last_message(&session).await, last);
}

#[tokio::test]
async fn a_question_is_answered_or_rejected() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    let mut events = client.listen().await;
    let first = opencode.open_question(&session, "Which?", &["left", "right"]);
    let second = opencode.open_question(&session, "Sure?", &["yes"]);
    let listed = client.get("/question").await;
    assert_eq!(listed[0]["questions"][0]["options"][1]["label"], "right");

    let answers = json!({"answers": [["right"]]});
    client
        .post(&format!("/question/{first}/reply"), &answers)
        .await;
    assert_eq!(
        events.next_of("question.replied").await["answers"],
        json!([["right"]])
    );
    client
        .post(&format!("/question/{second}/reject"), &json!({}))
        .await;
    assert_eq!(
        events.next_of("question.rejected").await["requestID"],
        second.as_str()
    );
    assert_eq!(client.get("/question").await, json!([]));
}

#[tokio::test]
async fn a_prompt_sent_twice_runs_once_and_one_sent_meanwhile_is_queued() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    for _ in 0..2 {
        client.prompt(&session, "ASK 1").await;
    }
    client.prompt(&session, "later").await;
    let asks = client.pending().await;
    assert_eq!(asks.len(), 1);
    let mut events = client.listen().await;
    client.reply(&asks[0], &json!({"reply": "once"})).await;
    events.next_of("session.idle").await;
    assert_eq!(
        client.last_message(&session).await["info"]["parentID"],
        "msg_later"
    );
}

#[tokio::test]
async fn the_deprecated_path_takes_a_reply_under_any_session() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new("/srv/elsewhere"));
    let ask = opencode.open_ask(&session, "bash", &["true"], &json!({}));
    let path = format!("/session/ses_any/permissions/{ask}");
    let taken = client.post(&path, &json!({"response": "once"})).await;
    assert_eq!(taken, (StatusCode::OK, json!(true)));
}

#[tokio::test]
async fn a_nonsensical_reply_is_refused_as_opencode_refuses_it() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    let ask = opencode.open_ask(&session, "bash", &["true"], &json!({}));
    let (status, error) = client.reply(&ask, &json!({"reply": "bogus"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let message = "Expected \"once\" | \"always\" | \"reject\", got \"bogus\"\n  at [\"reply\"]";
    assert_eq!(
        error["data"],
        json!({"message": message, "kind": "Payload"})
    );
    let (_, error) = client.reply("xxx", &json!({"reply": "once"})).await;
    assert_eq!(error["data"]["kind"], "Params");
}

#[tokio::test]
async fn faults_lose_replies_acknowledgements_and_events() {
    let (opencode, client) = start();
    let session = opencode.create_session(Path::new(HERE));
    let once = json!({"reply": "once"});
    let mut events = client.listen().await;
    let asks =
        ["a", "b", "c"].map(|command| opencode.open_ask(&session, "bash", &[command], &json!({})));

    opencode.set_faults(Faults {
        replies: ReplyFault::Swallowed,
        ..Faults::default()
    });
    assert_eq!(client.reply(&asks[0], &once).await.0, StatusCode::OK);
    assert_eq!(client.pending().await.len(), 3);

    opencode.set_faults(Faults {
        replies: ReplyFault::Unacknowledged,
        ..Faults::default()
    });
    let path = format!("/permission/{}/reply", asks[1]);
    client
        .request(Method::POST, &path)
        .json(&once)
        .send()
        .await
        .unwrap_err();
    assert_eq!(client.pending().await.len(), 2);

    opencode.set_faults(Faults {
        replies: ReplyFault::Unannounced,
        ..Faults::default()
    });
    assert_eq!(client.reply(&asks[2], &once).await.0, StatusCode::OK);

    opencode.set_faults(Faults::default());
    assert!(opencode.reply_as_foreigner(&asks[0]));
    let announced = [(); 2].map(|()| "permission.replied");
    for (kind, expected) in announced.into_iter().zip([&asks[1], &asks[0]]) {
        assert_eq!(events.next_of(kind).await["requestID"], expected.as_str());
    }
    let outcomes: Vec<Outcome> = opencode
        .replies()
        .iter()
        .map(|reply| reply.outcome)
        .collect();
    assert_eq!(
        outcomes,
        [
            Outcome::Swallowed,
            Outcome::Taken,
            Outcome::Taken,
            Outcome::Foreign
        ]
    );
}

#[tokio::test]
async fn event_streams_are_cut_on_demand_and_can_be_opened_again() {
    let (opencode, client) = start();
    let mut events = client.listen().await;
    opencode.drop_events();
    assert_eq!(events.next().await, None);
    client.listen().await;
}

async fn program(directory: &Path, port: u16) -> Program {
    let binary = crate::peers::scripted_opencode();
    let mut program = Launch::new(binary, directory.join("log"))
        .arguments([
            "serve",
            "--hostname",
            "127.0.0.1",
            "--port",
            &port.to_string(),
        ])
        .variable("OPENCODE_SERVER_PASSWORD", PASSWORD)
        .directory(directory)
        .start()
        .unwrap();
    let line = format!("opencode server listening on http://127.0.0.1:{port}");
    program
        .wait_for_line(SOON, "it listens", |printed| {
            (printed == line).then_some(())
        })
        .await;
    program
}

#[tokio::test]
async fn the_program_looks_like_opencode_and_is_controlled_from_outside() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = program(directory.path(), crate::ports::free()).await;
    let control = RemoteControl::find(directory.path()).unwrap();
    let ask = control
        .open_ask(None, "bash", &["true"], json!({"command": "true"}))
        .await;

    let http = crate::http::client();
    let url = format!("{}/permission/{ask}/reply", control.url());
    let reply = http
        .post(url)
        .basic_auth("opencode", Some(PASSWORD))
        .json(&json!({"reply": "once"}));
    assert_eq!(reply.send().await.unwrap().status(), StatusCode::OK);

    let replies = control.replies().await;
    assert_eq!(
        (replies[0].id.as_str(), replies[0].outcome),
        (ask.as_str(), Outcome::Taken)
    );
    control
        .set_faults(&Faults {
            withhold_metadata: true,
            ..Faults::default()
        })
        .await;
    control.drop_events().await;
    assert!(!control.reply_as_foreigner(&ask).await);

    program.signal(rustix::process::Signal::TERM);
    program.wait_for_exit(SOON).await;
    eventually(SOON, "it is gone", async || {
        RemoteControl::find(directory.path())
            .is_none()
            .then_some(())
    })
    .await;
}

#[test]
fn the_program_prints_its_version() {
    let output = std::process::Command::new(crate::peers::scripted_opencode())
        .arg("--version")
        .output();
    assert_eq!(output.unwrap().stdout, b"1.18.33\n");
}
