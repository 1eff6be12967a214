//! Webhooks: signed, tried again, once more after a kill, and dead letters in the end.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use countersign_testkit::webhook_receiver::{Answer, ReceivedHook, WebhookReceiver};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;

use crate::scene::{SECRET, SECRET_VARIABLE, Scene};

/// A part of the address that nobody is to see.
const PATH: &str = "services/not-for-logs";

fn hook(receiver: &WebhookReceiver, more: &str) -> String {
    format!(
        "[[notify]]\nname = 'hook'\nkind = 'webhook'\nurl = '{}/{PATH}?key=neither-is-this'\n\
         secret_env = '{SECRET_VARIABLE}'\nfirst_pause_s = 1\ntime_limit_s = 2\n{more}\n",
        receiver.url()
    )
}

/// Checks a signature as a receiver does that knows the standard and the secret.
#[track_caller]
fn assert_signed(hook: &ReceivedHook) {
    let (id, timestamp) = (hook.header("webhook-id"), hook.header("webhook-timestamp"));
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(&hook.body);
    let signature = hook.header("webhook-signature");
    let signature = STANDARD.decode(signature.strip_prefix("v1,").unwrap());
    mac.verify_slice(&signature.unwrap())
        .expect("the signature fits");
    assert_eq!(hook.json()["id"], id);
}

