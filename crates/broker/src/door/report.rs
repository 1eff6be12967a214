//! What became of an ask at the program that handed it in, taken at its word where only it can know.
//!
//! Nothing that is reported here answers an ask: it ends one, or settles the delivery of an answer that was handed out.

use countersign_core::ask::{Ask, AskPhase, Door, Elsewhere, Withdrawal};
use countersign_core::delivery::{Evidence, Undeliverable};
use countersign_core::grant::Caller;
use countersign_core::id::{AskId, RunId};

use crate::Broker;
use crate::error::BrokerError;
use crate::supervisor::{announcement, fell_with, wording};

/// The longest text that is kept of what an editor was told, in characters.
const REPLY_LIMIT: usize = 200;

/// What a program reports about an ask; opencode's words are as it announces them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reported {
    /// It announced the reply that it had fetched here.
    Announced(&'static str),
    /// It announced a reply that it had not fetched here.
    AnsweredHere(&'static str),
    /// It wrote the reply that it had fetched here to the agent's input, whole and once.
    Written,
    /// The editor was first, and said this.
    AnsweredInEditor(String),
    /// The turn was cancelled in the editor.
    TurnCancelled,
    /// The agent changed what it asks for, and asks anew.
    Changed,
    /// Nobody waits for the request any more.
    Gone,
}

impl Reported {
    /// Whether a program behind `door` can know this.
    const fn fits(&self, door: Door) -> bool {
        match self {
            Self::Announced(_) | Self::AnsweredHere(_) => matches!(door, Door::OpencodePlugin),
            Self::Written | Self::AnsweredInEditor(_) | Self::TurnCancelled | Self::Changed => {
                matches!(door, Door::AcpProxy)
            }
            Self::Gone => true,
        }
    }
}

impl Broker {
    /// Takes in what became of an ask at the program, and returns where it stands then.
    pub async fn take_report(
        &self,
        caller: &Caller,
        run: RunId,
        id: AskId,
        reported: Reported,
    ) -> Result<AskPhase, BrokerError> {
        let ask = self.handed_in_ask(caller, run, id).await?;
        if !reported.fits(ask.door) {
            return Err(BrokerError::Invalid {
                field: "outcome",
                problem: "is none that this program can know of".to_owned(),
            });
        }
        match reported {
            Reported::Announced(reply) if self.is_proof(&ask, reply).await? => {
                let event = announcement(&ask).to_owned();
                self.prove(id, Evidence::Reported { event }).await?;
            }
            Reported::Announced(reply) | Reported::AnsweredHere(reply) => {
                self.end_as_answered_there(&ask, reply).await?;
            }
            // What never left cannot have been written.
            Reported::Written if self.store.is_perhaps_sent(id).await? => {
                let request = ask.native_id.clone();
                self.prove(id, Evidence::ReportedWritten { request })
                    .await?;
            }
            Reported::Written => {}
            Reported::AnsweredInEditor(reply) => {
                let reply = in_editors_words(&ask, &reply);
                let at = Elsewhere::Editor;
                let why = Withdrawal::AnsweredElsewhere {
                    reply: reply.clone(),
                    at,
                };
                let late = Undeliverable::AnsweredElsewhere { reply, at };
                self.end_without_us(id, &why, &late).await?;
            }
            Reported::TurnCancelled => {
                let (why, late) = (Withdrawal::TurnCancelled, Undeliverable::TurnCancelled);
                self.end_without_us(id, &why, &late).await?;
            }
            Reported::Changed => {
                let (why, late) = (Withdrawal::Changed, Undeliverable::Changed);
                self.end_without_us(id, &why, &late).await?;
            }
            Reported::Gone => {
                let (why, late) = (Withdrawal::SessionEnded, Undeliverable::Forgotten);
                self.end_without_us(id, &why, &late).await?;
            }
        }
        Ok(self.handed_in_ask(caller, run, id).await?.state.phase())
    }

    async fn prove(&self, id: AskId, evidence: Evidence) -> Result<(), BrokerError> {
        let now = self.clock.now();
        self.store.mark_delivered(id, &evidence, now).await?;
        Ok(())
    }

    /// Whether `reply` is what was handed out: what never left cannot have arrived.
    async fn is_proof(&self, ask: &Ask, reply: &str) -> Result<bool, BrokerError> {
        let left = self.store.is_perhaps_sent(ask.id).await?;
        Ok(left && wording(ask) == Some(reply))
    }

    /// Somebody answered in the terminal: that is his right, and it is written down.
    async fn end_as_answered_there(&self, ask: &Ask, reply: &str) -> Result<(), BrokerError> {
        let (reply, at) = (reply.to_owned(), Elsewhere::Engine);
        let why = match fell_with(&self.store, ask, &reply).await? {
            Some(sibling) => Withdrawal::SiblingDenied { sibling },
            None => Withdrawal::AnsweredElsewhere {
                reply: reply.clone(),
                at,
            },
        };
        let late = Undeliverable::AnsweredElsewhere { reply, at };
        self.end_without_us(ask.id, &why, &late).await
    }

    /// Ends an ask that is open; an answer that somebody has given it will not arrive.
    async fn end_without_us(
        &self,
        id: AskId,
        why: &Withdrawal,
        late: &Undeliverable,
    ) -> Result<(), BrokerError> {
        let now = self.clock.now();
        if !self.store.withdraw(id, why, now).await? {
            self.store.give_up(id, late, now).await?;
        }
        Ok(())
    }
}

/// What the editor said, by the name of the option that it picked.
fn in_editors_words(ask: &Ask, reply: &str) -> String {
    let picked = ask.options.iter().find(|option| option.id == reply);
    let words = picked.map_or(reply, |option| option.name.as_str());
    words
        .replace('\0', "\u{fffd}")
        .chars()
        .take(REPLY_LIMIT)
        .collect()
}
