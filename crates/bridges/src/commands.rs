//! What people say to the bridge and not to the agent.

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// Begin anew in this thread.
    New,
    /// Stop what goes on.
    Stop,
    /// How the session stands.
    Status,
    /// The jobs.
    Jobs,
    /// Use this engine from now on, or say which there are.
    Engine(Option<String>),
    /// Use this model from now on, or say which is used.
    Model(Option<String>),
    /// Answer an ask: its name, and the number of an option or the words of an answer.
    Allow {
        token: Option<String>,
        words: String,
    },
    /// Deny an ask, with a reason.
    Deny {
        token: Option<String>,
        reason: String,
    },
    /// What can be said.
    Help,
    /// Something that is no command.
    Unknown(String),
}

impl Command {
    /// Whether it is about an ask: then it goes before everything that waits for that.
    pub(crate) const fn is_answer(&self) -> bool {
        matches!(self, Self::Allow { .. } | Self::Deny { .. })
    }

    /// Reads a text that begins with `/` or with the platform's own sign.
    pub(crate) fn read(text: &str, sign: char) -> Option<Self> {
        let rest = text.trim().strip_prefix(['/', sign])?;
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let is_word = !name.is_empty() && name.chars().all(|sign| sign.is_ascii_alphabetic());
        is_word.then(|| Self::named(name, arguments))
    }

    /// The command of this name.
    pub(crate) fn named(name: &str, arguments: &str) -> Self {
        let arguments = arguments.trim();
        let said = (!arguments.is_empty()).then(|| arguments.to_owned());
        match name.to_ascii_lowercase().as_str() {
            "new" => Self::New,
            "stop" => Self::Stop,
            "status" => Self::Status,
            "jobs" => Self::Jobs,
            "engine" => Self::Engine(said),
            "model" => Self::Model(said),
            "allow" => {
                let (token, words) = token(arguments);
                Self::Allow { token, words }
            }
            "deny" => {
                let (token, reason) = token(arguments);
                Self::Deny { token, reason }
            }
            "help" => Self::Help,
            unknown => Self::Unknown(unknown.to_owned()),
        }
    }
}

/// The name of a card at the beginning of `arguments`, and the rest.
fn token(arguments: &str) -> (Option<String>, String) {
    let (first, rest) = arguments
        .split_once(char::is_whitespace)
        .unwrap_or((arguments, ""));
    let is_token = first.len() == 8
        && first
            .chars()
            .all(|sign| sign.is_ascii_digit() || sign.is_ascii_lowercase());
    if is_token {
        (Some(first.to_owned()), rest.trim().to_owned())
    } else {
        (None, arguments.trim().to_owned())
    }
}

/// What can be said: each command with what comes after it, and what it means.
pub(crate) const COMMANDS: [(&str, &str); 9] = [
    ("new", "begin anew in this thread"),
    ("stop", "stop what goes on"),
    ("status", "how the session stands"),
    ("jobs", "the newest jobs"),
    ("engine [name]", "use another engine, in a new session"),
    ("model [name]", "use another model"),
    (
        "allow [name] [number or words]",
        "answer an ask; without a number: allow it once",
    ),
    ("deny [name] [why]", "deny an ask; the agent reads why"),
    ("help", "this"),
];

/// What can be said, as people read it.
pub(crate) fn help(sign: char) -> String {
    COMMANDS
        .map(|(command, meaning)| format!("{sign}{command}: {meaning}"))
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_either_sign_and_paths_are_none() {
        assert_eq!(Command::read("/stop", '!'), Some(Command::Stop));
        assert_eq!(Command::read(" !Stop now", '!'), Some(Command::Stop));
        assert_eq!(Command::read("/usr/bin/ls is odd", '!'), None);
        assert_eq!(Command::read("stop", '!'), None);
        assert_eq!(
            Command::read("/allow k3f9x2ab 2", '!'),
            Some(Command::Allow {
                token: Some("k3f9x2ab".to_owned()),
                words: "2".to_owned()
            })
        );
        assert_eq!(
            Command::read("!deny too dangerous", '!'),
            Some(Command::Deny {
                token: None,
                reason: "too dangerous".to_owned()
            })
        );
        assert_eq!(
            Command::read("/frobnicate", '/'),
            Some(Command::Unknown("frobnicate".to_owned()))
        );
    }
}
