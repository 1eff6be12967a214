//! From an answer to its proof with the real opencode, next to a reply straight to an opencode.

use std::path::PathBuf;

use anyhow::Context as _;
use countersign_testkit::peers::Opencode;
use countersign_testkit::{RealOpencode, StubModel};
use futures_util::StreamExt as _;
use reqwest::Method;
use serde_json::json;

use crate::clock;
use crate::measure::Bench;
use crate::people::{PATIENCE, Person};
use crate::report::{Figure, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

/// Answers before measuring begins.
const WARM_UP: usize = 2;
/// What the agent is told to do.
const PROMPT: &str = "TOOL bash: true";

impl Bench {
    pub(super) async fn end_to_end(&self) -> anyhow::Result<Vec<Figure>> {
        let model = StubModel::start().await;
        let ours = self.through_countersign(&model).await?;
        let direct = self.straight_to_opencode(&model).await?;
        let figure = |what: &str, percent| {
            Figure::new(what, ours.percentile(percent), Unit::Milliseconds)
                .next_to("straight to opencode", direct.percentile(percent))
        };
        Ok(vec![
            figure("answer to proof, real opencode, p50", 50),
            figure("answer to proof, real opencode, max", 100),
        ])
    }

    async fn through_countersign(&self, model: &StubModel) -> anyhow::Result<Samples> {
        let ledger = self.ledger(0, 0).await?;
        let home = ledger.root().join("home");
        std::fs::create_dir(&home).context("failed to make a directory")?;
        let variables = RealOpencode::environment(&home, &model.base_url());
        let program: PathBuf = Opencode::V1_18_33.executable();
        let server = Served::countersign(&ledger, Engine::Program(&program, &variables)).await?;
        let mut person = Person::meet(&server).await?;
        let mut took = Samples::default();
        for index in 0..WARM_UP + self.sizes.real_deliveries {
            let session = person.start_session().await?;
            let ask = person.prompt_until_ask(&session, PROMPT).await?;
            let sent = person.allow(&ask).await?;
            person.wait_for_delivery(&ask).await?;
            let proved = clock::now();
            person.wait_for_turn(&session).await;
            if index >= WARM_UP {
                took.push(clock::milliseconds(sent, proved));
            }
        }
        server.stop().await?;
        Ok(took)
    }

    async fn straight_to_opencode(&self, model: &StubModel) -> anyhow::Result<Samples> {
        let directory = tempfile::tempdir_in(self.root()).context("failed to make a directory")?;
        let directory = directory.path().canonicalize()?;
        let opencode = RealOpencode::start(&directory, model).await;
        let events = opencode
            .request(Method::GET, "/global/event")
            .send()
            .await?;
        let mut events = events.error_for_status()?.bytes_stream();
        let mut took = Samples::default();
        for index in 0..WARM_UP + self.sizes.real_deliveries {
            let session = opencode.create_session().await;
            opencode.prompt(&session, PROMPT).await;
            let asked = opencode.wait_for_permission(PATIENCE, "it asks", |permission| {
                permission["sessionID"] == session
            });
            let id = asked.await["id"]
                .as_str()
                .context("it has no id")?
                .to_owned();
            let reply = opencode
                .request(Method::POST, &format!("/permission/{id}/reply"))
                .json(&json!({ "reply": "once" }));
            let sent = clock::now();
            let announced = async {
                let mut heard = Vec::new();
                while let Some(piece) = events.next().await {
                    heard.extend_from_slice(&piece?);
                    if announces(&heard, &id) {
                        return Ok(clock::now());
                    }
                }
                anyhow::bail!("the event stream ended")
            };
            let (replied, announced) =
                tokio::join!(reply.send(), tokio::time::timeout(PATIENCE, announced));
            replied?.error_for_status()?;
            let announced = announced.context("the reply is not announced")??;
            opencode.wait_for_final_text(PATIENCE, &session).await;
            if index >= WARM_UP {
                took.push(clock::milliseconds(sent, announced));
            }
        }
        Ok(took)
    }
}

/// Whether the announcement of a reply to `id` is among what was heard, whole.
fn announces(heard: &[u8], id: &str) -> bool {
    let heard = String::from_utf8_lossy(heard);
    heard.split_inclusive('\n').any(|line| {
        line.contains("permission.replied") && line.contains(id) && line.ends_with('\n')
    })
}
