//! A server that is in a chat: what its configuration says of that.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use super::Setup;

/// One channel of one platform, with somebody who may answer and somebody who may only talk.
#[derive(Debug, Clone)]
pub struct Bridging<'a> {
    /// The platform's name in the configuration.
    pub platform: &'a str,
    /// Where its API is.
    pub url: &'a str,
    /// What the bot is let in with.
    pub token: &'a str,
    /// Who may answer, by the platform's id; `alice` here.
    pub approver: &'a str,
    /// Who may talk besides.
    pub talker: &'a str,
    /// The channel.
    pub channel: &'a str,
    /// More lines for the channel.
    pub lines: &'a str,
}

/// An agent called `mortal` in the configuration: the scripted one, which says `words` when it dies.
pub fn mortal_agent(words: &str) -> String {
    let agent = crate::peers::scripted_agent();
    let script = format!(
        "{}; code=$?; echo '{words}' >&2; exit $code",
        agent.display()
    );
    format!("[[agents]]\nname = 'mortal'\ncommand = '/bin/sh'\nargs = ['-c', {script:?}]\n")
}

impl Setup {
    /// The same in a chat, with `agents` in its configuration; and the folder that the token is in, to be kept for as long.
    #[must_use]
    pub fn bridged(self, agents: &str, bridging: &Bridging<'_>) -> (Self, TempDir) {
        let secrets = tempfile::tempdir().expect("a folder can be made");
        let file = secrets.path().join("token");
        write_secret(&file, bridging.token);
        let Bridging {
            platform,
            url,
            approver,
            talker,
            channel,
            lines,
            ..
        } = bridging;
        let bridge = format!(
            "{agents}[bridges.{platform}]\nurl = '{url}'\ntoken_file = '{}'\n\
             approvers = [{{ id = '{approver}', actor = 'alice' }}]\npeople = ['{talker}']\n\
             [[bridges.{platform}.channels]]\nid = '{channel}'\n{lines}",
            file.display(),
        );
        let engine_settings = format!("{}{bridge}", self.engine_settings);
        let setup = Self {
            engine_settings,
            ..self
        };
        (setup, secrets)
    }
}

fn write_secret(file: &Path, secret: &str) {
    std::fs::write(file, secret).expect("it can be written");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(file, mode).expect("it is ours");
}
