//! Crate boundaries are may-not-know boundaries: these tests hold them.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde::Deserialize;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Nothing for an ordinary dependency.
    kind: Option<String>,
}

/// Each of our crates, with what it depends on outside its tests.
struct Arrows(BTreeMap<String, BTreeSet<String>>);

impl Arrows {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--format-version",
                "1",
                "--no-deps",
                "--offline",
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
        let outside_tests = |package: Package| {
            let ordinary = package
                .dependencies
                .into_iter()
                .filter(|dependency| dependency.kind.as_deref() != Some("dev"));
            (
                package.name,
                ordinary.map(|dependency| dependency.name).collect(),
            )
        };
        Self(metadata.packages.into_iter().map(outside_tests).collect())
    }

    /// Our crates that depend on `dependency` themselves.
    fn that_name(&self, dependency: &str) -> Vec<&str> {
        let naming = self
            .0
            .iter()
            .filter(|(_, dependencies)| dependencies.contains(dependency));
        naming.map(|(name, _)| name.as_str()).collect()
    }

    /// Everything that `package` gets to know, itself or through our other crates.
    fn known_to(&self, package: &str) -> BTreeSet<&str> {
        let mut known = BTreeSet::new();
        let mut open = vec![package];
        while let Some(next) = open.pop() {
            for dependency in self.0.get(next).into_iter().flatten() {
                if known.insert(dependency.as_str()) {
                    open.push(dependency);
                }
            }
        }
        known
    }

    #[track_caller]
    fn assert_ignorance(&self, package: &str, secrets: &[&str]) {
        assert!(
            self.0.contains_key(package),
            "there is no crate `{package}`"
        );
        let known = self.known_to(package);
        for secret in secrets {
            assert!(
                !known.contains(secret),
                "`{package}` may not know `{secret}`"
            );
        }
    }
}

#[test]
fn only_the_store_and_who_fills_ledgers_by_the_million_know_the_databases() {
    let arrows = Arrows::read();
    assert_eq!(arrows.that_name("sqlx"), ["countersign-store"]);
    assert_eq!(
        arrows.that_name("rusqlite"),
        ["countersign-bench", "countersign-store"]
    );
}

#[test]
fn only_the_server_and_what_it_is_tested_and_measured_with_know_axum() {
    assert_eq!(
        Arrows::read().that_name("axum"),
        [
            "countersign-bench",
            "countersign-server",
            "countersign-testkit"
        ]
    );
}

#[test]
fn the_rules_and_the_wire_types_do_no_input_or_output() {
    let arrows = Arrows::read();
    for package in ["countersign-core", "countersign-api"] {
        arrows.assert_ignorance(
            package,
            &[
                "tokio", "sqlx", "rusqlite", "axum", "reqwest", "hyper", "rustix",
            ],
        );
    }
}

#[test]
fn the_command_line_reaches_the_ledger_only_through_the_api() {
    Arrows::read().assert_ignorance(
        "countersign-cli",
        &[
            "countersign-store",
            "countersign-broker",
            "sqlx",
            "rusqlite",
        ],
    );
}

#[test]
fn the_proxy_reaches_the_ledger_only_through_the_api() {
    Arrows::read().assert_ignorance(
        "countersign-acp-proxy",
        &[
            "countersign-store",
            "countersign-broker",
            "countersign-server",
            "sqlx",
            "rusqlite",
            "axum",
        ],
    );
}

#[test]
fn the_broker_does_not_know_that_there_is_http() {
    Arrows::read().assert_ignorance(
        "countersign-broker",
        &["axum", "hyper", "countersign-api", "countersign-server"],
    );
}

#[test]
fn engines_and_the_store_do_not_know_each_other() {
    let arrows = Arrows::read();
    arrows.assert_ignorance(
        "countersign-engine",
        &["countersign-store", "countersign-broker"],
    );
    arrows.assert_ignorance(
        "countersign-store",
        &["countersign-engine", "countersign-broker"],
    );
}

#[test]
fn an_attempt_to_notify_does_not_know_the_ledger() {
    Arrows::read().assert_ignorance(
        "countersign-notify",
        &[
            "countersign-store",
            "countersign-broker",
            "countersign-api",
            "countersign-server",
            "sqlx",
            "axum",
        ],
    );
}

#[test]
fn chats_reach_the_ledger_through_the_application_and_serve_nothing() {
    Arrows::read().assert_ignorance(
        "countersign-bridges",
        &["axum", "hyper", "countersign-api", "countersign-server"],
    );
    let arrows = Arrows::read();
    assert!(!arrows.that_name("sqlx").contains(&"countersign-bridges"));
    assert!(
        !arrows
            .that_name("countersign-store")
            .contains(&"countersign-bridges")
    );
}

#[test]
fn workspaces_are_files_and_know_neither_http_nor_the_ledger() {
    Arrows::read().assert_ignorance(
        "countersign-workspace",
        &[
            "tokio",
            "axum",
            "hyper",
            "reqwest",
            "sqlx",
            "rusqlite",
            "countersign-api",
            "countersign-broker",
            "countersign-engine",
            "countersign-server",
            "countersign-store",
        ],
    );
}

#[test]
fn the_embedded_app_and_the_demo_agent_know_nothing_of_ours() {
    let arrows = Arrows::read();
    for package in ["countersign-web", "countersign-demo-agent"] {
        let known = arrows.known_to(package);
        assert!(
            !known.iter().any(|name| name.starts_with("countersign")),
            "{package}: {known:?}"
        );
    }
}

#[test]
fn the_testkit_is_for_tests_and_measurements_alone() {
    let arrows = Arrows::read();
    assert_eq!(
        arrows.that_name("countersign-testkit"),
        ["countersign-bench", "countersign-fuzz"]
    );
    for package in ["countersign-bench", "countersign-fuzz"] {
        assert!(arrows.that_name(package).is_empty());
    }
}

#[test]
fn an_arrow_through_another_crate_is_seen() {
    let crates = [("cli", ["api"]), ("api", ["store"]), ("store", ["sqlx"])];
    let owned = crates
        .map(|(name, dependencies)| (name.to_owned(), dependencies.map(str::to_owned).into()));
    let arrows = Arrows(owned.into());

    assert_eq!(
        arrows.known_to("cli"),
        BTreeSet::from(["api", "sqlx", "store"])
    );
}
