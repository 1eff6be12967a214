//! The ways around the gate that OpenWork's server had: a viewer finds each of them closed, and whoever may answer finds
//! an answer in the ledger at the end of each.

use countersign_testkit::test_server::{Api, Reply};
use countersign_testkit::{eventually, test_server::PATIENCE};
use reqwest::Method;
use serde_json::{Value, json};

use crate::sdk::Sdk;
use crate::stage::{Stage, text};

/// Every form in which opencode takes a reply to a permission; `ASK` and `SESSION` stand for their ids.
const PERMISSION: [&str; 8] = [
    "/permission/ASK/reply",
    "/permission/ASK/repl%79",
    "/%70ermission/ASK/reply",
    "/permission/ASK/x/../reply",
    "/permission/ASK/%2e/reply",
    "/session/SESSION/permissions/ASK",
    "/session/SESSION/permission%73/ASK",
    "/api/session/SESSION/permission/ASK/reply",
];

/// The same for questions.
const QUESTION: [&str; 6] = [
    "/question/ASK/reply",
    "/question/ASK/repl%79",
    "/question/ASK/reject",
    "/question/ASK/rejec%74",
    "/api/session/SESSION/question/ASK/reply",
    "/api/session/SESSION/question/ASK/reject",
];

/// What says yes in every one of these forms.
fn yes() -> Value {
    json!({ "reply": "once", "response": "once", "answers": [["yes"]] })
}

