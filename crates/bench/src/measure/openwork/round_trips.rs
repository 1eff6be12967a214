//! A write that waits for the host: wished for, found in the list, allowed, done and answered.

use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::fixture::Host;
use crate::http::PlainConnection;
use crate::samples::Samples;

/// The plugin that comes and goes.
const PLUGIN: &str = "opencode-bench";

/// A client that wishes and a host that allows, each with a kept connection.
pub(super) struct RoundTrips<'host> {
    host: &'host Host,
    client: PlainConnection,
    approver: PlainConnection,
    add: Vec<u8>,
    remove: Vec<u8>,
    list: Vec<u8>,
    /// How long each took, in milliseconds.
    pub(super) took: Samples,
}

impl<'host> RoundTrips<'host> {
    pub(super) fn begin(host: &'host Host) -> anyhow::Result<Self> {
        let wish = json!({ "spec": PLUGIN });
        Ok(Self {
            client: PlainConnection::open(host.server.address)?,
            approver: PlainConnection::open(host.server.address)?,
            add: host.as_client("POST", "/plugins", Some(&wish)),
            remove: host.as_client("DELETE", &format!("/plugins/{PLUGIN}"), None),
            list: host.as_host("GET", "/approvals", None),
            host,
            took: Samples::default(),
        })
    }

    /// Adds the plugin and removes it.
    pub(super) fn there_and_back(&mut self) -> anyhow::Result<()> {
        for request in [self.add.clone(), self.remove.clone()] {
            let began = Instant::now();
            self.client.send(&request)?;
            let approval = self.waiting()?;
            self.allow(&approval)?;
            self.client.receive()?.json()?;
            self.took.push_milliseconds(began.elapsed());
        }
        Ok(())
    }

    /// Looks into the list until something waits there, and returns its id.
    fn waiting(&mut self) -> anyhow::Result<String> {
        /// Far more often than anybody has to look.
        const LOOKS: usize = 100_000;
        for _ in 0..LOOKS {
            let listed = self.approver.exchange(&self.list)?.json()?;
            if let Some(waiting) = listed["items"].get(0) {
                let id = waiting["id"].as_str().context("it has no id")?;
                return Ok(id.to_owned());
            }
        }
        anyhow::bail!("nothing waits for approval")
    }

    fn allow(&mut self, approval: &str) -> anyhow::Result<()> {
        let path = format!("/approvals/{approval}");
        let reply = json!({ "reply": "allow" });
        let request = self.host.as_host("POST", &path, Some(&reply));
        let said = self.approver.exchange(&request)?.json()?;
        ensure!(
            said["allowed"] == true,
            "the host's word does not count: {said}"
        );
        Ok(())
    }
}
