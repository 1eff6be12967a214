//! What tests talk to: real agent programs, scripted stand-ins for them, and networks that fail on demand.
//!
//! Everything here listens on loopback alone, ends with the value that owns it, and waits for conditions with
//! a deadline. This crate knows nothing of the server, the broker or the store, so each of them can use it: the program
//! itself is met as its users meet it, by its command line and its API.

pub mod acp_agents;
pub mod acp_schema;
pub mod event_stream;
pub mod eventually;
pub mod fake_discord;
pub mod fake_slack;
pub mod fault_proxy;
mod frozen_time;
pub mod git;
pub mod hostile_agent;
pub mod http;
pub mod http_faults;
pub mod loopback;
pub mod opencode;
pub mod peers;
pub mod ports;
pub mod prefix_proxy;
pub mod process;
pub mod push_device;
pub mod scripted_agent;
pub mod scripted_opencode;
pub mod seed;
pub mod stub_model;
pub mod synapse;
pub mod telegram;
pub mod test_server;
pub mod webhook_receiver;

pub use acp_agents::RealAgent;
pub use acp_schema::AcpSchema;
pub use event_stream::EventStream;
pub use eventually::eventually;
pub use fake_discord::FakeDiscord;
pub use fake_slack::FakeSlack;
pub use fault_proxy::{Fault, FaultProxy};
pub use frozen_time::FrozenTime;
pub use http_faults::{HttpFault, HttpFaults};
pub use opencode::RealOpencode;
pub use prefix_proxy::PrefixProxy;
pub use process::Program;
pub use push_device::PushDevice;
pub use scripted_opencode::ScriptedOpencode;
pub use seed::Seed;
pub use stub_model::StubModel;
pub use synapse::Synapse;
pub use telegram::{FakeTelegram, TelegramEmulator};
pub use test_server::TestServer;
pub use webhook_receiver::WebhookReceiver;
