//! How the server starts, and what it says then.

use std::path::Path;

use countersign_testkit::ports;
use serde_json::json;

use crate::fixture;
use crate::server::{By, Server, launching, wait_until_up};

#[test]
fn it_says_where_it_listens_and_how_many_workspaces_it_has() {
    let server = Server::start(&[]);
    let listening = format!(
        "OpenWork server listening on http://127.0.0.1:{}",
        server.port()
    );
    let lines = [listening, "Workspaces: 2".to_owned()];
    assert_eq!(server.output().lines().collect::<Vec<_>>(), lines);
}

#[test]
fn called_by_the_name_of_the_other_it_is_the_other_and_no_log_has_its_tokens() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("fixture");
    fixture::build(&root);
    let link = folder.path().join("openwork-server");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_countersign"), &link).unwrap();
    let port = ports::free();
    let program = launching(&link, folder.path(), &root)
        .arguments([
            "--config",
            "nowhere.json",
            "--log-format",
            "json",
            "--port",
            &port.to_string(),
        ])
        .start()
        .unwrap();
    wait_until_up(port, &program);
    let file = folder
        .path()
        .canonicalize()
        .unwrap()
        .join("state/openwork-tokens");
    let tokens = std::fs::read_to_string(&file).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let tokens: Vec<_> = tokens
        .lines()
        .map(|line| line.split(": ").nth(1).unwrap())
        .collect();
    assert_eq!(tokens.len(), 2);
    let output = program.output();
    let empty = "No workspaces configured. Add --workspace or update server.json.";
    assert!(output.contains(empty), "{output}");
    for token in tokens {
        assert_eq!(token.len(), 36);
        assert!(!output.contains(token), "{output}");
    }
}

#[test]
fn the_commands_find_it_though_its_ledger_is_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("fixture");
    fixture::build(&root);
    let binary = Path::new(env!("CARGO_BIN_EXE_countersign"));
    let state = folder.path().join("xdg");
    let start = || {
        let port = ports::free();
        // An empty name is none: the ledger is where it is if nobody says anything.
        let program = launching(binary, folder.path(), &root)
            .arguments(["openwork-server", "--port", &port.to_string()])
            .variable("COUNTERSIGN_DATA", "")
            .variable("XDG_STATE_HOME", &state)
            .start()
            .unwrap();
        wait_until_up(port, &program);
        (program, port)
    };
    let pair = || {
        let mut command = std::process::Command::new(binary);
        command.arg("pair").env_remove("COUNTERSIGN_DATA");
        let output = command.env("XDG_STATE_HOME", &state).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (_one, port) = start();
    let (code, said) = pair();
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains(&format!("http://127.0.0.1:{port}/app/#pair=")),
        "{said}"
    );
    let (_other, port) = start();
    let (code, said) = pair();
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("COUNTERSIGN_DATA="), "{said}");
    assert!(said.contains(&port.to_string()), "{said}");
}

#[test]
fn help_and_version_are_printed_and_nothing_is_started() {
    for (word, expected) in [("--help", "--approval-timeout"), ("--version", "0.1.1")] {
        let folder = tempfile::tempdir().unwrap();
        let output = std::process::Command::new(Path::new(env!("CARGO_BIN_EXE_countersign")))
            .args(["openwork-server", word])
            .env("COUNTERSIGN_DATA", folder.path().join("state"))
            .output()
            .unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains(expected));
        assert!(!folder.path().join("state").exists());
    }
}

