//! What all requests share.

use std::sync::atomic::{AtomicU64, Ordering};

use countersign_broker::Broker;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::feed::Feed;
use crate::metrics::Metrics;
use crate::origin::Hosts;
use crate::settings::ServerSettings;
use crate::streams::Streams;

/// What all requests share.
pub(crate) struct Server {
    pub(crate) broker: Broker,
    pub(crate) settings: ServerSettings,
    /// The names under which browsers may reach us.
    pub(crate) hosts: Hosts,
    pub(crate) feed: Feed,
    pub(crate) streams: Streams,
    pub(crate) metrics: Metrics,
    pub(crate) shutdown: CancellationToken,
    /// Room for long bodies.
    pub(crate) long_bodies: Semaphore,
    /// Tells this life of the server from others in request ids.
    started: i64,
    failures: AtomicU64,
}

impl Server {
    pub(crate) fn new(
        broker: Broker,
        port: u16,
        settings: ServerSettings,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            started: broker.clock().now().as_micros(),
            hosts: Hosts::new(port, &settings.hosts()),
            feed: Feed::new(*broker.head().borrow()),
            streams: Streams::new(shutdown.clone(), settings.limits.streams_per_token),
            metrics: Metrics::new(),
            failures: AtomicU64::new(0),
            long_bodies: Semaphore::new(settings.limits.long_bodies),
            broker,
            settings,
            shutdown,
        }
    }

    /// A name for a request that failed, under which the log tells more.
    pub(crate) fn name_failure(&self) -> String {
        let number = self.failures.fetch_add(1, Ordering::Relaxed);
        format!("req_{:x}_{number:x}", self.started)
    }
}