fn subjects(hooks: &[ReceivedHook]) -> BTreeSet<String> {
    let subjects = hooks.iter().map(|hook| hook.json()["subject"].to_string());
    subjects.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_fails_at_first_gets_everything_across_kills_and_can_tell_what_it_had() {
    let receiver = WebhookReceiver::start(Answer::Refuse(500));
    let mut scene = Scene::with(&hook(&receiver, "tries = 100\nlongest_pause_s = 4")).await;
    let mut asks = BTreeSet::new();
    let first = scene.ask().await;
    asks.insert(first["id"].to_string());
    eventually(PATIENCE, "the first attempt is made", async || {
        (!receiver.received().is_empty()).then_some(())
    })
    .await;
    scene.kill_and_restart().await;
    scene.server.api().wait_for_engine().await;

    // Killed right after an ask is in the ledger: whether anything was made of its event is left to chance.
    for _ in 0..3 {
        let ask = scene.ask().await;
        asks.insert(ask["id"].to_string());
        scene.kill_and_restart().await;
        scene.server.api().wait_for_engine().await;
    }
    assert_eq!(receiver.taken().len(), 0);
    receiver.answer(Answer::Take);
    eventually(PATIENCE, "everything is taken", async || {
        (subjects(&receiver.taken()) == asks).then_some(())
    })
    .await;

    scene.wait_for("sent", asks.len()).await;
    assert_eq!(
        scene.notifications("waiting").await,
        [] as [serde_json::Value; 0]
    );
    assert_eq!(
        scene.notifications("dead").await,
        [] as [serde_json::Value; 0]
    );
    let received = receiver.received();
    let ids: BTreeSet<&str> = received
        .iter()
        .map(|hook| hook.header("webhook-id"))
        .collect();
    assert_eq!(ids.len(), asks.len(), "the id is the same at every attempt");
    for hook in &received {
        assert_signed(hook);
        let body = hook.json();
        assert_eq!(body["type"], "ask.opened");
        assert_eq!(body["details"], json!(null));
    }
    let of_first: Vec<_> = received
        .iter()
        .filter(|hook| hook.json()["subject"] == first["id"])
        .collect();
    assert!(of_first.len() >= 2, "it was tried again");
    assert!(of_first.iter().all(|hook| hook.body == of_first[0].body));
    scene.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_last_try_it_is_a_dead_letter_and_can_be_sent_again() {
    let receiver = WebhookReceiver::start(Answer::Refuse(503));
    let scene = Scene::with(&hook(&receiver, "tries = 2")).await;
    let ask = scene.ask().await;
    let dead = scene.wait_for("dead", 1).await;
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(dead[0]["attempts"], 2);
    assert_eq!(dead[0]["subject"], ask["id"]);
    let problem = dead[0]["problem"].as_str().unwrap();
    assert!(problem.contains("503"), "{problem}");
    assert_eq!(dead[0]["output"], "not today");

    let listed = scene.server.cli(&["notifications", "--dead"]).await;
    let listed = listed.expect_success();
    assert!(listed.stdout.contains("503"), "{listed:?}");
    assert!(listed.stderr.contains("not today"), "{listed:?}");
    let viewer = scene.server.token("viewer").await;
    let refused = scene
        .server
        .cli_with(
            &[("COUNTERSIGN_TOKEN", &viewer)],
            &["notifications", "--url", &scene.server.url()],
        )
        .await;
    refused.expect_code(4);

    receiver.answer(Answer::Take);
    let id = dead[0]["id"].as_str().unwrap();
    let short = &id[id.len() - 8..];
    let retry = scene.server.cli(&["notifications", "retry", short]).await;
    retry.expect_success();
    scene.wait_for("sent", 1).await;
    let taken = receiver.taken();
    assert_eq!(
        taken[0].header("webhook-id"),
        id,
        "it is still the same one"
    );
    assert_signed(&taken[0]);
    let again = scene.server.cli(&["notifications", "retry", id]).await;
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("no dead letter"), "{again:?}");
    let all = scene.server.cli(&["notifications", "retry", "--all"]).await;
    assert!(all.expect_success().stdout.starts_with("0 dead letters"));
    let list = scene.server.cli(&["notifications"]).await;
    let list = list.expect_success();
    assert!(list.stdout.contains("sent"), "{list:?}");

    // Neither the secret nor the path of the address is shown by anything.
    let json = scene.server.cli(&["notifications", "--json"]).await;
    for text in [
        scene.server.log(),
        json.stdout,
        list.stdout.clone(),
        list.stderr.clone(),
    ] {
        for secret in [SECRET, PATH, "neither-is-this"] {
            assert!(!text.contains(secret), "`{secret}` is in {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_is_told_and_what_it_was_about_where_that_is_said() {
    let receiver = WebhookReceiver::start(Answer::Take);
    let settings = hook(&receiver, "details = true");
    let scene = Scene::with(&format!("{settings}[asks]\nexpire_after_s = 2\n")).await;
    let ask = scene.ask().await;
    let sent = scene.wait_for("sent", 2).await;
    let mut events: Vec<_> = sent.iter().map(|it| it["occasion"].to_string()).collect();
    events.sort_unstable();
    assert_eq!(events, ["\"ask.expired\"", "\"ask.opened\""]);
    assert!(sent.iter().all(|it| it["subject"] == ask["id"]));
    let taken = receiver.taken();
    let details = taken[0].json()["details"].clone();
    assert_eq!(details["workspace"], "workspace-1");
    assert_eq!(details["tool"], "bash", "{details}");
    assert_eq!(details["what"], ask["summary"], "{details}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alarm_is_told_and_an_ask_that_a_rule_answers_is_not() {
    let receiver = WebhookReceiver::start(Answer::Take);
    let scene = Scene::with(&hook(&receiver, "details = true")).await;
    // A foreign answer raises an alarm.
    let foreign = scene.ask().await;
    let native = foreign["raw"]["id"].as_str().unwrap();
    assert!(scene.control().reply_as_foreigner(native).await);
    let alarm = eventually(PATIENCE, "the alarm is told", async || {
        let mut taken = receiver.taken().into_iter();
        taken.find(|hook| hook.json()["type"] == "alarm.raised")
    })
    .await;
    assert_signed(&alarm);
    let alarms = scene.server.api().alarms().await;
    assert_eq!(alarm.json()["subject"], alarms[0]["id"]);
    assert!(alarm.json()["details"]["what"].is_string());

    // What a rule answers waits for nobody: of two asks, the later one is the first that is told of.
    let add = ["rules", "add", "--tool", "bash", "--exact", "git status"];
    scene.server.cli(&add).await.expect_success();
    let settled = scene.ask_for("git status").await;
    assert_ne!(settled["state"], "open", "{settled}");
    let other = scene.ask_for("git push").await;
    eventually(PATIENCE, "the later ask is told", async || {
        let mut taken = receiver.taken().into_iter();
        taken.find(|hook| hook.json()["subject"] == other["id"])
    })
    .await;
    let told = subjects(&receiver.received());
    assert!(!told.contains(&settled["id"].to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_not_followed_and_one_that_never_answers_is_given_up_in_time() {
    let receiver = WebhookReceiver::start(Answer::Redirect);
    let scene = Scene::with(&hook(&receiver, "tries = 1")).await;
    let test = scene.server.cli(&["notifications", "test", "hook"]).await;
    assert_eq!(test.code, 1);
    assert!(
        test.stdout.contains("redirects are not followed"),
        "{test:?}"
    );
    assert_eq!(receiver.received().len(), 1);
    receiver.answer(Answer::Hang);
    scene.ask().await;
    let dead = scene.wait_for("dead", 1).await;
    let problem = dead[0]["problem"].as_str().unwrap();
    assert!(problem.contains("did not answer within 2 s"), "{problem}");
    let nobody = scene.server.cli(&["notifications", "test", "nobody"]).await;
    assert_eq!(nobody.code, 5, "{nobody:?}");
}
