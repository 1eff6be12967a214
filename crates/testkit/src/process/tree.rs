//! Finding every process that a program has started, also those that left its group, session or parent.
//!
//! A process belongs to the tree when it carries the program's mark in its environment or on its command line, or
//! descends from one that does. A grandchild escapes only when both its environment was rebuilt and its parent has
//! ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal};

/// How often the tree is searched again for what was forked meanwhile.
const ROUNDS: usize = 20;

/// What tells one program's processes from all others: a text that no other process was started with.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// The variable that carries the mark.
    pub(super) const VARIABLE: &str = "COUNTERSIGN_TESTKIT_MARK";

    pub(super) fn new() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    /// Marks what was started with `text`, such as a directory of its own, anywhere in its surroundings.
    pub(crate) fn containing(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn value(&self) -> &str {
        &self.0
    }

    /// Returns all live processes of the tree, `root` included if it is still there.
    pub(crate) fn processes(&self, root: Option<u32>) -> BTreeSet<u32> {
        let parents = parents();
        let is_own = |id: &u32| Some(*id) == root || self.marks(*id);
        let mut found: BTreeSet<u32> = parents.keys().copied().filter(is_own).collect();
        loop {
            let children: Vec<u32> = parents
                .iter()
                .filter(|(id, parent)| found.contains(parent) && !found.contains(id))
                .map(|(id, _)| *id)
                .collect();
            if children.is_empty() {
                return found;
            }
            found.extend(children);
        }
    }

    /// Kills the tree until nothing of it is left alive.
    pub(crate) fn kill_all(&self, root: Option<u32>) {
        for _ in 0..ROUNDS {
            let alive = self.processes(root);
            if alive.is_empty() {
                return;
            }
            for id in alive {
                kill(id);
            }
        }
    }

    fn marks(&self, id: u32) -> bool {
        ["environ", "cmdline"].iter().any(|surroundings| {
            let bytes = fs::read(format!("/proc/{id}/{surroundings}")).unwrap_or_default();
            let mut places = bytes.windows(self.0.len());
            places.any(|place| place == self.0.as_bytes())
        })
    }
}

fn kill(id: u32) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    if let Some(id) = id {
        // One that has ended by itself is as good as killed.
        let _ended = rustix::process::kill_process(id, Signal::KILL);
    }
}

/// Returns the parent of every live process; those that only wait to be reaped are left out.
fn parents() -> BTreeMap<u32, u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, parent(id)?)))
        .collect()
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold anything, also parentheses: the fields begin after the last one.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(parent)
}
