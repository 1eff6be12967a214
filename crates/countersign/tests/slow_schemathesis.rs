//! The API against its own description: whatever a stranger sends, the answer is one that is written down.

use std::process::Command;

use countersign_testkit::test_server::{Engine, Setup};
use countersign_testkit::{TestServer, peers};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");
/// Where chance begins; a failure can be repeated with it.
const SEED: &str = "1";
/// A stream does not end, and signing out is for browsers.
const NEVER: &str = "/api/v1/events$|/sign-out$";

/// What somebody tries.
struct Trial<'a> {
    token: &'a str,
    /// Which paths, and which of these not.
    paths: (&'a str, &'a str),
    examples: &'a str,
    /// What a request may be answered with that is as described.
    welcome: &'a str,
    /// Where this is otherwise, and ids that exist.
    operations: String,
}

impl Trial<'_> {
    fn run(&self, server: &TestServer, name: &str) {
        let configuration = server.data().join(format!("{name}.toml"));
        // No text here may hold a zero character, which no description can say.
        let text = format!(
            "[generation]\nallow-x00 = false\n[checks]\n\
             positive_data_acceptance.expected-statuses = [{}]\n{}",
            self.welcome, self.operations
        );
        std::fs::write(&configuration, text).expect("the data directory can be written");
        let (paths, but_not) = self.paths;
        let output = Command::new(peers::schemathesis())
            .arg("--config-file")
            .arg(&configuration)
            .args(["run", &format!("{}/api/openapi.json", server.url())])
            .args(["--header", &format!("Authorization: Bearer {}", self.token)])
            .args(["--include-path-regex", paths])
            .args(["--exclude-path-regex", &format!("{NEVER}|{but_not}")])
            .args(["--checks", "all", "--max-examples", self.examples])
            .args(["--phases", "examples,coverage,fuzzing,stateful"])
            .args(["--seed", SEED, "--request-timeout", "60"])
            .args(["--suppress-health-check", "all", "--no-color"])
            .current_dir(server.data())
            .output()
            .expect("schemathesis can be started");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {said}");
        assert!(!server.log().contains("panicked"), "{}", server.log());
    }
}

/// What is so for some paths: which ids exist, and what else a request may be answered with.
fn operation(paths: &str, ids: &[(&str, &str)], welcome: &str) -> String {
    let ids: Vec<String> = ids
        .iter()
        .map(|(name, id)| format!("{name} = '{id}'"))
        .collect();
    let welcome = match welcome {
        "" => String::new(),
        welcome => {
            format!("checks.positive_data_acceptance.expected-statuses = [{welcome}]\n")
        }
    };
    format!(
        "[[operations]]\ninclude-path-regex = '{paths}'\nparameters = {{ {} }}\n{welcome}",
        ids.join(", ")
    )
}

fn id(thing: &Value, name: &str) -> String {
    thing[name].as_str().expect("it has an id").to_owned()
}

/// A session with an ask that is open and one that is over.
async fn people_see(server: &TestServer) -> [String; 3] {
    let api = server.api();
    let session = api.start_and_prompt("ASK 1").await;
    let over = id(&api.wait_for_ask_of(&session).await, "id");
    let allow = json!({"answer": "allow_once"});
    api.answer(&over, &allow).await.expect(200);
    api.settled(&over).await;
    api.turn_outcome(&session).await;
    api.prompt(&session, "ASK 1").await;
    let open = id(&api.wait_for_ask_of(&session).await, "id");
    [session, open, over]
}

