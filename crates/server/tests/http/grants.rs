//! Every route × every kind of caller.

use std::sync::atomic::{AtomicI64, Ordering};

use countersign_core::actor::ActorKind;
use countersign_core::ask::Withdrawal;
use countersign_core::attachment::{Attachment, AttachmentKind};
use countersign_core::delivery::Evidence;
use countersign_core::grant::{Grant, Role};
use countersign_core::id::{
    AskId, AttachmentId, RuleId, RunId, SessionId, TokenId, TurnId, WorkspaceId,
};
use countersign_core::notification::{Happening, Occasion};
use countersign_store::{Attached, Happened, NewTurn, NotificationFilter};
use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::{Stage, now};

/// What a route wants of its caller.
pub(crate) enum Wants {
    /// Nothing.
    Nothing,
    /// To know who it is.
    AnyCaller,
    /// A grant.
    Grant(Grant),
}

/// A prompt that somebody would take back.
pub(crate) const QUEUED: &str = "turn_01kaaaaaaaf7aaaaaaaaaaaaaa";

/// What every operation of the document wants, and a body for it that can be understood.
#[expect(clippy::too_many_lines, reason = "a line for each operation")]
pub(crate) fn wants(operation: &str) -> (Wants, Value) {
    use Grant::{Administer, Answer, Prompt, Read};
    match operation {
        "healthz" | "readyz" => (Wants::Nothing, Value::Null),
        "pair" => (Wants::Nothing, json!({ "code": "wrong" })),
        "me" | "sign_out" => (Wants::AnyCaller, Value::Null),
        "metrics" | "list_workspaces" | "list_asks" | "show_ask" | "settled_ask"
        | "list_engines" | "list_sessions" | "show_session" | "list_items" | "list_rules"
        | "show_settings" | "list_alarms" | "follow_events" | "show_attachment" | "list_jobs"
        | "search_transcripts" | "list_chains" | "show_push" | "unsubscribe" | "show_figures"
        | "show_job" | "ended_job" | "job_log" | "job_diff" | "show_holdings" | "show_skill"
        | "export_workspace" => (Wants::Grant(Read), Value::Null),
        "preview_change" => (
            Wants::Grant(Grant::Propose),
            json!({ "change": { "kind": "add_plugin", "spec": "notes" } }),
        ),
        "propose_change" => (
            Wants::Grant(Grant::Propose),
            json!({ "change": { "kind": "add_plugin", "spec": "notes" }, "digest": "0".repeat(64) }),
        ),
        "add_workspace" => (
            Wants::Grant(Administer),
            json!({ "path": "/home/ada/nowhere" }),
        ),
        "rename_workspace" => (Wants::Grant(Administer), json!({ "name": "project" })),
        "remove_workspace" | "restart_engine" | "reload_engine" => {
            (Wants::Grant(Administer), Value::Null)
        }
        "subscribe" => (
            Wants::Grant(Read),
            json!({ "endpoint": "https://push.example/x", "keys": { "p256dh": "", "auth": "" } }),
        ),
        "answer_ask" => (Wants::Grant(Answer), json!({ "answer": "allow_once" })),
        "start_session" | "heal_jobs" | "retry_job" => (Wants::Grant(Prompt), json!({})),
        "hand_in_job" => (
            Wants::Grant(Prompt),
            json!({ "kind": "task", "prompt": "hello", "engine": "demo" }),
        ),
        "prompt_session" => (Wants::Grant(Prompt), json!({ "text": "hello" })),
        "take_back_prompt" => (Wants::Grant(Prompt), json!({ "turn": QUEUED })),
        "prioritise_job" => (Wants::Grant(Prompt), json!({ "priority": 1 })),
        // It wants `answer` as well, which every role has that has `prompt`.
        "change_settings" => (Wants::Grant(Prompt), json!({ "mode": "plan" })),
        "cancel_session" | "list_earlier_sessions" | "cancel_job" | "keep_job" | "discard_job" => {
            (Wants::Grant(Prompt), Value::Null)
        }
        "list_tokens"
        | "revoke_token"
        | "revoke_rule"
        | "list_audit"
        | "verify_audit"
        | "search_audit"
        | "list_notifications"
        | "list_schedules"
        | "retry_notification"
        | "retry_notifications"
        | "test_target" => (Wants::Grant(Administer), Value::Null),
        "make_token" | "make_pairing" => (
            Wants::Grant(Administer),
            json!({ "name": "bob", "role": "viewer" }),
        ),
        "make_rule" => (
            Wants::Grant(Administer),
            json!({ "tool": "edit", "verdict": "deny", "match": "glob", "pattern": "*.lock" }),
        ),
        "expire_rule" => (Wants::Grant(Administer), json!({ "expires_in_s": 60 })),
        "preview_rule" => (
            Wants::Grant(Read),
            json!({ "tool": "edit", "match": "glob", "pattern": "*.lock" }),
        ),
        "begin_run" => (
            Wants::Grant(Grant::Ask),
            json!({ "directory": "/home/ada/project", "program": "opencode", "version": "1.0.0" }),
        ),
        "keep_run" => (Wants::Grant(Grant::Ask), json!({})),
        "end_run" | "fetch_answer" => (Wants::Grant(Grant::Ask), Value::Null),
        "hand_in" => (
            Wants::Grant(Grant::Ask),
            json!({ "kind": "permission", "request": {}, "session": { "id": "ses_1" } }),
        ),
        "report" => (Wants::Grant(Grant::Ask), json!({ "outcome": "gone" })),
        other => panic!("the test does not know what `{other}` wants of its caller"),
    }
}

