//! What things may be called.

use crate::refusal::Refusal;

/// The longest name of a skill.
const SKILL_NAME: usize = 64;
/// The longest description of a skill, in the units in which OpenWork's clients count.
const DESCRIPTION: usize = 1024;

pub(crate) fn check_skill(name: &str) -> Result<(), Refusal> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if name.len() <= SKILL_NAME && name.split('-').all(is_word) {
        Ok(())
    } else {
        Err(Refusal::invalid(
            "invalid_skill_name",
            "Skill name must be kebab-case (1-64 chars)",
        ))
    }
}

pub(crate) fn check_description(description: &str) -> Result<(), Refusal> {
    if (1..=DESCRIPTION).contains(&description.encode_utf16().count()) {
        Ok(())
    } else {
        Err(Refusal::unprocessable(
            "invalid_description",
            "Description must be 1-1024 characters",
        ))
    }
}

/// The name of a command without the slash that people type before it.
pub(crate) fn command(name: &str) -> Result<&str, Refusal> {
    let name = name.trim().trim_start_matches('/');
    if is_plain(name) {
        Ok(name)
    } else {
        Err(Refusal::invalid(
            "invalid_command_name",
            "Command name must be alphanumeric with _ or -",
        ))
    }
}

pub(crate) fn check_mcp(name: &str) -> Result<(), Refusal> {
    if is_plain(name) && !name.starts_with('-') {
        Ok(())
    } else {
        Err(Refusal::invalid(
            "invalid_mcp_name",
            "MCP name must be alphanumeric and not start with -",
        ))
    }
}

pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}
