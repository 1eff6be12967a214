//! Web Push: a paired browser is told of new asks by what its push service cannot read, for as long as it is paired.

use countersign_core::answer::Choice;
use countersign_core::grant::Role;
use countersign_testkit::eventually;
use countersign_testkit::push_device::{PushDevice, sender_of};
use countersign_testkit::webhook_receiver::{Answer, ReceivedHook, WebhookReceiver};
use http::Method;
use serde_json::Value;

use crate::client::{Client, PATIENCE};
use crate::stage::Stage;

const SUBSCRIPTION: &str = "/api/v1/push/subscription";

/// A paired browser, as a page of ours calls.
async fn browser(stage: &Stage, role: Role) -> Client {
    let browser = stage.browser(role).await;
    browser
        .with("origin", &format!("http://{}", stage.address))
        .with("content-type", "application/json")
}

async fn subscribe(browser: &Client, subscription: &Value) {
    let body = subscription.to_string();
    let reply = browser.send(Method::PUT, SUBSCRIPTION, body).await;
    assert_eq!(reply.status, 204, "{reply:?}");
}

async fn is_subscribed(browser: &Client) -> bool {
    let reply = browser.get("/api/v1/push").await;
    reply.json()["subscribed"] == true
}

async fn first_of(receiver: &WebhookReceiver) -> ReceivedHook {
    eventually(PATIENCE, "something is pushed", async || {
        receiver.received().into_iter().next()
    })
    .await
}

#[tokio::test]
async fn a_paired_browser_is_told_that_an_agent_asks_and_not_what() {
    let stage = Stage::new().await;
    let service = WebhookReceiver::start(Answer::Take);
    let browser = browser(&stage, Role::Viewer).await;
    let key = browser.get("/api/v1/push").await.json()["public_key"].clone();
    assert!(!is_subscribed(&browser).await);
    stage.ask("before anybody wanted to know").await;
    let device = PushDevice::new();
    let endpoint = format!("{}/send/device-one", service.url());
    subscribe(&browser, &device.subscription(&endpoint)).await;
    assert!(is_subscribed(&browser).await);

    let ask = stage.ask("cat the-secret-plan").await;

    let push = first_of(&service).await;
    assert_eq!(push.header("content-encoding"), "aes128gcm");
    assert_eq!(push.header("urgency"), "high");
    assert!(push.header("ttl").parse::<u32>().unwrap() > 0);
    assert_eq!(push.header("topic").len(), 32);
    let (claims, signed_with) = sender_of(push.header("authorization"));
    assert_eq!(claims["aud"], service.url());
    assert_eq!(claims["sub"], "mailto:ada@example.org");
    assert_eq!(key, signed_with.as_str());
    let read = device.read(&push.body);
    assert_eq!(
        read,
        serde_json::json!({ "type": "ask.opened", "subject": ask.id.to_string() })
    );
    // The server's key is the same for the next browser, and the same after the next question.
    let again = browser.get("/api/v1/push").await.json()["public_key"].clone();
    assert_eq!(again, key);
}

#[tokio::test]
async fn who_signed_out_or_was_signed_out_is_told_nothing_more() {
    let stage = Stage::new().await;
    let service = WebhookReceiver::start(Answer::Take);
    let stays = browser(&stage, Role::Viewer).await;
    let leaves = browser(&stage, Role::Viewer).await;
    let is_revoked = browser(&stage, Role::Viewer).await;
    let wants_no_more = browser(&stage, Role::Viewer).await;
    let names = [
        (&stays, "stays"),
        (&leaves, "leaves"),
        (&is_revoked, "revoked"),
        (&wants_no_more, "unwanted"),
    ];
    for (browser, name) in names {
        let endpoint = format!("{}/send/{name}", service.url());
        subscribe(browser, &PushDevice::new().subscription(&endpoint)).await;
    }
    assert_eq!(
        leaves
            .send(Method::POST, "/api/v1/sign-out", "")
            .await
            .status,
        204
    );
    assert_eq!(wants_no_more.delete(SUBSCRIPTION).await.status, 204);
    let owner = Client::local(&stage.socket);
    let tokens = owner.get("/api/v1/tokens").await.json();
    let tokens = tokens["tokens"].as_array().unwrap().clone();
    // Newest first: the one that wants no more, then the one that is to go.
    let browsers: Vec<&Value> = tokens
        .iter()
        .filter(|token| token["kind"] == "browser")
        .collect();
    let id = browsers[1]["id"].as_str().unwrap();
    let revoked = owner.delete(&format!("/api/v1/tokens/{id}")).await;
    assert_eq!(revoked.status, 204);
    assert_eq!(is_revoked.get("/api/v1/push").await.status, 401);

    stage.ask("ls").await;

    first_of(&service).await;
    // All of them would have been written down together.
    let owner = stage.broker.local_owner();
    let told = stage.broker.notifications(&owner, None, 100).await.unwrap();
    let devices = told.iter().filter(|it| it.target.starts_with("device:"));
    assert_eq!(devices.count(), 1, "{told:?}");
    assert!(is_subscribed(&stays).await);
}

