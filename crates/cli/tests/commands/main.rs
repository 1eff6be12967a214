//! The commands against a server that answers like the real one, over TCP and over the Unix socket.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands, and shows what it saw"
)]

use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::Parser as _;
use countersign_cli::{ClientCommand, Output, Surroundings, run_in};
use serde_json::{Value, json};

mod fake;
mod waiting;

use fake::{CLOSED, Fake, GONE, OPEN, QUESTION, TAKEN, delta, event};

#[derive(Debug, clap::Parser)]
#[command(name = "countersign")]
struct Program {
    #[command(subcommand)]
    command: Top,
}

#[derive(Debug, clap::Subcommand)]
enum Top {
    #[command(flatten)]
    Client(ClientCommand),
}

/// What a command wrote.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Caller {
    surroundings: Surroundings,
    stdout: Written,
    stderr: Written,
}

impl Caller {
    fn in_directory(data: &Path) -> Self {
        let surroundings = Surroundings {
            data: Some(data.to_owned()),
            ..Surroundings::default()
        };
        Self {
            surroundings,
            ..Self::default()
        }
    }

    fn with_token(token: &str) -> Self {
        let surroundings = Surroundings {
            token: Some(token.to_owned()),
            ..Surroundings::default()
        };
        Self {
            surroundings,
            ..Self::default()
        }
    }

    async fn run(&self, arguments: &[&str]) -> u8 {
        let running = self.run_for_as_long_as_it_takes(arguments);
        tokio::time::timeout(Duration::from_secs(30), running)
            .await
            .expect("a command ends in time")
    }

    async fn run_for_as_long_as_it_takes(&self, arguments: &[&str]) -> u8 {
        let Top::Client(command) = Program::try_parse_from([&["countersign"], arguments].concat())
            .unwrap()
            .command;
        let mut output =
            Output::plain(Box::new(self.stdout.clone()), Box::new(self.stderr.clone()));
        let exit = run_in(command, &self.surroundings, &mut output).await;
        // Shown by the test runner when an assertion fails.
        eprintln!(
            "{arguments:?} ended with {exit:?}\n{}{}",
            self.stdout.text(),
            self.stderr.text()
        );
        exit.code()
    }
}

/// Waits for a condition; a test that never sees it fails here.
async fn until(description: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap_or_else(|_| panic!("not in time: {description}"));
}

#[test]
fn the_command_line_is_sound_and_every_command_has_examples() {
    let mut program = <Program as clap::CommandFactory>::command();
    program.build();
    program.clone().debug_assert();
    for command in program
        .get_subcommands()
        .filter(|command| command.get_name() != "help" && !command.is_hide_set())
    {
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(help.contains("Examples:"), "{}", command.get_name());
        assert!(help.contains("Exit codes:"), "{}", command.get_name());
    }
}

#[tokio::test]
async fn over_the_socket_every_outcome_of_an_answer_has_its_exit_code() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    for (id, exit, told) in [
        (OPEN, 0, ""),
        (TAKEN, 3, "ada was first"),
        (CLOSED, 4, "The missing grant is `answer`"),
        ("ask_01jc0000000000000000000zzz", 5, "there is no such ask"),
        ("zzzzzz", 5, "there is no ask that `zzzzzz` means"),
        (GONE, 6, "withdrawn: the turn was cancelled"),
    ] {
        for arguments in [
            vec!["allow", id],
            vec!["deny", id, "--reason", "no", "--yes"],
        ] {
            let caller = Caller::in_directory(data.path());
            assert_eq!(caller.run(&arguments).await, exit, "{arguments:?}");
            let stderr = caller.stderr.text();
            assert!(stderr.contains(told), "{arguments:?}: {stderr}");
        }
    }
}

#[tokio::test]
async fn whoever_comes_second_is_told_what_the_first_said_and_a_program_gets_the_ask() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let caller = Caller::in_directory(data.path());
    assert_eq!(caller.run(&["allow", TAKEN, "--json"]).await, 3);
    let body: Value = serde_json::from_str(&caller.stdout.text()).unwrap();
    assert_eq!(body["code"], "already_answered");
    assert_eq!(body["details"]["ask"]["answer"]["by"]["name"], "ada");
    let stderr = caller.stderr.text();
    assert!(stderr.contains("denied (“not on my watch”)"), "{stderr}");
}

