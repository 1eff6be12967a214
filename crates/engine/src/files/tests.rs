use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// How often a directory is swapped for a link that leads out.
const SWAPS: usize = 20_000;

/// A folder of a session, and one beside it.
struct Ground {
    root: TempDir,
    folders: Folders,
    writers: Writers,
}

impl Ground {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("in")).unwrap();
        fs::create_dir(root.path().join("out")).unwrap();
        fs::write(root.path().join("out/secret.txt"), "secret").unwrap();
        let inside = root.path().join("in").canonicalize().unwrap();
        let folders = Folders::new([inside]);
        Self {
            root,
            folders,
            writers: Writers::default(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn find(&self, path: &str) -> Result<Place, FileError> {
        self.folders.find(&self.path(path))
    }

    fn read(&self, path: &str) -> Result<String, FileError> {
        self.find(path)?.read(None, None)
    }

    /// Writes what was asked for a moment ago.
    fn write(&self, path: &str, content: &str) -> Result<Written, FileError> {
        let place = self.find(path)?;
        let before = place.before()?.digest();
        place.write(content, before, &self.writers)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("in")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn only_absolute_paths_inside_the_folders_are_found() {
    let ground = Ground::new();
    fs::write(ground.path("in/a.txt"), "a").unwrap();
    assert_eq!(ground.read("in/a.txt").unwrap(), "a");
    assert!(matches!(
        ground.folders.find(Path::new("a.txt")),
        Err(FileError::Relative)
    ));
    for outside in [
        "out/secret.txt",
        "in/../out/secret.txt",
        "out/not-there.txt",
        "in/../out/not-there.txt",
        "in/nowhere/../../out/not-there.txt",
        "in-and-more.txt",
    ] {
        let found = ground.find(outside);
        assert!(
            matches!(found, Err(FileError::Outside | FileError::NoPlace)),
            "{outside}: {found:?}"
        );
    }
    for device in ["/dev/zero", "/etc/passwd", "/proc/self/environ"] {
        let found = ground.folders.find(Path::new(device));
        assert!(matches!(found, Err(FileError::Outside)), "{found:?}");
    }
}

#[test]
fn a_link_is_followed_inside_and_never_out() {
    let ground = Ground::new();
    fs::create_dir(ground.path("in/real")).unwrap();
    fs::write(ground.path("in/real/a.txt"), "a").unwrap();
    symlink("real", ground.path("in/inside")).unwrap();
    symlink(ground.path("in/real/a.txt"), ground.path("in/absolute")).unwrap();
    symlink(ground.path("out"), ground.path("in/outside")).unwrap();
    symlink("../out/secret.txt", ground.path("in/secret")).unwrap();
    symlink("nothing", ground.path("in/dangling")).unwrap();
    let place = ground.find("in/inside/a.txt").unwrap();
    assert!(place.path().ends_with("in/real/a.txt"), "{place}");
    assert_eq!(ground.read("in/absolute").unwrap(), "a");
    for out in [
        "in/outside/secret.txt",
        "in/secret",
        "in/outside/new.txt",
        "in/outside/new/er.txt",
    ] {
        assert!(matches!(ground.find(out), Err(FileError::Outside)), "{out}");
    }
    assert!(matches!(
        ground.find("in/dangling"),
        Err(FileError::NoPlace)
    ));
    assert!(matches!(
        ground.find("in/dangling/a.txt"),
        Err(FileError::NoPlace)
    ));
}

#[test]
fn a_folder_that_is_swapped_for_a_link_has_nothing_in_it() {
    let ground = Ground::new();
    fs::write(ground.path("in/secret.txt"), "mine").unwrap();
    let place = ground.find("in/secret.txt").unwrap();
    fs::rename(ground.path("in"), ground.path("moved")).unwrap();
    symlink("out", ground.path("in")).unwrap();
    assert!(matches!(place.read(None, None), Err(FileError::Replaced)));
    assert!(matches!(
        ground.find("in/secret.txt"),
        Err(FileError::Outside)
    ));
    assert!(ground.folders.first().unwrap().before().is_err());
}

#[test]
fn a_place_that_became_a_link_is_not_gone_to() {
    let ground = Ground::new();
    fs::create_dir(ground.path("in/folder")).unwrap();
    fs::write(ground.path("in/folder/secret.txt"), "mine").unwrap();
    let place = ground.find("in/folder/secret.txt").unwrap();
    fs::rename(ground.path("in/folder"), ground.path("in/moved")).unwrap();
    symlink(ground.path("out"), ground.path("in/folder")).unwrap();
    assert!(matches!(place.read(None, None), Err(FileError::Replaced)));
    let before = Some(Digest::of_bytes(b"secret"));
    let written = place.write("changed", before, &ground.writers);
    assert!(written.is_err());
    let again = Place::again(place.path(), &ground.folders).unwrap();
    assert!(again.write("changed", before, &ground.writers).is_err());
    assert_eq!(
        fs::read_to_string(ground.path("out/secret.txt")).unwrap(),
        "secret"
    );
    assert!(Place::again(&ground.path("out/secret.txt"), &ground.folders).is_err());
    assert!(Place::again(&ground.path("in/../out/secret.txt"), &ground.folders).is_err());
}

#[test]
fn what_is_no_regular_file_is_neither_read_nor_written() {
    let ground = Ground::new();
    fs::create_dir(ground.path("in/folder")).unwrap();
    let fifo = ground.path("in/fifo");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(ground.path("in/socket")).unwrap();
    for path in ["in/folder", "in/fifo", "in/socket"] {
        assert!(
            matches!(ground.read(path), Err(FileError::NotAFile)),
            "{path}: {:?}",
            ground.read(path)
        );
        assert!(matches!(ground.write(path, "x"), Err(FileError::NotAFile)));
    }
}

#[test]
fn a_part_of_a_file_is_whole_lines() {
    let ground = Ground::new();
    fs::write(ground.path("in/a.txt"), "one\ntwo\r\nthree\nfour").unwrap();
    let place = ground.find("in/a.txt").unwrap();
    let part = |line, limit| place.read(line, limit).unwrap();
    assert_eq!(part(None, None), "one\ntwo\r\nthree\nfour");
    assert_eq!(part(Some(2), Some(2)), "two\r\nthree\n");
    assert_eq!(part(Some(3), None), "three\nfour");
    assert_eq!(part(None, Some(1)), "one\n");
    assert_eq!(part(Some(0), Some(1)), "one\n");
    assert_eq!(part(Some(1), Some(0)), "");
    assert_eq!(part(Some(9), None), "");
}

#[test]
fn a_file_that_is_too_large_is_read_in_parts_and_one_that_is_no_text_not_at_all() {
    let ground = Ground::new();
    let line = "0123456789abcde\n";
    let large = line.repeat(READ_LIMIT / line.len() + 1);
    fs::write(ground.path("in/large.txt"), &large).unwrap();
    assert!(matches!(
        ground.read("in/large.txt"),
        Err(FileError::TooLarge { .. })
    ));
    let place = ground.find("in/large.txt").unwrap();
    let last = u32::try_from(READ_LIMIT / line.len() + 1).unwrap();
    assert_eq!(place.read(Some(last), None).unwrap(), line);
    assert!(matches!(
        place.read(Some(1), Some(u32::MAX)),
        Err(FileError::TooLarge { .. })
    ));
    // One that only claims to be larger than everything that is looked through.
    let sparse = fs::File::create(ground.path("in/sparse")).unwrap();
    sparse.set_len(SCAN_LIMIT + 1).unwrap();
    let place = ground.find("in/sparse").unwrap();
    assert!(matches!(
        place.read(Some(2), Some(1)),
        Err(FileError::TooLarge { .. })
    ));
    fs::write(ground.path("in/binary"), b"\xff\xfe").unwrap();
    assert!(matches!(ground.read("in/binary"), Err(FileError::NotText)));
}

#[test]
fn a_write_replaces_the_file_keeps_its_mode_and_leaves_nothing_beside_it() {
    let ground = Ground::new();
    fs::write(ground.path("in/a.sh"), "old").unwrap();
    fs::set_permissions(ground.path("in/a.sh"), fs::Permissions::from_mode(0o4750)).unwrap();
    assert_eq!(ground.write("in/a.sh", "new").unwrap(), Written::Replaced);
    assert_eq!(fs::read_to_string(ground.path("in/a.sh")).unwrap(), "new");
    let mode = fs::metadata(ground.path("in/a.sh")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o7777, 0o750);
    assert_eq!(ground.write("in/a.sh", "new").unwrap(), Written::Unchanged);
    assert_eq!(
        ground.write("in/new/folder/b.txt", "b").unwrap(),
        Written::Replaced
    );
    assert_eq!(ground.read("in/new/folder/b.txt").unwrap(), "b");
    assert_eq!(ground.names(), ["a.sh", "new"]);
}

#[test]
fn a_file_that_changed_since_it_was_asked_for_is_not_written() {
    let ground = Ground::new();
    fs::write(ground.path("in/a.txt"), "old").unwrap();
    let place = ground.find("in/a.txt").unwrap();
    let before = place.before().unwrap().digest();
    fs::write(ground.path("in/a.txt"), "somebody else").unwrap();
    assert!(matches!(
        place.write("mine", before, &ground.writers),
        Err(FileError::Changed)
    ));
    fs::remove_file(ground.path("in/a.txt")).unwrap();
    assert!(matches!(
        place.write("mine", before, &ground.writers),
        Err(FileError::Changed)
    ));
    let new = ground.find("in/b.txt").unwrap();
    fs::write(ground.path("in/b.txt"), "somebody else").unwrap();
    assert!(matches!(
        new.write("mine", None, &ground.writers),
        Err(FileError::Changed)
    ));
    assert_eq!(
        fs::read_to_string(ground.path("in/b.txt")).unwrap(),
        "somebody else"
    );
    assert_eq!(ground.names(), ["b.txt"]);
}

#[test]
fn of_many_writers_of_one_file_each_replaces_what_it_saw() {
    let ground = Ground::new();
    fs::write(ground.path("in/count.txt"), "0").unwrap();
    let added: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let once = || {
                        let place = ground.find("in/count.txt")?;
                        let before = place.before()?;
                        let count = String::from_utf8(before.content.clone().unwrap()).unwrap();
                        let next = count.parse::<u32>().unwrap() + 1;
                        place.write(&next.to_string(), before.digest(), &ground.writers)
                    };
                    (0..50)
                        .filter(|_| matches!(once(), Ok(Written::Replaced)))
                        .count()
                })
            })
            .collect();
        writers.into_iter().map(|it| it.join().unwrap()).sum()
    });
    assert_eq!(ground.read("in/count.txt").unwrap(), added.to_string());
    assert!(added >= 50, "{added}");
}

