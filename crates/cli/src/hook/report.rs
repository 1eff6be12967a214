//! Notices a job's id without its report in what came of a tool, and says how to get the report.
//!
//! A list of jobs names ids too, and so does a sub-agent that was only launched; neither promises a report. So an id
//! counts where our own commands say that a job was handed in or still runs, and where a rescue came back with one.

use std::collections::BTreeSet;

use countersign_core::job::JobId;
use serde_json::Value;

use super::{Input, Verdict};

/// What stands before the id of a job that was handed in.
const HANDED_IN: &str = " started in background: ";
/// How many jobs are named at most.
const MOST: usize = 5;

/// What the model is to know about the jobs in what came of a tool.
pub(super) fn notice(input: &Input) -> Verdict {
    let open = without_report(input);
    if open.is_empty() {
        return Verdict::Silent;
    }
    let event = match input.hook_event_name.as_str() {
        "" => "PostToolUse",
        name => name,
    };
    Verdict::Context {
        event: event.to_owned(),
        text: advice(&open),
    }
}

/// The jobs in what came of a tool whose reports are not in it.
pub(super) fn without_report(input: &Input) -> Vec<JobId> {
    let text = input.tool_text();
    let jobs: BTreeSet<JobId> = match input.tool_name.as_str() {
        "Bash" => of_a_command(input, &text),
        "Agent" | "Task" => of_an_agent(input, &text),
        _ => BTreeSet::new(),
    };
    let jobs = jobs.into_iter();
    jobs.filter(|id| !is_reported(&text, id)).collect()
}

/// The jobs that a command handed in, left or still waits for.
fn of_a_command(input: &Input, text: &str) -> BTreeSet<JobId> {
    let command = input.used_with["command"].as_str().unwrap_or_default();
    if !command.contains("countersign") {
        return BTreeSet::new();
    }
    let mut jobs = handed_in(text);
    if was_left(input) {
        // A task in the foreground names its job first; nobody reads its report any more.
        let named = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Job "));
        jobs.extend(named.filter_map(|id| id.parse().ok()));
    }
    jobs
}

/// Whether a command was left before it had ended.
fn was_left(input: &Input) -> bool {
    let response = &input.tool_response;
    let is_in_background = response["backgroundTaskId"].is_string();
    let timed_out = input
        .error
        .as_deref()
        .is_some_and(|error| error.contains("timed out"));
    is_in_background || timed_out || response["interrupted"] == true
}

/// The jobs that a sub-agent came back with.
fn of_an_agent(input: &Input, text: &str) -> BTreeSet<JobId> {
    // It has said nothing yet.
    if input.tool_response["status"] == "async_launched" || input.tool_response["isAsync"] == true {
        return BTreeSet::new();
    }
    let asked = input.used_with["subagent_type"].as_str();
    if asked.is_some_and(is_rescue) {
        return ids(text);
    }
    handed_in(text)
}

/// Whether a sub-agent of this name is the one that hands tasks over.
pub(super) fn is_rescue(name: &str) -> bool {
    name == "rescue" || name == "countersign:rescue"
}

/// The jobs of which our own commands say in `text` that they were handed in or still run.
pub(super) fn handed_in(text: &str) -> BTreeSet<JobId> {
    let mut jobs = BTreeSet::new();
    for line in text.lines() {
        let told = line.split(HANDED_IN).skip(1);
        jobs.extend(told.filter_map(|after| words_of_ids(after).next()?.parse().ok()));
        let Ok(Value::Object(said)) = serde_json::from_str(line.trim()) else {
            continue;
        };
        let is = |status: &str| said.get("status").is_some_and(|said| said == status);
        let id = |name: &str| said.get(name)?.as_str()?.parse().ok();
        if is("queued") {
            jobs.extend(id("jobId"));
        }
        if is("running") {
            jobs.extend(id("task_id"));
        }
    }
    jobs
}

/// All ids in `text`.
pub(super) fn ids(text: &str) -> BTreeSet<JobId> {
    words_of_ids(text)
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The pieces of `text` that have nothing in them but what ids are made of.
fn words_of_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| {
        !character.is_ascii_lowercase() && !character.is_ascii_digit() && character != '-'
    })
}

