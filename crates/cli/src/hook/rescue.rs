//! Holds a rescue up that would end without the report that it was started for.
//!
//! Which jobs it handed in is noted when it does so: the conversation may be written down later than it ends.
//! It is held up once. The next time it ends as it will, and what it says is what there is: a sub-agent that has no
//! report has to be able to say so.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::report::{handed_in, ids, is_reported, is_rescue, without_report};
use super::{Input, Verdict, record};

/// How much of a conversation is read: its beginning, where the flags are, and its end.
const PIECE: u64 = 512 * 1024;

/// The flags of a rescue that have no value behind them.
const ALONE: [&str; 7] = [
    "--wait",
    "--write",
    "--read-only",
    "--worktree",
    "--fresh",
    "--resume-last",
    "--json",
];

/// What a rescue says that truly has no report to give.
const TRUE_WORDS: [&str; 2] = ["waits for an answer", "this is not its report"];

/// Notes the jobs that a rescue handed in, if it is one that used a tool.
pub(super) fn note(data: Option<&Path>, input: &Input) {
    let (Some(data), true) = (data, is_ours(input)) else {
        return;
    };
    for id in without_report(input) {
        // What is not noted is looked for in the conversation.
        drop(record::note_job(data, &input.agent_id, &id));
    }
}

/// Whether a sub-agent that is about to end may.
pub(super) fn stop(data: Option<&Path>, input: &Input) -> Verdict {
    if !is_ours(input) {
        return Verdict::Silent;
    }
    let noted = data.map(|data| record::noted_jobs(data, &input.agent_id));
    let verdict = ends(input, &noted.unwrap_or_default(), &transcript(input));
    if let (Verdict::Silent, Some(data)) = (&verdict, data) {
        record::forget_jobs(data, &input.agent_id);
    }
    verdict
}

fn is_ours(input: &Input) -> bool {
    input.agent_type.as_deref().is_some_and(is_rescue)
}

/// Whether a rescue that is about to end may, by what it said, what was `noted` and what is written of it.
fn ends(input: &Input, noted: &str, transcript: &str) -> Verdict {
    if input.stop_hook_active {
        return Verdict::Silent;
    }
    let words = input.last_assistant_message.as_deref().unwrap_or_default();
    let is_true = TRUE_WORDS.iter().any(|truth| words.contains(truth));
    if is_true || is_for_the_background(transcript) {
        return Verdict::Silent;
    }
    let mut jobs = handed_in(transcript);
    jobs.extend(ids(noted));
    jobs.extend(ids(words));
    let Some(id) = jobs.iter().rfind(|id| !is_reported(words, id)) else {
        return Verdict::Silent;
    };
    Verdict::Block(format!(
        "Job {id} was handed in, and what you are about to return is not its report. Get it with `countersign \
         wait-and-result {id} --max-wait 480` (Bash, in the foreground, timeout 600000; exit code 2 means that it still \
         runs: call it again, at most 20 times in all), and return what it prints, from `## Job:` on, word for word. If you \
         have called it 20 times, say that there is no report yet."
    ))
}

/// Whether the sub-agent was told, before the task begins, to leave the job in the background.
fn is_for_the_background(transcript: &str) -> bool {
    let first = transcript.lines().next().unwrap_or_default();
    let first: Value = serde_json::from_str(first).unwrap_or_default();
    let prompt = first["message"]["content"].as_str().unwrap_or_default();
    let mut words = prompt.split_whitespace();
    while let Some(flag) = words.next().filter(|word| word.starts_with('-')) {
        if flag == "--background" {
            return true;
        }
        if !ALONE.contains(&flag) && !flag.contains('=') {
            words.next();
        }
    }
    false
}

