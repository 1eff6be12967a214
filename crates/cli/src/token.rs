//! `token`: what lets programs and people in from elsewhere.

use std::time::Duration;

use countersign_api::{NewToken, TokenList, TokenMade};
use countersign_core::grant::Role;
use countersign_core::time::Timestamp;
use countersign_core::token::Token as Made;
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::columns::{Cell, Table};
use crate::connection::{Connection, Reply};
use crate::duration::spoken;
use crate::exit::Exit;
use crate::reference::{self, Candidate, short, tails};
use crate::{Call, duration};

/// What to do with tokens.
#[derive(Debug, clap::Args)]
pub struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a token and print its secret, which is never shown again
    Create(Create),
    /// List the tokens, without their secrets
    List,
    /// Take a token back, at once
    Revoke {
        /// The token
        id: String,
    },
}

#[derive(Debug, clap::Args)]
struct Create {
    /// What people will call it, and whoever acts with it
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What it may do: viewer, collaborator, approver, owner, or agent
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// The one workspace that it is for: its id, name or path
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
    /// How long it lives: 1h, 7d, 12w; 90 days if it is not said
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    expires: Option<Duration>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Token) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    match arguments.action {
        Action::Create(create) => make(call, &connection, create).await,
        Action::List => list(call, &connection).await,
        Action::Revoke { id } => revoke(call, &connection, &id).await,
    }
}

async fn make(
    call: &mut Call<'_>,
    connection: &Connection,
    create: Create,
) -> anyhow::Result<Exit> {
    let workspace = match &create.workspace {
        Some(text) => Some(reference::workspace(connection, text).await?),
        None => None,
    };
    let new = NewToken {
        name: create.name,
        role: create.role,
        workspace,
        expires_in_s: create.expires.map(|life| life.as_secs()),
    };
    let Reply { value, text }: Reply<TokenMade> = connection.post("/api/v1/tokens", &new).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    call.output.line(&value.secret)?;
    call.output.note(&format!(
        "This is the only time that the secret is shown. Use it as COUNTERSIGN_TOKEN or in a file for \
         --token-file; take it back with `countersign token revoke {}`",
        short(value.token.id)
    ))?;
    Ok(Exit::Success)
}

async fn list(call: &mut Call<'_>, connection: &Connection) -> anyhow::Result<Exit> {
    let Reply { value, text }: Reply<TokenList> = connection.get("/api/v1/tokens").await?;
    if call.json() {
        call.output.json(&text)?;
    } else if value.tokens.is_empty() {
        call.output.note("There is no token")?;
    } else {
        let table = table(&value.tokens, call.clock.now(), call.output.width());
        call.output.line(&table)?;
    }
    Ok(Exit::Success)
}

async fn revoke(call: &mut Call<'_>, connection: &Connection, id: &str) -> anyhow::Result<Exit> {
    let tokens: TokenList = connection.get("/api/v1/tokens").await?.value;
    let candidates: Vec<_> = tokens
        .tokens
        .iter()
        .map(|token| Candidate {
            id: token.id,
            about: visible(&token.name).into_owned(),
        })
        .collect();
    let id = reference::find("token", id, &candidates)?;
    connection.delete(&format!("/api/v1/tokens/{id}")).await?;
    if !call.json() {
        call.output.line(&format!("{id} is revoked"))?;
    }
    Ok(Exit::Success)
}

fn table(tokens: &[Made], now: Timestamp, width: usize) -> String {
    let shorts = tails(tokens.iter().map(|token| token.id));
    let mut table = Table::new(["ID", "KIND", "MADE", "STATE", "NAME", "GRANTS"]);
    for (token, short) in tokens.iter().zip(shorts) {
        let (state, style) = match (token.is_active(now), token.revoked_at, token.expires_at) {
            (true, _, Some(end)) => (
                format!("{} left", spoken(end.since(now))),
                Style::new().green(),
            ),
            (true, _, None) => ("no end".to_owned(), Style::new().green()),
            (false, Some(_), _) => ("revoked".to_owned(), Style::new().dimmed()),
            (false, None, _) => ("expired".to_owned(), Style::new().dimmed()),
        };
        let limit = match token.workspace {
            Some(workspace) => format!(" in workspace {}", reference::short(workspace)),
            None => String::new(),
        };
        table.row([
            Cell::styled(short, Style::new().bold()),
            token.kind.name().into(),
            format!("{} ago", spoken(now.since(token.made_at))).into(),
            Cell::styled(state, style),
            visible(&token.name).into(),
            format!("{}{limit}", token.grants).into(),
        ]);
    }
    table.render(width)
}
