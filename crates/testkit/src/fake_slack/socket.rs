//! Socket Mode, from Slack's side.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use super::{Order, Shared, locked};

/// How often an app is asked whether it is there.
const PING: Duration = Duration::from_secs(5);

pub(super) async fn accept(listener: TcpListener, state: Shared) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, Arc::clone(&state)));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, state: Shared) {
    let tickets = Arc::clone(&state);
    #[expect(clippy::result_large_err, reason = "the library wants it so")]
    let check = move |request: &Request, response: Response| {
        let ticket = request
            .uri()
            .query()
            .and_then(|query| query.strip_prefix("ticket="));
        let is_known = ticket.is_some_and(|ticket| locked(&tickets).tickets.remove(ticket));
        if is_known {
            Ok(response)
        } else {
            let mut refusal = ErrorResponse::new(None);
            *refusal.status_mut() = http::StatusCode::FORBIDDEN;
            Err(refusal)
        }
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, check).await else {
        return;
    };
    let (orders, mut told) = mpsc::unbounded_channel();
    let count = {
        let mut state = locked(&state);
        state
            .connections
            .retain(|connection| !connection.is_closed());
        state.connected += 1;
        state.connections.len() + 1
    };
    let hello = json!({
        "type": "hello", "num_connections": count, "connection_info": {"app_id": "A0FAKE001"},
        "debug_info": {"host": "fake", "started": "now", "build_number": 1, "approximate_connection_time": 18060},
    });
    if socket.send(Message::text(hello.to_string())).await.is_err() {
        return;
    }
    // From the hello on it is one of those that are told.
    locked(&state).connections.push(orders);
    let mut pings = tokio::time::interval(PING);
    loop {
        let sent = tokio::select! {
            order = told.recv() => match order {
                Some(Order::Send(said)) => socket.send(Message::text(said.to_string())).await,
                Some(Order::FallSilent) => std::future::pending().await,
                Some(Order::Cut) | None => return,
            },
            _ = pings.tick() => socket.send(Message::Ping("ping".into())).await,
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => {
                    let said: Value = serde_json::from_str(text.as_str()).unwrap_or_default();
                    let id = said["envelope_id"].as_str().unwrap_or_default();
                    locked(&state).open.remove(id);
                    Ok(())
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => Ok(()),
            },
        };
        if sent.is_err() {
            return;
        }
    }
}
