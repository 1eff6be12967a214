//! opencode's API through the server: what passes, and who may answer.

use countersign_testkit::ScriptedOpencode;
use serde_json::json;

use crate::fixture;
use crate::json::Json;
use crate::server::{By, Server, eventually};
use crate::upstream::Upstream;
use crate::wire;

fn start(upstream: &Upstream) -> Server {
    Server::start(&[
        "--approval",
        "auto",
        "--opencode-base-url",
        &upstream.url(),
        "--opencode-username",
        "oc",
        "--opencode-password",
        "pw",
    ])
}

#[test]
fn a_request_arrives_with_the_engines_credentials_and_without_ours() {
    let upstream = Upstream::start();
    let server = start(&upstream);
    let mut headers = By::Client.headers();
    headers.extend([
        ("X-OpenWork-Client-Id".to_owned(), "c".to_owned()),
        (
            "X-OpenWork-Host-Token".to_owned(),
            "host-token-456".to_owned(),
        ),
        ("Origin".to_owned(), "http://x".to_owned()),
    ]);
    let (one, two) = (server.id("ws1"), server.id("ws2"));
    for (path, workspace) in [
        ("/opencode/session?limit=1".to_owned(), "ws1"),
        (format!("/w/{two}/opencode/session?limit=1"), "ws2"),
        (format!("/workspace/{one}/opencode/session?limit=1"), "ws1"),
    ] {
        upstream.forget();
        let response = wire::send(server.port(), "GET", &path, &headers, None).unwrap();
        assert_eq!(response.status, 200, "{}", response.body);
        let requests = upstream.asked("/session?limit=1");
        let [request] = &requests[..] else {
            panic!("{requests:?}")
        };
        let sent = request.at("headers");
        assert_eq!(sent.at("authorization").as_str(), Some("Basic b2M6cHc="));
        let directory = server.root().join(workspace);
        assert_eq!(sent.at("x-opencode-directory").as_str(), directory.to_str());
        for gone in ["x-openwork-host-token", "x-openwork-client-id", "origin"] {
            assert_eq!(sent.get(gone), None, "{gone}");
        }
    }
    assert_eq!(
        server
            .refused(By::Nobody, "GET", "/opencode/session", None)
            .0,
        401
    );
}

#[test]
fn a_command_is_accepted_at_once_and_handed_on() {
    let upstream = Upstream::start();
    let server = start(&upstream);
    let command = json!({ "command": "tidy", "arguments": "" });
    let path = "/opencode/session/ses_1/command";
    let accepted = server.good(By::Client, "POST", path, Some(&command));
    assert_eq!(accepted, json!({ "ok": true, "accepted": true }));
    eventually("the engine has it", || {
        upstream.asked("/session/ses_1/command").len() == 1
    });
}

/// Every way around the gate that the original had.
const REPLIES: [&str; 7] = [
    "/permission/per_1/reply",
    "/permission/per_1/reply/",
    "/permission/per_1/repl%79",
    "/permission/per_1/x/../reply",
    "/session/ses_1/permissions/per_1",
    "/session/ses_1/permission%73/per_1",
    "/question/per_1/reply",
];

#[test]
fn a_viewer_answers_in_no_way_and_what_the_ledger_does_not_know_the_engine_is_asked() {
    let upstream = Upstream::start();
    let server = start(&upstream);
    let viewer = server.good(
        By::Host,
        "POST",
        "/tokens",
        Some(&json!({ "scope": "viewer" })),
    );
    let viewer = By::Bearer(viewer["token"].as_str().unwrap());
    let body = json!({ "reply": "once", "response": "once" });
    for path in REPLIES {
        let engines = path.replace("/x/..", "");
        let path = format!("/opencode{path}");
        upstream.forget();
        let response = server.send(viewer, "POST", &path, Some(&body));
        let said = Json::read(&response.body).unwrap();
        assert_eq!(
            (response.status, said.at("details").at("required").as_str()),
            (403, Some("answer")),
            "{path}"
        );
        assert!(upstream.asked(&engines).is_empty(), "{path}");
    }
    server.good(
        By::Client,
        "POST",
        "/opencode/permission/per_1/reply",
        Some(&body),
    );
    assert_eq!(upstream.asked("/permission/per_1/reply").len(), 1);
    assert_eq!(
        server
            .refused(viewer, "POST", "/opencode/session", Some(&json!({})))
            .0,
        403
    );
    server.good(viewer, "GET", "/opencode/session", None);
}

