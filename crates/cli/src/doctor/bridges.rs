//! The chats that the configuration names, tried by our own program: only that knows platforms.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use countersign_core::visible::visible;
use serde_json::Value;
use tokio::process::Command;

use super::Check;

const NAME: &str = "bridges";
const LIMIT: Duration = Duration::from_mins(1);

/// How the chats stand; nothing if there are none.
pub(super) async fn look() -> Option<Check> {
    let own = std::env::current_exe().ok()?;
    // Whoever else has these commands in it, such as a test, is not called.
    if own.file_name() != Some("countersign".as_ref()) {
        return None;
    }
    match ask(&own).await {
        Ok(found) => told(&found),
        Err(problem) => Some(Check::fail(
            NAME,
            format!("they cannot be tried: {}", visible(&problem)),
            "run `countersign bridges check`",
        )),
    }
}

async fn ask(own: &Path) -> Result<Value, String> {
    let running = Command::new(own)
        .args(["bridges", "check", "--json"])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = match tokio::time::timeout(LIMIT, running).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("it took too long".to_owned()),
    };
    serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// What was found, in one line.
fn told(found: &Value) -> Option<Check> {
    let bridges = found["bridges"].as_array()?;
    let names: Vec<&str> = bridges
        .iter()
        .filter_map(|bridge| bridge["bridge"].as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    let problems: Vec<String> = bridges
        .iter()
        .flat_map(|bridge| bridge["findings"].as_array().into_iter().flatten())
        .filter_map(|finding| {
            let problem = finding["problem"].as_str()?;
            let tried = finding["tried"].as_str().unwrap_or_default();
            Some(visible(&format!("{tried}: {problem}")).into_owned())
        })
        .collect();
    Some(if problems.is_empty() {
        Check::ok(NAME, names.join(", "))
    } else {
        Check::fail(
            NAME,
            problems.join("; "),
            "put it right, and run `countersign bridges check`",
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::Finding;

    #[test]
    fn chats_are_told_of_if_there_are_any() {
        assert_eq!(told(&json!({"ok": true, "bridges": []})), None);
        let findings = |problem: Value| json!({"bridges": [{"bridge": "matrix", "findings": [{"tried": "the token", "problem": problem}]}]});
        let well = told(&findings(Value::Null)).unwrap();
        assert_eq!(
            (well.finding, well.message.as_str()),
            (Finding::Ok, "matrix")
        );
        let wrong = told(&findings(json!("401"))).unwrap();
        assert_eq!(wrong.finding, Finding::Fail);
        assert_eq!(wrong.message, "the token: 401");
    }
}
