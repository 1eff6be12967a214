//! What a change is called, for the audit and for whoever answers.

use countersign_workspace::Change;

/// The name of a change, by which the audit and OpenWork's clients know it, and what it does in a sentence.
pub(super) fn of(change: &Change) -> (&'static str, String) {
    match change {
        Change::PatchConfig { .. } => ("config.patch", "Change the configuration".to_owned()),
        Change::WriteConfig { .. } => ("config.write", "Write the configuration".to_owned()),
        Change::AddPlugin { spec } => ("plugins.add", format!("Add plugin {spec}")),
        Change::RemovePlugin { name } => ("plugins.delete", format!("Remove plugin {name}")),
        Change::UpsertSkill { name, .. } => ("skills.upsert", format!("Write skill {name}")),
        Change::DeleteSkill { name } => ("skills.delete", format!("Delete skill {name}")),
        Change::SetMcp { name, .. } => ("mcp.add", format!("Set MCP server {name}")),
        Change::EnableMcp { name, enabled } => {
            let verb = if *enabled { "Enable" } else { "Disable" };
            ("mcp.enabled", format!("{verb} MCP server {name}"))
        }
        Change::RemoveMcp { name } => ("mcp.remove", format!("Remove MCP server {name}")),
        Change::UpsertCommand(command) => {
            let name = command.name.trim().trim_start_matches('/');
            ("commands.upsert", format!("Write command /{name}"))
        }
        Change::DeleteCommand { name } => ("commands.delete", format!("Delete command /{name}")),
        Change::Import(_) => (
            "config.import",
            "Take in what was exported from a workspace".to_owned(),
        ),
        Change::DeleteJob { name } => ("scheduler.delete", format!("Delete scheduled job {name}")),
    }
}
