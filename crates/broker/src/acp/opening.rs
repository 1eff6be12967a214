//! The beginning of a life: the agent is started, says who it is, and opens a session, each within a time limit.
//!
//! What goes wrong is said in a sentence that tells what to do, and nothing of the life is left.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use countersign_core::session::Session;
use countersign_core::settings::SessionSettings;
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::{self, Ability, AgentDescription, Shape};
use countersign_engine::acp::launch::Launch;
use countersign_engine::acp::lines::Piece;
use countersign_engine::acp::message::{self, Incoming as Message, Params, RpcError, RpcId};
use countersign_engine::acp::session::{self, Place};
use countersign_engine::acp::update;
use countersign_engine::keeper::{HeldInput, Keeper};
use countersign_store::{Run, StoreError};

use crate::acp::history::History;
use crate::acp::noise::Noises;
use crate::acp::prompting::takes;
use crate::acp::roster::find;
use crate::acp::settings;
use crate::acp::wire::{Heard, Incoming};
use crate::acp::{Agents, Lifetime};
use crate::kept::{end_wholly, how_it_ended, last_words, remove_directory, run_directory};

/// How long an agent may take to answer each of the first requests.
const OPENING_LIMIT: Duration = Duration::from_secs(30);
/// How long an agent is silent that has told all that was said before.
const HISTORY_PAUSE: Duration = Duration::from_millis(300);
/// How much output is taken before the keeper may forget it.
const ACKNOWLEDGE: u64 = 1024 * 1024;
/// How long an agent's end may take to be known once its output has ended.
const EXIT_LIMIT: Duration = Duration::from_secs(3);

/// What is to be opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// A new session.
    New,
    /// A session of an earlier life.
    Again(&'a Session),
}

/// An agent with an open session.
pub(super) struct Opened {
    pub(super) life: Lifetime,
    /// What the agent calls the session.
    pub(super) native_id: String,
    /// Up to where the agent's output has been taken in.
    pub(super) taken: u64,
}

/// A life with which nobody has spoken yet.
pub(super) struct Begun {
    pub(super) run: Run,
    pub(super) directory: PathBuf,
    pub(super) keeper: Keeper,
}

/// Why there is no session, as a sentence for people; or the ledger failed.
pub(super) type Opening = Result<Result<Opened, String>, StoreError>;

impl Agents {
    /// Begins a life of `agent` in a workspace and opens a session in it.
    pub(super) async fn open(
        &self,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
        wanted: Wanted<'_>,
    ) -> Opening {
        let told = match wanted {
            Wanted::New => None,
            Wanted::Again(session) => self.shared().store.settings(session.id).await?,
        };
        let life = match self.begin_life(workspace, agent).await? {
            Ok(life) => life,
            Err(why) => return Ok(Err(why)),
        };
        let greeted = tokio::select! {
            greeted = greet(&life.keeper, agent, workspace, wanted, told.unwrap_or_default()) => greeted,
            () = self.shared().ending.cancelled() => Err("Countersign was stopped".to_owned()),
        };
        match greeted {
            Ok(greeted) => Ok(Ok(Opened {
                taken: greeted.talk.taken,
                native_id: greeted.native_id,
                life: Lifetime {
                    tells_history: matches!(wanted, Wanted::Again(_)),
                    ..self
                        .goes_on(life, workspace, agent, greeted.talk, &greeted.description)
                        .await?
                },
            })),
            Err(why) => {
                let why = explain(agent, &life.keeper, &life.directory, &why).await;
                self.end_life(workspace.id, &life, &why).await?;
                Ok(Err(why))
            }
        }
    }

