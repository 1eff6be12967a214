use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A root with a folder beside it that must not be reached.
struct Ground {
    folder: TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();
        fs::write(folder.path().join("out/secret.txt"), "secret").unwrap();
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn root(&self) -> Root {
        Root::open(&self.path("in")).unwrap()
    }

    fn assert_nothing_happened_outside(&self) {
        let outside = fs::read_dir(self.path("out")).unwrap().count();
        assert_eq!(outside, 1, "a file was made outside");
        let secret = fs::read_to_string(self.path("out/secret.txt")).unwrap();
        assert_eq!(secret, "secret");
    }
}

/// Opens a file step by step, as where the kernel cannot do it at once.
fn read_by_steps(root: &Root, path: &Path) -> Result<Vec<u8>, BeneathError> {
    let (parent, name) = walk::parent(root.folder(), path, Missing::Fail)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(&parent, &name, flags, Mode::empty()).map_err(refused)?;
    let (file, stamp, length) = regular(file)?;
    read_file(file, stamp, length).map(|read| read.bytes)
}

#[test]
fn links_are_followed_as_long_as_they_stay_below() {
    let ground = Ground::new();
    let root = ground.root();
    fs::create_dir_all(ground.path("in/real/deep")).unwrap();
    fs::write(ground.path("in/real/a.txt"), "a").unwrap();
    symlink("real", ground.path("in/folder")).unwrap();
    symlink("../a.txt", ground.path("in/real/deep/up.txt")).unwrap();
    symlink("../out", ground.path("in/outside")).unwrap();
    symlink(ground.path("in/real"), ground.path("in/absolute")).unwrap();
    symlink("../../out/secret.txt", ground.path("in/real/secret.txt")).unwrap();
    symlink("loop", ground.path("in/loop")).unwrap();
    for read in [Root::read, read_by_steps] {
        for path in [
            "real/a.txt",
            "folder/a.txt",
            "folder/deep/up.txt",
            "real/deep/../a.txt",
        ] {
            assert_eq!(read(&root, Path::new(path)).unwrap(), b"a", "{path}");
        }
        for path in [
            "outside/secret.txt",
            "folder/secret.txt",
            "absolute/a.txt",
            "../out/secret.txt",
            "folder/../../out/secret.txt",
            "/etc/hostname",
        ] {
            let read = read(&root, Path::new(path));
            assert!(
                matches!(read, Err(BeneathError::Outside)),
                "{path}: {read:?}"
            );
        }
        let looping = read(&root, Path::new("loop/a.txt"));
        assert!(matches!(looping, Err(BeneathError::NoPlace)), "{looping:?}");
        let missing = read(&root, Path::new("real/b.txt"));
        assert!(matches!(missing, Err(BeneathError::Missing)), "{missing:?}");
    }
    for path in [
        "outside/new.txt",
        "outside/new/er.txt",
        "folder/secret.txt",
        "../out/x",
    ] {
        assert!(root.replace(Path::new(path), b"x").is_err(), "{path}");
        assert!(root.create(Path::new(path), b"x").is_err(), "{path}");
    }
    assert!(root.remove_file(Path::new("outside/secret.txt")).is_err());
    assert!(root.create_folder(Path::new("outside/new")).is_err());
    assert!(
        root.rename(Path::new("real/a.txt"), Path::new("outside/a.txt"))
            .is_err()
    );
    ground.assert_nothing_happened_outside();
}

#[test]
fn a_write_through_a_link_changes_what_it_leads_to() {
    let ground = Ground::new();
    fs::create_dir(ground.path("in/real")).unwrap();
    fs::write(ground.path("in/real/a.txt"), "a").unwrap();
    symlink("real/a.txt", ground.path("in/link.txt")).unwrap();
    ground
        .root()
        .replace(Path::new("link.txt"), b"new")
        .unwrap();
    assert_eq!(fs::read(ground.path("in/real/a.txt")).unwrap(), b"new");
    assert!(ground.path("in/link.txt").is_symlink());
    ground.root().remove_file(Path::new("link.txt")).unwrap();
    assert!(ground.path("in/real/a.txt").exists());
}

