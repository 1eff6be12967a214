//! What the client does for the agent, where it says that it can: files are read and written, commands run.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    AgentRequest, ClientCapabilities, CreateTerminalRequest, CreateTerminalResponse, Error,
    ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest, TerminalId,
    TerminalOutputRequest, TerminalOutputResponse, WaitForTerminalExitRequest,
    WriteTextFileRequest,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Turn;

/// The most that the client is to keep of what a command prints.
const KEPT: u64 = 1 << 16;

/// What the client can do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Host {
    /// Read files.
    pub(crate) reads: bool,
    /// Write files.
    pub(crate) writes: bool,
    /// Run commands.
    pub(crate) runs: bool,
}

impl Host {
    pub(crate) fn of(client: &ClientCapabilities) -> Self {
        Self {
            reads: client.fs.read_text_file,
            writes: client.fs.write_text_file,
            runs: client.terminal,
        }
    }
}

impl Turn {
    pub(super) async fn have_read(&self, path: &Path) -> Result<String, String> {
        let request = ReadTextFileRequest::new(self.session.id.clone(), path);
        let read: ReadTextFileResponse = self
            .have(AgentRequest::ReadTextFileRequest(request))
            .await?;
        Ok(read.content)
    }

    pub(super) async fn have_written(&self, path: &Path, text: &str) -> Result<(), String> {
        let request = WriteTextFileRequest::new(self.session.id.clone(), path, text);
        let _written: Value = self
            .have(AgentRequest::WriteTextFileRequest(request))
            .await?;
        Ok(())
    }

    /// Has a command run to its end. The client ends it when the turn is cancelled.
    pub(super) async fn have_run(
        &self,
        command: &str,
        directory: &Path,
    ) -> Result<(String, Value), String> {
        let session = self.session.id.clone();
        let request = CreateTerminalRequest::new(session, command)
            .cwd(directory.to_owned())
            .output_byte_limit(KEPT);
        let begun: CreateTerminalResponse = self
            .have(AgentRequest::CreateTerminalRequest(request))
            .await?;
        let terminal = begun.terminal_id;
        let ended = self.have_ended(&terminal).await;
        let release = ReleaseTerminalRequest::new(self.session.id.clone(), terminal);
        let _released: Value = self
            .have(AgentRequest::ReleaseTerminalRequest(release))
            .await?;
        ended
    }

    async fn have_ended(&self, terminal: &TerminalId) -> Result<(String, Value), String> {
        let session = &self.session.id;
        let wait = WaitForTerminalExitRequest::new(session.clone(), terminal.clone());
        let _ended: Value = self
            .have(AgentRequest::WaitForTerminalExitRequest(wait))
            .await?;
        let look = TerminalOutputRequest::new(session.clone(), terminal.clone());
        let printed: TerminalOutputResponse =
            self.have(AgentRequest::TerminalOutputRequest(look)).await?;
        let status = printed.exit_status.unwrap_or_default();
        match status.exit_code {
            Some(0) => {
                let raw = json!({ "exitCode": 0, "output": printed.output });
                Ok((printed.output, raw))
            }
            Some(code) => Err(format!("{}\n(exit code {code})", printed.output)),
            None => Err(format!("{}\n(it was ended)", printed.output)),
        }
    }

    async fn have<T: DeserializeOwned>(&self, request: AgentRequest) -> Result<T, String> {
        let answer = self.connection.request(request).await;
        let answer = answer.map_err(|Error { message, .. }| message)?;
        serde_json::from_value(answer).map_err(|error| error.to_string())
    }
}
