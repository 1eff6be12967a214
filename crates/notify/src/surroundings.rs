//! What an attempt has to know of the machine: our own environment, and the folders that agents write in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use countersign_engine::environment::allowed_environment;

/// What an attempt has to know of the machine.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Our own environment, of which a part is passed on.
    pub own_environment: Vec<(OsString, OsString)>,
    /// The resolved paths of the workspaces and of whatever else agents work in: what lies there can have been replaced.
    pub workspaces: Vec<PathBuf>,
}

impl fmt::Debug for Surroundings {
    /// Without the environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("workspaces", &self.workspaces)
            .finish_non_exhaustive()
    }
}

impl Surroundings {
    /// The workspace that `path` lies in, links resolved, if it lies in one.
    pub fn workspace_of(&self, path: &Path) -> io::Result<Option<&Path>> {
        let resolved = path.canonicalize()?;
        let mut workspaces = self.workspaces.iter().map(PathBuf::as_path);
        Ok(workspaces.find(|workspace| resolved.starts_with(workspace)))
    }

    /// The environment of a program that is started: an allow-list, as for engines, and a `PATH` without the folders that
    /// agents write in.
    pub(crate) fn environment(&self, extra: &[String]) -> BTreeMap<String, String> {
        let mut environment = allowed_environment(self.own_environment.iter().cloned(), extra);
        if let Some(path) = environment.get_mut("PATH") {
            let is_safe = |folder: &PathBuf| {
                folder.is_absolute() && matches!(self.workspace_of(folder), Ok(None))
            };
            let folders: Vec<PathBuf> = std::env::split_paths(path).filter(is_safe).collect();
            *path = std::env::join_paths(folders)
                .ok()
                .and_then(|path| path.into_string().ok())
                .unwrap_or_default();
        }
        environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_started_program_has_no_folder_that_an_agent_writes_in() {
        let workspace = tempfile::tempdir().unwrap();
        let path = workspace.path().canonicalize().unwrap();
        let bin = path.join("node_modules/.bin");
        std::fs::create_dir_all(&bin).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let link = elsewhere.path().join("link");
        std::os::unix::fs::symlink(&bin, &link).unwrap();
        let given = format!("{}:/usr/bin:.:{}", bin.display(), link.display());
        let surroundings = Surroundings {
            own_environment: vec![
                ("PATH".into(), given.into()),
                ("COUNTERSIGN_TOKEN".into(), "cs_1".into()),
                ("OTHER".into(), "x".into()),
            ],
            workspaces: vec![path],
        };
        let environment = surroundings.environment(&["*".to_owned()]);
        assert_eq!(environment["PATH"], "/usr/bin");
        assert_eq!(environment.get("COUNTERSIGN_TOKEN"), None);
        assert_eq!(environment["OTHER"], "x");
        assert_eq!(surroundings.environment(&[]).get("OTHER"), None);
    }
}