    /// Begins a life of `agent` in a workspace, with which nobody has spoken yet.
    pub(super) async fn begin_life(
        &self,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
    ) -> Result<Result<Begun, String>, StoreError> {
        let shared = self.shared();
        let Some(program) = find(agent) else {
            return Ok(Err(not_found(agent)));
        };
        let now = shared.clock.now();
        let engine = shared
            .store
            .ensure_engine(workspace.id, &agent.name, now)
            .await?;
        let run = shared.store.begin_run(&engine, now).await?;
        let directory = run_directory(&shared.settings.data_directory, run.id);
        let spec = Launch {
            program,
            directory: PathBuf::from(&workspace.path),
            run: run.id,
            inherit: agent.inherit.clone(),
            lonely_limit_s: shared.settings.lonely_limit_s,
        }
        .spec(std::env::vars_os());
        let keeper = match Keeper::spawn(&shared.settings.own_program, &directory, &spec).await {
            Ok(keeper) => keeper,
            Err(error) => {
                let why = format!("{} could not be started: {error}", agent.title);
                self.end_run(workspace.id, &run, &directory, &why).await?;
                return Ok(Err(why));
            }
        };
        self.note_keeper(keeper.identity());
        Ok(Ok(Begun {
            run,
            directory,
            keeper,
        }))
    }

    /// The life with what is needed to go on with a talk in it.
    pub(super) async fn goes_on(
        &self,
        life: Begun,
        workspace: &countersign_core::session::Workspace,
        agent: &Agent,
        talk: Talk,
        description: &AgentDescription,
    ) -> Result<Lifetime, StoreError> {
        if description.shape == Shape::Two {
            self.shared().store.set_protocol(life.run.id, 2).await?;
        }
        Ok(Lifetime {
            workspace: workspace.clone(),
            agent: agent.clone(),
            run: life.run,
            keeper: life.keeper,
            directory: life.directory,
            incoming: talk.incoming,
            input: talk.input,
            shape: description.shape,
            noise: talk.noise,
            tells_history: true,
            takes: takes(description),
            told: talk.told.bounded(),
        })
    }

    /// Ends a life with everything that it started.
    pub(super) async fn end_life(
        &self,
        workspace: countersign_core::id::WorkspaceId,
        life: &Begun,
        why: &str,
    ) -> Result<(), StoreError> {
        end_wholly(&life.keeper, &life.directory).await;
        self.end_run(workspace, &life.run, &life.directory, why)
            .await
    }

    /// Ends a life in the ledger, with its asks, and removes its files.
    pub(super) async fn end_run(
        &self,
        workspace: countersign_core::id::WorkspaceId,
        run: &Run,
        directory: &std::path::Path,
        why: &str,
    ) -> Result<(), StoreError> {
        let shared = self.shared();
        shared
            .store
            .end_run(workspace, run.id, why, shared.clock.now())
            .await?;
        remove_directory(directory);
        Ok(())
    }
}

fn not_found(agent: &Agent) -> String {
    let Agent { title, install, .. } = agent;
    if install.is_empty() {
        format!("the program of {title} was not found; see its `command` in the configuration")
    } else {
        format!("{title} was not found on the PATH. To install it: {install}")
    }
}

/// Adds to a failure how the agent ended, if it did, and what it said last.
pub(super) async fn explain(
    agent: &Agent,
    keeper: &Keeper,
    directory: &std::path::Path,
    why: &str,
) -> String {
    let said_before = why.strip_prefix(ENDED);
    let ended = said_before.is_some();
    let limit = if ended { EXIT_LIMIT } else { Duration::ZERO };
    let how = how_it_ended(keeper, limit).await;
    let mut sentence = match how {
        Some(how) if ended => format!(
            "{} ended before it was ready: {how}{}",
            agent.title,
            said_before.unwrap_or_default()
        ),
        Some(_) | None => format!("{}: {why}", agent.title),
    };
    if let Some(said) = last_words(directory) {
        sentence.push_str(". Its last words: ");
        sentence.push_str(&said);
    }
    sentence
}

/// What `talk` says when the output ends.
const ENDED: &str = "it ended before it answered";

struct Greeted {
    talk: Talk,
    native_id: String,
    description: AgentDescription,
}

async fn greet(
    keeper: &Keeper,
    agent: &Agent,
    workspace: &countersign_core::session::Workspace,
    wanted: Wanted<'_>,
    told: SessionSettings,
) -> Result<Greeted, String> {
    let mut talk = Talk::listen(keeper).await?;
    talk.told = told;
    talk.earlier = match wanted {
        Wanted::New => None,
        Wanted::Again(session) => Some(session.native_id.clone()),
    };
    let opened = talk.open(agent, workspace, wanted).await;
    let (native_id, description) = opened.map_err(|why| talk.with_noise(why))?;
    Ok(Greeted {
        talk,
        native_id,
        description,
    })
}

