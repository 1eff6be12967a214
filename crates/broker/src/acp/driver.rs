//! The task that speaks with one agent: takes in what it says, tells it what was answered, prompts it, and sees its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use countersign_core::attachment::Takes;
use countersign_core::id::{AskId, TurnId};
use countersign_core::session::{Activity, Session, TurnOutcome};
use countersign_engine::acp::agents::Agent;
use countersign_engine::acp::initialize::Shape;
use countersign_engine::acp::lines::Piece;
use countersign_engine::acp::message::RpcId;
use countersign_engine::acp::tool_call::ToolCalls;
use countersign_engine::keeper::Keeper;
use countersign_store::{Run, StoreError};
use tokio::time::Instant;

use crate::acp::answers;
use crate::acp::hosting::{self, Hosting, Means};
use crate::acp::noise::{Moment, Noises};
use crate::acp::progress::Progress;
use crate::acp::settings::Settings;
use crate::acp::unwritten::Unwritten;
use crate::acp::wire::{Heard, Incoming, Outgoing, Purpose};
use crate::acp::words::{Page, Words};
use crate::acp::{Agents, Lifetime, Order, Orders, Shared, failed, tell_failure};
use crate::kept::{end_soon, end_wholly, how_it_ended, last_words};

/// How long an agent's end may take to be known once its output has ended.
const EXIT_LIMIT: Duration = Duration::from_secs(5);
/// How long the keeper may take to hear that everything was taken.
const LAST_WORD: Duration = Duration::from_secs(1);
/// How much more output is taken before that is noted down.
const NOTE_TAKEN: u64 = 256 * 1024;
/// How far behind a tool call that has not ended may hold the output: a later request may only name it.
const TOOL_SPAN: u64 = 2 * 1024 * 1024;
/// More asks of one life than an agent can wait for at once: those that were withdrawn last.
const WITHDRAWN: i64 = 256;

/// A conversation with one agent.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each answers a question of its own"
)]
pub(super) struct Driver {
    pub(super) agents: Agents,
    pub(super) session: Session,
    pub(super) agent: Agent,
    /// In which version of the protocol the agent answers.
    pub(super) shape: Shape,
    pub(super) run: Run,
    keeper: Keeper,
    directory: PathBuf,
    pub(super) incoming: Incoming,
    pub(super) out: Outgoing,
    /// What the agent takes along with a prompt.
    pub(super) takes: Takes,
    pub(super) calls: ToolCalls,
    /// The tool calls whose items are behind, and where each began that has not ended.
    pub(super) changed_calls: BTreeSet<String>,
    pub(super) open_calls: BTreeMap<String, u64>,
    /// The tool calls that an agent told of before this server came: their asks are compared when all of it is told.
    pub(super) retold_calls: BTreeSet<String>,
    pub(super) words: Words,
    pub(super) settings: Settings,
    /// What is done for the agent.
    pub(super) hosting: Hosting,
    unwritten: Unwritten,
    /// The asks of this life that are not over.
    pub(super) asks: BTreeSet<AskId>,
    /// Which of them waits for which tool call.
    pub(super) asking: BTreeMap<String, AskId>,
    /// Whether the ledger may have something to tell the agent.
    pub(super) has_parcels: bool,
    /// The turn that is under way.
    pub(super) turn: Option<TurnId>,
    /// Whether the ledger may have a turn that waits.
    pub(super) look_for_turns: bool,
    /// How far that turn is; only in version 2.
    pub(super) progress: Progress,
    /// Whether that turn, or the last one, says something in Countersign's own name.
    pub(super) is_following_up: bool,
    /// Whether it was said of that turn that nobody answered in time.
    pub(super) has_told_expiry: bool,
    /// Whether the agent had closed its input before it could be told the prompt of that turn.
    pub(super) is_unsaid: bool,
    /// How many turns this life has taken up.
    pub(super) turns_taken: u32,
    /// Whether the agent tells what was said in an earlier life until it is prompted.
    pub(super) tells_history: bool,
    /// Whether something was denied in this turn.
    pub(super) has_denied: bool,
    /// By when a cancelled turn has to have ended.
    pub(super) cancelled_until: Option<Instant>,
    /// How much of the output was new when this server took it up: all before may be known.
    pub(super) replayed_until: u64,
    pub(super) noise: Noises,
    pub(super) notes: BTreeSet<&'static str>,
    noted: u64,
}

