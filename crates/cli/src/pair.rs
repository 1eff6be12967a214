//! `pair`: a one-time link for a browser.

use countersign_api::{NewPairing, PairingView};
use countersign_core::grant::Role;
use owo_colors::OwoColorize as _;

use crate::connection::Reply;
use crate::duration::spoken;
use crate::exit::Exit;
use crate::{Call, reference};

/// Whom to let in.
#[derive(Debug, clap::Args)]
pub struct Pair {
    /// What the browser may do: viewer, collaborator, approver or owner
    #[arg(long, value_name = "ROLE", default_value = "owner")]
    role: Role,
    /// What people will call whoever uses it; your own name if it is not said
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The one workspace that the browser is for: its id, name or path
    #[arg(long, short, value_name = "WORKSPACE")]
    workspace: Option<String>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Pair) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let workspace = match &arguments.workspace {
        Some(text) => Some(reference::workspace(&connection, text).await?),
        None => None,
    };
    let new = NewPairing {
        name: arguments
            .name
            .or_else(|| call.surroundings.user.clone())
            .unwrap_or_else(|| "browser".to_owned()),
        role: arguments.role,
        workspace,
    };
    let Reply { value, text }: Reply<PairingView> =
        connection.post("/api/v1/pairings", &new).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    call.output.line(&value.link)?;
    call.output.note(&format!(
        "Open it in the browser of {}, who will be {}. It works once, within {}",
        new.name.bold(),
        new.role.name().bold(),
        spoken(value.expires_at.since(call.clock.now()))
    ))?;
    Ok(Exit::Success)
}
