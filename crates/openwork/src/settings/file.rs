//! The configuration file. What cannot be read, or is of another kind than expected, was not said.

use std::path::Path;

use serde_json::Value;

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) host: Option<String>,
    pub(super) port: Option<u64>,
    pub(super) token: Option<String>,
    pub(super) host_token: Option<String>,
    pub(super) approval_mode: Option<String>,
    pub(super) approval_timeout: Option<u64>,
    pub(super) workspaces: Vec<Place>,
    pub(super) cors_origins: Option<Vec<String>>,
    pub(super) authorized_roots: Option<Vec<String>>,
    pub(super) read_only: bool,
    pub(super) opencode_username: Option<String>,
    pub(super) opencode_password: Option<String>,
}

/// A workspace as the file names it.
#[derive(Debug, Default, Clone)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) name: Option<String>,
    pub(super) workspace_type: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) username: Option<String>,
    pub(super) password: Option<String>,
    /// Whether only owners answer what its engine asks; a key of our own.
    pub(super) is_for_owners: bool,
}

impl File {
    pub(super) fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_default();
        let whole: Value = serde_json::from_slice(&text).unwrap_or_default();
        let workspaces = whole["workspaces"].as_array();
        Self {
            host: text_of(&whole, "host"),
            port: whole["port"].as_u64(),
            token: text_of(&whole, "token"),
            host_token: text_of(&whole, "hostToken"),
            approval_mode: text_of(&whole["approval"], "mode"),
            approval_timeout: whole["approval"]["timeoutMs"].as_u64(),
            workspaces: workspaces
                .map(|places| places.iter().filter_map(Place::read).collect())
                .unwrap_or_default(),
            cors_origins: texts_of(&whole, "corsOrigins"),
            authorized_roots: texts_of(&whole, "authorizedRoots"),
            read_only: whole["readOnly"].as_bool().unwrap_or(false),
            opencode_username: text_of(&whole, "opencodeUsername"),
            opencode_password: text_of(&whole, "opencodePassword"),
        }
    }
}

impl Place {
    pub(super) fn at(path: String) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self {
            path: text_of(value, "path")?,
            name: text_of(value, "name"),
            workspace_type: text_of(value, "workspaceType"),
            base_url: text_of(value, "baseUrl"),
            directory: text_of(value, "directory"),
            username: text_of(value, "opencodeUsername"),
            password: text_of(value, "opencodePassword"),
            is_for_owners: value["collaboratorsAnswer"].as_bool() == Some(false),
        })
    }
}

fn text_of(value: &Value, key: &str) -> Option<String> {
    let text = value.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn texts_of(value: &Value, key: &str) -> Option<Vec<String>> {
    let items = value.get(key)?.as_array()?;
    Some(
        items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    )
}
