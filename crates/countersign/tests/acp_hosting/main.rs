//! What agents have their host do, through the whole program: files are read and written, commands run, each only with
//! leave, and nothing of it is left behind.

mod commands;
mod files;
mod lives;
mod stage;
