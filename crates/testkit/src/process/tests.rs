use super::*;

const SOON: Duration = Duration::from_secs(10);

fn shell(script: &str, log: &Path) -> Program {
    Launch::new("/bin/sh", log)
        .inherit(&["PATH"])
        .arguments(["-c", script])
        .start()
        .unwrap()
}

fn is_alive(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_line_is_found_once_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = shell("echo ready on 7; sleep 60", &directory.path().join("log"));
    let port = program
        .wait_for_line(SOON, "the port", |line| {
            line.strip_prefix("ready on ")?.parse::<u16>().ok()
        })
        .await;
    assert_eq!(port, 7);
}

#[tokio::test]
#[should_panic(expected = "no such thing")]
async fn a_program_that_ends_without_the_line_fails_at_once_with_its_output() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = shell(
        "echo no such thing >&2; exit 3",
        &directory.path().join("log"),
    );
    program
        .wait_for_line(Duration::from_mins(10), "a line", |line| {
            (line == "ready").then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_second_life_does_not_see_the_output_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    shell("echo first", &log).wait_for_exit(SOON).await;
    let mut second = shell("echo second", &log);
    second.wait_for_exit(SOON).await;
    assert_eq!(second.output(), "second\n");
}

#[tokio::test]
async fn only_given_variables_reach_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = Launch::new("/usr/bin/env", directory.path().join("log"))
        .variable("GIVEN", "yes")
        .start()
        .unwrap();
    program.wait_for_exit(SOON).await;
    let output = program.output();
    let own: Vec<&str> = output
        .lines()
        .filter(|line| !line.starts_with(tree::Mark::VARIABLE))
        .collect();
    assert_eq!(own, ["GIVEN=yes"]);
}

#[tokio::test]
async fn dropping_kills_children_that_left_their_session_and_lost_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let orphan = "(setsid sleep 300 & echo child $!); exec sleep 300";
    let mut program = shell(orphan, &directory.path().join("log"));
    let child = program
        .wait_for_line(SOON, "the child's id", |line| {
            line.strip_prefix("child ")?.parse::<u32>().ok()
        })
        .await;
    assert!(program.descendants().contains(&child));

    drop(program);

    eventually(SOON, "the orphan is gone", async || {
        (!is_alive(child)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn killing_leaves_the_children_alone_as_a_crash_does() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = shell(
        "sleep 300 & echo child $!; wait",
        &directory.path().join("log"),
    );
    let child = program
        .wait_for_line(SOON, "the child's id", |line| {
            line.strip_prefix("child ")?.parse::<u32>().ok()
        })
        .await;

    program.kill();

    assert!(is_alive(child));
    assert_eq!(program.descendants(), [child]);
}
