//! What the outcome of a turn is for its job.

use countersign_core::ask::{Ask, AskState};
use countersign_core::job::{FailureCode, JobFailure};
use countersign_core::session::TurnOutcome;

/// How a turn is said to have failed whose engine or agent ended.
const GONE: [&str; 2] = ["the engine ended", "the agent ended"];
/// How a turn is said to have failed that the engine did not take up, or not as it was wished for.
const REFUSED: [&str; 6] = [
    "opencode has no model for this",
    "the engine came to rest without taking it up",
    "UnknownError",
    "ProviderModelNotFoundError",
    "the agent wants you to sign in",
    "the agent `",
];

/// How a job failed whose turn ended like this; nothing if it was completed. `newest` is the newest ask of its session.
///
/// A turn that somebody cancelled in the session itself is told as such: nobody cancelled the job.
pub(super) fn failure(outcome: &TurnOutcome, newest: Option<&Ask>) -> Option<JobFailure> {
    let failure = match outcome {
        TurnOutcome::Completed => return None,
        TurnOutcome::Denied => denied(newest),
        TurnOutcome::Cancelled => JobFailure::new(
            FailureCode::EngineRefused,
            "its turn was stopped in the session, not here",
        ),
        TurnOutcome::Failed { reason } => {
            let begins = |words: &[&str]| words.iter().any(|word| reason.starts_with(word));
            let code = if begins(&GONE) {
                FailureCode::EngineGone
            } else if begins(&REFUSED) {
                FailureCode::EngineRefused
            } else {
                FailureCode::Provider
            };
            JobFailure::new(code, reason.clone())
        }
    };
    Some(failure)
}

fn denied(newest: Option<&Ask>) -> JobFailure {
    let what = newest.map(|ask| format!("{} {}", ask.subject.tool(), ask.subject.summary()));
    let what = what.unwrap_or_else(|| "something".to_owned());
    match newest.map(|ask| &ask.state) {
        Some(AskState::Expired { .. }) => JobFailure::new(
            FailureCode::AskExpired,
            format!("nobody answered in time: {what}"),
        ),
        Some(
            AskState::Answered(answer, _)
            | AskState::Delivered(answer, _)
            | AskState::Undeliverable(answer, _),
        ) => JobFailure::new(
            FailureCode::Denied,
            format!(
                "{} denied {what}, and the engine stopped there",
                answer.by.name
            ),
        ),
        Some(AskState::Open | AskState::Withdrawn { .. }) | None => JobFailure::new(
            FailureCode::Denied,
            format!("{what} was denied, and the engine stopped there"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(reason: &str) -> FailureCode {
        let outcome = TurnOutcome::Failed {
            reason: reason.to_owned(),
        };
        failure(&outcome, None).unwrap().code
    }

    #[test]
    fn what_ended_a_turn_is_told_by_its_cause() {
        assert_eq!(failure(&TurnOutcome::Completed, None), None);
        assert_eq!(code("the engine ended: signal 9"), FailureCode::EngineGone);
        assert_eq!(
            code("the engine ended in the middle of it"),
            FailureCode::EngineGone
        );
        assert_eq!(code("the agent ended: code 1"), FailureCode::EngineGone);
        assert_eq!(code("APIError: no credit"), FailureCode::Provider);
        assert_eq!(
            code("UnknownError: Unexpected server error"),
            FailureCode::EngineRefused
        );
        let denied = failure(&TurnOutcome::Denied, None).unwrap();
        assert_eq!(denied.code, FailureCode::Denied);
    }

    #[test]
    fn the_words_of_a_provider_are_kept() {
        let outcome = TurnOutcome::Failed {
            reason: "APIError: no credit".to_owned(),
        };
        let failure = failure(&outcome, None).unwrap();
        assert_eq!(failure.message, "APIError: no credit");
        assert!(!failure.hint.is_empty());
    }
}
