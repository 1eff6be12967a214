//! How a held engine ends, and what becomes of its last words.

use std::time::Duration;

use bytes::Bytes;
use countersign_engine::keeper::{ExitCause, ExitStatus, HeldStreams, KeeperError};

use crate::run::{GRACE, Run, exit_of, until, within};
use crate::streams::{read, write};

/// For engines that do not end by themselves.
const SHORT: Duration = Duration::from_millis(300);

/// Takes and acknowledges everything.
async fn take_all(mut streams: HeldStreams) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(chunk) = within(streams.output.next()).await.unwrap() {
        bytes.extend(&chunk.bytes);
        within(streams.input.acknowledge(chunk.end()))
            .await
            .unwrap();
    }
    bytes
}

/// What `seq 1 LAST` prints.
fn numbers(last: u32) -> String {
    let lines: Vec<String> = (1..=last).map(|number| number.to_string()).collect();
    lines.join("\n") + "\n"
}

#[tokio::test]
async fn a_stop_is_the_end_of_the_input_first_and_the_last_words_are_heard() {
    let run = Run::held("cat; echo goodbye; exit 4");
    let keeper = run.start().await;
    let streams = within(keeper.streams(0)).await.unwrap();
    write(&streams.input, None, "hello\n").await;

    let (stopped, heard) =
        within(async { tokio::join!(keeper.stop(GRACE), take_all(streams)) }).await;

    let stopped = stopped.unwrap();
    assert_eq!(stopped.left, 0);
    assert_eq!(stopped.exit.status, ExitStatus::Code(4));
    assert_eq!(stopped.exit.cause, ExitCause::Stopped);
    assert_eq!(String::from_utf8(heard).unwrap(), "hello\ngoodbye\n");
    assert_eq!(run.attach_gone().await, stopped.exit);
}

