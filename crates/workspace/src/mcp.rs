//! MCP servers: what opencode's configuration says of them, and whether its tools are denied.

use globset::GlobBuilder;
use serde::Serialize;
use serde_json::Value;

use crate::jsonc;
use crate::names;
use crate::refusal::Refusal;
use crate::workspace::{Reach, Scope, Workspace};

/// The key in opencode's configuration.
pub(crate) const KEY: &str = "mcp";

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// What it is called.
    pub name: String,
    /// What opencode is told of it.
    pub config: Value,
    /// Where that is said.
    pub source: Source,
    /// Whether `tools.deny` denies everything that it offers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled_by_tools: bool,
}

/// Where it is said what a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Source {
    /// In the configuration of the workspace.
    #[serde(rename = "config.project")]
    Project,
    /// In the configuration of the user.
    #[serde(rename = "config.global")]
    Global,
}

impl Workspace {
    /// Every MCP server of the workspace.
    pub fn mcp(&self) -> Result<Vec<McpServer>, Refusal> {
        Ok(servers(&*self.opencode_config()?, Source::Project))
    }

    /// Every MCP server that counts here: the user's, then the workspace's, which stands in the place of one of the
    /// user's with its name. A configuration of the user's that cannot be read is as if it were not there.
    pub fn mcp_in(&self, reach: Reach) -> Result<Vec<McpServer>, Refusal> {
        let own = self.opencode_config()?;
        if reach == Reach::Project {
            return Ok(servers(&own, Source::Project));
        }
        let text = self.config_text(Scope::Global).ok().and_then(|it| it.text);
        let global = text.and_then(|text| jsonc::parse(&text).ok());
        let global = global.unwrap_or_default();
        let mut found = servers(&global, Source::Global);
        let mine = servers(&own, Source::Project);
        found.retain(|server| mine.iter().all(|it| it.name != server.name));
        found.extend(mine);
        let denied: Vec<_> = [&own, &global].into_iter().flat_map(denied).collect();
        for server in &mut found {
            server.disabled_by_tools = is_disabled(&denied, &server.name);
        }
        Ok(found)
    }
}

fn servers(config: &Value, source: Source) -> Vec<McpServer> {
    let servers = config.get(KEY).and_then(Value::as_object);
    let denied = denied(config);
    let servers = servers.into_iter().flatten();
    let servers = servers.map(|(name, server)| McpServer {
        name: name.clone(),
        config: server.clone(),
        source,
        disabled_by_tools: is_disabled(&denied, name),
    });
    servers.collect()
}

fn is_disabled(denied: &[&str], name: &str) -> bool {
    denied.iter().any(|pattern| covers(pattern, name))
}

/// Checks what a server is called.
pub fn check_name(name: &str) -> Result<(), Refusal> {
    names::check_mcp(name)
}

/// Checks what opencode is to be told of a server.
pub(crate) fn check(config: &Value) -> Result<(), Refusal> {
    if config.is_null() {
        return Err(Refusal::invalid(
            "invalid_payload",
            "MCP config is required",
        ));
    }
    let wrong = |message: &str| Err(Refusal::invalid("invalid_mcp_config", message));
    let filled = |key: &str| match config.get(key) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    };
    match config.get("type").and_then(Value::as_str) {
        Some("local") if !(filled("command") && config["command"].is_array()) => {
            wrong("Local MCP requires command array")
        }
        Some("remote") if !(filled("url") && config["url"].is_string()) => {
            wrong("Remote MCP requires url")
        }
        Some("local" | "remote") => Ok(()),
        _ => wrong("MCP config type must be local or remote"),
    }
}

/// The patterns of tools that are denied.
fn denied(config: &Value) -> Vec<&str> {
    let patterns = config.pointer("/tools/deny").and_then(Value::as_array);
    let patterns = patterns.into_iter().flatten();
    patterns.filter_map(Value::as_str).collect()
}

/// Whether a pattern denies everything that the server offers.
fn covers(pattern: &str, name: &str) -> bool {
    let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else {
        return false;
    };
    let glob = glob.compile_matcher();
    let meant = [
        format!("mcp.{name}"),
        format!("mcp.{name}.*"),
        format!("mcp:{name}"),
        format!("mcp:{name}:*"),
        "mcp.*".to_owned(),
        "mcp:*".to_owned(),
    ];
    meant.iter().any(|tool| glob.is_match(tool))
}

#[cfg(test)]
mod tests;
