//! Not a byte is changed on the way, in either direction, whatever it is.

use std::path::Path;

use countersign_testkit::test_server::PATIENCE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::editor::Setting;
use crate::server;

/// Plays `$TAPES/says` and writes down what it hears.
const PLAYER: &str = "cat \"$TAPES/says\"; cat > \"$TAPES/heard\"";

/// Sends `editors` through the proxy while the agent says `agents`, and checks what arrives.
async fn passes_unchanged(setting: Setting, agents: &[u8], editors: &[u8]) {
    let says = tempfile::tempdir().expect("a temporary directory can be made");
    std::fs::write(says.path().join("says"), agents).expect("it can be read or written");
    let player = PLAYER.replace("$TAPES/says", &says.path().join("says").to_string_lossy());
    let (tapes, mut editor) = setting.start(&player);
    let mut input = editor.input.take().expect("it is open");
    let sending = async {
        for piece in editors.chunks(70_001) {
            input.write_all(piece).await.expect("the proxy reads");
            input.flush().await.expect("the proxy reads");
        }
        drop(input);
    };
    let mut heard = Vec::new();
    let hearing = editor.output.read_to_end(&mut heard);
    let both = async { tokio::join!(sending, hearing) };
    let ((), read) = tokio::time::timeout(PATIENCE, both)
        .await
        .expect("everything passes");
    read.expect("the proxy writes");
    assert!(editor.program.wait_for_exit(PATIENCE).await.success());
    assert!(heard == agents, "what the agent says is changed");
    let to_agent = std::fs::read(tapes.path().join("heard")).expect("it can be read or written");
    assert!(to_agent == editors, "what the editor says is changed");
}

/// What agents said in the recorded conversations, byte for byte, and an editor that answers each request.
fn recorded() -> (Vec<u8>, Vec<u8>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/acp/transcripts");
    let (mut agents, mut editors) = (Vec::new(), Vec::new());
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("it can be read or written")
        .map(|entry| entry.expect("it is there").path())
        .collect();
    files.sort();
    for file in files {
        let said = std::fs::read_to_string(file).expect("it can be read or written");
        agents.extend_from_slice(said.as_bytes());
        for line in said.lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            if message["id"].is_null() || message["method"].is_null() {
                continue;
            }
            let outcome = json!({ "outcome": "selected", "optionId": "x" });
            let reply = json!({ "id": message["id"], "result": { "outcome": outcome } });
            editors.extend_from_slice(format!("{reply}\n").as_bytes());
        }
    }
    assert!(agents.len() > 10_000 && editors.len() > 1_000);
    (agents, editors)
}

/// Lines that are no messages, or strange ones.
fn odd() -> Vec<u8> {
    let mut odd =
        b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\r\n\n\n  \t\nbanner\n".to_vec();
    odd.extend_from_slice(b"\xff\xfe\x00 not UTF-8\n[{\"id\":1},{\"id\":2}]\n{\n\"a\":\n1}\n");
    odd.extend_from_slice(b"{\"id\":1,\"result\":{}}{\"id\":2,\"result\":{}}\n");
    odd.extend_from_slice(
        b"{\"id\":null,\"method\":\"session/request_permission\",\"params\":7}\n",
    );
    odd.extend_from_slice(b"{\"id\":1.0,\"id\":\"a\\/b\",\"method\":\"session\\/update\"}\n");
    odd.extend_from_slice(b"{\"long\":\"");
    odd.extend(std::iter::repeat_n(b'x', 9 * 1024 * 1024));
    odd.extend_from_slice(b"\"}\nand no end of the line");
    odd
}

#[tokio::test]
async fn recorded_conversations_pass_unchanged_with_a_server_and_without() {
    let (agents, editors) = recorded();
    let mut server = server().await;
    passes_unchanged(Setting::of(&server), &agents, &editors).await;
    server.kill();
    passes_unchanged(Setting::of(&server), &agents, &editors).await;
}

#[tokio::test]
async fn odd_and_endless_lines_pass_unchanged() {
    let server = server().await;
    passes_unchanged(Setting::of(&server), &odd(), &odd()).await;
}
