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
mod record;

pub(super) use deeds::Means;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use countersign_core::ask::Ask;
use countersign_core::id::{AskId, TurnId};
use countersign_core::session::Session;
use countersign_engine::acp::hosted::leave::Leave;
use countersign_engine::acp::hosted::{
    HostMethod, HostRequest, HostResponse, Hosted, Refusal, WantedCommand, WantedWrite,
    command_ask, write_ask,
};
use countersign_engine::acp::lines::Line;
use countersign_engine::acp::message::{self, Params, RpcId};
use countersign_engine::ask::EngineAsk;
use countersign_engine::files::Folders;
use countersign_engine::keeper::{Terminals, Waiting};
use countersign_store::StoreError;
use tokio::task::JoinSet;

use crate::acp::driver::Driver;
use crate::acp::wire::Purpose;
use deeds::{Came, Tools};
use record::Deed;

/// How many requests are under way at a time, those that wait for the end of a command not counted.
const MOST: usize = 4;
/// How many wait for the ends of commands at a time.
const MOST_WAITING: usize = 64;
/// The longest id of a request that is taken for one.
const ID_LIMIT: usize = 500;

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

/// Something that was done, or looked into.
#[derive(Debug, Clone)]
struct Done {
    /// Where in the output the request is.
    at: u64,
    id: RpcId,
    /// The turn in which it was wanted.
    turn: Option<TurnId>,
    /// The ask whose answer it was done for.
    ask: Option<AskId>,
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

impl Driver {
    /// Takes in a request for something that the host is to do.
    pub(super) async fn take_hosted(
        &mut self,
        line: &Line,
        id: &RpcId,
        method: HostMethod,
        params: &Params,
    ) -> Result<(), StoreError> {
        if !method.is_offered(self.agent.abilities) {
            self.reply(line.start, message::unknown_method(id, method.name()));
            return Ok(());
        }
        if self.out.was_accepted(&tag(line.start)) {
            // An earlier server has answered it.
            return Ok(());
        }
        if id.text().len() > ID_LIMIT {
            self.refuse(line.start, id, "the id of the request is too long");
            return Ok(());
        }
        let request = params.value();
        let read = request
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|request| {
                HostRequest::read(method, request).map_err(|error| error.to_string())
            });
        let wanted = match (read, request) {
            (Ok((session, wanted)), Ok(request)) if session == self.session.native_id => {
                Some((wanted, request))
            }
            (Ok(_), Ok(_)) => {
                self.refuse(line.start, id, "there is no such session here");
                self.note_foreign().await?;
                None
            }
            (Err(why), _) => {
                self.refuse(line.start, id, &why);
                None
            }
            (Ok(_), Err(_)) => None,
        };
        let Some((wanted, request)) = wanted else {
            return Ok(());
        };
        self.finish_words().await?;
        self.begin(line.start, id, wanted, request);
        Ok(())
    }

    /// Has a request looked into, or done.
    fn begin(&mut self, at: u64, id: &RpcId, wanted: HostRequest, request: serde_json::Value) {
        let (tools, turn) = (self.hosting.tools.clone(), self.turn);
        let id = id.clone();
        if let HostRequest::Wait(terminal) = wanted {
            // Whoever waits is known to the keeper, and for as long as it takes nothing else has to.
            let waiting = Waiting {
                request: id.text().to_owned(),
                tag: tag(at),
            };
            return self.wait_for(at, id, terminal, waiting);
        }
        self.hosting.under_way.insert(at);
        let label = Deed::of(&wanted);
        self.hosting.work.spawn(async move {
            let came = match wanted {
                HostRequest::Read(read) => tools.read(read).await,
                HostRequest::Write(write) => tools.look_at_write(at, write, request).await,
                HostRequest::Create(create) => tools.look_at_command(at, create, request).await,
                HostRequest::Output(terminal) => tools.output(&terminal).await,
                HostRequest::Kill(terminal) => tools.kill(&terminal).await,
                HostRequest::Release(terminal) => tools.release(&terminal).await,
                HostRequest::Wait(_) => return None,
            };
            Some(Done {
                at,
                id,
                turn,
                ask: None,
                came,
                deed: label,
            })
        });
    }