#[test]
fn a_write_replaces_the_file_keeps_its_mode_and_leaves_nothing_beside_it() {
    let ground = Ground::new();
    let root = ground.root();
    fs::write(ground.path("in/a.sh"), "old").unwrap();
    fs::set_permissions(ground.path("in/a.sh"), fs::Permissions::from_mode(0o4750)).unwrap();
    root.replace(Path::new("a.sh"), b"new").unwrap();
    let mode = fs::metadata(ground.path("in/a.sh")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o7777, 0o750);
    root.replace(Path::new("new/folder/b.txt"), b"b").unwrap();
    assert_eq!(root.read(Path::new("new/folder/b.txt")).unwrap(), b"b");
    let again = root.create(Path::new("a.sh"), b"newer");
    assert!(matches!(again, Err(BeneathError::Exists)), "{again:?}");
    let entries = root.entries(Path::new("")).unwrap();
    let names: Vec<_> = entries.iter().map(|it| it.name.to_str().unwrap()).collect();
    assert_eq!(names, ["a.sh", "new"]);
    assert!(matches!(
        root.replace(Path::new("new"), b"x"),
        Err(BeneathError::NotAFile)
    ));
}

#[test]
fn what_was_left_behind_long_ago_is_swept_up_and_nothing_else() {
    let ground = Ground::new();
    let old = ground.path("in/.countersign-0123456789abcdef");
    let own = ground.path("in/.countersign-notes");
    let fresh = ground.path("in/.countersign-fedcba9876543210");
    for path in [&old, &own, &fresh] {
        fs::write(path, "x").unwrap();
    }
    for path in [&old, &own] {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    }
    ground.root().replace(Path::new("a.txt"), b"a").unwrap();
    assert!(!old.exists() && own.exists() && fresh.exists());
}

#[test]
fn trees_are_deleted_with_their_links_and_nothing_behind_those() {
    let ground = Ground::new();
    let root = ground.root();
    fs::create_dir_all(ground.path("in/tree/deep")).unwrap();
    fs::write(ground.path("in/tree/deep/a.txt"), "a").unwrap();
    symlink("../../../out", ground.path("in/tree/deep/outside")).unwrap();
    root.remove_tree(Path::new("tree")).unwrap();
    assert!(!ground.path("in/tree").exists());
    symlink("../out", ground.path("in/link")).unwrap();
    root.remove_tree(Path::new("link")).unwrap();
    assert!(!ground.path("in/link").is_symlink());
    ground.assert_nothing_happened_outside();
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    let ground = Ground::new();
    let fifo = ground.path("in/fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(ground.path("in/socket")).unwrap();
    fs::create_dir(ground.path("in/folder")).unwrap();
    for path in ["fifo", "socket", "folder"] {
        let read = ground.root().read(Path::new(path));
        assert!(
            matches!(read, Err(BeneathError::NotAFile)),
            "{path}: {read:?}"
        );
    }
    let large = File::create(ground.path("in/large")).unwrap();
    large.set_len(READ_LIMIT + 1).unwrap();
    let read = ground.root().read(Path::new("large"));
    assert!(
        matches!(read, Err(BeneathError::TooLarge { .. })),
        "{read:?}"
    );
}

proptest! {
    #[test]
    fn whatever_the_path_is_made_of_it_stays_below(
        parts in proptest::collection::vec("(\\.\\.|\\.|a|out|secret\\.txt|link|in|up)", 0..7),
    ) {
        let ground = Ground::new();
        fs::create_dir(ground.path("in/a")).unwrap();
        symlink("../out", ground.path("in/link")).unwrap();
        symlink("..", ground.path("in/a/up")).unwrap();
        symlink("a/../../out/secret.txt", ground.path("in/a/link")).unwrap();
        let path: PathBuf = parts.iter().collect();
        let root = ground.root();
        let at_once = root.read(&path);
        let by_steps = read_by_steps(&root, &path);
        prop_assert_eq!(at_once.is_ok(), by_steps.is_ok());
        prop_assert_ne!(at_once.unwrap_or_default(), b"secret".to_vec());
        drop(root.replace(&path, b"x"));
        drop(root.remove_file(&path));
        drop(root.create_folder(&path));
        ground.assert_nothing_happened_outside();
    }
}
