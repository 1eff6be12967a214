//! Who descends from whom, and the end of a whole tree of processes.
//!
//! The process table changes while it is read. Each answer here is of a table that was consistent when it was read,
//! or it is an error: nobody is taken for a stranger because a parent of theirs happened to die.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, timeout_at};

use super::{ProcessIdentity, platform};

/// How often the table is read anew before it is given up as too restless.
const ATTEMPTS: usize = 32;

/// How long killed processes may take to disappear.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How soon processes that were started during the end of their tree are looked for.
const NEWCOMERS: Duration = Duration::from_millis(100);

/// Returns the parent of `pid`, its parent, and so on up to the first process.
///
/// Fails if there is no such process, or if its ancestry would not stand still: callers that refuse descendants
/// refuse then too.
pub fn ancestors(pid: u32) -> io::Result<Vec<ProcessIdentity>> {
    for _ in 0..ATTEMPTS {
        if let (Some(first), Some(second)) = (climb(pid)?, climb(pid)?)
            && first == second
        {
            return Ok(first);
        }
    }
    Err(too_restless())
}

/// Tells whether `pid` is `ancestor` or descends from it.
pub fn descends_from(pid: u32, ancestor: ProcessIdentity) -> io::Result<bool> {
    Ok(ProcessIdentity::of(pid) == Some(ancestor) || ancestors(pid)?.contains(&ancestor))
}

/// Tells whether `pid` descends from a process whose first argument is `word`.
pub fn descends_from_called(pid: u32, word: &str) -> io::Result<bool> {
    let ancestors = ancestors(pid)?;
    Ok(ancestors
        .iter()
        .any(|ancestor| platform::first_argument(ancestor.pid).is_some_and(|it| it == word)))
}

/// Returns every live process that descends from `root`, nearest first; `root` itself is not among them.
pub fn descendants(root: u32) -> io::Result<Vec<ProcessIdentity>> {
    let mut table: HashMap<u32, platform::Seen> = platform::everyone()?.into_iter().collect();
    for _ in 0..ATTEMPTS {
        // A parent that is missing ended while the table was read, and its children are somebody else's now.
        let astray: Vec<u32> = table
            .iter()
            .filter(|(_, seen)| seen.parent != 0 && !table.contains_key(&seen.parent))
            .map(|(pid, _)| *pid)
            .collect();
        if astray.is_empty() {
            return Ok(below(root, &table));
        }
        for pid in astray {
            let Some(seen) = platform::look(pid)? else {
                table.remove(&pid);
                continue;
            };
            table.insert(pid, seen);
            if let Some(parent) = platform::look(seen.parent)? {
                table.entry(seen.parent).or_insert(parent);
            }
        }
    }
    Err(too_restless())
}

/// Returns every live process that was started with the variable `name` set to `value`, itself or by inheritance.
///
/// This finds what is left of a tree whose root and subreaper are gone. A process that cleared its environment is
/// not found.
pub fn started_with(name: &str, value: &str) -> io::Result<Vec<ProcessIdentity>> {
    Ok(platform::everyone()?
        .into_iter()
        .filter(|(pid, seen)| seen.alive && platform::was_started_with(*pid, name, value))
        .map(|(pid, seen)| ProcessIdentity {
            pid,
            start_time: seen.start_time,
        })
        .collect())
}

/// Ends `root` and all its descendants, as [`end_all`] does.
pub async fn end_tree(root: ProcessIdentity, grace: Duration) -> io::Result<Vec<ProcessIdentity>> {
    end_all(|| with_descendants(root), grace).await
}

/// Returns `root` and all its descendants, as far as they are alive.
pub fn with_descendants(root: ProcessIdentity) -> io::Result<Vec<ProcessIdentity>> {
    if !root.is_alive() {
        return Ok(Vec::new());
    }
    let mut members = vec![root];
    members.extend(descendants(root.pid)?);
    Ok(members)
}

/// Ends every process that `find` returns, and goes on asking `find` until it returns none and all that it ever
/// returned are over, with their descendants.
///
/// Each is asked to end (TERM), and after `grace` killed. Returns those that could not be ended, which is nobody
/// unless the system refuses to kill them.
pub async fn end_all(
    find: impl Fn() -> io::Result<Vec<ProcessIdentity>>,
    grace: Duration,
) -> io::Result<Vec<ProcessIdentity>> {
    let kill_at = Instant::now() + grace;
    let give_up_at = kill_at + KILL_LIMIT;
    let mut known = HashSet::new();
    let mut asked = HashSet::new();
    loop {
        let members = with_those_that_left(find()?, &known)?;
        known.extend(members.iter().copied());
        let now = Instant::now();
        let Some(nearest) = members.first().copied() else {
            return Ok(members);
        };
        if now >= give_up_at {
            return Ok(members);
        }
        for member in members {
            let sent = if now >= kill_at {
                member.send(Signal::KILL)
            } else if asked.insert(member) {
                // A stopped process would not hear that it should end.
                member
                    .send(Signal::TERM)
                    .and_then(|()| member.send(Signal::CONT))
            } else {
                Ok(())
            };
            if let Err(error) = sent {
                tracing::warn!(process.id = %member, error = %error, "a process could not be signalled");
            }
        }
        let next_stage = if now >= kill_at { give_up_at } else { kill_at };
        let look_again = next_stage.min(now + NEWCOMERS);
        if let Ok(Err(error)) = timeout_at(look_again, nearest.exited()).await {
            tracing::warn!(process.id = %nearest, error = %error, "the end of a process cannot be watched");
            tokio::time::sleep_until(look_again).await;
        }
    }
}

