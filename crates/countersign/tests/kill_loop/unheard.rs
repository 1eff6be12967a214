//! What an engine asked and the ledger has nothing of, and whether a server could have known of it.
//!
//! A denial takes the other asks of its session with it, inside the engine. One that is asked while a denial is on its
//! way can be gone before any server has written it down, if the server is killed just then. That is the one excuse, and
//! it holds only if nothing shows that a server was told: by a stream of events, which is read in order, or by the lists,
//! which are read before the first answer leaves.

use std::collections::BTreeMap;

use countersign_core::time::Timestamp;
use countersign_testkit::scripted_opencode::Happening;
use serde_json::Value;

/// A place in what happened at the engine.
type Moment = usize;

/// One ask, as the engine knows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asked<'a> {
    pub(crate) id: &'a str,
    pub(crate) command: &'a str,
    at: Moment,
    /// When the engine dropped it by itself.
    fell: Option<Moment>,
}

/// An answer that the engine took.
struct Reply {
    at: Moment,
    answered_at: Timestamp,
    /// Whether a server heard the engine announce it.
    heard: bool,
}

/// What the engine went through, next to what the ledger says.
pub(crate) struct Comparison<'a> {
    asked: Vec<Asked<'a>>,
    ledger: BTreeMap<&'a str, &'a Value>,
    /// When a server began to listen.
    streams: Vec<(Moment, i64)>,
    replies: Vec<Reply>,
}

impl<'a> Comparison<'a> {
    /// Compares what happened at the engine with the asks of the ledger.
    pub(crate) fn new(happenings: &'a [Happening], asks: &'a [Value]) -> Self {
        let by_id = |ask: &'a Value| Some((ask["raw"]["id"].as_str()?, ask));
        let mut comparison = Self {
            asked: Vec::new(),
            ledger: asks.iter().filter_map(by_id).collect(),
            streams: Vec::new(),
            replies: Vec::new(),
        };
        for (at, happening) in happenings.iter().enumerate() {
            match happening {
                Happening::Listened { at_micros } => comparison.streams.push((at, *at_micros)),
                Happening::Asked { id, command } => comparison.asked.push(Asked {
                    id,
                    command,
                    at,
                    fell: None,
                }),
                Happening::Replied { id } => {
                    let reply = comparison.ledger.get(id.as_str());
                    let reply = reply.and_then(|ask| read_reply(at, ask));
                    comparison.replies.extend(reply);
                }
                Happening::Fell { id } => {
                    let mut asked = comparison.asked.iter_mut();
                    if let Some(fallen) = asked.find(|asked| asked.id == id) {
                        fallen.fell = Some(at);
                    }
                }
            }
        }
        comparison
    }

    /// What the engine asked and the ledger has nothing of.
    pub(crate) fn unheard(&self) -> impl Iterator<Item = &Asked<'a>> {
        let unheard = |asked: &&Asked| !self.ledger.contains_key(asked.id);
        self.asked.iter().filter(unheard)
    }

    /// Of that, what a server was told.
    pub(crate) fn lost(&self) -> Vec<&Asked<'a>> {
        self.unheard()
            .filter(|asked| self.was_told(asked))
            .collect()
    }

    /// How many asks fell, and how many of them a server was told of.
    pub(crate) fn fallen(&self) -> (usize, usize) {
        let fallen = self.asked.iter().filter(|asked| asked.fell.is_some());
        let told = fallen.clone().filter(|asked| self.was_told(asked));
        (fallen.count(), told.count())
    }

    fn was_told(&self, asked: &Asked) -> bool {
        let Some(fell) = asked.fell else {
            // It was there until it got its reply.
            return true;
        };
        let next_stream = self
            .streams
            .iter()
            .map(|(at, _)| *at)
            .find(|at| *at > asked.at)
            .unwrap_or(Moment::MAX);
        // Nobody can have heard this reply but on the stream on which the ask was announced before it.
        let by_stream = |reply: &Reply| reply.heard && (asked.at..next_stream).contains(&reply.at);
        // Who sent this reply had read the lists after the ask was there, and before it fell.
        let by_list = |reply: &Reply| {
            self.streams.iter().any(|(listened, at_micros)| {
                *listened > asked.at
                    && (*listened..fell).contains(&reply.at)
                    && reply.answered_at.as_micros() > *at_micros
            })
        };
        self.replies
            .iter()
            .any(|reply| by_stream(reply) || by_list(reply))
    }
}

fn read_reply(at: Moment, ask: &Value) -> Option<Reply> {
    let answered_at = serde_json::from_value(ask["answer"]["at"].clone()).ok()?;
    let heard = ask["delivery"]["evidence"]["kind"] == "announced";
    Some(Reply {
        at,
        answered_at,
        heard,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listened(at_micros: i64) -> Happening {
        Happening::Listened { at_micros }
    }

    fn asked(id: &str) -> Happening {
        Happening::Asked {
            id: id.to_owned(),
            command: String::new(),
        }
    }

    fn replied(id: &str) -> Happening {
        Happening::Replied { id: id.to_owned() }
    }

    fn fell(id: &str) -> Happening {
        Happening::Fell { id: id.to_owned() }
    }

    /// An ask of the ledger, answered so many microseconds after 1970.
    fn delivered(id: &str, micros: i64, evidence: &str) -> Value {
        json!({
            "raw": {"id": id},
            "answer": {"at": Timestamp::from_micros(micros)},
            "delivery": {"evidence": {"kind": evidence}},
        })
    }

    fn lost(happenings: &[Happening], ledger: &[Value]) -> Vec<String> {
        let comparison = Comparison::new(happenings, ledger);
        let lost = comparison.lost();
        lost.iter().map(|asked| asked.id.to_owned()).collect()
    }

    #[test]
    fn what_did_not_fall_is_never_excused() {
        assert_eq!(lost(&[asked("a")], &[]), ["a"]);
        let ledger = [delivered("a", 1, "announced")];
        assert!(lost(&[asked("a"), replied("a")], &ledger).is_empty());
    }

    #[test]
    fn what_fell_before_anything_later_was_heard_is_excused() {
        let happened = [
            listened(10),
            asked("no"),
            asked("a"),
            replied("no"),
            fell("a"),
        ];
        // The server was killed; the next one found the denial in the tool.
        let ledger = [delivered("no", 20, "tool_state")];
        assert!(lost(&happened, &ledger).is_empty());
        assert_eq!(Comparison::new(&happened, &ledger).fallen(), (1, 0));
    }

    #[test]
    fn what_was_announced_before_something_that_was_heard_is_not() {
        let happened = [
            listened(10),
            asked("no"),
            asked("a"),
            replied("no"),
            fell("a"),
        ];
        assert_eq!(lost(&happened, &[delivered("no", 20, "announced")]), ["a"]);
        let later = [&happened[..], &[listened(30), asked("b"), replied("b")]].concat();
        let ledger = [
            delivered("no", 20, "tool_state"),
            delivered("b", 40, "announced"),
        ];
        assert!(
            lost(&later, &ledger).is_empty(),
            "another stream tells nothing of it"
        );
    }

    #[test]
    fn what_was_in_the_lists_when_an_answer_left_is_not() {
        let happened = [
            asked("no"),
            asked("a"),
            listened(10),
            replied("no"),
            fell("a"),
        ];
        let of_this_server = [delivered("no", 20, "tool_state")];
        assert_eq!(lost(&happened, &of_this_server), ["a"]);
        let of_the_one_before = [delivered("no", 5, "tool_state")];
        assert!(lost(&happened, &of_the_one_before).is_empty());
    }
}
