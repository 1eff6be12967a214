//! From an answer to the engine: how long until the reply has reached it.

use std::path::Path;

use anyhow::Context as _;
use countersign_core::time::Timestamp;
use countersign_testkit::scripted_opencode::{ReceivedReply, RemoteControl};
use countersign_testkit::test_server::KeptEngine;
use countersign_testkit::{eventually, http};
use serde_json::json;

use crate::clock;
use crate::measure::Bench;
use crate::people::{PATIENCE, Person};
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served, beside_this_program};

/// Answers before measuring begins.
const WARM_UP: usize = 10;
/// A request that the engine does not know: what matters is when the reply to it arrives.
const NOWHERE: &str = "per_nowhere";

/// The engine that the server started, without the server.
struct Straight {
    control: RemoteControl,
    engine: KeptEngine,
    http: reqwest::Client,
}

impl Bench {
    pub(super) async fn delivery(&self) -> anyhow::Result<Vec<Figure>> {
        let ledger = self.ledger(0, 0).await?;
        let program = beside_this_program("scripted-opencode")?;
        let server = Served::countersign(&ledger, Engine::Program(&program, &[])).await?;
        let mut person = Person::meet(&server).await?;
        let straight = Straight::find(&ledger.data(), &ledger.workspace()).await?;
        let session = person.start_session().await?;
        let (mut ours, mut direct) = (Samples::default(), Samples::default());
        for index in 0..WARM_UP + self.sizes.deliveries {
            let ask = person.prompt_until_ask(&session, "ASK 1").await?;
            let sent = person.allow(&ask).await?;
            person.wait_for_delivery(&ask).await?;
            person.wait_for_turn(&session).await;
            let sent_straight = straight.reply().await?;
            let replies = straight.control.replies().await;
            if index >= WARM_UP {
                ours.push(clock::milliseconds(sent, arrival(&replies, false)?));
                direct.push(clock::milliseconds(sent_straight, arrival(&replies, true)?));
            }
        }
        server.stop().await?;
        let figure = |what: &str, percent| {
            Figure::new(what, ours.percentile(percent), Unit::Milliseconds)
                .next_to("straight to the engine", direct.percentile(percent))
        };
        Ok(vec![
            figure("answer to reply at the engine, p50", 50).limited(Limit::AtMost(5.0)),
            figure("answer to reply at the engine, p99", 99),
        ])
    }
}

/// When the newest reply arrived, of those that went straight or of those that did not.
fn arrival(replies: &[ReceivedReply], straight: bool) -> anyhow::Result<Timestamp> {
    let mut newest_first = replies.iter().rev();
    let reply = newest_first.find(|reply| (reply.id == NOWHERE) == straight);
    let reply = reply.context("the engine has had no reply")?;
    Ok(Timestamp::from_micros(reply.received_at_micros))
}

impl Straight {
    async fn find(data: &Path, workspace: &Path) -> anyhow::Result<Self> {
        let control = eventually(PATIENCE, "the engine runs", async || {
            RemoteControl::find(workspace)
        });
        let mut engines = KeptEngine::all_below(data);
        Ok(Self {
            control: control.await,
            engine: engines.pop().context("no keeper keeps the engine")?,
            http: http::client(),
        })
    }

    /// Sends a reply past the server, and returns the moment before.
    async fn reply(&self) -> anyhow::Result<Timestamp> {
        let request = self
            .http
            .post(format!("{}/permission/{NOWHERE}/reply", self.engine.url))
            .basic_auth("opencode", Some(&self.engine.password))
            .json(&json!({ "reply": "once" }));
        let sent = clock::now();
        request.send().await.context("the engine does not answer")?;
        Ok(sent)
    }
}
