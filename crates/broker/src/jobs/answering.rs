//! What becomes of the asks of jobs that are not to wait for a person.

use countersign_core::actor::Surface;
use countersign_core::answer::{Answer, Choice};
use countersign_core::ask::{Ask, Door, Subject};
use countersign_core::job::{Access, Job, OnAsk};
use countersign_core::session::Session;
use countersign_store::{Answered, StoreError};

use crate::acp;
use crate::jobs::runner::Runner;

impl Runner {
    /// Answers what the job says how to answer; returns the asks that wait for somebody.
    pub(super) async fn settle_asks(
        &self,
        job: &Job,
        session: &Session,
    ) -> Result<Vec<Ask>, StoreError> {
        let store = &self.broker.store;
        let mut waiting = Vec::new();
        for ask in store.open_asks_of_family(session.id).await? {
            let Some(choice) = choice(job, &ask) else {
                waiting.push(ask);
                continue;
            };
            let now = self.broker.clock.now();
            let answer = Answer {
                choice: choice.clone(),
                by: self.policy.clone(),
                surface: Surface::Rule,
                at: now,
                rule: None,
            };
            if let Answered::Won(_) = store.answer(ask.id, answer, now).await? {
                let said = if choice.is_yes() { "allowed" } else { "denied" };
                let text = format!(
                    "{said} {} by its own terms (handed in by {}): {} {}",
                    ask.id,
                    job.by.name,
                    ask.subject.tool(),
                    ask.subject.summary()
                );
                store.note_job(&job.id, &text, now).await?;
            }
        }
        Ok(waiting)
    }
}

/// What a job's own terms say to an ask; nothing if a person has to.
fn choice(job: &Job, ask: &Ask) -> Option<Choice> {
    let deny = |reason: &str| {
        Some(Choice::Deny {
            reason: Some(reason.to_owned()),
        })
    };
    match (job.access, job.on_ask) {
        (Access::ReadOnly, _) => deny(
            "this task is read-only: change nothing and run nothing, and report what you found by reading",
        ),
        (Access::Write, OnAsk::Deny) => deny(
            "nobody is there to allow this, and the task says that such things are not to be done: go on without it",
        ),
        // Leave can be given in advance, an opinion cannot.
        (Access::Write, OnAsk::Allow) if matches!(ask.subject, Subject::Question { .. }) => deny(
            "nobody is there to answer questions: decide yourself, go on, and say in the end what you decided",
        ),
        (Access::Write, OnAsk::Allow) => is_plain(ask).then_some(Choice::AllowOnce),
        (Access::Write, OnAsk::Wait) => None,
    }
}

/// Whether a yes to `ask` allows one thing that is known, and changes nothing else. What a person has to decide, such as
/// a plan or a change of the mode, has no target here, as has a command that is not known as a whole.
fn is_plain(ask: &Ask) -> bool {
    let Subject::Permission {
        targets, location, ..
    } = &ask.subject
    else {
        return false;
    };
    let can_be_said = match ask.door {
        Door::Acp | Door::AcpProxy => acp::check(ask, &Choice::AllowOnce).is_ok(),
        Door::Opencode | Door::OpencodePlugin | Door::Workspace => true,
    };
    !targets.is_empty() && location.is_known() && can_be_said
}
