//! Where the pinned programs are that tests run against.
//!
//! `peers/package.json` pins them, `cargo xtask peers` installs them under `target/peers`.

use std::path::{Path, PathBuf};

/// How the programs of this crate are built; together with `countersign`, for one alone would have what both are made of
/// built anew.
const BUILD: &str = "cargo build --package countersign --package countersign-testkit --bins";

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

/// Returns `openwork`, the command line of OpenWork's orchestrator: the program itself, without the script that finds it.
pub fn openwork() -> PathBuf {
    installed("node_modules/openwork-orchestrator-linux-x64/bin/openwork")
}

/// Returns `claude`, Claude Code itself: the program for this platform, without the script that finds it.
pub fn claude_code() -> PathBuf {
    installed("node_modules/@anthropic-ai/claude-code-linux-x64/claude")
}

/// Returns the module with which programs call opencode, of the release that Countersign is made for.
pub fn opencode_sdk() -> PathBuf {
    installed("node_modules/@opencode-ai/sdk/dist/v2/client.js")
}

/// Returns the module of the SDK's generation before, which many programs still use.
pub fn former_opencode_sdk() -> PathBuf {
    installed("node_modules/@opencode-ai/sdk/dist/client.js")
}

/// Returns the module of Bolt, with which Slack has programs be its apps.
pub fn bolt() -> PathBuf {
    installed("node_modules/@slack/bolt/dist/index.js")
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

/// Returns Synapse, the homeserver of Matrix.
pub fn synapse() -> PathBuf {
    installed("synapse/bin/synapse_homeserver")
}

/// Returns the module of an emulator of Telegram's Bot API.
pub fn telegram_test_api() -> PathBuf {
    installed("node_modules/telegram-test-api/lib/index.js")
}

/// Returns the module of grammY, a library for bots on Telegram.
pub fn grammy() -> PathBuf {
    installed("node_modules/grammy/out/mod.js")
}

/// Returns the module of discord.js, a library for bots on Discord.
pub fn discord_js() -> PathBuf {
    installed("node_modules/discord.js/src/index.js")
}

/// Returns the scripted stand-in for the opencode program, and panics when it is not built.
pub fn scripted_opencode() -> PathBuf {
    built("scripted-opencode")
}

/// Returns the ACP agent that does everything wrong, and panics when it is not built.
pub fn hostile_agent() -> PathBuf {
    built("hostile-agent")
}

/// Returns the ACP agent that does what its prompts say, and panics when it is not built.
pub fn scripted_agent() -> PathBuf {
    built("scripted-agent")
}

/// Returns a program of this crate that is built, and not older than what it is made of.
///
/// Cargo builds no binary of a dev-dependency. `cargo xtask test` builds them before the tests, and tests never do: one
/// that builds would replace programs that others are about to start.
fn built(program: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own program");
    let mut directory = own.parent().expect("a program is in a directory");
    if directory.ends_with("deps") {
        directory = directory.parent().expect("it is in the profile's");
    }
    let path = directory.join(program);
    if let Some(wrong) = out_of_date(&path) {
        panic!("{wrong}: run `{BUILD}` first, or the tests with `cargo xtask test --quick`");
    }
    path
}

/// Says what is wrong with a program, by the list of its sources that cargo writes beside it.
fn out_of_date(program: &Path) -> Option<String> {
    let changed = |path: &Path| {
        std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok()
    };
    let Some(built) = changed(program) else {
        return Some(format!("{} is not built", program.display()));
    };
    let list = std::fs::read_to_string(program.with_extension("d")).unwrap_or_default();
    // Blanks in a path are written with a backslash before them.
    let list = list.trim().replace("\\ ", "\0");
    let path = |written: &str| PathBuf::from(written.replace('\0', " "));
    let (listed, sources) = list.split_once(": ")?;
    // A list that was copied from elsewhere says nothing about this program.
    let mut sources = sources.split(' ').filter(|_| path(listed) == program);
    let newer = sources
        .find(|source| changed(&path(source)).is_some_and(|changed| changed > built))
        .map(path)?;
    Some(format!(
        "{} is older than {}",
        program.display(),
        newer.display()
    ))
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
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_program_that_is_missing_or_older_than_a_source_of_it_is_out_of_date() {
        let directory = tempfile::tempdir().unwrap();
        let [program, source, list] =
            ["tool", "main file.rs", "tool.d"].map(|name| directory.path().join(name));
        let sources = source.to_str().unwrap().replace(' ', "\\ ");
        std::fs::write(&list, format!("{}: {sources}\n", program.display())).unwrap();
        assert!(out_of_date(&program).unwrap().contains("is not built"));

        let file = std::fs::File::create(&program).unwrap();
        std::fs::write(&source, "fn main() {}").unwrap();
        let written = std::fs::metadata(&source).unwrap().modified().unwrap();
        let set = |built: SystemTime| file.set_modified(built).unwrap();
        set(written - Duration::from_secs(1));
        let wrong = out_of_date(&program).unwrap();
        assert!(wrong.contains("main file.rs"), "{wrong}");
        set(written + Duration::from_secs(1));
        assert_eq!(out_of_date(&program), None);
    }

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

    #[test]
    fn claude_code_is_installed_in_its_own_version() {
        let home = tempfile::tempdir().unwrap();
        let output = Command::new(claude_code())
            .arg("--version")
            .env_clear()
            .env("HOME", home.path())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.trim(), "2.1.325 (Claude Code)");
    }

    #[test]
    fn openwork_is_installed_and_found_by_the_script_that_people_call() {
        let home = tempfile::tempdir().unwrap();
        let (node, arguments) = node_program("openwork-orchestrator", "bin/openwork");
        for mut command in [Command::new(openwork()), {
            let mut command = Command::new(node);
            command.args(arguments);
            command
        }] {
            let output = command
                .arg("--version")
                .env_clear()
                .env("HOME", home.path())
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "0.18.1");
        }
    }
}
