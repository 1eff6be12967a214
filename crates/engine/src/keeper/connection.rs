//! One caller at the keeper's socket: whether it is listened to, what it may say, and what it is told.

use std::time::Duration;

use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::held::{self, Hold};
use super::state::{Phase, Stopped};
use super::terminals::{self, Terminals, Wish as TerminalWish};
use super::wire::{self, Lines, Notice, Request, Role};
use crate::process::{ProcessIdentity, tree};

/// How long a caller may take to say who it is.
const HELLO_LIMIT: Duration = Duration::from_secs(10);

/// What callers do that concerns the keeper.
#[derive(Debug)]
pub(super) enum Event {
    /// A server is there.
    ServerCame,
    /// It is gone; `told_exit` says whether it has heard of the engine's end.
    ServerWent { told_exit: bool },
    /// A server wants the tree ended.
    Stop { grace: Duration },
}

/// What each server is told of.
#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) phase: watch::Receiver<Phase>,
    pub(super) stopped: watch::Receiver<Option<Stopped>>,
}

/// Talks to one caller until either side has enough.
pub(super) async fn attend(
    stream: UnixStream,
    keeper: ProcessIdentity,
    news: News,
    held: Held,
    events: mpsc::Sender<Event>,
) {
    let Held { hold, terminals } = held;
    let admitted = admit(&stream, keeper);
    let (reader, mut writer) = stream.into_split();
    let mut lines = Lines::new(reader);
    let hello = match admitted {
        Err(reason) => Err(reason),
        Ok(()) => match timeout(HELLO_LIMIT, lines.next()).await {
            Ok(Ok(Some(Request::Hello(Role::Server)))) => Ok(Wish::News),
            Ok(Ok(Some(Request::Hello(Role::Streams { from })))) => hold
                .map(|hold| Wish::Streams { hold, from })
                .ok_or_else(|| "the engine's streams are not held".to_owned()),
            Ok(Ok(Some(Request::Hello(Role::Terminals)))) => Ok(Wish::Terminals),
            Ok(Ok(Some(Request::Stop { .. }))) => Err("say hello first".to_owned()),
            Ok(Ok(None)) => return,
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no hello in time".to_owned()),
        },
    };
    let wish = match hello {
        Ok(wish) => wish,
        Err(reason) => {
            tracing::warn!(reason, "a caller is refused");
            // Whoever is refused and does not listen misses nothing.
            drop(wire::say(&mut writer, &Notice::Refused(reason)).await);
            return;
        }
    };
    if events.send(Event::ServerCame).await.is_err() {
        return;
    }
    let told_exit = match wish {
        Wish::News => keep_informed(lines, writer, news, &events).await,
        Wish::Streams { hold, from } => {
            held::attend(lines, writer, from, hold, news.stopped).await;
            false
        }
        Wish::Terminals => {
            look_after_terminals(lines, writer, &terminals).await;
            false
        }
    };
    // The keeper that no longer takes events is leaving.
    drop(events.send(Event::ServerWent { told_exit }).await);
}

/// What a caller that is listened to wants.
enum Wish {
    News,
    Streams { hold: Hold, from: u64 },
    Terminals,
}

/// What the keeper holds for the engine.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) hold: Option<Hold>,
    pub(super) terminals: Terminals,
}

/// Takes one wish about the commands that run beside the engine, and does it.
async fn look_after_terminals(lines: Lines, mut writer: OwnedWriteHalf, terminals: &Terminals) {
    let mut lines = lines.within(terminals::LONGEST);
    let wish = match timeout(HELLO_LIMIT, lines.next::<TerminalWish>()).await {
        Ok(Ok(Some(wish))) => wish,
        Ok(Ok(None)) | Err(_) => return,
        Ok(Err(error)) => {
            let refusal = terminals::Reply::Refused(error.to_string());
            drop(wire::say(&mut writer, &refusal).await);
            return;
        }
    };
    let reply = match wish {
        // Whoever goes away does not wait any more; other wishes are done to their end.
        wish @ TerminalWish::Wait { .. } => tokio::select! {
            reply = terminals.fulfil(wish) => reply,
            _ = lines.next::<TerminalWish>() => return,
        },
        wish @ (TerminalWish::Start(_)
        | TerminalWish::Output { .. }
        | TerminalWish::Expect { .. }
        | TerminalWish::Kill { .. }
        | TerminalWish::KillAll
        | TerminalWish::Release { .. }
        | TerminalWish::List) => terminals.fulfil(wish).await,
    };
    if let Err(error) = wire::say(&mut writer, &reply).await {
        tracing::debug!(error = %error, "a server did not hear what came of its wish");
    }
}

/// Admits callers of the same user (or root) that do not descend from the keeper; anything unclear is refused.
fn admit(stream: &UnixStream, keeper: ProcessIdentity) -> Result<(), String> {
    let caller = stream
        .peer_cred()
        .map_err(|error| format!("the caller is not known: {error}"))?;
    let own_user = rustix::process::geteuid().as_raw();
    if caller.uid() != own_user && caller.uid() != 0 {
        return Err("the caller is another user".to_owned());
    }
    let pid = caller
        .pid()
        .and_then(|pid| u32::try_from(pid).ok())
        .filter(|pid| *pid != 0)
        .ok_or("the caller's process is not known")?;
    match tree::descends_from(pid, keeper) {
        Ok(false) => Ok(()),
        Ok(true) => Err("the caller descends from the engine".to_owned()),
        Err(error) => Err(format!("the caller's descent is not known: {error}")),
    }
}

/// Tells the server all news and passes on what it wants. Returns whether it has heard of the engine's end.
async fn keep_informed(
    mut lines: Lines,
    mut writer: OwnedWriteHalf,
    mut news: News,
    events: &mpsc::Sender<Event>,
) -> bool {
    let mut told_exit = false;
    news.phase.mark_changed();
    loop {
        // The phase goes first: who hears of the stop has heard of the exit.
        let notice = tokio::select! {
            biased;
            Ok(()) = news.phase.changed() => Notice::Phase(news.phase.borrow_and_update().clone()),
            Ok(()) = news.stopped.changed() => {
                let Some(stopped) = news.stopped.borrow_and_update().clone() else { continue };
                Notice::Stopped(stopped)
            }
            request = lines.next() => match request {
                Ok(Some(Request::Stop { grace_ms })) => {
                    let grace = Duration::from_millis(grace_ms);
                    // A keeper that takes no events any more is ending the tree already, and will say so.
                    drop(events.send(Event::Stop { grace }).await);
                    continue;
                }
                Ok(Some(Request::Hello(Role::Server))) => continue,
                Ok(Some(Request::Hello(Role::Streams { .. } | Role::Terminals))) => {
                    Notice::Refused("that has a connection of its own".to_owned())
                }
                Ok(None) => return told_exit,
                Err(error) => Notice::Refused(error.to_string()),
            },
        };
        let over = match &notice {
            Notice::Phase(_) | Notice::Streams(_) | Notice::OutOfReach(_) => false,
            Notice::Stopped(_) | Notice::Refused(_) => true,
        };
        if wire::say(&mut writer, &notice).await.is_err() {
            return told_exit;
        }
        told_exit |= matches!(&notice, Notice::Phase(Phase::Exited(_)));
        if over {
            return told_exit;
        }
    }
}
