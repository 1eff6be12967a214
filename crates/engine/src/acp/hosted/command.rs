//! The command line of a `terminal/create`: what a person reads is what a shell would have to be given for the same.

use agent_client_protocol_schema::v1::CreateTerminalRequest;

use crate::acp::ask::identity::{is_plain, quoted};

/// The shell that runs what is no plain program.
const SHELL: &str = "/bin/sh";

/// Shells that run the text behind `-c`.
const SHELLS: [&str; 8] = [
    "sh",
    "/bin/sh",
    "/usr/bin/sh",
    "bash",
    "/bin/bash",
    "/usr/bin/bash",
    "zsh",
    "/bin/zsh",
];

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// As a shell would have to be given it.
    pub text: String,
    /// The program that is started.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

impl CommandLine {
    /// What `request` wants run; nothing if it names no command.
    ///
    /// With arguments it is a program and its words. Without, agents give a whole line for a shell, which a plain word is
    /// too.
    pub fn of(request: &CreateTerminalRequest) -> Option<Self> {
        let CreateTerminalRequest { command, args, .. } = request;
        let has_nul = |text: &String| text.contains('\0');
        if command.trim().is_empty() || has_nul(command) || args.iter().any(has_nul) {
            return None;
        }
        Some(if !args.is_empty() {
            let words = std::iter::once(command).chain(args);
            Self {
                text: words.map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
                program: command.clone(),
                args: args.clone(),
            }
        } else if is_plain(command) {
            Self {
                text: command.clone(),
                program: command.clone(),
                args: Vec::new(),
            }
        } else {
            Self {
                text: command.clone(),
                program: SHELL.to_owned(),
                args: vec!["-c".to_owned(), command.clone()],
            }
        })
    }

    /// Whether a shell that is given `text` would do exactly this.
    pub(super) fn is(&self, text: &str) -> bool {
        let unwrapped = match self.args.as_slice() {
            [flag, inner] if (flag == "-c" || flag == "-lc") && self.is_shell() => Some(inner),
            _ => None,
        };
        self.text == text || unwrapped.is_some_and(|inner| inner == text)
    }

    fn is_shell(&self) -> bool {
        SHELLS.contains(&self.program.as_str())
    }
}