/// Swaps two names at once, so that neither is ever missing.
#[cfg(target_os = "linux")]
fn swap(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_directory_that_is_swapped_for_a_link_all_the_time_never_leads_out() {
    let ground = Ground::new();
    fs::create_dir(ground.path("in/folder")).unwrap();
    fs::write(ground.path("in/folder/secret.txt"), "mine").unwrap();
    symlink(ground.path("out"), ground.path("in/link")).unwrap();
    let (folder, link) = (ground.path("in/folder"), ground.path("in/link"));
    let over = AtomicBool::new(false);
    let (read, refused, written) = thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..SWAPS {
                swap(&folder, &link);
            }
            over.store(true, Ordering::Relaxed);
        });
        let reader = scope.spawn(|| {
            let (mut read, mut refused) = (0_usize, 0_usize);
            while !over.load(Ordering::Relaxed) {
                match ground.read("in/folder/secret.txt") {
                    Ok(text) => {
                        assert_ne!(text, "secret", "what lies outside was read");
                        read += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
            (read, refused)
        });
        let mut written = 0_usize;
        while !over.load(Ordering::Relaxed) {
            let content = format!("mine {written}");
            written += usize::from(ground.write("in/folder/secret.txt", &content).is_ok());
            drop(ground.write("in/folder/new.txt", &content));
        }
        let (read, refused) = reader.join().unwrap();
        (read, refused, written)
    });
    assert!(
        read > 0 && refused > 0,
        "{read} read, {refused} refused, {written} written"
    );
    let secret = fs::read_to_string(ground.path("out/secret.txt")).unwrap();
    assert_eq!(secret, "secret");
    let outside = fs::read_dir(ground.path("out")).unwrap().count();
    assert_eq!(outside, 1, "a file was made outside");
}

proptest! {
    #[test]
    fn whatever_the_path_is_made_of_it_stays_inside(
        parts in proptest::collection::vec("(\\.\\.|\\.|a|out|secret\\.txt|link|in)", 0..7),
    ) {
        let ground = Ground::new();
        fs::create_dir(ground.path("in/a")).unwrap();
        symlink("../out", ground.path("in/link")).unwrap();
        symlink("..", ground.path("in/a/link")).unwrap();
        let path = parts.iter().fold(ground.path("in"), |path, part| path.join(part));
        if let Ok(place) = ground.folders.find(&path) {
            prop_assert!(place.path().starts_with(ground.path("in").canonicalize().unwrap()));
            drop(place.write("x", None, &ground.writers));
        }
        prop_assert_eq!(fs::read_to_string(ground.path("out/secret.txt")).unwrap(), "secret");
        prop_assert_eq!(fs::read_dir(ground.path("out")).unwrap().count(), 1);
    }
}
