//! The keeper as processes meet it: real engines (shell scripts), real servers that go away, real kills.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test's set-up that fails should fail the test"
)]

#[path = "support/run.rs"]
mod run;
#[path = "keeper/stream_ends.rs"]
mod stream_ends;
#[path = "keeper/stream_faults.rs"]
mod stream_faults;
#[path = "keeper/streams.rs"]
mod streams;
#[path = "keeper/terminals.rs"]
mod terminals;
#[path = "keeper/wire.rs"]
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use countersign_engine::keeper::{
    Attach, ExitCause, ExitStatus, Keeper, KeeperError, KeeperSpec, Phase, ReadyRule,
    engine_log_tail,
};
use countersign_engine::process::tree;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use run::{GRACE, LIMIT, PROGRAM, Run, exit_of, kill, until, within};

const PLAIN: &str = "echo booting; echo listening on here; exec sleep 1000";

/// An engine with children that do what they can to get away: own sessions, double forks, deaf to TERM.
const ESCAPERS: &str = "
    setsid sleep 1001 &
    (setsid sh -c 'trap \"\" TERM HUP; sleep 1002; sleep 1002' &)
    (nohup setsid sh -c '(setsid sleep 1003 &) ; exit' &)
    sh -c 'sleep 1004 & kill -STOP $$' &
    echo listening on here
    exec sleep 1000";

#[tokio::test]
async fn the_engine_is_ready_when_it_says_so_and_ends_when_told() {
    let run = Run::of(PLAIN);
    let keeper = run.start().await;
    assert_eq!(
        within(keeper.ready(LIMIT)).await.unwrap().as_deref(),
        Some("listening on here")
    );
    let engine = keeper.engine().unwrap();
    assert!(engine.is_alive() && keeper.identity().is_alive());

    let stopped = within(keeper.stop(GRACE)).await.unwrap();

    assert_eq!(stopped.left, 0);
    assert_eq!(stopped.exit.cause, ExitCause::Stopped);
    assert_eq!(stopped.exit.status, ExitStatus::Signal(15));
    assert!(!engine.is_alive() && !keeper.identity().is_alive());
    assert_eq!(run.processes(), []);
    assert_eq!(run.attach_gone().await, stopped.exit);
    assert!(!run.directory().join("keeper.sock").exists());
    assert!(!run.directory().join("spec.json").exists());
    assert_eq!(
        engine_log_tail(&run.directory(), 100).unwrap(),
        "booting\nlistening on here\n"
    );
}

