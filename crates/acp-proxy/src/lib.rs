//! `countersign acp-proxy`: stands between an editor and its ACP agent, so that the agent's asks can be answered in
//! Countersign too.
//!
//! Everything passes, byte for byte, whatever becomes of the server. Whoever answers an ask first wins: an answer from
//! Countersign goes to the agent, the editor is told that its dialog is over and what it still says goes nowhere; an
//! answer in the editor ends the ask in Countersign. The proxy can hand asks in and nothing else. The agent ends with it,
//! and everything that the agent started.

mod asked;
mod asks;
mod conversation;
mod door;
mod lines;
mod passage;
mod request_key;
mod voice;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use countersign_cli::{ConnectionOptions, Surroundings};
use countersign_engine::environment::without_ours;
use countersign_engine::keeper::ExitStatus;
use countersign_engine::proxied::ProxiedAgent;
use rustix::process::getppid;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::asked::Over;
use crate::asks::{Asks, Carrier};
use crate::conversation::Conversation;
use crate::door::Door;
use crate::voice::Voice;

/// Asks, replies and notices that may wait for each other's ends.
const QUEUE: usize = 64;
/// How many asks may wait to be carried.
const ASKS: usize = 1_000;
/// How long an agent that is to end may take.
const GRACE: Duration = Duration::from_secs(5);
/// How long what an agent left behind may take to end.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether the editor is still there, once it has closed our input.
const LOOK: Duration = Duration::from_secs(1);
/// How long the last words may take to be written.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What a shell says of a command that it cannot start.
const NOT_STARTED: u8 = 127;
/// What a shell adds to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Between which editor and which agent to stand.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Hand asks in at this address, with a token, and not at this machine's own server
    #[arg(long, value_name = "URL", env = "COUNTERSIGN_URL")]
    url: Option<String>,
    /// Read the token from this file; the variable `COUNTERSIGN_TOKEN` does as well
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The command that starts the agent, with its arguments
    #[arg(last = true, required = true, value_name = "AGENT COMMAND")]
    command: Vec<OsString>,
}

/// Stands between this process's standard input and output and the agent, until one of the two ends. Call it on the main
/// thread, before any other was started.
pub fn run(arguments: Arguments) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&format!("failed to start: {error}")),
    };
    let code = runtime.block_on(stand_between(arguments));
    // A read of standard input cannot be taken back; the process ends without waiting for it.
    runtime.shutdown_background();
    code
}

async fn stand_between(arguments: Arguments) -> ExitCode {
    let Some((program, rest)) = arguments.command.split_first() else {
        return failed("there is no agent to start");
    };
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return failed(&format!("failed to listen for signals: {error}")),
    };
    let (voice, said) = Voice::new();
    let (opened, open) = mpsc::channel(ASKS);
    let (replies, our_replies) = mpsc::channel(QUEUE);
    let (to_editor, for_editor) = mpsc::channel(QUEUE);
    let conversation = Arc::new(Conversation::new(opened, voice.clone()));
    let options = ConnectionOptions::to(arguments.url, arguments.token_file);
    let surroundings = Surroundings::of_this_process();
    let mut asks = Asks::new(Carrier {
        conversation: Arc::clone(&conversation),
        door: Door::new(options, surroundings, voice.clone()),
        replies,
        to_editor,
        voice,
        ended: CancellationToken::new(),
    });
    asks.announce().await;
    let started = ProxiedAgent::start(program, rest, without_ours(std::env::vars_os()));
    let (agent, streams) = match started {
        Ok(started) => started,
        Err(error) => {
            asks.bid_farewell().await;
            let program = program.to_string_lossy();
            return failed(&format!("the agent `{program}` cannot be started: {error}"));
        }
    };
    let mut speaking = std::pin::pin!(voice::write(said));
    let code = {
        let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
        let inward = passage::to_agent(stdin, streams.stdin, &conversation, our_replies);
        let outward = passage::to_editor(streams.stdout, stdout, &conversation, for_editor);
        let attending = async {
            // Neither ends before the agent does.
            tokio::join!(asks.attend(open), &mut speaking);
        };
        tokio::select! {
            code = attend(agent, inward, outward, &mut signals) => code,
            () = attending => NOT_STARTED,
        }
    };
    conversation.end_all(&Over::AgentEnded);
    drop(conversation);
    asks.bid_farewell().await;
    // Nobody says anything any more, so that this ends by itself.
    let _in_time = timeout(LAST_WORDS, speaking).await;
    ExitCode::from(code)
}

/// Why the agent is to end, or that it has.
enum Ended {
    /// It has ended by itself.
    Itself(ExitStatus),
    /// This signal says that it is to end.
    Signal(i32),
    /// The editor is gone.
    EditorGone,
}

/// Lets everything pass until the agent has ended with all that it started, and returns the code to end with.
async fn attend(
    mut agent: ProxiedAgent,
    inward: impl Future<Output = io::Result<()>>,
    outward: impl Future<Output = io::Result<()>>,
    signals: &mut Signals,
) -> u8 {
    let parent = getppid();
    // Boxed, so that the agent's input can be closed by dropping it.
    let mut inward = Some(Box::pin(inward));
    let mut outward = std::pin::pin!(outward);
    let mut has_said_all = false;
    let mut look = tokio::time::interval(LOOK);
    let ended = loop {
        let is_input_over = inward.is_none();
        let input = async {
            match &mut inward {
                Some(inward) => inward.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Without an input an agent may still have something to say.
            _ = input => inward = None,
            said = &mut outward, if !has_said_all => {
                has_said_all = true;
                if said.is_err() {
                    break Ended::EditorGone;
                }
            }
            status = agent.exited() => break Ended::Itself(status),
            number = signals.next() => break Ended::Signal(number),
            _ = look.tick(), if is_input_over => {
                if getppid() != parent {
                    break Ended::EditorGone;
                }
            }
        }
    };
    drop(inward);
    let grace = match ended {
        Ended::Itself(_) => LEFTOVER_GRACE,
        Ended::Signal(_) | Ended::EditorGone => GRACE,
    };
    let mut ending = std::pin::pin!(agent.end(grace));
    let status = loop {
        tokio::select! {
            status = &mut ending => break status,
            _ = &mut outward, if !has_said_all => has_said_all = true,
        }
    };
    match ended {
        Ended::Itself(status) => {
            // What it said last is the editor's to read, for as long as there is one.
            while !has_said_all {
                tokio::select! {
                    _ = &mut outward => has_said_all = true,
                    _ = signals.next() => has_said_all = true,
                    _ = look.tick() => has_said_all = getppid() != parent,
                }
            }
            code_of(&status)
        }
        Ended::Signal(number) => u8::try_from(SIGNALLED + number).unwrap_or(u8::MAX),
        Ended::EditorGone => code_of(&status),
    }
}

fn code_of(status: &ExitStatus) -> u8 {
    match status {
        ExitStatus::Code(code) => u8::try_from(*code).unwrap_or(u8::MAX),
        ExitStatus::Signal(number) => u8::try_from(SIGNALLED + number).unwrap_or(u8::MAX),
        ExitStatus::NotStarted(_) | ExitStatus::Unknown => NOT_STARTED,
    }
}

/// The signals that end the proxy.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The number of the next one. Cancel-safe.
    async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}

/// Says why nothing could begin.
fn failed(why: &str) -> ExitCode {
    // If even this cannot be said, the exit code is what is left.
    let _unheard = writeln!(io::stderr(), "countersign acp-proxy: {why}");
    ExitCode::from(NOT_STARTED)
}
