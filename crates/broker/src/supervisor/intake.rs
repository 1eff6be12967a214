//! Takes in what the engine announces and writes it into the ledger.

use std::collections::HashMap;
use std::time::Duration;

use countersign_core::ask::{Ask, AskState, Door};
use countersign_core::digest::Digest;
use countersign_core::event::Delta;
use countersign_core::session::{Activity, FileDiff, Item, Session, ToolStatus, TurnOutcome};
use countersign_core::time::Timestamp;
use countersign_engine::opencode::{
    EngineAsk, Message, Part, Permission, QuestionRequest, Signal, Status, ToolState, needs_input,
    permission_ask, question_ask,
};
use countersign_store::{NewAsk, Opened};
use serde_json::Value;

use crate::error::BrokerError;
use crate::location::resolved;
use crate::standstill::{self, Step};
use crate::supervisor::foreign::Announced;
use crate::supervisor::held::Doing;
use crate::supervisor::run::EngineRun;

/// How long a tool call's input is waited for: the request for leave can come before it.
const INPUT_PATIENCE: Duration = Duration::from_secs(2);
/// More of these are not remembered: what is forgotten is only whose words they were.
const MEMORY: usize = 10_000;

/// What has to be remembered between announcements, for as long as the stream holds.
pub(super) struct Intake<'a> {
    run: &'a EngineRun,
    /// The messages that users wrote.
    user_messages: HashMap<String, bool>,
    /// The pieces that are thoughts.
    thoughts: HashMap<String, bool>,
}

impl<'a> Intake<'a> {
    pub(super) fn new(run: &'a EngineRun) -> Self {
        Self {
            run,
            user_messages: HashMap::new(),
            thoughts: HashMap::new(),
        }
    }

    /// Takes in one announcement.
    pub(super) async fn take(&mut self, signal: Signal) -> Result<(), BrokerError> {
        let run = self.run;
        let replied = |request, reply: &str, event| {
            run.take_reply(Announced {
                request,
                reply: reply.to_owned(),
                event,
            })
        };
        match signal {
            Signal::PermissionAsked(asked, raw) => {
                run.take_permission(*asked, raw, run.shared.clock.now())
                    .await
            }
            Signal::QuestionAsked(asked, raw) => {
                run.take_question(*asked, raw, run.shared.clock.now()).await
            }
            Signal::PermissionReplied { request, reply } => {
                replied(request, &reply, "permission.replied").await
            }
            Signal::QuestionReplied { request } => {
                replied(request, "replied", "question.replied").await
            }
            Signal::QuestionRejected { request } => {
                replied(request, "rejected", "question.rejected").await
            }
            Signal::SessionChanged(native) => run.learn_session(&native).await.map(drop),
            Signal::SessionStatus { session, status } => self.take_status(&session, status).await,
            Signal::SessionFailed {
                session: Some(session),
                error,
            } if !error.is_abort() => self.take_failure(&session, error.sentence()).await,
            Signal::MessageChanged(message) => self.take_message(&message).await,
            Signal::PartChanged(part) => self.take_part(&part).await,
            Signal::PartGrew {
                session,
                part,
                field,
                text,
            } if field == "text" => self.take_words(&session, part, text).await,
            Signal::InstanceDisposed => {
                run.link.forget_offers();
                run.reconcile().await
            }
            Signal::Unreadable { kind, message } => {
                tracing::warn!(
                    event = kind,
                    "the engine said something unreadable: {message}"
                );
                run.reconcile().await
            }
            Signal::SessionFailed { .. }
            | Signal::PartGrew { .. }
            | Signal::Alive
            | Signal::Other => Ok(()),
        }
    }

    /// A session failed. A turn that the engine could not even begin ends here: no idle will follow.
    async fn take_failure(&self, native_id: &str, reason: String) -> Result<(), BrokerError> {
        let session = self.run.session(native_id).await?;
        let turn = self.run.shared.store.newest_turn(session.id).await?;
        // The engine may say the same of one turn several times.
        let id = match turn {
            Some(turn) => format!("notice-{}-{}", turn.id, Digest::of_bytes(reason.as_bytes())),
            None => format!("notice-{}", self.run.shared.clock.now().as_micros()),
        };
        self.put(
            &session,
            &id,
            &Item::Notice {
                text: reason.clone(),
            },
        )
        .await?;
        match self.run.doing(&session).await {
            Doing::Idle => {
                let failed = TurnOutcome::Failed { reason };
                self.run.rest(&session, Some(failed)).await
            }
            // It may go on: its messages will tell.
            Doing::Busy | Doing::Unknown => Ok(()),
        }
    }

