//! The server that commands start: one, however many need it, gone when nobody does, and replaced when it dies.

use std::os::unix::fs::PermissionsExt as _;

use countersign_testkit::eventually;
use countersign_testkit::test_server::PATIENCE;
use rustix::process::{Pid, Signal, getsid};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

use crate::place::{Place, end_of, is_there, server_of, signal};

#[tokio::test]
async fn ten_commands_at_once_start_one_server_and_lose_no_job() {
    let place = Place::new();
    let begin = [
        "task",
        "--engine",
        "demo",
        "--background",
        "--json",
        "SAY hello",
    ];
    let commands: Vec<_> = (0..10)
        .map(|_| place.command(&begin).spawn().unwrap())
        .collect();
    let mut ids = Vec::new();
    let mut starters = 0;
    for command in commands {
        let printed = end_of(command, &begin).await;
        let id = printed.expect_success().json()["jobId"].clone();
        ids.push(id.as_str().unwrap().to_owned());
        starters += usize::from(printed.stderr.contains("Started a server"));
    }
    assert_eq!(starters, 1);
    for id in &ids {
        place.run(&["wait-and-result", id]).await.expect_success();
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 10);
    let pid = place.server().expect("it serves");
    // Of no terminal, and its log is for nobody else.
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    assert_eq!(getsid(Some(pid)).unwrap(), pid);
    let log = place.data().join("server.log").metadata().unwrap();
    assert_eq!(log.permissions().mode() & 0o777, 0o600);
}

/// Waits until a watcher has told a line that holds `text`.
async fn told(lines: &mut Lines<BufReader<ChildStdout>>, text: &str) {
    let heard = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains(text) {
                return;
            }
        }
        panic!("the watcher ended before it told `{text}`");
    };
    let heard = tokio::time::timeout(PATIENCE, heard).await;
    heard.unwrap_or_else(|_| panic!("the watcher never told `{text}`"));
}

#[tokio::test]
async fn a_server_without_anything_to_do_ends_and_the_next_command_starts_another() {
    let place = Place::new().with("COUNTERSIGN_IDLE_EXIT_S", "1");
    let id = place.begin(&[], "WAIT").await;
    let first = place.server().expect("it serves");
    // Somebody who only looks on is no reason to stay.
    let watch = ["watch", "--limit", "none", "--every", "1s"];
    let mut watching = place.command(&watch).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    told(&mut lines, &id).await;
    // Longer than it would stay without a job.
    let still = place
        .run(&["wait-and-result", &id, "--max-wait", "3"])
        .await;
    still.expect_code(2);
    assert_eq!(place.server(), Some(first));
    place.run(&["cancel", &id]).await.expect_success();
    told(&mut lines, &format!("{id} TERMINAL=cancelled")).await;
    eventually(PATIENCE, "the server ends by itself", async || {
        (!is_there(first)).then_some(())
    })
    .await;
    for left in ["server.json", "countersign.sock"] {
        assert!(!place.data().join(left).exists(), "{left} is left");
    }
    let job = place.job(&id).await;
    assert_eq!(job["status"], "cancelled");
    assert_ne!(place.server(), Some(first));
    // Whoever looked on is told of what the next server does.
    let next = place.begin(&[], "WAIT").await;
    told(&mut lines, &next).await;
    place.run(&["cancel", &next]).await.expect_success();
    told(&mut lines, &format!("{next} TERMINAL=cancelled")).await;
}

#[tokio::test]
async fn a_killed_servers_number_that_is_another_process_by_now_is_not_taken_for_a_server() {
    let place = Place::new();
    let id = place.begin(&[], "WAIT").await;
    let killed = place.server().expect("it serves");
    place.kill_server().await;
    let mut other = Command::new("sleep")
        .arg("600")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let file = place.data().join("server.json");
    let left = std::fs::read_to_string(&file).unwrap();
    let pid = other.id().unwrap().to_string();
    std::fs::write(&file, left.replacen(&killed.to_string(), &pid, 1)).unwrap();
    let told = place.run(&["status", &id, "--json"]).await;
    assert_eq!(told.expect_success().json()["job"]["id"], id.as_str());
    assert!(told.stderr.contains("Started a server"), "{told:?}");
    assert!(
        other.try_wait().unwrap().is_none(),
        "nobody ends what is not ours"
    );
}

