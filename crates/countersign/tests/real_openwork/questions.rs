//! Questions of a real opencode, answered and refused through the proxy by opencode's own SDK.

use countersign_testkit::stub_model::tool_results;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::sdk::Sdk;
use crate::stage::{CLIENT, Stage, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_a_choice_that_the_model_reads() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    sdk.follow().await;
    let session = sdk.session().await;
    let words = "TOOL question: Which bed? | the northern one | the southern one\nFINAL Good.";
    sdk.prompt(&session, words).await;
    let asked = sdk.event_of("question.asked", &session).await;
    let request = text(&asked["id"]);
    let answers = json!([["the southern one"]]);
    let reply = json!({ "requestID": request, "answers": answers });
    assert_eq!(sdk.call("question.reply", reply).await.good(), json!(true));
    sdk.event_of("session.idle", &session).await;
    let reads = |request: &Value| {
        let mut results = tool_results(request).into_iter();
        results.any(|result| result.contains("the southern one"))
    };
    stage
        .model
        .wait_for_request(PATIENCE, "the model reads the choice", reads)
        .await;
    let ask = stage.ask(&owner, request).await;
    assert_eq!(ask["state"], "delivered", "{ask}");
    assert_eq!(ask["answer"]["choices"], answers, "{ask}");
    assert_eq!(ask["answer"]["by"]["name"], "openwork client", "{ask}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_rejected_is_a_denial_in_the_ledger() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    sdk.follow().await;
    let session = sdk.session().await;
    sdk.prompt(&session, "TOOL question: Dig? | yes | no").await;
    let asked = sdk.event_of("question.asked", &session).await;
    let request = text(&asked["id"]);
    let reject = sdk.call("question.reject", json!({ "requestID": request }));
    assert_eq!(reject.await.good(), json!(true));
    sdk.event_of("session.idle", &session).await;
    let ask = stage.ask(&owner, request).await;
    assert_eq!(ask["state"], "delivered", "{ask}");
    assert_eq!(ask["answer"]["answer"], "deny", "{ask}");
    assert_eq!(ask["answer"]["by"]["name"], "openwork client", "{ask}");
}