/// An operation of the document.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// All that the document says of it.
    pub(crate) said: Value,
}

/// Every operation of the document.
pub(crate) fn operations() -> Vec<Operation> {
    let document = serde_json::to_value(countersign_server::openapi()).unwrap();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, said) in item.as_object().unwrap() {
            operations.push(Operation {
                id: said["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                said: said.clone(),
            });
        }
    }
    assert!(operations.len() > 20);
    operations
}

/// The path with ids of things that are there, so that only the grant decides.
pub(crate) async fn filled(stage: &Stage, operation: &str, path: &str) -> String {
    let id = match operation {
        "show_ask" | "answer_ask" => stage.ask("ls").await.id.to_string(),
        "settled_ask" => {
            let ask = stage.ask("ls").await.id;
            let why = Withdrawal::SessionEnded;
            stage.store.withdraw(ask, &why, now()).await.unwrap();
            ask.to_string()
        }
        "show_session" | "list_items" | "prompt_session" | "cancel_session"
        | "take_back_prompt" | "show_settings" | "change_settings" => {
            begin_turn(stage, QUEUED.parse().unwrap(), &[]).await;
            stage.session.to_string()
        }
        "show_attachment" => attachment(stage).await,
        "show_holdings" | "show_skill" | "export_workspace" | "preview_change"
        | "propose_change" | "rename_workspace" | "restart_engine" | "reload_engine" => {
            stage.workspace.to_string()
        }
        // The one that is there is needed for the rest.
        "remove_workspace" => WorkspaceId::generate(now()).to_string(),
        "show_job" | "ended_job" | "job_log" | "job_diff" | "cancel_job" | "keep_job"
        | "discard_job" | "prioritise_job" | "retry_job" => job(stage).await,
        "revoke_token" => token(stage).await,
        "revoke_rule" | "expire_rule" => rule(stage).await,
        "retry_notification" => dead_letter(stage).await,
        "search_transcripts" => return format!("{path}?q=look"),
        "test_target" => return path.replace("{name}", "bell"),
        _ => String::new(),
    };
    path.replace("{id}", &id)
        .replace("{name}", "opencode")
        .replace("{run}", &RunId::generate(now()).to_string())
        .replace("{ask}", &AskId::generate(now()).to_string())
}

async fn attachment(stage: &Stage) -> String {
    let id = AttachmentId::generate(now());
    let attached = Attached {
        attachment: Attachment {
            id,
            kind: AttachmentKind::Text,
            name: "notes.md".to_owned(),
            media_type: None,
            size: 4,
            kept: true,
        },
        bytes: Some(b"text".to_vec()),
    };
    begin_turn(stage, TurnId::generate(now()), &[attached]).await;
    id.to_string()
}

/// A turn of the session, unless it was begun before.
async fn begin_turn(stage: &Stage, turn: TurnId, attached: &[Attached]) {
    let new = NewTurn {
        id: turn,
        session: stage.session,
        native_id: turn.to_string(),
        prompt: "look".to_owned(),
        model: None,
        agent: None,
        follows: None,
        mode: None,
    };
    let ada = stage.store.actor(ActorKind::Person, "ada", now()).await;
    stage
        .store
        .begin_turn_with(stage.workspace, new, attached, &ada.unwrap(), now())
        .await
        .unwrap();
}

