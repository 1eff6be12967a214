//! A turn as it goes on: words, tools and asks, until it ends.

use std::collections::{HashMap, HashSet};

use countersign_api::{AskList, AskView, ItemList, PromptTaken, SessionView};
use countersign_core::ask::AskPhase;
use countersign_core::event::EventBody;
use countersign_core::id::{AskId, SessionId, TurnId};
use countersign_core::session::TurnOutcome;
use countersign_core::visible::visible;
use owo_colors::OwoColorize as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::dialogue::Dialogue;
use super::transcript::{Piece, Transcript};
use crate::connection::{Connection, Reply};
use crate::exit::Exit;
use crate::follow::{Follow, News};
use crate::keyboard::Keyboard;
use crate::reference::short;
use crate::{Call, ask_text};

mod by_hand;

/// How many generations of sub-agents are followed up to their first session.
const GENERATIONS: usize = 8;

/// The place of the last item that the session has.
pub(super) async fn last_item(connection: &Connection, session: SessionId) -> anyhow::Result<i64> {
    let items: ItemList = connection
        .get(&format!("/api/v1/sessions/{session}/items"))
        .await?
        .value;
    Ok(items.items.last().map_or(0, |item| item.seq))
}

/// Shows the turn until it ends; the items up to `seen` were there before.
pub(super) async fn watch(
    call: &mut Call<'_>,
    connection: &Connection,
    mut follow: Follow,
    taken: &Reply<PromptTaken>,
    seen: i64,
) -> anyhow::Result<Exit> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut live = Live::new(call, connection, &taken.value, seen);
    if live.call.json() {
        live.call.output.json_line(&taken.text)?;
    }
    let mut cancelled = false;
    loop {
        match live.go_on(&mut follow, &mut interrupts).await? {
            Went::On => {}
            Went::ToItsEnd(exit) => return Ok(exit),
            Went::Interrupted if cancelled => {
                live.call
                    .output
                    .note("Left; the turn may still be ending")?;
                return Ok(Exit::Failed);
            }
            Went::Interrupted => {
                cancelled = true;
                live.cancel().await?;
            }
        }
        live.ask_next().await.or_else(|error| live.miss(error))?;
    }
}

/// A turn that is under way already.
#[derive(Debug)]
pub(crate) struct Attached {
    /// Its session.
    pub(crate) session: SessionId,
    /// The turn.
    pub(crate) turn: TurnId,
    /// The asks that are open.
    pub(crate) asks: Vec<AskId>,
}

/// Why somebody is no longer with a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// It is over.
    AtItsEnd,
    /// The person left; it goes on.
    ByInterrupt,
}

/// Shows a turn that is under way already, from the beginning of its session on, until it ends or the person leaves.
pub(crate) async fn attach(
    call: &mut Call<'_>,
    connection: &Connection,
    mut follow: Follow,
    attached: &Attached,
) -> anyhow::Result<Left> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let turn = PromptTaken {
        turn: attached.turn,
        session: attached.session,
    };
    let mut live = Live::new(call, connection, &turn, 0);
    live.invites = false;
    live.read_all_items().await?;
    for id in &attached.asks {
        let ask = live.read_ask(*id).await?;
        live.opened(ask)?;
    }
    if live.end_if_over().await?.is_some() {
        return Ok(Left::AtItsEnd);
    }
    loop {
        live.ask_next().await.or_else(|error| live.miss(error))?;
        match live.go_on(&mut follow, &mut interrupts).await? {
            Went::On => {}
            Went::ToItsEnd(_) => return Ok(Left::AtItsEnd),
            Went::Interrupted => return Ok(Left::ByInterrupt),
        }
    }
}

/// How a watched turn went.
enum Went {
    /// It goes on.
    On,
    /// It is over; the command would end like this.
    ToItsEnd(Exit),
    /// The person pressed Ctrl-C.
    Interrupted,
}

/// A turn that is being watched.
struct Live<'a, 'b> {
    call: &'a mut Call<'b>,
    connection: Connection,
    session: SessionId,
    turn: TurnId,
    seen: i64,
    transcript: Transcript,
    dialogue: Dialogue,
    keyboard: Option<Keyboard>,
    /// Whether a session is the watched one or was begun by it.
    related: HashMap<SessionId, bool>,
    answered_here: HashSet<AskId>,
    /// Whether the person is told how the turn ended and how to go on.
    invites: bool,
    /// Whether something was heard that could not be looked at.
    missed: bool,
}

impl<'a, 'b> Live<'a, 'b> {
    fn new(
        call: &'a mut Call<'b>,
        connection: &Connection,
        taken: &PromptTaken,
        seen: i64,
    ) -> Self {
        let by_hand = call.output.is_read_by_a_person() && !call.json();
        Self {
            keyboard: by_hand.then(Keyboard::open).flatten(),
            call,
            connection: connection.clone(),
            session: taken.session,
            turn: taken.turn,
            seen,
            transcript: Transcript::default(),
            dialogue: Dialogue::default(),
            related: HashMap::from([(taken.session, true)]),
            answered_here: HashSet::new(),
            invites: true,
            missed: false,
        }
    }

