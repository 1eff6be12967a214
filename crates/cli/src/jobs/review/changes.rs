//! The changes to be reviewed, as git tells them: bounded, with what is not tracked yet, and nothing of it run.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::process::Command;

use crate::exit::Failure;

/// How much of a difference is put into the prompt; of what is longer the reviewer reads the rest itself.
const LONGEST_DIFF: usize = 256 * 1024;
/// How much of a file that is not tracked yet is put into the prompt.
const LONGEST_FILE: u64 = 24 * 1024;
const MOST_FILES: usize = 200;
const GIT_LIMIT: Duration = Duration::from_mins(1);
/// The branches that changes are usually compared with.
const USUAL_BASES: [&str; 5] = [
    "origin/HEAD",
    "origin/main",
    "origin/master",
    "main",
    "master",
];

/// What is to be reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// What is not committed, else the branch
    Auto,
    /// What is not committed
    WorkingTree,
    /// What the branch has that its base has not
    Branch,
}

/// The changes.
#[derive(Debug)]
pub(super) struct Changes {
    /// What they are, in a few words.
    pub(super) label: String,
    /// The commit that a branch is compared with.
    pub(super) base: Option<String>,
    /// The files, by name.
    pub(super) files: Vec<String>,
    /// The difference, perhaps cut.
    pub(super) difference: String,
    /// How many bytes were cut off.
    pub(super) cut: usize,
}

/// The top of the git repository around `directory`.
pub(crate) async fn repository(directory: &Path) -> Option<PathBuf> {
    let top = git(directory, &["rev-parse", "--show-toplevel"])
        .await
        .ok()?;
    Some(PathBuf::from(top.trim_end_matches('\n')))
}

/// Gathers what `scope` and `base` name in the repository at `root`.
pub(super) async fn gather(
    root: &Path,
    scope: Scope,
    base: Option<&str>,
) -> anyhow::Result<Changes> {
    let wants_branch = match scope {
        Scope::WorkingTree if base.is_some() => {
            let both = "--base compares branches; it goes with --scope branch or auto";
            return Err(Failure::Usage(both.to_owned()).into());
        }
        Scope::WorkingTree => false,
        Scope::Branch => true,
        Scope::Auto => base.is_some() || !is_dirty(root).await?,
    };
    if wants_branch {
        branch(root, base).await
    } else {
        working_tree(root).await
    }
}

async fn is_dirty(root: &Path) -> anyhow::Result<bool> {
    let status = git(root, &["status", "--porcelain", "--untracked-files=all"]).await?;
    Ok(!status.trim().is_empty())
}

async fn working_tree(root: &Path) -> anyhow::Result<Changes> {
    let has_commits = git(root, &["rev-parse", "--verify", "--quiet", "HEAD"])
        .await
        .is_ok();
    // Without a commit there is nothing to compare with but the empty tree.
    let against: &[&str] = if has_commits {
        &["HEAD"]
    } else {
        &["--cached"]
    };
    let mut difference = diff(root, against).await?;
    let mut files = names(root, against).await?;
    for path in untracked(root).await? {
        difference.push_str(&new_file(root, &path));
        files.push(path);
    }
    let (difference, cut) = bounded(difference);
    Ok(Changes {
        label: "the changes of the working tree".to_owned(),
        base: None,
        files,
        difference,
        cut,
    })
}

async fn branch(root: &Path, base: Option<&str>) -> anyhow::Result<Changes> {
    let (name, commit) = match base {
        Some(name) => {
            let commit = resolve(root, name).await.map_err(|_| {
                Failure::Usage(format!(
                    "`{name}` is no commit, tag or branch of {}",
                    root.display()
                ))
            })?;
            (name.to_owned(), commit)
        }
        None => usual_base(root).await?,
    };
    let range = format!("{commit}...HEAD");
    let (difference, cut) = bounded(diff(root, &[&range]).await?);
    Ok(Changes {
        label: format!("what this branch has that `{name}` has not"),
        base: Some(name),
        files: names(root, &[&range]).await?,
        difference,
        cut,
    })
}