    fn wait_for(&mut self, at: u64, id: RpcId, terminal: String, waiting: Waiting) {
        if self.hosting.waiting.len() >= MOST_WAITING {
            let refusal = Refusal::failed("too many wait for the ends of commands already");
            return self.reply(at, refusal.line(&id));
        }
        if self.hosting.waiting.insert(at, id.clone()).is_some() {
            // It was found with the keeper before it was read again.
            return;
        }
        let (tools, turn) = (self.hosting.tools.clone(), self.turn);
        self.hosting.work.spawn(async move {
            Some(Done {
                at,
                id,
                turn,
                ask: None,
                came: tools.wait(&terminal, waiting).await,
                deed: None,
            })
        });
    }

    /// The agent does not want to know the end of a command any more. What comes of it later is not told twice.
    pub(super) fn stop_waiting(&mut self, request: &str) {
        let waiting = self.hosting.waiting.iter();
        let same = waiting.filter(|(_, id)| id.is_same(request));
        let found: Vec<_> = same
            .map(|(at, id)| (*at, Refusal::cancelled().line(id)))
            .collect();
        for (at, line) in found {
            self.reply(at, line);
        }
    }

    /// Has those wait again who waited under an earlier server.
    pub(super) async fn resume_hosting(&mut self) {
        if self.hosting.is_resumed {
            return;
        }
        self.hosting.is_resumed = true;
        if self.replayed_until == 0 || !self.agent.abilities.terminal {
            return;
        }
        match self.hosting.tools.waiting().await {
            Ok(all) => {
                for (terminal, waiting) in all {
                    let at = waiting
                        .tag
                        .rsplit('-')
                        .next()
                        .and_then(|at| at.parse().ok());
                    let (Some(id), Some(at)) = (RpcId::from_text(&waiting.request), at) else {
                        continue;
                    };
                    if !self.out.was_accepted(&waiting.tag) {
                        self.wait_for(at, id, terminal, waiting);
                    }
                }
            }
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "who waits for commands is not known"
            ),
        }
    }

    /// Tells what came of work, or goes on with it.
    pub(super) async fn settle_hosting(&mut self) -> Result<(), StoreError> {
        while let Some(done) = self.hosting.finished.front().cloned() {
            self.take_done(done).await?;
            self.hosting.finished.pop_front();
        }
        Ok(())
    }

    async fn take_done(&mut self, done: Done) -> Result<(), StoreError> {
        self.tell_deed(&done).await?;
        let Done {
            at,
            id,
            turn,
            ask,
            came,
            ..
        } = done;
        let reply = match came {
            Came::Answer(response, _) => {
                if let (HostResponse::Created(_), Some(_)) = (&response, self.cancelled_until) {
                    // It came too late to be ended with the others.
                    self.cancel_hosting();
                }
                response.line(&id)
            }
            Came::Refused(refusal) => refusal.line(&id),
            // The turn that wanted it has ended meanwhile.
            Came::Write(_) | Came::Command(_) if turn != self.turn => {
                Refusal::cancelled().line(&id)
            }
            Came::Write(wanted) => {
                if self.use_leave(|leave| leave.use_for_write(&wanted)) {
                    self.perform_write(at, id, *wanted);
                    return Ok(());
                }
                let directory = self.session.directory.clone();
                let session = self.session.native_id.clone();
                let asked = write_ask(&id, &wanted, &session, Path::new(&directory));
                return self.ask_first(at, &id, asked).await;
            }
            Came::Command(wanted) => {
                if self.use_leave(|leave| leave.use_for_command(&wanted)) {
                    self.perform_command(at, id, *wanted);
                    return Ok(());
                }
                let directory = self.session.directory.clone();
                let session = self.session.native_id.clone();
                let asked = command_ask(&id, &wanted, &session, Path::new(&directory));
                return self.ask_first(at, &id, asked).await;
            }
        };
        self.hosting.under_way.remove(&at);
        self.hosting.waiting.remove(&at);
        let purpose = match ask {
            Some(ask) => {
                self.hosting.performing.remove(&ask);
                Purpose::Answer(ask)
            }
            None => Purpose::Reply { start: at },
        };
        self.out.push(purpose, tag(at), reply);
        Ok(())
    }

    /// Whether the agent was just allowed this; then that leave is used.
    fn use_leave(&mut self, covers: impl FnMut(&mut Leave) -> bool) -> bool {
        let calls = &self.calls;
        let leaves = &mut self.hosting.leaves;
        leaves.retain(|leave| {
            let call = calls.get(&leave.tool_call);
            call.is_some_and(|call| !call.has_ended())
        });
        let covered = self.cancelled_until.is_none() && leaves.iter_mut().any(covers);
        leaves.retain(|leave| !leave.is_used_up());
        covered
    }

    async fn ask_first(&mut self, at: u64, id: &RpcId, asked: EngineAsk) -> Result<(), StoreError> {
        self.open_ask(at, id, asked).await?;
        // It is in the ledger now.
        self.hosting.under_way.remove(&at);
        Ok(())
    }

    fn perform_write(&mut self, at: u64, id: RpcId, wanted: WantedWrite) {
        let (tools, turn) = (self.hosting.tools.clone(), self.turn);
        self.hosting.work.spawn(async move {
            let path = wanted.place.path().to_owned();
            let deed = Deed::write(&path, wanted.content.len());
            let before = wanted.before.digest();
            let came = tools.write(path, wanted.content, before).await;
            Some(Done {
                at,
                id,
                turn,
                ask: None,
                came,
                deed: Some(deed),
            })
        });
    }

    fn perform_command(&mut self, at: u64, id: RpcId, wanted: WantedCommand) {
        let (tools, turn) = (self.hosting.tools.clone(), self.turn);
        self.hosting.work.spawn(async move {
            let deed = Deed::run(&wanted.line.text, wanted.directory.path());
            let came = tools.run_wanted(at, wanted).await;
            Some(Done {
                at,
                id,
                turn,
                ask: None,
                came,
                deed: Some(deed),
            })
        });
    }

    /// Does what was asked for and allowed, or says why not. What came of it is the answer's delivery.
    pub(super) fn perform(&mut self, ask: &Ask, id: &RpcId, hosted: Hosted) {
        let Hosted { at, act } = hosted;
        let answer = ask.state.answer();
        let refusal = match answer {
            None => Some(Refusal::unanswered()),
            Some(answer) if !answer.choice.is_yes() => {
                Some(Refusal::denied(answer.choice.reason()))
            }
            Some(_) => None,
        };
        let act = match (refusal, act) {
            (Some(refusal), _) => {
                self.has_denied = true;
                return self
                    .out
                    .push(Purpose::Answer(ask.id), tag(at), refusal.line(id));
            }
            (None, None) => {
                let refusal = Refusal::failed("what was asked is not what is in the ledger");
                return self
                    .out
                    .push(Purpose::Answer(ask.id), tag(at), refusal.line(id));
            }
            (None, Some(act)) => act,
        };
        self.hosting.performing.insert(ask.id);
        let (tools, turn) = (self.hosting.tools.clone(), self.turn);
        let (id, ask) = (id.clone(), ask.id);
        self.hosting.work.spawn(async move {
            let deed = Deed::act(&act);
            let came = tools.act(at, act).await;
            Some(Done {
                at,
                id,
                turn,
                ask: Some(ask),
                came,
                deed: Some(deed),
            })
        });
    }

    /// Ends the commands of a turn that was cancelled. They can still be looked at.
    pub(super) fn cancel_hosting(&mut self) {
        self.hosting.leaves.clear();
        if !self.agent.abilities.terminal {
            return;
        }
        let tools = self.hosting.tools.clone();
        self.hosting.work.spawn(async move {
            tools.kill_all().await;
            None
        });
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
