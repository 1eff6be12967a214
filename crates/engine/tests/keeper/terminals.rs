//! Commands that run beside an engine, as servers meet them.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_engine::keeper::{
    ExitStatus, Keeper, OUTPUT_LIMIT, Printed, TerminalError, TerminalSpec, Terminals, Waiting,
};
use countersign_engine::process::tree;

use crate::run::{GRACE, PROGRAM, Run, kill, until, within};

const ENGINE: &str = "exec sleep 1000";

fn command(run: &Run, id: &str, script: &str) -> TerminalSpec {
    let mark = run.home.path().display().to_string();
    let environment = [("PATH", "/usr/bin:/bin"), ("RUN_MARK", &mark)];
    TerminalSpec {
        id: id.to_owned(),
        label: script.to_owned(),
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        directory: run.home.path().canonicalize().unwrap(),
        environment: environment
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        output_limit: OUTPUT_LIMIT,
    }
}

fn waiting(number: u32) -> Waiting {
    Waiting {
        request: number.to_string(),
        tag: format!("reply-{number}"),
    }
}

/// Waits until it has printed `part`.
async fn printed(terminals: &Terminals, id: &str, part: &str) -> Printed {
    within(async {
        let mut look_again = tokio::time::interval(Duration::from_millis(5));
        loop {
            let printed = terminals.output(id).await.unwrap();
            if printed.text.contains(part) {
                return printed;
            }
            look_again.tick().await;
        }
    })
    .await
}

async fn started(run: &Run) -> (Keeper, Terminals) {
    let keeper = run.start().await;
    let terminals = keeper.terminals();
    (keeper, terminals)
}

#[tokio::test]
async fn what_a_command_prints_and_how_it_ends_can_be_had_until_it_is_released() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    let script = "echo out; echo err >&2; pwd; echo \"$PWD\"; test -t 0 || cat; exit 3";
    within(terminals.start(command(&run, "a", script)))
        .await
        .unwrap();
    let status = within(terminals.wait("a")).await.unwrap();
    assert_eq!(status, ExitStatus::Code(3));
    for _ in 0..2 {
        let said = within(terminals.output("a")).await.unwrap();
        let home = run.home.path().canonicalize().unwrap();
        let home = home.display();
        assert_eq!(said.text, format!("out\nerr\n{home}\n{home}\n"));
        assert_eq!(said.exit, Some(ExitStatus::Code(3)));
        assert!(!said.truncated);
    }
    within(terminals.release("a")).await.unwrap();
    for unknown in ["a", "never"] {
        assert!(matches!(
            within(terminals.output(unknown)).await,
            Err(TerminalError::Unknown)
        ));
        assert!(matches!(
            within(terminals.wait(unknown)).await,
            Err(TerminalError::Unknown)
        ));
        assert!(matches!(
            within(terminals.expect(unknown, waiting(2))).await,
            Err(TerminalError::Unknown)
        ));
        assert!(matches!(
            within(terminals.kill(unknown)).await,
            Err(TerminalError::Unknown)
        ));
        assert!(matches!(
            within(terminals.release(unknown)).await,
            Err(TerminalError::Unknown)
        ));
    }
    within(keeper.stop(GRACE)).await.unwrap();
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn the_same_id_is_the_same_command() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    let spec = command(&run, "a", "echo ran >> ran.txt");
    for _ in 0..3 {
        within(terminals.start(spec.clone())).await.unwrap();
    }
    within(terminals.wait("a")).await.unwrap();
    let ran = std::fs::read_to_string(run.file("ran.txt")).unwrap();
    assert_eq!(ran, "ran\n");
    within(keeper.stop(GRACE)).await.unwrap();
}

