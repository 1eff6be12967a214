//! Finds jobs: by their ids from anywhere, or those of the folder that the command was called in.

use std::path::{Path, PathBuf};

use countersign_api::{ErrorCode, JobList, JobView};
use countersign_core::visible::visible;

use crate::Call;
use crate::connection::{Connection, Reply, in_path};
use crate::exit::Failure;

/// How many of the newest jobs are listed.
const NEWEST: usize = 30;
/// How many are where only those are wanted that have not ended, and a few others.
const FEW: usize = 10;

/// What a piece of an id came to.
#[derive(Debug)]
pub(super) enum Found {
    /// The job, with its JSON.
    Job(Box<Reply<JobView>>),
    /// There is none.
    Unknown,
    /// There are several; the server's sentence lists them.
    Ambiguous(String),
}

/// The folder that is meant: the one that is named, else where the command was called.
pub(super) fn directory(call: &Call<'_>, named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let here = call.surroundings.directory.clone();
    let wanted = match (named, here) {
        (Some(named), Some(here)) => here.join(named),
        (Some(named), None) => named.to_owned(),
        (None, Some(here)) => here,
        (None, None) => {
            let lost = "the current folder is gone; change into one that is there";
            return Err(Failure::Usage(lost.to_owned()).into());
        }
    };
    wanted.canonicalize().map_err(|error| {
        Failure::Usage(format!("`{}` cannot be used: {error}", wanted.display())).into()
    })
}

/// The top of the repository around `directory`, else the folder itself. Looked for without starting a process.
pub(crate) fn root(directory: &Path) -> PathBuf {
    let top = directory
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    top.unwrap_or(directory).to_owned()
}

/// Looks for the job that `text` is the id of, or the beginning of the id.
pub(super) async fn find(connection: &Connection, text: &str) -> anyhow::Result<Found> {
    let looked = connection
        .get(&format!("/api/v1/jobs/{}", in_path(text)))
        .await;
    let error = match looked {
        Ok(reply) => return Ok(Found::Job(Box::new(reply))),
        Err(error) => error,
    };
    match error.downcast_ref::<Failure>() {
        Some(Failure::Refused { body, .. }) if body.code == ErrorCode::NotFound => {
            Ok(Found::Unknown)
        }
        Some(Failure::Refused { body, sentence, .. }) if body.code == ErrorCode::Conflict => {
            let mut sentence = sentence.clone();
            let candidates = body.details["candidates"].as_array();
            for candidate in candidates.into_iter().flatten() {
                sentence.push_str("\n  ");
                sentence.push_str(&visible(candidate.as_str().unwrap_or_default()));
            }
            Ok(Found::Ambiguous(sentence))
        }
        _ => Err(error),
    }
}

/// The job that `text` is the id of; there has to be one.
pub(super) async fn job(connection: &Connection, text: &str) -> anyhow::Result<Reply<JobView>> {
    match find(connection, text).await? {
        Found::Job(reply) => Ok(*reply),
        Found::Unknown => Err(Failure::NotFound(unknown(text)).into()),
        Found::Ambiguous(sentence) => Err(Failure::Usage(sentence).into()),
    }
}

/// The sentence for an id that is nobody's.
pub(super) fn unknown(text: &str) -> String {
    format!(
        "there is no job that `{}` means; `countersign status --all` lists them",
        visible(text)
    )
}

/// Which jobs to list.
#[derive(Debug, Clone, Copy)]
pub(super) enum Listed<'a> {
    /// Those of the workspace that this folder is in.
    Of(&'a Path),
    /// The same, with few that have ended.
    AtAGlance(&'a Path),
    /// All of them.
    All,
}

/// Lists jobs: the newest, and all that have not ended, however old they are.
pub(super) async fn list(
    connection: &Connection,
    listed: Listed<'_>,
) -> anyhow::Result<Vec<JobView>> {
    let (newest, directory) = match listed {
        Listed::All => (NEWEST, None),
        Listed::Of(directory) => (NEWEST, Some(directory)),
        Listed::AtAGlance(directory) => (FEW, Some(directory)),
    };
    let of = directory.map(|it| format!("&directory={}", in_path(&it.to_string_lossy())));
    let of = of.unwrap_or_default();
    let list: JobList = connection
        .get(&format!("/api/v1/jobs?limit={newest}&unended=true{of}"))
        .await?
        .value;
    Ok(list.jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_the_repository_around_a_folder_or_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("repo/src/deep");
        std::fs::create_dir_all(&deep).unwrap();
        assert_eq!(root(&deep), deep);
        // A worktree has a file there.
        std::fs::write(folder.path().join("repo/.git"), "gitdir: elsewhere\n").unwrap();
        assert_eq!(root(&deep), folder.path().join("repo"));
    }
}
