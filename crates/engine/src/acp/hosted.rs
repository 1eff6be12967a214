//! What an agent wants done by its host: files read and written, commands run. What is wanted becomes an ask like any
//! other, complete, and bound to what will be done; or it was just asked ([`leave`]).
//!
//! An ask of this kind is known by [`Hosted::of`]: its record was made here, and has what an agent cannot put there.

mod asking;
mod command;
pub mod leave;

pub use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, ReadTextFileRequest, WriteTextFileRequest,
};
use agent_client_protocol_schema::v1::{
    CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse, ReadTextFileResponse,
    ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus, TerminalOutputRequest,
    TerminalOutputResponse, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
    WriteTextFileResponse,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use asking::{Hosted, HostedAct, WantedCommand, WantedWrite, command_ask, write_ask};
pub use command::CommandLine;

use crate::acp::initialize::{Files, HostAbilities};
use crate::acp::message::{self, RpcError, RpcId};
use crate::files::FileError;
use crate::keeper::{ExitStatus, Printed, TerminalError};

/// Something that an agent wants its host to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRequest {
    /// A file is to be read.
    Read(ReadTextFileRequest),
    /// A file is to be written.
    Write(WriteTextFileRequest),
    /// A command is to run.
    Create(CreateTerminalRequest),
    /// What a command printed.
    Output(String),
    /// The end of a command.
    Wait(String),
    /// A command is to end.
    Kill(String),
    /// A command is to end, and be forgotten.
    Release(String),
}

/// What a request of this kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostMethod {
    /// `fs/read_text_file`.
    Read,
    /// `fs/write_text_file`.
    Write,
    /// `terminal/create`.
    Create,
    /// `terminal/output`.
    Output,
    /// `terminal/wait_for_exit`.
    Wait,
    /// `terminal/kill`.
    Kill,
    /// `terminal/release`.
    Release,
}

impl HostMethod {
    const ALL: [Self; 7] = [
        Self::Read,
        Self::Write,
        Self::Create,
        Self::Output,
        Self::Wait,
        Self::Kill,
        Self::Release,
    ];

    /// The method's name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "fs/read_text_file",
            Self::Write => "fs/write_text_file",
            Self::Create => "terminal/create",
            Self::Output => "terminal/output",
            Self::Wait => "terminal/wait_for_exit",
            Self::Kill => "terminal/kill",
            Self::Release => "terminal/release",
        }
    }

    /// The method called `name`, if it is one of these.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether an agent with these abilities was told that it can have this done.
    pub const fn is_offered(self, abilities: HostAbilities) -> bool {
        match (self, abilities.files) {
            (Self::Read, Files::Read | Files::ReadWrite) | (Self::Write, Files::ReadWrite) => true,
            (Self::Read, Files::None) | (Self::Write, Files::None | Files::Read) => false,
            (Self::Create | Self::Output | Self::Wait | Self::Kill | Self::Release, _) => {
                abilities.terminal
            }
        }
    }
}

impl HostRequest {
    /// Reads what goes with `method`, and for which session it is.
    pub fn read(method: HostMethod, params: &Value) -> Result<(String, Self), serde_json::Error> {
        Ok(match method {
            HostMethod::Read => {
                let read: ReadTextFileRequest = parse(params)?;
                (read.session_id.0.to_string(), Self::Read(read))
            }
            HostMethod::Write => {
                let write: WriteTextFileRequest = parse(params)?;
                (write.session_id.0.to_string(), Self::Write(write))
            }
            HostMethod::Create => {
                let create: CreateTerminalRequest = parse(params)?;
                (create.session_id.0.to_string(), Self::Create(create))
            }
            HostMethod::Output => {
                let it: TerminalOutputRequest = parse(params)?;
                let terminal = it.terminal_id.0.to_string();
                (it.session_id.0.to_string(), Self::Output(terminal))
            }
            HostMethod::Wait => {
                let it: WaitForTerminalExitRequest = parse(params)?;
                let terminal = it.terminal_id.0.to_string();
                (it.session_id.0.to_string(), Self::Wait(terminal))
            }
            HostMethod::Kill => {
                let it: KillTerminalRequest = parse(params)?;
                let terminal = it.terminal_id.0.to_string();
                (it.session_id.0.to_string(), Self::Kill(terminal))
            }
            HostMethod::Release => {
                let it: ReleaseTerminalRequest = parse(params)?;
                let terminal = it.terminal_id.0.to_string();
                (it.session_id.0.to_string(), Self::Release(terminal))
            }
        })
    }
}

