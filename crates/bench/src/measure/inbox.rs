//! The inbox: as many open asks in a ledger of a thousand asks and of a million.

use std::time::Instant;

use anyhow::ensure;

use crate::http::{Connection, request};
use crate::ledger::{Ledger, TOKEN};
use crate::measure::Bench;
use crate::report::{Figure, Limit, Unit};
use crate::samples::Samples;
use crate::served::{Engine, Served};

const FEW: usize = 1_000;
const OPEN: usize = 100;
/// Lists that are read before measuring begins.
const WARM_UP: usize = 20;

/// A server on a ledger, and how long its lists took.
struct Reader {
    server: Served,
    connection: Connection,
    request: Vec<u8>,
    took: Samples,
}

impl Bench {
    pub(super) async fn inbox(&self) -> anyhow::Result<Vec<Figure>> {
        let many = self.sizes.many_asks;
        let (small, large) = (
            self.ledger(FEW, OPEN).await?,
            self.ledger(many, OPEN).await?,
        );
        let mut small = Reader::start(&small).await?;
        let mut large = Reader::start(&large).await?;
        for index in 0..WARM_UP + self.sizes.lists {
            // In turn, so that whatever else the machine does is fair to both.
            small.read(index >= WARM_UP).await?;
            large.read(index >= WARM_UP).await?;
        }
        let figure = Figure::new(
            format!("inbox of {OPEN} open asks, {many} in all, p50"),
            large.took.median(),
            Unit::Milliseconds,
        )
        .next_to(format!("with {FEW} in all"), small.took.median())
        .limited(Limit::RatioAtMost(2.0));
        small.server.stop().await?;
        large.server.stop().await?;
        Ok(vec![figure])
    }
}

impl Reader {
    async fn start(ledger: &Ledger) -> anyhow::Result<Self> {
        let server = Served::countersign(ledger, Engine::None).await?;
        let mut connection = Connection::open(server.address).await?;
        let path = "/api/v1/asks?state=open";
        let list = connection.get(path, TOKEN).await?;
        let listed = list["asks"].as_array().map_or(0, Vec::len);
        ensure!(listed == OPEN, "{listed} asks are listed, not {OPEN}");
        Ok(Self {
            request: request(server.address, "GET", path, Some(TOKEN), None),
            took: Samples::default(),
            server,
            connection,
        })
    }

    async fn read(&mut self, counts: bool) -> anyhow::Result<()> {
        let began = Instant::now();
        let status = self.connection.exchange(&self.request).await?.status;
        let took = began.elapsed();
        ensure!(status == 200, "the server answers {status}");
        if counts {
            self.took.push_milliseconds(took);
        }
        Ok(())
    }
}
