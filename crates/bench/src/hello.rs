//! The baseline: an axum application that does nothing but what is compared.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post};
use futures_util::{Stream, stream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::broadcast;

use crate::clock;

/// What the routes share.
#[derive(Clone)]
struct Shared {
    said: broadcast::Sender<Arc<(i64, String)>>,
    count: Arc<AtomicI64>,
}

/// Serves until the process is killed.
#[expect(
    clippy::print_stdout,
    reason = "it says where it serves, as the program does"
)]
pub(crate) async fn serve(port: u16) -> anyhow::Result<()> {
    let shared = Shared {
        said: broadcast::Sender::new(1_024),
        count: Arc::default(),
    };
    let router = Router::new()
        .route("/", get(async || "Hello, World!"))
        .route("/api/v1/events", get(follow))
        .route("/say", post(say))
        .with_state(shared);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .context("failed to listen")?;
    println!("hello serves on {port}");
    axum::serve(listener, router)
        .await
        .context("failed to serve")
}

/// Says something to everybody who follows.
async fn say(State(shared): State<Shared>) -> &'static str {
    let number = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
    let data = json!({ "seq": number, "at": clock::now() }).to_string();
    // Nobody listening is no error.
    drop(shared.said.send(Arc::new((number, data))));
    "said"
}

async fn follow(
    State(shared): State<Shared>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let hello = Event::default().event("hello").data(r#"{"seq":0}"#);
    let events = stream::unfold(
        (Some(hello), shared.said.subscribe()),
        async |(hello, mut said)| {
            if let Some(hello) = hello {
                return Some((Ok(hello), (None, said)));
            }
            let said_now = said.recv().await.ok()?;
            let (number, data) = &*said_now;
            let event = Event::default()
                .id(number.to_string())
                .event("said")
                .data(data);
            Some((Ok(event), (None, said)))
        },
    );
    Sse::new(events)
}