/// Where sessions of a workspace work.
pub(super) fn place(workspace: &countersign_core::session::Workspace) -> Place {
    Place {
        directory: PathBuf::from(&workspace.path),
        additional: Vec::new(),
    }
}

pub(super) fn refused(agent: &Agent, method: &str, error: &RpcError) -> String {
    if error.wants_sign_in() {
        let how = &agent.sign_in.how;
        return if how.is_empty() {
            format!("it wants you to sign in first: {}", error.message)
        } else {
            format!("it wants you to sign in first: {how}")
        };
    }
    let more = error
        .data
        .as_ref()
        .map(|data| format!(" {data}"))
        .unwrap_or_default();
    format!("it refused `{method}`: {error}{more}")
}

/// The first exchange with an agent.
pub(super) struct Talk {
    pub(super) incoming: Incoming,
    pub(super) input: HeldInput,
    pub(super) taken: u64,
    acknowledged: u64,
    pub(super) noise: Noises,
    /// Where what the agent tells of an earlier session goes, if somebody wants to know.
    pub(super) history: Option<History>,
    /// What the agent calls the session of an earlier life that is wanted.
    earlier: Option<String>,
    /// What the agent told of the session besides what was said in it.
    pub(super) told: SessionSettings,
}

impl Talk {
    /// Listens to an agent that was just started.
    pub(super) async fn listen(keeper: &Keeper) -> Result<Self, String> {
        let streams = keeper.streams(0).await.map_err(|error| error.to_string())?;
        let (incoming, input) = Incoming::new(streams, 0);
        Ok(Self {
            incoming,
            input,
            taken: 0,
            acknowledged: 0,
            noise: Noises::default(),
            history: None,
            earlier: None,
            told: SessionSettings::default(),
        })
    }

    /// Adds to a failure what the agent wrote that was no message: some say on the wrong stream why they do not work.
    pub(super) fn with_noise(&self, why: String) -> String {
        match self.noise.first() {
            Some(said) => format!("{why} ({said})"),
            None => why,
        }
    }

    /// Learns who the agent is and what it can do.
    pub(super) async fn describe(&mut self, agent: &Agent) -> Result<AgentDescription, String> {
        let version = env!("CARGO_PKG_VERSION");
        let hello = initialize::request("initialize", agent.offer, agent.abilities, version);
        let described = self.request("initialize", hello).await?;
        let described = described.map_err(|error| refused(agent, "initialize", &error))?;
        initialize::read(agent.offer, &described).map_err(|error| error.to_string())
    }

    /// Learns who the agent is and opens the session that is wanted; returns what the agent calls it.
    async fn open(
        &mut self,
        agent: &Agent,
        workspace: &countersign_core::session::Workspace,
        wanted: Wanted<'_>,
    ) -> Result<(String, AgentDescription), String> {
        let description = self.describe(agent).await?;
        let place = place(workspace);
        let native_id = self.session(agent, &description, &place, wanted).await?;
        Ok((native_id, description))
    }

    /// Opens the session that is wanted, and returns what the agent calls it.
    async fn session(
        &mut self,
        agent: &Agent,
        description: &AgentDescription,
        place: &Place,
        wanted: Wanted<'_>,
    ) -> Result<String, String> {
        let earlier = match wanted {
            Wanted::New => {
                let result = self
                    .request("session/new", session::new("session/new", place))
                    .await?
                    .map_err(|error| refused(agent, "session/new", &error))?;
                let opened = session::read_opened(&result);
                self.told.take_offer(opened.settings);
                return opened
                    .session
                    .filter(|id| !id.is_empty() && id.len() <= 1_000 && !id.contains('\0'))
                    .ok_or_else(|| {
                        "it began a session and did not say what it is called".to_owned()
                    });
            }
            Wanted::Again(session) => session,
        };
        let native = &earlier.native_id;
        if description.can(Ability::Resume) {
            let line = session::resume("session/resume", native, place);
            match self.request("session/resume", line).await? {
                Ok(result) => {
                    self.told.take_offer(session::read_opened(&result).settings);
                    return Ok(native.clone());
                }
                Err(error) if !description.can(Ability::Load) => {
                    return Err(cannot_go_on(&refused(agent, "session/resume", &error)));
                }
                Err(_) => {}
            }
        }
        if !description.can(Ability::Load) {
            return Err(cannot_go_on(
                "it can neither resume nor load a session of an earlier process",
            ));
        }
        let line = session::load("session/load", native, place);
        match self.request("session/load", line).await? {
            Ok(result) => {
                self.hear_out().await?;
                self.told.take_offer(session::read_opened(&result).settings);
                Ok(native.clone())
            }
            Err(error) => Err(cannot_go_on(&refused(agent, "session/load", &error))),
        }
    }