#[tokio::test]
async fn a_browser_that_its_push_service_does_not_know_any_more_is_forgotten() {
    for status in [404, 410] {
        let stage = Stage::new().await;
        let service = WebhookReceiver::start(Answer::Refuse(status));
        let browser = browser(&stage, Role::Viewer).await;
        let endpoint = format!("{}/send/gone", service.url());
        subscribe(&browser, &PushDevice::new().subscription(&endpoint)).await;

        stage.ask("ls").await;

        eventually(PATIENCE, "the browser is forgotten", async || {
            (!is_subscribed(&browser).await).then_some(())
        })
        .await;
        assert_eq!(service.received().len(), 1);
    }
}

#[tokio::test]
async fn nobody_is_told_of_an_ask_that_was_answered_while_the_push_service_was_away() {
    let stage = Stage::new().await;
    let service = WebhookReceiver::start(Answer::Refuse(503));
    let browser = browser(&stage, Role::Viewer).await;
    let endpoint = format!("{}/send/later", service.url());
    subscribe(&browser, &PushDevice::new().subscription(&endpoint)).await;
    let ask = stage.ask("ls").await;
    first_of(&service).await;

    let owner = stage.broker.local_owner();
    let answered = stage.broker.answer(&owner, &ask, Choice::AllowOnce).await;
    answered.unwrap();

    eventually(PATIENCE, "nothing waits any more", async || {
        let waiting = stage.broker.notifications(&owner, None, 100).await.unwrap();
        waiting
            .iter()
            .all(|it| !it.target.starts_with("device:"))
            .then_some(())
    })
    .await;
    assert_eq!(service.received().len(), 1);
    assert!(is_subscribed(&browser).await);
}

#[tokio::test]
async fn a_push_service_cannot_send_the_server_elsewhere_and_its_refusal_is_a_dead_letter() {
    let stage = Stage::new().await;
    let service = WebhookReceiver::start(Answer::Redirect);
    let browser = browser(&stage, Role::Viewer).await;
    let endpoint = format!("{}/send/elsewhere", service.url());
    subscribe(&browser, &PushDevice::new().subscription(&endpoint)).await;

    stage.ask("ls").await;

    let owner = Client::local(&stage.socket);
    let letter = eventually(PATIENCE, "a dead letter", async || {
        let dead = owner.get("/api/v1/notifications?state=dead").await.json();
        dead["notifications"].as_array().unwrap().first().cloned()
    })
    .await;
    assert_eq!(service.received().len(), 1);
    let said = letter.to_string();
    assert!(said.contains("307") && !said.contains("/send/"), "{said}");
}

#[tokio::test]
async fn only_a_paired_browser_subscribes_and_only_where_it_may() {
    let stage = Stage::new().await;
    let device = PushDevice::new();
    let fit = device.subscription("https://push.example/send/1");
    let program = stage.client(Role::Owner).await;
    let program = program.with("content-type", "application/json");
    for caller in [
        program,
        Client::local(&stage.socket).with("content-type", "application/json"),
    ] {
        let reply = caller
            .send(Method::PUT, SUBSCRIPTION, fit.to_string())
            .await;
        assert_eq!(reply.status, 409, "{reply:?}");
    }
    let browser = browser(&stage, Role::Viewer).await;
    for endpoint in [
        "http://push.example/send/1",
        "file:///etc/passwd",
        "https://a:b@push.example/",
    ] {
        let body = device.subscription(endpoint).to_string();
        let reply = browser.send(Method::PUT, SUBSCRIPTION, body).await;
        assert_eq!(reply.status, 422, "{endpoint}: {reply:?}");
        assert!(!String::from_utf8_lossy(&reply.body).contains("push.example"));
    }
    // A page of another site has the cookie sent along, and gets nowhere.
    let foreign = browser.with("origin", "https://evil.example");
    let reply = foreign
        .send(Method::PUT, SUBSCRIPTION, fit.to_string())
        .await;
    assert_eq!(reply.status, 403, "{reply:?}");
}
