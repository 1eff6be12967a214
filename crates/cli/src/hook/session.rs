//! Tells a session that begins which jobs of its folder are under way: they outlive the session that handed them in.
//!
//! A Claude Code that is cleared goes on under another session id, and its monitor goes on watching the first one. So the
//! first id of each process is kept, and commands of later sessions of that process get it as their session.

use std::fmt::Write as _;
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_api::{JobList, JobView};
use countersign_core::visible::visible;

use super::{Input, Verdict, ancestry, cut, record};
use crate::Call;
use crate::connection::in_path;
use crate::launch;
use crate::variables::SESSION;

/// How many jobs are told.
const MOST: usize = 5;
/// How much of a title is told.
const TITLE: usize = 80;
/// How long a server may take to list them. A session does not wait for jobs to begin.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a session that begins is to know.
pub(super) async fn began(call: &mut Call<'_>, input: &Input) -> Verdict {
    let Some(data) = call.surroundings.data.clone() else {
        return Verdict::Silent;
    };
    record::forget_old(&data, call.clock.now());
    // What is not kept costs a notice, and nothing else.
    drop(go_by_the_first_id(&data, input));
    // A session that begins starts no server.
    if !launch::is_served(&data) {
        return Verdict::Silent;
    }
    let listed = tokio::time::timeout(PATIENCE, jobs(call, input)).await;
    match listed {
        Ok(Some(jobs)) => tell(&jobs),
        Ok(None) | Err(_) => Verdict::Silent,
    }
}

/// Has the commands of this session go by the first session id of its process, which the monitor watches.
fn go_by_the_first_id(data: &Path, input: &Input) -> io::Result<()> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let pid = variable("CLAUDE_PID").and_then(|pid| pid.to_str()?.parse::<u32>().ok());
    let Some((pid, begun)) = pid.and_then(|pid| Some((pid, ancestry::begun(pid)?))) else {
        return Ok(());
    };
    let folder = data.join(record::PROCESSES);
    let path = folder.join(pid.to_string());
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    match first_id(&kept, &begun, &input.session_id) {
        First::This => {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)?;
            let mut options = File::options();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&path)?;
            writeln!(file, "{begun} {}", input.session_id)
        }
        First::Other(id) => {
            let Some(path) = variable("CLAUDE_ENV_FILE") else {
                return Ok(());
            };
            let mut file = File::options().append(true).create(true).open(path)?;
            writeln!(file, "export {SESSION}={id}")
        }
        First::Unusable => Ok(()),
    }
}

/// Which session of a process was the first.
#[derive(Debug, PartialEq, Eq)]
enum First<'a> {
    /// This one, of a process that was not known.
    This,
    /// One before it.
    Other(&'a str),
    /// An id that is none, or the same once more.
    Unusable,
}

/// Looks in what is `kept` of a process for the session that it began with; a process is known by when it began.
fn first_id<'a>(kept: &'a str, begun: &str, session: &str) -> First<'a> {
    if !record::is_name(session) {
        return First::Unusable;
    }
    match kept.trim_end().split_once(' ') {
        Some((known, id)) if known == begun && record::is_name(id) => {
            if id == session {
                First::Unusable
            } else {
                First::Other(id)
            }
        }
        Some(_) | None => First::This,
    }
}

async fn jobs(call: &mut Call<'_>, input: &Input) -> Option<Vec<JobView>> {
    let root = super::root(input)?;
    let connection = call.connect().ok()?;
    let path = format!(
        "/api/v1/jobs?limit=50&directory={}",
        in_path(&root.to_string_lossy())
    );
    let list = connection.get::<JobList>(&path).await.ok()?;
    Some(list.value.jobs)
}

fn tell(jobs: &[JobView]) -> Verdict {
    let under_way: Vec<&JobView> = jobs.iter().filter(|job| !job.state.is_terminal()).collect();
    if under_way.is_empty() {
        return Verdict::Silent;
    }
    let mut text = "Countersign jobs of this folder are under way:\n".to_owned();
    for job in under_way.iter().take(MOST) {
        let title = job.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = cut(&visible(&title), TITLE);
        let state = job.state.name();
        let engine = visible(&job.engine);
        writeln!(text, "- {} ({engine}, {state}): {title}", job.id)
            .expect("a String takes every write");
    }
    if under_way.len() > MOST {
        writeln!(
            text,
            "- and {} more: `countersign status`",
            under_way.len() - MOST
        )
        .expect("a String takes every write");
    }
    text.push_str(
        "They belong to earlier sessions. Mention them only if the user asks; `countersign wait-and-result <id> --max-wait 480` \
         gets a report.",
    );
    Verdict::Context {
        event: "SessionStart".to_owned(),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::fixtures::view;
    use serde_json::json;

    #[test]
    fn a_cleared_session_goes_by_the_first_id_of_its_process() {
        assert_eq!(first_id("", "17", "a"), First::This);
        assert_eq!(first_id("17 a\n", "17", "a"), First::Unusable);
        assert_eq!(first_id("17 a\n", "17", "b"), First::Other("a"));
        // Another process that has the same number.
        assert_eq!(first_id("17 a\n", "18", "b"), First::This);
        // Nothing that a shell would read as more than a word.
        assert_eq!(first_id("17 $(x)\n", "17", "b"), First::This);
        assert_eq!(first_id("", "17", "a; b"), First::Unusable);
    }

    #[test]
    fn only_what_is_under_way_is_told_and_not_too_much_of_it() {
        let done = view(
            &json!({"state": "completed", "phase": "done", "ended_at": "2027-01-15T08:01:02Z"}),
        );
        assert_eq!(tell(&[done]), Verdict::Silent);
        let running = view(&json!({
            "state": "waiting", "phase": "waiting", "title": format!("fix\nit \u{202e}{}", "x".repeat(200)),
        }));
        let Verdict::Context { event, text } = tell(&vec![running; 7]) else {
            panic!("it says nothing");
        };
        assert_eq!(event, "SessionStart");
        assert!(
            text.contains("- task-mi0jqlw9-abc123 (opencode, waiting): fix it ⟨U+202E⟩"),
            "{text}"
        );
        assert!(text.contains("- and 2 more"), "{text}");
        assert!(text.len() < 1_500, "{}", text.len());
    }
}