    /// Takes the next thing that happens: at the server, at the keyboard, or a Ctrl-C.
    async fn go_on(
        &mut self,
        follow: &mut Follow,
        interrupts: &mut Signal,
    ) -> anyhow::Result<Went> {
        tokio::select! {
            news = follow.next() => match self.hear(news?).await {
                Ok(ended) => Ok(ended.map_or(Went::On, Went::ToItsEnd)),
                Err(error) => self.miss(error).map(|()| Went::On),
            },
            typed = Self::typed(&mut self.keyboard), if self.dialogue.is_waiting() => {
                self.type_in(&typed?).await?;
                Ok(Went::On)
            }
            _ = interrupts.recv() => Ok(Went::Interrupted),
        }
    }

    /// What was heard could not be looked at, as the server is gone: the stream of events says how that ends.
    fn miss(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        if Exit::of(&error) != Exit::NoServer {
            return Err(error);
        }
        self.missed = true;
        Ok(())
    }

    async fn typed(keyboard: &mut Option<Keyboard>) -> std::io::Result<Vec<u8>> {
        match keyboard {
            Some(keyboard) => keyboard.next().await,
            None => std::future::pending().await,
        }
    }

    /// Takes what was heard; tells how the command ends when the turn is over.
    async fn hear(&mut self, news: News) -> anyhow::Result<Option<Exit>> {
        match news {
            News::Delta(delta, raw) if delta.session == self.session => {
                if self.call.json() {
                    self.call.output.json_line(&raw)?;
                } else {
                    let pieces = self
                        .transcript
                        .live(&delta.item, &delta.text, delta.thought);
                    self.show(pieces)?;
                }
            }
            News::Delta(..) => {}
            News::Event(event, raw) => return self.happened(event.body, &raw).await,
            News::Disconnected(why) => {
                let line = format!("{}: {why}; trying again", "Disconnected".yellow());
                self.call.output.note(&line)?;
            }
            News::Reconnected => {
                self.call.output.note("Connected again")?;
                self.connection = self.connection.find_again()?;
                if std::mem::take(&mut self.missed) {
                    return self.read_again().await;
                }
            }
            News::Reset => return self.read_again().await,
        }
        Ok(None)
    }

    /// Reads what there is to know of the turn, where events were missed.
    async fn read_again(&mut self) -> anyhow::Result<Option<Exit>> {
        self.read_items(self.seen).await?;
        let path = format!("/api/v1/asks?state=open&session={}", self.session);
        let open: AskList = self.connection.get(&path).await?.value;
        for ask in open.asks {
            self.opened(ask)?;
        }
        self.end_if_over().await
    }

    async fn happened(&mut self, body: EventBody, raw: &str) -> anyhow::Result<Option<Exit>> {
        let session = match &body {
            EventBody::AskOpened { session, .. }
            | EventBody::AskChanged { session, .. }
            | EventBody::SessionChanged { session, .. }
            | EventBody::SettingsChanged { session }
            | EventBody::TurnChanged { session, .. }
            | EventBody::ItemChanged { session, .. } => *session,
            EventBody::AlarmRaised { message, .. } => {
                let line = format!("{}: {}", "alarm".red().bold(), visible(message));
                self.call.output.note(&line)?;
                return Ok(None);
            }
            EventBody::EngineChanged { .. }
            | EventBody::WorkspaceChanged { .. }
            | EventBody::JobChanged { .. }
            | EventBody::RuleChanged { .. } => return Ok(None),
        };
        if !self.is_related(session).await? {
            return Ok(None);
        }
        if self.call.json() {
            self.call.output.json_line(raw)?;
        }
        match body {
            EventBody::AskOpened { ask, .. } => {
                let ask: AskView = self.read_ask(ask).await?;
                self.opened(ask)?;
            }
            EventBody::AskChanged { ask, state, .. } => self.ask_changed(ask, state).await?,
            EventBody::ItemChanged { item, .. } if session == self.session && item > self.seen => {
                self.read_items(item - 1).await?;
            }
            EventBody::TurnChanged {
                turn, ended: true, ..
            } if turn == self.turn => {
                self.read_items(self.seen).await?;
                return self.end_if_over().await;
            }
            EventBody::ItemChanged { .. }
            | EventBody::TurnChanged { .. }
            | EventBody::SessionChanged { .. }
            | EventBody::SettingsChanged { .. }
            | EventBody::EngineChanged { .. }
            | EventBody::WorkspaceChanged { .. }
            | EventBody::JobChanged { .. }
            | EventBody::RuleChanged { .. }
            | EventBody::AlarmRaised { .. } => {}
        }
        Ok(None)
    }

    async fn is_related(&mut self, session: SessionId) -> anyhow::Result<bool> {
        let mut chain = Vec::new();
        let mut current = session;
        let related = loop {
            if let Some(known) = self.related.get(&current) {
                break *known;
            }
            chain.push(current);
            let view: SessionView = self
                .connection
                .get(&format!("/api/v1/sessions/{current}"))
                .await?
                .value;
            match view.session.parent {
                Some(parent) if chain.len() < GENERATIONS => current = parent,
                Some(_) | None => break false,
            }
        };
        self.related
            .extend(chain.into_iter().map(|id| (id, related)));
        Ok(related)
    }

