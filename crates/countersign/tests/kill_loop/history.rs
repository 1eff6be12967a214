//! What clients did and what they were told: the history that the ledger has to agree with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// One try to answer an ask.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) ask: String,
    /// The name of whoever tried.
    pub(crate) actor: String,
    /// The body of the request.
    pub(crate) answer: Value,
    pub(crate) outcome: Outcome,
}

/// What the client knows about its try.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// 200: the answer stands.
    Accepted,
    /// The answer does not stand; the body says why.
    Refused { status: u16, body: Value },
    /// The connection broke: it may stand or not.
    Unknown,
}

/// Every try of every client, in the order in which their outcomes became known.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Vec<Attempt>>);

impl History {
    pub(crate) fn add(&self, attempt: Attempt) {
        self.attempts().push(attempt);
    }

    pub(crate) fn len(&self) -> usize {
        self.attempts().len()
    }

    /// Returns the tries from number `first` on.
    pub(crate) fn since(&self, first: usize) -> Vec<Attempt> {
        self.attempts()[first..].to_vec()
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Outcome) -> bool) -> usize {
        let attempts = self.attempts();
        attempts
            .iter()
            .filter(|attempt| wanted(&attempt.outcome))
            .count()
    }

    /// Returns everything in which the ledger, as it is in the end, contradicts what clients were told.
    pub(crate) fn contradictions(&self, ledger: &[Value]) -> Vec<String> {
        let by_id: BTreeMap<&str, &Value> = ledger
            .iter()
            .filter_map(|ask| Some((ask["id"].as_str()?, ask)))
            .collect();
        let mut found = Vec::new();
        for attempt in self.attempts().iter() {
            match by_id.get(attempt.ask.as_str()) {
                Some(ask) => found.extend(contradiction(attempt, ask)),
                None => found.push(format!("an ask is gone: {attempt:?}")),
            }
        }
        found.extend(two_winners(&self.attempts()));
        found
    }

    fn attempts(&self) -> MutexGuard<'_, Vec<Attempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how `ask`, as it is now or later, contradicts what a client was told about its try.
pub(crate) fn contradiction(attempt: &Attempt, ask: &Value) -> Option<String> {
    let stands = &ask["answer"];
    let agrees = match &attempt.outcome {
        Outcome::Accepted => is_answer_of(attempt, stands),
        Outcome::Refused { status: 409, body } => {
            let winner = &body["details"]["ask"]["answer"];
            !winner.is_null() && winner == stands
        }
        Outcome::Refused { status: 410, .. } => {
            stands.is_null() && matches!(ask["state"].as_str(), Some("withdrawn" | "expired"))
        }
        Outcome::Refused { .. } => false,
        Outcome::Unknown => true,
    };
    (!agrees).then(|| format!("{attempt:?} against the ledger's {ask}"))
}

fn is_answer_of(attempt: &Attempt, stands: &Value) -> bool {
    stands["by"]["name"] == attempt.actor.as_str()
        && stands["answer"] == attempt.answer["answer"]
        && stands["reason"] == attempt.answer["reason"]
}

/// An ask that two different answers were accepted for.
fn two_winners(attempts: &[Attempt]) -> Vec<String> {
    let mut winners: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for attempt in attempts {
        if matches!(attempt.outcome, Outcome::Accepted) {
            let answer = format!("{} by {}", attempt.answer, attempt.actor);
            winners.entry(&attempt.ask).or_default().insert(answer);
        }
    }
    winners
        .iter()
        .filter(|(_, answers)| answers.len() > 1)
        .map(|(ask, answers)| format!("{ask} has several answers: {answers:?}"))
        .collect()
}
