//! `doctor`, `config` and `setup`: what they find, and that they leave a user's files alone.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::place::Place;

const CONFIGURATION: &str = "{\n  // mine\n  \"provider\": {\"stub\": {}},\n  \"permission\": {\"bash\": {\"rm *\": \"deny\"}}, /* last */\n}\n";

#[tokio::test]
async fn the_doctor_puts_right_what_is_ours_and_leaves_what_is_yours() {
    let place = Place::new();
    let folder = place.path("home/.config/opencode");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("opencode.json");
    std::fs::write(&file, CONFIGURATION).unwrap();
    std::fs::create_dir(place.data()).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.data(), open).unwrap();
    let stale = r#"{"pid":4294967295,"url":"http://127.0.0.1:1","socket":"/nonexistent/s","version":"0","started_at":"2027-01-15T08:00:00Z"}"#;
    std::fs::write(place.data().join("server.json"), stale).unwrap();

    let finding = |told: &Value, name: &str| {
        let checks = told["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name} in {told}"))["status"].clone()
    };
    // Where something fails, the code says so, in JSON as well.
    let told = place.run(&["doctor", "--json"]).await;
    let told = told.expect_code(1).json();
    assert_eq!(finding(&told, "data"), "FAIL");
    assert_eq!(finding(&told, "server"), "WARN");
    assert!(told["summary"]["failures"].as_u64().unwrap() >= 1, "{told}");
    let told = place.run(&["doctor", "--fix", "--json"]).await.json();
    assert_eq!(told["summary"]["fix"], true);
    assert_eq!(finding(&told, "data"), "PASS");
    assert_eq!(told["fixed"].as_array().unwrap().len(), 2, "{told}");
    for name in [
        "opencode",
        "opencode-config",
        "plugin-data-env",
        "disk-free",
    ] {
        finding(&told, name);
    }
    assert_eq!(told["stateRoot"], place.data().to_str().unwrap());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), CONFIGURATION);
    assert!(!place.data().join("server.json").exists());
    assert!(place.server().is_none(), "the doctor starts nothing");

    let id = place.begin(&[], "WAIT").await;
    place.until(&id, "running").await;
    let told = place.run(&["doctor", "--fix", "--verbose"]).await;
    assert!(told.stdout.contains("1 jobs have not ended"), "{told:?}");
    assert!(told.stdout.contains("server.log"), "{told:?}");
    assert_eq!(place.job(&id).await["status"], "running");
}

#[tokio::test]
async fn every_variable_is_listed_with_its_value_its_source_and_its_meaning() {
    let place = Place::new()
        .with("OPENCODE_SERVER_PASSWORD", "hunter2")
        .with("OPENCODE_IDLE_TIMEOUT_MS", "900000");
    let printed = place.run(&["config", "--json"]).await;
    assert!(!printed.expect_success().stdout.contains("hunter2"));
    let told = printed.json();
    let of = |name: &str| {
        let rows = told["env"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    for (name, value, source) in [
        ("OPENCODE_SERVER_PASSWORD", "<set>", "env"),
        ("OPENCODE_IDLE_TIMEOUT_MS", "900000", "env"),
        ("OPENCODE_MONITOR_MAX_POLLS", "120", "default"),
        ("OPENCODE_STRICT_TERMINAL", "(not used)", "default"),
    ] {
        let row = of(name);
        assert_eq!(
            (&row["value"], &row["source"]),
            (&value.into(), &source.into())
        );
        assert!(!row["description"].as_str().unwrap().is_empty());
    }
    assert_eq!(told["server"]["reachable"], false);
    assert_eq!(told["opencodeConfig"]["permissionsOk"], true);
    assert!(told["stateRoot"].is_string() && told["workspace"].is_string());
    let text = place.run(&["config"]).await;
    assert!(!text.expect_success().stdout.contains("hunter2"));
    assert!(place.server().is_none(), "nothing is started to look");
}

#[tokio::test]
async fn setup_says_what_is_there_and_switches_the_gate_of_one_folder() {
    let place = Place::new();
    let told = place.run(&["setup", "--json"]).await;
    let told = told.expect_success().json();
    for name in [
        "installed",
        "version",
        "serverRunning",
        "providers",
        "reviewGate",
        "ready",
        "node",
        "reviewGateEnabled",
        "actionsTaken",
        "nextSteps",
    ] {
        assert!(told.get(name).is_some(), "no {name} in {told}");
    }
    assert_eq!(told["reviewGate"], false);
    place
        .run(&["setup", "--enable-review-gate"])
        .await
        .expect_success();
    let told = place.run_in("repo/src", &["setup", "--json"]).await;
    assert_eq!(told.expect_success().json()["reviewGate"], true);
    let told = place.run_in("elsewhere", &["setup", "--json"]).await;
    assert_eq!(told.expect_success().json()["reviewGate"], false);
    let told = place.run(&["status", "--json"]).await;
    assert_eq!(told.expect_success().json()["config"]["reviewGate"], true);
    let both = ["setup", "--enable-review-gate", "--disable-review-gate"];
    place.run(&both).await.expect_code(1);
    let told = place
        .run(&["setup", "--disable-review-gate", "--json"])
        .await;
    assert_eq!(told.expect_success().json()["reviewGate"], false);
}