#[tokio::test]
async fn whoever_waits_for_a_job_is_told_its_end_though_the_server_is_killed() {
    let place = Place::new();
    let id = place.begin(&[], "RUN echo hello").await;
    place.until(&id, "waiting").await;
    let waiting = place.command(&["wait-and-result", &id]).spawn().unwrap();
    let first = place.server();
    place.kill_server().await;
    let second = eventually(PATIENCE, "another server serves", async || place.server()).await;
    assert_ne!(Some(second), first);
    let job = place.until(&id, "waiting").await;
    let ask = job["openAsks"][0].as_str().unwrap();
    place.run(&["allow", ask]).await.expect_success();
    let ended = end_of(waiting, &["wait-and-result"]).await;
    ended.expect_success();
    assert!(
        ended.stdout.contains("- **Status**: completed"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn whoever_waits_for_a_job_is_told_when_somebody_stops_the_server() {
    let place = Place::new();
    let id = place.begin(&[], "RUN echo hello").await;
    place.until(&id, "waiting").await;
    let waits: [&[&str]; 6] = [
        &["wait-and-result", &id],
        &["status", &id, "--wait"],
        &["attach", &id],
        &["logs", &id, "--follow"],
        &["watch", &id],
        &["watch", "--limit", "none"],
    ];
    let foreground = ["task", "--engine", "demo", "WAIT"];
    let mut waiting: Vec<_> = waits
        .iter()
        .copied()
        .chain([&foreground[..]])
        .map(|arguments| (arguments, place.command(arguments).spawn().unwrap()))
        .collect();
    let server = place.server().expect("it serves");
    // One each, and `attach` follows both the job and its turn.
    place.until_waited_for(waiting.len() + 1).await;
    for (arguments, child) in &mut waiting {
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?}");
    }
    signal(server, Signal::TERM);
    for (arguments, child) in waiting {
        let ended = end_of(child, arguments).await;
        ended.expect_code(8);
        assert!(ended.stderr.contains("the server was stopped"), "{ended:?}");
        assert!(!ended.stderr.contains("Started a server"), "{ended:?}");
    }
    eventually(PATIENCE, "the server ends", async || {
        (!is_there(server)).then_some(())
    })
    .await;
    assert_eq!(place.server(), None, "nobody starts another");
    // What they were advised to do says what became of it.
    let told = place.run(&["status", &id]).await;
    told.expect_success();
    assert!(told.stdout.contains("Countersign was stopped"), "{told:?}");
}

#[tokio::test]
async fn the_companions_variable_names_the_state_and_no_other_programs_directory_is_used() {
    let place = Place::new();
    let companion = place.path("companion");
    let foreign = place.path("codex-inline");
    std::fs::create_dir(&foreign).unwrap();
    let status = |data: Option<&str>| {
        let mut command = place.command(&["status"]);
        command
            .env("CLAUDE_PLUGIN_DATA", &foreign)
            .env("OPENCODE_COMPANION_DATA", &companion);
        match data {
            Some(data) => command.env("COUNTERSIGN_DATA", data),
            None => command.env_remove("COUNTERSIGN_DATA"),
        };
        command.spawn().unwrap()
    };
    end_of(status(None), &["status"]).await.expect_success();
    assert!(server_of(&companion).is_some());
    assert!(!place.data().exists());
    let data = place.data();
    let own = end_of(status(data.to_str()), &["status"]).await;
    own.expect_success();
    assert!(place.server().is_some());
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 0);
}

#[tokio::test]
async fn a_folder_in_which_something_was_done_is_served_after_a_restart_under_its_name() {
    let place = Place::new();
    let id = place.begin(&[], "SAY hello").await;
    place.run(&["wait-and-result", &id]).await.expect_success();
    // A prompt in a folder that is not served is said in that folder, and in no other.
    let prompt = ["prompt", "--engine", "demo", "SAY hello"];
    let prompted = place.run_in("elsewhere", &prompt).await;
    prompted.expect_success();
    assert!(prompted.stderr.contains("/elsewhere"), "{prompted:?}");
    let own = place
        .run_in("home", &["prompt", "--continue", "SAY hello"])
        .await;
    own.expect_code(5);
    assert!(own.stderr.contains("/home lies in no workspace"), "{own:?}");

    let first = place.server().expect("it serves");
    signal(first, Signal::TERM);
    eventually(PATIENCE, "the server ends", async || {
        (!is_there(first)).then_some(())
    })
    .await;
    let again = ["prompt", "--continue", "SAY hello again"];
    place.job(&id).await;
    place.run_in("elsewhere", &again).await.expect_success();
    let repo = place.path("repo").canonicalize().unwrap();
    assert_eq!(
        place.job(&id).await["workspaceRoot"],
        repo.to_str().unwrap()
    );
    for folder in ["repo", "elsewhere"] {
        let audit = place.run(&["audit", "list", "--workspace", folder]).await;
        audit.expect_success();
        assert!(audit.stdout.contains("workspace.serve"), "{audit:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_by_a_signal_is_named_by_every_command() {
    let place = Place::new();
    let id = place.begin(&[], "WAIT").await;
    let server = place.server().expect("it serves");
    let wait = ["wait-and-result", &id];
    let waiting = place.command(&wait).spawn().unwrap();
    place.until_waited_for(1).await;
    signal(server, Signal::STOP);
    let commands: [&[&str]; 4] = [
        &["status"],
        &["doctor"],
        &["task", "--engine", "demo", "--background", "SAY hello"],
        &["inbox"],
    ];
    let begun = commands.map(|arguments| (arguments, place.command(arguments).spawn().unwrap()));
    for (arguments, child) in begun.into_iter().chain([(&wait[..], waiting)]) {
        let ended = end_of(child, arguments).await;
        ended.expect_code(9);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(
            said.contains(&format!("process {server} is stopped")),
            "{said}"
        );
        assert!(said.contains(&format!("kill -CONT {server}")), "{said}");
    }
    signal(server, Signal::CONT);
    place.run(&["cancel", &id]).await.expect_success();
    assert_eq!(place.server(), Some(server), "it goes on");
}