#[tokio::test]
async fn a_stop_ends_engines_that_do_not_mind_the_end_of_their_input() {
    let run =
        Run::held("(setsid sleep 1001 &); trap '' TERM; echo up; while :; do sleep 1000; done");
    let keeper = run.start().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    read(&mut streams.output, 3).await;
    until(|| run.processes().len() >= 3).await;
    drop(streams);
    let stopped = within(keeper.stop(SHORT)).await.unwrap();
    assert_eq!(stopped.left, 0);
    assert_eq!(stopped.exit.status, ExitStatus::Signal(9));
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn an_engine_that_stops_reading_holds_nobody_up() {
    // It reads the first byte, prints more than a keeper holds, and never reads again.
    const PRINTED: usize = 6_000_000;
    let run =
        Run::held("dd bs=1 count=1 status=none >&2; head -c 6000000 /dev/zero; exec sleep 1000");
    let keeper = run.start().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    let large = Bytes::from(vec![b'x'; 3 * 1024 * 1024]);
    let writing = streams.input.clone();
    let mut stuck = Box::pin(writing.write(Some("stuck"), large.clone()));
    let mut behind = Box::pin(streams.input.write(Some("behind"), large.clone()));
    let taken = within(async {
        let mut taken = 0;
        while taken < PRINTED as u64 {
            tokio::select! {
                biased;
                _ = &mut stuck => panic!("nobody reads"),
                _ = &mut behind => panic!("it is not its turn"),
                chunk = streams.output.next() => taken = chunk.unwrap().unwrap().end(),
            }
            // The same connection still takes acknowledgements: without them the engine could not go on printing.
            tokio::select! {
                _ = &mut stuck => panic!("nobody reads"),
                told = streams.input.acknowledge(taken) => told.unwrap(),
            }
        }
        taken
    })
    .await;
    // Others are served as well.
    let again = run.attach_live().await;
    let newer = within(again.streams(taken)).await.unwrap();
    assert!(matches!(within(stuck).await, Err(KeeperError::Displaced)));
    assert!(matches!(within(behind).await, Err(KeeperError::Displaced)));
    assert!(
        newer.input.was_accepted("stuck"),
        "a frame that was begun is finished"
    );
    assert!(!newer.input.was_accepted("behind"));
    drop(newer);

    let stopped = within(keeper.stop(SHORT)).await.unwrap();
    assert_eq!(stopped.left, 0);
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn what_was_printed_before_a_crash_waits_for_a_server() {
    let run = Run::held("until [ -e go ]; do sleep 0.01; done; seq 1 100000; exit 3");
    let printed = numbers(100_000);
    let keeper = run.start().await;
    let (identity, engine) = (keeper.identity(), keeper.engine().unwrap());
    std::fs::write(run.file("go"), "").unwrap();
    assert_eq!(exit_of(&keeper).await.status, ExitStatus::Code(3));
    assert!(!engine.is_alive());
    drop(keeper);

    // A server has heard of the end and one has read a part: neither is enough.
    let keeper = run.attach_live().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    let part = read(&mut streams.output, 300_000).await.len() as u64;
    within(streams.input.acknowledge(part)).await.unwrap();
    drop((streams, keeper));
    let keeper = run.attach_live().await;
    assert_eq!(keeper.identity(), identity);
    let rest = take_all(within(keeper.streams(part)).await.unwrap()).await;
    assert_eq!(
        rest,
        &printed.as_bytes()[usize::try_from(part).unwrap()..],
        "not one byte is lost"
    );
    assert!(identity.is_alive());
    drop(keeper);
    within(identity.exited()).await.unwrap();
    assert_eq!(run.attach_gone().await.status, ExitStatus::Code(3));
}

#[tokio::test]
async fn last_words_beyond_the_limit_of_the_spool_are_kept_too() {
    let mut run = Run::held("seq 1 20000; exit 3");
    run.spec.streams = countersign_engine::keeper::Streams::Held { spool_bytes: 1000 };
    let printed = numbers(20_000);
    let keeper = run.start().await;
    let streams = within(keeper.streams(0)).await.unwrap();
    let heard = take_all(streams).await;
    assert_eq!(String::from_utf8(heard).unwrap(), printed);
    assert_eq!(exit_of(&keeper).await.status, ExitStatus::Code(3));
}

#[tokio::test]
async fn last_words_that_nobody_comes_for_are_let_go_in_the_end() {
    let mut run = Run::held("echo last words; exit 3");
    run.spec.lonely_limit_s = 1;
    let keeper = run.start().await;
    let identity = keeper.identity();
    exit_of(&keeper).await;
    drop(keeper);
    within(identity.exited()).await.unwrap();
    assert_eq!(run.attach_gone().await.status, ExitStatus::Code(3));
}

#[tokio::test]
async fn an_engine_that_closed_its_input_takes_no_more() {
    let run = Run::held("exec 0<&-; echo closed; exec sleep 1000");
    let keeper = run.start().await;
    let mut streams = within(keeper.streams(0)).await.unwrap();
    assert_eq!(read(&mut streams.output, 7).await, b"closed\n");
    let refused = within(streams.input.write(Some("a"), Bytes::from_static(b"x"))).await;
    assert!(
        matches!(refused, Err(KeeperError::InputOver)),
        "{refused:?}"
    );
    assert!(!streams.input.was_accepted("a"));
    drop(streams);
    assert_eq!(within(keeper.stop(SHORT)).await.unwrap().left, 0);
}

#[tokio::test]
async fn a_lonely_engine_sees_the_end_of_its_input() {
    let mut run = Run::held("cat; echo ended > ended");
    run.spec.lonely_limit_s = 1;
    let keeper = run.start().await;
    let identity = keeper.identity();
    drop(keeper);
    within(identity.exited()).await.unwrap();
    assert!(run.file("ended").exists());
    assert_eq!(run.attach_gone().await.cause, ExitCause::Lonely);
}
