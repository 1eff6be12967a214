//! An agent that has moods: it refuses, stays silent, and switches its mode by itself.

use countersign_testkit::TestServer;
use countersign_testkit::test_server::{Engine, Setup};
use serde_json::json;

use crate::{agent_is_gone, notices, path, set, settings, turn};

/// The script of an agent that has moods.
const MOODY: &str = include_str!("moody-agent.sh");

/// A server with the agent that has moods, and a session with it.
async fn with_moody_agent() -> (TestServer, String) {
    let server = Setup {
        files: vec![("moody-agent.sh".to_owned(), MOODY.to_owned())],
        engine_settings:
            "[[agents]]\nname = 'moody'\ncommand = '/bin/sh'\nargs = ['moody-agent.sh']\n"
                .to_owned(),
        ..Setup::new(env!("CARGO_BIN_EXE_countersign"), Engine::None)
    };
    let server = server.start().await;
    let session = server.api().start_session_with("moody").await;
    (server, session)
}

fn become_moody(server: &TestServer, mood: &str) {
    std::fs::write(server.workspace().join(mood), "").unwrap();
}

fn heard(server: &TestServer) -> Vec<String> {
    let heard = std::fs::read_to_string(server.workspace().join("heard"));
    heard
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

async fn kill_agent(server: &TestServer, session: &str) {
    server.agents().remove(0).kill();
    agent_is_gone(server, session).await;
}

#[tokio::test]
async fn a_model_is_set_in_the_older_way_and_again_after_the_agents_death() {
    let (server, session) = with_moody_agent().await;
    let made = set(&server, &session, json!({ "model": "small" })).await;
    assert_eq!(made["model"]["current"], "small");
    kill_agent(&server, &session).await;
    assert_eq!(
        turn(&server, &session, "hello").await["outcome"],
        "completed"
    );
    assert_eq!(
        heard(&server),
        ["model small", "model small", "prompt hello"]
    );
    assert_eq!(
        settings(&server, &session).await["model"]["current"],
        "small"
    );
    // What it has set it is not told with every prompt.
    turn(&server, &session, "and again").await;
    assert_eq!(heard(&server).len(), 4);
}

#[tokio::test]
async fn a_refusal_of_the_agent_comes_back_in_its_words_and_what_was_chosen_before_stands() {
    let (server, session) = with_moody_agent().await;
    set(&server, &session, json!({ "mode": "wild" })).await;
    become_moody(&server, "stubborn");
    let refused = server
        .api()
        .post(&path(&session), &json!({ "mode": "calm" }))
        .await;
    let message = refused.expect(409)["message"].to_string();
    assert!(message.contains("not in this weather"), "{message}");
    let left = settings(&server, &session).await;
    assert_eq!(left["mode"]["current"], "wild");
    assert_eq!(left["chosen"][0]["value"], "wild");
    // It stands in the way of no turn: the mode is the one that was chosen before.
    assert_eq!(
        turn(&server, &session, "hello").await["outcome"],
        "completed"
    );
    let audit = server.api().get("/api/v1/audit").await.to_string();
    assert!(audit.contains("session.set_refused"), "{audit}");
}

#[tokio::test]
async fn an_agent_that_switches_its_mode_by_itself_says_so_and_what_people_chose_stands() {
    let (server, session) = with_moody_agent().await;
    set(&server, &session, json!({ "mode": "calm" })).await;
    assert_eq!(
        turn(&server, &session, "go wild").await["outcome"],
        "completed"
    );
    let notices = notices(&server, &session).await;
    assert!(
        notices.contains(&"The agent is in the mode `wild` now.".to_owned()),
        "{notices:?}"
    );
    let seen = settings(&server, &session).await;
    assert_eq!(seen["mode"]["current"], "wild");
    assert_eq!(seen["chosen"][0]["value"], "calm");
    kill_agent(&server, &session).await;
    turn(&server, &session, "hello").await;
    assert_eq!(
        heard(&server),
        ["mode calm", "prompt go wild", "mode calm", "prompt hello"]
    );
    assert_eq!(settings(&server, &session).await["mode"]["current"], "calm");
}

#[tokio::test]
async fn an_agent_that_does_not_go_back_to_the_mode_that_was_chosen_is_not_prompted() {
    let (server, session) = with_moody_agent().await;
    set(&server, &session, json!({ "mode": "calm" })).await;
    kill_agent(&server, &session).await;
    become_moody(&server, "stubborn");
    for text in ["hello", "hello again"] {
        let failed = turn(&server, &session, text).await;
        assert_eq!(failed["outcome"], "failed");
        let reason = failed["reason"].as_str().unwrap();
        assert!(reason.contains("not in this weather"), "{reason}");
    }
    assert!(!heard(&server).iter().any(|it| it.starts_with("prompt")));
    std::fs::remove_file(server.workspace().join("stubborn")).unwrap();
    set(&server, &session, json!({ "mode": "wild" })).await;
    assert_eq!(turn(&server, &session, "now").await["outcome"], "completed");
}

#[tokio::test]
async fn slow_an_agent_that_never_says_whether_it_set_the_mode_is_not_prompted() {
    let (server, session) = with_moody_agent().await;
    become_moody(&server, "mute");
    let unanswered = server
        .api()
        .post(&path(&session), &json!({ "mode": "wild" }))
        .await;
    let message = unanswered.expect(503)["message"].to_string();
    assert!(message.contains("has not answered"), "{message}");
    let failed = turn(&server, &session, "hello").await;
    assert_eq!(failed["outcome"], "failed");
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.contains("did not answer within"), "{reason}");
    assert_eq!(heard(&server), ["mode wild"]);
    std::fs::remove_file(server.workspace().join("mute")).unwrap();
    set(&server, &session, json!({ "mode": "calm" })).await;
    assert_eq!(turn(&server, &session, "now").await["outcome"], "completed");
}
