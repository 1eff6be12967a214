//! Replies under way to an engine, and what proves where they ended.
//!
//! A reply is proved delivered when the engine took it *and* announced it. Neither alone is enough: a
//! server may accept a reply and drop it, and an announcement may be of somebody else's reply.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// What became of sending a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landing {
    /// The engine took it.
    Accepted,
    /// The engine does not know the request.
    Unknown,
    /// It may have got there; no answer came.
    Unanswered,
}

/// What follows from what is known of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing yet.
    Wait,
    /// The engine has it.
    Delivered,
    /// Somebody else's reply was faster.
    AnsweredElsewhere {
        /// What it said.
        reply: String,
    },
    /// The engine does not know the request, and nothing says why: the lists and the tool have to be read.
    LookAgain {
        /// Whether an earlier try may have been what settled it.
        perhaps_ours: bool,
    },
}

/// How our newest call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// It has not come back yet.
    InTheAir,
    /// It came back.
    Back(Landing),
}

#[derive(Debug, Clone)]
struct Flight {
    reply: String,
    /// When it was first sent, since the engine is followed.
    since: Instant,
    call: Call,
    /// Whether the engine ever took it.
    accepted: bool,
    /// Whether a try without an answer may have arrived.
    perhaps_arrived: bool,
    announced: Option<String>,
}

/// The replies under way, by the engine's own request id.
#[derive(Debug, Default)]
pub(super) struct Flights(HashMap<String, Flight>);

impl Flights {
    /// A reply is about to leave. `perhaps_sent`: an earlier try, perhaps of an earlier server, may have
    /// arrived.
    pub(super) fn depart(&mut self, request: &str, reply: &str, perhaps_sent: bool) {
        let flight = self.0.entry(request.to_owned()).or_insert_with(|| Flight {
            reply: String::new(),
            since: Instant::now(),
            call: Call::InTheAir,
            accepted: false,
            perhaps_arrived: false,
            announced: None,
        });
        reply.clone_into(&mut flight.reply);
        flight.call = Call::InTheAir;
        flight.perhaps_arrived |= perhaps_sent;
    }

    /// A reply has landed, one way or another.
    pub(super) fn land(&mut self, request: &str, landing: Landing) -> Finding {
        let Some(flight) = self.0.get_mut(request) else {
            return Finding::Wait;
        };
        flight.call = Call::Back(landing);
        match landing {
            Landing::Accepted => flight.accepted = true,
            Landing::Unknown => {}
            Landing::Unanswered => flight.perhaps_arrived = true,
        }
        self.judge(request)
    }

    /// The engine announces that a request was replied to. Nothing if no reply of ours is under way.
    pub(super) fn announce(&mut self, request: &str, reply: &str) -> Option<Finding> {
        let flight = self.0.get_mut(request)?;
        flight.announced = Some(reply.to_owned());
        Some(self.judge(request))
    }

    /// Whether a reply to `request` was accepted and never announced.
    pub(super) fn is_unannounced(&self, request: &str) -> bool {
        self.0
            .get(request)
            .is_some_and(|flight| flight.accepted && flight.announced.is_none())
    }

    /// For how long a reply has been sent again and again.
    pub(super) fn tried_for(&self, request: &str) -> Duration {
        let flight = self.0.get(request);
        flight.map_or(Duration::ZERO, |flight| flight.since.elapsed())
    }

    /// The engine is followed again: until now nothing could be proved.
    pub(super) fn count_anew(&mut self) {
        for flight in self.0.values_mut() {
            flight.since = Instant::now();
        }
    }

    /// Forgets a request that is settled.
    pub(super) fn settle(&mut self, request: &str) {
        self.0.remove(request);
    }

