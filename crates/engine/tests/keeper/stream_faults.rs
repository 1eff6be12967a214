//! Servers that are killed and connections that are cut, anywhere: nothing is lost, doubled or out of order.

use std::fs;
use std::process::Stdio;

use bytes::Bytes;
use countersign_engine::acp::lines::LINE_LIMIT;
use countersign_engine::keeper::{HeldStreams, Keeper, KeeperError, Streams};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::process::Command;

use crate::run::{GRACE, PROGRAM, Run, until, within};
use crate::wire::{Raw, frame};

#[tokio::test]
async fn servers_that_are_killed_lose_and_double_nothing() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let run = Run::held("exec cat");
    drop(run.start().await);
    let heard = run.file("heard");
    let length = || fs::metadata(&heard).map_or(0, |file| file.len());
    for _ in 0..8 {
        let mut server = Command::new(PROGRAM)
            .arg("feed")
            .args([run.directory(), heard.clone()])
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let enough = length() + random.random_range(1..2_000);
        until(|| length() >= enough).await;
        within(server.kill()).await.unwrap();
    }

    let keeper = run.attach_live().await;
    let mut streams = within(keeper.streams(length())).await.unwrap();
    within(streams.input.close()).await.unwrap();
    let mut all = fs::read(&heard).unwrap();
    while let Some(chunk) = within(streams.output.next()).await.unwrap() {
        assert_eq!(chunk.offset, all.len() as u64);
        all.extend(&chunk.bytes);
    }
    let all = String::from_utf8(all).unwrap();
    for (expected, line) in all.lines().enumerate() {
        assert_eq!(line, expected.to_string(), "seed {seed}");
    }
    assert!(all.ends_with('\n'), "the last frame is whole");
    drop(streams);
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

/// How much output is held for servers that are cut off.
const SPOOL: u64 = 100_000;

/// A server that keeps count of what it sent and what it heard.
struct Counting {
    random: StdRng,
    seed: u64,
    /// All that the engine is known to have printed, and how much of it is acknowledged.
    heard: Vec<u8>,
    acknowledged: u64,
    /// Up to where the present connection has been heard.
    taken: u64,
    /// All that the engine was sent, and the frame of which it is not known.
    sent: Vec<u8>,
    unknown: Option<(String, Bytes)>,
    frames: usize,
}

impl Counting {
    fn new(seed: u64) -> Self {
        Self {
            random: StdRng::seed_from_u64(seed),
            seed,
            heard: Vec::new(),
            acknowledged: 0,
            taken: 0,
            sent: Vec::new(),
            unknown: None,
            frames: 0,
        }
    }

    /// Takes up the streams at any offset that can be had.
    async fn attach(&mut self, keeper: &Keeper) -> HeldStreams {
        let from = self
            .random
            .random_range(self.acknowledged..=self.heard.len() as u64);
        let streams = within(keeper.streams(from)).await.unwrap();
        assert!(streams.oldest <= self.acknowledged, "seed {}", self.seed);
        self.taken = from;
        streams
    }

    /// Returns a frame to send: the one of which it is not known whether it arrived, or a new one.
    fn frame(&mut self) -> (String, Bytes) {
        if let Some(unknown) = self.unknown.clone() {
            return unknown;
        }
        self.frames += 1;
        let length = match self.random.random_range(0..10) {
            0 => self.random.random_range(0..400_000),
            1 => 0,
            _ => self.random.random_range(0..200),
        };
        let mut bytes = vec![0; length];
        self.random.fill(&mut bytes[..]);
        let frame = (format!("frame {}", self.frames), Bytes::from(bytes));
        self.sent.extend(&frame.1);
        self.unknown = Some(frame.clone());
        frame
    }

    /// Hears one chunk more. Returns whether there was one.
    async fn hear(&mut self, streams: &mut HeldStreams) -> bool {
        let Some(chunk) = streams.output.next().await.unwrap() else {
            return false;
        };
        let offset = usize::try_from(chunk.offset).unwrap();
        assert_eq!(chunk.offset, self.taken, "seed {}", self.seed);
        let known = &self.heard[offset..];
        let (again, new) = chunk.bytes.split_at(known.len().min(chunk.bytes.len()));
        assert!(known.starts_with(again), "seed {}", self.seed);
        self.heard.extend(new);
        self.taken = chunk.end();
        true
    }

    /// Hears until the engine prints no more, and acknowledges as much as it must and often more.
    async fn hear_all(&mut self, streams: &mut HeldStreams) {
        loop {
            let could = self.taken.max(self.acknowledged);
            if could - self.acknowledged > SPOOL / 2 || self.random.random_bool(0.5) {
                // Whoever is interrupted here does not know whether it was heard.
                self.acknowledged = self
                    .random
                    .random_range(self.acknowledged + (could - self.acknowledged) / 2..=could);
            }
            if self.acknowledged <= self.taken {
                streams.input.acknowledge(self.acknowledged).await.unwrap();
            }
            if !self.hear(streams).await {
                return;
            }
        }
    }
}

