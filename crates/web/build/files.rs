//! Walks and copies directories, in an order that does not depend on the file system.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// All files at or below `path`, sorted.
pub(crate) fn below(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        found.extend(below(&entry?.path())?);
    }
    found.sort();
    Ok(found)
}

/// Makes `target` a copy of the directory `source`, and nothing else.
pub(crate) fn replace(target: &Path, source: &Path) -> io::Result<()> {
    remove(target)?;
    for file in below(source)? {
        let name = file.strip_prefix(source).map_err(io::Error::other)?;
        let copy = target.join(name);
        fs::create_dir_all(copy.parent().unwrap_or(target))?;
        fs::copy(&file, copy)?;
    }
    Ok(())
}

/// Removes the directory `path`, if it is there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_nothing_of_what_was_there_before() {
        let directory = tempfile::tempdir().unwrap();
        let (source, target) = (directory.path().join("new"), directory.path().join("old"));
        fs::create_dir_all(source.join("assets")).unwrap();
        fs::write(source.join("assets/a.js"), "a").unwrap();
        fs::create_dir_all(target.join("assets")).unwrap();
        fs::write(target.join("assets/stale.js"), "stale").unwrap();

        replace(&target, &source).unwrap();

        assert_eq!(below(&target).unwrap(), [target.join("assets/a.js")]);
    }
}