#[tokio::test]
async fn waiting_goes_on_while_output_is_read_and_killing_is_not_releasing() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    // One that leaves its session and does not mind being asked to end.
    let script = "echo up; setsid sh -c 'trap \"\" TERM; sleep 1005' & exec sleep 1006";
    within(terminals.start(command(&run, "a", script)))
        .await
        .unwrap();
    let waits = terminals.clone();
    let wait = tokio::task::LocalSet::new();
    let waiting_for = wait.spawn_local(async move { waits.wait("a").await });
    wait.run_until(async {
        let said = printed(&terminals, "a", "up").await;
        assert_eq!(said.exit, None);
        until(|| run.processes().len() >= 4).await;
        assert!(!waiting_for.is_finished());
        within(terminals.kill("a")).await.unwrap();
        let status = within(waiting_for).await.unwrap().unwrap();
        assert!(matches!(status, ExitStatus::Signal(15 | 9)), "{status:?}");
    })
    .await;
    let said = within(terminals.output("a")).await.unwrap();
    assert_eq!((said.text.as_str(), said.exit.is_some()), ("up\n", true));
    let left = run.processes();
    assert_eq!(left.len(), 1, "only the engine is left: {left:?}");
    within(terminals.kill("a")).await.unwrap();
    within(terminals.release("a")).await.unwrap();
    within(keeper.stop(GRACE)).await.unwrap();
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn a_command_outlives_the_server_with_those_who_wait_and_ends_with_the_engine() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    within(terminals.start(command(&run, "a", "echo up; exec sleep 1007")))
        .await
        .unwrap();
    within(terminals.expect("a", waiting(7))).await.unwrap();
    within(terminals.expect("a", waiting(7))).await.unwrap();
    let wait = terminals.wait("a");
    // The first server waits, and goes away.
    let gone = tokio::time::timeout(Duration::from_millis(200), wait).await;
    assert!(gone.is_err());
    drop(keeper);
    let keeper = run.attach_live().await;
    let terminals = keeper.terminals();
    printed(&terminals, "a", "up").await;
    let known = within(terminals.waiting()).await.unwrap();
    assert_eq!(known, [("a".to_owned(), waiting(7))]);
    kill(keeper.engine().unwrap());
    until(|| run.processes().is_empty()).await;
    let late = within(terminals.start(command(&run, "b", "sleep 1008"))).await;
    assert!(late.is_err());
}

#[tokio::test]
async fn a_command_dies_with_its_keeper() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    within(terminals.start(command(&run, "a", "echo up; exec sleep 1009")))
        .await
        .unwrap();
    printed(&terminals, "a", "up").await;
    kill(keeper.identity());
    until(|| run.processes().is_empty()).await;
}

#[tokio::test]
async fn commands_descend_from_the_keeper_and_are_not_listened_to() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    let script = format!("{PROGRAM} call run/keeper.sock answer; cat answer");
    within(terminals.start(command(&run, "a", &script)))
        .await
        .unwrap();
    within(terminals.wait("a")).await.unwrap();
    let said = within(terminals.output("a")).await.unwrap();
    assert!(said.text.contains("descends from the engine"), "{said:?}");
    within(terminals.start(command(&run, "b", "echo $$; exec sleep 1010")))
        .await
        .unwrap();
    let said = printed(&terminals, "b", "\n").await;
    let pid: u32 = said.text.trim().parse().unwrap();
    assert!(tree::descends_from(pid, keeper.identity()).unwrap());
    within(keeper.stop(GRACE)).await.unwrap();
    assert_eq!(run.processes(), []);
}

#[tokio::test]
async fn floods_of_output_and_of_commands_are_bounded() {
    let run = Run::held(ENGINE);
    let (keeper, terminals) = started(&run).await;
    let flood = TerminalSpec {
        output_limit: usize::MAX,
        ..command(&run, "flood", "yes 'a€' | head -c 20000000; echo end")
    };
    within(terminals.start(flood)).await.unwrap();
    within(terminals.wait("flood")).await.unwrap();
    let said = within(terminals.output("flood")).await.unwrap();
    assert!(said.truncated && said.text.ends_with("end\n"));
    assert!(said.text.len() <= OUTPUT_LIMIT && said.text.len() > OUTPUT_LIMIT - 4);
    assert!(!said.text.contains('\u{fffd}'));
    let mut refused = 0;
    for number in 0..40 {
        let spec = command(&run, &number.to_string(), "exec sleep 1011");
        let started = within(terminals.start(spec)).await;
        refused += u32::from(matches!(started, Err(TerminalError::Refused(_))));
    }
    assert_eq!(refused, 24, "sixteen run, and the first gave way");
    assert!(matches!(
        within(terminals.output("flood")).await,
        Err(TerminalError::Unknown)
    ));
    within(terminals.kill_all()).await.unwrap();
    let left = run.processes();
    assert_eq!(left.len(), 1, "only the engine is left: {left:?}");
    let mut refused = 0;
    for number in 0..100 {
        let expected = within(terminals.expect("0", waiting(number))).await;
        refused += u32::from(matches!(expected, Err(TerminalError::Refused(_))));
    }
    assert_eq!(refused, 36, "sixty-four wait");
    let missing = TerminalSpec {
        program: "there-is-no-such-program".to_owned(),
        ..command(&run, "missing", "")
    };
    within(terminals.release("1")).await.unwrap();
    assert!(matches!(
        within(terminals.start(missing)).await,
        Err(TerminalError::Refused(_))
    ));
    within(keeper.stop(GRACE)).await.unwrap();
    assert_eq!(run.processes(), []);
}