/// Adds those of `known` who live on outside the tree that they were found in, and their descendants.
fn with_those_that_left(
    mut members: Vec<ProcessIdentity>,
    known: &HashSet<ProcessIdentity>,
) -> io::Result<Vec<ProcessIdentity>> {
    let mut present: HashSet<_> = members.iter().copied().collect();
    for process in known {
        if !present.contains(process) && process.is_alive() {
            members.extend(
                with_descendants(*process)?
                    .into_iter()
                    .filter(|member| present.insert(*member)),
            );
        }
    }
    Ok(members)
}

/// Climbs once; `None` if a parent changed on the way.
fn climb(pid: u32) -> io::Result<Option<Vec<ProcessIdentity>>> {
    let mut child = platform::look(pid)?.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no process {pid}"),
        )
    })?;
    let mut line = Vec::new();
    while child.parent != 0 {
        let Some(parent) = platform::look(child.parent)? else {
            return Ok(None);
        };
        // Nobody is older than their parent: the number was used again by a stranger.
        if parent.start_time > child.start_time {
            return Ok(None);
        }
        line.push(ProcessIdentity {
            pid: child.parent,
            start_time: parent.start_time,
        });
        child = parent;
    }
    Ok(Some(line))
}

fn below(root: u32, table: &HashMap<u32, platform::Seen>) -> Vec<ProcessIdentity> {
    let mut children: HashMap<u32, Vec<(u32, platform::Seen)>> = HashMap::new();
    for (pid, seen) in table {
        children.entry(seen.parent).or_default().push((*pid, *seen));
    }
    let mut found = Vec::new();
    let mut to_visit = vec![root];
    while let Some(parent) = to_visit.pop() {
        for (pid, seen) in children.remove(&parent).unwrap_or_default() {
            to_visit.push(pid);
            if seen.alive {
                found.push(ProcessIdentity {
                    pid,
                    start_time: seen.start_time,
                });
            }
        }
    }
    found
}

fn too_restless() -> io::Error {
    io::Error::new(
        io::ErrorKind::WouldBlock,
        "the process table changed each time it was read",
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn ancestry_leads_to_the_first_process() {
        let line = ancestors(std::process::id()).unwrap();
        assert_eq!(
            line.first().map(|parent| parent.pid),
            Some(std::os::unix::process::parent_id())
        );
        assert_eq!(line.last().map(|first| first.pid), Some(1));
    }

    #[test]
    fn a_process_that_is_gone_has_no_ancestry() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(
            ancestors(child.id()).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }

    #[tokio::test]
    async fn a_tree_that_ignores_the_request_to_end_is_killed() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; (trap '' TERM; sleep 1000) & (sleep 1000; :) & wait; wait; sleep 1000"])
            .spawn()
            .unwrap();
        let root = ProcessIdentity::of(child.id()).unwrap();
        assert!(descends_from(root.pid, ProcessIdentity::own().unwrap()).unwrap());
        let members = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                let members = with_descendants(root).unwrap();
                if members.len() >= 4 {
                    return members;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();

        let left = end_tree(root, Duration::from_millis(200)).await.unwrap();

        assert_eq!(left, []);
        let alive: Vec<_> = members
            .into_iter()
            .filter(|member| member.is_alive())
            .collect();
        assert_eq!(alive, []);
        child.wait().unwrap();
    }

    #[tokio::test]
    async fn detached_processes_are_found_by_the_environment_they_were_started_with() {
        let value = format!("{}-detached", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", "(setsid sleep 1000 &) ; exit 0"])
            .env("TREE_TEST_MARK", &value)
            .spawn()
            .unwrap();
        child.wait().unwrap();
        let find = || started_with("TREE_TEST_MARK", &value);
        assert_eq!(find().unwrap().len(), 1);

        assert_eq!(end_all(find, Duration::from_secs(5)).await.unwrap(), []);
        assert_eq!(find().unwrap(), []);
    }
}
