//! Follows the server's events and comes back after every break, with nothing missed and nothing doubled.
//!
//! Whoever waits for a server does not wait for ever: following ends when the server says that somebody stopped it, and
//! when none could be reached for [`WITHOUT_SERVER`].

use std::pin::Pin;
use std::time::Duration;

use anyhow::Context as _;
use countersign_api::{EndOfServer, Goodbye};
use countersign_core::event::{Delta, Event};
use futures_util::{Stream, StreamExt as _};
use serde::Deserialize;
use sse_stream::{Sse, SseByteStream};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::exit::{Exit, Failure};

/// How long a command that waits does without a server before it ends.
pub(crate) const WITHOUT_SERVER: Duration = Duration::from_mins(1);
const HELLO_LIMIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What is heard.
#[derive(Debug)]
pub(crate) enum News {
    /// Something happened, for the first time that it is told here; with its JSON.
    Event(Event, String),
    /// Words are being said; with their JSON.
    Delta(Delta, String),
    /// Some events are gone for good: whoever keeps a picture has to read everything again.
    Reset,
    /// The line is down; it is tried again until it holds, or for [`WITHOUT_SERVER`].
    Disconnected(String),
    /// The line is up again, and what was missed follows.
    Reconnected,
}

type Frames = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

/// Whether a server that was started in the background has to stay for who follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It has to.
    Needs,
    /// It may end: whoever looks on waits for the next one.
    LooksOn,
}

/// A line to the event stream.
///
/// [`Follow::next`] is safe to cancel: the cursor moves only with what is returned.
pub(crate) struct Follow {
    connection: Connection,
    manner: Manner,
    frames: Option<Frames>,
    cursor: i64,
    pause: Duration,
    retry_at: Instant,
    lost: Option<Lost>,
    /// What to do if the server has left.
    advice: String,
}

/// How the line went down.
#[derive(Debug, Clone, Copy)]
enum Lost {
    /// Without a word, at this time.
    At(Instant),
    /// The server said that nobody needed it.
    Idle,
}

#[derive(Deserialize)]
struct Head {
    seq: i64,
}

impl Follow {
    /// Connects and returns when the server has said hello: everything after that moment will be heard.
    pub(crate) async fn begin(connection: &Connection) -> anyhow::Result<Self> {
        Self::begin_as(Manner::Needs, connection).await
    }

    /// Connects as [`Follow::begin`] does.
    pub(crate) async fn begin_as(manner: Manner, connection: &Connection) -> anyhow::Result<Self> {
        let (frames, cursor) = open(connection, None, manner).await?;
        Ok(Self {
            connection: connection.clone(),
            manner,
            frames: Some(frames),
            cursor,
            pause: FIRST_PAUSE,
            retry_at: Instant::now(),
            lost: None,
            advice: call_again(connection),
        })
    }

    /// Has the person told `advice` if the server leaves before what is waited for has come.
    pub(crate) fn advising(mut self, advice: String) -> Self {
        self.advice = advice;
        self
    }

    /// Returns what is heard next; fails only when trying again is in vain, or was so for long enough.
    pub(crate) async fn next(&mut self) -> anyhow::Result<News> {
        loop {
            let Some(frames) = &mut self.frames else {
                if self.reconnect().await? {
                    return Ok(News::Reconnected);
                }
                continue;
            };
            let heard = tokio::select! {
                heard = frames.next() => heard,
                error = self.connection.silence() => return Err(error),
            };
            match heard {
                Some(Ok(frame)) => {
                    if let Some(news) = self.read(&frame)? {
                        return Ok(news);
                    }
                }
                Some(Err(error)) => return Ok(self.disconnected(format!("{error}"))),
                None => return Ok(self.disconnected("the server ended the stream".to_owned())),
            }
        }
    }

    fn disconnected(&mut self, why: String) -> News {
        self.lose(Lost::At(Instant::now()));
        News::Disconnected(why)
    }

    fn lose(&mut self, how: Lost) {
        self.frames = None;
        self.retry_at = Instant::now() + self.pause;
        self.lost = Some(how);
    }

    fn left(&self, sentence: &str) -> anyhow::Error {
        server_left(sentence, &self.advice)
    }