#[test]
fn workspaces_come_get_another_name_and_go() {
    let server = Server::start(&["--compat", "0.13"]);
    let folder = server.root().join("ws6");
    let body = json!({ "folderPath": folder, "name": "Six" });
    let added = server.good(By::Host, "POST", "/workspaces/local", Some(&body));
    let id = server.id("ws6");
    assert_eq!(added["activeId"], id);
    assert_eq!(added["workspaces"].as_array().unwrap().len(), 3);
    assert!(folder.is_dir());
    server.get(&format!("/workspace/{id}/config"));
    let body = json!({ "displayName": "Sixth" });
    let path = format!("/workspaces/{id}/display-name");
    let renamed = server.good(By::Host, "PATCH", &path, Some(&body));
    assert_eq!(renamed["workspaces"][0]["name"], "Sixth");
    let file = server.root().join("home/.config/openwork/server.json");
    assert!(std::fs::read_to_string(file).unwrap().contains("Sixth"));
    let removed = server.good(By::Host, "DELETE", &format!("/workspaces/{id}"), None);
    assert_eq!(removed["deleted"], true);
    assert_eq!(
        server
            .refused(By::Client, "GET", &format!("/workspace/{id}/config"), None)
            .0,
        404
    );
    assert!(folder.is_dir());
}

#[test]
fn the_page_and_the_api_of_countersign_are_on_the_same_port() {
    let server = Server::start(&[]);
    let get = |path, accept: &str| {
        let headers = [("Accept".to_owned(), accept.to_owned())];
        crate::wire::send(server.port(), "GET", path, &headers, None)
            .unwrap()
            .status
    };
    assert_eq!(get("/", "text/html"), 307);
    assert_eq!(get("/", "application/json"), 404);
    assert_eq!(get("/app/", "text/html"), 200);
    assert_eq!(get("/readyz", "*/*"), 200);
    assert_eq!(get("/api/v1/asks", "*/*"), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_shown_what_the_original_shows_and_no_file_has_the_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("fixture");
    fixture::build(&root);
    let link = folder.path().join("openwork-server");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_countersign"), &link).unwrap();
    let port = ports::free();
    let state = folder.path().join("state");
    let environment = [
        ("HOME", root.join("home").to_str().unwrap()),
        ("COUNTERSIGN_DATA", state.to_str().unwrap()),
        ("OPENWORK_PORT", &port.to_string()),
        ("OPENWORK_WORKSPACES", root.join("ws1").to_str().unwrap()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let terminal = crate::terminal::Terminal::open(&link, &root, &environment);
    terminal.shows("Workspaces: 1").await;
    let screen = terminal.screen();
    let lines: Vec<_> = screen.lines().filter(|line| !line.is_empty()).collect();
    let [listening, client, host, workspaces] = &lines[..] else {
        panic!("{screen}")
    };
    let expected = format!("OpenWork server listening on http://127.0.0.1:{port}");
    assert_eq!(*listening, expected);
    assert_eq!(*workspaces, "Workspaces: 1");
    let client = client.strip_prefix("Client token: ").unwrap();
    let host = host.strip_prefix("Host token: ").unwrap();
    assert_eq!((client.len(), host.len()), (36, 36));
    let headers = By::Bearer(client).headers();
    let answered = crate::wire::send(port, "GET", "/workspaces", &headers, None).unwrap();
    assert_eq!(answered.status, 200);
    // What was shown once is nowhere else.
    let mut folders = vec![state];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(content) = std::fs::read(&path) else {
                continue;
            };
            for token in [client, host] {
                let is_there = content
                    .windows(token.len())
                    .any(|bytes| bytes == token.as_bytes());
                assert!(!is_there, "{}", path.display());
            }
        }
    }
}

#[test]
fn requests_are_logged_if_that_is_wanted_and_no_secret_with_them() {
    let server = Server::start(&["--log-requests", "--log-format", "json"]);
    server.send(By::Client, "GET", "/whoami?token=secret", None);
    let output = server.output();
    assert!(output.contains("GET /whoami 200"), "{output}");
    assert!(!output.contains("secret"), "{output}");
    assert!(!output.contains(crate::server::CLIENT), "{output}");
    let logged = output.lines().find(|line| line.contains("GET /whoami"));
    serde_json::from_str::<serde_json::Value>(logged.unwrap()).unwrap();
    for quiet in [
        &[][..],
        &["--verbose"],
        &["--log-requests", "--no-log-requests"],
    ] {
        let server = Server::start(quiet);
        server.get("/whoami");
        assert!(!server.output().contains("GET /whoami"), "{quiet:?}");
    }
}