/// A job that has ended.
async fn job(stage: &Stage) -> String {
    let body = json!({
        "kind": "task", "prompt": "look", "engine": "demo", "workspace": stage.workspace,
    });
    let owner = Client::local(&stage.socket);
    let made = owner.post("/api/v1/jobs", &body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let ended = owner.get(&format!("/api/v1/jobs/{id}/ended")).await.json();
    assert_eq!(ended["state"], "failed", "{ended}");
    id
}

async fn token(stage: &Stage) -> String {
    let body = json!({ "name": "spare", "role": "viewer", "workspace": stage.workspace });
    let made = Client::local(&stage.socket)
        .post("/api/v1/tokens", &body)
        .await;
    made.json()["token"]["id"].as_str().unwrap().to_owned()
}

async fn rule(stage: &Stage) -> String {
    let (_, mut body) = wants("make_rule");
    body["workspace"] = json!(stage.workspace);
    let made = Client::local(&stage.socket)
        .post("/api/v1/rules", &body)
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_str().unwrap().to_owned()
}

/// A notification that was given up.
async fn dead_letter(stage: &Stage) -> String {
    static EVENT: AtomicI64 = AtomicI64::new(1);
    let event = EVENT.fetch_add(1, Ordering::Relaxed);
    let happened = Happened {
        target: "bell".to_owned(),
        event,
        at: now(),
        workspace: stage.workspace,
        happening: Happening {
            occasion: Occasion::AskOpened,
            subject: AskId::generate(now()).to_string(),
            session: None,
        },
    };
    let store = &stage.store;
    store
        .add_notifications("tests", event, &[happened], now())
        .await
        .unwrap();
    let newest = store.notifications(NotificationFilter::default(), 1).await;
    let id = newest.unwrap()[0].id;
    store
        .bury_notification(id, "nobody was there", None, now())
        .await
        .unwrap();
    id.to_string()
}

pub(crate) async fn call(
    client: &Client,
    method: &Method,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let client = client.with("content-type", "application/json");
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let (response, _connection) = client.begin(method.clone(), path, body.into()).await;
    let status = response.status().as_u16();
    if path.ends_with("/events") && status == 200 {
        return (status, Value::Null);
    }
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn every_route_lets_in_whoever_holds_its_grant_and_nobody_else() {
    let stage = Stage::new().await;
    let nobody = stage.nobody();
    let liar = nobody.with("authorization", "Bearer cs_0123456789abcdef");
    let basic = nobody.with("authorization", "Basic YWRhOnNlY3JldA==");
    let cookie = format!("countersign_{}=cs_0123456789abcdef", stage.address.port());
    let forged = nobody.with("cookie", &cookie);
    let mut people = Vec::new();
    for role in Role::ALL {
        people.push((role, stage.client(role).await));
    }
    for Operation {
        id: operation,
        method,
        path: template,
        ..
    } in operations()
    {
        let (wants, body) = wants(&operation);
        let path = filled(&stage, &operation, &template).await;
        for stranger in [&nobody, &liar, &basic, &forged] {
            let (status, said) = call(stranger, &method, &path, &body).await;
            match &wants {
                Wants::Nothing => assert!(![401, 403].contains(&status), "{operation}: {said}"),
                // A forged cookie without a page of ours is refused before it is looked at.
                Wants::AnyCaller | Wants::Grant(_) => {
                    assert!(
                        [401, 403].contains(&status),
                        "{operation} gave {status}: {said}"
                    );
                }
            }
        }
        for (role, person) in &people {
            let path = filled(&stage, &operation, &template).await;
            let (status, said) = call(person, &method, &path, &body).await;
            match &wants {
                Wants::Grant(grant) if !role.grants().contains(*grant) => {
                    assert_eq!(status, 403, "{operation} as {}: {said}", role.name());
                    assert_eq!(said["code"], "forbidden");
                    assert_eq!(
                        said["details"]["grant"],
                        grant.name(),
                        "{operation}: {said}"
                    );
                }
                // The asks of other people's engines are not there for an agent.
                Wants::Grant(Grant::Ask) => assert!([404, 422].contains(&status), "{said}"),
                // There are no skills, and the one workspace is needed for the rest.
                Wants::Grant(_)
                    if ["remove_workspace", "show_skill"].contains(&operation.as_str()) =>
                {
                    assert_eq!(status, 404, "{said}");
                }
                Wants::Nothing | Wants::AnyCaller | Wants::Grant(_) => assert!(
                    ![401, 403, 404, 405, 500].contains(&status),
                    "{operation} as {} gave {status}: {said}",
                    role.name()
                ),
            }
        }
    }
}

#[tokio::test]
async fn one_thing_is_set_at_a_time_and_only_what_is_offered() {
    let stage = Stage::new().await;
    let path = format!("/api/v1/sessions/{}/settings", stage.session);
    let owner = stage.client(Role::Owner).await;
    let unfit = owner.post(&path, &json!({ "mode": "plan" })).await;
    assert_eq!(unfit.status, 422);
    for body in [
        json!({}),
        json!({ "option": "x" }),
        json!({ "mode": "a", "model": "b" }),
    ] {
        let reply = owner.post(&path, &body).await;
        assert_eq!(reply.status, 422, "{body}");
    }
}

#[tokio::test]
async fn a_thing_that_is_not_there_is_404_whatever_its_id_looks_like() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let paths = [
        format!("/api/v1/asks/{}", AskId::generate(now())),
        format!("/api/v1/asks/{}/settled", AskId::generate(now())),
        format!("/api/v1/sessions/{}", SessionId::generate(now())),
        format!("/api/v1/sessions/{}/items", SessionId::generate(now())),
        "/api/v1/asks/per_1234".to_owned(),
        "/api/v1/asks/..%2f..%2fetc%2fpasswd".to_owned(),
        "/api/v1/asks/%ff%fe".to_owned(),
        "/api/v1/sessions/ask_1".to_owned(),
        "/api/v2/asks".to_owned(),
        "/health".to_owned(),
        "/app/no-such-file.js".to_owned(),
    ];
    for path in paths {
        let reply = owner.get(&path).await;
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (404, "not_found"),
            "{path}"
        );
    }
    for path in [
        format!("/api/v1/tokens/{}", TokenId::generate(now())),
        format!("/api/v1/rules/{}", RuleId::generate(now())),
    ] {
        let reply = owner.delete(&path).await;
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (404, "not_found"),
            "{path}"
        );
    }
    let reply = owner.delete("/api/v1/asks").await;
    assert_eq!(
        (reply.status, reply.code().as_str()),
        (405, "method_not_allowed")
    );
    assert_eq!(reply.header("allow"), Some("GET,HEAD"));
}