/// A program's life, with an ask that was handed in and has its answer.
async fn program_sees(server: &TestServer, token: &str) -> [String; 2] {
    let api = countersign_testkit::test_server::Api::new(server.url(), Some(token.to_owned()));
    let life =
        json!({ "directory": server.workspace(), "program": "opencode", "version": "1.18.33" });
    let run = id(
        &api.post("/api/v1/door/runs", &life).await.expect(201),
        "run",
    );
    let request = json!({
        "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["make"],
        "metadata": { "command": "make" }, "always": [],
    });
    let ask = json!({ "kind": "permission", "request": request, "session": { "id": "ses_1" } });
    let path = format!("/api/v1/door/runs/{run}/asks");
    let ask = id(&api.post(&path, &ask).await.expect(201), "ask");
    let allow = json!({"answer": "allow_once"});
    server.api().answer(&ask, &allow).await.expect(200);
    [run, ask]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_as_described() {
    let server = Setup::new(BINARY, Engine::Scripted).start().await;
    server.api().wait_for_engine().await;
    let [session, open, over] = people_see(&server).await;
    // Some values do not go together, a whole number can be written as `1.0`, and a code or an ask can be over.
    let unfit = "'2xx', 404, 422";
    let operations = [
        operation("/asks/{id}$", &[("id", &open)], ""),
        operation(
            "/asks/{id}/answer$",
            &[("id", &open)],
            "'2xx', 409, 410, 422",
        ),
        operation("/asks/{id}/settled$", &[("id", &over)], ""),
        // What the agent was told cannot be taken back.
        operation(
            "/sessions/{id}",
            &[("id", &session)],
            "'2xx', 404, 409, 422",
        ),
        operation("/engines/{name}/sessions$", &[("name", "demo")], unfit),
        operation("/v1/sessions$", &[], unfit),
        operation("/(jobs|pairings|rules|rules/preview|tokens)$", &[], unfit),
        // A rule can end sooner than it would, and not later.
        operation("/rules/{id}/expire$", &[], unfit),
        // There are points in time that a calendar has and nobody means.
        operation("/audit/search$", &[], "'2xx', 400, 404, 422"),
        // Few jobs have a worktree.
        operation("/jobs/{id}/(keep|discard)$", &[], "'2xx', 404, 409"),
        // Few wait in a queue.
        operation("/jobs/{id}/(priority|retry)$", &[], "'2xx', 404, 409, 422"),
        // A page ends somewhere, and only a browser is told by push.
        operation("/v1/search$", &[], unfit),
        operation("/push/subscription$", &[], "'2xx', 409, 422"),
        operation("/pair$", &[], "'2xx', 410"),
        // Few paths are folders.
        operation("/v1/workspaces$", &[], "'2xx', 409, 422"),
        // What a change says may not go together, and may come to something else by now.
        operation("/workspaces/{id}/changes", &[], "'2xx', 404, 409, 422"),
    ];
    let operations = operations.concat();

    Trial {
        token: &server.token("owner").await,
        // Programs have their door to themselves; whoever may take tokens back finds his own; and what ends the engine,
        // or all of the workspace, ends what the rest is tried with.
        paths: (
            "",
            "/door/|/tokens/{id}$|/workspaces/{id}$|/engine/(restart|reload)$",
        ),
        examples: "20",
        welcome: "'2xx', 404",
        operations: operations.clone(),
    }
    .run(&server, "owner");
    Trial {
        token: &server.token("owner").await,
        paths: ("/tokens", "$^"),
        examples: "20",
        welcome: "'2xx', 401, 404, 422",
        operations: String::new(),
    }
    .run(&server, "tokens");
    Trial {
        token: &server.token("viewer").await,
        paths: ("", "$^"),
        examples: "12",
        welcome: "'2xx', 403, 404, 410, 422",
        operations: operations.replace("expected-statuses = [", "expected-statuses = [403, "),
    }
    .run(&server, "viewer");

    let agent = server.token("agent").await;
    let [run, ask] = program_sees(&server, &agent).await;
    let ids = [("run", run.as_str()), ("ask", ask.as_str())];
    let operations = [
        // It takes directories of ours, processes that are not ours, and requests of opencode's.
        operation("/door/runs$", &[], "'2xx', 422"),
        operation("/(alive|asks)$", &ids, "'2xx', 422"),
        operation("/asks/{ask}/answer$", &ids, ""),
        // Not every program has everything to report.
        operation("/asks/{ask}/report$", &ids, "'2xx', 422"),
    ];
    Trial {
        token: &agent,
        // Whoever ends its life has none afterwards.
        paths: ("/door/", "/end$"),
        examples: "40",
        welcome: "'2xx'",
        operations: operations.concat(),
    }
    .run(&server, "agent");
}
