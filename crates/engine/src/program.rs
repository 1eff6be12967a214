//! Finding programs the way a shell would.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Looks for a program called `name` in the folders of `path`, leaving out relative ones.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let given = Path::new(name);
    if given.is_absolute() {
        return is_executable(given).then(|| given.to_owned());
    }
    // A name with a slash in it would be looked for in whatever directory we happen to be in.
    if name.is_empty() || name.contains('/') {
        return None;
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_first_program_that_can_be_started_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        std::fs::write(&program, "").unwrap();
        assert_eq!(find_program("agent", folder.path().as_os_str()), None);
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            find_program("agent", folder.path().as_os_str()),
            Some(program.clone())
        );
        assert_eq!(
            find_program(program.to_str().unwrap(), OsStr::new("")),
            Some(program)
        );
        for odd in ["", "./agent", "../agent"] {
            assert_eq!(find_program(odd, folder.path().as_os_str()), None);
        }
    }
}
