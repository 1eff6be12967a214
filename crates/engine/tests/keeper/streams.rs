//! A held engine's streams as a server has them: what goes in, what comes out, and who may have them.

use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;

use bytes::Bytes;
use countersign_engine::keeper::{
    ExitStatus, HeldInput, HeldOutput, Keeper, KeeperError, ReadyRule, engine_log_tail,
};

use crate::run::{GRACE, LIMIT, PROGRAM, Run, until, within};
use crate::wire::{Raw, frame};

/// Reads until there are `length` bytes, or the end.
pub(crate) async fn read(output: &mut HeldOutput, length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        match within(output.next()).await.unwrap() {
            Some(chunk) => bytes.extend(chunk.bytes),
            None => break,
        }
    }
    bytes
}

pub(crate) async fn write(input: &HeldInput, tag: Option<&str>, frame: &'static str) {
    within(input.write(tag, Bytes::from_static(frame.as_bytes())))
        .await
        .unwrap();
}

#[tokio::test]
async fn what_goes_in_comes_out_and_is_held_until_it_is_acknowledged() {
    let run = Run::held("echo to the log >&2; exec cat");
    let keeper = run.start().await;
    assert_eq!(within(keeper.ready(LIMIT)).await.unwrap(), None);
    let mut streams = within(keeper.streams(0)).await.unwrap();
    assert_eq!((streams.oldest, streams.end), (0, 0));
    assert!(!streams.output_over);
    write(&streams.input, None, "first\n").await;
    write(&streams.input, Some("2"), "second\n").await;
    assert_eq!(read(&mut streams.output, 13).await, b"first\nsecond\n");
    within(streams.input.acknowledge(6)).await.unwrap();
    let beyond = within(streams.input.acknowledge(14)).await;
    assert!(
        matches!(beyond, Err(KeeperError::OutOfReach { asked: 14, .. })),
        "{beyond:?}"
    );
    drop(streams);

    // From what was not acknowledged any offset will do.
    for (from, rest) in [(6, "second\n"), (7, "econd\n"), (13, "")] {
        let mut again = within(keeper.streams(from)).await.unwrap();
        assert_eq!((again.oldest, again.end), (6, 13));
        assert_eq!(read(&mut again.output, rest.len()).await, rest.as_bytes());
        assert!(again.input.was_accepted("2") && !again.input.was_accepted("first"));
    }
    for from in [5, 14] {
        let refused = within(keeper.streams(from)).await.map(drop);
        let Err(KeeperError::OutOfReach { asked, oldest, end }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!((asked, oldest, end), (from, 6, 13));
    }
    assert_eq!(
        engine_log_tail(&run.directory(), 100).unwrap(),
        "to the log\n"
    );
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn a_tag_reaches_the_engine_once_whoever_sends_it() {
    let run = Run::held("exec cat");
    let keeper = run.start().await;
    let first = within(keeper.streams(0)).await.unwrap();
    write(&first.input, Some("a"), "1\n").await;
    write(&first.input, Some("a"), "1 again\n").await;
    write(&first.input, None, "2\n").await;
    write(&first.input, None, "2\n").await;
    assert!(first.input.was_accepted("a"));
    drop((first, keeper));

    let keeper = run.attach_live().await;
    let mut second = within(keeper.streams(0)).await.unwrap();
    assert!(second.input.was_accepted("a") && !second.input.was_accepted("b"));
    write(&second.input, Some("a"), "1 once more\n").await;
    write(&second.input, Some("b"), "3\n").await;
    within(second.input.close()).await.unwrap();
    assert_eq!(read(&mut second.output, 100).await, b"1\n2\n2\n3\n");

    // What was written is still known when nothing more can be.
    write(&second.input, Some("b"), "3\n").await;
    let late = within(second.input.write(Some("c"), Bytes::from_static(b"4\n"))).await;
    assert!(matches!(late, Err(KeeperError::InputOver)), "{late:?}");
    assert!(!second.input.was_accepted("c"));
}

#[tokio::test]
async fn the_newest_server_has_the_streams_and_the_older_is_told() {
    let run = Run::held("exec cat");
    let keeper = run.start().await;
    let mut older = within(keeper.streams(0)).await.unwrap();
    write(&older.input, None, "first\n").await;
    // A frame of which half is there when somebody else comes.
    let (mut half, _) = Raw::greet(&run, 0);
    let sent = frame("half", b"a frame that was cut\n");
    half.send(&sent[..sent.len() / 2]);

    let mut newer = within(keeper.streams(0)).await.unwrap();
    half.send(&sent[sent.len() / 2..]);
    write(&newer.input, None, "second\n").await;
    assert_eq!(read(&mut newer.output, 13).await, b"first\nsecond\n");
    assert!(!newer.input.was_accepted("half"));

    let displaced = within(async {
        loop {
            if let Err(error) = older.output.next().await {
                return error;
            }
        }
    })
    .await;
    assert!(matches!(displaced, KeeperError::Displaced), "{displaced}");
    let displaced = within(older.input.write(None, Bytes::from_static(b"late\n"))).await;
    assert!(
        matches!(displaced, Err(KeeperError::Displaced)),
        "{displaced:?}"
    );
    let displaced = within(older.input.acknowledge(0)).await;
    assert!(displaced.is_ok(), "there was nothing to acknowledge");

    within(newer.input.close()).await.unwrap();
    assert_eq!(within(newer.output.next()).await.unwrap(), None);
}

#[tokio::test]
async fn nobody_can_open_a_held_engines_streams_in_the_process_table() {
    const NO_SUCH_DEVICE: Option<i32> = Some(6);
    let run = Run::held("exec cat");
    let keeper = run.start().await;
    let engine = keeper.engine().unwrap();
    for stream in [0, 1] {
        let path = PathBuf::from(format!("/proc/{}/fd/{stream}", engine.pid));
        let target = fs::read_link(&path).unwrap();
        assert!(target.to_str().unwrap().starts_with("socket:"));
        let writing = OpenOptions::new().write(true).open(&path);
        assert_eq!(writing.unwrap_err().raw_os_error(), NO_SUCH_DEVICE);
        let reading = File::open(&path);
        assert_eq!(reading.unwrap_err().raw_os_error(), NO_SUCH_DEVICE);
    }
    let open = fs::read_dir(format!("/proc/{}/fd", engine.pid)).unwrap();
    assert_eq!(open.count(), 3, "nothing but its three streams");
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn a_tool_of_the_engine_is_refused_its_streams() {
    let mut run = Run::held(
        "$CALLER call-streams run/keeper.sock child.answer
         (setsid $CALLER call-streams run/keeper.sock orphan.answer &)
         exec cat",
    );
    run.spec
        .environment
        .insert("CALLER".to_owned(), PROGRAM.to_owned());
    let keeper = run.start().await;
    for answer in ["child.answer", "orphan.answer"] {
        until(|| run.file(answer).exists()).await;
        let heard = fs::read_to_string(run.file(answer)).unwrap();
        assert_eq!(
            heard,
            "{\"refused\":\"the caller descends from the engine\"}\n"
        );
    }
    let mut streams = within(keeper.streams(0)).await.unwrap();
    write(&streams.input, None, "ours\n").await;
    assert_eq!(read(&mut streams.output, 5).await, b"ours\n");
}

#[tokio::test]
async fn an_engine_that_watches_its_output_does_not_take_it_for_closed() {
    let mut run = Run::held("");
    run.spec.program = PathBuf::from(PROGRAM);
    run.spec.args = vec!["look-at-stdout".to_owned()];
    let keeper = run.start().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    assert_eq!(read(&mut streams.output, 100).await, b"0\n");
}

#[tokio::test]
async fn streams_that_are_not_held_are_refused() {
    let mut run = Run::of("exec sleep 1000");
    run.spec.ready = ReadyRule::Started;
    let keeper = run.start().await;
    let refused = within(keeper.streams(0)).await.map(drop);
    assert!(
        matches!(&refused, Err(KeeperError::Refused(reason)) if reason.contains("not held")),
        "{refused:?}"
    );
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn the_streams_of_an_engine_that_could_not_be_started_are_over() {
    let mut run = Run::held("");
    run.spec.program = PathBuf::from("/nowhere/engine");
    let keeper = run.start().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    assert!(streams.output_over);
    assert_eq!(within(streams.output.next()).await.unwrap(), None);
    let written = within(streams.input.write(None, Bytes::from_static(b"x"))).await;
    assert!(
        matches!(written, Err(KeeperError::InputOver)),
        "{written:?}"
    );
}

#[tokio::test]
async fn a_held_engine_cannot_be_awaited_by_a_line() {
    let mut run = Run::held("exec cat");
    run.spec.ready = ReadyRule::StdoutLine("listening on".to_owned());
    let keeper = run.start().await;
    let Err(KeeperError::Exited(exit)) = within(keeper.ready(LIMIT)).await else {
        panic!("it is ready")
    };
    assert!(matches!(exit.status, ExitStatus::NotStarted(_)), "{exit:?}");
}

#[tokio::test]
async fn what_the_keeper_would_not_take_is_not_sent() {
    let run = Run::held("exec cat");
    let keeper = run.start().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    let long = Bytes::from(vec![b'x'; 32 * 1024 * 1024 + 1]);
    let tag = "t".repeat(257);
    for (tag, frame) in [
        (None, long),
        (Some(tag.as_str()), Bytes::new()),
        (Some(""), Bytes::new()),
    ] {
        let refused = within(streams.input.write(tag, frame)).await;
        assert!(
            matches!(refused, Err(KeeperError::TooLarge { .. })),
            "{refused:?}"
        );
    }
    write(&streams.input, None, "short\n").await;
    assert_eq!(read(&mut streams.output, 6).await, b"short\n");
}

#[test]
fn handles_can_be_shared_between_tasks() {
    fn shareable<T: Send + Sync + 'static>() {}
    shareable::<HeldInput>();
    shareable::<HeldOutput>();
    shareable::<Keeper>();
}