/// Whether `text` has the report of the job `id`: what it came to, not how it stands.
pub(super) fn is_reported(text: &str, id: &JobId) -> bool {
    let head = format!("## Job: {id}");
    let shown = text.split(head.as_str()).skip(1);
    let mut shown = shown.map(|after| after.split("## Job: ").next().unwrap_or_default());
    if shown.any(|whole| whole.contains("### Output") || whole.contains("### Error")) {
        return true;
    }
    // A monitor's last line has it too.
    let ends = ["completed", "failed", "cancelled"];
    ends.iter()
        .any(|end| text.contains(&format!("{id} TERMINAL={end}")))
        || is_stored(text, id)
}

/// Whether `text` is the report of the job `id` for programs.
fn is_stored(text: &str, id: &JobId) -> bool {
    let Ok(said) = serde_json::from_str::<Value>(text.trim()) else {
        return false;
    };
    let state = said["storedJob"]["state"].as_str();
    said["storedJob"]["id"] == id.as_str()
        && matches!(state, Some("completed" | "failed" | "cancelled"))
}

/// How to get the reports of `jobs`.
fn advice(jobs: &[JobId]) -> String {
    let named: Vec<&str> = jobs.iter().take(MOST).map(JobId::as_str).collect();
    let first = named.first().copied().unwrap_or_default();
    let what = match jobs.len() {
        1 => format!("Job {first} was handed in; this is an id and not its report."),
        count => format!(
            "{count} jobs were handed in ({}); these are ids and not their reports.",
            named.join(", ")
        ),
    };
    format!(
        "{what} Get the report with `countersign wait-and-result {first} --max-wait 480`: Bash, in the foreground, \
         timeout 600000. Exit code 2 means that it still runs: call it again, at most 20 times. If the user wanted it in \
         the background, say that it runs and end your turn instead. Say nothing about the outcome before you have a \
         report with `### Output` or `### Error`."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "task-mi0jqlw9-abc123";

    fn bash(command: &str, stdout: &str) -> Input {
        Input {
            hook_event_name: "PostToolUse".to_owned(),
            tool_name: "Bash".to_owned(),
            used_with: json!({"command": command}),
            tool_response: json!({"stdout": stdout, "stderr": "", "interrupted": false}),
            ..Input::default()
        }
    }

    fn agent(kind: &str, response: Value) -> Input {
        Input {
            hook_event_name: "PostToolUse".to_owned(),
            tool_name: "Agent".to_owned(),
            used_with: json!({"subagent_type": kind, "prompt": format!("go on with {ID}")}),
            tool_response: response,
            ..Input::default()
        }
    }

    fn is_noticed(input: &Input) -> bool {
        match notice(input) {
            Verdict::Context { event, text } => {
                assert_eq!(event, input.hook_event_name);
                let call = format!("countersign wait-and-result {ID} --max-wait 480");
                assert!(text.contains(&call), "{text}");
                assert!(text.contains("at most 20 times"), "{text}");
                true
            }
            Verdict::Silent => false,
            other @ (Verdict::Message(_) | Verdict::Block(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_that_was_handed_in_is_noticed() {
        let said =
            format!("OpenCode task started in background: {ID}\nCheck `countersign status {ID}` …");
        assert!(is_noticed(&bash("countersign task --background x", &said)));
        let said = format!(r#"{{"jobId":"{ID}","status":"queued","title":"x"}}"#);
        assert!(is_noticed(&bash(
            "countersign task --background --json x",
            &said
        )));
    }

    #[test]
    fn a_wait_that_ended_before_the_job_is_noticed() {
        let failed = Input {
            hook_event_name: "PostToolUseFailure".to_owned(),
            tool_response: Value::Null,
            error: Some(format!(
                "Exit code 2\n{{\"status\":\"running\",\"elapsed\":480,\"task_id\":\"{ID}\",\"log_file\":null}}"
            )),
            ..bash(&format!("countersign wait-and-result {ID}"), "")
        };
        assert!(is_noticed(&failed));
    }

    #[test]
    fn lists_and_states_are_not_noticed() {
        let list = format!(
            "## Running Jobs\n\n- **{ID}** (task) — running — 2m 0s\n  > bash: cargo test (3 s ago)"
        );
        assert!(!is_noticed(&bash("countersign status", &list)));
        let one = format!(
            "## Job: {ID}\n\n- **Status**: running\n- **Phase**: running\n\n> bash: cargo test"
        );
        assert!(!is_noticed(&bash(
            &format!("countersign status {ID}"),
            &one
        )));
        let all = json!({"workspaceRoot": "/w", "running": [{"id": ID, "status": "running"}]});
        assert!(!is_noticed(&bash(
            "countersign status --json",
            &all.to_string()
        )));
        let log = format!("OpenCode task started in background: {ID}");
        assert!(!is_noticed(&bash("cat notes.txt", &log)));
    }

    #[test]
    fn a_report_is_a_report() {
        for end in ["### Output\n\ndone", "### Error\n\nno quota"] {
            let whole = format!(
                "started in background: {ID}\n## Job: {ID}\n\n- **Status**: completed\n\n{end}"
            );
            let command = "countersign task --background x && countersign wait-and-result";
            assert!(!is_noticed(&bash(command, &whole)));
        }
        // The report of another job is none of this one.
        let other = format!(
            "x started in background: {ID}\n## Job: {ID}\n\n- **Phase**: running\n## Job: task-mi0jqlw9-zzz999\n\n### Output\n"
        );
        assert!(is_noticed(&bash("countersign task x", &other)));
        let json =
            json!({"job": {"id": ID}, "storedJob": {"id": ID, "state": "completed"}}).to_string();
        assert!(is_reported(&json, &ID.parse().unwrap()));
        let line = format!("[08:02:00] opencode {ID} TERMINAL=completed (elapsed 1m 2s) — done");
        assert!(is_reported(&line, &ID.parse().unwrap()));
        let line = format!("[08:02:00] opencode {ID} TERMINAL=timeout — watched for 60 s");
        assert!(!is_reported(&line, &ID.parse().unwrap()));
    }

    #[test]
    fn a_task_in_the_foreground_is_noticed_only_if_nobody_waits_for_it_any_more() {
        let said = format!("Job {ID}\n[running] bash: cargo test");
        let mut input = bash("countersign task 'make the tests pass'", &said);
        assert!(!is_noticed(&input));
        input.tool_response["backgroundTaskId"] = json!("b1");
        assert!(is_noticed(&input));
        let timed_out = Input {
            hook_event_name: "PostToolUseFailure".to_owned(),
            tool_response: Value::Null,
            error: Some(format!("Command timed out after 2m 0s\n{said}")),
            ..bash("countersign task x", "")
        };
        assert!(is_noticed(&timed_out));
    }

    #[test]
    fn a_sub_agent_that_was_only_launched_is_not_noticed() {
        let launched = json!({
            "isAsync": true, "status": "async_launched", "agentId": "a1",
            "prompt": format!("x started in background: {ID}"), "outputFile": "/tmp/a1.output",
        });
        assert!(!is_noticed(&agent("countersign:rescue", launched)));
    }

    #[test]
    fn a_rescue_that_comes_back_with_an_id_alone_is_noticed() {
        let said = |text: &str| json!({"status": "completed", "content": [{"type": "text", "text": text}]});
        let placeholder = format!("I have started {ID} and will report when it is done.");
        assert!(is_noticed(&agent("countersign:rescue", said(&placeholder))));
        assert!(!is_noticed(&agent("Explore", said(&placeholder))));
        let report = format!("## Job: {ID}\n\n- **Status**: completed\n\n### Output\n\ndone");
        assert!(!is_noticed(&agent("countersign:rescue", said(&report))));
    }

    #[test]
    fn ids_are_told_from_words() {
        let found = ids(&format!(
            "`{ID}`, **review-mi0jqlw9-abc12**; task-force-one subtask-mi0jqlw9-abc123"
        ));
        let found: Vec<_> = found.iter().map(JobId::as_str).collect();
        assert_eq!(found, ["review-mi0jqlw9-abc12", ID]);
    }
}
