//! `engines`: the agents that a session can be begun with.

use countersign_api::{EngineOffer, EngineOffers, SignIn};
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::Call;
use crate::columns::{Cell, Table};
use crate::connection::Reply;
use crate::exit::Exit;

/// Which agents to list.
#[derive(Debug, clap::Args)]
pub struct Engines {
    /// List those alone whose program was found
    #[arg(long)]
    found: bool,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Engines) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    let Reply { value, text }: Reply<EngineOffers> = connection.get("/api/v1/engines").await?;
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
