//! The scripted stand-in for opencode behind opencode's command line, so that a keeper can start it.

use std::net::Ipv4Addr;
use std::process::ExitCode;

use countersign_testkit::scripted_opencode::{ScriptedOpencode, Settings, VERSION};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what opencode prints is part of its wire"
)]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--version") {
        println!("{VERSION}");
        return ExitCode::SUCCESS;
    }
    let port = value_of("--port", &arguments).and_then(|port| port.parse::<u16>().ok());
    let (Some("serve"), Some(port)) = (arguments.first().map(String::as_str), port) else {
        eprintln!("usage: scripted-opencode serve --port N [--hostname 127.0.0.1]");
        return ExitCode::FAILURE;
    };
    let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await else {
        eprintln!("Error: Unexpected error\n\nServeError");
        return ExitCode::FAILURE;
    };
    let settings = settings();
    if settings.password.is_none() {
        println!("Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.");
    }
    let opencode = ScriptedOpencode::start_on(listener, &settings);
    println!("opencode server listening on {}", opencode.url());
    wait_for_termination().await;
    // As the real one: gone at once, nothing put in order.
    ExitCode::from(143)
}

fn settings() -> Settings {
    let directory = std::env::current_dir().unwrap_or_default();
    Settings {
        directory: directory.to_string_lossy().into_owned(),
        username: std::env::var("OPENCODE_SERVER_USERNAME").ok(),
        password: std::env::var("OPENCODE_SERVER_PASSWORD").ok(),
    }
}

fn value_of<'a>(name: &str, arguments: &'a [String]) -> Option<&'a str> {
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        if argument == name {
            return arguments.next();
        }
        let given = argument
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='));
        if given.is_some() {
            return given;
        }
    }
    None
}

async fn wait_for_termination() {
    let terminate = signal(SignalKind::terminate());
    let interrupt = signal(SignalKind::interrupt());
    let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
