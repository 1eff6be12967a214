//! `prompt`: gives an agent something to do, and stays with it until its turn ends.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use countersign_api::{NewSession, PromptRequest, PromptTaken, SessionList, SessionView};
use countersign_core::id::{SessionId, TurnId, WorkspaceId};
use countersign_core::visible::visible;
use owo_colors::OwoColorize as _;

use crate::Call;
use crate::connection::{Connection, Reply};
use crate::exit::{Exit, Failure};
use crate::follow::Follow;
use crate::reference::{self, short};

mod attachments;
mod dialogue;
pub(crate) mod live;
mod transcript;

use attachments::Given;

/// How much longer than usual it may take to send a prompt with what comes along.
const SENDING: Duration = Duration::from_mins(1);
/// How much longer than usual a session may take to be opened: an agent is started for it, and tells an earlier one again.
const OPENING: Duration = Duration::from_secs(90);

/// What to say, and to whom.
#[derive(Debug, clap::Args)]
pub struct Prompt {
    /// The words; `-` or nothing reads them from standard input
    #[arg(value_name = "TEXT")]
    text: Vec<String>,
    /// Say it in this session
    #[arg(long, short, value_name = "ID", conflicts_with = "continue_newest")]
    session: Option<String>,
    /// Say it in the session that changed last
    #[arg(long = "continue", short = 'c')]
    continue_newest: bool,
    /// Begin the session in this workspace: its id, name or path
    #[arg(long, short, value_name = "WORKSPACE", conflicts_with = "session")]
    workspace: Option<String>,
    /// Begin the session with this engine: opencode, or an agent of `countersign engines`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["session", "continue_newest"])]
    engine: Option<String>,
    /// Go on with an earlier session of the engine: its id as `countersign sessions --earlier` lists it
    #[arg(long, value_name = "ID", requires = "engine")]
    earlier: Option<String>,
    /// Send this file along; of a file in the session's workspace the agent learns where it is
    #[arg(long, short, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// Send this image along, if the agent takes images: png, jpeg, gif or webp
    #[arg(long, short, value_name = "PATH")]
    image: Vec<PathBuf>,
    /// The model to use: provider/model for opencode, one that `countersign settings` lists for other agents
    #[arg(long, short, value_name = "MODEL")]
    model: Option<String>,
    /// The mode to be in, one that `countersign settings` lists; it stays for the prompts that follow
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// The engine's agent to use
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Return as soon as the prompt is taken
    #[arg(long, short)]
    detach: bool,
}

pub(crate) async fn run(call: &mut Call<'_>, arguments: Prompt) -> anyhow::Result<Exit> {
    let text = words(&arguments.text)?;
    let given = Given::read(&arguments.file, &arguments.image)?;
    let connection = call.connect()?;
    let session = choose_session(call, &connection, &arguments).await?;
    let attachments = given.attachments(&connection, session).await?;
    // What is said before the prompt is none of this turn's; what comes after it must not be missed.
    let seen = live::last_item(&connection, session).await?;
    let follow = if arguments.detach {
        None
    } else {
        Some(
            Follow::begin(&connection)
                .await?
                .advising(go_on_in(session)),
        )
    };
    let request = PromptRequest {
        text,
        turn: Some(TurnId::generate(call.clock.now())),
        model: arguments.model,
        mode: arguments.mode,
        agent: arguments.agent,
        attachments,
    };
    let path = format!("/api/v1/sessions/{session}/prompt");
    let taken: Reply<PromptTaken> = connection.post_waiting(&path, &request, SENDING).await?;
    match follow {
        Some(follow) => live::watch(call, &connection, follow, &taken, seen).await,
        None => detach(call, &taken),
    }
}

/// What to do if the server has left before the turn has ended.
fn go_on_in(session: SessionId) -> String {
    let session = short(session);
    format!(
        "What was said is kept. Start a server with `countersign up`; `countersign sessions` says how session {session} stands, and `countersign prompt --session {session} …` goes on"
    )
}

fn detach(call: &mut Call<'_>, taken: &Reply<PromptTaken>) -> anyhow::Result<Exit> {
    if call.json() {
        call.output.json(&taken.text)?;
        return Ok(Exit::Success);
    }
    let PromptTaken { turn, session } = &taken.value;
    call.output.line(&format!("{session}  {turn}"))?;
    call.output.note(&format!(
        "The turn goes on. Its asks: countersign inbox --watch. More to say: countersign prompt --session {}",
        short(session)
    ))?;
    Ok(Exit::Success)
}

/// The words of the prompt.
fn words(text: &[String]) -> anyhow::Result<String> {
    let stdin = io::stdin();
    let words = match text {
        [dash] if dash == "-" => read_all(stdin)?,
        [] if !stdin.is_terminal() => read_all(stdin)?,
        [] => {
            return Err(Failure::Usage(
                "there is nothing to say; write it behind the command, or into its standard input"
                    .to_owned(),
            )
            .into());
        }
        words => words.join(" "),
    };
    if words.trim().is_empty() {
        return Err(Failure::Usage("the prompt is empty".to_owned()).into());
    }
    Ok(words)
}

fn read_all(mut input: io::Stdin) -> anyhow::Result<String> {
    let mut text = String::new();
    input
        .read_to_string(&mut text)
        .context("failed to read the prompt from standard input")?;
    Ok(text)
}

async fn choose_session(
    call: &mut Call<'_>,
    connection: &Connection,
    arguments: &Prompt,
) -> anyhow::Result<SessionId> {
    if let Some(text) = &arguments.session {
        return reference::session(connection, text).await;
    }
    let named = arguments.workspace.as_deref();
    if arguments.continue_newest {
        let workspace = reference::chosen_workspace(call, connection, named).await?;
        return newest(connection, workspace).await;
    }
    let (workspace, directory) = match named {
        Some(text) => (Some(reference::workspace(connection, text).await?), None),
        None => (None, own_directory(call, connection)?),
    };
    let new = NewSession {
        workspace,
        directory,
        engine: arguments.engine.clone(),
        title: None,
        earlier: arguments.earlier.clone(),
    };
    let made: SessionView = connection
        .post_waiting("/api/v1/sessions", &new, OPENING)
        .await?
        .value;
    if !call.json() && !arguments.detach {
        let line = format!(
            "Session {} in {}",
            short(made.session.id),
            visible(&made.session.directory)
        );
        call.output.note(&line.dimmed().to_string())?;
    }
    Ok(made.session.id)
}

/// The folder that the command was called in, if the server is on this machine: it is served from then on.
fn own_directory(call: &Call<'_>, connection: &Connection) -> anyhow::Result<Option<String>> {
    match &call.surroundings.directory {
        Some(directory) if connection.is_local() => {
            let directory = directory.to_str().ok_or_else(|| {
                let sentence = format!("the path {} is not valid UTF-8", directory.display());
                Failure::Usage(sentence)
            })?;
            Ok(Some(directory.to_owned()))
        }
        Some(_) | None => Ok(None),
    }
}

async fn newest(
    connection: &Connection,
    workspace: Option<WorkspaceId>,
) -> anyhow::Result<SessionId> {
    let path = match workspace {
        Some(id) => format!("/api/v1/sessions?workspace={id}"),
        None => "/api/v1/sessions".to_owned(),
    };
    let list: SessionList = connection.get(&path).await?.value;
    list.sessions
        .iter()
        .find(|view| view.may_prompt && view.session.parent.is_none())
        .map(|view| view.session.id)
        .ok_or_else(|| Failure::NotFound("there is no session to continue".to_owned()).into())
}
