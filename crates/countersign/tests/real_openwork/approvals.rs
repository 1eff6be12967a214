//! The host's side of writes: what waits for approval is listed and answered with OpenWork's own command.

use countersign_testkit::eventually;
use countersign_testkit::test_server::{Api, PATIENCE, Reply};
use serde_json::{Value, json};

use crate::command::openwork;
use crate::stage::{CLIENT, Stage, text};

/// Waits until exactly one write waits for approval, and returns it as the command lists it.
async fn waiting(stage: &Stage) -> Value {
    eventually(PATIENCE, "one write waits", async || {
        let listed = openwork(stage, &["approvals", "list"]).await.json();
        match listed["items"].as_array()?.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    })
    .await
}

/// Proposes a plugin as another client, which waits for what becomes of it.
async fn propose(client: &Api, path: &str, spec: &str) -> Reply {
    client.post(path, &json!({ "spec": spec })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_the_server_and_of_its_engine_is_told() {
    let stage = Stage::set(&[]).await;
    let told = openwork(&stage, &["status", "--json"]).await.json();
    assert_eq!(
        told["openwork"],
        json!({ "ok": true, "url": stage.url() }),
        "{told}"
    );

    // The command calls the engine with opencode's own client.
    let engine = stage.opencode.url();
    let told = openwork(
        &stage,
        &[
            "status",
            "--json",
            "--opencode-url",
            &engine,
            "--opencode-username",
            "opencode",
            "--opencode-password",
            stage.opencode.password(),
        ],
    )
    .await
    .json();
    assert_eq!(told["opencode"]["ok"], true, "{told}");
    assert_eq!(told["opencode"]["health"]["healthy"], true, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_the_host_allows_is_on_disk_and_one_that_it_denies_is_not() {
    let stage = Stage::set(&["--approval", "manual", "--approval-timeout", "120000"]).await;
    let client = stage.client();
    let path = format!("/workspace/{}/plugins", stage.id("garden"));
    let nothing = openwork(&stage, &["approvals", "list"]).await.json();
    assert_eq!(nothing, json!({ "items": [] }));

    let answer = async {
        let wanted = waiting(&stage).await;
        assert_eq!(wanted["action"], "plugins.add", "{wanted}");
        assert_eq!(wanted["summary"], "Add plugin kept-plugin", "{wanted}");
        assert_eq!(wanted["workspaceId"], stage.id("garden").as_str());
        assert_eq!(wanted["actor"]["type"], "remote", "{wanted}");
        assert_eq!(
            stage.file("opencode.jsonc"),
            None,
            "nothing before the answer"
        );
        let id = text(&wanted["id"]).to_owned();
        let reply = openwork(&stage, &["approvals", "reply", &id, "--allow"]).await;
        assert_eq!(reply.json(), json!({ "ok": true, "allowed": true }));
        id
    };
    let (written, id) = tokio::join!(propose(&client, &path, "kept-plugin"), answer);
    written.expect(200);
    let config = stage.file("opencode.jsonc").expect("the write is on disk");
    assert!(config.contains("kept-plugin"), "{config}");

    // What was answered is no longer there to be answered.
    let again = openwork(&stage, &["approvals", "reply", &id, "--deny"]).await;
    assert!(again.failure().contains("404"));

    let answer = async {
        let id = text(&waiting(&stage).await["id"]).to_owned();
        let reply = openwork(&stage, &["approvals", "reply", &id, "--deny"]).await;
        assert_eq!(reply.json(), json!({ "ok": true, "allowed": false }));
        id
    };
    let (denied, id) = tokio::join!(propose(&client, &path, "other-plugin"), answer);
    let denied = denied.expect(403);
    assert_eq!(denied["code"], "write_denied", "{denied}");
    assert_eq!(
        denied["details"],
        json!({ "requestId": id, "reason": "denied" })
    );
    assert_eq!(stage.file("opencode.jsonc"), Some(config));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_hold_the_hosts_token_answers_nothing() {
    let stage = Stage::set(&["--approval", "manual", "--approval-timeout", "120000"]).await;
    let client = stage.client();
    let path = format!("/workspace/{}/plugins", stage.id("garden"));
    let answer = async {
        let id = text(&waiting(&stage).await["id"]).to_owned();
        for arguments in [
            vec!["approvals", "list"],
            vec!["approvals", "reply", &id, "--allow"],
        ] {
            let arguments = [&arguments[..], &["--host-token", CLIENT]].concat();
            let refused = openwork(&stage, &arguments).await.failure();
            assert!(refused.contains("401"), "{refused}");
        }
        assert_eq!(text(&waiting(&stage).await["id"]), id);
        openwork(&stage, &["approvals", "reply", &id, "--deny"])
            .await
            .json();
    };
    let (denied, ()) = tokio::join!(propose(&client, &path, "a-plugin"), answer);
    denied.expect(403);
    assert_eq!(stage.file("opencode.jsonc"), None);
}
