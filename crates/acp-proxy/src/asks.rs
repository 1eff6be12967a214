//! The asks of the agent: each is handed in, its answer brought to the agent, and what became of it reported.
//!
//! The editor's own dialog stays usable all the while, and the first answer wins. Whatever is wrong with the server, the
//! editor goes on without it.

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{CancelRequestNotification, RequestId};
use countersign_api::{DoorReply, DoorReport};
use countersign_core::ask::AskPhase;
use countersign_engine::acp::message::{self, Incoming};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::asked::{Asked, Over};
use crate::conversation::Conversation;
use crate::door::{Door, DoorError, Ticket};
use crate::passage::{Carried, OurReply};
use crate::request_key::RequestKey;
use crate::voice::{Topic, Voice};

/// How long to wait before the server is tried again.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];
/// How long the start of the agent may be held up: before it can do anything, the server is to know whose it is.
const ANNOUNCEMENT: Duration = Duration::from_millis(500);
/// How long the end of the agent may be held up to report what has happened.
const FAREWELL: Duration = Duration::from_secs(2);

/// The asks that are carried.
pub(crate) struct Asks {
    carrier: Arc<Carrier>,
    carried: JoinSet<()>,
}

/// What carries an ask.
pub(crate) struct Carrier {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) door: Door,
    pub(crate) replies: mpsc::Sender<OurReply>,
    pub(crate) to_editor: mpsc::Sender<Vec<u8>>,
    pub(crate) voice: Voice,
    /// Cancelled when the agent has ended: then nothing is tried again.
    pub(crate) ended: CancellationToken,
}

impl Asks {
    pub(crate) fn new(carrier: Carrier) -> Self {
        Self {
            carrier: Arc::new(carrier),
            carried: JoinSet::new(),
        }
    }

    /// Lets the server know that this proxy is there, if it is reached soon.
    pub(crate) async fn announce(&self) {
        let _in_time = timeout(ANNOUNCEMENT, self.carrier.touch()).await;
    }

    /// Carries the asks that are opened, and keeps in touch with the server, for ever.
    pub(crate) async fn attend(&mut self, mut opened: mpsc::Receiver<Arc<Asked>>) {
        let carrier = Arc::clone(&self.carrier);
        let mut touch = std::pin::pin!(carrier.keep_in_touch());
        loop {
            tokio::select! {
                Some(asked) = opened.recv() => {
                    let carrier = Arc::clone(&self.carrier);
                    self.carried.spawn(async move { carrier.carry(&asked).await });
                }
                Some(_) = self.carried.join_next() => {}
                () = &mut touch => {}
            }
        }
    }

    /// Reports what is left to report, and says good-bye.
    pub(crate) async fn bid_farewell(mut self) {
        self.carrier.ended.cancel();
        let reports = async { while self.carried.join_next().await.is_some() {} };
        // What the server does not hear now it finds out by itself.
        let _in_time = timeout(FAREWELL, reports).await;
        let _in_time = timeout(FAREWELL, self.carrier.door.end()).await;
    }
}

impl Carrier {
    async fn keep_in_touch(&self) {
        loop {
            self.touch().await;
            tokio::time::sleep(self.door.beat()).await;
        }
    }

    async fn touch(&self) {
        let directories = self.conversation.directories();
        match self.door.keep_alive(directories).await {
            Ok(()) => self.is_reached(),
            Err(error) => self.lament(&error),
        }
    }

    /// Carries one ask from the agent's request to the report of what became of it.
    async fn carry(&self, asked: &Arc<Asked>) {
        loop {
            let Some(ticket) = self.hand_in(asked).await else {
                return;
            };
            match self.fetch(asked, &ticket).await {
                Fetched::Line(line) => return self.bring(asked, &ticket, line).await,
                Fetched::Over(over) => return self.report_over(&ticket, over).await,
                Fetched::Settled => return,
                // The server has forgotten this life, and the ask with it.
                Fetched::Forgotten => {}
            }
        }
    }

    /// Hands the ask in; nothing if it was over before the server heard of it, or the server will not have it.
    async fn hand_in(&self, asked: &Asked) -> Option<Ticket> {
        for attempt in 0.. {
            if asked.how_it_ended().is_some() {
                return None;
            }
            match self.door.hand_in(asked).await {
                Ok(ticket) => {
                    self.is_reached();
                    return Some(ticket);
                }
                Err(DoorError::Refused(sentence)) => {
                    let text = format!("an ask is answered in the editor alone: {sentence}");
                    self.voice.say(Topic::Refused, &text);
                    return None;
                }
                Err(DoorError::Forgotten) if attempt == 0 => {}
                Err(error) => {
                    self.lament(&error);
                    self.pause(attempt, asked).await;
                }
            }
        }
        None
    }

