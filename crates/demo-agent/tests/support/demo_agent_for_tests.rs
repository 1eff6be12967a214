//! The demo agent as a process of its own, as `countersign demo-agent` is.

fn main() -> std::io::Result<()> {
    countersign_demo_agent::run()
}
