//! A folder that is swapped for a link all the time never leads out of the workspace.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "what helps the tests may fail as they do"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_workspace::{Change, Home, Reach, Workspace};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

const SWAPS: usize = 100_000;
const SKILL: &str = "---\ndescription: mine\n---\n";
const SECRET: &str = "---\ndescription: secret\n---\n";

/// Swaps two names at once, so that neither is ever missing.
fn swap(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn slow_of_a_hundred_thousand_swaps_none_leads_out() {
    let root = TempDir::new().unwrap();
    let path = |path: &str| root.path().join(path);
    fs::create_dir_all(path("ws/.git")).unwrap();
    fs::create_dir_all(path("ws/.opencode/skills/target")).unwrap();
    fs::write(path("ws/.opencode/skills/target/SKILL.md"), SKILL).unwrap();
    fs::create_dir_all(path("outside/target")).unwrap();
    fs::write(path("outside/SKILL.md"), SECRET).unwrap();
    fs::write(path("outside/target/SKILL.md"), SECRET).unwrap();
    // Both the folder of one skill and the folder of all of them are swapped.
    symlink(path("outside"), path("ws/.opencode/skills/link")).unwrap();
    symlink("../../outside", path("ws/.opencode/link")).unwrap();
    let workspace = Workspace::new(path("ws"), Home::new(path("home")));
    let over = AtomicBool::new(false);
    let (listed, read, written, refused) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..SWAPS {
                if turn % 2 == 0 {
                    let skills = path("ws/.opencode/skills");
                    // Whichever of the two it is at this moment.
                    if !skills.is_symlink() {
                        swap(&skills.join("target"), &skills.join("link"));
                    }
                } else {
                    swap(&path("ws/.opencode/skills"), &path("ws/.opencode/link"));
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        let reader = scope.spawn(|| {
            let (mut listed, mut read) = (0_usize, 0_usize);
            while !over.load(Ordering::Relaxed) {
                for skill in workspace.skills(Reach::Project).unwrap_or_default().iter() {
                    assert_ne!(skill.description, "secret", "what lies outside was listed");
                    listed += 1;
                }
                if let Ok(skill) = workspace.skill("target", Reach::Project) {
                    assert!(
                        !skill.content.contains("secret"),
                        "what lies outside was read"
                    );
                    read += 1;
                }
            }
            (listed, read)
        });
        let (mut written, mut refused) = (0_usize, 0_usize);
        while !over.load(Ordering::Relaxed) {
            let change = Change::UpsertSkill {
                name: ["target", "link", "new"][written % 3].to_owned(),
                content: format!("{written} {refused}"),
                description: Some("mine".to_owned()),
            };
            match workspace.carry_out(&change) {
                Ok(_) => written += 1,
                Err(_) => refused += 1,
            }
        }
        let (listed, read) = reader.join().unwrap();
        (listed, read, written, refused)
    });
    assert!(
        listed > 0 && written > 0 && refused > 0,
        "{listed} listed, {read} read, {written} written, {refused} refused"
    );
    assert_eq!(
        fs::read_to_string(path("outside/SKILL.md")).unwrap(),
        SECRET
    );
    assert_eq!(
        fs::read_to_string(path("outside/target/SKILL.md")).unwrap(),
        SECRET
    );
    let outside = fs::read_dir(path("outside")).unwrap().count();
    let inside = fs::read_dir(path("outside/target")).unwrap().count();
    assert_eq!((outside, inside), (2, 1), "a file was made outside");
}
