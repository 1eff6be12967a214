//! The checks and tests of the whole repository, in the order in which they are run.

use std::{env, fs};

use crate::{
    invocation::Invocation,
    peers,
    postgres::PostgresCluster,
    repository::Repository,
    step::Step,
    tool::{DENY, NEXTEST},
};

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Formatting, lints and the fast tests: a minute while one works.
    Quick,
    /// Everything: what has to pass before a change lands.
    Full,
}

/// What to run.
pub(crate) struct Selection {
    /// How much is checked.
    pub(crate) extent: Extent,
    /// More arguments for `cargo nextest run`.
    pub(crate) nextest: Vec<String>,
}

/// The steps of a run.
pub(crate) fn steps(repository: &Repository, selection: &Selection) -> Vec<Step> {
    match selection.extent {
        Extent::Quick => quick(repository, &selection.nextest),
        Extent::Full => full(repository, &selection.nextest),
    }
}

fn quick(repository: &Repository, filter: &[String]) -> Vec<Step> {
    let mut steps = vec![formatting(repository), lints(repository)];
    steps.extend(NEXTEST.installation(repository));
    steps.push(programs(repository));
    steps.push(quick_tests(repository, filter));
    steps
}

fn full(repository: &Repository, filter: &[String]) -> Vec<Step> {
    let cargo = |line: &str| Invocation::new(&repository.root, line);
    let npm = |line: &str| Invocation::new(&repository.web(), line);

    let mut steps = vec![peers(repository), formatting(repository), lints(repository)];
    steps.push(Step::command(
        "documentation",
        cargo("cargo doc --workspace --no-deps --document-private-items")
            .variable("RUSTDOCFLAGS", "-D warnings"),
    ));
    steps.push(web_packages(repository));
    steps.push(Step::command("web lints", npm("npm run lint")));
    steps.push(Step::command("web types", npm("npm run typecheck")));
    steps.push(Step::command("web tests", npm("npm run test")));
    let plugin = |line: &str| Invocation::new(&repository.root.join("plugins/opencode"), line);
    steps.push(Step::command("plugin types", plugin("npm run typecheck")));
    steps.push(Step::command("plugin tests", plugin("npm run test")));
    steps.push(claude_code_plugin(repository));
    steps.extend(DENY.installation(repository));
    steps.push(Step::command(
        "dependencies",
        DENY.invocation(repository, "check licenses bans sources"),
    ));
    steps.extend(NEXTEST.installation(repository));
    steps.push(programs(repository));
    steps.push(all_tests(repository, filter));
    steps.push(Step::command(
        "documented examples",
        cargo("cargo test --workspace --doc"),
    ));
    steps.push(Step::command(
        "browser tests",
        npm("npm run e2e")
            .variable("COUNTERSIGN_BINARY", repository.binary())
            .variable("COUNTERSIGN_PEERS", repository.peers()),
    ));
    steps
}

fn peers(repository: &Repository) -> Step {
    let repository = Repository {
        root: repository.root.clone(),
        target: repository.target.clone(),
    };
    Step::work("peers", "cargo xtask peers", move || {
        peers::install(&repository)
    })
}

fn formatting(repository: &Repository) -> Step {
    Step::command(
        "formatting",
        Invocation::new(&repository.root, "cargo fmt --all --check"),
    )
}

fn lints(repository: &Repository) -> Step {
    let line = "cargo clippy --workspace --all-targets -- -D warnings";
    Step::command("lints", Invocation::new(&repository.root, line))
}

/// What tests start as processes of their own; they build nothing themselves.
fn programs(repository: &Repository) -> Step {
    let line = "cargo build --package countersign --package countersign-testkit --bins";
    Step::command("programs", Invocation::new(&repository.root, line))
}

/// What Claude Code itself says about its plugin, without a person's configuration and without the world.
fn claude_code_plugin(repository: &Repository) -> Step {
    let claude = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";
    let line = "claude plugin validate --strict plugins/claude-code";
    Step::command(
        "Claude Code plugin",
        Invocation::new(&repository.root, line)
            .program(&repository.peers().join(claude))
            .variable("CLAUDE_CONFIG_DIR", repository.target.join("claude-code"))
            .variable("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    )
}

/// The web app's packages. The lints' build of the app may have installed them: that is looked at when the step runs.
fn web_packages(repository: &Repository) -> Step {
    let web = repository.web();
    let install = Invocation::new(&web, "npm ci --include=dev");
    Step::work("web packages", &install.to_string(), move || {
        let modified = |name: &str| {
            fs::metadata(web.join(name))
                .and_then(|file| file.modified())
                .ok()
        };
        if modified("node_modules/.package-lock.json") > modified("package-lock.json") {
            return Ok(());
        }
        install.run_with_retries()
    })
}

/// The fast tests, on SQLite alone.
fn quick_tests(repository: &Repository, filter: &[String]) -> Step {
    Step::command("tests", nextest(repository, "quick", filter))
}

/// All tests, with a PostgreSQL server that lives as long as they run.
fn all_tests(repository: &Repository, filter: &[String]) -> Step {
    let profile = if env::var_os("CI").is_some() {
        "ci"
    } else {
        "default"
    };
    let invocation = nextest(repository, profile, filter);
    let target = repository.target.clone();
    Step::work("tests", &invocation.to_string(), move || {
        let cluster = PostgresCluster::start(&target)?;
        invocation
            .variable("COUNTERSIGN_TEST_POSTGRES", cluster.url())
            .run()
    })
}

fn nextest(repository: &Repository, profile: &str, filter: &[String]) -> Invocation {
    NEXTEST
        .invocation(repository, &format!("run --workspace --profile {profile}"))
        .arguments(filter)
        .variable("COUNTERSIGN_PEERS", repository.peers())
}