/// Sends a request to the path as it is written: a client of HTTP would tidy it up.
async fn post_raw(stage: &Stage, token: &str, path: &str, body: &Value) -> Reply {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let address = stage.url().strip_prefix("http://").unwrap();
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchange = async {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let answer = tokio::time::timeout(PATIENCE, exchange).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply {
        status: status.try_into().unwrap(),
        body: serde_json::from_str(body).unwrap_or_default(),
    }
}

/// A conversation that waits for an answer: its session, and what the engine calls what it asks.
async fn asking(stage: &Stage, by: &Api, list: &str, words: &str) -> (String, String) {
    let session = stage.begin(by, "/opencode", words).await;
    let asked = stage.wanted(by, "/opencode", list, &session).await;
    (session, text(&asked["id"]).to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_finds_every_way_closed_and_is_told_what_is_missing() {
    let stage = Stage::set(&[]).await;
    let client = stage.client();
    let owner = stage.caller(&stage.token("owner", "Ada").await);
    let viewer = stage.token("viewer", "Vera").await;
    let words = "TOOL bash: touch seen.txt";
    let (session, permission) = asking(&stage, &client, "permission", words).await;
    let words = "TOOL question: Dig? | yes | no";
    let (other, question) = asking(&stage, &client, "question", words).await;
    let id = stage.id("garden");
    for mount in [
        "/opencode".to_owned(),
        format!("/w/{id}/opencode"),
        format!("/workspace/{id}/opencode"),
    ] {
        let forms = PERMISSION.map(|form| (form, &session, &permission));
        let questions = QUESTION.map(|form| (form, &other, &question));
        for (form, session, ask) in forms.into_iter().chain(questions) {
            let path = form.replace("ASK", ask).replace("SESSION", session);
            let path = format!("{mount}{path}");
            let refused = post_raw(&stage, &viewer, &path, &yes()).await.expect(403);
            assert_eq!(
                refused["details"]["required"], "answer",
                "{path}: {refused}"
            );
            assert_eq!(refused["details"]["scope"], "viewer", "{path}: {refused}");
        }
    }
    // Nothing has happened: both still wait, here and at the engine.
    for (native, list) in [(&permission, "permission"), (&question, "question")] {
        let ask = stage.ask(&owner, native).await;
        assert_eq!(ask["state"], "open", "{ask}");
        let pending = stage.opencode.get(&format!("/{list}")).await;
        assert!(pending.to_string().contains(native.as_str()), "{pending}");
    }
    assert_eq!(stage.file("seen.txt"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_answer_answers_in_the_ledger_by_every_way() {
    let stage = Stage::set(&[]).await;
    let client = stage.client();
    let token = stage.token("owner", "Ada").await;
    let owner = stage.caller(&token);
    let grace = stage.token("collaborator", "Grace").await;
    for (number, form) in PERMISSION.into_iter().enumerate() {
        let (token, name) = if number % 2 == 0 {
            (&grace, "Grace")
        } else {
            (&token, "Ada")
        };
        let file = format!("way-{number}.txt");
        let words = format!("TOOL bash: echo yes > {file}");
        let (session, native) = asking(&stage, &client, "permission", &words).await;
        let path = form.replace("ASK", &native).replace("SESSION", &session);
        let path = format!("/opencode{path}");
        post_raw(&stage, token, &path, &yes())
            .await
            .expect_success();
        stage.has_file(&file, "yes\n").await;
        let ask = stage.ask(&owner, &native).await;
        assert_eq!(ask["state"], "delivered", "{path}: {ask}");
        assert_eq!(ask["answer"]["answer"], "allow_once", "{path}: {ask}");
        let by = text(&ask["answer"]["by"]["name"]);
        assert!(by.starts_with(name), "{path}: {ask}");
    }
    for (number, form) in QUESTION.into_iter().enumerate() {
        let words = format!("TOOL question: Dig {number}? | yes | no");
        let (session, native) = asking(&stage, &client, "question", &words).await;
        let path = form.replace("ASK", &native).replace("SESSION", &session);
        let path = format!("/opencode{path}");
        post_raw(&stage, &grace, &path, &yes())
            .await
            .expect_success();
        let ask = stage.ask(&owner, &native).await;
        assert_eq!(ask["state"], "delivered", "{path}: {ask}");
        let by = text(&ask["answer"]["by"]["name"]);
        assert!(by.starts_with("Grace"), "{path}: {ask}");
    }
    assert_eq!(owner.alarms().await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_follows_what_goes_on_and_changes_nothing() {
    let stage = Stage::set(&[]).await;
    let viewer = stage.token("viewer", "Vera").await;
    // As programs do that say which folder they mean, which is the workspace's.
    let mut sdk = Sdk::start_in(&stage, &stage.place("garden"), &viewer);
    sdk.follow().await;
    let words = "SAY I look.\nTOOL bash: touch followed.txt";
    let session = stage.begin(&stage.client(), "/opencode", words).await;
    let asked = sdk.event_of("permission.asked", &session).await;
    let seen = sdk.call("session.messages", json!({ "sessionID": session }));
    let seen = seen.await.good().to_string();
    assert!(seen.contains("touch followed.txt"), "{seen}");
    let listed = sdk.call("permission.list", json!({})).await.good();
    assert_eq!(listed[0]["id"], asked["id"], "{listed}");

    for (method, parameters) in [
        ("session.create", json!({})),
        ("session.abort", json!({ "sessionID": session })),
        ("session.delete", json!({ "sessionID": session })),
        (
            "config.update",
            json!({ "config": { "permission": { "bash": "allow" } } }),
        ),
        (
            "permission.reply",
            json!({ "requestID": asked["id"], "reply": "once" }),
        ),
    ] {
        let refused = sdk.call(method, parameters).await;
        assert_eq!(refused.status, 403, "{method}: {refused:?}");
        assert_eq!(refused.body["code"], "forbidden", "{method}: {refused:?}");
    }
    let still = sdk.call("permission.list", json!({})).await.good();
    assert_eq!(still[0]["id"], asked["id"], "{still}");
    assert_eq!(stage.file("followed.txt"), None);
}

/// What the engine is told by opencode's header for the folder that is meant.
const DIRECTORY: &str = "x-opencode-directory";

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_is_shown_nothing_that_opens_the_engine() {
    let stage = Stage::set(&[]).await;
    let viewer = stage.caller(&stage.token("viewer", "Vera").await);
    let password = stage.opencode.password();
    // Whoever could answer anyway is shown them: orchestrators look whether they are there.
    let shown = stage.client().get("/workspaces").await;
    assert_eq!(shown["items"][0]["opencode"]["password"], password);

    let id = stage.id("garden");
    let process = "/opencode/file/content?path=environ";
    let mut requests = vec![
        viewer
            .request(Method::GET, process)
            .header(DIRECTORY, "/proc/self"),
        viewer
            .request(Method::GET, process)
            .header(DIRECTORY, "%2Fproc%2Fself"),
    ];
    for path in [
        "/workspaces".to_owned(),
        "/status".to_owned(),
        "/whoami".to_owned(),
        "/capabilities".to_owned(),
        format!("/w/{id}/workspaces"),
        format!("/w/{id}/status"),
        format!("/w/{id}/capabilities"),
        format!("/workspace/{id}/config"),
        format!("/workspace/{id}/export"),
        "/api/v1/workspaces".to_owned(),
        "/opencode/config".to_owned(),
        "/opencode/global/config".to_owned(),
        "/opencode/path".to_owned(),
        format!("{process}&directory=/proc/self"),
        format!("{process}&directory=%2Fproc%2Fself"),
        format!("{process}&director%79=/proc/self"),
        "/opencode/api/fs/read/environ?location[directory]=/proc/self".to_owned(),
        "/opencode/api/fs/read/environ?location%5Bdirectory%5D=/proc/self".to_owned(),
        "/opencode/api/fs/read//proc/self/environ".to_owned(),
        "/opencode/api/fs/read/%2Fproc%2Fself%2Fenviron".to_owned(),
        "/opencode/api/fs/read/..%2F..%2F..%2F..%2Fproc/self/environ".to_owned(),
        "/opencode/file/content?path=/proc/self/environ".to_owned(),
        "/opencode/file/content?path=../../../../../../../proc/self/environ".to_owned(),
    ] {
        requests.push(viewer.request(Method::GET, &path));
    }
    for request in requests {
        let asked = format!("{request:?}");
        let response = request.send().await.unwrap();
        let headers = format!("{:?}", response.headers());
        let bytes = response.bytes().await.unwrap();
        let body = String::from_utf8_lossy(&bytes);
        assert!(!headers.contains(password), "{asked}: {headers}");
        assert!(!body.contains(password), "{asked}: {body}");
        // As opencode hands out what is no text: the name of the variable at each place that it can begin at.
        for encoded in [
            "T1BFTkNPREVfU0VSVkVS",
            "9QRU5DT0RFX1NFUlZFU",
            "PUEVOQ09ERV9TRVJWRV",
        ] {
            assert!(!body.contains(encoded), "{asked}: {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_to_owners_is_not_answered_by_way_of_another_workspace() {
    let stage = Stage::set_with_owners_orchard().await;
    let client = stage.client();
    let token = stage.token("owner", "Ada").await;
    let owner = stage.caller(&token);
    let orchard = stage.place("orchard");
    let mount = format!("/w/{}/opencode", stage.id("orchard"));
    let session = stage
        .begin(&owner, &mount, "TOOL bash: touch picked.txt")
        .await;
    let asked = stage.wanted(&owner, &mount, "permission", &session).await;
    let native = text(&asked["id"]);

    let refused = client
        .post(&format!("{mount}/permission/{native}/reply"), &yes())
        .await
        .expect(403);
    assert_eq!(refused["details"]["required"], "answer", "{refused}");
    // The other workspace has the same engine, which looks for the ask in the folder that it is told.
    let folder = orchard.to_str().unwrap();
    for (path, header) in [
        (format!("/opencode/permission/{native}/reply"), true),
        (
            format!("/opencode/permission/{native}/reply?directory={folder}"),
            false,
        ),
        (
            format!("/opencode/session/{session}/permissions/{native}?directory={folder}"),
            false,
        ),
    ] {
        let mut request = client.request(Method::POST, &path).json(&yes());
        if header {
            request = request.header(DIRECTORY, folder);
        }
        let refused = Api::send(request).await.unwrap();
        assert_eq!(refused.status, 403, "{path}: {}", refused.body);
    }
    assert!(!orchard.join("picked.txt").exists());
    // What opens the engine for one workspace opens it for all: it is for those who may answer in each of them.
    for path in [
        "/workspaces",
        "/status",
        &format!("/w/{}/workspaces", stage.id("garden")),
    ] {
        let shown = client.get(path).await.to_string();
        assert!(
            !shown.contains(stage.opencode.password()),
            "{path}: {shown}"
        );
    }

    let process = "/opencode/api/fs/read/environ?location[directory]=/proc/self";
    let refused = Api::send(client.request(Method::GET, process)).await;
    refused.unwrap().expect(403);

    // By way of the other workspace it is an answer all the same, if it is an owner's.
    let request = owner
        .request(
            Method::POST,
            &format!("/opencode/permission/{native}/reply"),
        )
        .header(DIRECTORY, folder)
        .json(&yes());
    Api::send(request).await.unwrap().expect(200);
    eventually(PATIENCE, "the command has run", async || {
        orchard.join("picked.txt").exists().then_some(())
    })
    .await;
    let ask = stage.ask(&owner, native).await;
    assert_eq!(ask["state"], "delivered", "{ask}");
    assert!(
        text(&ask["answer"]["by"]["name"]).starts_with("Ada"),
        "{ask}"
    );
}
