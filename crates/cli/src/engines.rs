//! `engines`: the agents that a session can be begun with, told by the server or, without one, by this machine.

use countersign_api::{EngineOffer, EngineOffers, SignIn};
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::Reply;
use crate::exit::{Exit, Failure};

/// Which agents to list.
#[derive(Debug, clap::Args)]
pub struct Engines {
    /// List those alone whose program was found
    #[arg(long)]
    found: bool,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Engines) -> anyhow::Result<Exit> {
    let Reply { value, text } = offers(call).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    let listed: Vec<EngineOffer> = value
        .engines
        .into_iter()
        .filter(|engine| engine.program.is_some() || !arguments.found)
        .collect();
    let width = call.output.width();
    call.output.line(&table(&listed, width))?;
    call.output
        .note("Begin a session with one of them: countersign prompt --engine NAME …")?;
    Ok(Exit::Success)
}

/// What the server tells; where none runs, what one would find here.
async fn offers(call: &mut Call<'_>) -> anyhow::Result<Reply<EngineOffers>> {
    let asked = async {
        let connection = call.connect()?;
        connection.get("/api/v1/engines").await
    };
    let error = match asked.await {
        Ok(told) => return Ok(told),
        Err(error) => error,
    };
    let is_elsewhere = call.options.url.is_some();
    match (error.downcast_ref(), call.surroundings.engines) {
        (Some(Failure::NoServer(_)), Some(look)) if !is_elsewhere => {
            let value = look()?;
            call.output
                .note("No server is running here. This is what one would find.")?;
            let text = serde_json::to_string(&value)?;
            Ok(Reply { value, text })
        }
        _ => Err(error),
    }
}

fn table(engines: &[EngineOffer], width: usize) -> String {
    let mut table = Table::new(["NAME", "AGENT", "PROGRAM", "SIGNED IN", "TO DO"]);
    for engine in engines {
        let program = match &engine.program {
            Some(program) => Cell::from(visible(program).into_owned()),
            None => Cell::styled("-", Style::new().dimmed()),
        };
        let signed_in = match engine.signed_in {
            SignIn::Seen => Cell::styled("yes", Style::new().green()),
            SignIn::NotSeen => Cell::styled("not seen", Style::new().yellow()),
            SignIn::Unknown => Cell::styled("-", Style::new().dimmed()),
        };
        table.row([
            Cell::styled(visible(&engine.name).into_owned(), Style::new().bold()),
            Cell::from(visible(&engine.title).into_owned()),
            program,
            signed_in,
            Cell::from(visible(&engine.advice).into_owned()),
        ]);
    }
    table.render(width)
}