#[tokio::test]
async fn answers_are_sent_as_they_were_meant() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let caller = Caller::in_directory(data.path());
    for arguments in [
        vec!["allow", "0pen01"],
        vec!["allow", OPEN, "--always"],
        vec![
            "allow",
            OPEN,
            "--always",
            "--scope",
            "workspace",
            "--expires",
            "7d",
        ],
        vec!["allow", OPEN, "--always", "--glob", "src/**"],
        vec!["deny", OPEN, "--reason", "use the API"],
        vec!["answer", OPEN, "--option", "once"],
    ] {
        assert_eq!(caller.run(&arguments).await, 0, "{arguments:?}");
    }
    let sent: Vec<Value> = fake
        .memory
        .answers
        .lock()
        .unwrap()
        .iter()
        .map(|(_, body)| body.clone())
        .collect();
    assert_eq!(
        sent,
        [
            json!({"answer": "allow_once"}),
            json!({"answer": "allow_always", "scope": "session"}),
            json!({"answer": "allow_always", "scope": "workspace", "expires_in_s": 604_800}),
            json!({"answer": "allow_always", "scope": "session", "pattern": "src/**"}),
            json!({"answer": "deny", "reason": "use the API"}),
            json!({"answer": "option", "option": "once"}),
        ]
    );
}

#[tokio::test]
async fn a_number_chooses_and_what_chooses_nothing_is_sent_only_as_text() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    for (arguments, said) in [
        (&["answer", QUESTION, "9"][..], "the choices are 1 to 3"),
        (&["answer", QUESTION, "0"][..], "the choices are 1 to 3"),
        (&["answer", QUESTION, "duckdb"][..], "--text"),
        (&["allow", QUESTION][..], "countersign answer qest01 1"),
    ] {
        let caller = Caller::in_directory(data.path());
        assert_eq!(caller.run(arguments).await, 2, "{arguments:?}");
        let stderr = caller.stderr.text();
        assert!(stderr.contains(said), "{stderr}");
    }
    assert!(fake.memory.answers.lock().unwrap().is_empty());
    let caller = Caller::in_directory(data.path());
    for arguments in [
        &["answer", QUESTION, "2"][..],
        &["answer", QUESTION, "Postgres"][..],
        &["answer", QUESTION, "--text", "9"][..],
    ] {
        assert_eq!(caller.run(arguments).await, 0, "{arguments:?}");
    }
    let answers = fake.memory.answers.lock().unwrap();
    let sent: Vec<&Value> = answers.iter().map(|(_, body)| &body["choices"]).collect();
    assert_eq!(
        sent,
        [
            &json!([["postgres"]]),
            &json!([["postgres"]]),
            &json!([["9"]])
        ]
    );
}

#[tokio::test]
async fn a_denial_names_the_asks_that_fall_with_it_and_a_program_is_not_asked_back() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    *fake.memory.siblings.lock().unwrap() = vec![TAKEN, CLOSED];
    let deny = ["deny", OPEN, "--reason", "no"];
    let told = "the agent drops its session's other open asks too: taken1, c0de01";
    for (more, is_told) in [(None, true), (Some("--yes"), false)] {
        let caller = Caller::in_directory(data.path());
        let arguments: Vec<&str> = deny.into_iter().chain(more).collect();
        assert_eq!(caller.run(&arguments).await, 0, "{arguments:?}");
        let stderr = caller.stderr.text();
        assert_eq!(stderr.contains(told), is_told, "{stderr}");
    }
    // Leave takes nothing else with it.
    let caller = Caller::in_directory(data.path());
    assert_eq!(caller.run(&["allow", OPEN]).await, 0);
    assert!(!caller.stderr.text().contains("drops"));
    assert_eq!(fake.memory.answers.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_command_tells_that_the_answer_was_delivered() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let caller = Caller::in_directory(data.path());
    assert_eq!(caller.run(&["allow", OPEN]).await, 0);
    assert!(
        caller.stdout.text().contains("delivered"),
        "{}",
        caller.stdout.text()
    );
    let caller = Caller::in_directory(data.path());
    assert_eq!(
        caller.run(&["allow", OPEN, "--json", "--wait", "0"]).await,
        0
    );
    let ask: Value = serde_json::from_str(&caller.stdout.text()).unwrap();
    assert_eq!(ask["state"], "answered");
}

