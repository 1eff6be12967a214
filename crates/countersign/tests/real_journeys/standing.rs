//! "Always", and the offered options, for every kind of ask: what is said once answers the same again, and no more.

use serde_json::{Value, json};

use crate::{Stage, assert_delivered, assert_outside, id, newest_ask};

fn always(scope: &str) -> Value {
    json!({"answer": "allow_always", "scope": scope})
}

fn option(name: &str) -> Value {
    json!({"answer": "option", "option": name, "reason": "not this one"})
}

/// Checks that the newest ask of a session was answered by a rule, and delivered.
async fn answered_by_rule(stage: &Stage, session: &str) -> Value {
    let ask = newest_ask(stage.api(), session).await;
    assert_eq!(ask["answer"]["by"]["kind"], "rule", "{ask}");
    assert_delivered(&ask, "permission.replied");
    ask
}

#[tokio::test]
async fn a_file_that_may_always_be_changed_is_asked_for_once() {
    let stage = Stage::set().await;
    let [notes, other] = ["notes.txt", "other.txt"].map(|name| {
        let path = stage.server.workspace().join(name);
        std::fs::write(&path, "one\n").unwrap();
        path
    });
    let change = |path: &std::path::Path, from: &str, to: &str| {
        let path = path.display();
        format!("TOOL read: {path}\nTOOL edit: {path} <<< {from} >>> {to}")
    };
    let holds = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();

    let (session, ask) = stage.asked(&change(&notes, "one", "two")).await;
    assert_eq!(ask["subject"]["tool"], "edit");
    let settled = stage.answered(&ask, &always("session")).await;
    assert_delivered(&settled, "permission.replied");
    stage.turn_is(&session, "completed").await;
    assert_eq!(holds(&notes), "two\n");

    // Another change of the same file in the same session is made without asking.
    let again = change(&notes, "two", "three");
    stage.api().prompt(&session, &again).await;
    stage.turn_is(&session, "completed").await;
    assert_eq!(holds(&notes), "three\n");
    answered_by_rule(&stage, &session).await;

    // Another file is not, nor this one in another session; each offered option does what it says.
    stage
        .api()
        .prompt(&session, &change(&other, "one", "two"))
        .await;
    let ask = stage.api().wait_for_ask_of(&session).await;
    let settled = stage.answered(&ask, &option("reject")).await;
    assert_delivered(&settled, "permission.replied");
    stage.model_reads("not this one").await;
    stage.turn_is(&session, "completed").await;
    assert_eq!(holds(&other), "one\n");
    let (session, ask) = stage.asked(&change(&notes, "three", "four")).await;
    assert_eq!(holds(&notes), "three\n");
    let settled = stage
        .answered(&ask, &json!({"answer": "option", "option": "once"}))
        .await;
    assert_delivered(&settled, "permission.replied");
    stage.turn_is(&session, "completed").await;
    assert_eq!(holds(&notes), "four\n");
    stage.no_alarm().await;
}

#[tokio::test]
async fn a_folder_outside_that_may_always_be_read_is_asked_for_once() {
    let stage = Stage::set().await;
    let folders = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let look = |folder: usize, name: &str| {
        let path = folders[folder].path().join(name);
        std::fs::write(&path, format!("the words of {name}")).unwrap();
        format!("TOOL read: {}", path.display())
    };

    let (session, ask) = stage.asked(&look(0, "first.txt")).await;
    assert_outside(&ask, folders[0].path());
    let settled = stage.answered(&ask, &always("workspace")).await;
    assert_delivered(&settled, "permission.replied");
    stage.model_reads("the words of first.txt").await;
    stage.turn_is(&session, "completed").await;

    // The person was shown the folder: what else is in it is read without asking, in every session.
    let session = stage.api().start_and_prompt(&look(0, "second.txt")).await;
    stage.model_reads("the words of second.txt").await;
    stage.turn_is(&session, "completed").await;
    let second = answered_by_rule(&stage, &session).await;
    assert_eq!(second["answer"]["rule"], settled["answer"]["rule"]);

    let (session, ask) = stage.asked(&look(1, "third.txt")).await;
    assert_outside(&ask, folders[1].path());
    let settled = stage.answered(&ask, &option("reject")).await;
    assert_delivered(&settled, "permission.replied");
    stage.turn_is(&session, "completed").await;
    let requests = stage.model.requests();
    let leaked = requests
        .iter()
        .any(|request| request.to_string().contains("the words of third.txt"));
    assert!(!leaked, "what was denied was not read");
    stage.no_alarm().await;
}

#[tokio::test]
async fn what_a_sub_agent_may_always_do_is_asked_for_once() {
    let stage = Stage::set().await;
    let api = stage.api();
    let delegated = |task: &str, file: &str| {
        format!("TOOL task: {task} | TOOL bash: echo again >> {file} ;; FINAL the helper is done")
    };
    let lines = |file: &str| {
        let path = stage.server.workspace().join(file);
        std::fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .count()
    };
    let asked = async |prompt: &str| {
        let parent = api.start_and_prompt(prompt).await;
        let of_a_child = |ask: &Value| ask["parent_session"] == parent.as_str();
        let ask = api.wait_for_ask("the sub-agent asks", of_a_child).await;
        (parent, ask)
    };

    let (parent, ask) = asked(&delegated("one", "log.txt")).await;
    let settled = stage.answered(&ask, &always("workspace")).await;
    assert_delivered(&settled, "permission.replied");
    stage.turn_is(&parent, "completed").await;
    assert_eq!(lines("log.txt"), 1);

    // Another sub-agent of another session does it without asking.
    let parent = api.start_and_prompt(&delegated("two", "log.txt")).await;
    stage.turn_is(&parent, "completed").await;
    assert_eq!(lines("log.txt"), 2);
    let list = api.get("/api/v1/asks?limit=1").await;
    let second = &list["asks"][0];
    assert_ne!(id(second), id(&ask));
    assert_eq!(second["parent_session"], parent.as_str());
    assert_eq!(second["answer"]["by"]["kind"], "rule", "{second}");
    assert_delivered(second, "permission.replied");

    // Leave for the sub-agent's own session reaches no other, not even its parent's.
    let (parent, ask) = asked(&delegated("three", "own.txt")).await;
    let settled = stage.answered(&ask, &always("session")).await;
    assert_delivered(&settled, "permission.replied");
    stage.turn_is(&parent, "completed").await;
    assert_eq!(lines("own.txt"), 1);
    api.prompt(&parent, "TOOL bash: echo again >> own.txt")
        .await;
    let ask = api.wait_for_ask_of(&parent).await;
    let settled = stage.answered(&ask, &option("reject")).await;
    assert_delivered(&settled, "permission.replied");
    stage.model_reads("not this one").await;
    stage.turn_is(&parent, "completed").await;
    assert_eq!(lines("own.txt"), 1);
    stage.no_alarm().await;
}
