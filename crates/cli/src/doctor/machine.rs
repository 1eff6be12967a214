//! What has to be right on this machine: the data directory, and the programs that are called.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use countersign_core::visible::visible;
use tokio::process::Command;

use super::Check;

/// The oldest opencode that is known to work well.
const OPENCODE: (u64, u64) = (1, 18);
const INSTALL_OPENCODE: &str = "install it with `npm install -g opencode-ai`";
const INSTALL_NODE: &str = "install Node.js 20.19 or newer if you build from source";
const VERSION_LIMIT: Duration = Duration::from_secs(20);
/// What a program needs to say its version.
const PASSED_ON: [&str; 5] = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME"];

/// The directory is there, this user's, and closed to everybody else.
pub(super) fn data_directory(path: Option<&Path>) -> Check {
    const NAME: &str = "data";
    let Some(path) = path else {
        return Check::fail(
            NAME,
            "no data directory: neither COUNTERSIGN_DATA nor HOME is set",
            "set COUNTERSIGN_DATA to a directory of yours",
        );
    };
    let shown = path.display();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Check::warn(
                NAME,
                format!("{shown} is not there yet"),
                "the first server makes it: `countersign up`",
            );
        }
        Err(error) => {
            return Check::fail(
                NAME,
                format!("{shown} cannot be looked at: {error}"),
                "make it yours, or set COUNTERSIGN_DATA to another directory",
            );
        }
    };
    let mode = found.permissions().mode() & 0o777;
    let others = mode & 0o077;
    if !found.is_dir() {
        Check::fail(
            NAME,
            format!("{shown} is no directory"),
            "move it away, or set COUNTERSIGN_DATA to another directory",
        )
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        Check::fail(
            NAME,
            format!("{shown} belongs to somebody else"),
            "set COUNTERSIGN_DATA to a directory of yours",
        )
    } else if others == 0 {
        Check::ok(NAME, format!("{shown} is private"))
    } else {
        Check::fail(
            NAME,
            format!("{shown} is open to others (mode {mode:03o})"),
            format!("chmod 700 {shown}"),
        )
    }
}

/// opencode is there and new enough; without it a server that has its engine elsewhere still works.
pub(super) async fn opencode(path: Option<&OsStr>, engine_is_ready: bool) -> Check {
    const NAME: &str = "opencode";
    let Some(program) = find("opencode", path) else {
        return if engine_is_ready {
            Check::warn(
                NAME,
                "not on this PATH, though an engine is ready",
                INSTALL_OPENCODE,
            )
        } else {
            Check::fail(
                NAME,
                "not found: there is no agent to run",
                INSTALL_OPENCODE,
            )
        };
    };
    let shown = program.display();
    match version(&program).await {
        Ok(text) => match parse(&text) {
            Some(found) if found >= OPENCODE => {
                Check::ok(NAME, format!("{} at {shown}", text.trim()))
            }
            Some(_) => Check::warn(
                NAME,
                format!(
                    "{} at {shown} is too old: {}.{} or newer is wanted",
                    visible(text.trim()),
                    OPENCODE.0,
                    OPENCODE.1
                ),
                "upgrade it with `npm install -g opencode-ai@latest`",
            ),
            None => Check::warn(
                NAME,
                format!("{shown} says `{}` for its version", visible(text.trim())),
                "see whether that is opencode",
            ),
        },
        Err(why) => Check::fail(NAME, format!("{shown} {why}"), INSTALL_OPENCODE),
    }
}

/// Node is there; only building the web app needs it.
pub(super) async fn node(path: Option<&OsStr>) -> Check {
    const NAME: &str = "node";
    let Some(program) = find("node", path) else {
        return Check::warn(
            NAME,
            "not found; a build from source has a placeholder for the web app",
            INSTALL_NODE,
        );
    };
    match version(&program).await {
        Ok(text) => Check::ok(
            NAME,
            format!("{} at {}", visible(text.trim()), program.display()),
        ),
        Err(why) => Check::warn(NAME, format!("{} {why}", program.display()), INSTALL_NODE),
    }
}