#[tokio::test]
async fn the_inbox_is_the_same_over_tcp_with_a_token_and_over_the_socket() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let url = fake.on_tcp();
    let here = Caller::in_directory(data.path());
    assert_eq!(here.run(&["inbox", "--json"]).await, 0);
    let there = Caller::with_token(fake::TOKEN);
    assert_eq!(there.run(&["inbox", "--json", "--url", &url]).await, 0);
    assert_eq!(here.stdout.text(), there.stdout.text());
    let list: Value = serde_json::from_str(&here.stdout.text()).unwrap();
    assert_eq!(list["asks"].as_array().unwrap().len(), 2);

    let person = Caller::in_directory(data.path());
    assert_eq!(person.run(&["inbox"]).await, 0);
    let table = person.stdout.text();
    assert!(table.starts_with("ID "), "{table}");
    assert!(
        table.contains("0pen01") && table.contains("cargo test"),
        "{table}"
    );
}

#[tokio::test]
async fn a_wrong_token_and_a_missing_one_are_told_apart() {
    let mut fake = Fake::new();
    let url = fake.on_tcp();
    let wrong = Caller::with_token("cs_wrong");
    assert_eq!(wrong.run(&["inbox", "--url", &url]).await, 4);
    assert!(
        wrong
            .stderr
            .text()
            .contains("The token from COUNTERSIGN_TOKEN is wrong")
    );
    assert!(!wrong.stderr.text().contains("cs_wrong"));
    let none = Caller::default();
    assert_eq!(none.run(&["inbox", "--url", &url]).await, 4);
    assert!(none.stderr.text().contains("--token-file"));

    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("token");
    std::fs::write(&file, format!("{}\n", fake::TOKEN)).unwrap();
    let by_file = Caller::default();
    let file = file.to_str().unwrap();
    assert_eq!(
        by_file
            .run(&["inbox", "--url", &url, "--token-file", file])
            .await,
        0
    );
}

#[tokio::test]
async fn without_a_server_the_exit_code_is_seven_and_the_person_learns_how_to_start_one() {
    let data = tempfile::tempdir().unwrap();
    let never = Caller::in_directory(data.path());
    assert_eq!(never.run(&["inbox"]).await, 7);
    // A runtime file that a killed server left behind.
    fake::write_server_file(data.path());
    let stale = Caller::in_directory(data.path());
    assert_eq!(stale.run(&["allow", OPEN]).await, 7);
    let elsewhere = Caller::with_token("cs_x");
    assert_eq!(
        elsewhere
            .run(&["inbox", "--url", "http://127.0.0.1:9"])
            .await,
        7
    );
    for caller in [never, stale, elsewhere] {
        let stderr = caller.stderr.text();
        assert!(stderr.contains("countersign up"), "{stderr}");
        assert_eq!(caller.stdout.text(), "");
    }
}

