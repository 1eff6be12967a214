//! What OpenWork's own server took, version 0.1.1, as it was recorded on an idle machine of two cores.
//!
//! It cannot be had from a registry, so it is not measured in the same run. A bare axum application and the disk were
//! measured next to it there, and are measured here: what it would take here is scaled with them.

use crate::report::{Figure, Limit, Unit};

/// CPU of a request to a bare axum application, in microseconds.
const BARE_AXUM: f64 = 9.8;
/// How long that disk took to make something durable, in milliseconds.
const DURABLE: f64 = 0.19;

/// CPU of its requests, in microseconds: compiled or from its source, whichever took less.
pub(super) const HEALTH: f64 = 13.0;
pub(super) const WORKSPACES: f64 = 15.0;
pub(super) const CONFIG: f64 = 920.0;
pub(super) const SKILLS: f64 = 7_000.0;
pub(super) const AUDIT: f64 = 1_030.0;
/// A write with its approval, in milliseconds, half of the time: run from its source, and compiled, as it is shipped.
const ROUND_TRIP: f64 = 1.14;
const ROUND_TRIP_COMPILED: f64 = 1.47;
/// Start to the first `/health`, compiled, in milliseconds.
pub(super) const START: f64 = 25.0;
/// Memory (`VmRSS`), compiled, in megabytes.
pub(super) const IDLE: f64 = 28.0;
pub(super) const AFTER_LOAD: f64 = 214.0;

/// How this machine compares to the one where it was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    processor: f64,
    disk: f64,
}

impl Scale {
    /// Here a request to a bare axum application takes `bare` microseconds of CPU, and the disk `durable` milliseconds.
    pub(super) fn new(bare: f64, durable: f64) -> Self {
        Self {
            processor: bare / BARE_AXUM,
            disk: durable / DURABLE,
        }
    }

    /// Puts CPU of requests next to what the other server would take here, given what was `recorded`.
    pub(super) fn requests(&self, figure: Figure, recorded: f64, limit: Limit) -> Figure {
        let what =
            format!("OpenWork 0.1.1 ({recorded:.0} µs where bare axum took {BARE_AXUM:.1} µs)");
        figure
            .next_to(what, recorded * self.processor)
            .limited(limit)
    }

    /// Puts a round trip next to the other server's, from its source and compiled. That one waits for no disk, and this one
    /// waits for little else: it may take as much longer as this machine's processors are slower, or its disk, whichever is
    /// more.
    pub(super) fn round_trip(&self, percentile: f64) -> [Figure; 2] {
        [("", ROUND_TRIP), (", compiled", ROUND_TRIP_COMPILED)].map(|(built, recorded)| {
            let what = format!(
                "OpenWork 0.1.1{built} ({recorded:.2} ms, not durable, where a disk took {DURABLE:.2} ms)"
            );
            Figure::new(
                "approval round trip, durable, p50",
                percentile,
                Unit::Milliseconds,
            )
            .next_to(what, recorded * self.processor.max(self.disk))
            .limited(Limit::RatioAtMost(1.0))
        })
    }
}
