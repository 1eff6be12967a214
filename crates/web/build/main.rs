//! Puts the web app into `OUT_DIR`, and a table of its files beside it.
//!
//! A plain `cargo build` is enough to get the whole product: the app is taken from where the environment says,
//! from a fresh `web/dist`, or built with npm. Without Node.js the build still succeeds, with a page that says
//! what is missing. Nothing is written to the source tree but `web/node_modules`.

mod files;
mod npm;
mod placeholder;
mod source;
mod table;

use std::{env, error::Error, fs, path::PathBuf};

use source::Source;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Names a directory with a finished build of the app, for packagers.
const DIST_VARIABLE: &str = "COUNTERSIGN_WEB_DIST";

#[expect(
    clippy::print_stdout,
    reason = "a build script talks to cargo on its standard output"
)]
fn main() -> Outcome<()> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let web = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("../../web");
    println!("cargo::rerun-if-env-changed={DIST_VARIABLE}");
    println!("cargo::rerun-if-changed=build");
    for path in source::sources(&web) {
        println!("cargo::rerun-if-changed={}", path.display());
    }

    let app = out.join("app");
    let given = env::var_os(DIST_VARIABLE).map(PathBuf::from);
    let origin = match source::choose(given, &web)? {
        Source::Given(dist) => {
            println!("cargo::rerun-if-changed={}", dist.display());
            files::replace(&app, &dist)?;
            table::Origin::Built
        }
        Source::Fresh(dist) => {
            files::replace(&app, &dist)?;
            table::Origin::Built
        }
        Source::Npm => match npm::build(&web, &app)? {
            npm::Built::App => table::Origin::Built,
            npm::Built::Nothing { why } => {
                println!("cargo::warning=the web app is left out: {why}");
                // Tried again with every build, until there is an app: no file changes when Node.js is installed.
                println!("cargo::rerun-if-changed=no-such-file");
                placeholder::write(&app, &why)?;
                table::Origin::Placeholder
            }
        },
    };
    fs::write(out.join("assets.rs"), table::render(&app, origin)?)?;
    Ok(())
}

fn variable(name: &str) -> Outcome<std::ffi::OsString> {
    env::var_os(name).ok_or_else(|| format!("cargo did not set {name}").into())
}
