//! What an agent has its host do: files are read and written, commands run, each beside the conversation and none in its
//! way.
//!
//! A read is done at once. A write or a command is done if the agent was just allowed it ([`Leave`]), and asked for
//! otherwise; the answer then brings about the act, and what came of that is the reply. Commands are children of the
//! agent's keeper: they outlive this server as the agent does, end with the agent, and are told apart from people as the
//! agent's own processes are.
//!
//! Every reply has the tag of the line that it answers, and the keeper writes it once in the life of the agent. A request
//! that is under way holds the agent's output back ([`Hosting::oldest`]), so that the next server reads it again; one
//! whose ask is in the ledger is found there, and who waits for a command's end is known to the keeper. Doing a thing
//! twice is doing it once: a file that has the content already is not written, and a command's id is its line's place.

mod deeds;
mod performing;
mod record;
mod taking;

pub(super) use deeds::Means;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use countersign_core::ask::Ask;
use countersign_core::id::{AskId, TurnId};
use countersign_core::session::Session;
use countersign_engine::acp::hosted::Hosted;
use countersign_engine::acp::hosted::leave::Leave;
use countersign_engine::acp::message::RpcId;
use countersign_engine::files::Folders;
use countersign_engine::keeper::Terminals;
use tokio::task::JoinSet;

use deeds::{Came, Tools};
use record::Deed;

/// How many requests are under way at a time, those that wait for the end of a command not counted.
const MOST: usize = 4;

/// What goes on for one agent.
pub(super) struct Hosting {
    tools: Tools,
    /// What the agent was just allowed.
    leaves: Vec<Leave>,
    /// The asks whose answers gave leave: each does so once.
    granted: BTreeSet<AskId>,
    work: JoinSet<Option<Done>>,
    /// What came of work and is not told yet.
    finished: VecDeque<Done>,
    /// Where in the output the requests are that are under way and nowhere else.
    under_way: BTreeSet<u64>,
    /// Where those are that wait for the ends of commands.
    waiting: BTreeMap<u64, RpcId>,
    /// The asks whose acts are being done.
    performing: BTreeSet<AskId>,
    /// The commands that run, by the label of each.
    running: BTreeMap<String, String>,
    /// Whether those who waited under an earlier server wait again.
    is_resumed: bool,
    /// How many requests the transcript has in this turn.
    told: usize,
}

/// A request of the agent's that something is done for.
#[derive(Debug, Clone)]
struct Request {
    /// Where in the output it is.
    at: u64,
    id: RpcId,
    /// The turn in which it is done.
    turn: Option<TurnId>,
    /// The ask whose answer it is done for.
    ask: Option<AskId>,
}

/// Something that was done, or looked into.
#[derive(Debug, Clone)]
struct Done {
    request: Request,
    came: Came,
    /// What the transcript says of it.
    deed: Option<Deed>,
}

impl Hosting {
    pub(super) fn new(session: &Session, terminals: Terminals, means: Means) -> Self {
        let folders = Folders::new([PathBuf::from(&session.directory)]);
        Self {
            tools: Tools::new(folders, terminals, means),
            leaves: Vec::new(),
            granted: BTreeSet::new(),
            work: JoinSet::new(),
            finished: VecDeque::new(),
            under_way: BTreeSet::new(),
            waiting: BTreeMap::new(),
            performing: BTreeSet::new(),
            running: BTreeMap::new(),
            is_resumed: false,
            told: 0,
        }
    }

    /// Does something beside the conversation.
    fn spawn(
        &mut self,
        request: Request,
        deed: Option<Deed>,
        came: impl Future<Output = Came> + Send + 'static,
    ) {
        self.work.spawn(async move {
            Some(Done {
                request,
                came: came.await,
                deed,
            })
        });
    }

    /// Waits for something to be done. Cancel-safe. Only to be called while something is.
    pub(super) async fn progress(&mut self) {
        match self.work.join_next().await {
            Some(Ok(done)) => self.finished.extend(done),
            Some(Err(error)) => tracing::error!(%error, "a deed for an agent broke off"),
            None => {}
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.work.is_empty()
    }

    /// Whether the agent may want more.
    pub(super) fn has_room(&self) -> bool {
        self.under_way.len() + self.performing.len() < MOST
    }

    /// Where in the output the oldest request is that is known nowhere else.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.under_way.first().copied()
    }

    pub(super) fn is_performing(&self, ask: AskId) -> bool {
        self.performing.contains(&ask)
    }

    /// Notes that the agent was given leave: the answer to `ask` is on its way.
    pub(super) fn grant(&mut self, ask: &Ask, session: &Session) {
        if self.granted.insert(ask.id) {
            self.leaves
                .extend(Leave::of(ask, Path::new(&session.directory)));
        }
    }

    /// The answer to `ask` never left.
    pub(super) fn revoke(&mut self, ask: AskId) {
        self.leaves.retain(|leave| leave.ask != ask);
    }

    /// What was allowed for a tool call that has ended is not any more, should it begin again.
    pub(super) fn end_call(&mut self, call: &str) {
        self.leaves.retain(|leave| leave.tool_call != call);
    }

    /// Nothing that was allowed in the turn is any more.
    pub(super) fn end_turn(&mut self) {
        self.leaves.clear();
        self.told = 0;
    }
}

/// What a reply to the line at `at` is called.
pub(super) fn tag(at: u64) -> String {
    format!("reply-{at}")
}

/// What the reply to an ask is called.
pub(super) fn tag_of(ask: &Ask) -> String {
    match Hosted::of(ask) {
        Some(hosted) => tag(hosted.at),
        None => ask.id.to_string(),
    }
}
