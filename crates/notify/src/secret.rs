//! The secret that a webhook is signed with: in a file or a variable, read for each attempt, never shown.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::surroundings::Surroundings;

/// Fewer bytes than this can be guessed.
const SHORTEST: usize = 16;
/// What a secret in base64 begins with, as receivers' libraries write it.
const PREFIX: &str = "whsec_";
/// What the names of variables begin with that never reach an agent or a command.
const OURS: &str = "COUNTERSIGN_";

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In a file that nobody else can read.
    File(PathBuf),
    /// In a variable of the server's.
    Variable(String),
}

/// Why there is no secret. The secret itself is in no message.
#[derive(Debug, thiserror::Error)]
pub enum UnfitSecret {
    /// The file's path depends on where one stands.
    #[error("the file of the secret has to be named by its whole path")]
    Relative,
    /// Agents write there.
    #[error(
        "the file of the secret lies in a workspace, where agents read and write. Put it elsewhere"
    )]
    InWorkspace,
    /// Others can read it.
    #[error("the file of the secret can be read by others; `chmod 600` it")]
    Exposed,
    /// It cannot be read.
    #[error("the file of the secret cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The variable could reach agents.
    #[error(
        "the variable of the secret has to begin with `COUNTERSIGN_`: such ones are never passed on to agents or commands"
    )]
    Shared,
    /// The variable is not set.
    #[error("the variable `{0}` is not set")]
    Unset(String),
    /// It is no base64 after its prefix.
    #[error("the secret begins with `whsec_`, and what follows is not base64")]
    Malformed,
    /// It is too short.
    #[error(
        "the secret is shorter than {SHORTEST} bytes; `openssl rand -base64 32` makes a good one"
    )]
    Short,
}

impl SecretSource {
    /// Reads the secret.
    pub fn read(&self, surroundings: &Surroundings) -> Result<Vec<u8>, UnfitSecret> {
        let text = match self {
            Self::File(path) => {
                if !path.is_absolute() {
                    return Err(UnfitSecret::Relative);
                }
                let workspace = surroundings.workspace_of(path);
                if workspace.map_err(UnfitSecret::Unreadable)?.is_some() {
                    return Err(UnfitSecret::InWorkspace);
                }
                let metadata = path.metadata().map_err(UnfitSecret::Unreadable)?;
                if metadata.mode() & 0o077 != 0 {
                    return Err(UnfitSecret::Exposed);
                }
                std::fs::read_to_string(path).map_err(UnfitSecret::Unreadable)?
            }
            Self::Variable(name) => {
                if !name.starts_with(OURS) {
                    return Err(UnfitSecret::Shared);
                }
                let own = &surroundings.own_environment;
                own.iter()
                    .find(|(own, _)| own == name.as_str())
                    .and_then(|(_, value)| value.to_str())
                    .ok_or_else(|| UnfitSecret::Unset(name.clone()))?
                    .to_owned()
            }
        };
        key(text.trim())
    }
}

/// The bytes that are signed with.
fn key(text: &str) -> Result<Vec<u8>, UnfitSecret> {
    let bytes = match text.strip_prefix(PREFIX) {
        Some(coded) => STANDARD.decode(coded).map_err(|_| UnfitSecret::Malformed)?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.len() < SHORTEST {
        return Err(UnfitSecret::Short);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_is_read_from_where_only_we_can_and_from_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().canonicalize().unwrap().join("secret");
        std::fs::write(&file, "0123456789abcdef\n").unwrap();
        let mut surroundings = Surroundings {
            own_environment: vec![
                (
                    "COUNTERSIGN_HOOK".into(),
                    "whsec_AAECAwQFBgcICQoLDA0ODw==".into(),
                ),
                ("COUNTERSIGN_SHORT".into(), "abc".into()),
                ("AWS_HOOK".into(), "0123456789abcdef".into()),
            ],
            workspaces: Vec::new(),
        };
        let source = SecretSource::File(file.clone());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        let read = source.read(&surroundings);
        assert!(matches!(read, Err(UnfitSecret::Exposed)), "{read:?}");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(source.read(&surroundings).unwrap(), b"0123456789abcdef");

        let variable = |name: &str| SecretSource::Variable(name.to_owned()).read(&surroundings);
        assert_eq!(
            variable("COUNTERSIGN_HOOK").unwrap(),
            (0..16).collect::<Vec<u8>>()
        );
        assert!(matches!(
            variable("COUNTERSIGN_SHORT"),
            Err(UnfitSecret::Short)
        ));
        assert!(matches!(
            variable("COUNTERSIGN_NONE"),
            Err(UnfitSecret::Unset(_))
        ));
        assert!(matches!(variable("AWS_HOOK"), Err(UnfitSecret::Shared)));

        surroundings
            .workspaces
            .push(directory.path().canonicalize().unwrap());
        let read = source.read(&surroundings);
        assert!(matches!(read, Err(UnfitSecret::InWorkspace)), "{read:?}");
        let relative = SecretSource::File("secret".into()).read(&surroundings);
        assert!(matches!(relative, Err(UnfitSecret::Relative)));
        for error in [UnfitSecret::Short, UnfitSecret::Malformed] {
            assert!(!error.to_string().contains("abc"));
        }
    }
}