#[tokio::test]
async fn an_id_that_can_mean_several_asks_answers_none() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let caller = Caller::in_directory(data.path());
    assert_eq!(caller.run(&["allow", "ask_01jc"]).await, 2);
    let stderr = caller.stderr.text();
    assert!(stderr.contains(OPEN) && stderr.contains(CLOSED), "{stderr}");
    assert!(fake.memory.answers.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_watcher_resumes_where_the_line_broke_and_hears_nothing_twice() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let opened = |seq| {
        let body =
            json!({"type": "ask.opened", "ask": TAKEN, "session": fake::SESSION, "tool": "bash"});
        event(seq, &body)
    };
    let changed = |seq| {
        let body = json!({"type": "ask.changed", "ask": GONE, "session": fake::SESSION, "state": "withdrawn"});
        event(seq, &body)
    };
    let unknown = "id: 7\nevent: from.the.future\ndata: {\"seq\":7}\n\n".to_owned();
    *fake.memory.streams.lock().unwrap() = vec![opened(6) + &unknown, opened(6) + &changed(8)];
    let caller = Caller::in_directory(data.path());
    let watching = caller.run(&["inbox", "--watch", "--json"]);
    let heard = until("four asks told and a cursor of 7", || {
        caller.stdout.text().lines().count() == 4
            && *fake.memory.cursors.lock().unwrap() == [None, Some("7".to_owned())]
    });
    tokio::select! {
        exit = watching => panic!("it watches until interrupted, and ended with {exit}"),
        () = heard => {}
    }
    let states: Vec<(String, String)> = caller
        .stdout
        .text()
        .lines()
        .map(|line| {
            let ask: Value = serde_json::from_str(line).unwrap();
            (
                ask["id"].as_str().unwrap().to_owned(),
                ask["state"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let expected = [
        (CLOSED, "open"),
        (OPEN, "open"),
        (TAKEN, "answered"),
        (GONE, "withdrawn"),
    ];
    assert_eq!(
        states,
        expected.map(|(id, state)| (id.to_owned(), state.to_owned()))
    );
    assert!(
        caller.stderr.text().contains("Disconnected"),
        "{}",
        caller.stderr.text()
    );
    assert!(caller.stderr.text().contains("Connected again"));
}

#[tokio::test]
async fn a_prompt_streams_the_words_once_shows_its_asks_and_ends_with_the_turn() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    *fake.memory.waits_for_prompt.lock().unwrap() = true;
    let opened =
        json!({"type": "ask.opened", "ask": OPEN, "session": fake::SESSION, "tool": "bash"});
    let item = json!({"type": "item.changed", "session": fake::SESSION, "item": 2});
    let ended = json!({"type": "turn.changed", "turn": fake::TURN, "session": fake::SESSION, "ended": true});
    *fake.memory.streams.lock().unwrap() = vec![
        delta("Hello ") + &delta("wor") + &event(6, &opened) + &event(7, &item) + &event(8, &ended),
    ];
    let caller = Caller::in_directory(data.path());
    assert_eq!(caller.run(&["prompt", "say", "hello"]).await, 0);
    assert_eq!(caller.stdout.text(), "Hello world!\n");
    let stderr = caller.stderr.text();
    assert!(stderr.contains("countersign allow 0pen01"), "{stderr}");
}

#[tokio::test]
async fn a_detached_prompt_returns_the_ids_at_once() {
    let data = tempfile::tempdir().unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let caller = Caller::in_directory(data.path());
    assert_eq!(
        caller.run(&["prompt", "--detach", "hello", "--json"]).await,
        0
    );
    let taken: Value = serde_json::from_str(&caller.stdout.text()).unwrap();
    assert_eq!(taken["session"], fake::SESSION);
    assert_eq!(taken["turn"], fake::TURN);
}

#[tokio::test]
async fn the_doctor_finds_what_is_wrong_and_says_what_to_do() {
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut fake = Fake::new();
    fake.on_socket(data.path());
    let caller = Caller::in_directory(data.path());
    assert_eq!(caller.run(&["doctor", "--json"]).await, 0);
    let checks: Value = serde_json::from_str(&caller.stdout.text()).unwrap();
    let finding = |name: &str| {
        checks["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["name"] == name)
            .map(|check| check["finding"].as_str().unwrap().to_owned())
    };
    assert_eq!(finding("server").as_deref(), Some("ok"));
    assert_eq!(finding("you").as_deref(), Some("ok"));
    assert_eq!(finding("workspace").as_deref(), Some("ok"));
    assert_eq!(finding("opencode").as_deref(), Some("warn"));
    // The names that scripts of the companion plugins know.
    assert_eq!(checks["summary"]["failures"], 0);
    assert_eq!(checks["summary"]["fix"], false);
    assert_eq!(checks["checks"][0]["status"], "PASS");
    assert!(checks["checks"][0]["detail"].is_string());
    assert_eq!(checks["stateRoot"], data.path().to_str().unwrap());

    let empty = tempfile::tempdir().unwrap();
    let caller = Caller::in_directory(empty.path());
    assert_eq!(caller.run(&["doctor"]).await, 1);
    assert!(caller.stdout.text().contains("countersign up"));
}