/// Why a conversation is over.
enum Over {
    /// The agent prints no more.
    Silent,
    /// It did not stop when it was told to.
    Hung,
    /// Nobody needs it any more.
    Released,
    /// Its workspace is served no more.
    Removed,
    /// Countersign ends.
    Ending,
}

impl Driver {
    pub(super) fn new(agents: Agents, session: Session, life: Lifetime, taken: u64) -> Self {
        let replayed_until = life.incoming.received().max(taken);
        let means = Means {
            run: life.run.id,
            inherit: life.agent.inherit.clone(),
            writers: agents.0.writers.clone(),
        };
        let hosting = Hosting::new(&session, life.keeper.terminals(), means);
        Self {
            agents,
            session,
            agent: life.agent,
            shape: life.shape,
            run: life.run,
            keeper: life.keeper,
            directory: life.directory,
            incoming: life.incoming,
            out: Outgoing::new(life.input),
            takes: life.takes,
            calls: ToolCalls::default(),
            changed_calls: BTreeSet::new(),
            open_calls: BTreeMap::new(),
            retold_calls: BTreeSet::new(),
            words: Words::default(),
            settings: Settings::new(life.told),
            hosting,
            unwritten: Unwritten::default(),
            asks: BTreeSet::new(),
            asking: BTreeMap::new(),
            has_parcels: false,
            turn: None,
            look_for_turns: true,
            progress: Progress::default(),
            is_following_up: false,
            has_told_expiry: false,
            is_unsaid: false,
            turns_taken: 0,
            tells_history: life.tells_history,
            has_denied: false,
            cancelled_until: None,
            replayed_until,
            noise: life.noise,
            notes: BTreeSet::new(),
            noted: taken,
        }
    }

    /// Output up to there may have been taken in by an earlier server.
    pub(super) fn replays_until(mut self, end: u64) -> Self {
        self.replayed_until = end;
        self
    }

    pub(super) fn shared(&self) -> &Shared {
        self.agents.shared()
    }

