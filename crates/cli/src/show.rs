//! `show`: one ask, whole.

use countersign_api::AskView;

use crate::connection::Reply;
use crate::exit::Exit;
use crate::{Call, ask_text, reference};

/// Which ask to show.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// The ask
    id: String,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Show) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let id = reference::ask(&connection, &arguments.id).await?;
    let Reply { value, text }: Reply<AskView> =
        connection.get(&format!("/api/v1/asks/{id}")).await?;
    if call.json() {
        call.output.json(&text)?;
    } else {
        call.output
            .line(&ask_text::whole(&value, call.clock.now()))?;
    }
    Ok(Exit::Success)
}