    /// Tries once to get the line up again, not before its time; tells whether it is up.
    async fn reconnect(&mut self) -> anyhow::Result<bool> {
        let end = match self.lost {
            Some(Lost::At(lost_at)) => Some(lost_at + WITHOUT_SERVER),
            Some(Lost::Idle) | None => None,
        };
        if end.is_some_and(|end| end <= Instant::now()) {
            return Err(self.left(&without_server()));
        }
        let retry_at = end.map_or(self.retry_at, |end| end.min(self.retry_at));
        tokio::time::sleep_until(retry_at).await;
        let opened = match self.connection.find_again() {
            Ok(connection) => {
                self.connection = connection;
                open(&self.connection, Some(self.cursor), self.manner).await
            }
            Err(error) => Err(error),
        };
        match opened {
            Ok((frames, _)) => {
                self.frames = Some(frames);
                self.pause = FIRST_PAUSE;
                self.lost = None;
                Ok(true)
            }
            Err(error) if matches!(Exit::of(&error), Exit::NotAllowed | Exit::ServerSilent) => {
                Err(error)
            }
            Err(_) => {
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                self.retry_at = Instant::now() + self.pause;
                Ok(false)
            }
        }
    }

    fn read(&mut self, frame: &Sse) -> anyhow::Result<Option<News>> {
        let Some(data) = &frame.data else {
            return Ok(None);
        };
        match frame.event.as_deref() {
            Some("hello") => Ok(None),
            Some("reset") => {
                self.cursor = head(data)?;
                Ok(Some(News::Reset))
            }
            Some("goodbye") => self.hear_goodbye(data).map(|()| None),
            Some("delta") => Ok(serde_json::from_str(data)
                .ok()
                .map(|delta| News::Delta(delta, data.clone()))),
            Some(_) | None => Ok(self.read_event(frame, data)),
        }
    }

    /// The server ends in order. If nobody needed it, whoever looks on waits for the next one, however long that takes; if
    /// somebody stopped it, that is the end of waiting.
    fn hear_goodbye(&mut self, data: &str) -> anyhow::Result<()> {
        let reason = serde_json::from_str(data).map(|goodbye: Goodbye| goodbye.reason);
        match (reason, self.manner) {
            (Ok(EndOfServer::Idle), Manner::LooksOn) => {
                self.lose(Lost::Idle);
                Ok(())
            }
            (Ok(EndOfServer::Idle | EndOfServer::Stopped) | Err(_), _) => {
                Err(self.left("the server was stopped while this command waited for it"))
            }
        }
    }

    fn read_event(&mut self, frame: &Sse, data: &str) -> Option<News> {
        let seq = frame.id.as_deref()?.parse().ok()?;
        if seq <= self.cursor {
            return None;
        }
        self.cursor = seq;
        // A newer server may tell of things that this program does not know: they are passed over.
        let event = serde_json::from_str(data).ok()?;
        Some(News::Event(event, data.to_owned()))
    }
}

/// The server that a command waited for is there no more, for the reason in `sentence`; the person is given `advice`.
pub(crate) fn server_left(sentence: &str, advice: &str) -> anyhow::Error {
    Failure::ServerLeft {
        sentence: sentence.to_owned(),
        next: advice.to_owned(),
    }
    .into()
}

/// Says that no server was there for [`WITHOUT_SERVER`].
pub(crate) fn without_server() -> String {
    format!(
        "the server went away while this command waited for it, and none has answered for {} s",
        WITHOUT_SERVER.as_secs()
    )
}

/// What to do where calling the same command again is right.
fn call_again(connection: &Connection) -> String {
    if connection.is_local() {
        "Start one with `countersign up`, or with `countersign serve --workspace DIRECTORY`, and call this command again"
            .to_owned()
    } else {
        "Call this command again when the server is back".to_owned()
    }
}

async fn open(
    connection: &Connection,
    cursor: Option<i64>,
    manner: Manner,
) -> anyhow::Result<(Frames, i64)> {
    let greeting = async {
        let response = connection.events(cursor, manner).await?;
        let mut frames: Frames = Box::pin(SseByteStream::new(response.bytes_stream()));
        loop {
            let frame = frames
                .next()
                .await
                .context("the server ended the event stream before it began")??;
            if frame.event.as_deref() == Some("hello") {
                let seq = head(frame.data.as_deref().unwrap_or_default())?;
                return Ok((frames, seq));
            }
        }
    };
    tokio::time::timeout(HELLO_LIMIT, greeting)
        .await
        .context("the server opened no event stream in time")?
}

fn head(data: &str) -> anyhow::Result<i64> {
    let head: Head =
        serde_json::from_str(data).context("the event stream does not say where it stands")?;
    Ok(head.seq)
}