    /// The transcript, and the words that are being said.
    pub(super) fn page(&self) -> Page<'_> {
        let Shared {
            store, clock, live, ..
        } = self.agents.shared();
        Page {
            store,
            clock,
            live,
            session: &self.session,
            unwritten: &self.unwritten,
        }
    }

    /// Speaks with the agent until one of the two ends.
    pub(super) async fn attend(mut self, mut orders: Orders) {
        let over = loop {
            match self.converse(&mut orders).await {
                Ok(over) => break over,
                // What was taken in and is not durable is taken in again by the next server; this one goes on.
                Err(error) if self.agents.may_try_again(&error).await => {}
                Err(_) => break Over::Ending,
            }
        };
        let goes_on = !matches!(over, Over::Ending);
        self.end(over).await;
        if goes_on {
            self.agents.clone().leave(&self.session, orders).await;
        }
    }

    async fn converse(&mut self, orders: &mut Orders) -> Result<Over, StoreError> {
        let mut head = self.shared().store.head();
        let ending = self.shared().ending.clone();
        self.find_asks().await?;
        self.tell_noise(Moment::TheFirst).await?;
        self.apply_choices().await?;
        self.resume_hosting().await;
        loop {
            self.settle_hosting().await?;
            if self.look_for_turns && self.turn.is_none() {
                let taken_up = self.take_up_turn().await;
                self.look_for_turns |= taken_up.is_err();
                taken_up?;
            }
            if self.has_caught_up() {
                self.compare_asks().await?;
                if self.has_parcels {
                    head.mark_unchanged();
                    self.carry().await?;
                }
            }
            if self.incoming.is_drained() || !self.out.has_room() {
                self.catch_up().await?;
                self.note_taken(NOTE_TAKEN).await?;
            }
            let watchdog = self.cancelled_until.unwrap_or_else(Instant::now);
            let set_by = self.settings.until.unwrap_or_else(Instant::now);
            tokio::select! {
                () = ending.cancelled() => return Ok(Over::Ending),
                order = orders.next.recv() => match order {
                    Some(Order::Prompt) => self.look_for_turns = true,
                    Some(Order::Cancel(done)) => {
                        self.cancel().await?;
                        if done.send(()).is_err() {
                            tracing::debug!("whoever cancelled did not wait for it");
                        }
                    }
                    Some(Order::Release) => {
                        let turns = self.shared().store.open_turns(self.session.id).await?;
                        if turns.is_empty() {
                            return Ok(Over::Released);
                        }
                    }
                    Some(Order::Leave) => return Ok(Over::Removed),
                    Some(Order::Set(request, waiter)) => self.take_choice(&request, waiter).await?,
                    // Nobody else holds it: it is replaced only when it is closed.
                    None => return Ok(Over::Ending),
                },
                heard = self.incoming.next(), if self.out.has_room() && self.hosting.has_room() => match heard {
                    Some(Heard::Piece(piece)) => self.take_all(piece).await?,
                    Some(Heard::Skipped) => self.finish_words().await?,
                    None => return Ok(Over::Silent),
                },
                done = self.out.progress(), if !self.out.is_idle() => {
                    if let Some((purpose, written)) = done {
                        self.take_written(purpose, written).await?;
                    }
                }
                () = self.hosting.progress(), if !self.hosting.is_idle() => {}
                changed = head.changed(), if !self.asks.is_empty() => {
                    self.has_parcels = changed.is_ok();
                }
                () = tokio::time::sleep_until(watchdog), if self.cancelled_until.is_some() => {
                    return Ok(Over::Hung);
                }
                () = tokio::time::sleep_until(set_by), if self.settings.until.is_some() => {
                    self.settings.until = None;
                    self.look_for_turns = true;
                }
            }
        }
    }

    /// Takes in a piece, and what came with it.
    async fn take_all(&mut self, first: Piece) -> Result<(), StoreError> {
        self.shared().live.progress(self.session.id);
        let mut next = Some(first);
        while let Some(piece) = next {
            if let Err(error) = self.take(&piece).await {
                // Taking it in again changes nothing, and losing it would.
                self.incoming.put_back(piece);
                return Err(error);
            }
            let has_room = self.out.has_room() && self.hosting.has_room();
            next = has_room.then(|| self.incoming.at_hand()).flatten();
        }
        Ok(())
    }

    /// Learns which asks of this life are not over: those of an earlier server are.
    async fn find_asks(&mut self) -> Result<(), StoreError> {
        let store = &self.agents.shared().store;
        let live = store.live_asks(self.run.id).await?;
        self.has_parcels = true;
        self.asks = live.iter().map(|ask| ask.id).collect();
        self.asking.clear();
        for ask in &live {
            let Some(call) = answers::tool_call(ask) else {
                continue;
            };
            // The oldest comes first: an earlier server ended before it could give way to this one.
            if let Some(older) = self.asking.insert(call.to_owned(), ask.id)
                && let Some(older) = live.iter().find(|ask| ask.id == older)
                && answers::is_same_request(older, ask)
            {
                self.give_way(older).await?;
            }
        }
        let store = &self.agents.shared().store;
        // An earlier server may have gone before it could tell the agent; what was told is not told again.
        for ask in store.withdrawn_asks(self.run.id, WITHDRAWN).await? {
            let tag = hosting::tag_of(&ask);
            if !answers::is_replaced(&ask)
                && !self.out.was_accepted(&tag)
                && let Some(id) = RpcId::of_ask(&ask.native_id)
            {
                let line = answers::cancelled(&ask, &id);
                self.out.push(Purpose::Other, tag, line);
            }
        }
        Ok(())
    }

    /// Whether everything was taken in that the agent had said when this server came, and all that has come since. An
    /// answer is not sent before: it may be for something that the agent has changed meanwhile.
    fn has_caught_up(&self) -> bool {
        self.incoming.received() >= self.replayed_until && self.incoming.is_drained()
    }

    /// Notes up to where everything is durable, if that is worth it, and lets the keeper forget it.
    pub(super) async fn note_taken(&mut self, at_least: u64) -> Result<(), StoreError> {
        let end = self.incoming.handed_out();
        let safe = self.holds(end).into_iter().flatten().fold(end, u64::min);
        if safe < self.noted.saturating_add(at_least.max(1)) {
            return Ok(());
        }
        // What is not written must not be forgotten.
        self.catch_up().await?;
        self.shared().store.set_taken(self.run.id, safe).await?;
        self.noted = safe;
        self.out.acknowledge(safe);
        Ok(())
    }

    /// From where on output is kept that was taken in up to `end`, for each reason that there is.
    fn holds(&self, end: u64) -> [Option<u64>; 4] {
        let first_call = self.open_calls.values().min().copied();
        [
            self.words.start(),
            self.out.first_unanswered(),
            self.hosting.oldest(),
            first_call.filter(|start| end.saturating_sub(*start) < TOOL_SPAN),
        ]
    }

    /// Ends the life: what it said is kept, what it left running is ended, what it was doing failed. The processes
    /// are ended whether the ledger answers or not.
    async fn end(&mut self, over: Over) {
        if let Err(error) = self.write_the_rest(&over).await {
            tell_failure(&error);
        }
        let why = match over {
            Over::Silent => how_it_ended(&self.keeper, EXIT_LIMIT)
                .await
                .unwrap_or_else(|| "it closed its output".to_owned()),
            Over::Hung => "it did not stop when it was told to".to_owned(),
            Over::Released => "its job had ended".to_owned(),
            Over::Removed => "its workspace was removed".to_owned(),
            Over::Ending => "Countersign was stopped".to_owned(),
        };
        let said = last_words(&self.directory);
        match over {
            Over::Released => self.let_go().await,
            Over::Silent | Over::Hung | Over::Removed | Over::Ending => {
                end_wholly(&self.keeper, &self.directory).await;
            }
        }
        let reason = match said {
            Some(said) => format!("the agent ended: {why}. Its last words: {said}"),
            None => format!("the agent ended: {why}"),
        };
        let outcome = if self.cancelled_until.is_some() {
            TurnOutcome::Cancelled
        } else {
            failed(reason)
        };
        while let Err(error) = self.end_in_ledger(&over, &why, &outcome).await {
            // The next server finds a life without a keeper, and ends it.
            if !self.agents.may_try_again(&error).await {
                break;
            }
        }
    }

    /// Ends an agent whose job has ended. What it still says is passed over: all of its turn is in the ledger, and its
    /// keeper would wait until somebody takes it.
    async fn let_go(&mut self) {
        let Self {
            incoming,
            out,
            keeper,
            directory,
            ..
        } = self;
        let passing_over = async {
            let mut is_over = false;
            loop {
                tokio::select! {
                    heard = incoming.next(), if !is_over => {
                        is_over = heard.is_none();
                        out.acknowledge(incoming.received());
                    }
                    _ = out.progress(), if !out.is_idle() => {}
                    else => break,
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = end_soon(keeper, directory) => {}
            () = passing_over => {}
        }
    }

    /// Makes items of what is unfinished.
    async fn write_the_rest(&mut self, over: &Over) -> Result<(), StoreError> {
        self.finish_words().await?;
        self.close_calls().await?;
        self.close_terminals().await?;
        self.tell_noise(Moment::TheEnd).await?;
        self.catch_up().await?;
        if matches!(over, Over::Silent) {
            // The keeper waits for this before it leaves.
            self.note_taken(1).await?;
            self.write_out(LAST_WORD, Outgoing::is_idle).await?;
        }
        Ok(())
    }

    async fn end_in_ledger(
        &mut self,
        over: &Over,
        why: &str,
        outcome: &TurnOutcome,
    ) -> Result<(), StoreError> {
        let workspace = self.session.workspace;
        let agents = self.agents.clone();
        agents
            .end_run(workspace, &self.run, &self.directory, why)
            .await?;
        self.end_turns_of_life(over, outcome).await
    }

    /// Ends the turn that was under way. One that waits is for the next life, unless this one took up none: then it
    /// ends too, so that an agent that always dies is not started for ever.
    async fn end_turns_of_life(
        &mut self,
        over: &Over,
        outcome: &TurnOutcome,
    ) -> Result<(), StoreError> {
        if matches!(over, Over::Ending) || self.turns_taken == 0 {
            return self.agents.end_turns(&self.session, outcome).await;
        }
        let Shared {
            store, clock, live, ..
        } = self.agents.shared();
        // An agent that leaves after its work may never have heard of the next turn: another life takes that up. One that
        // never did anything is not tried again.
        let is_for_the_next = self.is_unsaid && self.turns_taken > 1;
        if let Some(turn) = self.turn.filter(|_| !is_for_the_next) {
            store
                .end_turn(self.session.workspace, turn, outcome, clock.now())
                .await?;
        }
        live.forget(self.session.id);
        store
            .set_activity(self.session.id, Activity::Gone, clock.now())
            .await?;
        Ok(())
    }
}
