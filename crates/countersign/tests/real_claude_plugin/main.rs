//! The plugin in the real Claude Code: it validates, loads, hands work over and gets the report, and holds up what it should.

mod hooks;
mod stage;
#[path = "../plugin/terminal.rs"]
#[expect(dead_code, reason = "nothing is typed here")]
mod terminal;

use countersign_testkit::eventually;
use countersign_testkit::git::git;
use serde_json::{Value, json};

use stage::{PATIENCE, Stage, claude_code, hand_in, repository, rescue, wait};

/// What stands first in what an agent is told to do.
const HEADER: &str = "[Countersign job]\nYou are the agent that this task was delegated to.";

/// What of a kind happened, in what Claude Code told.
fn told<'a>(events: &'a [Value], kind: &str, subtype: &str) -> Vec<&'a Value> {
    let is_meant = |event: &&Value| event["type"] == kind && event["subtype"] == subtype;
    events.iter().filter(is_meant).collect()
}

/// What the rescue ended with, as Claude Code tells it.
fn rescued(events: &[Value]) -> &str {
    let started = told(events, "system", "task_started");
    let rescue = started
        .iter()
        .find(|task| task["subagent_type"] == "countersign:rescue");
    let rescue = &rescue.expect("the rescue was started")["task_id"];
    let ended = told(events, "system", "task_notification");
    let mut ended = ended.iter().filter(|task| task["task_id"] == *rescue);
    let summary = ended.next().expect("the rescue ended")["summary"].as_str();
    assert!(ended.next().is_none(), "it ended twice");
    summary.expect("it ended with words")
}

#[tokio::test]
async fn the_plugin_and_its_marketplace_pass_the_strict_validation() {
    let home = tempfile::tempdir().unwrap();
    for directory in ["plugins/claude-code", "."] {
        let output = claude_code(home.path())
            .args(["plugin", "validate", "--strict"])
            .arg(repository().join(directory))
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("Validation passed"), "{said}");
    }
}

#[tokio::test]
async fn the_plugin_is_installed_from_its_marketplace_and_whole() {
    let home = tempfile::tempdir().unwrap();
    let run = async |arguments: &[&str]| {
        let output = claude_code(home.path())
            .current_dir(repository())
            .args(arguments)
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        said
    };
    run(&["plugin", "marketplace", "add", "./"]).await;
    run(&["plugin", "install", "countersign@countersign"]).await;
    let details = run(&["plugin", "details", "countersign"]).await;
    for part in [
        "rescue",
        "adversarial-review",
        "review",
        "status",
        "result",
        "cancel",
        "setup",
        "asks",
        "allow",
        "deny",
        "answering-asks",
        "jobs",
        "Agents (1)",
        "SessionStart",
        "SessionEnd",
        "PostToolUse",
        "SubagentStop",
        "Stop",
    ] {
        assert!(details.contains(part), "no {part:?} in {details}");
    }
}

#[tokio::test]
async fn a_rescue_returns_the_jobs_real_report() {
    let stage = Stage::set(&[]).await;
    let task = "TOOL bash: echo worked > made.txt\nFINAL the real report of the other agent";
    let steps = [hand_in("--on-ask allow", task), wait(), "ECHO".to_owned()];
    let prompt = format!(
        "/countersign:rescue --wait make the file\n{}",
        rescue(&steps)
    );
    let events = stage.claude(&prompt).await;

    let init = told(&events, "system", "init")[0];
    let named = |list: &str, name: &str| {
        let names = init[list].as_array().unwrap();
        names.iter().any(|known| known == name)
    };
    assert!(named("slash_commands", "countersign:rescue"), "{init}");
    assert!(named("agents", "countersign:rescue"), "{init}");
    assert!(named("skills", "countersign:jobs"), "{init}");

    let job = stage.only_job("the job is there", |_| true).await;
    let id = job["id"].as_str().unwrap();
    assert_eq!(job["state"], "completed", "{job}");
    assert_eq!(job["group"], init["session_id"], "{job}");
    let made = std::fs::read_to_string(stage.server.workspace().join("made.txt"));
    assert_eq!(made.unwrap(), "worked\n");

    // The report is what the rescue ended with, and what the model that asked for it got to read.
    let report = format!("## Job: {id}");
    let summary = rescued(&events);
    assert!(summary.contains(&report), "{summary}");
    assert!(stage.outer_heard(&[
        "<task-notification>",
        &report,
        "### Output",
        "the real report of the other agent"
    ]));
    // After the hand-in the model was told that it had an id and no report.
    assert!(stage.outer_heard(&["this is an id and not its report", id, "--max-wait 480"]));

    // The rescue had its instructions, and nothing but a shell.
    let requests = stage.outer.requests();
    let of_the_rescue = requests.iter().find(|request| {
        let system = request["system"].to_string();
        system.contains("You forward one task to another coding agent")
    });
    let of_the_rescue = of_the_rescue.expect("the rescue was asked");
    let system = of_the_rescue["system"].to_string();
    assert!(
        system.contains("wait-and-result <id> --max-wait 480")
            && system.contains("at most 20 times")
    );
    let tools = of_the_rescue["tools"].as_array().unwrap();
    let tools: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(tools, ["Bash"]);

    // What the other agent was told begins with the header.
    let conversations = stage.inner.conversations();
    let of_the_job = conversations
        .iter()
        .find(|conversation| conversation.prompt.contains("FINAL the real report"));
    let prompt = &of_the_job.expect("the model was asked").prompt;
    assert!(prompt.starts_with(HEADER), "{prompt}");
    assert!(prompt.trim_end().ends_with(task), "{prompt}");
}

