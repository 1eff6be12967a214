//! Figures for Prometheus: how long people take, how long engines take, and what goes on.
//!
//! They come from the ledger: times and counts from its events, so that every replica counts every ask, and how many
//! asks are open from its rows.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use axum::extract::MatchedPath;
use countersign_broker::{AskContext, AskFilter, Broker};
use countersign_core::actor::ActorKind;
use countersign_core::ask::AskPhase;
use countersign_core::event::{Event, EventBody};
use countersign_core::grant::Caller;
use countersign_core::id::AskId;
use countersign_core::time::Timestamp;
use http::StatusCode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Of more asks than this that are not over, times are not taken.
const TIMED_LIMIT: usize = 10_000;
const PAGE: i64 = 500;
/// A person takes seconds to days, in seconds.
const TIMES_OF_PEOPLE: [f64; 12] = [
    1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0,
];
/// An engine takes milliseconds to seconds, in seconds.
const TIMES_OF_ENGINES: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct AskLabels {
    state: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabels {
    route: Route,
    status: u16,
}

/// A route's pattern; nothing where no route fitted.
#[derive(Clone, Debug)]
struct Route(Option<MatchedPath>);

impl Route {
    fn name(&self) -> &str {
        self.0.as_ref().map_or("(none)", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Route {}

impl std::hash::Hash for Route {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        self.name().encode(encoder)
    }
}

/// Where an ask that is not over stands.
#[derive(Debug, Clone, Copy)]
enum Waiting {
    ForAnswer { since: Timestamp, seen: bool },
    ForDelivery { since: Timestamp },
}

/// The figures.
pub(crate) struct Metrics {
    registry: Registry,
    waiting: Mutex<HashMap<AskId, Waiting>>,
    time_to_see: Histogram,
    time_to_answer: Histogram,
    time_to_deliver: Histogram,
    asks: Family<AskLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    under_way: Gauge,
    open_asks: Gauge,
    streams: Gauge,
}

/// A request that is under way.
pub(crate) struct UnderWay(Gauge);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("countersign"),
            waiting: Mutex::default(),
            time_to_see: Histogram::new(TIMES_OF_PEOPLE),
            time_to_answer: Histogram::new(TIMES_OF_PEOPLE),
            time_to_deliver: Histogram::new(TIMES_OF_ENGINES),
            asks: Family::default(),
            requests: Family::default(),
            under_way: Gauge::default(),
            open_asks: Gauge::default(),
            streams: Gauge::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register(
            "ask_time_to_see_seconds",
            "From an ask's opening to its first being shown to a person",
            self.time_to_see.clone(),
        );
        registry.register(
            "ask_time_to_answer_seconds",
            "From an ask's opening to its answer",
            self.time_to_answer.clone(),
        );
        registry.register(
            "ask_time_to_deliver_seconds",
            "From an answer to the engine's evidence that it has it",
            self.time_to_deliver.clone(),
        );
        registry.register("asks", "Asks that came to a state", self.asks.clone());
        registry.register(
            "requests",
            "Requests by route and status",
            self.requests.clone(),
        );
        registry.register(
            "requests_under_way",
            "Requests whose response has not begun",
            self.under_way.clone(),
        );
        registry.register(
            "open_asks",
            "Asks that nobody has answered",
            self.open_asks.clone(),
        );
        registry.register(
            "event_streams",
            "Event streams that are open",
            self.streams.clone(),
        );
        self
    }

    /// Takes up the asks that were open before the server began.
    pub(crate) async fn begin(&self, broker: &Broker) {
        let owner = broker.local_owner();
        let mut filter = AskFilter {
            phase: Some(AskPhase::Open),
            ..AskFilter::default()
        };
        loop {
            let Ok(page) = broker.asks(&owner, filter, PAGE).await else {
                tracing::warn!("open asks cannot be read: they are not timed");
                return;
            };
            let Some(last) = page.last() else { return };
            if self.lock().len() >= TIMED_LIMIT {
                return;
            }
            filter.before = Some(last.ask.id);
            for context in page {
                self.wait(
                    context.ask.id,
                    // Whether anybody saw it in the last server's time is not known.
                    Waiting::ForAnswer {
                        since: context.ask.opened_at,
                        seen: true,
                    },
                );
            }
        }
    }

    /// Counts what happened.
    pub(crate) fn observe(&self, event: &Event) {
        match &event.body {
            EventBody::AskOpened { ask, .. } => {
                self.asks
                    .get_or_create(&AskLabels {
                        state: AskPhase::Open.name(),
                    })
                    .inc();
                let since = event.at;
                self.wait(*ask, Waiting::ForAnswer { since, seen: false });
            }
            EventBody::AskChanged { ask, state, .. } => {
                self.asks
                    .get_or_create(&AskLabels {
                        state: state.name(),
                    })
                    .inc();
                self.advance(*ask, *state, event.at);
            }
            EventBody::SessionChanged { .. }
            | EventBody::SettingsChanged { .. }
            | EventBody::TurnChanged { .. }
            | EventBody::ItemChanged { .. }
            | EventBody::EngineChanged { .. }
            | EventBody::WorkspaceChanged { .. }
            | EventBody::JobChanged { .. }
            | EventBody::RuleChanged { .. }
            | EventBody::AlarmRaised { .. } => {}
        }
    }

    /// Notes that asks are shown to somebody; only a person can see them.
    pub(crate) fn see(&self, asks: &[AskContext], caller: &Caller, now: Timestamp) {
        if caller.actor().kind != ActorKind::Person {
            return;
        }
        let mut waiting = self.lock();
        for context in asks {
            if let Some(Waiting::ForAnswer { since, seen }) = waiting.get_mut(&context.ask.id)
                && !std::mem::replace(seen, true)
            {
                self.time_to_see.observe(now.since(*since).as_secs_f64());
            }
        }
    }

    /// Counts a request as under way for as long as the guard lives.
    pub(crate) fn take_request(&self) -> UnderWay {
        self.under_way.inc();
        UnderWay(self.under_way.clone())
    }

    /// Counts a request.
    pub(crate) fn count_request(&self, route: Option<MatchedPath>, status: StatusCode) {
        let labels = RequestLabels {
            route: Route(route),
            status: status.as_u16(),
        };
        self.requests.get_or_create(&labels).inc();
    }

    /// The figures in the text format of `OpenMetrics`.
    pub(crate) fn write(&self, open_asks: i64, streams: usize) -> Result<String, fmt::Error> {
        self.open_asks.set(open_asks);
        self.streams.set(i64::try_from(streams).unwrap_or(i64::MAX));
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }

    fn advance(&self, ask: AskId, state: AskPhase, at: Timestamp) {
        let waited = self.lock().remove(&ask);
        if let Some(Waiting::ForAnswer { since, .. }) = waited
            && state == AskPhase::Answered
        {
            self.time_to_answer.observe(at.since(since).as_secs_f64());
        }
        if let Some(Waiting::ForDelivery { since }) = waited
            && state == AskPhase::Delivered
        {
            self.time_to_deliver.observe(at.since(since).as_secs_f64());
        }
        if state == AskPhase::Answered {
            self.wait(ask, Waiting::ForDelivery { since: at });
        }
    }

    fn wait(&self, ask: AskId, waiting: Waiting) {
        let mut all = self.lock();
        if all.len() < TIMED_LIMIT {
            all.insert(ask, waiting);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<AskId, Waiting>> {
        // Nothing in here is ever half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
