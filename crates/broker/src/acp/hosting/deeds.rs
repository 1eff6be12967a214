//! The deeds themselves: a file is read or written, a command looked after. Each has a time limit, and none decides whether
//! it may be done.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_core::digest::Digest;
use countersign_core::id::RunId;
use countersign_engine::acp::hosted::{
    CommandLine, CreateTerminalRequest, HostResponse, HostedAct, ReadTextFileRequest, Refusal,
    WantedCommand, WantedWrite, WriteTextFileRequest,
};
use countersign_engine::acp::launch;
use countersign_engine::environment::may_be_added;
use countersign_engine::files::{FileError, Folders, Place, WRITE_LIMIT, Writers};
use countersign_engine::keeper::{
    OUTPUT_LIMIT, Printed, TerminalError, TerminalSpec, Terminals, Waiting,
};
use serde_json::Value;

/// How long a file may take. What the system does not do by then it may still do.
const FILE_LIMIT: Duration = Duration::from_secs(30);
/// The longest command line, and the most that a command's variables may have together, in bytes.
const LONGEST_COMMAND: usize = 100 * 1024;

/// What came of a deed.
#[derive(Debug, Clone)]
pub(super) enum Came {
    /// It is done; if it was about a command, this is what that has printed.
    Answer(HostResponse, Option<(String, Printed)>),
    /// It is not done.
    Refused(Refusal),
    /// The end of this command is waited for, and the keeper knows it.
    Expected(String),
    /// It is a write that needs leave.
    Write(Box<WantedWrite>),
    /// It is a command that needs leave.
    Command(Box<WantedCommand>),
}

