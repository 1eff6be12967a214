//! Builds the app with npm.
//!
//! What cannot be helped from here (no Node.js, no network on the first build) leaves the app out with a reason;
//! an app that does not build is an error like any other compile error.

use std::{
    fs::File,
    io,
    path::Path,
    process::{Command, Output},
};

use super::{Outcome, files, source};

/// What came of it.
pub(crate) enum Built {
    /// The app is in the output directory.
    App,
    /// The app cannot be built on this machine.
    Nothing {
        /// The reason, and what to do about it, in one line.
        why: String,
    },
}

/// Builds the app in `web` into the directory `app`.
pub(crate) fn build(web: &Path, app: &Path) -> Outcome<Built> {
    // Builds with different target directories share `node_modules`; this lock ends with its file.
    let lock = web.join("package-lock.json");
    let packages = File::open(&lock)?;
    packages.lock()?;

    if !source::newer(&web.join("node_modules/.package-lock.json"), &lock)? {
        // `NODE_ENV=production` must not leave out what the build needs.
        let Some(output) = npm(web, &["ci", "--include=dev", "--no-audit", "--no-fund"])? else {
            return Ok(without_npm());
        };
        if !output.status.success() {
            let said = last_words(&output);
            let why = format!("`npm ci` failed in web/ (run it there to see why): {said}");
            return Ok(Built::Nothing { why });
        }
    }

    files::remove(app)?;
    let out = app
        .to_str()
        .ok_or("the target directory's name is not UTF-8")?;
    let Some(output) = npm(
        web,
        &["run", "build", "--", "--outDir", out, "--emptyOutDir"],
    )?
    else {
        return Ok(without_npm());
    };
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(format!(
            "the web app does not build\n{}",
            String::from_utf8_lossy(&said)
        )
        .into());
    }
    Ok(Built::App)
}

fn without_npm() -> Built {
    let why = "npm is not installed; install Node.js 20.19 or newer, or set COUNTERSIGN_WEB_DIST to a built app";
    Built::Nothing { why: why.into() }
}

/// Runs npm in `web`; nothing is returned when there is no npm.
fn npm(web: &Path, arguments: &[&str]) -> io::Result<Option<Output>> {
    match Command::new("npm")
        .args(arguments)
        .current_dir(web)
        .output()
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// What npm gave as the reason, in one line: a cargo warning has no more.
fn last_words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let errors = said
        .lines()
        .filter_map(|line| line.strip_prefix("npm error "));
    errors
        .filter(|line| !line.contains("complete log"))
        .take(3)
        .collect::<Vec<_>>()
        .join("; ")
}
