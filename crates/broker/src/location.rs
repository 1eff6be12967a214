//! Finds out where a tool acts: which folder and which files its words mean, with `..` and links resolved.
//!
//! It is looked at once, when the ask is opened, and kept with it. A link that is made afterwards is not seen.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use countersign_core::ask::{Folder, Location, NamedFile, ResolvedFile, Shown, Subject};

/// How long the disk may take to tell where something is.
const PATIENCE: Duration = Duration::from_secs(2);

/// `subject` with the folder and the files resolved that a tool of a session in `directory` names. What was not as its name
/// says is added to what people are shown.
pub(crate) async fn resolved(subject: Subject, directory: &str) -> Subject {
    let Subject::Permission {
        tool,
        targets,
        location,
        mut shown,
    } = subject
    else {
        return subject;
    };
    let location = if location.is_plain() {
        location
    } else {
        let (named, folder) = (location.clone(), PathBuf::from(directory));
        let look = tokio::task::spawn_blocking(move || find(&named, &folder));
        // A look that failed, or that a disk keeps waiting, found nothing: everything is unknown until it is found.
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) | Err(_) => location,
        }
    };
    shown.extend(differences(&location, Path::new(directory)));
    Subject::Permission {
        tool,
        targets,
        location,
        shown,
    }
}

fn find(location: &Location, directory: &Path) -> Location {
    let files = location.files.iter().map(|named| NamedFile {
        named: named.named.clone(),
        file: find_file(&named.named, directory),
    });
    Location {
        files: files.collect(),
        root: match (location.files.is_empty(), real(directory)) {
            (false, Some(root)) => root.to_str().unwrap_or_default().to_owned(),
            (true, _) | (false, None) => String::new(),
        },
        folder: match &location.folder {
            Folder::Unknown { named } if !named.is_empty() => find_folder(named, directory),
            folder @ (Folder::Session | Folder::Other { .. } | Folder::Unknown { .. }) => {
                folder.clone()
            }
        },
    }
}

fn find_folder(named: &str, directory: &Path) -> Folder {
    let unknown = || Folder::Unknown {
        named: named.to_owned(),
    };
    let (Some(home), Some(folder)) = (real(directory), place(named, directory)) else {
        return unknown();
    };
    match folder.to_str() {
        Some(_) if folder == home => Folder::Session,
        Some(path) if folder.is_dir() => Folder::Other {
            path: path.to_owned(),
        },
        Some(_) | None => unknown(),
    }
}

fn find_file(named: &str, directory: &Path) -> ResolvedFile {
    let (Some(home), Some(file)) = (real(directory), place(named, directory)) else {
        return ResolvedFile::Unknown;
    };
    let (inside, path) = match file.strip_prefix(&home) {
        Ok(below) => (true, below),
        Err(_) => (false, file.as_path()),
    };
    match path.to_str() {
        Some(path) if inside => ResolvedFile::Inside {
            path: path.to_owned(),
        },
        Some(path) => ResolvedFile::Outside {
            path: path.to_owned(),
        },
        None => ResolvedFile::Unknown,
    }
}

/// The place that `named` means in `directory`, with links resolved; nothing if that cannot be told. Some programs take
/// `link/..` for the folder that the link is in and some for the one above where it leads: where that is not the same, it
/// cannot be told.
fn place(named: &str, directory: &Path) -> Option<PathBuf> {
    let given = directory.join(named);
    let by_text = resolve(&normalised(&given)?)?;
    let climbs = |part: Component<'_>| part == Component::ParentDir;
    if given.components().any(climbs) && resolve(&given)? != by_text {
        return None;
    }
    Some(by_text)
}

/// A path without `.` and `..`, by its text alone.
fn normalised(path: &Path) -> Option<PathBuf> {
    let mut normalised = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if normalised.parent().is_none() => {}
            Component::ParentDir => {
                normalised.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) => normalised.push(part),
            Component::Prefix(_) => return None,
        }
    }
    Some(normalised)
}

/// Resolves the links of a path, of which only the beginning has to exist.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut missing = vec![];
    let mut beginning = path;
    loop {
        match beginning.canonicalize() {
            Ok(found) => {
                return Some(
                    missing
                        .iter()
                        .rev()
                        .fold(found, |path, part| path.join(part)),
                );
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link that leads nowhere yet makes a file where it leads.
                if beginning.symlink_metadata().is_ok() {
                    return None;
                }
                missing.push(beginning.file_name()?);
                beginning = beginning.parent()?;
            }
            Err(_) => return None,
        }
    }
}

fn real(directory: &Path) -> Option<PathBuf> {
    directory.canonicalize().ok()
}

