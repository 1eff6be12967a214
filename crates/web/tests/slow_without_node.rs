//! A build on a machine without Node.js: it succeeds, says what is missing, and has a page that says it too.

#![expect(
    clippy::unwrap_used,
    reason = "what a test needs and does not get fails the test"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What prints the page that was built in.
const PRINT_PAGE: &str = r#"fn main() {
    assert!(countersign_web::is_placeholder());
    print!("{}", std::str::from_utf8(countersign_web::index().bytes).unwrap());
}
"#;

/// The sources of this crate and of the app as in a fresh clone, in a workspace of their own.
fn clone_into(root: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repository = here
        .ancestors()
        .nth(2)
        .expect("this crate is two levels down");
    let workspace = fs::read_to_string(repository.join("Cargo.toml")).unwrap();
    let members = r#"members = ["crates/*", "xtask"]"#;
    assert!(
        workspace.contains(members),
        "the members are named otherwise"
    );
    let workspace = workspace
        .replace(members, r#"members = ["crates/web"]"#)
        .replace(r#"default-members = ["crates/countersign"]"#, "");
    fs::write(root.join("Cargo.toml"), workspace).unwrap();
    fs::copy(repository.join("Cargo.lock"), root.join("Cargo.lock")).unwrap();

    let crate_root = root.join("crates/web");
    copy(&here.join("build"), &crate_root.join("build"));
    copy(&here.join("src"), &crate_root.join("src"));
    let manifest = fs::read_to_string(here.join("Cargo.toml")).unwrap();
    let (manifest, _) = manifest.split_once("[dev-dependencies]").unwrap();
    fs::write(crate_root.join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(crate_root.join("examples")).unwrap();
    fs::write(crate_root.join("examples/page.rs"), PRINT_PAGE).unwrap();
    for part in ["index.html", "package.json", "package-lock.json", "src"] {
        copy(
            &repository.join("web").join(part),
            &root.join("web").join(part),
        );
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// A folder with what a Rust build calls and nothing else: no npm, no node.
fn tools_of_a_build(root: &Path) -> PathBuf {
    let tools = root.join("tools");
    fs::create_dir(&tools).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for tool in ["cc", "ld", "as", "ar"] {
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(tool));
        if let Some(found) = found.find(|program| program.is_file()) {
            symlink(found, tools.join(tool)).unwrap();
        }
    }
    tools
}

fn build(root: &Path) -> Output {
    let cargo = Path::new(env!("CARGO"));
    let mut build = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && text != "CARGO_HOME" || text.starts_with("COUNTERSIGN_") {
            build.env_remove(&name);
        }
    }
    build
        .args([
            "run",
            "--offline",
            "-p",
            "countersign-web",
            "--example",
            "page",
        ])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .env("RUSTC", cargo.with_file_name("rustc"))
        .env("PATH", tools_of_a_build(root))
        .output()
        .expect("cargo can be started")
}

#[test]
fn a_build_without_node_succeeds_and_says_what_is_missing() {
    let root = tempfile::tempdir().unwrap();
    clone_into(root.path());
    let built = build(root.path());
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    assert!(
        said.contains(
            "the web app is left out: npm is not installed; install Node.js 20.19 or newer"
        ),
        "{said}"
    );
    let page = String::from_utf8(built.stdout).unwrap();
    assert!(
        page.contains("This build of Countersign has no web app"),
        "{page}"
    );
    assert!(page.contains("install Node.js 20.19 or newer"), "{page}");
}
