//! Exit codes, and the failures that have one of their own.

use std::process::ExitCode;

use countersign_api::{ErrorBody, ErrorCode};

/// How a command ended; scripts may rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Success,
    /// Something failed.
    Failed,
    /// The command line cannot be understood.
    Usage,
    /// Somebody else answered first.
    SomebodyWasFirst,
    /// A grant is missing, or the token opens nothing.
    NotAllowed,
    /// There is no such ask, session, rule or token.
    NotFound,
    /// The ask ended without an answer.
    Over,
    /// There is no server to talk to.
    NoServer,
    /// The server was stopped, or was gone for too long, while the command waited.
    ServerLeft,
    /// The server is there and does not answer.
    ServerSilent,
    /// What was waited for has not ended; the commands of jobs say it with the 2 that scripts know.
    StillRunning,
}

impl Exit {
    /// The number that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage | Self::StillRunning => 2,
            Self::SomebodyWasFirst => 3,
            Self::NotAllowed => 4,
            Self::NotFound => 5,
            Self::Over => 6,
            Self::NoServer => 7,
            Self::ServerLeft => 8,
            Self::ServerSilent => 9,
        }
    }

    /// How a command of jobs ends that would have ended so: scripts know 0, 1 and 2 alone of them, and what becomes of
    /// the server is none of these.
    pub(crate) const fn of_jobs(self) -> Self {
        match self {
            Self::Success | Self::StillRunning | Self::ServerLeft | Self::ServerSilent => self,
            Self::Failed
            | Self::Usage
            | Self::SomebodyWasFirst
            | Self::NotAllowed
            | Self::NotFound
            | Self::Over
            | Self::NoServer => Self::Failed,
        }
    }

    /// How the command ended that failed with `error`.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        error
            .downcast_ref::<Failure>()
            .map_or(Self::Failed, Failure::exit)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<ErrorCode> for Exit {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::AlreadyAnswered => Self::SomebodyWasFirst,
            ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::ForbiddenOrigin => {
                Self::NotAllowed
            }
            ErrorCode::NotFound => Self::NotFound,
            ErrorCode::Over => Self::Over,
            ErrorCode::BadRequest
            | ErrorCode::MethodNotAllowed
            | ErrorCode::Conflict
            | ErrorCode::TooLarge
            | ErrorCode::UnsupportedMediaType
            | ErrorCode::Unprocessable
            | ErrorCode::TooMany
            | ErrorCode::Internal
            | ErrorCode::Unavailable => Self::Failed,
        }
    }
}

/// A failure whose exit code says more than "something failed".
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line makes no sense as it is.
    #[error("{0}")]
    Usage(String),
    /// Nothing listens where a server should.
    #[error(
        "{0}\nStart one with `countersign up`, or with `countersign serve --workspace DIRECTORY`"
    )]
    NoServer(String),
    /// The server that a command waited for went away.
    #[error("{sentence}\n{next}")]
    ServerLeft {
        /// How it went.
        sentence: String,
        /// What to do next.
        next: String,
    },
    /// The server is there and does not answer.
    #[error("{0}")]
    ServerSilent(String),
    /// What an id was meant to name is not there.
    #[error("{0}")]
    NotFound(String),
    /// The server said no.
    #[error("{sentence}")]
    Refused {
        /// What to tell the person.
        sentence: String,
        /// What the server said.
        body: Box<ErrorBody>,
        /// The same, byte for byte.
        raw: String,
    },
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::NoServer(_) => Exit::NoServer,
            Self::ServerLeft { .. } => Exit::ServerLeft,
            Self::ServerSilent(_) => Exit::ServerSilent,
            Self::NotFound(_) => Exit::NotFound,
            Self::Refused { body, .. } => body.code.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn the_numbers_are_the_documented_ones() {
        let codes = [
            Exit::Success,
            Exit::Failed,
            Exit::Usage,
            Exit::SomebodyWasFirst,
            Exit::NotAllowed,
            Exit::NotFound,
            Exit::Over,
            Exit::NoServer,
            Exit::ServerLeft,
            Exit::ServerSilent,
        ]
        .map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn what_the_server_says_has_its_exit_code() {
        for (code, exit) in [
            (ErrorCode::AlreadyAnswered, 3),
            (ErrorCode::Unauthorized, 4),
            (ErrorCode::Forbidden, 4),
            (ErrorCode::ForbiddenOrigin, 4),
            (ErrorCode::NotFound, 5),
            (ErrorCode::Over, 6),
            (ErrorCode::Unprocessable, 1),
            (ErrorCode::Internal, 1),
        ] {
            assert_eq!(Exit::from(code).code(), exit, "{code:?}");
        }
    }

    #[test]
    fn context_does_not_hide_the_exit_code() {
        let failed: anyhow::Result<()> = Err(Failure::NoServer("nobody".to_owned()).into());
        let error = failed.context("failed to list the asks").unwrap_err();
        assert_eq!(Exit::of(&error), Exit::NoServer);
        assert_eq!(Exit::of(&anyhow::anyhow!("else")), Exit::Failed);
    }
}