async fn usual_base(root: &Path) -> anyhow::Result<(String, String)> {
    for name in USUAL_BASES {
        if let Ok(commit) = resolve(root, name).await {
            return Ok((name.to_owned(), commit));
        }
    }
    Err(
        Failure::Usage("no branch to compare with was found; name one with --base".to_owned())
            .into(),
    )
}

async fn resolve(root: &Path, name: &str) -> anyhow::Result<String> {
    let wanted = format!("{name}^{{commit}}");
    // What begins with a dash is a name here, never an option.
    let found = git(
        root,
        &[
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &wanted,
        ],
    )
    .await?;
    Ok(found.trim().to_owned())
}

async fn diff(root: &Path, what: &[&str]) -> anyhow::Result<String> {
    let plain = [
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--find-renames",
        "--submodule=short",
    ];
    git(root, &[&plain, what, &["--"]].concat()).await
}

async fn names(root: &Path, what: &[&str]) -> anyhow::Result<Vec<String>> {
    let plain = ["diff", "--name-only", "-z", "--no-ext-diff"];
    let listed = git(root, &[&plain, what, &["--"]].concat()).await?;
    Ok(parted(&listed))
}

async fn untracked(root: &Path) -> anyhow::Result<Vec<String>> {
    let listed = git(root, &["ls-files", "--others", "--exclude-standard", "-z"]).await?;
    Ok(parted(&listed))
}

fn parted(listed: &str) -> Vec<String> {
    let names = listed.split('\0').filter(|name| !name.is_empty());
    names.take(MOST_FILES).map(str::to_owned).collect()
}

/// A file that git does not know yet, told as if it had been added.
fn new_file(root: &Path, path: &str) -> String {
    let place = root.join(path);
    let told = |what: &str| format!("--- /dev/null\n+++ b/{path}\n({what})\n");
    let Ok(found) = place.symlink_metadata() else {
        return told("a new file that cannot be read");
    };
    if found.is_symlink() {
        let target = std::fs::read_link(&place).unwrap_or_default();
        return told(&format!("a new link to {}", target.display()));
    }
    if !found.is_file() {
        return told("new, and no file");
    }
    if found.len() > LONGEST_FILE {
        return told(&format!("a new file of {} bytes; read it", found.len()));
    }
    match std::fs::read(&place).map(String::from_utf8) {
        Ok(Ok(text)) if !text.contains('\0') => {
            let lines: String = text.lines().flat_map(|line| ["+", line, "\n"]).collect();
            format!(
                "--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{lines}",
                text.lines().count()
            )
        }
        Ok(_) => told("a new file that is no text"),
        Err(_) => told("a new file that cannot be read"),
    }
}

/// The beginning of `text` that fits, up to the end of a line, and how much is left out.
fn bounded(mut text: String) -> (String, usize) {
    if text.len() <= LONGEST_DIFF {
        return (text, 0);
    }
    let whole = text.len();
    let mut end = LONGEST_DIFF;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end = text[..end].rfind('\n').map_or(end, |line| line + 1);
    text.truncate(end);
    (text, whole - end)
}

async fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = git_command()?;
    command
        .arg("-C")
        .arg(root)
        // Little of what a repository's configuration names is run to look at it, and all of it contained.
        .args(["-c", "core.fsmonitor=false", "-c", "diff.external="])
        .args(arguments)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("COUNTERSIGN_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let cannot = "git cannot be run; a review needs it";
    let mut child = command.spawn().context(cannot)?;
    // What is contained ends when this is dropped, in order and with all that it started.
    let held = child.stdin.take();
    let output = tokio::time::timeout(GIT_LIMIT, child.wait_with_output()).await;
    drop(held);
    let output = output
        .context("git did not answer in time")?
        .context(cannot)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git failed: {}", said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Git as a child of a process that the server refuses with all its descendants: a repository's filters are programs that
/// an agent can configure, and must not speak for the person who looks at its changes.
#[cfg(not(test))]
fn git_command() -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("the path of this program is not known")?;
    let mut command = Command::new(own);
    command.args(["contained", "--", "git"]);
    Ok(command)
}

