//! Answers that are written once and hold as long as the files behind them are the same.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use countersign_workspace::{Config, Listing, Refusal, Skill};
use serde_json::Value;

use crate::reply::{self, Items};
use crate::shared_look::SharedLook;

/// The answers of one workspace.
#[derive(Default)]
pub(crate) struct Listings {
    /// The workspace's own, and those with the user's.
    skills: [Mutex<Option<WrittenSkills>>; 2],
    config: Mutex<Option<WrittenConfig>>,
    skill_looks: [SharedLook<Looked>; 2],
    /// Looks at whether the configuration is the same.
    pub(crate) config_looks: SharedLook<Looked>,
}

/// The answer that a look at the disk leads to.
pub(crate) type Looked = Result<Bytes, Refusal>;

struct WrittenSkills {
    skills: Listing<Skill>,
    bytes: Bytes,
}

struct WrittenConfig {
    opencode: Arc<Value>,
    openwork: Arc<Value>,
    text: Arc<str>,
}

impl Listings {
    /// Looks at whether the skills are the same.
    pub(crate) fn skill_looks(&self, with_global: bool) -> &SharedLook<Looked> {
        &self.skill_looks[usize::from(with_global)]
    }

    /// The answer that lists `skills`.
    pub(crate) fn skills(&self, skills: &Listing<Skill>, with_global: bool) -> Bytes {
        let place = &self.skills[usize::from(with_global)];
        let mut kept = place.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(kept) if kept.skills.is_same(skills) => kept.bytes.clone(),
            Some(_) | None => {
                let bytes = reply::compact(&Items { items: skills });
                *kept = Some(WrittenSkills {
                    skills: skills.clone(),
                    bytes: bytes.clone(),
                });
                bytes
            }
        }
    }

    /// The answer that says `config`, and when the workspace was last changed.
    pub(crate) fn config(&self, config: &Config, updated: Option<i64>) -> Bytes {
        let text = self.config_text(config);
        let updated = updated.map_or_else(|| "null".to_owned(), |at| at.to_string());
        [&text, ",\"updatedAt\":", &updated, "}"].concat().into()
    }

    fn config_text(&self, config: &Config) -> Arc<str> {
        let mut kept = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept
            && Arc::ptr_eq(&kept.opencode, &config.opencode)
            && Arc::ptr_eq(&kept.openwork, &config.openwork)
        {
            return Arc::clone(&kept.text);
        }
        let text = format!(
            "{{\"opencode\":{},\"openwork\":{}",
            config.opencode, config.openwork
        );
        let text: Arc<str> = text.into();
        *kept = Some(WrittenConfig {
            opencode: Arc::clone(&config.opencode),
            openwork: Arc::clone(&config.openwork),
            text: Arc::clone(&text),
        });
        text
    }
}
