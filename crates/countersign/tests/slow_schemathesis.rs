//! The API against its own description: whatever a stranger sends, the answer is one that is written down.

use std::process::Command;

use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{TestServer, peers};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
/// What a description cannot say: a code that nobody made is over, and some values do not go together.
const CONFIGURATION: &str = "[checks]\npositive_data_acceptance.expected-statuses = \
    [\"2xx\", 401, 403, 404, 409, 410, 422]\n";
/// Where chance begins; a failure can be repeated with it.
const SEED: &str = "1";

async fn run(server: &TestServer, role: &str) {
    let token = server.token(role).await;
    let log = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let configuration = server.data().join("schemathesis.toml");
    std::fs::write(&configuration, CONFIGURATION).expect("the data directory can be written");
    let status = Command::new(peers::schemathesis())
        .arg("--config-file")
        .arg(&configuration)
        .args(["run", &format!("{}/api/openapi.json", server.url())])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--checks", "all", "--max-examples", "12", "--seed", SEED])
        // A stream does not end, and pairing takes no credentials by design.
        .args(["--exclude-path-regex", "/api/v1/events$|/sign-out$"])
        .args([
            "--exclude-checks",
            "ignored_auth",
            "--request-timeout",
            "20",
        ])
        .args(["--suppress-health-check", "all", "--no-color"])
        .stdout(log.reopen().expect("it is still there"))
        .stderr(log.reopen().expect("it is still there"))
        .current_dir(server.data())
        .status()
        .expect("schemathesis can be started");
    let said = std::fs::read_to_string(log.path()).expect("it is still there");
    assert!(status.success(), "as {role}: {said}");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_as_described() {
    let server = Setup::new(BINARY, Engine::Scripted).start().await;
    server.api().wait_for_engine().await;
    run(&server, "owner").await;
    run(&server, "viewer").await;
}
