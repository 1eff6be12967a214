//! Git worktrees of jobs: made beside the ledger on branches of their own, compared with what they began with, kept or
//! discarded.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use countersign_core::job::{ChangedFile, JobId, Worktree, WorktreeFate};
use countersign_core::session::{FileDiff, Workspace};
use countersign_engine::contained;

use crate::kept::worktrees_of;

/// How long git may take.
const LIMIT: Duration = Duration::from_mins(2);
/// How many files of a comparison are looked at.
const MOST_FILES: usize = 2_000;
/// The mode by which git says that a path is a repository of its own.
const REPOSITORY_MODE: &str = "160000";

/// Makes the worktree of a job, or finds it.
pub(super) async fn add(
    git: Git<'_>,
    data_directory: &Path,
    workspace: &Workspace,
    job: &JobId,
) -> Result<Worktree, String> {
    let repository = &workspace.path;
    let place = worktrees_of(data_directory, workspace.id).join(job.as_str());
    let path = place
        .to_str()
        .ok_or("the data directory is not UTF-8")?
        .to_owned();
    let branch = format!("countersign/{job}");
    let reference = format!("refs/heads/{branch}");
    if place.join(".git").exists() {
        // A server before this one made it and could not say so.
        let base = git
            .run(repository, &["rev-parse", "--verify", &reference])
            .await?;
        return Ok(worktree(path, branch, &base));
    }
    let base = git
        .run(repository, &["rev-parse", "--verify", "HEAD"])
        .await
        .map_err(|why| format!("there is no commit to begin with: {why}"))?;
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    }
    // What an interrupted one left is cleared away first; it held nothing yet.
    git.run(repository, &["worktree", "prune"]).await?;
    let base = base.trim();
    git.run(
        repository,
        &["worktree", "add", "--quiet", "-B", &branch, &path, base],
    )
    .await?;
    Ok(worktree(path, branch, base))
}

fn worktree(path: String, branch: String, base: &str) -> Worktree {
    Worktree {
        path,
        branch,
        base: base.trim().to_owned(),
        fate: WorktreeFate::Open,
    }
}

/// The files that differ from what a worktree began with, also those that git does not know yet.
pub(super) async fn changed_files(
    git: Git<'_>,
    worktree: &Worktree,
) -> Result<Vec<ChangedFile>, String> {
    note_new_files(git, worktree).await?;
    let numbers = git
        .run(
            &worktree.path,
            &["diff", "--numstat", "-z", "--no-renames", &worktree.base],
        )
        .await?;
    let files = numbers.split('\0').filter_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let (added, removed) = (fields.next()?, fields.next()?);
        Some(ChangedFile {
            path: fields.next()?.to_owned(),
            added: added.parse().ok(),
            removed: removed.parse().ok(),
        })
    });
    Ok(files.take(MOST_FILES).collect())
}

/// The differences from what a worktree began with, or between that and its branch, if the worktree is gone.
pub(super) async fn diff(
    git: Git<'_>,
    repository: &str,
    worktree: &Worktree,
) -> Result<Vec<FileDiff>, String> {
    let text = match worktree.fate {
        WorktreeFate::Open => {
            note_new_files(git, worktree).await?;
            git.run(
                &worktree.path,
                &[
                    "diff",
                    "--no-color",
                    "--no-ext-diff",
                    "--no-renames",
                    &worktree.base,
                ],
            )
            .await?
        }
        WorktreeFate::Kept => {
            let range = format!("{}..{}", worktree.base, worktree.branch);
            git.run(
                repository,
                &[
                    "diff",
                    "--no-color",
                    "--no-ext-diff",
                    "--no-renames",
                    &range,
                ],
            )
            .await?
        }
        WorktreeFate::Discarded => return Ok(Vec::new()),
    };
    Ok(by_file(&text))
}

/// Commits what was changed, has the worktree's branch lead to it wherever it was committed, and removes the worktree.
/// Nothing is removed that would be lost: then it says why.
pub(super) async fn keep(
    git: Git<'_>,
    repository: &str,
    worktree: &Worktree,
    title: &str,
    job: &JobId,
) -> Result<(), String> {
    let reference = format!("refs/heads/{}", worktree.branch);
    let tip = git
        .run(
            repository,
            &["rev-parse", "--verify", "--quiet", &reference],
        )
        .await
        .ok()
        .map(|tip| tip.trim().to_owned());
    if !Path::new(&worktree.path).join(".git").exists() {
        if tip.is_some_and(|tip| tip != worktree.base) {
            git.run(repository, &["worktree", "prune"]).await?;
            return Ok(());
        }
        return Err(format!(
            "there is nothing to keep: the worktree {} is gone, and nothing was committed on the branch {}",
            worktree.path, worktree.branch
        ));
    }
    git.run(&worktree.path, &["add", "--all"]).await?;
    refuse_other_repositories(git, worktree).await?;
    commit(git, worktree, title, job).await?;
    let head = git
        .run(&worktree.path, &["rev-parse", "--verify", "HEAD"])
        .await?;
    lead_branch_to(git, repository, worktree, tip.as_deref(), head.trim()).await?;
    git.run(
        repository,
        &["worktree", "remove", "--force", &worktree.path],
    )
    .await?;
    Ok(())
}