async fn cut_at_random(seed: u64) {
    let mut run = Run::held("exec cat");
    run.spec.streams = Streams::Held { spool_bytes: SPOOL };
    let keeper = run.start().await;
    let mut server = Counting::new(seed);
    let mut streams = server.attach(&keeper).await;
    for _ in 0..60 {
        let (tag, bytes) = server.frame();
        match server.random.random_range(0..10) {
            // The frame is cut in the middle, by a server that is then gone.
            0 | 1 => {
                let (mut raw, greeting) = Raw::greet(&run, server.acknowledged);
                assert!(greeting.starts_with("{\"streams\""), "{greeting}");
                let message = frame(&tag, &bytes);
                let cut = server.random.random_range(0..message.len().min(100_000));
                raw.send(&message[..cut]);
                drop(raw);
                streams = server.attach(&keeper).await;
            }
            // The frame is sent, and nobody waits to hear what became of it.
            2 | 3 => {
                let input = streams.input.clone();
                let patience = server.random.random_range(0..20);
                let mut writing = Box::pin(input.write(Some(&tag), bytes));
                for _ in 0..patience {
                    tokio::select! {
                        biased;
                        _ = &mut writing => break,
                        () = tokio::task::yield_now() => {}
                    }
                }
                drop(writing);
                if server.random.random_bool(0.5) {
                    streams = server.attach(&keeper).await;
                }
            }
            _ => {
                let input = streams.input.clone();
                let written = within(async {
                    tokio::select! {
                        written = input.write(Some(&tag), bytes) => written,
                        () = server.hear_all(&mut streams) => Err(KeeperError::Lost),
                    }
                })
                .await;
                written.unwrap();
                assert!(streams.input.was_accepted(&tag));
                server.unknown = None;
            }
        }
    }
    let (tag, bytes) = server.frame();
    let input = streams.input.clone();
    let end = async {
        input.write(Some(&tag), bytes).await.unwrap();
        input.close().await.unwrap();
    };
    within(async { tokio::join!(end, server.hear_all(&mut streams)) }).await;
    assert!(server.heard == server.sent, "seed {seed}");
    assert_eq!(within(streams.output.next()).await.unwrap(), None);
    // The keeper does not wait for an acknowledgement from somebody who is gone.
    drop((streams, input));
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn connections_that_are_cut_at_random_lose_and_double_nothing() {
    for _ in 0..8 {
        let seed = rand::random();
        println!("seed {seed}");
        cut_at_random(seed).await;
    }
}

#[tokio::test]
async fn a_frame_that_is_not_whole_is_never_written() {
    let run = Run::held("exec cat");
    let keeper = run.start().await;
    let message = frame("cut", b"never\n");
    for cut in 0..message.len() {
        let (mut raw, _) = Raw::greet(&run, 0);
        raw.send(&message[..cut]);
    }
    let mut streams = within(keeper.streams(0)).await.unwrap();
    assert!(!streams.input.was_accepted("cut"));
    within(
        streams
            .input
            .write(Some("cut"), Bytes::from_static(b"whole\n")),
    )
    .await
    .unwrap();
    within(streams.input.close()).await.unwrap();
    let heard = crate::streams::read(&mut streams.output, 100).await;
    assert_eq!(heard, b"whole\n");
}

#[tokio::test]
async fn a_connection_that_speaks_nonsense_is_closed_and_harms_nobody() {
    let run = Run::held("exec cat");
    let keeper = run.start().await;
    let nonsense: [&[u8]; 4] = [
        b"\xff\xff\xff\xff\xff nonsense",
        b"\x01\x02\0\0\0\xff\xff",
        // An acknowledgement of what was never sent.
        b"\x03\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x01\xff\xff\xff\x7f",
    ];
    for words in nonsense {
        let (mut raw, _) = Raw::greet(&run, 0);
        raw.send(words);
        assert!(raw.hears_the_end());
    }
    let mut streams = within(keeper.streams(0)).await.unwrap();
    crate::streams::write(&streams.input, None, "sense\n").await;
    assert_eq!(
        crate::streams::read(&mut streams.output, 6).await,
        b"sense\n"
    );
}

#[tokio::test]
async fn an_engine_that_floods_has_to_wait_and_loses_nothing() {
    // As much as is held for an ACP agent.
    const LIMIT: u64 = 2 * LINE_LIMIT as u64;
    const LINES: u64 = 8_600_000;
    let idle = Run::held("exec cat");
    let idle = resident(&idle.start().await);
    let mut run = Run::held(&format!("exec seq 1 {LINES}"));
    run.spec.streams = Streams::Held { spool_bytes: LIMIT };
    let keeper = run.start().await;
    let full = async {
        while within(keeper.streams(0)).await.unwrap().end < LIMIT {
            tokio::task::yield_now().await;
        }
    };
    within(full).await;
    let engine = keeper.engine().unwrap();
    assert!(engine.is_alive(), "it has far more to say");
    let mut most = resident(&keeper);

    let mut streams = within(keeper.streams(0)).await.unwrap();
    assert_eq!(streams.end, LIMIT, "and the keeper takes no more");
    let (mut length, mut number, mut rest) = (0, 0, Vec::<u8>::new());
    while let Some(chunk) = within(streams.output.next()).await.unwrap() {
        assert_eq!(chunk.offset, length);
        length = chunk.end();
        rest.extend(&chunk.bytes);
        let whole = rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        for line in rest.drain(..whole).as_slice().split(|byte| *byte == b'\n') {
            if !line.is_empty() {
                number += 1;
                assert_eq!(line, number.to_string().as_bytes());
            }
        }
        most = most.max(resident(&keeper));
        within(streams.input.acknowledge(length)).await.unwrap();
    }
    assert_eq!(number, LINES);
    assert!(length > 64 * 1024 * 1024);
    println!("the keeper took at most {most} KiB for {length} bytes");
    // The spool grows by doubling, and what is on its way comes on top.
    let held = LIMIT / 1024;
    assert!(most < idle + 3 * held, "{most} KiB, {idle} KiB when idle");
    until(|| resident(&keeper) < idle + held / 4).await;
    println!("and now {} KiB, {idle} KiB when idle", resident(&keeper));
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

/// How much memory of its own the keeper has, in KiB.
fn resident(keeper: &Keeper) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", keeper.identity().pid)).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:"));
    let amount = line.unwrap().split_whitespace().nth(1).unwrap();
    amount.parse().unwrap()
}
