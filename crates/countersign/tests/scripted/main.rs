//! The whole program with an engine that does what the test says, and what no real one would do on demand.

mod astray;
mod forgotten;
mod gone;
mod queue;
mod reasons;
mod scene;
mod served;