    /// Sends a request and waits for its response. What the agent tells meanwhile is of an earlier life and known;
    /// what it wants meanwhile it does not get.
    pub(super) async fn request(
        &mut self,
        id: &str,
        line: Vec<u8>,
    ) -> Result<Result<Params, RpcError>, String> {
        let exchange = async {
            let sent = self.input.write(Some(id), Bytes::from(line)).await;
            if sent.is_err() {
                return Err(ENDED.to_owned());
            }
            while let Some(heard) = self.incoming.next().await {
                match self.take(heard).await? {
                    Some((said, outcome)) if said.ours().as_deref() == Some(id) => {
                        return Ok(outcome);
                    }
                    Some(_) | None => {}
                }
            }
            Err(ENDED.to_owned())
        };
        tokio::time::timeout(OPENING_LIMIT, exchange)
            .await
            .unwrap_or_else(|_| {
                Err(format!(
                    "it did not answer `{id}` within {} s",
                    OPENING_LIMIT.as_secs()
                ))
            })
    }

    /// Lets the agent tell what was said before: some answer first that they have loaded it.
    pub(super) async fn hear_out(&mut self) -> Result<(), String> {
        let history = async {
            while let Ok(heard) = tokio::time::timeout(HISTORY_PAUSE, self.incoming.next()).await {
                let heard = heard.ok_or_else(|| ENDED.to_owned())?;
                self.take(heard).await?;
            }
            Ok(())
        };
        // What one tells for longer is taken for new.
        tokio::time::timeout(OPENING_LIMIT, history)
            .await
            .unwrap_or(Ok(()))
    }

    /// Takes in what was heard, and returns it if it is a response.
    async fn take(&mut self, heard: Heard) -> Result<Option<Response>, String> {
        self.taken = match &heard {
            Heard::Piece(piece) => self.taken.max(piece.end()),
            Heard::Skipped => self.incoming.handed_out(),
        };
        // A life that ends before its session is open is not gone on with: nothing of it has to be kept.
        if self.taken - self.acknowledged >= ACKNOWLEDGE
            && self.input.acknowledge(self.taken).await.is_ok()
        {
            self.acknowledged = self.taken;
        }
        let Heard::Piece(Piece::Line(line)) = heard else {
            return Ok(None);
        };
        match message::read(&line.text) {
            Message::Response { id, outcome } => Ok(Some((id, outcome))),
            Message::Request { id, method, .. } => {
                let reply = message::unknown_method(&id, &method);
                let tag = format!("reply-{}", line.start);
                let sent = self.input.write(Some(&tag), Bytes::from(reply)).await;
                sent.map_err(|_| ENDED.to_owned())?;
                Ok(None)
            }
            Message::Notification { method, params } if method == "session/update" => {
                if let Some(history) = &mut self.history {
                    history.take(line.start, &params);
                }
                let news = update::read(&params);
                if self.earlier.is_some() && news.session == self.earlier {
                    settings::hear(&mut self.told, news.update);
                }
                Ok(None)
            }
            Message::Noise(noise) => {
                self.noise.take(&noise);
                Ok(None)
            }
            Message::Notification { .. } => Ok(None),
        }
    }
}

/// The id of a request, and what the agent responds to it.
type Response = (RpcId, Result<Params, RpcError>);

fn cannot_go_on(why: &str) -> String {
    format!("the agent cannot go on with this session, begin a new one: {why}")
}