    async fn take_message(&mut self, message: &Message) -> Result<(), BrokerError> {
        remember(
            &mut self.user_messages,
            message.id.clone(),
            message.role == "user",
        );
        if message.role != "assistant" {
            return Ok(());
        }
        if let Some(agent) = &message.agent {
            self.run.name_agent(&message.session_id, agent).await?;
        }
        if message.time.completed.is_some() {
            let session = self.run.session(&message.session_id).await?;
            self.run.note_used(&session, message).await?;
        }
        Ok(())
    }

    async fn take_words(
        &self,
        session: &str,
        part: String,
        text: String,
    ) -> Result<(), BrokerError> {
        let session = self.run.session(session).await?;
        self.run.shared.live.say(Delta {
            workspace: session.workspace,
            session: session.id,
            thought: self.thoughts.get(&part).copied().unwrap_or(false),
            item: part,
            offset: 0,
            text,
        });
        Ok(())
    }

    async fn take_status(&self, session: &str, status: Status) -> Result<(), BrokerError> {
        let session = self.run.session(session).await?;
        let live = &self.run.shared.live;
        match status {
            Status::Idle => self.run.take_idle(&session).await,
            Status::Busy | Status::Unknown => {
                live.beat(session.id);
                self.run.take_busy(&session).await
            }
            Status::Retry { message } => {
                live.retries(session.id, &message);
                let text =
                    format!("The model's provider failed, and opencode tries again: {message}");
                self.put(&session, "retry", &Item::Notice { text }).await
            }
        }
    }

    async fn take_part(&mut self, part: &Part) -> Result<(), BrokerError> {
        remember(
            &mut self.thoughts,
            part.id.clone(),
            part.kind == "reasoning",
        );
        let from_user = self
            .user_messages
            .get(&part.message_id)
            .copied()
            .unwrap_or(false);
        let Some(item) = item(part, from_user) else {
            return Ok(());
        };
        let session = self.run.session(&part.session_id).await?;
        self.run.shared.live.progress(session.id);
        if matches!(item, Item::Tool { .. }) {
            self.run.check_call(&session, part).await?;
            self.place_words(&session).await?;
        }
        self.put(&session, &part.id, &item).await
    }

    /// Gives what is being said its place in the transcript. Some models end their words only after the calls that
    /// follow them, which would otherwise stand before.
    async fn place_words(&self, session: &Session) -> Result<(), BrokerError> {
        let shared = &self.run.shared;
        for (id, piece) in shared.live.growing(session.id) {
            if piece.is_placed {
                continue;
            }
            let item = piece.into_item();
            shared
                .store
                .put_item(
                    session.workspace,
                    session.id,
                    &id,
                    &item,
                    shared.clock.now(),
                )
                .await?;
            shared.live.place(session.id, &id);
        }
        Ok(())
    }

    async fn put(&self, session: &Session, id: &str, item: &Item) -> Result<(), BrokerError> {
        let shared = &self.run.shared;
        shared
            .store
            .put_item(session.workspace, session.id, id, item, shared.clock.now())
            .await?;
        shared.live.finish(session.id, id);
        Ok(())
    }
}

fn remember(memory: &mut HashMap<String, bool>, key: String, value: bool) {
    if memory.len() >= MEMORY {
        memory.clear();
    }
    memory.insert(key, value);
}

/// What a piece of a message is in a transcript; nothing while it grows or if it is not shown.
pub(super) fn item(part: &Part, from_user: bool) -> Option<Item> {
    let text = || part.text.clone();
    match part.kind.as_str() {
        "text" if part.synthetic || part.text.is_empty() => None,
        "text" if from_user => Some(Item::Prompt {
            text: text(),
            follows: None,
        }),
        "text" => part.time.end.map(|_| Item::Text { text: text() }),
        "reasoning" if !part.text.is_empty() => {
            part.time.end.map(|_| Item::Thought { text: text() })
        }
        "tool" => part.state.as_ref().map(|state| Item::Tool {
            tool: part.tool.clone(),
            status: match state.status.as_str() {
                "completed" => ToolStatus::Completed,
                "error" => ToolStatus::Failed,
                "running" => ToolStatus::Running,
                _ => ToolStatus::Pending,
            },
            input: state.input.clone(),
            output: if state.error.is_empty() {
                state.output.clone()
            } else {
                state.error.clone()
            },
            changes: changes(state),
            child: state
                .metadata
                .get("sessionId")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }),
        _ => None,
    }
}

/// The change of a file that a tool call shows.
fn changes(state: &ToolState) -> Vec<FileDiff> {
    let patch = state.metadata.get("diff").and_then(Value::as_str);
    let path = state.input.get("filePath").and_then(Value::as_str);
    let changed = patch.zip(path).filter(|(patch, _)| !patch.is_empty());
    let change = changed.map(|(patch, path)| FileDiff {
        path: path.to_owned(),
        patch: patch.to_owned(),
    });
    change.into_iter().collect()
}