    async fn read_ask(&self, id: AskId) -> anyhow::Result<AskView> {
        let reply = self.connection.get(&format!("/api/v1/asks/{id}")).await?;
        Ok(reply.value)
    }

    fn opened(&mut self, ask: AskView) -> anyhow::Result<()> {
        if self.call.json() || ask.state != AskPhase::Open {
            return Ok(());
        }
        if self.keyboard.is_some() && ask.may_answer {
            self.dialogue.add(ask);
            return Ok(());
        }
        let text = ask_text::whole(&ask, self.call.clock.now());
        self.call.output.note(&format!("\n{text}\n"))?;
        Ok(())
    }

    async fn ask_changed(&mut self, id: AskId, state: AskPhase) -> anyhow::Result<()> {
        if state != AskPhase::Open && self.dialogue.remove(id) {
            self.call.output.note("")?;
        }
        let told_already = state == AskPhase::Answered && self.answered_here.contains(&id);
        if self.call.json() || told_already {
            return Ok(());
        }
        let ask = self.read_ask(id).await?;
        let line = format!(
            "{}  {}",
            short(id).bold(),
            ask_text::standing(&ask, self.call.clock.now())
        );
        self.call.output.note(&line)?;
        Ok(())
    }

    async fn read_items(&mut self, after: i64) -> anyhow::Result<()> {
        if self.call.json() {
            return Ok(());
        }
        let path = format!("/api/v1/sessions/{}/items?after={after}", self.session);
        let items: ItemList = self.connection.get(&path).await?.value;
        for item in &items.items {
            let pieces = self.transcript.item(item);
            self.show(pieces)?;
        }
        Ok(())
    }

    /// Shows what was said and done so far, however long it is.
    async fn read_all_items(&mut self) -> anyhow::Result<()> {
        loop {
            let path = format!(
                "/api/v1/sessions/{}/items?after={}",
                self.session, self.seen
            );
            let items: ItemList = self.connection.get(&path).await?.value;
            let last = items.items.last().map_or(self.seen, |item| item.seq);
            if last <= self.seen {
                return Ok(());
            }
            self.seen = last;
            if !self.call.json() {
                for item in &items.items {
                    let pieces = self.transcript.item(item);
                    self.show(pieces)?;
                }
            }
        }
    }

    fn show(&mut self, pieces: Vec<Piece>) -> anyhow::Result<()> {
        for piece in pieces {
            match piece {
                Piece::Words(words) => self.call.output.say(&visible(&words))?,
                Piece::Thought(words) => {
                    self.call
                        .output
                        .ask(&visible(&words).dimmed().to_string())?;
                }
                Piece::Line(line) => self.call.output.note(&line)?,
            }
        }
        Ok(())
    }

    async fn end_if_over(&mut self) -> anyhow::Result<Option<Exit>> {
        let path = format!("/api/v1/sessions/{}", self.session);
        let reply: Reply<SessionView> = self.connection.get(&path).await?;
        let outcome = match reply.value.turn {
            Some(turn) if turn.id == self.turn => match turn.outcome {
                Some(outcome) => outcome,
                None => return Ok(None),
            },
            // A newer turn can only have begun when this one was over.
            Some(_) => TurnOutcome::Completed,
            None => return Ok(None),
        };
        self.call.output.end_line()?;
        if self.call.json() {
            self.call.output.json_line(&reply.text)?;
        }
        if !self.invites {
            return Ok(Some(Exit::Success));
        }
        let (exit, sentence) = match &outcome {
            TurnOutcome::Completed => (Exit::Success, None),
            TurnOutcome::Denied => (
                Exit::Failed,
                Some("the turn ended with a denial".to_owned()),
            ),
            TurnOutcome::Cancelled => (Exit::Failed, Some("the turn was cancelled".to_owned())),
            TurnOutcome::Failed { reason } => (
                Exit::Failed,
                Some(format!("the turn failed: {}", visible(reason))),
            ),
        };
        if let Some(sentence) = sentence {
            let line = format!("{}: {sentence}", "error".red());
            self.call.output.note(&line)?;
        } else if !self.call.json() {
            let line = format!(
                "Go on with: countersign prompt --session {} …",
                short(self.session)
            );
            self.call.output.note(&line.dimmed().to_string())?;
        }
        Ok(Some(exit))
    }

    async fn cancel(&mut self) -> anyhow::Result<()> {
        self.call
            .output
            .note("\nCancelling the turn; Ctrl-C again leaves at once")?;
        let path = format!("/api/v1/sessions/{}/cancel", self.session);
        if let Err(error) = self.connection.post_nothing::<SessionView>(&path).await {
            self.call.warn(&format!("the turn goes on: {error:#}"))?;
        }
        Ok(())
    }
}
