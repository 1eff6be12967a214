//! Files of a workspace, opened so that none is ever outside of it: symlinks are resolved first, and then no step of
//! the way may be one, so that nobody can put one there in between.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, open, openat};

/// A file of a workspace, open for reading.
#[derive(Debug)]
pub(super) struct WorkspaceFile {
    /// Its path from the workspace on, with all symlinks resolved.
    pub(super) name: String,
    /// How many bytes it has.
    pub(super) size: u64,
    file: File,
}

/// Why there is no such file. What is outside is not told apart from what is not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoSuchFile {
    /// It is not in the workspace, or not at all, or no plain file.
    #[error("is no file of the workspace")]
    NotThere,
    /// It is there and cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
}

impl WorkspaceFile {
    /// Opens `path`, which begins at `workspace` or is absolute.
    pub(super) fn open(workspace: &Path, path: &Path) -> Result<Self, NoSuchFile> {
        let not_there = |_| NoSuchFile::NotThere;
        let home = workspace.canonicalize().map_err(not_there)?;
        let resolved = home.join(path).canonicalize().map_err(not_there)?;
        let way = resolved
            .strip_prefix(&home)
            .map_err(|_| NoSuchFile::NotThere)?;
        let name = way
            .to_str()
            .filter(|name| !name.is_empty())
            .ok_or(NoSuchFile::NotThere)?;
        let file = walk(&home, way).map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                NoSuchFile::Unreadable(error)
            } else {
                NoSuchFile::NotThere
            }
        })?;
        let about = file.metadata().map_err(NoSuchFile::Unreadable)?;
        if !about.is_file() {
            return Err(NoSuchFile::NotThere);
        }
        Ok(Self {
            name: name.to_owned(),
            size: about.len(),
            file,
        })
    }

    /// Its content, unless that has more than `limit` bytes.
    pub(super) fn read(self, limit: usize) -> Result<Option<Vec<u8>>, NoSuchFile> {
        let mut bytes = Vec::new();
        // It may grow while it is read.
        self.file
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(NoSuchFile::Unreadable)?;
        Ok((bytes.len() <= limit).then_some(bytes))
    }
}

/// Goes from `home` to the file, one plain name at a time.
fn walk(home: &Path, way: &Path) -> io::Result<File> {
    // Nothing is waited for: what is no plain file is not read.
    let last =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = open(home, step, Mode::empty())?;
    let mut names = way.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let flags = if names.peek().is_some() { step } else { last };
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(File::from(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_found_through_symlinks_within_and_never_outside() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        std::fs::create_dir_all(inside.join("src")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(inside.join("src/a.rs"), "fn a() {}").unwrap();
        std::fs::write(outside.join("secret"), "secret").unwrap();
        symlink(inside.join("src/a.rs"), inside.join("within")).unwrap();
        symlink("../outside/secret", inside.join("escape")).unwrap();
        symlink(&outside, inside.join("out")).unwrap();

        for path in [
            "src/a.rs",
            "within",
            "src/../src/a.rs",
            inside.join("src/a.rs").to_str().unwrap(),
        ] {
            let found = WorkspaceFile::open(&inside, Path::new(path)).unwrap();
            assert_eq!((found.name.as_str(), found.size), ("src/a.rs", 9));
            assert_eq!(found.read(9).unwrap().unwrap(), b"fn a() {}");
        }
        let found = WorkspaceFile::open(&inside, Path::new("src/a.rs")).unwrap();
        assert_eq!(found.read(8).unwrap(), None);
        for path in [
            "escape",
            "out/secret",
            "../outside/secret",
            outside.join("secret").to_str().unwrap(),
            "nothing",
            "src",
            "",
            "/",
            "/dev/null",
        ] {
            let refused = WorkspaceFile::open(&inside, Path::new(path));
            assert!(matches!(refused, Err(NoSuchFile::NotThere)), "{path}");
        }
    }

    #[test]
    fn no_step_of_the_way_is_a_symlink() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/a"), "a").unwrap();
        symlink("real", root.join("way")).unwrap();
        symlink("real/a", root.join("a")).unwrap();
        assert!(walk(&root, Path::new("real/a")).is_ok());
        assert!(walk(&root, Path::new("way/a")).is_err());
        assert!(walk(&root, Path::new("a")).is_err());
    }
}