#[tokio::test]
async fn the_engine_lives_on_when_the_server_is_killed_and_the_next_one_finds_it() {
    let run = Run::of(PLAIN);
    let spec = run.file("wanted.json");
    fs::write(&spec, serde_json::to_vec(&run.spec).unwrap()).unwrap();
    let mut server = Command::new(PROGRAM)
        .arg("server")
        .args([run.directory(), spec])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    within(BufReader::new(server.stdout.take().unwrap()).read_line(&mut said))
        .await
        .unwrap();
    assert_eq!(said, "connected\n");
    within(server.kill()).await.unwrap();

    let keeper = run.attach_live().await;
    within(keeper.ready(LIMIT)).await.unwrap();
    let (identity, engine) = (keeper.identity(), keeper.engine());
    drop(keeper);

    let again = run.attach_live().await;
    assert_eq!((again.identity(), again.engine()), (identity, engine));
    assert!(engine.unwrap().is_alive());
    assert!(matches!(*again.phase().borrow(), Phase::Ready { .. }));
    assert_eq!(within(again.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn two_servers_hear_the_same() {
    let run = Run::of("trap '' TERM; echo listening on here; sleep 1000; sleep 1000");
    let first = run.start().await;
    let second = run.attach_live().await;
    within(second.ready(LIMIT)).await.unwrap();
    let grace = Duration::from_millis(300);
    let (stopped, stopped_too) =
        within(async { tokio::join!(first.stop(grace), second.stop(grace)) }).await;
    assert_eq!(stopped.unwrap(), stopped_too.unwrap());
    assert_eq!(exit_of(&first).await, exit_of(&second).await);
}

#[tokio::test]
async fn a_stop_ends_children_that_got_away() {
    let run = Run::of(ESCAPERS);
    let keeper = run.start().await;
    within(keeper.ready(LIMIT)).await.unwrap();
    until(|| run.processes().len() >= 7).await;
    let members = run.processes();
    let descendants: BTreeSet<_> = tree::descendants(keeper.identity().pid)
        .unwrap()
        .into_iter()
        .collect();
    assert!(
        members.iter().all(|member| descendants.contains(member)),
        "all are the keeper's"
    );

    let stopped = within(keeper.stop(Duration::from_millis(300)))
        .await
        .unwrap();

    assert_eq!(stopped.left, 0);
    assert_eq!(run.processes(), []);
    assert!(members.iter().all(|member| !member.is_alive()));
}

#[tokio::test]
async fn a_stop_catches_up_with_processes_that_keep_replacing_themselves() {
    let mut run = Run::of("sh -c \"$AGAIN\" & echo listening on here; exec sleep 1000");
    let again = "trap '' TERM; echo x >> generations; setsid sh -c \"$AGAIN\" &";
    run.spec
        .environment
        .insert("AGAIN".to_owned(), again.to_owned());
    let keeper = run.start().await;
    let generations = run.file("generations");
    until(|| fs::read(&generations).is_ok_and(|lines| lines.len() >= 40)).await;

    assert_eq!(within(keeper.stop(Duration::ZERO)).await.unwrap().left, 0);
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn an_engine_that_ends_by_itself_is_noticed_and_leaves_nobody_behind() {
    let run = Run::of("(setsid sleep 1001 &); echo listening on here; echo last words >&2; exit 7");
    let keeper = run.start().await;
    let exit = exit_of(&keeper).await;
    assert_eq!(exit.status, ExitStatus::Code(7));
    assert_eq!(exit.cause, ExitCause::Itself);
    assert_eq!(run.processes(), []);
    assert!(
        engine_log_tail(&run.directory(), 1000)
            .unwrap()
            .contains("last words")
    );

    // The keeper stays while somebody listens, and leaves once nobody has to be told any more.
    assert!(keeper.identity().is_alive());
    let identity = keeper.identity();
    drop(keeper);
    within(identity.exited()).await.unwrap();
    assert_eq!(run.attach_gone().await, exit);
}

#[tokio::test]
async fn the_end_of_an_engine_waits_for_a_server_to_learn_it() {
    let run = Run::of("until [ -e go ]; do sleep 0.01; done; kill -SEGV $$");
    let keeper = run.start().await;
    let (identity, engine) = (keeper.identity(), keeper.engine().unwrap());
    drop(keeper);
    fs::write(run.file("go"), "").unwrap();
    within(engine.exited()).await.unwrap();

    let keeper = run.attach_live().await;
    assert_eq!(keeper.identity(), identity);
    assert_eq!(exit_of(&keeper).await.status, ExitStatus::Signal(11));
}

#[tokio::test]
async fn an_engine_that_cannot_be_started_says_why() {
    let mut run = Run::of("");
    run.spec.program = PathBuf::from("/nowhere/engine");
    let keeper = run.start().await;
    let Err(KeeperError::Exited(exit)) = within(keeper.ready(LIMIT)).await else {
        panic!("it is ready")
    };
    let ExitStatus::NotStarted(reason) = exit.status else {
        panic!("{exit:?}")
    };
    assert!(
        reason.contains("/nowhere/engine") && reason.contains("No such file"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_keeper_without_a_server_ends_the_tree_in_the_end() {
    let mut run = Run::of(ESCAPERS);
    run.spec.lonely_limit_s = 1;
    let keeper = run.start().await;
    within(keeper.ready(LIMIT)).await.unwrap();
    let identity = keeper.identity();
    drop(keeper);
    within(identity.exited()).await.unwrap();
    assert_eq!(run.processes(), []);
    assert_eq!(run.attach_gone().await.cause, ExitCause::Lonely);
}

#[tokio::test]
async fn a_server_that_is_there_keeps_the_engine_beyond_the_lonely_limit() {
    let mut run = Run::of("sleep 2; echo listening on here; exec sleep 1000");
    run.spec.lonely_limit_s = 1;
    let keeper = run.start().await;
    within(keeper.ready(LIMIT)).await.unwrap();
    assert!(keeper.engine().unwrap().is_alive());
    assert_eq!(
        within(keeper.stop(GRACE)).await.unwrap().exit.cause,
        ExitCause::Stopped
    );
}

#[tokio::test]
async fn a_keeper_that_is_told_to_terminate_ends_the_tree() {
    let run = Run::of(ESCAPERS);
    let keeper = run.start().await;
    within(keeper.ready(LIMIT)).await.unwrap();
    let pid = keeper.identity().pid.to_string();
    std::process::Command::new("kill")
        .arg(pid)
        .status()
        .unwrap();
    assert_eq!(exit_of(&keeper).await.cause, ExitCause::Stopped);
    within(keeper.identity().exited()).await.unwrap();
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn a_killed_keeper_takes_the_engine_with_it_and_the_next_server_ends_the_rest() {
    let run = Run::of(ESCAPERS);
    let keeper = run.start().await;
    within(keeper.ready(LIMIT)).await.unwrap();
    until(|| run.processes().len() >= 7).await;
    let engine = keeper.engine().unwrap();

    kill(keeper.identity());

    within(engine.exited()).await.unwrap();
    assert_eq!(exit_of(&keeper).await.cause, ExitCause::KeeperLost);
    let Attach::Orphaned(orphan) = run.attach().await else {
        panic!("children got away unseen")
    };
    assert_eq!(orphan.engine(), Some(engine));
    assert!(!orphan.members().unwrap().is_empty());
    assert_eq!(
        within(orphan.end(Duration::from_millis(300)))
            .await
            .unwrap(),
        []
    );
    assert_eq!(run.processes(), []);
    assert_eq!(run.attach_gone().await.cause, ExitCause::KeeperLost);
}

#[tokio::test]
async fn a_descendant_of_the_engine_is_refused_at_the_keepers_socket() {
    let run = Run::of(
        "echo listening on here
         until [ -e go ]; do sleep 0.01; done
         $CALLER call run/keeper.sock child.answer
         (setsid $CALLER call run/keeper.sock orphan.answer &)
         exec sleep 1000",
    );
    let mut spec = run.spec.clone();
    spec.environment
        .insert("CALLER".to_owned(), PROGRAM.to_owned());
    let keeper = within(Keeper::spawn(Path::new(PROGRAM), &run.directory(), &spec))
        .await
        .unwrap();
    within(keeper.ready(LIMIT)).await.unwrap();

    fs::write(run.file("go"), "").unwrap();
    for answer in ["child.answer", "orphan.answer"] {
        until(|| run.file(answer).exists()).await;
        let heard = fs::read_to_string(run.file(answer)).unwrap();
        assert_eq!(
            heard,
            "{\"refused\":\"the caller descends from the engine\"}\n"
        );
    }
    assert!(keeper.engine().unwrap().is_alive());

    // The same words from somebody else are heard.
    let called = Command::new(PROGRAM)
        .arg("call")
        .args([
            run.directory().join("keeper.sock"),
            run.file("stranger.answer"),
        ])
        .status();
    assert!(within(called).await.unwrap().success());
    assert!(
        fs::read_to_string(run.file("stranger.answer"))
            .unwrap()
            .contains("\"stopped\"")
    );
    assert_eq!(exit_of(&keeper).await.cause, ExitCause::Stopped);
}

#[tokio::test]
async fn the_engine_has_exactly_the_environment_and_the_directory_it_was_given() {
    let mut run = Run::of("");
    run.spec.program = PathBuf::from("sleep");
    run.spec.args = vec!["1000".to_owned()];
    run.spec.ready = ReadyRule::Started;
    let keeper = run.start().await;
    assert_eq!(within(keeper.ready(LIMIT)).await.unwrap(), None);
    let engine = format!("/proc/{}", keeper.engine().unwrap().pid);

    let environment: BTreeMap<String, String> = fs::read_to_string(format!("{engine}/environ"))
        .unwrap()
        .split_terminator('\0')
        .map(|entry| entry.split_once('=').unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    assert_eq!(environment, run.spec.environment);
    assert_eq!(
        fs::read_link(format!("{engine}/cwd")).unwrap(),
        run.home.path().canonicalize().unwrap()
    );
    assert_eq!(
        fs::read_link(format!("{engine}/fd/0")).unwrap(),
        Path::new("/dev/null")
    );
    let open: Vec<_> = fs::read_dir(format!("{engine}/fd")).unwrap().collect();
    assert_eq!(open.len(), 3, "nothing but its three streams");
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn the_keeper_stands_on_its_own() {
    let run = Run::of(PLAIN);
    let keeper = run.start().await;
    let process = format!("/proc/{}", keeper.identity().pid);

    let table = fs::read_to_string(format!("{process}/stat")).unwrap();
    let session = table
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .nth(3)
        .unwrap();
    assert_eq!(
        session,
        keeper.identity().pid.to_string(),
        "it leads its own session"
    );
    match fs::read_to_string(format!("{process}/environ")) {
        Ok(environment) => assert_eq!(environment, "", "it inherits no variable"),
        Err(refused) => assert_eq!(
            refused.kind(),
            ErrorKind::PermissionDenied,
            "only root may look"
        ),
    }
    let limits = fs::read_to_string(format!("{process}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    assert_eq!(
        core.split_whitespace().nth(4),
        Some("0"),
        "it dumps no core"
    );
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn secrets_that_the_next_server_does_not_need_leave_the_disk() {
    let mut run = Run::of(PLAIN);
    run.spec
        .environment
        .insert("PASSWORD".to_owned(), "needed".to_owned());
    run.spec.kept_variables.insert("PASSWORD".to_owned());
    let keeper = run.start().await;

    let kept = KeeperSpec::read(&run.directory()).unwrap();
    assert_eq!(
        kept.environment.keys().collect::<Vec<_>>(),
        ["PASSWORD", "RUN_MARK"]
    );
    for entry in fs::read_dir(run.directory()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cret"));
    }
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn a_run_directory_is_used_once() {
    let run = Run::of(PLAIN);
    let keeper = run.start().await;
    let second = within(Keeper::spawn(
        Path::new(PROGRAM),
        &run.directory(),
        &run.spec,
    ))
    .await;
    assert!(matches!(second, Err(KeeperError::Used(_))));
    assert_eq!(within(keeper.stop(GRACE)).await.unwrap().left, 0);
}

#[tokio::test]
async fn a_keeper_that_cannot_begin_says_why() {
    let run = Run::of(PLAIN);
    let died = within(Keeper::spawn(
        Path::new("/bin/false"),
        &run.directory(),
        &run.spec,
    ))
    .await;
    assert!(matches!(died, Err(KeeperError::Died { .. })), "{died:?}");
    assert_eq!(run.attach_gone().await.cause, ExitCause::KeeperLost);
}