    fn judge(&self, request: &str) -> Finding {
        let Some(flight) = self.0.get(request) else {
            return Finding::Wait;
        };
        let unknown = flight.call == Call::Back(Landing::Unknown);
        match &flight.announced {
            Some(announced) if *announced != flight.reply => Finding::AnsweredElsewhere {
                reply: announced.clone(),
            },
            Some(_) if flight.accepted => Finding::Delivered,
            // It is announced before our own call has come back; that will tell.
            Some(_) if flight.call == Call::InTheAir => Finding::Wait,
            Some(_) if !unknown => Finding::Delivered,
            // An earlier try settled it, or it fell with another one: the tool knows.
            Some(_) if flight.perhaps_arrived => Finding::LookAgain { perhaps_ours: true },
            Some(announced) => Finding::AnsweredElsewhere {
                reply: announced.clone(),
            },
            // An accepted reply that was dropped can be sent again and then not be known any more.
            None if unknown => Finding::LookAgain {
                perhaps_ours: flight.accepted || flight.perhaps_arrived,
            },
            None => Finding::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn departed(perhaps_sent: bool) -> Flights {
        let mut flights = Flights::default();
        flights.depart("per_1", "once", perhaps_sent);
        flights
    }

    #[test]
    fn accepted_and_announced_in_either_order_is_delivered() {
        let mut flights = departed(false);
        assert_eq!(flights.land("per_1", Landing::Accepted), Finding::Wait);
        assert_eq!(flights.announce("per_1", "once"), Some(Finding::Delivered));

        let mut flights = departed(false);
        assert_eq!(flights.announce("per_1", "once"), Some(Finding::Wait));
        assert_eq!(flights.land("per_1", Landing::Accepted), Finding::Delivered);
    }

    #[test]
    fn accepted_alone_is_never_delivered() {
        let mut flights = departed(false);
        assert_eq!(flights.land("per_1", Landing::Accepted), Finding::Wait);
        assert!(flights.is_unannounced("per_1"));
        flights.depart("per_1", "once", true);
        assert_eq!(flights.land("per_1", Landing::Accepted), Finding::Wait);
    }

    #[test]
    fn what_an_earlier_try_or_another_denial_may_have_settled_is_looked_at() {
        let mut flights = departed(true);
        assert_eq!(flights.announce("per_1", "once"), Some(Finding::Wait));
        assert_eq!(
            flights.land("per_1", Landing::Unknown),
            Finding::LookAgain { perhaps_ours: true }
        );
    }

    #[test]
    fn somebody_elses_reply_is_told_apart() {
        let mut flights = departed(false);
        flights.announce("per_1", "once");
        assert_eq!(
            flights.land("per_1", Landing::Unknown),
            Finding::AnsweredElsewhere {
                reply: "once".to_owned()
            }
        );
        let mut flights = departed(true);
        flights.land("per_1", Landing::Unknown);
        assert_eq!(
            flights.announce("per_1", "reject"),
            Some(Finding::AnsweredElsewhere {
                reply: "reject".to_owned()
            })
        );
    }

    #[test]
    fn a_try_that_may_have_arrived_makes_the_announcement_ours() {
        let mut flights = departed(false);
        assert_eq!(flights.land("per_1", Landing::Unanswered), Finding::Wait);
        assert_eq!(flights.announce("per_1", "once"), Some(Finding::Delivered));
    }

    #[test]
    fn an_unknown_request_without_an_announcement_is_looked_at_again() {
        let mut flights = departed(false);
        assert_eq!(
            flights.land("per_1", Landing::Unknown),
            Finding::LookAgain {
                perhaps_ours: false
            }
        );
        let mut flights = departed(true);
        assert_eq!(
            flights.land("per_1", Landing::Unknown),
            Finding::LookAgain { perhaps_ours: true }
        );
    }

    proptest! {
        #[test]
        fn delivered_needs_an_announcement_of_what_we_said_and_a_reply_that_could_have_caused_it(
            steps in prop::collection::vec(0..5_u8, 1..12),
        ) {
            let mut flights = departed(false);
            let (mut could_be_ours, mut announced) = (false, false);
            for step in steps {
                let finding = match step {
                    0 => { could_be_ours = true; flights.land("per_1", Landing::Accepted) }
                    1 => flights.land("per_1", Landing::Unknown),
                    2 => { could_be_ours = true; flights.land("per_1", Landing::Unanswered) }
                    3 => { announced = true; flights.announce("per_1", "once").unwrap() }
                    _ => { flights.depart("per_1", "once", false); Finding::Wait }
                };
                if finding == Finding::Delivered {
                    prop_assert!(could_be_ours && announced);
                }
            }
        }
    }
}
