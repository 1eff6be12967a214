//! Tells whether this process was started by an agent that Countersign itself runs.
//!
//! Such an agent may be a Claude Code that has the same plugin. It is the one who does the work: it is told of no jobs, it
//! is not reviewed by a gate that would start the next agent, and so on without an end. The server refuses it as well.

use std::path::Path;

/// How far up is looked.
const DEEPEST: usize = 64;

/// Whether one of the processes above this one is a keeper of engines.
pub(crate) fn is_an_agents() -> bool {
    let mut process = std::process::id();
    for _ in 0..DEEPEST {
        let Some(parent) = parent(process) else {
            return false;
        };
        if is_keeper(parent) {
            return true;
        }
        process = parent;
    }
    false
}

fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    parent_in(&stat).filter(|parent| *parent > 1)
}

/// When `process` began, in the system's own count.
pub(super) fn begun(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(19).map(str::to_owned)
}

/// The parent in a line of `/proc`: the second field behind the name, which may hold anything in its brackets.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(1)?.parse().ok()
}

fn is_keeper(process: u32) -> bool {
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    is_keepers_line(&line)
}

/// Whether a command line is a keeper's: the program by whatever path, and the command.
fn is_keepers_line(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let program = words.next().unwrap_or_default();
    let name = Path::new(program.as_ref()).file_name();
    name.is_some_and(|name| name == "countersign") && words.next().is_some_and(|it| it == "keeper")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_read_whatever_a_process_is_called() {
        assert_eq!(parent_in("7 (a) b) S 42 7 7 0"), Some(42));
        assert_eq!(parent_in("nonsense"), None);
        assert!(!is_an_agents());
        let own = begun(std::process::id()).unwrap();
        assert!(own.parse::<u64>().unwrap() > 0);
        assert_eq!(begun(std::process::id()), Some(own));
    }

    #[test]
    fn a_keeper_is_known_by_its_command_line() {
        assert!(is_keepers_line(
            b"/opt/countersign\0keeper\0--run-directory\0/d\0"
        ));
        assert!(!is_keepers_line(b"/opt/countersign\0serve\0"));
        assert!(!is_keepers_line(b"/bin/sh\0-c\0countersign keeper\0"));
        assert!(!is_keepers_line(b""));
    }
}
