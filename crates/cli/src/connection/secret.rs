//! The token, wherever the person has put it.

use std::path::Path;

use anyhow::Context as _;

use super::ConnectionOptions;
use crate::discovery::Surroundings;
use crate::exit::Failure;

/// A token and where it was found; its text is never shown.
#[derive(Clone)]
pub(super) struct Secret {
    /// The token itself.
    pub(super) text: String,
    /// Where it was found.
    pub(super) from: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a token from {}", self.from)
    }
}

/// Finds the token: in the file that is named, else in the environment.
pub(super) fn find(
    options: &ConnectionOptions,
    surroundings: &Surroundings,
) -> anyhow::Result<Option<Secret>> {
    let found = match &options.token_file {
        Some(file) => Some(Secret {
            text: read_token(file)?,
            from: file.display().to_string(),
        }),
        None => surroundings.token.as_ref().map(|text| Secret {
            text: text.trim().to_owned(),
            from: "COUNTERSIGN_TOKEN".to_owned(),
        }),
    };
    if let Some(secret) = &found
        && !secret.text.chars().all(|c| c.is_ascii_graphic())
    {
        return Err(Failure::Usage(format!(
            "what is in {} is no token: it has blanks or other characters that no token has",
            secret.from
        ))
        .into());
    }
    Ok(found.filter(|secret| !secret.text.is_empty()))
}

fn read_token(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("failed to read the token in {}", file.display()))?;
    Ok(text.trim().to_owned())
}
