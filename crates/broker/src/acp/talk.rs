//! The first exchange with an agent: who it is, and the session that is wanted, each request within a time limit.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use countersign_core::settings::SessionSettings;
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::{self, Ability, AgentDescription};
use countersign_engine::acp::lines::Piece;
use countersign_engine::acp::message::{self, Incoming as Message, Params, RpcError, RpcId};
use countersign_engine::acp::session::{self, Place};
use countersign_engine::acp::update;
use countersign_engine::keeper::{HeldInput, Keeper};

use crate::acp::history::History;
use crate::acp::noise::Noises;
use crate::acp::opening::Wanted;
use crate::acp::settings;
use crate::acp::wire::{Heard, Incoming};

/// How long an agent may take to answer each of the first requests.
const OPENING_LIMIT: Duration = Duration::from_secs(30);
/// How long an agent that reads no more may take to say its last words.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// How long an agent is silent that has told all that was said before.
const HISTORY_PAUSE: Duration = Duration::from_secs(1);
/// How much output is taken before the keeper may forget it.
const ACKNOWLEDGE: u64 = 1024 * 1024;

/// What is said when the output ends.
pub(super) const ENDED: &str = "it ended before it answered";

/// Why there is no session, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The agent did not come back from resuming a session that it says it can load.
    Resuming(String),
    /// There is nothing else to be tried.
    Final(String),
}

impl Failure {
    pub(super) fn sentence(&self) -> &str {
        match self {
            Self::Resuming(why) | Self::Final(why) => why,
        }
    }

    pub(super) fn into_sentence(self) -> String {
        match self {
            Self::Resuming(why) | Self::Final(why) => why,
        }
    }

    /// The same, said like this.
    pub(super) fn in_other_words(self, why: String) -> Self {
        match self {
            Self::Resuming(_) => Self::Resuming(why),
            Self::Final(_) => Self::Final(why),
        }
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Final(why)
    }
}

/// An agent that has opened the session that was wanted.
pub(super) struct Greeted {
    pub(super) talk: Talk,
    /// What the agent calls the session.
    pub(super) native_id: String,
    pub(super) description: AgentDescription,
}

/// Speaks with an agent until its session is open.
pub(super) async fn greet(
    keeper: &Keeper,
    agent: &Agent,
    workspace: &countersign_core::session::Workspace,
    wanted: Wanted<'_>,
    told: SessionSettings,
) -> Result<Greeted, Failure> {
    let mut talk = Talk::listen(keeper).await?;
    talk.told = told;
    talk.earlier = wanted.earlier().map(|session| session.native_id.clone());
    let opened = talk.open(agent, workspace, wanted).await;
    let (native_id, description) = opened.map_err(|failure| {
        let why = talk.with_noise(failure.sentence().to_owned());
        failure.in_other_words(why)
    })?;
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
    ) -> Result<(String, AgentDescription), Failure> {
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
    ) -> Result<String, Failure> {
        let (earlier, may_resume) = match wanted {
            Wanted::New => return Ok(self.new_session(agent, place).await?),
            Wanted::Again(session) => (session, description.can(Ability::Resume)),
            Wanted::Loaded(session) => (session, false),
        };
        let native = &earlier.native_id;
        let can_load = description.can(Ability::Load);
        if may_resume {
            let line = session::resume("session/resume", native, place);
            match self.request("session/resume", line).await {
                Ok(Ok(result)) => {
                    self.told.take_offer(session::read_opened(&result).settings);
                    return Ok(native.clone());
                }
                Ok(Err(error)) if !can_load => {
                    return Err(cannot_go_on(&refused(agent, "session/resume", &error)));
                }
                Ok(Err(_)) => {}
                Err(why) if can_load => return Err(Failure::Resuming(why)),
                Err(why) => return Err(Failure::Final(why)),
            }
        }
        if !can_load {
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

    async fn new_session(&mut self, agent: &Agent, place: &Place) -> Result<String, String> {
        let result = self
            .request("session/new", session::new("session/new", place))
            .await?
            .map_err(|error| refused(agent, "session/new", &error))?;
        let opened = session::read_opened(&result);
        self.told.take_offer(opened.settings);
        opened
            .session
            .filter(|id| !id.is_empty() && id.len() <= 1_000 && !id.contains('\0'))
            .ok_or_else(|| "it began a session and did not say what it is called".to_owned())
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
                self.hear_last_words().await;
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

    /// Takes in what an agent said that reads no more: some say why before they end.
    async fn hear_last_words(&mut self) {
        let words = async {
            while let Some(heard) = self.incoming.next().await {
                if self.take(heard).await.is_err() {
                    break;
                }
            }
        };
        // One that goes on without reading is not waited for.
        drop(tokio::time::timeout(LAST_WORDS, words).await);
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

fn cannot_go_on(why: &str) -> Failure {
    Failure::Final(format!(
        "the agent cannot go on with this session, begin a new one: {why}"
    ))
}