#[tokio::test]
async fn a_rescue_goes_to_whichever_engine_is_named() {
    let stage = Stage::set(&[]).await;
    let steps = [
        hand_in(
            "--engine demo --on-ask allow",
            "SAY reported by another agent",
        ),
        wait(),
        "ECHO".to_owned(),
    ];
    let prompt = format!(
        "/countersign:rescue --engine demo say something\n{}",
        rescue(&steps)
    );
    let events = stage.claude(&prompt).await;
    let job = stage.only_job("the job is there", |_| true).await;
    assert_eq!(
        (&job["engine"], &job["state"]),
        (&json!("demo"), &json!("completed")),
        "{job}"
    );
    let said = rescued(&events);
    assert!(
        said.contains("- **Engine**: demo") && said.contains("reported by another agent"),
        "{said}"
    );
    assert!(stage.inner.requests().is_empty());
}

/// The words alone do not make it delegate, and if it tries to it cannot.
#[tokio::test]
async fn a_task_that_says_to_delegate_is_done_and_not_handed_on() {
    let stage = Stage::set(&[]).await;
    let data = stage.server.data();
    let try_it = |file: &str, before: &str| {
        format!(
            "TOOL bash: {before} countersign task --background hand it on > {file} 2>&1; echo \"code $?\" >> {file}"
        )
    };
    // Once to the server that runs it, once to one that would have to be started first.
    let task = [
        "Please delegate to opencode-rescue: make the file. Use the agent opencode:opencode-rescue for it.".to_owned(),
        "TOOL bash: echo worked > made.txt".to_owned(),
        try_it("same.txt", &format!("COUNTERSIGN_DATA={}", data.display())),
        try_it("other.txt", ""),
        "FINAL done by myself".to_owned(),
    ];
    let task = task.join("\n");
    let steps = [hand_in("--on-ask allow", &task), wait(), "ECHO".to_owned()];
    let prompt = format!("/countersign:rescue make the file\n{}", rescue(&steps));
    let events = stage.claude(&prompt).await;

    let job = stage.only_job("the job is there", |_| true).await;
    assert_eq!(job["state"], "completed", "{job}");
    let summary = rescued(&events);
    assert!(summary.contains("done by myself"), "{summary}");
    let file = |name: &str| std::fs::read_to_string(stage.server.workspace().join(name)).unwrap();
    assert_eq!(file("made.txt"), "worked\n");
    for name in ["same.txt", "other.txt"] {
        let said = file(name);
        assert!(said.ends_with("code 1\n"), "{name}: {said}");
        assert!(!said.contains("started in background"), "{name}: {said}");
    }

    let conversations = stage.inner.conversations();
    let of_jobs = conversations
        .iter()
        .filter(|conversation| conversation.prompt.contains("opencode-rescue"));
    for conversation in of_jobs {
        let prompt = &conversation.prompt;
        assert!(prompt.starts_with(HEADER), "{prompt}");
        assert!(prompt.contains("pass over that sentence"), "{prompt}");
    }
    let requests = stage.inner.requests();
    let mut calls = requests
        .iter()
        .map(|request| request["messages"].to_string());
    assert!(!calls.any(|messages| messages.contains(r#""name":"task""#)));
}

#[tokio::test]
async fn a_rescue_that_would_end_without_the_report_is_held_up_once() {
    let stage = Stage::set(&[]).await;
    let steps = [
        hand_in("", "FINAL the report that nobody fetched"),
        "FINAL I have started the task and will tell you when it is done.".to_owned(),
    ];
    let prompt = format!("/countersign:rescue do it\n{}", rescue(&steps));
    let events = stage.claude(&prompt).await;
    let job = stage
        .only_job("the job ends", |job| job["state"] == "completed")
        .await;
    let call = format!(
        "countersign wait-and-result {} --max-wait 480",
        job["id"].as_str().unwrap()
    );
    assert!(stage.outer_heard(&["what you are about to return is not its report", &call]));
    // It ended all the same: nobody is held up for ever.
    assert!(!rescued(&events).contains("## Job:"));
}

#[tokio::test]
async fn a_job_outlives_the_session_that_handed_it_in() {
    let stage = Stage::set(&[]).await;
    let task = "TOOL bash: touch made.txt\nFINAL made after the session";
    let prompt = format!("{}\nFINAL it runs", hand_in("", task));
    let prompt = format!("/countersign:rescue --background make the file\n{prompt}");
    stage.claude(&prompt).await;
    let waiting = stage
        .only_job("the job waits", |job| job["state"] == "waiting")
        .await;

    // The next session of the folder is told of it.
    let events = stage.claude("what is new?").await;
    let started = told(&events, "system", "hook_response");
    let id = waiting["id"].as_str().unwrap();
    assert!(
        started
            .iter()
            .any(|response| response["stdout"].to_string().contains(id)),
        "{started:#?}"
    );

    let ask = waiting["open_asks"][0].as_str().unwrap();
    let events = stage.claude(&format!("/countersign:allow {ask}")).await;
    let allowed = stage.outer_heard(&["allowed once"]);
    assert!(allowed, "{events:#?}");
    let done = stage
        .only_job("the job ends", |job| job["state"] == "completed")
        .await;
    assert_eq!(done["result"], "made after the session");
    let events = stage.claude(&format!("/countersign:result {id}")).await;
    assert!(
        stage.outer_heard(&["### Output", "made after the session"]),
        "{events:#?}"
    );
}

/// The monitor goes on in a session of which nobody asks anything.
#[tokio::test]
async fn an_interactive_session_is_told_when_its_job_waits_and_when_it_has_ended() {
    const SESSION: &str = "5b3c8f5e-1d7a-4a55-9b1c-0d6f3a7e2c11";
    let stage = Stage::set(&[]).await;
    let _terminal = stage.terminal(SESSION);
    let job = json!({
        "kind": "task", "engine": "opencode", "group": SESSION,
        "prompt": "TOOL bash: touch made.txt\nFINAL told to the session",
    });
    stage
        .server
        .api()
        .post("/api/v1/jobs", &job)
        .await
        .expect(201);
    let waiting = stage
        .only_job("the job waits", |job| job["state"] == "waiting")
        .await;
    let id = waiting["id"].as_str().unwrap();
    let heard = async |parts: &[&str]| {
        eventually(PATIENCE, "the session is told", async || {
            stage.outer_heard(parts).then_some(())
        })
        .await;
    };
    heard(&["<task-notification>", id, ": waiting/", "touch made.txt"]).await;
    let ask = waiting["open_asks"][0].as_str().unwrap();
    let answer = json!({"answer": "allow_once"});
    stage.server.api().answer(ask, &answer).await.expect(200);
    heard(&[
        "<task-notification>",
        id,
        "TERMINAL=completed",
        "told to the session",
    ])
    .await;
    // It was woken for these two, and not for every step.
    assert!(!stage.outer_heard(&["<task-notification>", id, ": running/"]));
    assert!(!stage.outer_heard(&["<task-notification>", id, ": starting/"]));
}

#[tokio::test]
async fn the_gate_holds_a_session_up_once_and_is_off_unless_it_is_switched_on() {
    // The stub reviewer does what a line of its prompt says, and the names of changed files are lines of it.
    let verdict = r#"FINAL {"verdict":"needs-attention","summary":"It loses data.","findings":["Lost write"]}"#;
    let stage = Stage::set(&[("a.txt", "one\n")]).await;
    git(stage.server.workspace(), &["init", "-q"]);
    git(stage.server.workspace(), &["add", "a.txt"]);
    git(stage.server.workspace(), &["commit", "-qm", "one"]);
    std::fs::write(stage.server.workspace().join(verdict), "two\n").unwrap();

    stage.claude("FINAL off").await;
    assert!(stage.jobs().await.is_empty());

    let workspace = stage.server.workspace().to_str().unwrap();
    let set = stage
        .server
        .cli(&["setup", "--enable-review-gate", "-C", workspace])
        .await;
    assert!(
        set.expect_success().stdout.contains("Enabled"),
        "{}",
        set.stdout
    );
    let events = stage.claude("FINAL I am done").await;
    let jobs = stage.jobs().await;
    assert_eq!(jobs.len(), 1, "{jobs:#?}\n{events:#?}");
    assert_eq!(
        (&jobs[0]["kind"], &jobs[0]["state"]),
        (&json!("review"), &json!("completed"))
    );
    assert!(stage.outer_heard(&[
        "Countersign's review gate",
        "Lost write",
        "review 1 of at most 10"
    ]));

    // A review that cannot be had holds nobody up, and says so.
    let broken = "HTTPERR 402";
    std::fs::remove_file(stage.server.workspace().join(verdict)).unwrap();
    std::fs::write(stage.server.workspace().join(broken), "two\n").unwrap();
    let events = stage.claude("FINAL I am done again").await;
    let said = told(&events, "system", "hook_response");
    assert!(
        said.iter()
            .any(|response| response["stdout"].to_string().contains("lets it pass")),
        "{said:#?}"
    );
    let set = stage
        .server
        .cli(&["setup", "--disable-review-gate", "-C", workspace])
        .await;
    set.expect_success();
    let count = stage.jobs().await.len();
    stage.claude("FINAL I am done for good").await;
    assert_eq!(stage.jobs().await.len(), count);
}
