use super::*;
use crate::stub_model::{last_user_text, tool_results};

/// The first turn of a fresh process takes seconds by itself.
const TURN: Duration = Duration::from_mins(1);

struct Setting {
    opencode: RealOpencode,
    model: StubModel,
    directory: TempDir,
}

async fn setting(release: Opencode) -> Setting {
    let directory = tempfile::tempdir().unwrap();
    let model = StubModel::start().await;
    let opencode = RealOpencode::start_release(release, directory.path(), &model).await;
    Setting {
        opencode,
        model,
        directory,
    }
}

async fn reply(opencode: &RealOpencode, ask: &Value, reply: &Value) {
    let id = ask["id"].as_str().unwrap();
    let done = opencode
        .post(&format!("/permission/{id}/reply"), reply)
        .await;
    assert_eq!(done, true);
}

#[tokio::test]
async fn a_command_is_asked_for_and_runs_after_a_reply() {
    let Setting {
        opencode,
        directory,
        model: _model,
    } = setting(Opencode::V1_18_33).await;
    let file = directory.path().join("a.txt");
    let session = opencode.create_session().await;
    opencode
        .prompt(&session, "TOOL bash: echo hi > a.txt\nFINAL written")
        .await;

    let asked = |ask: &Value| ask["permission"] == "bash";
    let ask = opencode
        .wait_for_permission(TURN, "the command is asked for", asked)
        .await;
    assert_eq!(ask["metadata"]["command"], "echo hi > a.txt");
    assert!(!file.exists());

    reply(&opencode, &ask, &json!({"reply": "once"})).await;

    assert_eq!(
        opencode.wait_for_final_text(TURN, &session).await,
        "written"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hi\n");
}

#[tokio::test]
async fn a_denial_with_a_reason_reaches_the_model_and_the_script_goes_on() {
    let Setting {
        opencode,
        model,
        directory,
    } = setting(Opencode::V1_18_33).await;
    let session = opencode.create_session().await;
    let script = r"TOOL write: a.txt <<< one\ntwo
        TOOL bash: true";
    opencode.prompt(&session, script).await;
    let edit = |ask: &Value| ask["permission"] == "edit";
    let ask = opencode
        .wait_for_permission(TURN, "the write is asked for", edit)
        .await;

    reply(
        &opencode,
        &ask,
        &json!({"reply": "reject", "message": "not in this house"}),
    )
    .await;

    let denied = |request: &Value| {
        tool_results(request)
            .iter()
            .any(|result| result.contains("not in this house"))
    };
    model
        .wait_for_request(TURN, "the reason reaches the model", denied)
        .await;
    let bash = |ask: &Value| ask["permission"] == "bash";
    let ask = opencode
        .wait_for_permission(TURN, "the next step is asked for", bash)
        .await;
    reply(&opencode, &ask, &json!({"reply": "once"})).await;
    assert_eq!(opencode.wait_for_final_text(TURN, &session).await, "DONE");
    assert!(!directory.path().join("a.txt").exists());
}

#[tokio::test]
async fn a_sub_agent_and_a_question_can_be_scripted_and_a_restart_forgets_what_was_asked() {
    let Setting {
        mut opencode,
        model,
        directory: _directory,
    } = setting(Opencode::V1_18_33).await;
    let session = opencode.create_session().await;
    let script = "TOOL task: look around | TOOL bash: echo inner ;; FINAL seen\n\
        TOOL question: Which one? | left | right";
    opencode.prompt(&session, script).await;

    let bash = |ask: &Value| ask["permission"] == "bash";
    let ask = opencode
        .wait_for_permission(TURN, "the sub-agent asks", bash)
        .await;
    let child = ask["sessionID"].as_str().unwrap();
    assert_ne!(child, session);
    let child = opencode.get(&format!("/session/{child}")).await;
    assert_eq!(child["parentID"], session.as_str());
    reply(&opencode, &ask, &json!({"reply": "once"})).await;

    let question = eventually(TURN, "the question is asked", async || {
        let pending = opencode.get("/question").await;
        pending.as_array()?.first().cloned()
    })
    .await;
    assert_eq!(question["questions"][0]["question"], "Which one?");
    let inner = |request: &Value| last_user_text(request) == "TOOL bash: echo inner\nFINAL seen";
    model
        .wait_for_request(TURN, "the sub-agent's prompt", inner)
        .await;

    opencode.restart().await;

    assert_eq!(opencode.get("/question").await, json!([]));
}

#[tokio::test]
async fn the_older_release_runs_beside_it_and_says_true_to_an_unknown_id() {
    let Setting {
        opencode,
        directory,
        model: _model,
    } = setting(Opencode::V1_15_3).await;
    let session = opencode.create_session().await;
    opencode
        .prompt(&session, "TOOL bash: echo hi > a.txt")
        .await;
    let asked = |ask: &Value| ask["permission"] == "bash";
    let ask = opencode
        .wait_for_permission(TURN, "the command is asked for", asked)
        .await;
    let body = json!({"reply": "once"});
    assert_eq!(
        opencode.post("/permission/per_unknown/reply", &body).await,
        true
    );

    reply(&opencode, &ask, &body).await;

    assert_eq!(opencode.wait_for_final_text(TURN, &session).await, "DONE");
    assert!(directory.path().join("a.txt").exists());
}
