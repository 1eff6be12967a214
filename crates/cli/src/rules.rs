//! `rules`: standing answers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_api::{NewRule, RuleList};
use countersign_core::ask::ResolvedFile;
use countersign_core::rule::{Matcher, Rule, Verdict};
use countersign_core::time::Timestamp;
use countersign_core::visible::visible;
use owo_colors::Style;

use crate::columns::{Cell, Table};
use crate::connection::{Connection, Reply};
use crate::duration::spoken;
use crate::exit::{Exit, Failure};
use crate::reference::{self, Candidate, short, tails};
use crate::{Call, duration};

/// What to do with rules.
#[derive(Debug, clap::Args)]
pub struct Rules {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the rules that are in force
    List {
        /// List those that have ended or were revoked as well
        #[arg(long, short)]
        all: bool,
    },
    /// Make a rule
    Add(Add),
    /// Take a rule back, at once
    Revoke {
        /// The rule
        id: String,
    },
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("matcher").required(true).args(["exact", "glob"]))]
struct Add {
    /// The tool that it is about, such as bash or edit
    #[arg(long, value_name = "TOOL")]
    tool: String,
    /// Match exactly this command or path; repeat it for an ask about several at once
    #[arg(long, value_name = "TARGET")]
    exact: Vec<String>,
    /// Allow the command in this folder only; without this it is the folder of the session
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["glob", "deny"])]
    folder: Option<PathBuf>,
    /// Match every path like this; `*` stays in one folder, `**` does not
    #[arg(long, value_name = "PATTERN")]
    glob: Option<String>,
    /// Deny what matches; without this it is allowed
    #[arg(long)]
    deny: bool,
    /// The workspace that it is for: its id, name or path
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,
    /// The one session that it is for
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// How long it lives: 90s, 30m, 1h, 7d, 2w
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    expires: Option<Duration>,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Rules) -> anyhow::Result<Exit> {
    let connection = call.connect()?;
    match arguments.action {
        Action::List { all } => list(call, &connection, all).await,
        Action::Add(rule) => add(call, &connection, rule).await,
        Action::Revoke { id } => revoke(call, &connection, &id).await,
    }
}

async fn list(call: &mut Call<'_>, connection: &Connection, all: bool) -> anyhow::Result<Exit> {
    let Reply { value, text }: Reply<RuleList> = connection.get("/api/v1/rules").await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    let now = call.clock.now();
    let mut rules = value.rules;
    rules.retain(|rule| all || rule.is_active(now));
    if rules.is_empty() {
        call.output.note("No rule is in force")?;
    } else {
        let table = table(&rules, now, call.output.width());
        call.output.line(&table)?;
    }
    Ok(Exit::Success)
}

async fn add(call: &mut Call<'_>, connection: &Connection, add: Add) -> anyhow::Result<Exit> {
    let matcher = match add.glob {
        Some(pattern) => Matcher::Glob { pattern },
        None => Matcher::Exact {
            targets: add.exact,
            folder: add.folder.as_deref().map(real_folder).transpose()?,
            files: vec![],
        },
    };
    matcher
        .check(&add.tool)
        .map_err(|unfit| Failure::Usage(unfit.to_string()))?;
    let new = NewRule {
        workspace: match &add.workspace {
            Some(text) => Some(reference::workspace(connection, text).await?),
            None => None,
        },
        session: match &add.session {
            Some(text) => Some(reference::session(connection, text).await?),
            None => None,
        },
        tool: add.tool,
        verdict: if add.deny {
            Verdict::Deny
        } else {
            Verdict::Allow
        },
        matcher,
        expires_in_s: add.expires.map(|life| life.as_secs()),
    };
    let Reply { value, text }: Reply<Rule> = connection.post("/api/v1/rules", &new).await?;
    if call.json() {
        call.output.json(&text)?;
        return Ok(Exit::Success);
    }
    let table = table(
        std::slice::from_ref(&value),
        call.clock.now(),
        call.output.width(),
    );
    call.output.line(&table)?;
    call.output.note(&format!(
        "Asks that are open already still wait for a person; take it back with `countersign rules revoke {}`",
        short(value.id)
    ))?;
    Ok(Exit::Success)
}

async fn revoke(call: &mut Call<'_>, connection: &Connection, id: &str) -> anyhow::Result<Exit> {
    let rules: RuleList = connection.get("/api/v1/rules").await?.value;
    let candidates: Vec<_> = rules
        .rules
        .iter()
        .map(|rule| Candidate {
            id: rule.id,
            about: format!("{} {}", visible(&rule.tool), targets(&rule.matcher)),
        })
        .collect();
    let id = reference::find("rule", id, &candidates)?;
    connection.delete(&format!("/api/v1/rules/{id}")).await?;
    if !call.json() {
        call.output.line(&format!("{id} is revoked"))?;
    }
    Ok(Exit::Success)
}

fn table(rules: &[Rule], now: Timestamp, width: usize) -> String {
    let shorts = tails(rules.iter().map(|rule| rule.id));
    let mut table = Table::new(["ID", "SAYS", "FOR", "ENDS", "BY", "TOOL", "WHAT"]);
    for (rule, short) in rules.iter().zip(shorts) {
        let (says, style) = match rule.verdict {
            Verdict::Allow => ("allow", Style::new().green()),
            Verdict::Deny => ("deny", Style::new().red()),
        };
        let reach = match rule.session {
            Some(session) => format!("session {}", reference::short(session)),
            None => "workspace".to_owned(),
        };
        let ends = match (rule.revoked_at, rule.expires_at) {
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(end)) if end <= now => "expired".to_owned(),
            (None, Some(end)) => format!("in {}", spoken(end.since(now))),
            (None, None) => "never".to_owned(),
        };
        table.row([
            Cell::styled(short, Style::new().bold()),
            Cell::styled(says, style),
            reach.into(),
            ends.into(),
            visible(&rule.made_by.name).into(),
            visible(&rule.tool).into(),
            targets(&rule.matcher).into(),
        ]);
    }
    table.render(width)
}

/// A folder as rules have it: absolute, with links resolved.
fn real_folder(folder: &Path) -> anyhow::Result<String> {
    let real = folder.canonicalize().map_err(|error| {
        Failure::Usage(format!("`{}` cannot be used: {error}", folder.display()))
    })?;
    let real = real.to_str().map(str::to_owned);
    real.ok_or_else(|| Failure::Usage("the name of the folder is not UTF-8".to_owned()).into())
}

/// What a rule matches, whole.
fn targets(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Exact {
            targets,
            folder,
            files,
        } => {
            let targets: Vec<_> = targets.iter().map(|target| one_line(target)).collect();
            let mut text = format!("exactly {}", targets.join(" and "));
            let files = files.iter().filter_map(ResolvedFile::path);
            for place in folder.as_deref().into_iter().chain(files) {
                write!(text, " at {}", one_line(place)).expect("a string can be written to");
            }
            text
        }
        Matcher::Glob { pattern } => format!("like {}", one_line(pattern)),
    }
}

fn one_line(text: &str) -> String {
    visible(text)
        .replace('\n', "⟨U+000A⟩")
        .replace('\t', "⟨U+0009⟩")
}
