//! Commands that wait for what happens end when there is no server that could tell them.

use crate::fake::{Fake, write_server_file};
use crate::{Caller, until};

/// What a stream ends with when somebody stops the server.
const STOPPED: &str = "event: goodbye\ndata: {\"seq\":5,\"reason\":\"stopped\"}\n\n";

#[tokio::test]
async fn a_command_that_waits_ends_when_somebody_stops_the_server() {
    for (arguments, advice) in [
        (&["inbox", "--watch"][..], "countersign up"),
        (
            &["prompt", "hello"][..],
            "countersign prompt --session 000001",
        ),
    ] {
        let data = tempfile::tempdir().unwrap();
        let mut fake = Fake::new();
        fake.on_socket(data.path());
        *fake.memory.streams.lock().unwrap() = vec![STOPPED.to_owned()];
        let caller = Caller::in_directory(data.path());
        assert_eq!(caller.run(arguments).await, 8);
        let said = caller.stderr.text();
        assert!(said.contains("the server was stopped"), "{said}");
        assert!(said.contains(advice), "{said}");
        let streams = fake.memory.cursors.lock().unwrap().len();
        assert_eq!(streams, 1, "it is not tried again");
    }
}

#[tokio::test]
async fn a_command_that_waits_ends_after_a_minute_without_a_server() {
    for arguments in [&["inbox", "--watch"][..], &["prompt", "hello"][..]] {
        let data = tempfile::tempdir().unwrap();
        let mut fake = Fake::new();
        fake.on_socket(data.path());
        let memory = std::sync::Arc::clone(&fake.memory);
        let caller = Caller::in_directory(data.path());
        let running = caller.run_for_as_long_as_it_takes(arguments);
        let killing = async {
            let is_followed = || memory.cursors.lock().unwrap().len() == 1;
            until("the command follows", is_followed).await;
            fake.leave().await;
            until("the loss is told", || {
                caller.stderr.text().contains("Disconnected")
            })
            .await;
            tokio::time::pause();
            tokio::time::Instant::now()
        };
        let (exit, lost_at) = tokio::join!(running, killing);
        assert_eq!(exit, 8);
        let waited = lost_at.elapsed().as_secs();
        assert!((55..=75).contains(&waited), "it waited {waited} s");
        let said = caller.stderr.text();
        assert!(said.contains("none has answered for 60 s"), "{said}");
        tokio::time::resume();
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_there_and_does_not_answer_is_told_of_with_its_process() {
    let data = tempfile::tempdir().unwrap();
    // It takes connections, as a stopped process does, and says nothing.
    let _listener = std::os::unix::net::UnixListener::bind(data.path().join("countersign.sock"));
    write_server_file(data.path());
    let pid = std::process::id().to_string();
    for arguments in [
        &["inbox"][..],
        &["inbox", "--watch"][..],
        &["prompt", "hello"][..],
        &["sessions"][..],
        &["token", "list"][..],
        &["status"][..],
        &["task", "--background", "hello"][..],
        &["wait-and-result", "task-a-b"][..],
        &["doctor"][..],
    ] {
        let mut caller = Caller::in_directory(data.path());
        caller.surroundings.directory = Some(data.path().to_owned());
        let begun = tokio::time::Instant::now();
        let exit = caller.run_for_as_long_as_it_takes(arguments).await;
        assert_eq!(exit, 9, "{arguments:?}");
        let took = begun.elapsed().as_secs();
        assert!(took <= 10, "{arguments:?} took {took} s");
        let said = caller.stdout.text() + &caller.stderr.text();
        assert!(said.contains("the server does not answer"), "{said}");
        assert!(said.contains(&format!("process {pid} ")), "{said}");
        assert!(said.contains(&format!("kill {pid}")), "{said}");
    }
}
