use std::collections::HashMap;

use super::*;

/// The settings for `arguments` and `variables`, with `file` in the place of the configuration.
fn gathered(arguments: &[&str], variables: &[(&str, &str)], file: &str) -> Settings {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let config = home.join(".config/openwork");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("server.json"), file).unwrap();
    let mut known: HashMap<_, _> = variables.iter().copied().collect();
    known.insert("HOME", home.to_str().unwrap());
    let variable = |name: &str| known.get(name).map(|value| (*value).to_owned());
    let around = Surroundings {
        variable: &variable,
        directory: Path::new("/where/it/was/called"),
    };
    let words = arguments.iter().map(|word| (*word).to_owned());
    Settings::gather(&Arguments::parse(words), &around)
}

const FILE: &str = r#"{"host": "file", "port": 1, "token": "file", "approval": {"mode": "auto", "timeoutMs": 5},
    "readOnly": true, "corsOrigins": ["http://file"], "workspaces": [{"path": "a", "name": "A"}]}"#;

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_file() {
    let variables = [
        ("OPENWORK_HOST", "env"),
        ("OPENWORK_PORT", "2"),
        ("OPENWORK_TOKEN", "env"),
    ];
    let all = gathered(
        &["--host", "cli", "--port", "3", "--token", "cli"],
        &variables,
        FILE,
    );
    assert_eq!(
        (all.host.as_str(), all.port, all.client_token.source),
        ("cli", 3, Source::Cli)
    );
    let two = gathered(&[], &variables, FILE);
    assert_eq!(
        (two.host.as_str(), two.port, two.client_token.source),
        ("env", 2, Source::Env)
    );
    let one = gathered(&[], &[], FILE);
    assert_eq!(
        (one.host.as_str(), one.port, one.client_token.source),
        ("file", 1, Source::File)
    );
    assert_eq!(
        (one.approval, one.patience_ms, one.read_only),
        (Approval::Auto, 5, true)
    );
    let none = gathered(&[], &[], "{ not json");
    assert_eq!((none.host.as_str(), none.port), ("127.0.0.1", 8787));
    assert_eq!(
        (none.approval, none.patience_ms, none.read_only),
        (Approval::Manual, 30_000, false)
    );
    assert_eq!(none.host_token.source, Source::Generated);
    assert_eq!(none.cors, ["*"]);
}

#[test]
fn what_is_not_known_is_passed_over_and_a_value_is_always_the_next_argument() {
    let settings = gathered(
        &[
            "--nonsense",
            "--port",
            "many",
            "--approval",
            "maybe",
            "--cors",
            "--read-only",
            "--port=5",
        ],
        &[("OPENWORK_APPROVAL_MODE", "auto")],
        "",
    );
    assert_eq!(settings.port, 8787);
    assert_eq!(settings.approval, Approval::Auto);
    assert_eq!(settings.cors, ["--read-only"]);
    assert!(!settings.read_only);
}

#[test]
fn an_empty_token_is_no_token() {
    let settings = gathered(
        &["--token", ""],
        &[("OPENWORK_TOKEN", "")],
        r#"{"token": ""}"#,
    );
    assert_eq!(settings.client_token.source, Source::Generated);
    assert_eq!(settings.client_token.value.len(), 36);
}

