//! The desktop that the server runs on: `notify-send`, or `osascript` on a Mac.

use std::ffi::OsStr;
use std::time::Duration;

use countersign_core::notification::{Message, Occasion};
use countersign_engine::program::find_program;
use tokio_util::sync::CancellationToken;

use crate::child::Child;
use crate::surroundings::Surroundings;
use crate::{Attempt, Failure};

/// How to reach the desktop of whoever started the server.
const SESSION_VARIABLES: [&str; 4] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// What stands above every notification.
const TITLE: &str = "Countersign";

/// Shows `message` on the desktop.
pub(crate) async fn show(
    message: &Message,
    surroundings: &Surroundings,
    limit: Duration,
    ending: &CancellationToken,
) -> Attempt {
    let environment = surroundings.environment(&SESSION_VARIABLES.map(str::to_owned));
    let path = environment.get("PATH").map(String::as_str);
    let name = if cfg!(target_os = "macos") {
        "osascript"
    } else {
        "notify-send"
    };
    let Some(program) = find_program(name, OsStr::new(path.unwrap_or_default())) else {
        return Failure::lasting(format!(
            "`{name}` was not found on the server's PATH. Install it (Debian: `libnotify-bin`), and start the server from \
             the desktop that is to show notifications"
        ))
        .into();
    };
    let child = Child {
        program,
        arguments: arguments(message),
        environment,
        input: Vec::new(),
        notification: message.id,
    };
    child.run(limit, ending).await
}

/// What the program is told. The words are arguments of their own and never part of a script.
fn arguments(message: &Message) -> Vec<String> {
    let words = message.words();
    if cfg!(target_os = "macos") {
        let script = [
            "on run argv",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "end run",
        ];
        let lines = script.iter().flat_map(|line| ["-e", line]);
        return lines.chain([TITLE, &words]).map(str::to_owned).collect();
    }
    let urgency = match message.occasion {
        Occasion::AlarmRaised => "--urgency=critical",
        Occasion::AskOpened
        | Occasion::AskExpired
        | Occasion::JobCompleted
        | Occasion::JobFailed
        | Occasion::Test => "--urgency=normal",
    };
    // Some desktops read the words as markup.
    let words = words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    ["--app-name=countersign", urgency, "--", TITLE, &words]
        .map(str::to_owned)
        .into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use countersign_core::id::{NotificationId, WorkspaceId};
    use countersign_core::notification::Details;
    use countersign_core::time::Timestamp;

    use super::*;

    fn message(what: &str) -> Message {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        Message {
            workspace: WorkspaceId::generate(now),
            details: Some(Details {
                workspace: "app".to_owned(),
                tool: Some("bash".to_owned()),
                what: Some(what.to_owned()),
            }),
            ..Message::test(NotificationId::generate(now), now)
        }
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn words_of_agents_are_no_markup_and_no_option() {
        let arguments = arguments(&message("--icon=x <b>rm</b> & more"));
        assert_eq!(
            arguments,
            [
                "--app-name=countersign",
                "--urgency=normal",
                "--",
                "Countersign",
                "This is a test in app: bash: --icon=x &lt;b&gt;rm&lt;/b&gt; &amp; more"
            ]
        );
    }

    #[cfg(not(target_os = "macos"))]
    #[tokio::test]
    async fn it_is_shown_by_the_program_on_the_path_and_a_missing_one_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        let mut surroundings = Surroundings {
            own_environment: vec![
                ("PATH".into(), path.clone().into()),
                ("DISPLAY".into(), ":7".into()),
            ],
            workspaces: Vec::new(),
        };
        let ending = CancellationToken::new();
        let limit = Duration::from_secs(30);
        let message = message("ls");
        let attempt = show(&message, &surroundings, limit, &ending).await;
        let Attempt::Failed(failure) = attempt else {
            panic!("{attempt:?}");
        };
        assert!(failure.lasting && failure.problem.contains("`notify-send` was not found"));

        let program = path.join("notify-send");
        let seen = path.join("seen");
        let text = format!("#!/bin/sh\necho \"$DISPLAY $5\" > {}\n", seen.display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let attempt = show(&message, &surroundings, limit, &ending).await;
        assert!(matches!(attempt, Attempt::Sent), "{attempt:?}");
        let seen = std::fs::read_to_string(seen).unwrap();
        assert_eq!(seen, ":7 This is a test in app: bash: ls\n");

        // The same program, in a folder that an agent writes in, is not found.
        surroundings.workspaces.push(path);
        let attempt = show(&message, &surroundings, limit, &ending).await;
        assert!(matches!(attempt, Attempt::Failed(_)), "{attempt:?}");
    }
}
