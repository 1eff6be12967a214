//! What an agent says, taken in: words, tool calls and asks become rows, and every request of its gets an answer.

use std::path::Path;

use countersign_core::digest::Digest;
use countersign_core::id::RunId;
use countersign_core::session::{Item, Session, ToolStatus};
use countersign_engine::acp::ask::{self, UnreadableAsk, permission_ask};
use countersign_engine::acp::elicitation::{self, elicitation_ask};
use countersign_engine::acp::hosted::HostMethod;
use countersign_engine::acp::initialize::Shape;
use countersign_engine::acp::lines::{Line, Piece};
use countersign_engine::acp::message::{self, Incoming as Message, Noise, Params, RpcError, RpcId};
use countersign_engine::acp::tool_call::{ToolCall, ToolCallChange};
use countersign_engine::acp::update::{self, State, Update};
use countersign_store::StoreError;

use crate::acp::driver::Driver;
use crate::acp::hosting;
use crate::acp::noise::Moment;
use crate::acp::wire::Purpose;
use crate::acp::words::{Said, Words};

/// The longest id of a request that is taken for one.
const ID_LIMIT: usize = 500;
/// More tool calls than an agent has open at once.
const OPEN_CALLS: usize = 1_024;
/// The longest name of a tool call that is written down as it is.
const CALL_LIMIT: usize = 200;

