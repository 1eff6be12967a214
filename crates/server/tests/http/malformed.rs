//! Whatever is sent, the server says what is wrong with it and stays up.

use countersign_core::grant::Role;
use http::Method;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::client::Client;
use crate::stage::Stage;

/// A path that takes a body, who may call it, and a body that it takes.
struct Target {
    path: String,
    client: Client,
    good: Value,
}

/// Every path that takes a body.
async fn targets(stage: &Stage) -> Vec<Target> {
    let ask = stage.ask("make").await.id;
    let session = stage.session;
    let of_people = [
        (
            format!("/api/v1/asks/{ask}/answer"),
            json!({ "answer": "deny", "reason": "no" }),
        ),
        ("/api/v1/sessions".to_owned(), json!({ "title": "Fix" })),
        (
            format!("/api/v1/sessions/{session}/prompt"),
            json!({ "text": "hello", "model": "a/b", "agent": "build" }),
        ),
        (
            "/api/v1/tokens".to_owned(),
            json!({ "name": "bob", "role": "viewer", "expires_in_s": 60 }),
        ),
        (
            "/api/v1/pairings".to_owned(),
            json!({ "name": "bob", "role": "viewer" }),
        ),
        ("/api/v1/pair".to_owned(), json!({ "code": "x" })),
        (
            "/api/v1/rules".to_owned(),
            json!({ "tool": "edit", "verdict": "deny", "match": "glob", "pattern": "*.md" }),
        ),
        (
            "/api/v1/rules/preview".to_owned(),
            json!({ "tool": "edit", "match": "glob", "pattern": "*.md" }),
        ),
    ];
    let owner = stage.client(Role::Owner).await;
    let agent = stage.client(Role::Agent).await;
    let of_people = of_people.map(|(path, good)| (path, good, &owner));
    let workspaces = owner.get("/api/v1/workspaces").await.json();
    let of_programs = of_programs(&agent, &workspaces["workspaces"][0]["path"]).await;
    let of_programs = of_programs.map(|(path, good)| (path, good, &agent));
    let typed = |client: &Client| client.with("content-type", "application/json");
    of_people
        .into_iter()
        .chain(of_programs)
        .map(|(path, good, client)| Target {
            path,
            client: typed(client),
            good,
        })
        .collect()
}

/// What a program that hands its asks in sends, once it has announced itself and asked.
async fn of_programs(agent: &Client, directory: &Value) -> [(String, Value); 4] {
    let runs = "/api/v1/door/runs".to_owned();
    let life = json!({ "directory": directory, "program": "opencode", "version": "1.18.33" });
    let begun = agent.post(&runs, &life).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = format!("{runs}/{}", begun.json()["run"].as_str().unwrap());
    let request = json!({
        "id": "per_door", "sessionID": "ses_door", "permission": "bash", "patterns": ["make"],
        "metadata": { "command": "make" }, "always": [],
    });
    let session = json!({ "id": "ses_door", "title": "Fix the build", "agent": "build" });
    let asks = format!("{run}/asks");
    let ask = json!({ "kind": "permission", "request": request, "session": session });
    let handed_in = agent.post(&asks, &ask).await;
    assert_eq!(handed_in.status, 201, "{handed_in:?}");
    let report = format!(
        "{asks}/{}/report",
        handed_in.json()["ask"].as_str().unwrap()
    );
    [
        (runs, life),
        (format!("{run}/alive"), json!({ "process": null })),
        (asks, ask),
        (
            report,
            json!({ "outcome": "answered_here", "reply": "once" }),
        ),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z_]{1,8}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// How a good body is spoilt.
#[derive(Debug, Clone)]
enum Spoiling {
    Bytes(Vec<u8>),
    Whole(Value),
    Field(usize, Value),
    Cut(usize),
    Flip(usize, u8),
}

fn spoiling() -> impl Strategy<Value = Spoiling> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200).prop_map(Spoiling::Bytes),
        any_json().prop_map(Spoiling::Whole),
        (any::<usize>(), any_json()).prop_map(|(index, value)| Spoiling::Field(index, value)),
        any::<usize>().prop_map(Spoiling::Cut),
        (any::<usize>(), any::<u8>()).prop_map(|(index, byte)| Spoiling::Flip(index, byte)),
    ]
}

