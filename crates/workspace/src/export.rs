//! Everything of a workspace that another one could take in.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::refusal::Refusal;
use crate::workspace::{Reach, Scope, Workspace};

/// Everything of a workspace that another one could take in.
#[derive(Debug, Clone, Serialize)]
pub struct Export {
    /// opencode's configuration.
    #[serde(serialize_with = "shared")]
    pub opencode: Arc<Value>,
    /// OpenWork's configuration.
    #[serde(serialize_with = "shared")]
    pub openwork: Arc<Value>,
    /// Every skill that counts here but the user's own.
    pub skills: Vec<ExportedSkill>,
    /// Every command of the workspace.
    pub commands: Vec<ExportedCommand>,
}

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedSkill {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The whole of its file.
    pub content: String,
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedCommand {
    /// What it is called.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is prompted.
    pub template: String,
}

impl Workspace {
    /// Everything that another workspace could take in.
    pub fn export(&self) -> Result<Export, Refusal> {
        let config = self.config()?;
        let mut skills = Vec::new();
        for skill in self.skills(Reach::Project)?.iter() {
            skills.push(ExportedSkill {
                name: skill.name.clone(),
                description: skill.description.clone(),
                content: skill.read()?,
            });
        }
        let commands = self.commands(Scope::Project)?;
        let commands = commands.iter().map(|command| ExportedCommand {
            name: command.name.clone(),
            description: command.description.clone(),
            template: command.template.clone(),
        });
        Ok(Export {
            opencode: config.opencode,
            openwork: config.openwork,
            skills,
            commands: commands.collect(),
        })
    }
}

fn shared<S: Serializer>(value: &Arc<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().serialize(serializer)
}
