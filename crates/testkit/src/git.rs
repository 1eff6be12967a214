//! Repositories for tests.

use std::path::Path;
use std::process::Command;

/// Runs git in `directory` as somebody who may commit, and returns what it printed; panics if it fails.
#[track_caller]
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@localhost"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("git is there");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a repository with one commit of `directory`, in which a file is added.
pub fn repository(directory: &Path) {
    git(directory, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(directory.join("readme.md"), "hello\n").expect("the folder can be written");
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "-m", "begin"]);
}
