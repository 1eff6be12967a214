//! Plugins: named in opencode's configuration, or files in a folder.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::beneath::{BeneathError, EntryKind, Root};
use crate::refusal::Refusal;
use crate::workspace::{Reach, Scope, Workspace, if_there};

/// The key in opencode's configuration.
pub(crate) const KEY: &str = "plugin";
/// In which order opencode loads them, by where they are from.
pub const LOAD_ORDER: [&str; 4] = [
    "config.global",
    "config.project",
    "dir.global",
    "dir.project",
];
/// Where the files of a workspace are.
pub(crate) const FOLDER: &str = ".opencode/plugins";
/// Where those of the user are, below the home.
const GLOBAL: &str = ".config/opencode/plugins";

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plugin {
    /// How opencode names it.
    pub spec: String,
    /// Where it is from.
    pub source: Source,
    /// Whose it is.
    pub scope: Scope,
    /// Its file, if it is one: below the workspace, or absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
}

/// Where a plugin is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Source {
    /// It is named in the configuration.
    #[serde(rename = "config")]
    Config,
    /// It is a file of the workspace.
    #[serde(rename = "dir.project")]
    ProjectFolder,
    /// It is a file of the user.
    #[serde(rename = "dir.global")]
    GlobalFolder,
}

impl Workspace {
    /// Every plugin that counts here.
    pub fn plugins(&self, reach: Reach) -> Result<Vec<Plugin>, Refusal> {
        let config = self.opencode_config()?;
        let named = specs(&config).into_iter().map(|spec| Plugin {
            spec: spec.to_owned(),
            source: Source::Config,
            scope: Scope::Project,
            path: None,
        });
        let mut plugins: Vec<_> = named.collect();
        if let Some(root) = self.root_if_there()? {
            for name in scripts(&root, Path::new(FOLDER))? {
                let below = Path::new(FOLDER).join(name);
                plugins.push(Plugin {
                    spec: file_spec(&self.path().join(&below)),
                    source: Source::ProjectFolder,
                    scope: Scope::Project,
                    path: Some(below),
                });
            }
        }
        if reach == Reach::Everything {
            let folder = self.home().path().join(GLOBAL);
            if let Some(root) = if_there(Root::open(&folder))? {
                for name in scripts(&root, Path::new(""))? {
                    let path = folder.join(name);
                    plugins.push(Plugin {
                        spec: file_spec(&path),
                        source: Source::GlobalFolder,
                        scope: Scope::Global,
                        path: Some(path),
                    });
                }
            }
        }
        Ok(plugins)
    }
}

/// The plugins that a configuration names.
pub(crate) fn specs(config: &Value) -> Vec<&str> {
    match config.get(KEY) {
        Some(Value::String(spec)) => vec![spec],
        Some(Value::Array(specs)) => specs.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What a plugin is called, without its version: two with the same name are the same plugin.
pub fn name(spec: &str) -> &str {
    let spec = spec.trim();
    let is_place = ["file:", "http:", "https:", "git:", "/"]
        .iter()
        .any(|prefix| spec.starts_with(prefix));
    if is_place {
        return spec;
    }
    // The first character may belong to the name: `@scope/name@version`.
    let version = spec.char_indices().skip(1).find(|(_, it)| *it == '@');
    version.map_or(spec, |(at, _)| &spec[..at])
}

pub(crate) fn check(spec: &str) -> Result<(), Refusal> {
    if spec.trim().is_empty() {
        Err(Refusal::invalid(
            "invalid_plugin_spec",
            "Plugin spec is required",
        ))
    } else {
        Ok(())
    }
}

fn scripts(root: &Root, folder: &Path) -> Result<Vec<String>, Refusal> {
    let entries = match root.entries(folder) {
        Ok(entries) => entries,
        Err(BeneathError::Missing | BeneathError::Outside | BeneathError::NoPlace) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let files = entries
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::File);
    let names = files.filter_map(|entry| entry.name.into_string().ok());
    let scripts = names.filter(|name| {
        let extension = Path::new(name).extension();
        extension.is_some_and(|it| it == "js" || it == "ts")
    });
    Ok(scripts.collect())
}

fn file_spec(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[cfg(test)]
mod tests;