/// The tests of this crate are not the program that contains others.
#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "it stands for the other one")]
fn git_command() -> anyhow::Result<Command> {
    Ok(Command::new("git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        async fn new() -> Self {
            let it = Self(tempfile::tempdir().unwrap());
            it.git(&["init", "-q", "-b", "main"]).await;
            it.git(&["config", "user.email", "ada@example.com"]).await;
            it.git(&["config", "user.name", "ada"]).await;
            it
        }

        async fn git(&self, arguments: &[&str]) -> String {
            git(self.0.path(), arguments).await.unwrap()
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        async fn commit(&self) {
            self.git(&["add", "-A"]).await;
            self.git(&["commit", "-q", "-m", "more"]).await;
        }

        async fn gather(&self, scope: Scope, base: Option<&str>) -> Changes {
            gather(self.0.path(), scope, base).await.unwrap()
        }
    }

    #[tokio::test]
    async fn what_is_not_committed_is_reviewed_with_what_is_not_tracked() {
        let repository = Repository::new().await;
        repository.write("a.txt", "one\n");
        repository.write("new/b.txt", "two\n");
        // Before the first commit too.
        let first = repository.gather(Scope::Auto, None).await;
        assert_eq!(first.files, ["a.txt", "new/b.txt"]);
        repository.commit().await;
        repository.write("a.txt", "uno\n");
        repository.write("dir/c.txt", "three\nfour\n");
        repository.write("big.txt", &"x".repeat(40_000));
        std::fs::write(repository.0.path().join("d.bin"), [0, 159]).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", repository.0.path().join("link")).unwrap();
        let changes = repository.gather(Scope::Auto, None).await;
        assert_eq!(
            changes.files,
            ["a.txt", "big.txt", "d.bin", "dir/c.txt", "link"]
        );
        for part in [
            "-one\n+uno\n",
            "+++ b/dir/c.txt\n@@ -0,0 +1,2 @@\n+three\n+four\n",
            "+++ b/d.bin\n(a new file that is no text)",
            "+++ b/link\n(a new link to /etc/passwd)",
            "(a new file of 40000 bytes; read it)",
        ] {
            assert!(changes.difference.contains(part), "{part}");
        }
        assert!(!changes.difference.contains("root:"));
    }

    #[tokio::test]
    async fn a_branch_is_compared_with_its_base() {
        let repository = Repository::new().await;
        repository.write("a.txt", "one\n");
        repository.commit().await;
        repository.git(&["switch", "-q", "-c", "topic"]).await;
        repository.write("b.txt", "two\n");
        repository.commit().await;
        for (scope, base) in [
            (Scope::Auto, None),
            (Scope::Branch, None),
            (Scope::Auto, Some("main")),
            (Scope::Branch, Some("HEAD~1")),
        ] {
            let changes = repository.gather(scope, base).await;
            assert_eq!(changes.files, ["b.txt"], "{scope:?} {base:?}");
            assert!(changes.difference.contains("+two"), "{changes:?}");
        }
        for (scope, base) in [
            (Scope::Branch, "nowhere"),
            (Scope::Branch, "--output=/tmp/x"),
            (Scope::WorkingTree, "main"),
        ] {
            let wrong = gather(repository.0.path(), scope, Some(base)).await;
            assert!(wrong.is_err(), "{base}");
        }
    }

    #[test]
    fn a_long_difference_is_cut_at_a_line() {
        let (text, cut) = bounded("ä\n".repeat(200_000));
        assert!(text.len() <= LONGEST_DIFF && text.ends_with('\n'));
        assert_eq!(text.len() + cut, 600_000);
    }
}