impl Driver {
    /// Takes in a piece of output.
    pub(super) async fn take(&mut self, piece: &Piece) -> Result<(), StoreError> {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::TooLong { start, end } => {
                let text = format!(
                    "The agent wrote a line of {} bytes, which is too long to be read. It was left out.",
                    end - start
                );
                return self.note("long line", text).await;
            }
            Piece::Gap { start, end } => {
                let text = format!("{} bytes of what the agent wrote were lost.", end - start);
                return self.note("gap", text).await;
            }
        };
        match message::read(&line.text) {
            Message::Request { id, method, params } => {
                self.take_request(line, &id, &method, &params).await
            }
            Message::Notification { method, params } => match method.as_str() {
                "session/update" => self.take_update(line, &params).await,
                "$/cancel_request" => self.take_withdrawal(&params).await,
                _ => Ok(()),
            },
            Message::Response { id, outcome } => self.take_response(&id, outcome).await,
            Message::Noise(noise) => self.take_noise(&noise).await,
        }
    }

    async fn take_request(
        &mut self,
        line: &Line,
        id: &RpcId,
        method: &str,
        params: &Params,
    ) -> Result<(), StoreError> {
        let read = match method {
            ask::METHOD => {
                let directory = Path::new(&self.session.directory);
                permission_ask(id, params, &mut self.calls, &self.agent, directory)
            }
            elicitation::METHOD => elicitation_ask(id, params, &self.session.native_id),
            _ => {
                if let Some(method) = HostMethod::named(method) {
                    return self.take_hosted(line, id, method, params).await;
                }
                let reply = message::unknown_method(id, method);
                self.reply(line.start, reply);
                return Ok(());
            }
        };
        match read {
            Ok(_) if id.text().len() > ID_LIMIT => {
                self.refuse(line.start, id, "the id of the request is too long");
                Ok(())
            }
            Ok(asked) if asked.session != self.session.native_id => {
                self.refuse(line.start, id, "there is no such session here");
                self.note_foreign().await
            }
            Ok(asked) => self.open_ask(line.start, id, asked).await,
            Err(unreadable @ (UnreadableAsk::Params(_) | UnreadableAsk::NoSession)) => {
                self.refuse(line.start, id, &unreadable.to_string());
                let text = format!("A request of the agent was refused: {unreadable}.");
                self.note("unreadable ask", text).await
            }
        }
    }

    /// Answers the request `id` of the line at `at` with an error.
    pub(super) fn refuse(&mut self, at: u64, id: &RpcId, why: &str) {
        let reply = message::error(id, RpcError::INVALID_PARAMS, why);
        self.reply(at, reply);
    }

    /// Answers the request in the line at `at` with something that is in no outbox.
    pub(super) fn reply(&mut self, at: u64, reply: Vec<u8>) {
        let purpose = Purpose::Reply { start: at };
        self.out.push(purpose, hosting::tag(at), reply);
    }

    async fn take_update(&mut self, line: &Line, params: &Params) -> Result<(), StoreError> {
        let news = update::read(params);
        if news.session.as_deref() != Some(self.session.native_id.as_str()) {
            return self.note_foreign().await;
        }
        if self.tells_history && tells_what_was_said(&news.update) {
            return Ok(());
        }
        match news.update {
            Update::Text(chunk) => self.say(line, chunk.message, chunk.text, false).await,
            Update::Thought(chunk) => self.say(line, chunk.message, chunk.text, true).await,
            Update::Tool(change) => self.take_tool(line, change).await,
            Update::Plan(steps) => {
                let key = self.key_of_turn("plan");
                self.finish_words().await?;
                self.page().put(&key, &Item::Plan { steps }).await
            }
            Update::Mode(mode) => self.take_mode(line, mode).await,
            Update::Options(options) => self.take_options(&self.key(line), options).await,
            Update::Commands(commands) => {
                self.take_commands(commands);
                Ok(())
            }
            Update::Notice { text, .. } if !text.is_empty() => self.put_notice(line, text).await,
            Update::Title(Some(title)) if !title.is_empty() => self.take_title(&title).await,
            Update::Usage(usage) => {
                self.take_usage(usage);
                Ok(())
            }
            Update::State(state) if self.shape == Shape::Two => self.take_state(state).await,
            // What somebody said is in the transcript already, and the rest says nothing.
            Update::User(_)
            | Update::Title(_)
            | Update::Notice { .. }
            | Update::State(_)
            | Update::Unknown { .. } => Ok(()),
        }
    }

    /// Learns what the agent does: in version 2 that ends a turn.
    async fn take_state(&mut self, state: State) -> Result<(), StoreError> {
        if self.turn.is_none() {
            return Ok(());
        }
        match self.progress.take(state) {
            Some(ended) => {
                self.await_answers().await?;
                self.end_as_said(ended).await
            }
            None => Ok(()),
        }
    }

    async fn say(
        &mut self,
        line: &Line,
        message: Option<String>,
        text: String,
        is_thought: bool,
    ) -> Result<(), StoreError> {
        let said = Said {
            is_thought,
            message,
            text,
            start: line.start,
        };
        let mut words = std::mem::take(&mut self.words);
        let (run, start) = (self.run.id, line.start);
        let outcome = words.say(&self.page(), || key_at(run, start), said).await;
        self.words = words;
        outcome
    }

    /// Passes on what is being said, and writes down what is not.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        self.settle_calls().await?;
        let mut words = std::mem::take(&mut self.words);
        words.pass_on(&self.page());
        self.words = words;
        self.keep_settings().await?;
        self.page().write().await
    }

    /// Makes an item of what is being said.
    pub(super) async fn finish_words(&mut self) -> Result<(), StoreError> {
        let mut words: Words = std::mem::take(&mut self.words);
        let outcome = words.finish(&self.page()).await;
        self.words = words;
        outcome
    }

    async fn take_tool(&mut self, line: &Line, change: ToolCallChange) -> Result<(), StoreError> {
        let is_about_the_act = change.is_about_the_act();
        let call = self.calls.take(change);
        let id = call.id.clone();
        let is_new = !self.open_calls.contains_key(&id);
        match call.standing() {
            ToolStatus::Pending | ToolStatus::Running => {
                self.open_calls.entry(id.clone()).or_insert(line.start);
            }
            ToolStatus::Completed | ToolStatus::Failed => {
                self.open_calls.remove(&id);
                self.hosting.end_call(&id);
            }
        }
        self.changed_calls.insert(id.clone());
        if self.open_calls.len() > OPEN_CALLS {
            // Those that are forgotten cannot be joined with anything any more.
            let calls = &self.calls;
            self.open_calls.retain(|id, _| calls.get(id).is_some());
        }
        if is_new {
            // It has its place behind what was said before it.
            self.finish_words().await?;
            self.settle_calls().await?;
        }
        if is_about_the_act && line.start < self.replayed_until {
            // It may be an earlier word on it: the last one is what counts.
            self.retold_calls.insert(id);
        } else if is_about_the_act {
            self.ask_anew(&id).await?;
        }
        Ok(())
    }

    /// Writes down what has changed about tool calls.
    pub(super) async fn settle_calls(&mut self) -> Result<(), StoreError> {
        while let Some(id) = self.changed_calls.first() {
            if let Some(call) = self.calls.get(id) {
                let item = call.item();
                self.page().put(&self.key_of_call(id), &item).await?;
            }
            self.changed_calls.pop_first();
        }
        Ok(())
    }

    /// Closes the tool calls that an agent left behind.
    pub(super) async fn close_calls(&mut self) -> Result<(), StoreError> {
        self.settle_calls().await?;
        for id in std::mem::take(&mut self.open_calls).into_keys() {
            let Some(mut item) = self.calls.get(&id).map(ToolCall::item) else {
                continue;
            };
            if let Item::Tool { status, .. } = &mut item {
                *status = ToolStatus::Failed;
            }
            self.page().put(&self.key_of_call(&id), &item).await?;
        }
        Ok(())
    }

    async fn take_title(&mut self, title: &str) -> Result<(), StoreError> {
        let shared = self.agents.shared();
        let session = Session {
            title: title.replace('\0', "\u{fffd}"),
            changed_at: shared.clock.now(),
            ..self.session.clone()
        };
        self.session = shared.store.put_session(&session).await?;
        Ok(())
    }

    async fn take_noise(&mut self, noise: &Noise) -> Result<(), StoreError> {
        self.noise.take(noise);
        self.tell_noise(Moment::TheFirst).await
    }

    /// Says how much noise there was, if that is news.
    pub(super) async fn tell_noise(&mut self, when: Moment) -> Result<(), StoreError> {
        let Some(text) = self.noise.news(when) else {
            return Ok(());
        };
        self.page()
            .put(&format!("{}/noise", self.run.id), &Item::Notice { text })
            .await
    }

    pub(super) async fn note_foreign(&mut self) -> Result<(), StoreError> {
        let text = "The agent spoke of a session that is not this one. It was not listened to.";
        self.note("foreign session", text.to_owned()).await
    }

    /// Says something about the agent in the transcript, once in its life.
    pub(super) async fn note(
        &mut self,
        what: &'static str,
        text: String,
    ) -> Result<(), StoreError> {
        if !self.notes.insert(what) {
            return Ok(());
        }
        let key = format!("{}/{what}", self.run.id);
        self.page().put(&key, &Item::Notice { text }).await
    }

    async fn put_notice(&mut self, line: &Line, text: String) -> Result<(), StoreError> {
        self.finish_words().await?;
        self.page()
            .put(&self.key(line), &Item::Notice { text })
            .await
    }

    /// What an item is called that began with `line`.
    pub(super) fn key(&self, line: &Line) -> String {
        key_at(self.run.id, line.start)
    }

    pub(super) fn key_of_turn(&self, what: &str) -> String {
        match self.turn {
            Some(turn) => format!("{turn}/{what}"),
            None => format!("{}/{what}", self.run.id),
        }
    }

    fn key_of_call(&self, call: &str) -> String {
        key_of_call(self.run.id, call)
    }
}

/// What the item of a tool call is called.
pub(super) fn key_of_call(run: RunId, call: &str) -> String {
    if call.len() > CALL_LIMIT || call.contains('\0') {
        format!("{run}/tool/{}", Digest::of_bytes(call.as_bytes()))
    } else {
        format!("{run}/tool/{call}")
    }
}

fn key_at(run: RunId, start: u64) -> String {
    format!("{run}/{start}")
}

/// Whether an update tells of something that was said or done.
fn tells_what_was_said(update: &Update) -> bool {
    match update {
        Update::Text(_)
        | Update::Thought(_)
        | Update::Tool(_)
        | Update::Plan(_)
        | Update::User(_)
        | Update::Notice { .. } => true,
        Update::Mode(_)
        | Update::Title(_)
        | Update::Usage(_)
        | Update::Commands(_)
        | Update::Options(_)
        | Update::State(_)
        | Update::Unknown { .. } => false,
    }
}
