//! From the moment at which an agent asks to the event at a client.

use anyhow::Context as _;
use countersign_core::time::Timestamp;
use countersign_testkit::EventStream;
use countersign_testkit::test_server::Api;
use serde_json::json;

use crate::clock;
use crate::http::Connection;
use crate::ledger::TOKEN;
use crate::measure::Bench;
use crate::measured_agent::{ASKED_AT, NAME};
use crate::people::{Watcher, next_event};
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

/// Asks before measuring begins.
const WARM_UP: usize = 10;
/// The longest that all but one in a hundred may take.
const P99_MILLISECONDS: f64 = 20.0;

impl Bench {
    pub(super) async fn ask_to_page(&self) -> anyhow::Result<Vec<Figure>> {
        let ours = self.asked().await?;
        let bare = self.said().await?;
        let figure = |percent| {
            let what = format!("an agent's ask to the page's event, p{percent}");
            Figure::new(what, ours.percentile(percent), Unit::Milliseconds)
                .next_to("bare axum, said to heard", bare.percentile(percent))
        };
        Ok(vec![
            figure(50),
            figure(99).limited(Limit::AtMost(P99_MILLISECONDS)),
        ])
    }

    async fn asked(&self) -> anyhow::Result<Samples> {
        let ledger = self.ledger(0, 0).await?;
        let server = Served::countersign(&ledger, Engine::Measured).await?;
        let mut person = Watcher::meet(&server).await?;
        let session = person.start_session_with(NAME).await?;
        let mut took = Samples::default();
        for index in 0..WARM_UP + self.sizes.asks_to_page {
            person.say(&session, "ASK").await?;
            let opened = person.event("ask.opened").await?;
            let heard = clock::now();
            let tool = opened["tool"]
                .as_str()
                .and_then(|tool| tool.strip_prefix(ASKED_AT));
            let asked = tool
                .and_then(|micros| micros.parse().ok())
                .context("it does not say when it was asked")?;
            if index >= WARM_UP {
                took.push(clock::milliseconds(Timestamp::from_micros(asked), heard));
            }
            let ask = opened["ask"]
                .as_str()
                .context("it does not say what was asked")?;
            person.deny(ask).await?;
            person.turn_ends(&session).await?;
        }
        server.stop().await?;
        Ok(took)
    }

    async fn said(&self) -> anyhow::Result<Samples> {
        let server = Served::hello().await?;
        let api = Api::new(format!("http://{}", server.address), None);
        let mut events = EventStream::open(&api, None).await?;
        let mut connection = Connection::open(server.address).await?;
        let request = crate::http::request(
            server.address,
            "POST",
            "/say",
            Some(TOKEN),
            Some(&json!({})),
        );
        let mut took = Samples::default();
        for index in 0..WARM_UP + self.sizes.asks_to_page {
            let said = clock::now();
            connection.exchange(&request).await?;
            next_event(&mut events, |frame| frame.event == "said").await?;
            if index >= WARM_UP {
                took.push(clock::milliseconds(said, clock::now()));
            }
        }
        server.stop().await?;
        Ok(took)
    }
}
