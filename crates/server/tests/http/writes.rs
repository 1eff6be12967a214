//! Writes that clients propose, as people see and answer them over HTTP.

use std::time::Duration;

use countersign_broker::{BrokerError, Proposal, ProposedFile, Verdict};
use countersign_core::actor::{ActorKind, Surface};
use countersign_core::delivery::Evidence;
use countersign_core::digest::Digest;
use countersign_core::grant::{Caller, Role};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::stage::{Stage, now};

async fn person(stage: &Stage, name: &str, role: Role) -> Caller {
    let actor = stage.store.actor(ActorKind::Person, name, now());
    Caller::new(actor.await.unwrap(), role.grants(), None, Surface::Api)
}

/// Proposes a write as the person called `name`, and waits until the inbox of `reader` has it.
async fn proposed(
    stage: &Stage,
    name: &str,
    role: Role,
    reader: &Client,
) -> (JoinHandle<Result<Verdict, BrokerError>>, Value) {
    let caller = person(stage, name, role).await;
    let proposal = Proposal {
        workspace: stage.workspace,
        action: "plugins.add".to_owned(),
        summary: "Add plugin notes".to_owned(),
        paths: vec!["opencode.jsonc".to_owned()],
        changes: vec![ProposedFile {
            root: "/home/ada/project".to_owned(),
            path: "opencode.jsonc".to_owned(),
            before: Some(b"{}\n".to_vec()),
            after: Some(b"{\"plugin\": [\"notes\"]}\n".to_vec()),
        }],
        wire_actor: json!({ "type": "remote", "clientId": "phone" }),
        expires_in: Duration::from_mins(1),
        fingerprint: Digest::of_bytes(b"notes"),
    };
    let (broker, mut head) = (stage.broker.clone(), stage.store.head());
    let request = async move { broker.propose(&caller, proposal, ()).await };
    let request = stage.tasks.spawn(request);
    loop {
        head.mark_unchanged();
        let listed = reader.get("/api/v1/asks?state=open").await.json();
        if let Some(ask) = listed["asks"].as_array().unwrap().first() {
            return (request, ask.clone());
        }
        head.changed().await.unwrap();
    }
}

fn answer_path(ask: &Value) -> String {
    format!("/api/v1/asks/{}/answer", ask["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_write_is_in_the_inbox_with_its_difference_and_is_answered_there() {
    let stage = Stage::new().await;
    let approver = stage.client(Role::Approver).await;
    let (request, ask) = proposed(&stage, "bob", Role::Collaborator, &approver).await;
    assert_eq!(ask["door"], "workspace");
    assert_eq!(ask["requester"], "bob");
    assert_eq!(ask["summary"], "Add plugin notes");
    assert_eq!(ask["may_answer"], true);
    let subject = &ask["subject"];
    assert_eq!(subject["kind"], "workspace_write");
    assert_eq!(subject["by"]["name"], "bob");
    assert_eq!(subject["wire_actor"]["clientId"], "phone");
    let patch = subject["changes"][0]["patch"].as_str().unwrap();
    assert!(
        patch.contains("-{}\n+{\"plugin\": [\"notes\"]}\n"),
        "{patch}"
    );
    let sessions = approver.get("/api/v1/sessions").await.json();
    let sessions = sessions["sessions"].as_array().unwrap();
    assert!(
        sessions
            .iter()
            .all(|session| session["id"] != ask["session"]),
        "{sessions:?}"
    );

    let always = json!({ "answer": "allow_always" });
    let refused = approver.post(&answer_path(&ask), &always).await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let option = json!({ "answer": "option", "option": "allow" });
    let allowed = approver.post(&answer_path(&ask), &option).await;
    assert_eq!(allowed.status, 200, "{allowed:?}");
    assert_eq!(allowed.json()["answer"]["answer"], "allow_once");
    let Verdict::Allowed(leave) = request.await.unwrap().unwrap() else {
        panic!("it was allowed");
    };
    let digest = Digest::of_bytes(b"written");
    let evidence = Evidence::FilesWritten { digest };
    let bob = person(&stage, "bob", Role::Collaborator).await;
    let noting = stage
        .broker
        .wrote(&bob, leave, (evidence, None), Vec::new());
    noting.await.unwrap();
    let path = format!("/api/v1/asks/{}/settled", ask["id"].as_str().unwrap());
    let settled = approver.get(&path).await.json();
    assert_eq!(settled["state"], "delivered");
    assert_eq!(settled["delivery"]["evidence"]["kind"], "files_written");
    assert_eq!(
        settled["delivery"]["evidence"]["digest"],
        digest.to_string()
    );
}

#[tokio::test]
async fn who_may_not_answer_a_write_is_told_why() {
    let stage = Stage::new().await;
    // Tokens of one name stand for one actor.
    let owner = stage.client(Role::Owner).await;
    let (request, ask) = proposed(&stage, "owner", Role::Owner, &owner).await;
    assert_eq!(ask["may_answer"], false);
    let allow = json!({ "answer": "allow_once" });

    let own = owner.post(&answer_path(&ask), &allow).await;
    assert_eq!(own.status, 403, "{own:?}");
    assert_eq!(own.json()["details"]["reason"], "own_proposal");
    let message = own.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("you proposed this write yourself"),
        "{message}"
    );

    let collaborator = stage.client(Role::Collaborator).await;
    let refused = collaborator.post(&answer_path(&ask), &allow).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(refused.json()["details"]["grant"], "approve");
    let viewer = stage.client(Role::Viewer).await;
    let refused = viewer.post(&answer_path(&ask), &allow).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    request.abort();
}

#[tokio::test]
async fn an_allow_for_a_client_that_went_away_is_gone_and_says_why() {
    let stage = Stage::new().await;
    let approver = stage.client(Role::Approver).await;
    let (request, ask) = proposed(&stage, "bob", Role::Collaborator, &approver).await;
    request.abort();
    let path = format!("/api/v1/asks/{}/settled", ask["id"].as_str().unwrap());
    assert_eq!(approver.get(&path).await.json()["state"], "withdrawn");

    let late = approver
        .post(&answer_path(&ask), &json!({ "answer": "allow_once" }))
        .await;
    assert_eq!(late.status, 410, "{late:?}");
    let body = late.json();
    let message = body["message"].as_str().unwrap();
    assert!(
        message.contains("client that proposed it went away"),
        "{message}"
    );
    assert_eq!(
        body["details"]["ask"]["subject"]["summary"],
        "Add plugin notes"
    );
}