/// What people have to be told besides the names, for a session in `directory`.
fn differences(location: &Location, directory: &Path) -> Vec<Shown> {
    let text = |label: String, text: &str| Shown::Text {
        label,
        text: text.to_owned(),
    };
    let mut shown = vec![];
    if let Folder::Other { path } = &location.folder {
        shown.push(text("That folder is".to_owned(), path));
    }
    for NamedFile { named, file } in &location.files {
        let label = format!("`{named}` is");
        let by_text = normalised(&directory.join(named)).unwrap_or_default();
        let below = by_text.strip_prefix(directory).ok();
        match file {
            ResolvedFile::Unknown => shown.push(text(label, "a file that could not be found out")),
            ResolvedFile::Inside { path } if below != Some(Path::new(path)) => {
                shown.push(text(label, path));
            }
            ResolvedFile::Outside { path } if by_text != Path::new(path) => {
                shown.push(Shown::Path {
                    path: path.clone(),
                    outside: true,
                });
            }
            ResolvedFile::Inside { .. } | ResolvedFile::Outside { .. } => {}
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a session's folder in it, and links out of that.
    fn folders() -> (tempfile::TempDir, PathBuf) {
        let all = tempfile::tempdir().unwrap();
        let session = all.path().join("project");
        std::fs::create_dir_all(session.join("src")).unwrap();
        std::fs::create_dir_all(all.path().join("other/deep")).unwrap();
        std::fs::write(session.join("src/a.rs"), "").unwrap();
        symlink("../other", session.join("link")).unwrap();
        symlink("../other/deep", session.join("deep")).unwrap();
        symlink("nowhere", session.join("dangling")).unwrap();
        symlink("loop", session.join("loop")).unwrap();
        symlink("src", session.join("sources")).unwrap();
        (all, session)
    }

    #[test]
    fn a_file_is_where_links_and_dots_lead() {
        let (all, session) = folders();
        let top = all.path().canonicalize().unwrap();
        let file = |named: &str| match find_file(named, &session) {
            ResolvedFile::Inside { path } => format!("in {path}"),
            ResolvedFile::Outside { path } => {
                let below = Path::new(&path).strip_prefix(&top).unwrap().to_owned();
                format!("out {}", below.display())
            }
            ResolvedFile::Unknown => "unknown".to_owned(),
        };
        assert_eq!(file("src/a.rs"), "in src/a.rs");
        assert_eq!(
            file(session.join("src/a.rs").to_str().unwrap()),
            "in src/a.rs"
        );
        assert_eq!(file("new/b.rs"), "in new/b.rs");
        assert_eq!(file("sources/a.rs"), "in src/a.rs");
        assert_eq!(file("src/../src/a.rs"), "in src/a.rs");
        assert_eq!(file("link/key"), "out other/key");
        assert_eq!(file("../other/key"), "out other/key");
        assert_eq!(file("../other/*"), "out other/*");
        // One program writes to `project/key`, another to `other/key`.
        assert_eq!(file("deep/../key"), "unknown");
        assert_eq!(file("dangling"), "unknown");
        assert_eq!(file("loop/a"), "unknown");
        assert_eq!(file("src/a.rs/b"), "unknown");
    }

    #[test]
    fn people_are_told_where_a_link_leads_and_nothing_where_a_name_says_it() {
        let (_all, session) = folders();
        std::fs::write(session.join("key"), "").unwrap();
        symlink("../key", session.join("src/key")).unwrap();
        let told = |named: &str| {
            let location = find(&Location::of_files([named.to_owned()]), &session);
            differences(&location, &session)
        };
        let leads = Shown::Text {
            label: "`src/key` is".to_owned(),
            text: "key".to_owned(),
        };
        assert_eq!(told("src/key"), [leads]);
        assert!(matches!(
            &told("link/a")[..],
            [Shown::Path { outside: true, .. }]
        ));
        assert!(told("src/a.rs").is_empty() && told("./src/../key").is_empty());
        assert!(told(session.join("key").to_str().unwrap()).is_empty());
    }

    #[test]
    fn a_folder_is_where_its_links_lead_and_has_to_be_there() {
        let (all, session) = folders();
        let other = all.path().canonicalize().unwrap().join("other");
        let elsewhere = Folder::Other {
            path: other.to_str().unwrap().to_owned(),
        };
        assert_eq!(find_folder(".", &session), Folder::Session);
        assert_eq!(find_folder("src/..", &session), Folder::Session);
        assert_eq!(
            find_folder(session.to_str().unwrap(), &session),
            Folder::Session
        );
        assert_eq!(find_folder("link", &session), elsewhere);
        assert_eq!(find_folder("../other", &session), elsewhere);
        for named in ["~", "nope", "src/a.rs", "dangling"] {
            assert!(
                matches!(find_folder(named, &session), Folder::Unknown { .. }),
                "{named}"
            );
        }
    }
}
