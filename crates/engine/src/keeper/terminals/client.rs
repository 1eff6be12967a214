//! The server's side of commands that run beside an engine: each wish has a connection of its own.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;

use super::wire::{LONGEST, Printed, Reply, TerminalSpec, Waiting, Wish};
use crate::keeper::client::call;
use crate::keeper::directory::RunDirectory;
use crate::keeper::error::KeeperError;
use crate::keeper::state::ExitStatus;
use crate::keeper::wire::{self, Role};
use crate::process::ProcessIdentity;

/// How long a keeper may take to fulfil a wish; ending commands is the longest.
const LIMIT: Duration = Duration::from_secs(20);

/// Why a wish about a command was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// There is no such command.
    #[error("there is no such terminal")]
    Unknown,
    /// The keeper could not do it.
    #[error("{0}")]
    Refused(String),
    /// The keeper cannot be talked to.
    #[error(transparent)]
    Keeper(#[from] KeeperError),
}

/// The commands that run beside an engine. Clones are of the same.
#[derive(Debug, Clone)]
pub struct Terminals {
    pub(in crate::keeper) directory: PathBuf,
    pub(in crate::keeper) keeper: ProcessIdentity,
}

impl Terminals {
    /// Starts a command; one whose id is there already is the same one.
    pub async fn start(&self, spec: TerminalSpec) -> Result<(), TerminalError> {
        done(self.soon(Wish::Start(spec)).await?)
    }

    /// What it printed so far.
    pub async fn output(&self, id: &str) -> Result<Printed, TerminalError> {
        let id = id.to_owned();
        match self.soon(Wish::Output { id }).await? {
            Reply::Printed(printed) => Ok(printed),
            reply @ (Reply::Done
            | Reply::Ended(_)
            | Reply::Waiting(_)
            | Reply::Unknown
            | Reply::Refused(_)) => Err(unfulfilled(reply)),
        }
    }

    /// Has the keeper remember who waits for its end, until the command is released.
    pub async fn expect(&self, id: &str, waiting: Waiting) -> Result<(), TerminalError> {
        let id = id.to_owned();
        done(self.soon(Wish::Expect { id, waiting }).await?)
    }

    /// Waits for its end, for as long as that takes.
    pub async fn wait(&self, id: &str) -> Result<ExitStatus, TerminalError> {
        let id = id.to_owned();
        match self.wish(Wish::Wait { id }).await? {
            Reply::Ended(status) => Ok(status),
            reply @ (Reply::Done
            | Reply::Printed(_)
            | Reply::Waiting(_)
            | Reply::Unknown
            | Reply::Refused(_)) => Err(unfulfilled(reply)),
        }
    }

    /// Ends it, with everything that came of it.
    pub async fn kill(&self, id: &str) -> Result<(), TerminalError> {
        let id = id.to_owned();
        done(self.soon(Wish::Kill { id }).await?)
    }

    /// Ends all of them.
    pub async fn kill_all(&self) -> Result<(), TerminalError> {
        done(self.soon(Wish::KillAll).await?)
    }

    /// Ends it and forgets it.
    pub async fn release(&self, id: &str) -> Result<(), TerminalError> {
        let id = id.to_owned();
        done(self.soon(Wish::Release { id }).await?)
    }

    /// Who waits for which command: those of an earlier server too.
    pub async fn waiting(&self) -> Result<Vec<(String, Waiting)>, TerminalError> {
        match self.soon(Wish::List).await? {
            Reply::Waiting(waiting) => Ok(waiting),
            reply @ (Reply::Done
            | Reply::Printed(_)
            | Reply::Ended(_)
            | Reply::Unknown
            | Reply::Refused(_)) => Err(unfulfilled(reply)),
        }
    }

    async fn soon(&self, wish: Wish) -> Result<Reply, KeeperError> {
        timeout(LIMIT, self.wish(wish))
            .await
            .map_err(|_| KeeperError::TooLong("do something about a terminal"))?
    }

    async fn wish(&self, wish: Wish) -> Result<Reply, KeeperError> {
        let directory = RunDirectory::open(&self.directory)
            .map_err(|source| KeeperError::directory(&self.directory, source))?;
        let (lines, mut writer) = call(&directory, self.keeper, Role::Terminals).await?;
        let mut lines = lines.within(LONGEST);
        wire::say(&mut writer, &wish)
            .await
            .map_err(KeeperError::Connection)?;
        let reply = lines.next().await.map_err(KeeperError::Connection)?;
        reply.ok_or(KeeperError::Lost)
    }
}

fn done(reply: Reply) -> Result<(), TerminalError> {
    match reply {
        Reply::Done => Ok(()),
        reply @ (Reply::Printed(_)
        | Reply::Ended(_)
        | Reply::Waiting(_)
        | Reply::Unknown
        | Reply::Refused(_)) => Err(unfulfilled(reply)),
    }
}

fn unfulfilled(reply: Reply) -> TerminalError {
    match reply {
        Reply::Unknown => TerminalError::Unknown,
        Reply::Refused(why) => TerminalError::Refused(why),
        Reply::Done | Reply::Printed(_) | Reply::Ended(_) | Reply::Waiting(_) => {
            TerminalError::Refused("the keeper answered something else".to_owned())
        }
    }
}
