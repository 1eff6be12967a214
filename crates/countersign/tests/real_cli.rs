//! A whole journey by the command line: prompt, inbox, show, allow, and the exit code of every way to come too late.

use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::{StubModel, TestServer, eventually};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// Prompts in a new session and waits until what follows is in the inbox; returns the session's and the ask's id.
async fn asked(server: &TestServer, text: &str) -> (String, String) {
    let taken = server.cli(&["prompt", "--detach", "--json", text]).await;
    let taken = taken.expect_success().json();
    let session = taken["session"]
        .as_str()
        .expect("a session's id")
        .to_owned();
    let ask = eventually(PATIENCE, "the ask is in the inbox", async || {
        let inbox = server.cli(&["inbox", "--json"]).await;
        let inbox = inbox.expect_success().json();
        let mut asks = inbox["asks"].as_array()?.iter();
        let ask = asks.find(|ask| ask["session"] == session.as_str())?;
        ask["id"].as_str().map(str::to_owned)
    })
    .await;
    (session, ask)
}

#[tokio::test]
async fn an_ask_is_seen_answered_and_settled_from_the_terminal() {
    let model = StubModel::start().await;
    let mut server = TestServer::with_real_opencode(BINARY, &model).await;
    let viewer = server.token("viewer").await;
    let colleague = server.token("collaborator").await;

    let (_, ask) = asked(&server, "TOOL bash: touch by-hand.txt").await;
    let shown = server.cli(&["show", &ask]).await;
    shown.expect_success();
    assert!(shown.stdout.contains("touch by-hand.txt"), "{shown:?}");
    let short = &ask[ask.len() - 8..];
    let listed = server.cli(&["inbox"]).await;
    assert!(listed.stdout.contains("touch by-hand.txt"), "{listed:?}");

    // Who may not answer is told which grant is missing, and changes nothing.
    let token = ("COUNTERSIGN_TOKEN", viewer.as_str());
    let refused = server.cli_with(&[token], &["allow", &ask]).await;
    refused.expect_code(4);
    assert!(refused.stderr.contains("`answer`"), "{refused:?}");

    let allowed = server.cli(&["allow", short]).await;
    allowed.expect_success();
    assert!(allowed.stdout.contains("delivered"), "{allowed:?}");
    let file = server.workspace().join("by-hand.txt");
    eventually(PATIENCE, "the command runs", async || {
        file.exists().then_some(())
    })
    .await;

    // Whoever comes second is told who was first.
    let token = ("COUNTERSIGN_TOKEN", colleague.as_str());
    let deny = ["deny", &ask, "--reason", "too late"];
    let late = server.cli_with(&[token], &deny).await;
    late.expect_code(3);
    assert!(late.stderr.contains("ada"), "{late:?}");
    server.cli(&["allow", &ask]).await.expect_success();

    let unknown = ask.replace(|digit: char| digit.is_ascii_digit(), "0");
    server.cli(&["allow", &unknown]).await.expect_code(5);
    server.cli(&["show", &unknown]).await.expect_code(5);

    let (session, ask) = asked(&server, "TOOL bash: touch never.txt").await;
    let path = format!("/api/v1/sessions/{session}/cancel");
    server.api().post(&path, &json!({})).await.expect(200);
    let over = server.cli(&["allow", &ask]).await;
    over.expect_code(6);
    assert!(over.stderr.contains("the turn was cancelled"), "{over:?}");

    let (_, ask) = asked(&server, "TOOL question: Which one? | this | that").await;
    let answered = server.cli(&["answer", &ask, "that", "--json"]).await;
    let answered: Value = answered.expect_success().json();
    assert_eq!(answered["answer"]["choices"], json!([["that"]]));

    let (_, ask) = asked(&server, "TOOL bash: touch denied.txt").await;
    let deny = ["deny", &ask, "--reason", "not from the terminal"];
    server.cli(&deny).await.expect_success();
    let reads = |request: &Value| request.to_string().contains("not from the terminal");
    model
        .wait_for_request(PATIENCE, "the model reads the reason", reads)
        .await;
    assert!(!server.workspace().join("denied.txt").exists());
    assert!(!server.workspace().join("never.txt").exists());

    let verdict = server.cli(&["audit", "verify"]).await;
    verdict.expect_success();

    server.stop().await;
    let nobody = server.cli(&["inbox"]).await;
    nobody.expect_code(7);
    assert!(nobody.stderr.contains("countersign up"), "{nobody:?}");
}
