//! What a prompt means to this agent.

/// What the agent says about itself, with the directives that it understands.
pub const HELP: &str = "\
I am the demo agent of Countersign. I need no model, no key and no network: what I do is scripted, but I do it for real.

Say anything, and I do a short piece of work in this session's directory: I read something, ask you a question, write \
a note into `countersign-demo.md`, and count its lines with a command. I ask before I change or run anything. Allow it, \
and I do it. Deny it, and I leave it and go on with the rest. Cancel, and I stop.

Send files or images along, and I say what I got; I look at nothing else of them.

With directives, one a line, you say what I do instead:

- `RUN <command>` runs a shell command, if it is allowed
- `EDIT <path> <text>` writes the text into a file of the directory, if it is allowed
- `SAY <text>` says the text
- `ASK <question> | <choice> | <choice>` asks a question; without choices, the answer is free
- `FLOOD <n>` says n small pieces of text, as fast as they are taken
- `WAIT` waits until it is cancelled

In the mode `plan` I only say what I would do.
";

/// What to do in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Script {
    /// Explain itself.
    Help,
    /// Take note of why something was denied, which a host says after the denial.
    Reason(String),
    /// The short piece of work.
    Tour,
    /// What the prompt says, line by line.
    Directives(Vec<Directive>),
}

/// One line of a scripted prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Directive {
    Run(String),
    Edit {
        path: String,
        text: String,
    },
    Say(String),
    Ask {
        question: String,
        choices: Vec<String>,
    },
    Flood(u32),
    Wait,
    /// A line that begins like a directive and is none.
    Unclear(String),
}

impl Script {
    /// Reads a prompt. If it has directives, its other lines mean nothing.
    pub(crate) fn read(prompt: &str) -> Self {
        let directives: Vec<_> = prompt.lines().filter_map(Directive::read).collect();
        if !directives.is_empty() {
            return Self::Directives(directives);
        }
        let word = prompt.trim().trim_start_matches('/').to_lowercase();
        if matches!(word.as_str(), "help" | "?") {
            return Self::Help;
        }
        match prompt.split_once(" was denied. The reason: ") {
            Some((_, reason)) => Self::Reason(reason.trim().to_owned()),
            None => Self::Tour,
        }
    }
}

impl Directive {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let read = match word {
            "RUN" => Some(rest)
                .filter(|command| !command.is_empty())
                .map(|command| Self::Run(command.to_owned())),
            "EDIT" => rest.split_once(' ').map(|(path, text)| Self::Edit {
                path: path.to_owned(),
                text: text.trim().to_owned(),
            }),
            "SAY" => Some(Self::Say(rest.to_owned())),
            "ASK" => {
                let mut parts = rest.split('|').map(|part| part.trim().to_owned());
                let question = parts.next().filter(|question| !question.is_empty());
                question.map(|question| Self::Ask {
                    question,
                    choices: parts.filter(|choice| !choice.is_empty()).collect(),
                })
            }
            "FLOOD" => rest.parse().ok().map(Self::Flood),
            "WAIT" => rest.is_empty().then_some(Self::Wait),
            _ => return None,
        };
        Some(read.unwrap_or_else(|| Self::Unclear(line.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read_line_by_line_and_other_lines_mean_nothing() {
        let prompt = "Please:\n  RUN echo a | wc -l\nEDIT notes/a.md one two\nSAY hello there\n\
            ASK Which? | red | blue\nASK Why?\nFLOOD 12\nWAIT\nFLOOD many";
        let expected = [
            Directive::Run("echo a | wc -l".into()),
            Directive::Edit {
                path: "notes/a.md".into(),
                text: "one two".into(),
            },
            Directive::Say("hello there".into()),
            Directive::Ask {
                question: "Which?".into(),
                choices: vec!["red".into(), "blue".into()],
            },
            Directive::Ask {
                question: "Why?".into(),
                choices: vec![],
            },
            Directive::Flood(12),
            Directive::Wait,
            Directive::Unclear("FLOOD many".into()),
        ];
        assert_eq!(Script::read(prompt), Script::Directives(expected.into()));
    }

    #[test]
    fn help_explains_and_anything_else_is_the_tour() {
        for help in ["help", " /help\n", "Help", "?"] {
            assert_eq!(Script::read(help), Script::Help, "{help:?}");
        }
        for other in ["", "hello", "help me to run away", "running late"] {
            assert_eq!(Script::read(other), Script::Tour, "{other:?}");
        }
    }

    #[test]
    fn the_reason_of_a_denial_does_not_start_the_work_again() {
        let told = "`rm -r .` was denied. The reason: not on a Monday";
        assert_eq!(Script::read(told), Script::Reason("not on a Monday".into()));
    }
}
