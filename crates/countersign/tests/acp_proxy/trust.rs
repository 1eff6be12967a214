//! What an agent behind the proxy, and the proxy itself, can do: hand asks in, and nothing else.

use countersign_testkit::test_server::Printed;
use serde_json::json;
use tokio::process::Command;

use crate::editor::{BINARY, Setting, is_made};
use crate::{allow, id, open, open_ask, server};

/// Calls the server over its socket as a proxy would, and prints what it is told.
const PROXY: &str = r#"
import http.client, json, socket, sys
place, directory, ask = sys.argv[1:]
class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(place)
def call(method, path, body=None):
    line = Local("localhost")
    line.request(method, path, body and json.dumps(body), {"content-type": "application/json"})
    return line.getresponse().status
run = {"directory": directory, "program": "acp_proxy", "version": "1"}
calls = [
    call("GET", "/api/v1/me"),
    call("POST", "/api/v1/door/runs", run),
    call("GET", "/api/v1/me"),
    call("GET", "/api/v1/asks"),
    call("POST", f"/api/v1/asks/{ask}/answer", {"answer": "allow_once"}),
    call("POST", "/api/v1/tokens", {"name": "me", "role": "owner"}),
    call("POST", "/api/v1/door/runs", run),
]
print(json.dumps(calls))
"#;

#[tokio::test]
async fn a_proxy_without_a_token_can_hand_asks_in_and_nothing_else() {
    let server = server().await;
    let mut editor = open(&server).await;
    editor.prompt("RUN touch wanted.txt").await;
    editor.asked().await;
    let ask = open_ask(&server).await;
    let found = std::fs::read_to_string(server.data().join("server.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let output = Command::new("python3")
        .args(["-c", PROXY, found["socket"].as_str().unwrap()])
        .arg(server.workspace())
        .arg(id(&ask))
        .output()
        .await
        .unwrap();
    let printed = Printed {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    // Before it has said what it is, it is the person at this machine; from then on an agent.
    assert_eq!(
        printed.expect_success().json(),
        json!([200, 201, 403, 403, 403, 403, 201])
    );
    assert_eq!(server.api().ask(id(&ask)).await["state"], "open");
}

#[tokio::test]
async fn a_tool_of_the_agent_may_not_answer_its_own_ask() {
    let mut server = server().await;
    let mut editor = open(&server).await;
    let data = server.data();
    for round in ["first", "second"] {
        // The ask that the tool would like to have answered is one of another session.
        editor.begin_session().await;
        editor.prompt("RUN touch wanted.txt").await;
        editor.asked().await;
        let wanted = open_ask(&server).await;
        let wish = format!(
            "COUNTERSIGN_DATA='{}' setsid '{BINARY}' allow {} > {round}.txt 2>&1",
            data.display(),
            id(&wanted)
        );
        editor.begin_session().await;
        let tool = editor.prompt(&format!("RUN {wish}")).await;
        let request = editor.asked().await;
        editor.pick(&request, "allow-once").await;
        editor.response_to(tool).await;
        let said = std::fs::read_to_string(server.workspace().join(format!("{round}.txt")));
        let said = said.unwrap();
        assert!(said.contains("agents cannot answer asks"), "{said}");
        assert_eq!(server.api().ask(id(&wanted)).await["state"], "open");
        let deny = json!({ "answer": "deny" });
        server.api().answer(id(&wanted), &deny).await.expect(200);
        server.api().settled(id(&wanted)).await;
        // The next server knows it from its first moment on.
        server.kill();
        server.restart().await;
    }
    assert!(!is_made(server.workspace(), "wanted.txt"));
}

#[tokio::test]
async fn with_a_token_it_works_over_http_and_the_agent_sees_nothing_of_ours() {
    let server = server().await;
    let token = server.token("agent").await;
    let setting = Setting {
        options: vec!["--url".to_owned(), server.url()],
        variables: vec![
            ("COUNTERSIGN_TOKEN".to_owned(), token.clone()),
            ("EDITORS_OWN".to_owned(), "kept".to_owned()),
        ],
        directory: server.workspace().to_owned(),
    };
    let mut editor = setting.open().await;
    let prompt = editor.prompt("RUN env > env.txt").await;
    editor.asked().await;
    let ask = open_ask(&server).await;
    let settled = allow(&server, &ask).await;
    assert_eq!(settled["state"], "delivered");
    editor.response_to(prompt).await;
    let seen = std::fs::read_to_string(server.workspace().join("env.txt")).unwrap();
    assert!(seen.contains("EDITORS_OWN=kept"), "{seen}");
    assert!(!seen.contains("COUNTERSIGN_"), "{seen}");
}