#[test]
fn conversations_are_read_and_what_is_wrong_with_the_engine_is_said() {
    let upstream = Upstream::start();
    let server = start(&upstream);
    upstream.fail(Some((200, r#"[{"id": "ses_1", "title": "t"}]"#)));
    let listed = server.get(&server.path("/sessions?limit=5&roots=true"));
    assert_eq!(listed["items"][0]["id"], "ses_1");
    for (failing, refused) in [
        ((404, "{}"), (404, "session_not_found")),
        ((200, r#"{"nope": 1}"#), (502, "opencode_invalid_response")),
        ((500, "boom"), (502, "opencode_request_failed")),
    ] {
        upstream.fail(Some(failing));
        let (status, code) =
            server.refused(By::Client, "GET", &server.path("/sessions/ses_x"), None);
        assert_eq!((status, code.as_str()), refused);
    }
    let refused = server.refused(By::Client, "GET", &server.path("/sessions?limit=0"), None);
    assert_eq!(refused, (400, "invalid_query".to_owned()));
}

/// A server before an engine that asks.
struct Asking {
    engine: ScriptedOpencode,
    server: Server,
    session: String,
}

impl Asking {
    fn start() -> Self {
        let (folder, engine, session) = fixture::with_engine();
        let url = engine.url();
        let opencode = [
            "--opencode-base-url",
            &url,
            "--opencode-username",
            "opencode",
        ];
        let server = Server::start_in(
            folder,
            &[&opencode[..], &["--opencode-password", "pw"]].concat(),
        );
        Self {
            engine,
            server,
            session,
        }
    }

    fn ask(&self, command: &str) -> String {
        let metadata = json!({ "command": command });
        self.engine
            .open_ask(&self.session, "bash", &[command], &metadata)
    }

    fn token(&self, scope: &str) -> String {
        let issued = self.server.good(
            By::Host,
            "POST",
            "/tokens",
            Some(&json!({ "scope": scope })),
        );
        issued["token"].as_str().unwrap().to_owned()
    }

    /// The bodies of the replies that the engine got to `ask`.
    fn replies(&self, ask: &str) -> Vec<serde_json::Value> {
        let replies = self.engine.replies().into_iter();
        replies
            .filter(|reply| reply.id == ask)
            .map(|reply| reply.body)
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_through_the_proxy_is_an_answer_in_the_ledger() {
    let asking = Asking::start();
    let (server, session) = (&asking.server, &asking.session);
    let viewer = asking.token("viewer");
    let owner = asking.token("owner");
    for form in [
        "/permission/ASK/reply".to_owned(),
        "/permission/ASK/repl%79".to_owned(),
        "/permission/ASK/x/../reply".to_owned(),
        format!("/session/{session}/permissions/ASK"),
    ] {
        let ask = asking.ask(&format!("echo {}", form.len()));
        let path = format!("/opencode{}", form.replace("ASK", &ask));
        let body = json!({ "reply": "once", "response": "once" });
        assert_eq!(
            server
                .refused(By::Bearer(&viewer), "POST", &path, Some(&body))
                .0,
            403,
            "{path}"
        );
        assert_eq!(asking.replies(&ask).len(), 0, "{path}");
        assert_eq!(
            server.good(By::Client, "POST", &path, Some(&body)),
            json!(true),
            "{path}"
        );
        assert_eq!(asking.replies(&ask).len(), 1, "{path}");
        // Who comes second is told so, and the engine hears nothing of it.
        let refused = server.refused(
            By::Bearer(&owner),
            "POST",
            &path,
            Some(&json!({ "reply": "reject", "response": "reject" })),
        );
        assert_eq!(refused, (409, "ask_answered".to_owned()), "{path}");
        assert_eq!(asking.replies(&ask).len(), 1, "{path}");
    }
    let listed = server.good(
        By::Bearer(&owner),
        "GET",
        "/api/v1/asks?state=delivered",
        None,
    );
    let text = listed.to_string();
    assert!(text.matches("\"delivered\"").count() >= 4, "{text}");
    assert!(text.contains("openwork client"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_its_choices_and_a_denial_reaches_the_agent() {
    let asking = Asking::start();
    let question = asking
        .engine
        .open_question(&asking.session, "Which?", &["a", "b"]);
    let path = format!("/opencode/question/{question}/reply");
    let body = json!({ "answers": [["b"]] });
    assert_eq!(
        asking.server.good(By::Client, "POST", &path, Some(&body)),
        json!(true)
    );
    assert_eq!(asking.replies(&question)[0]["answers"], json!([["b"]]));
    let ask = asking.ask("rm -rf /");
    let path = format!("/opencode/permission/{ask}/reply");
    let body = json!({ "reply": "reject", "message": "not here" });
    assert_eq!(
        asking.server.good(By::Client, "POST", &path, Some(&body)),
        json!(true)
    );
    assert_eq!(asking.replies(&ask)[0]["reply"], "reject");
    let unclear = asking.ask("ls");
    let path = format!("/opencode/permission/{unclear}/reply");
    let refused = asking.server.refused(
        By::Client,
        "POST",
        &path,
        Some(&json!({ "reply": "maybe" })),
    );
    assert_eq!(refused, (400, "invalid_answer".to_owned()));
    assert!(asking.replies(&unclear).is_empty());
}