/// What the program `name` says its version is, if there is one.
pub(crate) async fn version_on(name: &str, path: Option<&OsStr>) -> Option<String> {
    let said = version(&find(name, path)?).await.ok()?;
    Some(visible(said.trim()).into_owned())
}

/// The providers whose models opencode lists.
pub(crate) async fn providers(path: Option<&OsStr>) -> BTreeSet<String> {
    let Some(program) = find("opencode", path) else {
        return BTreeSet::new();
    };
    let listed = ask(&program, "models").await.unwrap_or_default();
    listed
        .lines()
        .filter_map(|line| Some(line.trim().split_once('/')?.0))
        .filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))
        .map(|name| visible(name).into_owned())
        .collect()
}

fn find(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?)
        .map(|directory| directory.join(name))
        .find(|program| {
            std::fs::metadata(program)
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
}

async fn version(program: &Path) -> Result<String, String> {
    ask(program, "--version").await
}

async fn ask(program: &Path, argument: &str) -> Result<String, String> {
    let running = Command::new(program)
        .arg(argument)
        // It is an agent's program: nothing of ours is for its eyes, a token least of all.
        .env_clear()
        .envs(
            PASSED_ON
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(VERSION_LIMIT, running).await {
        Ok(Ok(output)) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(Ok(output)) => Err(format!("does not say its version ({})", output.status)),
        Ok(Err(error)) => Err(format!("cannot be run: {error}")),
        Err(_) => Err("did not say its version in time".to_owned()),
    }
}

/// The first two numbers of a version.
fn parse(text: &str) -> Option<(u64, u64)> {
    let start = text.find(|character: char| character.is_ascii_digit())?;
    let mut numbers = text[start..].split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Finding;

    fn program(directory: &Path, name: &str, script: &str) {
        let path = directory.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn versions_are_read_by_their_numbers() {
        assert_eq!(parse("1.18.33\n"), Some((1, 18)));
        assert_eq!(parse("opencode v2.0.1-beta"), Some((2, 0)));
        assert_eq!(parse("none"), None);
    }

    #[tokio::test]
    async fn an_opencode_that_is_missing_or_too_old_is_told_with_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().as_os_str();
        let check = async |engine_is_ready, finding, said: &str, fix: &str| {
            let found = opencode(Some(path), engine_is_ready).await;
            assert_eq!(found.finding, finding, "{found:?}");
            assert!(found.message.contains(said), "{found:?}");
            assert_eq!(found.fix.as_deref().unwrap_or_default(), fix);
        };
        let upgrade = "upgrade it with `npm install -g opencode-ai@latest`";
        check(
            false,
            Finding::Fail,
            "there is no agent to run",
            INSTALL_OPENCODE,
        )
        .await;
        check(
            true,
            Finding::Warn,
            "though an engine is ready",
            INSTALL_OPENCODE,
        )
        .await;
        for (script, finding, said, fix) in [
            ("echo 1.18.33", Finding::Ok, "1.18.33 at ", ""),
            (
                "echo 1.15.3",
                Finding::Warn,
                "is too old: 1.18 or newer",
                upgrade,
            ),
            (
                "exit 3",
                Finding::Fail,
                "does not say its version",
                INSTALL_OPENCODE,
            ),
        ] {
            program(directory.path(), "opencode", script);
            check(false, finding, said, fix).await;
        }
    }

    #[test]
    fn a_data_directory_that_others_can_enter_fails() {
        let directory = tempfile::tempdir().unwrap();
        let set = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(directory.path(), mode).unwrap();
            data_directory(Some(directory.path())).finding
        };
        assert_eq!(set(0o700), Finding::Ok);
        assert_eq!(set(0o750), Finding::Fail);
        assert_eq!(
            data_directory(Some(&directory.path().join("no"))).finding,
            Finding::Warn
        );
    }
}