    /// Waits for the answer.
    async fn fetch(&self, asked: &Asked, ticket: &Ticket) -> Fetched {
        let mut attempt = 0;
        loop {
            let fetched = tokio::select! {
                over = asked.over() => return Fetched::Over(over),
                fetched = self.door.fetch(ticket) => fetched,
            };
            match fetched {
                Ok(answer) => {
                    self.is_reached();
                    attempt = 0;
                    match (answer.reply, answer.state) {
                        (Some(DoorReply::Line { line }), _) => return Fetched::Line(line),
                        (None, AskPhase::Open | AskPhase::Answered) => {}
                        // It is over; or this is a reply that no ACP agent understands.
                        (
                            None
                            | Some(
                                DoorReply::Once
                                | DoorReply::Reject { .. }
                                | DoorReply::Answers { .. }
                                | DoorReply::Decline,
                            ),
                            _,
                        ) => return Fetched::Settled,
                    }
                }
                Err(DoorError::Forgotten) => return Fetched::Forgotten,
                Err(error) => {
                    self.lament(&error);
                    self.pause(attempt, asked).await;
                    attempt += 1;
                }
            }
        }
    }

    /// Brings the agent the answer, closes the editor's dialog, and tells the server what came of it.
    async fn bring(&self, asked: &Arc<Asked>, ticket: &Ticket, line: String) {
        if !is_response_to(asked, &line) {
            let text = "the server's reply to an ask is none; it is answered in the editor alone";
            return self.voice.say(Topic::Refused, text);
        }
        let (done, carried) = oneshot::channel();
        let reply = OurReply {
            asked: Arc::clone(asked),
            line: (line + "\n").into_bytes(),
            done,
        };
        // While the agent does not read, an answer in the editor does not reach it either.
        let sent = self.replies.send(reply).await.is_ok();
        match carried.await {
            Ok(Carried::Written) if sent => {
                tokio::join!(
                    self.close_dialog(asked),
                    self.report(ticket, &DoorReport::Written)
                );
            }
            Ok(Carried::Written | Carried::TooLate) => {
                let over = asked.how_it_ended().unwrap_or(Over::Gone);
                self.report_over(ticket, over).await;
            }
            // The agent's input is closed.
            Err(_) => self.report_over(ticket, Over::Gone).await,
        }
    }

    /// Tells the editor that nobody waits for its answer any more.
    async fn close_dialog(&self, asked: &Asked) {
        let Ok(id) = serde_json::from_str::<RequestId>(asked.id.text()) else {
            return;
        };
        let cancel = CancelRequestNotification::new(id);
        let line = message::notification("$/cancel_request", &cancel);
        // An editor that is gone has no dialog.
        let _gone = self.to_editor.send(line).await;
    }

    async fn report_over(&self, ticket: &Ticket, over: Over) {
        let report = match over {
            Over::AnsweredInEditor(reply) => DoorReport::AnsweredInEditor { reply },
            Over::TurnCancelled => DoorReport::TurnCancelled,
            Over::Changed => DoorReport::Changed,
            Over::Gone => DoorReport::Gone,
            // It ends with this life.
            Over::AgentEnded => return,
        };
        self.report(ticket, &report).await;
    }

    async fn report(&self, ticket: &Ticket, report: &DoorReport) {
        for attempt in 0.. {
            match self.door.report(ticket, report).await {
                // What the server has forgotten, it has ended.
                Ok(()) | Err(DoorError::Forgotten) => return,
                Err(DoorError::Refused(sentence)) => {
                    let text = format!("the server does not take a report: {sentence}");
                    return self.voice.say(Topic::Refused, &text);
                }
                Err(error) => self.lament(&error),
            }
            tokio::select! {
                () = self.ended.cancelled() => return,
                () = tokio::time::sleep(pause(attempt)) => {}
            }
        }
    }

    /// Waits before the next attempt, or until the ask is over.
    async fn pause(&self, attempt: usize, asked: &Asked) {
        tokio::select! {
            _ = asked.over() => {}
            () = tokio::time::sleep(pause(attempt)) => {}
        }
    }

    fn lament(&self, error: &DoorError) {
        let topic = match error {
            DoorError::Away(_) | DoorError::Forgotten => Topic::Server,
            DoorError::NotWelcome(_) | DoorError::NotServed(_) | DoorError::Refused(_) => {
                Topic::Unwelcome
            }
        };
        let text = format!("{error}; until then asks are answered in the editor alone");
        self.voice.say(topic, &text);
    }

    fn is_reached(&self) {
        let text = "the server is there; asks can be answered in Countersign too";
        self.voice.is_well(Topic::Server, text);
    }
}

/// What came of waiting for an answer.
enum Fetched {
    /// The agent is to be told this.
    Line(String),
    /// The ask ended without the server.
    Over(Over),
    /// The ask ended at the server, and the agent is not to be told anything.
    Settled,
    /// The server does not know the ask any more.
    Forgotten,
}

/// Whether `line` is one line, and the response to this very ask.
fn is_response_to(asked: &Asked, line: &str) -> bool {
    let Incoming::Response { id, .. } = message::read(line) else {
        return false;
    };
    !line.contains(['\n', '\r']) && RequestKey::of(&id).as_ref() == Some(&asked.key)
}

fn pause(attempt: usize) -> Duration {
    PAUSES[attempt.min(PAUSES.len() - 1)]
}