#[tokio::test]
async fn figures_tell_of_asks_streams_and_requests() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let mut events = owner.events(None).await;
    events.next().await.unwrap();
    let ask = stage.ask("ls").await;
    stage.ask("rm -rf target").await;
    let path = format!("/api/v1/asks/{}/answer", ask.id);
    owner.post(&path, &json!({ "answer": "allow_once" })).await;
    // The figures follow the events: once the stream has the answer, so have they.
    while events.next().await.unwrap().data["state"] != "answered" {}
    let announced = Evidence::Announced {
        event: "permission.replied".to_owned(),
    };
    let delivered = stage.store.mark_delivered(ask.id, &announced, now());
    assert!(delivered.await.unwrap());
    while events.next().await.unwrap().data["state"] != "delivered" {}
    // Two looks at the ask that is left are one seeing.
    for _ in 0..2 {
        owner.get("/api/v1/asks?state=open").await;
    }

    let reply = owner.get("/metrics").await;
    let text = std::str::from_utf8(&reply.body).unwrap();
    for line in [
        "countersign_open_asks 1",
        "countersign_event_streams 1",
        "countersign_asks_total{state=\"open\"} 2",
        "countersign_asks_total{state=\"answered\"} 1",
        "countersign_ask_time_to_see_seconds_count 1",
        "countersign_asks_total{state=\"delivered\"} 1",
        "countersign_ask_time_to_answer_seconds_count 1",
        "countersign_ask_time_to_deliver_seconds_count 1",
        "countersign_requests_total{route=\"/api/v1/asks/{id}/answer\",status=\"200\"} 1",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "no `{line}` in\n{text}"
        );
    }
}
