//! What a server needs that is in a chat: agents to talk to, and secrets as it wants them kept.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Settings of the agent that needs no model, which is `mine`.
pub fn demo_agent(binary: &str) -> String {
    format!("[[agents]]\nname = 'mine'\ncommand = '{binary}'\nargs = ['demo-agent']\n")
}

/// Settings of a scripted agent that has last words when it dies, which is `mortal`.
pub fn mortal_agent(last_words: &str) -> String {
    let agent = crate::peers::scripted_agent();
    let script = format!(
        "{}; code=$?; echo '{last_words}' >&2; exit $code",
        agent.display()
    );
    format!("[[agents]]\nname = 'mortal'\ncommand = '/bin/sh'\nargs = ['-c', {script:?}]\n")
}

/// Keeps a secret in `folder` where only we can read it, and returns where.
pub fn keep_secret(folder: &Path, name: &str, secret: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, secret).expect("it can be written");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&path, mode).expect("it is ours");
    path
}
