//! A program that is run for one attempt: within its time, with what it prints bounded, and with its whole family ended
//! when the attempt is over.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_core::id::NotificationId;
use countersign_engine::process::{ProcessIdentity, tree};
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::{Attempt, Failure};

/// Marks what belongs to one notification, so that it is found again by whoever comes after a killed server.
const MARK: &str = "COUNTERSIGN_NOTIFICATION";
/// How long it gets to end in order before it is killed.
const GRACE: Duration = Duration::from_secs(1);
/// The most that is kept of what it prints.
const OUTPUT_LIMIT: usize = 4 * 1024;
/// How long its last output may take: somebody else may hold its pipe.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A program that is to be run.
pub(crate) struct Child {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) input: Vec<u8>,
    pub(crate) notification: NotificationId,
}

enum End {
    Itself,
    TooLate,
    BrokenOff,
}

impl Child {
    /// Runs it, and ends what is left of it.
    pub(crate) async fn run(self, limit: Duration, ending: &CancellationToken) -> Attempt {
        match self.run_to_end(limit, ending).await {
            Ok(attempt) => attempt,
            Err(error) => Failure::passing(format!(
                "`{}` could not be run: {error}",
                self.program.display()
            ))
            .into(),
        }
    }

    async fn run_to_end(&self, limit: Duration, ending: &CancellationToken) -> io::Result<Attempt> {
        let mut child = self.command().spawn()?;
        let first = child
            .id()
            .and_then(ProcessIdentity::of)
            .ok_or_else(|| io::Error::other("the process table does not show it"))?;
        let printed = Mutex::new(Vec::new());
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // One that does not read has not to.
                drop(stdin.write_all(&self.input).await);
            }
        };
        let stdout = keep_last(child.stdout.take(), &printed);
        let stderr = keep_last(child.stderr.take(), &printed);
        let mut talk = pin!(async { tokio::join!(feed, stdout, stderr) }.fuse());
        let end = {
            // It is not reaped before its group is ended: until then nobody else can have its number.
            let mut exited = pin!(first.exited());
            let mut too_late = pin!(tokio::time::sleep(limit));
            loop {
                tokio::select! {
                    // If its end cannot be watched it is ended here, and its status tells that.
                    _ = &mut exited => break End::Itself,
                    () = &mut too_late => break End::TooLate,
                    () = ending.cancelled() => break End::BrokenOff,
                    _ = &mut talk, if !talk.is_terminated() => {}
                }
            }
        };
        end_family(Some(first), self.notification).await;
        let status = child.wait().await?;
        if !talk.is_terminated() {
            drop(tokio::time::timeout(LAST_WORDS, talk).await);
        }
        let kept = printed.lock().unwrap_or_else(PoisonError::into_inner);
        let printed = String::from_utf8_lossy(&kept).into_owned();
        drop(kept);
        Ok(match end {
            End::Itself if status.success() => Attempt::Sent,
            End::Itself => Failure::passing(self.ended_with(status))
                .with_output(&printed)
                .into(),
            End::TooLate => Failure::passing(format!(
                "`{}` did not end within {} s, and was ended",
                self.program.display(),
                limit.as_secs()
            ))
            .with_output(&printed)
            .into(),
            End::BrokenOff => Attempt::BrokenOff,
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&self.environment)
            .env(MARK, self.notification.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    fn ended_with(&self, status: ExitStatus) -> String {
        format!("`{}` ended with {status}", self.program.display())
    }
}

/// Ends whatever was started for `notification`, by whichever server.
pub(crate) async fn end_marked(notification: NotificationId) {
    end_family(None, notification).await;
}

/// Ends `first`, its group, its descendants, and all that carries the notification's mark.
async fn end_family(first: Option<ProcessIdentity>, notification: NotificationId) {
    let mark = notification.to_string();
    let find = || {
        let mut members = match first {
            Some(first) => tree::with_descendants(first)?,
            None => Vec::new(),
        };
        for marked in tree::started_with(MARK, &mark)? {
            if !members.contains(&marked) {
                members.push(marked);
            }
        }
        Ok(members)
    };
    match tree::end_all(find, GRACE).await {
        Ok(left) if left.is_empty() => {}
        Ok(left) => {
            let count = left.len();
            tracing::warn!(notification.id = %notification, count, "processes of a notification could not be ended");
        }
        Err(error) => {
            tracing::warn!(notification.id = %notification, error = %error, "what a notification started was not found");
        }
    }
    if let Some(group) = first.and_then(|first| Pid::from_raw(i32::try_from(first.pid).ok()?)) {
        // An empty group is as good as an ended one.
        let _empty = kill_process_group(group, Signal::KILL);
    }
}

/// Reads to the end and keeps the last of it.
async fn keep_last(from: Option<impl AsyncRead + Unpin>, into: &Mutex<Vec<u8>>) {
    let Some(mut from) = from else { return };
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(OUTPUT_LIMIT);
        kept.drain(..excess);
    }
}
