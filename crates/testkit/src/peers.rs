//! Where the pinned programs are that tests run against.
//!
//! `peers/package.json` pins them, `cargo xtask peers` installs them under `target/peers`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A pinned release of opencode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opencode {
    /// The release that Countersign is made for.
    V1_18_33,
    /// An older one whose `200 true` to a reply proves nothing.
    V1_15_3,
}

impl Opencode {
    /// Returns the release as the program itself prints it.
    pub fn version(self) -> &'static str {
        match self {
            Self::V1_18_33 => "1.18.33",
            Self::V1_15_3 => "1.15.3",
        }
    }

    /// Returns the native executable, and panics when it is not installed.
    pub fn executable(self) -> PathBuf {
        let package = match self {
            Self::V1_18_33 => "opencode-1-18",
            Self::V1_15_3 => "opencode-1-15",
        };
        installed(&format!("node_modules/{package}/bin/opencode"))
    }
}

/// Returns the opencode that Countersign is made for.
pub fn opencode() -> PathBuf {
    Opencode::V1_18_33.executable()
}

/// Returns the Node.js that the pinned agents run on, which may be newer than the machine's.
pub fn node() -> PathBuf {
    installed("node_modules/node/bin/node")
}

/// Returns how to start a program of an npm package: Node.js, and the file `script` of `package` as its first argument.
pub fn node_program(package: &str, script: &str) -> (PathBuf, Vec<String>) {
    let script = installed(&format!("node_modules/{package}/{script}"));
    (node(), vec![script.to_string_lossy().into_owned()])
}

/// Returns how to start acpx, an ACP client that is not ours.
pub fn acpx() -> (PathBuf, Vec<String>) {
    node_program("acpx", "dist/cli.js")
}

/// Returns the official JSON Schema of ACP version 1.
pub fn acp_schema() -> PathBuf {
    installed("node_modules/@agentclientprotocol/sdk/schema/v1/schema.json")
}

/// Returns the JSON Schema of the draft of ACP version 2.
pub fn acp_draft_schema() -> PathBuf {
    installed("node_modules/@agentclientprotocol/sdk/schema/v2/schema.json")
}

/// Returns the program that tries an API against its own description.
pub fn schemathesis() -> PathBuf {
    installed("venv/bin/schemathesis")
}

/// Returns the scripted stand-in for the opencode program, built if need be.
///
/// Cargo builds no binary of a dev-dependency, so this asks it to; when nothing has changed that is a moment.
pub fn scripted_opencode() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("scripted-opencode")).clone()
}

/// Returns the ACP agent that does everything wrong, built if need be.
pub fn hostile_agent() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("hostile-agent")).clone()
}

/// Returns the ACP agent that does what its prompts say, built if need be.
pub fn scripted_agent() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("scripted-agent")).clone()
}

/// The variable that says that the programs of this crate are as they are to be: hundreds of tests need not ask cargo.
const BUILT: &str = "COUNTERSIGN_PROGRAMS_BUILT";

/// Builds a program of this crate.
fn build(program: &str) -> PathBuf {
    let built = target().join("debug").join(program);
    if std::env::var_os(BUILT).is_some() && built.is_file() {
        return built;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    // Build scripts of dependencies watch what cargo tells the test about itself: handed on, it would compile half of
    // them again, here and in the next build outside.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            build.env_remove(&name);
        }
    }
    // Both packages, as `cargo xtask test` builds them before: one alone would have its dependencies built anew.
    let build = build
        .args(["build", "--quiet", "--package", "countersign"])
        .args(["--package", "countersign-testkit", "--bin", program])
        .current_dir(workspace())
        .status()
        .expect("cargo can be started");
    assert!(build.success(), "{program} does not build");
    assert!(built.is_file(), "{} is missing", built.display());
    built
}

fn installed(program: &str) -> PathBuf {
    let directory =
        std::env::var_os("COUNTERSIGN_PEERS").map_or_else(|| target().join("peers"), PathBuf::from);
    let path = directory.join(program);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo xtask peers` first",
        path.display()
    );
    path
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace().join("target"), |path| workspace().join(path))
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate is two levels below the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pinned_opencode_is_installed_in_its_own_version() {
        let home = tempfile::tempdir().unwrap();
        for release in [Opencode::V1_18_33, Opencode::V1_15_3] {
            let output = Command::new(release.executable())
                .arg("--version")
                .env_clear()
                .env("HOME", home.path())
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!(printed.trim(), release.version());
        }
    }

    #[test]
    fn acpx_runs_on_the_pinned_node_and_the_schema_is_there() {
        let home = tempfile::tempdir().unwrap();
        let (node, arguments) = acpx();
        let output = Command::new(node)
            .args(arguments)
            .arg("--version")
            .env_clear()
            .env("HOME", home.path())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "0.19.1");
        let schema = std::fs::read_to_string(acp_schema()).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert!(schema["$defs"]["RequestPermissionResponse"].is_object());
    }
}