#[test]
fn lists_are_json_or_have_commas_and_semicolons() {
    assert_eq!(lists::parse(" a, b;c ,, "), ["a", "b", "c"]);
    assert_eq!(lists::parse(r#"["a,b", "c"]"#), ["a,b", "c"]);
    assert!(lists::parse("[nope").is_empty());
}

#[test]
fn relative_workspaces_are_beside_the_configuration_file_wherever_they_are_named() {
    let settings = gathered(
        &["--workspace", "./x/../ws", "--config", "c/server.json"],
        &[],
        "",
    );
    assert_eq!(settings.workspaces[0].path, "/where/it/was/called/c/ws");
    assert_eq!(settings.workspaces[0].name, "ws");
    let id = workspace_id("/where/it/was/called/c/ws");
    assert_eq!(settings.workspaces[0].id, id);
    assert!(id.starts_with("ws_") && id.len() == 15);
}

#[test]
fn opencode_is_everybodys_but_its_directory_is_for_one() {
    let flags = [
        "--opencode-base-url",
        "http://o",
        "--opencode-directory",
        "/d",
    ];
    let one = gathered(&[&["--workspace", "/a"][..], &flags].concat(), &[], "");
    assert_eq!(one.workspaces[0].opencode.directory.as_deref(), Some("/d"));
    let two = gathered(
        &[&["--workspace", "/a", "--workspace", "/b"][..], &flags].concat(),
        &[],
        "",
    );
    for entry in &two.workspaces {
        assert_eq!(entry.opencode.base_url.as_deref(), Some("http://o"));
        assert_eq!(entry.opencode.directory, None);
    }
}

#[test]
fn a_version_is_chosen_by_flag_or_variable() {
    assert_eq!(gathered(&[], &[], "").compat, Compat::January);
    assert_eq!(
        gathered(&[], &[("OPENWORK_COMPAT", "0.13")], "").compat,
        Compat::Scoped
    );
    assert_eq!(
        gathered(&["--compat", "0.1"], &[("OPENWORK_COMPAT", "0.13")], "").compat,
        Compat::January
    );
    assert_eq!(
        gathered(&["--compat", "9"], &[], "").compat,
        Compat::January
    );
}

/// What three sources say of one setting: a flag, a variable, the file; and how it is read off.
struct Said {
    flag: &'static [&'static str],
    variable: (&'static str, &'static str),
    file: &'static str,
    read: fn(&Settings) -> String,
    /// What counts with all three, with the variable and the file, with the file, and with nothing.
    counts: [&'static str; 4],
}

const SAID: [Said; 11] = [
    Said {
        flag: &["--host-token", "flag"],
        variable: ("OPENWORK_HOST_TOKEN", "env"),
        file: r#"{"hostToken": "file"}"#,
        read: |settings| settings.host_token.source.name().to_owned(),
        counts: ["cli", "env", "file", "generated"],
    },
    Said {
        flag: &["--approval", "manual"],
        variable: ("OPENWORK_APPROVAL_MODE", "auto"),
        file: r#"{"approval": {"mode": "auto"}}"#,
        read: |settings| settings.approval.name().to_owned(),
        counts: ["manual", "auto", "auto", "manual"],
    },
    Said {
        flag: &["--approval-timeout", "1"],
        variable: ("OPENWORK_APPROVAL_TIMEOUT_MS", "2"),
        file: r#"{"approval": {"timeoutMs": 3}}"#,
        read: |settings| settings.patience_ms.to_string(),
        counts: ["1", "2", "3", "30000"],
    },
    Said {
        flag: &["--cors", "http://flag"],
        variable: ("OPENWORK_CORS_ORIGINS", "http://env; http://other"),
        file: r#"{"corsOrigins": ["http://file"]}"#,
        read: |settings| settings.cors.join(" "),
        counts: ["http://flag", "http://env http://other", "http://file", "*"],
    },
    Said {
        flag: &["--read-only"],
        variable: ("OPENWORK_READONLY", "no"),
        file: r#"{"readOnly": true}"#,
        read: |settings| settings.read_only.to_string(),
        counts: ["true", "false", "true", "false"],
    },
    Said {
        flag: &["--workspace", "/flag"],
        variable: ("OPENWORK_WORKSPACES", r#"["/env", "/other"]"#),
        file: r#"{"workspaces": [{"path": "/file"}]}"#,
        read: |settings| {
            let paths = settings.workspaces.iter().map(|it| it.path.as_str());
            paths.collect::<Vec<_>>().join(" ")
        },
        counts: ["/flag", "/env /other", "/file", ""],
    },
    Said {
        flag: &["--opencode-username", "flag"],
        variable: ("OPENWORK_OPENCODE_USERNAME", "env"),
        file: r#"{"opencodeUsername": "file"}"#,
        read: |settings| settings.usual_opencode.username.clone().unwrap_or_default(),
        counts: ["flag", "env", "file", ""],
    },
    Said {
        flag: &["--opencode-password", "flag"],
        variable: ("OPENWORK_OPENCODE_PASSWORD", "env"),
        file: r#"{"opencodePassword": "file"}"#,
        read: |settings| settings.usual_opencode.password.clone().unwrap_or_default(),
        counts: ["flag", "env", "file", ""],
    },
    Said {
        flag: &["--opencode-base-url", "flag"],
        variable: ("OPENWORK_OPENCODE_BASE_URL", "env"),
        file: "{}",
        read: |settings| settings.usual_opencode.base_url.clone().unwrap_or_default(),
        counts: ["flag", "env", "", ""],
    },
    Said {
        flag: &["--log-format", "pretty"],
        variable: ("OPENWORK_LOG_FORMAT", "json"),
        file: "{}",
        read: |settings| settings.log.is_json.to_string(),
        counts: ["false", "true", "false", "false"],
    },
    Said {
        flag: &["--no-log-requests"],
        variable: ("OPENWORK_LOG_REQUESTS", "1"),
        file: "{}",
        read: |settings| settings.log.filter().to_owned(),
        counts: [
            "warn",
            "warn,countersign_openwork::requests=info",
            "warn",
            "warn",
        ],
    },
];

#[test]
fn every_setting_is_taken_from_the_first_that_says_it() {
    for Said {
        flag,
        variable,
        file,
        read,
        counts,
    } in SAID
    {
        let given = [
            gathered(flag, &[variable], file),
            gathered(&[], &[variable], file),
            gathered(&[], &[], file),
            gathered(&[], &[], ""),
        ];
        assert_eq!(given.each_ref().map(read), counts, "{}", variable.0);
    }
}

#[test]
fn places_of_0_13_are_where_the_variables_say() {
    let usual = gathered(&[], &[], "");
    assert!(usual.data_directory.ends_with(".openwork/openwork-server"));
    assert!(usual.env_path.ends_with(".config/openwork/env.json"));
    assert_eq!(usual.inbox_bytes, Some(50_000_000));
    assert!(usual.is_outbox_open);
    let said = gathered(
        &[],
        &[
            ("OPENWORK_DATA_DIR", "~/elsewhere"),
            ("OPENWORK_ENV_STORE", "env.json"),
            ("OPENWORK_INBOX_MAX_BYTES", "999000000"),
            ("OPENWORK_OUTBOX_ENABLED", "false"),
        ],
        "",
    );
    assert_eq!(said.data_directory, said.home.join("elsewhere"));
    assert_eq!(
        said.env_path,
        Path::new("/where/it/was/called").join("env.json")
    );
    assert_eq!(said.inbox_bytes, Some(250_000_000));
    assert!(!said.is_outbox_open);
    let closed = gathered(&[], &[("OPENWORK_INBOX_ENABLED", "0")], "");
    assert_eq!(closed.inbox_bytes, None);
}
