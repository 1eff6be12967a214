//! How far a turn is in version 2 of the protocol, where the agent says when it works and when it does not.
//!
//! That it does nothing ends the turn that it has taken up, and no other: what it says about itself may come again, and
//! may be about work that nobody prompted.

use countersign_engine::acp::session::StopReason;
use countersign_engine::acp::update::State;

/// How far a turn is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Whether the agent has answered that it took the prompt.
    is_taken: bool,
    /// Whether it has worked since it was prompted.
    has_worked: bool,
    /// That it had done its work before it answered the prompt.
    end: Option<Ended>,
}

/// A turn has ended, perhaps with a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended(pub(super) Option<StopReason>);

impl Progress {
    /// A turn whose prompt the agent has had since an earlier server, which heard what became of it.
    pub(super) fn of_earlier_server() -> Self {
        Self {
            is_taken: true,
            has_worked: true,
            end: None,
        }
    }

    /// Learns what the agent does; says whether the turn has ended with it.
    pub(super) fn take(&mut self, state: State) -> Option<Ended> {
        match state {
            State::Running | State::Waiting => {
                self.has_worked = true;
                self.end = None;
                None
            }
            State::Idle(reason) if self.is_taken => {
                (self.has_worked || reason.is_some()).then_some(Ended(reason))
            }
            State::Idle(reason) => {
                if self.has_worked {
                    self.end = Some(Ended(reason));
                }
                None
            }
        }
    }

    /// The agent has taken the prompt; says whether its work was done before.
    pub(super) fn is_taken(&mut self) -> Option<Ended> {
        self.is_taken = true;
        self.end.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> State {
        State::Idle(Some(StopReason::EndTurn))
    }

    #[test]
    fn a_turn_ends_when_the_agent_has_worked_and_does_so_no_more() {
        let mut turn = Progress::default();
        assert_eq!(turn.is_taken(), None);
        assert_eq!(turn.take(State::Idle(None)), None, "it has not begun");
        assert_eq!(turn.take(State::Running), None);
        assert_eq!(turn.take(State::Waiting), None);
        assert_eq!(turn.take(State::Idle(None)), Some(Ended(None)));
    }

    #[test]
    fn what_is_said_again_of_another_turn_ends_nothing() {
        let mut turn = Progress::default();
        assert_eq!(turn.take(idle()), None);
        assert_eq!(turn.is_taken(), None);
        assert_eq!(turn.take(idle()), Some(Ended(Some(StopReason::EndTurn))));
    }

    #[test]
    fn an_agent_may_answer_the_prompt_when_all_is_done() {
        let mut turn = Progress::default();
        turn.take(State::Running);
        assert_eq!(turn.take(idle()), None);
        assert_eq!(turn.is_taken(), Some(Ended(Some(StopReason::EndTurn))));
    }
}