fn spoil(good: &Value, spoiling: Spoiling) -> Vec<u8> {
    let mut bytes = good.to_string().into_bytes();
    match spoiling {
        Spoiling::Bytes(bytes) => bytes,
        Spoiling::Whole(value) => value.to_string().into_bytes(),
        Spoiling::Field(index, value) => {
            let mut fields = good.as_object().unwrap().clone();
            let name = fields.keys().nth(index % fields.len()).unwrap().clone();
            fields.insert(name, value);
            Value::Object(fields).to_string().into_bytes()
        }
        Spoiling::Cut(length) => {
            bytes.truncate(length % bytes.len());
            bytes
        }
        Spoiling::Flip(index, byte) => {
            let index = index % bytes.len();
            bytes[index] = byte;
            bytes
        }
    }
}

#[test]
fn no_body_makes_the_server_fail() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (stage, targets) = runtime.block_on(async {
        let stage = Stage::new().await;
        let targets = targets(&stage).await;
        (stage, targets)
    });
    let cases = (0..targets.len(), spoiling());
    TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(1_000)
    })
    .run(&cases, |(target, spoiling)| {
        let Target { path, client, good } = &targets[target];
        let body = spoil(good, spoiling);
        let reply = runtime.block_on(client.send(Method::POST, path, body));
        prop_assert!(!matches!(reply.status, 401 | 403), "{path} gave {reply:?}");
        // Without an engine, talking to one is the one thing that cannot be done.
        let served = reply.status < 500 || reply.status == 503;
        prop_assert!(served, "{path} gave {reply:?}");
        if reply.status >= 400 {
            reply.code();
        }
        Ok(())
    })
    .unwrap();
    runtime.block_on(async {
        assert_eq!(stage.nobody().get("/healthz").await.status, 200);
    });
}

#[tokio::test]
async fn each_kind_of_bad_body_has_its_own_status() {
    let stage = Stage::new().await;
    let owner = stage.client(Role::Owner).await;
    let typed = owner.with("content-type", "application/json; charset=utf-8");
    let path = "/api/v1/tokens";
    let deep = "[".repeat(100_000);
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20));
    let status = async |client: &Client, body: &str| {
        let reply = client.send(Method::POST, path, body.to_owned()).await;
        (reply.status, reply.code())
    };
    let expect = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(status(&typed, "").await, expect(400, "bad_request"));
    assert_eq!(
        status(&typed, "{\"name\":").await,
        expect(400, "bad_request")
    );
    assert_eq!(status(&typed, &deep).await, expect(422, "unprocessable"));
    assert_eq!(
        status(&typed, "{\"name\":\"\\ud800\"}").await,
        expect(400, "bad_request")
    );
    assert_eq!(status(&typed, "{}").await, expect(422, "unprocessable"));
    assert_eq!(status(&typed, "[]").await, expect(422, "unprocessable"));
    assert_eq!(
        status(&typed, "{\"nmae\":\"a\"}").await,
        expect(422, "unprocessable")
    );
    assert_eq!(status(&typed, &long).await, expect(413, "too_large"));
    assert_eq!(
        status(&owner, "{}").await,
        expect(415, "unsupported_media_type")
    );
    for other in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
    ] {
        let client = owner.with("content-type", other);
        assert_eq!(
            status(&client, "{}").await,
            expect(415, "unsupported_media_type")
        );
    }
    let twice = typed.with_another("content-type", "text/plain");
    assert_eq!(
        status(&twice, "{}").await,
        expect(415, "unsupported_media_type")
    );
}
