//! What tells that something is another one of all that engines load from a workspace: so that a change is noticed that
//! somebody made with an editor.
//!
//! Nothing is read but names and stamps, and no link below a folder is followed. Who changes a file twice within a tick
//! of the clock is noticed once, which is all that an engine has to be told.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};

use crate::beneath::{EntryKind, Root};
use crate::config;
use crate::stamp::Stamp;
use crate::workspace::Workspace;
use crate::{commands, plugins, skills};

/// How deep folders are looked into.
const DEPTH: usize = 8;
/// How many files are looked at in all.
const MOST: usize = 50_000;

/// What of a workspace an engine loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Its configuration.
    Config,
    /// Its skills.
    Skills,
    /// Its commands.
    Commands,
    /// Its agents, and what all of them are told.
    Agents,
    /// Its plugins, as files.
    Plugins,
}

/// A place that is looked at.
enum Place {
    File(&'static str),
    Folder(&'static str),
}

const PLACES: [(Part, Place); 10] = [
    (Part::Config, Place::File(config::OPENCODE[0])),
    (Part::Config, Place::File(config::OPENCODE[1])),
    (Part::Config, Place::File(config::OPENWORK)),
    (Part::Skills, Place::Folder(skills::FOLDER)),
    (Part::Commands, Place::Folder(commands::FOLDER)),
    (Part::Agents, Place::File("AGENTS.md")),
    (Part::Agents, Place::Folder(".opencode/agents")),
    (Part::Agents, Place::Folder(".opencode/agent")),
    (Part::Plugins, Place::Folder(plugins::FOLDER)),
    (Part::Plugins, Place::Folder(".opencode/plugin")),
];

/// Every file that engines load, and what tells it from what it becomes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signs(BTreeMap<(Part, PathBuf), Stamp>);

impl Workspace {
    /// Looks at every file that engines load. What cannot be looked at is as if it were not there.
    pub fn signs(&self) -> Signs {
        let mut signs = Signs::default();
        let Ok(root) = self.root() else {
            return signs;
        };
        for (part, place) in PLACES {
            match place {
                Place::File(path) => signs.look_at_file(&root, part, Path::new(path)),
                Place::Folder(path) => {
                    let path = Path::new(path);
                    if let Ok(folder) = root.open_folder(path) {
                        signs.look_into(&folder, part, path, DEPTH);
                    }
                }
            }
        }
        signs
    }
}

impl Signs {
    /// For each part that is another one than `earlier`, the first of its files that is, from the workspace on.
    pub fn differences(&self, earlier: &Self) -> BTreeMap<Part, PathBuf> {
        let mut found: BTreeMap<Part, PathBuf> = BTreeMap::new();
        let changed = self
            .0
            .iter()
            .filter(|(place, stamp)| earlier.0.get(*place) != Some(*stamp));
        let gone = earlier
            .0
            .iter()
            .filter(|(place, _)| !self.0.contains_key(*place));
        for ((part, path), _) in changed.chain(gone) {
            found.entry(*part).or_insert_with(|| path.clone());
        }
        found
    }

    fn look_at_file(&mut self, root: &Root, part: Part, path: &Path) {
        if let Ok(stamp) = root.stamp(path) {
            self.0.insert((part, path.to_owned()), stamp);
        }
    }

    fn look_into(&mut self, folder: &OwnedFd, part: Part, path: &Path, depth: usize) {
        let Ok(entries) = Root::entries_of(folder) else {
            return;
        };
        for entry in entries {
            if self.0.len() >= MOST {
                return;
            }
            if is_passed_over(&entry.name) {
                continue;
            }
            let path = path.join(&entry.name);
            match entry.kind {
                EntryKind::File | EntryKind::Link => {
                    if let Ok(status) = statat(folder, &entry.name, AtFlags::SYMLINK_NOFOLLOW) {
                        self.0.insert((part, path), Stamp::of(&status));
                    }
                }
                EntryKind::Folder if depth > 0 => {
                    let flags =
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    if let Ok(below) = openat(folder, &entry.name, flags, Mode::empty()) {
                        self.look_into(&below, part, &path, depth - 1);
                    }
                }
                EntryKind::Folder | EntryKind::Other => {}
            }
        }
    }
}

/// Whether a name is of something that engines do not load: what editors keep beside a file, what a write has not put in
/// its place yet, and what others have written.
fn is_passed_over(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.starts_with(b".") || bytes.ends_with(b"~") || name == "node_modules"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    fn laid_out() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in [
            "ws/opencode.jsonc",
            "ws/.opencode/skills/one/SKILL.md",
            "ws/.opencode/commands/two.md",
            "ws/.opencode/agents/three.md",
            "ws/.opencode/plugins/four.js",
            "ws/src/main.rs",
            "outside/SKILL.md",
        ] {
            put(path);
        }
        let workspace = Workspace::new(folder.path().join("ws"), Home::new("/nowhere"));
        (folder, workspace)
    }

    #[test]
    fn what_engines_load_is_noticed_and_nothing_else() {
        let (folder, workspace) = laid_out();
        let at = |path: &str| folder.path().join("ws").join(path);
        let before = workspace.signs();
        assert!(workspace.signs().differences(&before).is_empty());
        for path in [
            "src/main.rs",
            ".opencode/skills/one/.SKILL.md.swp",
            ".opencode/commands/two.md~",
            ".opencode/openwork/audit.jsonl",
        ] {
            std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            std::fs::write(at(path), "another").unwrap();
            assert!(workspace.signs().differences(&before).is_empty(), "{path}");
        }
        for (part, path) in [
            (Part::Config, "opencode.json"),
            (Part::Skills, ".opencode/skills/one/scripts/deep.sh"),
            (Part::Commands, ".opencode/commands/two.md"),
            (Part::Agents, "AGENTS.md"),
            (Part::Plugins, ".opencode/plugins/four.js"),
        ] {
            let before = workspace.signs();
            std::fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            std::fs::write(at(path), "longer than before").unwrap();
            let differences = workspace.signs().differences(&before);
            assert_eq!(differences, BTreeMap::from([(part, path.into())]));
        }
        let before = workspace.signs();
        std::fs::remove_file(at(".opencode/agents/three.md")).unwrap();
        let gone = workspace.signs().differences(&before);
        assert_eq!(gone.keys().collect::<Vec<_>>(), [&Part::Agents]);
    }

    #[test]
    fn no_link_is_followed() {
        let (folder, workspace) = laid_out();
        let outside = folder.path().join("outside");
        let skills = folder.path().join("ws/.opencode/skills");
        std::os::unix::fs::symlink(&outside, skills.join("out")).unwrap();
        let before = workspace.signs();
        std::fs::write(outside.join("SKILL.md"), "another one").unwrap();
        assert!(workspace.signs().differences(&before).is_empty());
        // Not even if it takes the place of the whole folder.
        std::fs::rename(&skills, folder.path().join("ws/old")).unwrap();
        std::os::unix::fs::symlink(&outside, &skills).unwrap();
        let before = workspace.signs();
        std::fs::write(outside.join("SKILL.md"), "yet another one").unwrap();
        assert!(workspace.signs().differences(&before).is_empty());
    }
}
