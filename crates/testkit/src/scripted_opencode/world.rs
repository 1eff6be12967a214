//! Everything that the scripted opencode knows: its sessions, what it has asked, and who replied.
//!
//! The rules of replying are here, as the real program has them: a rejection takes the session's other permissions
//! with it, `always` the ones that it covers, and an aborted session leaves its asks behind as zombies.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::asking::{Kind, Reply, Wish};
use super::event_stream::{Events, Scope};
use super::session::{Prompt, Session};
use super::transcript::ToolEnd;
use super::wire::{new_id, now_micros};
use super::{Faults, Happening, Outcome, ReceivedReply, ReplyFault, Trace};

#[derive(Debug)]
pub(super) struct World {
    pub(super) events: Events,
    pub(super) faults: Faults,
    pub(super) replies: Vec<ReceivedReply>,
    /// What became of every request, oldest first.
    pub(super) happenings: Vec<Happening>,
    /// The directory of requests that name none.
    pub(super) directory: String,
    /// How many requests are being answered.
    pub(super) answering: usize,
    started: Instant,
    sessions: BTreeMap<String, Session>,
    pending: Vec<Pending>,
}

/// What opencode waits for.
#[derive(Debug, Clone)]
struct Pending {
    id: String,
    kind: Kind,
    session: String,
    directory: String,
    call_id: String,
    /// As the lists show it.
    request: Value,
    /// Whether its turn was aborted: a reply is taken, and nothing runs.
    is_zombie: bool,
}

impl World {
    pub(super) fn new(directory: String) -> Self {
        Self {
            events: Events::new(),
            faults: Faults::default(),
            replies: Vec::new(),
            happenings: Vec::new(),
            directory,
            answering: 0,
            started: Instant::now(),
            sessions: BTreeMap::new(),
            pending: Vec::new(),
        }
    }

