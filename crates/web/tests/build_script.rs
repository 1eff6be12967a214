//! Runs the tests that the build script's modules have.

#[expect(dead_code, reason = "cargo alone calls the script's `main`")]
#[path = "../build/main.rs"]
mod build_script;
