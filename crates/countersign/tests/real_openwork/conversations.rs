//! Conversations with a real opencode through the proxy, by opencode's own SDK: what it says arrives while it says it,
//! and a reply to what it asks is an answer in the ledger.

use countersign_testkit::stub_model::tool_results;
use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};

use crate::sdk::Sdk;
use crate::stage::{CLIENT, Stage, text};

/// The ways to the engine of the workspace `garden`.
fn mounts(stage: &Stage) -> [String; 3] {
    let id = stage.id("garden");
    [
        "/opencode".to_owned(),
        format!("/w/{id}/opencode"),
        format!("/workspace/{id}/opencode"),
    ]
}

/// The texts of the last message.
fn last_words(messages: &Value) -> String {
    let last = messages.as_array().and_then(|all| all.last());
    let parts = last.and_then(|message| message["parts"].as_array());
    let texts = parts.into_iter().flatten();
    texts.filter_map(|part| part["text"].as_str()).collect()
}

#[track_caller]
fn assert_answered(ask: &Value, answer: &str, by: &str) {
    assert_eq!(ask["state"], "delivered", "{ask}");
    assert_eq!(ask["answer"]["answer"], answer, "{ask}");
    assert!(text(&ask["answer"]["by"]["name"]).starts_with(by), "{ask}");
    assert_eq!(ask["delivery"]["evidence"]["kind"], "announced", "{ask}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_asked_for_allowed_and_run_at_every_mount() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let grace = stage.token("collaborator", "Grace").await;
    let holders = [
        (CLIENT, "openwork client"),
        (&grace, "Grace"),
        (CLIENT, "openwork client"),
    ];
    for (number, (mount, (token, name))) in mounts(&stage).iter().zip(holders).enumerate() {
        let mut sdk = Sdk::start(&stage, mount, token);
        sdk.follow().await;
        let session = sdk.session().await;
        let file = format!("made-{number}.txt");
        let words = format!("SAY I sow.\nTOOL bash: echo peas > {file}\nFINAL Sown at {number}.");
        sdk.prompt(&session, &words).await;

        // The turn waits for the answer: whatever is heard now is heard while it goes on.
        let asked = sdk.event_of("permission.asked", &session).await;
        assert_eq!(asked["permission"], "bash", "{mount}: {asked}");
        assert_eq!(stage.file(&file), None, "nothing runs before the answer");
        let request = text(&asked["id"]);
        let reply = json!({ "requestID": request, "reply": "once" });
        assert_eq!(
            sdk.call("permission.reply", reply).await.good(),
            json!(true)
        );
        sdk.event_of("session.idle", &session).await;
        assert_eq!(stage.file(&file).as_deref(), Some("peas\n"), "{mount}");

        let messages = sdk.call("session.messages", json!({ "sessionID": session }));
        let messages = messages.await.good();
        assert_eq!(last_words(&messages), format!("Sown at {number}."));
        let ask = stage.ask(&owner, request).await;
        assert_answered(&ask, "allow_once", name);
    }
    assert_eq!(owner.alarms().await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_former_way_to_reply_is_an_answer_as_well() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let mut sdk = Sdk::start_former(&stage, "/opencode", CLIENT);
    sdk.follow().await;
    let made = sdk.call("session.create", json!({ "body": {} }));
    let session = text(&made.await.good()["id"]).to_owned();
    let parts = json!([{ "type": "text", "text": "TOOL bash: touch former.txt" }]);
    let prompt = json!({ "path": { "id": session }, "body": { "parts": parts } });
    sdk.call("session.promptAsync", prompt).await.good();
    let asked = sdk.event_of("permission.asked", &session).await;
    let request = text(&asked["id"]);
    let reply = json!({
        "path": { "id": session, "permissionID": request },
        "body": { "response": "once" },
    });
    let reply = sdk.call("postSessionIdPermissionsPermissionId", reply);
    assert_eq!(reply.await.good(), json!(true));
    sdk.event_of("session.idle", &session).await;
    assert_eq!(stage.file("former.txt").as_deref(), Some(""));
    let ask = stage.ask(&owner, request).await;
    assert_answered(&ask, "allow_once", "openwork client");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_with_its_reason_reaches_the_model_and_nothing_runs() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    sdk.follow().await;
    let session = sdk.session().await;
    let words = "TOOL bash: touch denied.txt\nFINAL As you wish.";
    sdk.prompt(&session, words).await;
    let asked = sdk.event_of("permission.asked", &session).await;
    let request = text(&asked["id"]);
    let reply = json!({ "requestID": request, "reply": "reject", "message": "not in winter" });
    sdk.call("permission.reply", reply).await.good();
    sdk.event_of("session.idle", &session).await;
    let reads = |request: &Value| {
        let mut results = tool_results(request).into_iter();
        results.any(|result| result.contains("not in winter"))
    };
    stage
        .model
        .wait_for_request(PATIENCE, "the model reads why", reads)
        .await;
    assert_eq!(stage.file("denied.txt"), None);
    let ask = stage.ask(&owner, request).await;
    assert_answered(&ask, "deny", "openwork client");

    // Who comes second is told so, by whichever way.
    let late = sdk.call(
        "permission.reply",
        json!({ "requestID": request, "reply": "once" }),
    );
    let late = late.await;
    assert_eq!(late.status, 409, "{late:?}");
    assert_eq!(late.body["code"], "ask_answered", "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn leave_for_always_holds_for_the_session_and_for_no_other() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    sdk.follow().await;
    let session = sdk.session().await;
    sdk.prompt(&session, "TOOL bash: echo one >> always.txt")
        .await;
    let asked = sdk.event_of("permission.asked", &session).await;
    let request = text(&asked["id"]);
    let reply = json!({ "requestID": request, "reply": "always" });
    sdk.call("permission.reply", reply).await.good();
    sdk.event_of("session.idle", &session).await;
    let ask = stage.ask(&owner, request).await;
    assert_answered(&ask, "allow_always", "openwork client");

    // The same again is answered by the rule that came of it.
    sdk.prompt(&session, "TOOL bash: echo one >> always.txt")
        .await;
    let asked = sdk.event_of("permission.asked", &session).await;
    sdk.event_of("session.idle", &session).await;
    assert_eq!(stage.file("always.txt").as_deref(), Some("one\none\n"));
    let ask = stage.ask(&owner, text(&asked["id"])).await;
    assert_eq!(ask["state"], "delivered", "{ask}");
    assert_eq!(ask["answer"]["by"]["kind"], "rule", "{ask}");

    let other = sdk.session().await;
    sdk.prompt(&other, "TOOL bash: echo one >> always.txt")
        .await;
    let asked = sdk.event_of("permission.asked", &other).await;
    let ask = stage.ask(&owner, text(&asked["id"])).await;
    assert_eq!(ask["state"], "open", "{ask}");
    assert_eq!(stage.file("always.txt").as_deref(), Some("one\none\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_is_answered_on_countersigns_own_surface_while_the_sdk_follows() {
    let stage = Stage::set(&[]).await;
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let mut sdk = Sdk::start(&stage, "/opencode", CLIENT);
    sdk.follow().await;
    let session = sdk.session().await;
    sdk.prompt(&session, "TOOL bash: touch elsewhere.txt").await;
    let asked = sdk.event_of("permission.asked", &session).await;
    let ask = stage.ask(&owner, text(&asked["id"])).await;
    let answer = json!({ "answer": "allow_once" });
    owner.answer(text(&ask["id"]), &answer).await.expect(200);
    let replied = sdk.event_of("permission.replied", &session).await;
    assert_eq!(replied["requestID"], asked["id"], "{replied}");
    sdk.event_of("session.idle", &session).await;
    assert_eq!(stage.file("elsewhere.txt").as_deref(), Some(""));
    let late = json!({ "requestID": asked["id"], "reply": "reject" });
    let late = sdk.call("permission.reply", late).await;
    assert_eq!(
        (late.status, &late.body["code"]),
        (409, &json!("ask_answered"))
    );
}