impl EngineRun {
    /// Opens the ask in a permission request that the engine was seen to hold at `seen_at`, or finds it.
    pub(super) async fn take_permission(
        &self,
        permission: Permission,
        raw: Value,
        seen_at: Timestamp,
    ) -> Result<(), BrokerError> {
        if self.is_known(&permission.id).await? {
            return Ok(());
        }
        let input = self.missing_input(&permission).await;
        let ask = permission_ask(permission, raw, input.as_ref());
        self.open(ask, seen_at).await
    }

    /// Opens the ask in a question, or finds it.
    pub(super) async fn take_question(
        &self,
        request: QuestionRequest,
        raw: Value,
        seen_at: Timestamp,
    ) -> Result<(), BrokerError> {
        if self.is_known(&request.id).await? {
            return Ok(());
        }
        self.open(question_ask(request, raw), seen_at).await
    }

    /// What the tool call was given, whole, where the request itself does not say it. The engine tells that a moment after
    /// it asks.
    async fn missing_input(&self, permission: &Permission) -> Option<Value> {
        let tool = permission.tool.as_ref()?;
        if !needs_input(permission) {
            return None;
        }
        let session = self.session(&permission.session_id).await.ok()?;
        let read = async {
            loop {
                let client = &self.link.client;
                let call = client.tool_call(&session.directory, &permission.session_id, tool);
                let state = call.await.ok().flatten().and_then(|part| part.state);
                // Until the call runs its input may still be growing.
                if let Some(state) = state.filter(|state| state.status != "pending") {
                    return state.input;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(INPUT_PATIENCE, read).await.ok()
    }

    async fn open(&self, ask: EngineAsk, now: Timestamp) -> Result<(), BrokerError> {
        let shared = &self.shared;
        let session = self.session(&ask.session).await?;
        let subject = resolved(ask.subject, &session.directory).await;
        standstill::before(Step::Ask).await;
        let opened = shared
            .store
            .open_ask(
                NewAsk {
                    workspace: shared.workspace.id,
                    door: Door::Opencode,
                    run: self.link.run,
                    session: session.id,
                    native_id: ask.native_id,
                    directory: session.directory.clone(),
                    subject,
                    arguments: ask.arguments,
                    raw: ask.raw,
                    options: ask.options,
                    expires_at: shared.settings.ask_expiry.map(|life| now.after(life)),
                },
                now,
            )
            .await?;
        standstill::after(Step::Ask).await;
        match opened {
            Opened::Fresh(ask) => {
                tracing::info!(ask.id = %ask.id, session.id = %session.id, "ask `{}` was opened", ask.id);
                Ok(())
            }
            Opened::Known(ask) => self.tidy_known(&ask).await,
        }
    }

    /// Whether a request that the engine holds is in the ledger.
    async fn is_known(&self, request: &str) -> Result<bool, BrokerError> {
        let store = &self.shared.store;
        match store.ask_by_native_id(self.link.run, request).await? {
            Some(known) => self.tidy_known(&known).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Refuses a request that the engine still holds and the ledger says is over: a turn that was cancelled leaves such
    /// requests behind, and nothing but a no ends them.
    async fn tidy_known(&self, ask: &Ask) -> Result<(), BrokerError> {
        match ask.state {
            AskState::Withdrawn { .. } | AskState::Undeliverable(..) => {
                if !self.has_live_sibling(ask).await? {
                    self.tidy(&ask.native_id, &ask.subject).await;
                }
                Ok(())
            }
            AskState::Open
            | AskState::Answered(..)
            | AskState::Delivered(..)
            | AskState::Expired { .. } => Ok(()),
        }
    }

    /// Whether a no to `ask` would take another ask of its session with it that somebody still waits for.
    async fn has_live_sibling(&self, ask: &Ask) -> Result<bool, BrokerError> {
        let live = self.shared.store.live_asks(self.link.run).await?;
        Ok(live.iter().any(|sibling| sibling.session == ask.session))
    }

    /// Notes the name of the agent that speaks in a session.
    async fn name_agent(&self, native_id: &str, agent: &str) -> Result<(), BrokerError> {
        let session = self.session(native_id).await?;
        if session.agent != agent {
            let named = Session {
                agent: agent.to_owned(),
                changed_at: self.shared.clock.now(),
                ..session
            };
            self.shared.store.put_session(&named).await?;
        }
        Ok(())
    }

    pub(super) async fn take_busy(&self, session: &Session) -> Result<(), BrokerError> {
        let now = self.shared.clock.now();
        self.shared
            .store
            .set_activity(session.id, Activity::Busy, now)
            .await?;
        Ok(())
    }
}