    /// Opens a stream of everything that happens from now on.
    pub(super) fn listen(&mut self) -> Response {
        if self.faults.refuse_listeners {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
        self.happenings.push(Happening::Listened {
            at_micros: now_micros(),
        });
        self.events.open(Scope::Global)
    }

    pub(super) fn create_session(&mut self, body: &Value, directory: &str) -> Value {
        let session = Session::create(body, directory, self.events.clone());
        let information = session.information().clone();
        self.sessions.insert(session.id.clone(), session);
        information
    }

    pub(super) fn session(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.get_mut(id)
    }

    pub(super) fn sessions_in<'a>(
        &'a self,
        directory: &'a str,
    ) -> impl Iterator<Item = &'a Session> {
        let all = self.sessions.values();
        all.filter(move |session| session.directory == directory)
    }

    /// Returns the newest session, which is a new one when there is none.
    pub(super) fn some_session(&mut self) -> String {
        if let Some(newest) = self.sessions.keys().next_back() {
            return newest.clone();
        }
        let directory = self.directory.clone();
        let created = self.create_session(&json!({}), &directory);
        created["id"].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn pending_in(&self, kind: Kind, directory: &str) -> Vec<Value> {
        let mine = |pending: &&Pending| pending.kind == kind && pending.directory == directory;
        let mine = self.pending.iter().filter(mine);
        mine.map(|pending| pending.request.clone()).collect()
    }

    /// Takes a prompt in. Its lines say what happens: `ASK n`, `QUESTION text | a | b`, `HOLD`.
    pub(super) fn prompt(&mut self, session_id: &str, prompt: Prompt) {
        let accepted = self
            .session(session_id)
            .and_then(|session| session.accept(prompt));
        if let Some(prompt) = accepted {
            self.perform(session_id, &prompt);
            self.go_on(session_id);
        }
    }

    /// Ends the session's turn if it waits for nothing, and begins the ones that are queued.
    fn go_on(&mut self, session_id: &str) {
        while let Some(queued) = self.settle(session_id) {
            self.perform(session_id, &queued);
        }
    }

    fn perform(&mut self, session_id: &str, prompt: &Prompt) {
        let Some(session) = self.session(session_id) else {
            return;
        };
        session.begin(&prompt.message_id);
        let text = prompt.text();
        for line in text.lines().map(str::trim) {
            if let Some(count) = line
                .strip_prefix("ASK ")
                .and_then(|n| n.trim().parse::<u32>().ok())
            {
                for number in 1..=count {
                    let command = format!("echo {} {number}", prompt.message_id);
                    self.ask(session_id, Wish::command(&command));
                }
            } else if let Some(question) = line.strip_prefix("QUESTION ") {
                let mut parts = question.split('|').map(str::trim);
                let text = parts.next().unwrap_or_default();
                self.ask(session_id, Wish::question(text, parts));
            } else if line == "HOLD"
                && let Some(turn) = self
                    .session(session_id)
                    .and_then(|session| session.turn.as_mut())
            {
                turn.is_held = true;
            }
        }
    }

    /// Asks in a session, whose turn begins if none is running, and returns the new id.
    pub(super) fn ask(&mut self, session_id: &str, wish: Wish) -> Option<String> {
        let is_bare = self.faults.withhold_metadata && wish.kind == Kind::Permission;
        let is_told = !self.faults.withhold_asks;
        let events = self.events.clone();
        let session = self.session(session_id)?;
        if session.turn.is_none() {
            let message_id = new_id("msg");
            let parts = vec![json!({"type": "text", "text": "opened by the test"})];
            let prompt = session.accept(Prompt { message_id, parts })?;
            session.begin(&prompt.message_id);
        }
        let id = new_id(wish.kind.prefix());
        let call = session.transcript.announce_tool(&wish.tool);
        let mut request = wish.request;
        request["id"] = json!(id);
        request["sessionID"] = json!(session_id);
        request["tool"] = json!({"messageID": call.message_id, "callID": call.call_id});
        if is_bare {
            request["metadata"] = json!({});
        }
        if is_told {
            events.publish(&session.directory, wish.kind.asked(), request.clone());
        }
        // Only now, as the real one does: who hears of the ask may not have seen the input yet.
        session.transcript.run_tool(&call.call_id, &wish.input);
        let directory = session.directory.clone();
        let command = wish.input["command"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.happenings.push(Happening::Asked {
            id: id.clone(),
            command,
        });
        self.pending.push(Pending {
            id: id.clone(),
            kind: wish.kind,
            session: session_id.to_owned(),
            directory,
            call_id: call.call_id,
            request,
            is_zombie: false,
        });
        Some(id)
    }

    /// Notes a reply that came in at `received_at_micros`, whatever became of it.
    pub(super) fn note(
        &mut self,
        id: &str,
        body: Value,
        outcome: Outcome,
        received_at_micros: i64,
    ) {
        let at = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let id = id.to_owned();
        self.replies.push(ReceivedReply {
            at,
            received_at_micros,
            id,
            body,
            outcome,
        });
    }

    /// Carries a reply out, and returns whether there was anything to reply to in this directory.
    pub(super) fn reply(&mut self, kind: Kind, id: &str, directory: &str, reply: &Reply) -> bool {
        let meant = |pending: &Pending| {
            pending.kind == kind && pending.id == id && pending.directory == directory
        };
        let Some(at) = self.pending.iter().position(meant) else {
            return false;
        };
        let first = self.pending.remove(at);
        let followers = self.take_followers(&first, reply);
        self.happenings.push(Happening::Replied {
            id: first.id.clone(),
        });
        let fell = |follower: &Pending| Happening::Fell {
            id: follower.id.clone(),
        };
        self.happenings.extend(followers.iter().map(fell));
        self.end(&first, reply);
        if let Reply::Reject { message } = reply
            && (message.is_none() || !followers.is_empty())
            && !first.is_zombie
        {
            self.stop_turn(&first.session);
        }
        let plain = match reply {
            Reply::Reject { .. } => &Reply::Reject { message: None },
            Reply::Once | Reply::Always | Reply::Answers(_) | Reply::Dismiss => reply,
        };
        for follower in &followers {
            self.end(follower, plain);
        }
        if matches!(reply, Reply::Dismiss) && !first.is_zombie {
            self.stop_turn(&first.session);
        }
        self.go_on(&first.session);
        true
    }

    /// Finds the pending request of this id in whatever directory, as the deprecated path and a foreigner do.
    pub(super) fn locate(&self, id: &str) -> Option<(Kind, String)> {
        let found = self.pending.iter().find(|pending| pending.id == id)?;
        Some((found.kind, found.directory.clone()))
    }

    /// Forgets a request without a word about it, and returns whether it was there.
    pub(super) fn forget(&mut self, id: &str, trace: Trace) -> bool {
        let Some(at) = self.pending.iter().position(|pending| pending.id == id) else {
            return false;
        };
        let forgotten = self.pending.remove(at);
        if let Some(session) = self.session(&forgotten.session) {
            match trace {
                Trace::Stopped => session
                    .transcript
                    .end_tool(&forgotten.call_id, ToolEnd::Aborted),
                Trace::None => session.transcript.forget_tool(&forgotten.call_id),
            }
        }
        true
    }

    /// Aborts a session. Its asks stay listed for ever, or until somebody replies.
    pub(super) fn abort(&mut self, session_id: &str) {
        for pending in &mut self.pending {
            pending.is_zombie |= pending.session == session_id;
        }
        if let Some(session) = self.session(session_id) {
            session.abort();
        }
    }

    /// Takes out what a reply to `first` settles as well.
    fn take_followers(&mut self, first: &Pending, reply: &Reply) -> Vec<Pending> {
        let always = first.request["always"].clone();
        let is_follower = |other: &mut Pending| {
            other.kind == Kind::Permission
                && other.session == first.session
                && match reply {
                    Reply::Reject { .. } => true,
                    Reply::Always => covers(&always, &other.request["patterns"]),
                    Reply::Once | Reply::Answers(_) | Reply::Dismiss => false,
                }
        };
        self.pending.extract_if(.., is_follower).collect()
    }

    fn end(&mut self, pending: &Pending, reply: &Reply) {
        if self.faults.replies != ReplyFault::Unannounced {
            let mut properties = json!({"sessionID": pending.session, "requestID": pending.id});
            let kind = match reply {
                Reply::Once | Reply::Always | Reply::Reject { .. } => {
                    properties["reply"] = json!(reply.word());
                    "permission.replied"
                }
                Reply::Answers(answers) => {
                    properties["answers"] = answers.clone();
                    "question.replied"
                }
                Reply::Dismiss => "question.rejected",
            };
            self.events.publish(&pending.directory, kind, properties);
        }
        if pending.is_zombie {
            return;
        }
        let end = match reply {
            Reply::Once | Reply::Always | Reply::Answers(_) => ToolEnd::Completed,
            Reply::Reject { message } => ToolEnd::Rejected {
                feedback: message.as_deref(),
            },
            Reply::Dismiss => ToolEnd::Dismissed,
        };
        if let Some(session) = self.session(&pending.session) {
            session.transcript.end_tool(&pending.call_id, end);
        }
    }

    fn stop_turn(&mut self, session_id: &str) {
        if let Some(turn) = self
            .session(session_id)
            .and_then(|session| session.turn.as_mut())
        {
            turn.is_stopped = true;
        }
    }

    /// Ends the session's turn if it waits for nothing, and returns the prompt that is next.
    fn settle(&mut self, session_id: &str) -> Option<Prompt> {
        let waits = |pending: &Pending| pending.session == session_id && !pending.is_zombie;
        if self.pending.iter().any(waits) {
            return None;
        }
        let session = self.session(session_id)?;
        if session.turn.as_ref().is_some_and(|turn| turn.is_held) {
            return None;
        }
        session.finish_turn()
    }
}

/// Returns whether every pattern is covered by one of the `always` patterns.
fn covers(always: &Value, patterns: &Value) -> bool {
    let always: Vec<&str> = strings(always).collect();
    strings(patterns).all(|pattern| {
        always.iter().any(|cover| match cover.strip_suffix('*') {
            Some(start) => pattern.starts_with(start),
            None => pattern == *cover,
        })
    })
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}