fn parse<T: DeserializeOwned>(params: &Value) -> Result<T, serde_json::Error> {
    T::deserialize(params)
}

/// What was done for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostResponse {
    /// This text was read.
    Read(String),
    /// The file is written.
    Written,
    /// The command runs, under this id.
    Created(String),
    /// This is what the command printed.
    Printed(Printed),
    /// So the command ended.
    Ended(ExitStatus),
    /// It is killed.
    Killed,
    /// It is released.
    Released,
}

impl HostResponse {
    /// The line that tells the agent.
    pub fn line(&self, id: &RpcId) -> Vec<u8> {
        match self {
            Self::Read(text) => message::result(id, &ReadTextFileResponse::new(text.as_str())),
            Self::Written => message::result(id, &WriteTextFileResponse::new()),
            Self::Created(terminal) => {
                message::result(id, &CreateTerminalResponse::new(terminal.clone()))
            }
            Self::Printed(printed) => {
                let exit = printed.exit.as_ref().map(exit_status);
                let output = TerminalOutputResponse::new(printed.text.as_str(), printed.truncated);
                message::result(id, &output.exit_status(exit))
            }
            Self::Ended(status) => {
                message::result(id, &WaitForTerminalExitResponse::new(exit_status(status)))
            }
            Self::Killed => message::result(id, &KillTerminalResponse::new()),
            Self::Released => message::result(id, &ReleaseTerminalResponse::new()),
        }
    }
}

fn exit_status(status: &ExitStatus) -> TerminalExitStatus {
    let said = TerminalExitStatus::new();
    match status {
        ExitStatus::Code(code) => said.exit_code(u32::try_from(*code).unwrap_or(u32::MAX)),
        ExitStatus::Signal(signal) => said.signal(signal_name(*signal)),
        ExitStatus::NotStarted(_) | ExitStatus::Unknown => said,
    }
}

fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        3 => "SIGQUIT".to_owned(),
        6 => "SIGABRT".to_owned(),
        9 => "SIGKILL".to_owned(),
        11 => "SIGSEGV".to_owned(),
        13 => "SIGPIPE".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

/// Why something was not done for an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The number of the error.
    pub code: i64,
    /// Its words, for the agent and its model.
    pub message: String,
}

impl Refusal {
    /// It was denied, by a person or a rule, perhaps with a reason.
    pub fn denied(reason: Option<&str>) -> Self {
        Self {
            code: RpcError::DENIED,
            message: match reason {
                Some(reason) => format!("This was denied. The reason: {reason}"),
                None => "This was denied.".to_owned(),
            },
        }
    }

    /// Nobody answered in time.
    pub fn unanswered() -> Self {
        Self {
            code: RpcError::DENIED,
            message: "Nobody answered in time, so it is not allowed.".to_owned(),
        }
    }

    /// The turn is over, or the agent took the request back.
    pub fn cancelled() -> Self {
        Self {
            code: RpcError::CANCELLED,
            message: "The request was cancelled.".to_owned(),
        }
    }

    /// The request is not right.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: RpcError::INVALID_PARAMS,
            message: message.into(),
        }
    }

    /// Something went wrong here.
    pub fn failed(message: impl Into<String>) -> Self {
        Self {
            code: RpcError::INTERNAL,
            message: message.into(),
        }
    }

    /// The line that tells the agent.
    pub fn line(&self, id: &RpcId) -> Vec<u8> {
        message::error(id, self.code, &self.message)
    }
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Self {
        let message = error.to_string();
        let code = match error {
            FileError::Missing => RpcError::NOT_FOUND,
            FileError::Relative
            | FileError::Outside
            | FileError::NoPlace
            | FileError::NotAFile
            | FileError::TooLarge { .. }
            | FileError::NotText => RpcError::INVALID_PARAMS,
            FileError::Changed | FileError::Replaced | FileError::System(_) => RpcError::INTERNAL,
        };
        Self { code, message }
    }
}

impl From<TerminalError> for Refusal {
    fn from(error: TerminalError) -> Self {
        let code = match error {
            TerminalError::Unknown => RpcError::NOT_FOUND,
            TerminalError::Refused(_) | TerminalError::Keeper(_) => RpcError::INTERNAL,
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
