//! Links the program at a fixed address on Linux.
//!
//! A program that can be anywhere in memory is made ready for its place each time it starts: tens of thousands of addresses,
//! a third of what `countersign status` takes, and hooks and monitors call that again and again. What an attacker of memory
//! would have to guess stays as random as it is for others: the heap, the stack and the libraries.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
