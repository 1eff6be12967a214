//! What can be configured, and what a person reads who configures something else.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::config::Config;

fn read(text: &str) -> anyhow::Result<Vec<Target>> {
    drop(rustls::crypto::ring::default_provider().install_default());
    targets(Config::read(text)?.notify, &[])
}

fn problem(text: &str) -> String {
    format!("{:#}", read(text).unwrap_err())
}

#[test]
fn every_kind_can_be_said() {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "0123456789abcdef0123456789abcdef").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "[[notify]]\nname = 'bell'\nkind = 'command'\ncommand = '/usr/bin/true'\nargs = ['-x']\n\
         environment = ['BELL_*']\nevents = ['ask.opened', 'job.failed']\nworkspaces = ['app']\n\
         details = true\n\
         [[notify]]\nname = 'hook'\nkind = 'webhook'\nurl = 'http://127.0.0.1:9/x'\nsecret_file = '{}'\n\
         tries = 3\nfirst_pause_s = 1\nlongest_pause_s = 60\ntime_limit_s = 5\n\
         [[notify]]\nname = 'desk'\nkind = 'desktop'\n",
        secret.display()
    );
    let [bell, hook, desk] = read(&text).unwrap().try_into().unwrap();
    assert_eq!(bell.way.to_string(), "/usr/bin/true");
    assert!(bell.interest.covers(Occasion::JobFailed, "/src/app", "app"));
    assert!(!bell.interest.covers(Occasion::JobFailed, "/src/web", "web"));
    assert!(
        !bell
            .interest
            .covers(Occasion::AlarmRaised, "/src/app", "app")
    );
    assert!(bell.details && !hook.details);
    assert_eq!(hook.way.to_string(), "http://127.0.0.1:9");
    assert_eq!(hook.schedule.tries, 3);
    assert_eq!(hook.time_limit, Duration::from_secs(5));
    assert_eq!(desk.schedule, Schedule::default());
    assert!(desk.interest.covers(Occasion::AlarmRaised, "/", ""));
}

#[test]
fn what_cannot_be_is_said_with_what_is_meant() {
    for (text, expected) in [
        ("kind = 'desktop'\ndetial = true", "did you mean `details`?"),
        ("kind = 'dekstop'", "did you mean `desktop`?"),
        (
            "kind = 'desktop'\nevents = ['ask.opend']",
            "did you mean `ask.opened`?",
        ),
        ("kind = 'desktop'\nevents = ['test']", "no event"),
        ("kind = 'desktop'\nevents = []", "names none"),
        (
            "kind = 'desktop'\nurl = 'https://x.example'",
            "`url` means nothing",
        ),
        ("kind = 'desktop'\ntries = 0", "`tries`"),
        ("kind = 'desktop'\nfirst_pause_s = 0", "`first_pause_s`"),
        ("kind = 'desktop'\ntime_limit_s = 1000", "`time_limit_s`"),
        ("kind = 'command'", "`command` is missing"),
        ("kind = 'command'\ncommand = 'bin/bell'", "relative path"),
        (
            "kind = 'webhook'\nurl = 'https://x.example/'",
            "`secret_file` or a `secret_env`",
        ),
        (
            "kind = 'webhook'\nurl = 'https://x.example/'\nsecret_env = 'HOOK'",
            "has to begin with `COUNTERSIGN_`",
        ),
        (
            "kind = 'webhook'\nurl = 'https://x.example/'\nsecret_env = 'COUNTERSIGN_NOT_THERE'",
            "is not set",
        ),
        (
            "kind = 'webhook'\nurl = 'https://x.example/'\nsecret_file = '/nonexistent/secret'",
            "cannot be read",
        ),
    ] {
        let problem = problem(&format!("[[notify]]\nname = 'one'\n{text}\n"));
        assert!(problem.contains(expected), "{text}: {problem}");
    }
    let twice = "[[notify]]\nname = 'one'\nkind = 'desktop'\n".repeat(2);
    assert!(problem(&twice).contains("two `[[notify]]` are called `one`"));
    let odd = problem("[[notify]]\nname = 'a b'\nkind = 'desktop'\n");
    assert!(odd.contains("no name"), "{odd}");
}

#[test]
fn a_program_that_an_agent_can_replace_is_refused_at_the_start() {
    let workspace = tempfile::tempdir().unwrap();
    let path = workspace.path().canonicalize().unwrap();
    let program = path.join("bell.sh");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let text = format!(
        "[[notify]]\nname = 'bell'\nkind = 'command'\ncommand = '{}'\n",
        program.display()
    );
    let config = Config::read(&text).unwrap();
    let served = [(path.to_str().unwrap().to_owned(), "app".to_owned())];
    let error = targets(config.notify, &served).unwrap_err();
    let problem = format!("{error:#}");
    assert!(problem.contains("an agent can replace it"), "{problem}");
    assert!(problem.contains("`bell`"), "{problem}");
}