/// Refuses to keep a worktree with changes in repositories within it: a commit names only their commits, and the commits
/// themselves are removed with the worktree.
async fn refuse_other_repositories(git: Git<'_>, worktree: &Worktree) -> Result<(), String> {
    let changed = git
        .run(
            &worktree.path,
            &[
                "diff",
                "--raw",
                "-z",
                "--no-renames",
                "--ignore-submodules=none",
                &worktree.base,
            ],
        )
        .await?;
    // `:MODE MODE COMMIT COMMIT STATUS`, then the path.
    let mut fields = changed.split('\0');
    let mut paths = Vec::new();
    while let (Some(modes), Some(path)) = (fields.next(), fields.next()) {
        if modes.split(' ').nth(1) == Some(REPOSITORY_MODE) {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Ok(());
    }
    Err(format!(
        "what was changed in the repositories within it ({}) would be lost with the worktree: fetch it from {} first",
        paths.join(", "),
        worktree.path
    ))
}

/// Commits what is staged where the worktree's HEAD is, if anything is.
async fn commit(git: Git<'_>, worktree: &Worktree, title: &str, job: &JobId) -> Result<(), String> {
    let staged = git
        .run(&worktree.path, &["diff", "--cached", "--name-only"])
        .await?;
    if staged.trim().is_empty() {
        return Ok(());
    }
    let message = format!("{title}\n\nJob: {job}");
    // It is not the person's commit until they make it theirs: nothing is signed, and no hook is run.
    git.run(
        &worktree.path,
        &[
            "-c",
            "user.name=Countersign",
            "-c",
            "user.email=countersign@localhost",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "--quiet",
            "--no-verify",
            "-m",
            &message,
        ],
    )
    .await
    .map(drop)
}

/// Has the worktree's branch, which is at `tip`, lead to `head`. The agent may have left the branch for another one, or for
/// none.
async fn lead_branch_to(
    git: Git<'_>,
    repository: &str,
    worktree: &Worktree,
    tip: Option<&str>,
    head: &str,
) -> Result<(), String> {
    if tip == Some(head) {
        return Ok(());
    }
    if let Some(tip) = tip {
        let contains = async |whole: &str, part: &str| {
            let question = ["merge-base", "--is-ancestor", part, whole];
            git.run(repository, &question).await.is_ok()
        };
        if contains(tip, head).await {
            return Ok(());
        }
        if !contains(head, tip).await {
            return Err(format!(
                "there is work on the branch {} ({tip}) and other work in {} ({head}), and neither has all of it: merge one into the other there first",
                worktree.branch, worktree.path
            ));
        }
    }
    let reference = format!("refs/heads/{}", worktree.branch);
    git.run(repository, &["update-ref", &reference, head])
        .await
        .map(drop)
}

/// Removes a worktree and its branch.
pub(super) async fn discard(
    git: Git<'_>,
    repository: &str,
    worktree: &Worktree,
) -> Result<(), String> {
    if Path::new(&worktree.path).exists() {
        git.run(
            repository,
            &["worktree", "remove", "--force", &worktree.path],
        )
        .await?;
    }
    git.run(repository, &["worktree", "prune"]).await?;
    let reference = format!("refs/heads/{}", worktree.branch);
    if git
        .run(
            repository,
            &["rev-parse", "--verify", "--quiet", &reference],
        )
        .await
        .is_ok()
    {
        git.run(repository, &["branch", "--quiet", "-D", &worktree.branch])
            .await?;
    }
    Ok(())
}

/// Has git know of new files, without their content, so that they are in comparisons.
async fn note_new_files(git: Git<'_>, worktree: &Worktree) -> Result<(), String> {
    git.run(&worktree.path, &["add", "--all", "--intent-to-add"])
        .await
        .map(drop)
}

/// The differences of each file.
fn by_file(text: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            let names = names.trim_end();
            // Both names are the same, for renames are not looked for.
            let path = names.get(..names.len().saturating_sub(3) / 2);
            files.push(FileDiff {
                path: path.unwrap_or(names).to_owned(),
                patch: String::new(),
            });
        }
        if let Some(file) = files.last_mut() {
            file.patch.push_str(line);
        }
    }
    files
}

/// Git, as the server runs it. A repository's filters and the like are programs that an agent can configure: they run, but
/// contained. Hooks and watchers of files are not run at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Git<'a> {
    /// This program, which contains others.
    pub(super) own_program: &'a Path,
}

impl Git<'_> {
    /// What git says to a command in `directory`, or why it did not do it.
    async fn run(self, directory: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = contained::command(self.own_program, "git");
        command
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
            ])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_PAGER", "cat")
            .env("LC_ALL", "C")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        let unstarted = |error| format!("git could not be started: {error}");
        let mut child = command.spawn().map_err(unstarted)?;
        // What is contained ends when this is dropped, in order and with all that it started.
        let held = child.stdin.take();
        let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
        drop(held);
        let output = output
            .map_err(|_| format!("git took longer than {} s", LIMIT.as_secs()))?
            .map_err(unstarted)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.trim().to_owned())
    }
}