/// What is written of the sub-agent's conversation: one JSON object a line.
pub(super) fn transcript(input: &Input) -> String {
    let read = |path: &str| -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        (&mut file).take(PIECE).read_to_end(&mut bytes)?;
        if length > 2 * PIECE {
            bytes.push(b'\n');
            file.seek(SeekFrom::Start(length - PIECE))?;
        }
        file.take(PIECE).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let path = input.agent_transcript_path.as_deref();
    path.and_then(|path| read(path).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "task-mi0jqlw9-abc123";

    fn ending(words: &str) -> Input {
        Input {
            hook_event_name: "SubagentStop".to_owned(),
            agent_type: Some("countersign:rescue".to_owned()),
            agent_id: "a1".to_owned(),
            last_assistant_message: Some(words.to_owned()),
            ..Input::default()
        }
    }

    fn transcript_of(prompt: &str) -> String {
        let lines = [
            json!({"type": "user", "message": {"role": "user", "content": prompt}}),
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash",
                "input": {"command": "countersign task --background --prompt-file - <<'END_OF_TASK'"}}]}}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result",
                "content": format!("OpenCode task started in background: {ID}\nCheck it")}]}}),
        ];
        lines.map(|line| line.to_string()).join("\n")
    }

    #[test]
    fn a_rescue_without_its_report_is_held_up_once() {
        let written = transcript_of("--wait fix the tests");
        for words in [
            "I have started the task.",
            "Monitor started.",
            "task-mi0jqlw9-abc123 is running",
        ] {
            let Verdict::Block(reason) = ends(&ending(words), "", &written) else {
                panic!("{words}");
            };
            assert!(reason.contains(&format!("wait-and-result {ID} --max-wait 480")));
            let again = Input {
                stop_hook_active: true,
                ..ending(words)
            };
            assert_eq!(ends(&again, "", &written), Verdict::Silent);
        }
    }

    #[test]
    fn a_rescue_with_its_report_or_a_true_reason_ends() {
        let written = transcript_of("fix the tests");
        let report = format!("## Job: {ID}\n\n- **Status**: completed\n\n### Output\n\nfixed");
        assert_eq!(ends(&ending(&report), "", &written), Verdict::Silent);
        let waits = format!("Job {ID} waits for an answer: edit src/a.rs");
        assert_eq!(ends(&ending(&waits), "", &written), Verdict::Silent);
        let failed = "error: a server was started in the background and ended: port 1 is taken";
        assert_eq!(ends(&ending(failed), "", ""), Verdict::Silent);
        let background = transcript_of("--background fix the tests");
        let said = format!("Started {ID}. The job runs in the background; this is not its report.");
        assert_eq!(ends(&ending(&said), "", &background), Verdict::Silent);
    }

    #[test]
    fn only_a_flag_before_the_task_says_that_no_report_is_wanted() {
        let is = |prompt: &str| is_for_the_background(&transcript_of(prompt));
        assert!(is("--background fix it") && is("--model a/b --read-only --background fix it"));
        assert!(!is("fix the --background flag") && !is("--wait fix the --background flag"));
        assert!(!is("--model --background fix it"));
        assert!(!is_for_the_background("nonsense --background"));
    }

    #[test]
    fn a_rescue_is_held_up_before_its_conversation_is_written_down() {
        let data = tempfile::tempdir().unwrap();
        let data = Some(data.path());
        let used = Input {
            tool_name: "Bash".to_owned(),
            used_with: json!({"command": "countersign task --background x"}),
            tool_response: json!({"stdout": format!("OpenCode task started in background: {ID}")}),
            ..ending("")
        };
        note(data, &used);
        assert!(matches!(
            stop(data, &ending("I have started it.")),
            Verdict::Block(_)
        ));
        let report = format!("## Job: {ID}\n\n### Output\n\nfixed");
        assert_eq!(stop(data, &ending(&report)), Verdict::Silent);
        // It is over, and what was noted of it gone.
        assert_eq!(stop(data, &ending("I have started it.")), Verdict::Silent);
    }

    #[test]
    fn other_sub_agents_end_as_they_like() {
        let other = Input {
            agent_type: Some("Explore".to_owned()),
            ..ending(ID)
        };
        assert_eq!(stop(None, &other), Verdict::Silent);
    }

    #[test]
    fn of_a_long_conversation_the_beginning_and_the_end_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.jsonl");
        let middle = "x".repeat(usize::try_from(3 * PIECE).unwrap());
        std::fs::write(&path, format!("first\n{middle}\nlast")).unwrap();
        let input = Input {
            agent_transcript_path: Some(path.to_string_lossy().into_owned()),
            ..Input::default()
        };
        let read = transcript(&input);
        assert!(read.starts_with("first\n") && read.ends_with("\nlast"));
        assert!(read.len() as u64 <= 2 * PIECE + 1);
        assert_eq!(transcript(&Input::default()), "");
    }
}
