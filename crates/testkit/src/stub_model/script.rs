//! Reads directives out of a prompt.

use std::time::Duration;

/// What a prompt tells the model to do, one step per model call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// The steps, the closing words last.
    pub(super) steps: Vec<Step>,
    /// How long to pause between deltas.
    pub(super) pause: Duration,
    /// Whether the closing words are what came of the last tool.
    pub(super) echoes: bool,
}

/// One assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Step {
    /// What to say first.
    pub(super) text: Option<String>,
    /// The tools to call together; none in the last step.
    pub(super) calls: Vec<Call>,
    /// What is to go wrong.
    pub(super) fault: Option<Fault>,
}

/// One tool call as the prompt words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// A tool with the short form of its arguments.
    Short { tool: String, argument: String },
    /// A tool with its arguments as JSON text.
    Json { tool: String, arguments: String },
}

/// What goes wrong instead of, or after, an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    /// How often, for ever if not said.
    pub(super) times: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Status(u16),
    Drop,
    Stall,
}

impl Script {
    /// Reads `text`, and returns nothing when no line of it is a directive.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut script = Self::default();
        let mut next = Step::default();
        let mut last_words = None;
        let mut found = false;
        for line in text.lines().map(str::trim) {
            let Some(directive) = Directive::parse(line) else {
                continue;
            };
            found = true;
            match directive {
                Directive::Call(call) => {
                    next.calls.push(call);
                    script.steps.push(std::mem::take(&mut next));
                }
                Directive::ParallelCall(call) => match script.steps.last_mut() {
                    Some(step) => step.calls.push(call),
                    None => script.steps.push(Step {
                        calls: vec![call],
                        ..std::mem::take(&mut next)
                    }),
                },
                Directive::Say(text) => next.text = Some(text),
                Directive::Slow(pause) => script.pause = pause,
                Directive::Fault(fault) => next.fault = Some(fault),
                Directive::Final(text) => last_words = Some(text),
                Directive::Echo => script.echoes = true,
            }
        }
        let last_words = last_words.unwrap_or_else(|| "DONE".to_owned());
        next.text = Some(match next.text {
            Some(before) => format!("{before} {last_words}"),
            None => last_words,
        });
        script.steps.push(next);
        found.then_some(script)
    }

    /// Returns which step is next when so many tool results have come back.
    pub(super) fn step_after(&self, results: usize) -> usize {
        let mut called = 0;
        let due = self.steps.iter().position(|step| {
            called += step.calls.len();
            called > results
        });
        due.unwrap_or(self.steps.len() - 1)
    }
}

enum Directive {
    Call(Call),
    ParallelCall(Call),
    Say(String),
    Slow(Duration),
    Fault(Fault),
    Final(String),
    Echo,
}

impl Directive {
    fn parse(line: &str) -> Option<Self> {
        if let Some(call) = line.strip_prefix("& ") {
            return Call::parse(call.trim_start()).map(Self::ParallelCall);
        }
        if let Some(call) = Call::parse(line) {
            return Some(Self::Call(call));
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let fault = |kind, times: &str| {
            let times = if times.is_empty() {
                None
            } else {
                Some(times.parse().ok()?)
            };
            Some(Self::Fault(Fault { kind, times }))
        };
        match word {
            "SAY" => Some(Self::Say(rest.to_owned())),
            "FINAL" => Some(Self::Final(rest.to_owned())),
            "ECHO" if rest.is_empty() => Some(Self::Echo),
            "SLOW" => Some(Self::Slow(Duration::from_millis(rest.parse().ok()?))),
            "DROP" => fault(FaultKind::Drop, rest),
            "STALL" => fault(FaultKind::Stall, rest),
            "HTTPERR" => {
                let (code, times) = rest.split_once(' ').unwrap_or((rest, ""));
                fault(FaultKind::Status(code.parse().ok()?), times.trim())
            }
            _ => None,
        }
    }
}

impl Call {
    fn parse(line: &str) -> Option<Self> {
        if let Some(rest) = line.strip_prefix("TOOLJSON ") {
            let (tool, arguments) = rest.trim_start().split_once(' ')?;
            return Some(Self::Json {
                tool: tool.to_owned(),
                arguments: arguments.trim().to_owned(),
            });
        }
        let (tool, argument) = line.strip_prefix("TOOL ")?.split_once(':')?;
        Some(Self::Short {
            tool: tool.trim().to_owned(),
            argument: argument.trim().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(command: &str) -> Call {
        Call::Short {
            tool: "bash".into(),
            argument: command.into(),
        }
    }

    #[test]
    fn prose_is_no_script() {
        assert_eq!(Script::parse("please TOOL up\nand DROPPED it"), None);
    }

    #[test]
    fn a_parallel_call_joins_the_step_before_it() {
        let script =
            Script::parse("TOOL bash: a: b\n& TOOL bash: c\nTOOL bash: d\nFINAL bye").unwrap();
        let calls: Vec<_> = script
            .steps
            .iter()
            .map(|step| step.calls.as_slice())
            .collect();
        assert_eq!(calls, [&[bash("a: b"), bash("c")][..], &[bash("d")], &[]]);
        assert_eq!(script.steps[2].text.as_deref(), Some("bye"));
    }

    #[test]
    fn the_next_step_follows_from_the_number_of_results() {
        let script = Script::parse("TOOL bash: a\n& TOOL bash: b\nTOOL bash: c").unwrap();
        let steps: Vec<_> = (0..5).map(|results| script.step_after(results)).collect();
        assert_eq!(steps, [0, 0, 1, 2, 2]);
    }

    #[test]
    fn what_is_said_and_what_goes_wrong_belong_to_the_step_that_follows() {
        let script = Script::parse("SAY hm\nHTTPERR 500 2\nTOOL bash: a\nSAY so\nDROP").unwrap();
        let first = &script.steps[0];
        assert_eq!(first.text.as_deref(), Some("hm"));
        let fault = Fault {
            kind: FaultKind::Status(500),
            times: Some(2),
        };
        assert_eq!(first.fault, Some(fault));
        let last = &script.steps[1];
        assert_eq!(last.text.as_deref(), Some("so DONE"));
        assert_eq!(
            last.fault,
            Some(Fault {
                kind: FaultKind::Drop,
                times: None
            })
        );
    }
}