impl From<Result<HostResponse, Refusal>> for Came {
    fn from(outcome: Result<HostResponse, Refusal>) -> Self {
        match outcome {
            Ok(response) => Self::Answer(response, None),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// What deeds for one agent need from the server.
#[derive(Debug, Clone)]
pub(in crate::acp) struct Means {
    pub(in crate::acp) run: RunId,
    /// Names of more variables that its commands may inherit, as it does itself.
    pub(in crate::acp) inherit: Vec<String>,
    /// Shared with all other agents.
    pub(in crate::acp) writers: Writers,
}

/// What deeds are done with. Clones are of the same.
#[derive(Debug, Clone)]
pub(super) struct Tools {
    folders: Arc<Folders>,
    terminals: Terminals,
    means: Arc<Means>,
}

impl Tools {
    pub(super) fn new(folders: Folders, terminals: Terminals, means: Means) -> Self {
        Self {
            folders: Arc::new(folders),
            terminals,
            means: Arc::new(means),
        }
    }

    pub(super) async fn read(&self, wanted: ReadTextFileRequest) -> Came {
        let folders = Arc::clone(&self.folders);
        let read = move || folders.find(&wanted.path)?.read(wanted.line, wanted.limit);
        Came::from(in_time(read).await.map(HostResponse::Read))
    }

    /// Looks at what a write would change. One that changes nothing needs no leave.
    pub(super) async fn look_at_write(
        &self,
        at: u64,
        wanted: WriteTextFileRequest,
        request: Value,
    ) -> Came {
        let WriteTextFileRequest { path, content, .. } = wanted;
        if content.len() > WRITE_LIMIT {
            let limit = WRITE_LIMIT as u64;
            return Came::Refused(FileError::TooLarge { limit }.into());
        }
        let folders = Arc::clone(&self.folders);
        let named = path.clone();
        let look = move || {
            let place = folders.find(&named)?;
            let before = place.before()?;
            Ok((place, before))
        };
        match in_time(look).await {
            Ok((_, before)) if before.content.as_deref() == Some(content.as_bytes()) => {
                Came::Answer(HostResponse::Written, None)
            }
            Ok((place, before)) => Came::Write(Box::new(WantedWrite {
                at,
                request,
                named: path,
                place,
                content,
                before,
            })),
            Err(refusal) => Came::Refused(refusal),
        }
    }

    async fn write(&self, path: PathBuf, content: String, before: Option<Digest>) -> Came {
        let folders = Arc::clone(&self.folders);
        let writers = self.means.writers.clone();
        let write = move || Place::again(&path, &folders)?.write(&content, before, &writers);
        Came::from(in_time(write).await.map(|_| HostResponse::Written))
    }

    /// Looks at what a command would be. One that runs already was asked for before.
    pub(super) async fn look_at_command(
        &self,
        at: u64,
        wanted: CreateTerminalRequest,
        request: Value,
    ) -> Came {
        let terminal = terminal_at(at);
        if self.terminals.output(&terminal).await.is_ok() {
            return Came::Answer(HostResponse::Created(terminal), None);
        }
        let refused = |why: &str| Came::Refused(Refusal::invalid(why));
        let Some(line) = CommandLine::of(&wanted) else {
            return refused("the command cannot be run");
        };
        let variables = WantedCommand::variables_of(&wanted);
        let added: usize = variables
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if line.text.len() > LONGEST_COMMAND || added > LONGEST_COMMAND {
            return refused("the command is too long");
        }
        let unfit = |(name, value): (&String, &String)| !may_be_added(name) || value.contains('\0');
        if variables.iter().any(unfit) {
            return refused("a variable is not one that a command may be given");
        }
        let folders = Arc::clone(&self.folders);
        let find = move || {
            let place = match &wanted.cwd {
                Some(cwd) => folders.find(cwd)?,
                None => folders.first()?,
            };
            if place.is_folder() {
                Ok(place)
            } else {
                Err(FileError::Missing)
            }
        };
        match in_time(find).await {
            Ok(directory) => Came::Command(Box::new(WantedCommand {
                at,
                request,
                line,
                directory,
                variables,
            })),
            Err(refusal) => Came::Refused(refusal),
        }
    }

    /// Does what was asked for and allowed.
    pub(super) async fn act(&self, at: u64, act: HostedAct) -> Came {
        match act {
            HostedAct::Write {
                path,
                content,
                before,
            } => self.write(path, content, before).await,
            HostedAct::Run {
                line,
                directory,
                variables,
                output_limit,
            } => {
                // What was resolved when it was asked has to be inside still.
                let place = Place::again(&directory, &self.folders);
                match place {
                    Ok(place) => self.start(at, line, &place, variables, output_limit).await,
                    Err(error) => Came::Refused(error.into()),
                }
            }
        }
    }

    async fn start(
        &self,
        at: u64,
        line: CommandLine,
        directory: &Place,
        variables: BTreeMap<String, String>,
        limit: Option<u64>,
    ) -> Came {
        let Means { run, inherit, .. } = self.means.as_ref();
        let mut environment = launch::environment(*run, inherit, std::env::vars_os());
        environment.extend(variables);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let spec = TerminalSpec {
            id: terminal_at(at),
            label: line.text,
            program: line.program,
            args: line.args,
            directory: directory.path().to_owned(),
            environment,
            output_limit: limit.unwrap_or(OUTPUT_LIMIT),
        };
        let started = self.terminals.start(spec).await;
        let created = started.map(|()| HostResponse::Created(terminal_at(at)));
        Came::from(created.map_err(Refusal::from))
    }

    pub(super) async fn output(&self, terminal: &str) -> Came {
        match self.terminals.output(terminal).await {
            Ok(printed) => {
                let shown = (terminal.to_owned(), printed.clone());
                Came::Answer(HostResponse::Printed(printed), Some(shown))
            }
            Err(error) => Came::Refused(error.into()),
        }
    }

    /// Has the keeper know who waits for the end of a command.
    pub(super) async fn expect(&self, terminal: String, waiting: Waiting) -> Came {
        match self.terminals.expect(&terminal, waiting).await {
            Ok(()) => Came::Expected(terminal),
            Err(error) => Came::Refused(error.into()),
        }
    }

    pub(super) async fn wait(&self, terminal: &str) -> Came {
        match self.terminals.wait(terminal).await {
            Ok(status) => {
                let printed = self.printed(terminal).await;
                Came::Answer(HostResponse::Ended(status), printed)
            }
            Err(error) => Came::Refused(error.into()),
        }
    }

    pub(super) async fn kill(&self, terminal: &str) -> Came {
        match self.terminals.kill(terminal).await {
            Ok(()) => {
                let printed = self.printed(terminal).await;
                Came::Answer(HostResponse::Killed, printed)
            }
            Err(error) => Came::Refused(error.into()),
        }
    }

    pub(super) async fn release(&self, terminal: &str) -> Came {
        // First its end, which the transcript has to have.
        let killed = self.terminals.kill(terminal).await;
        let printed = self.printed(terminal).await;
        let released = match killed {
            Ok(()) => self.terminals.release(terminal).await,
            Err(error) => Err(error),
        };
        match released {
            Ok(()) => Came::Answer(HostResponse::Released, printed),
            Err(error) => Came::Refused(error.into()),
        }
    }

    pub(super) async fn kill_all(&self) {
        if let Err(error) = self.terminals.kill_all().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the commands of a cancelled turn were not ended"
            );
        }
    }

    pub(super) async fn waiting(&self) -> Result<Vec<(String, Waiting)>, TerminalError> {
        self.terminals.waiting().await
    }

    async fn printed(&self, terminal: &str) -> Option<(String, Printed)> {
        let printed = self.terminals.output(terminal).await.ok()?;
        Some((terminal.to_owned(), printed))
    }
}

/// What the command is called that was asked for at this place of the output.
fn terminal_at(at: u64) -> String {
    format!("{TERMINAL}{at}")
}

/// Where in the output the command was asked for that is called so.
pub(super) fn place_of(terminal: &str) -> Option<u64> {
    terminal.strip_prefix(TERMINAL)?.parse().ok()
}

const TERMINAL: &str = "terminal-";

async fn in_time<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, Refusal> {
    match tokio::time::timeout(FILE_LIMIT, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.map_err(Refusal::from),
        Ok(Err(_)) => Err(Refusal::failed("it broke off here")),
        Err(_) => Err(Refusal::failed(
            "the file took too long; whether it was reached is not known",
        )),
    }
}
