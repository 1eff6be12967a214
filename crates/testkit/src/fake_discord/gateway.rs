//! The gateway: sessions that are begun and resumed, and events that are told again until they were heard.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_websockets::{CloseCode, Message, ServerBuilder, WebSocketStream};

use super::{Shared, TOKEN};

/// What has to be wanted for messages to have their words.
const MESSAGE_CONTENT: u64 = 1 << 15;

type Socket = WebSocketStream<TcpStream>;

/// Takes connections until it is dropped; all of them end when `cut` changes.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>, cut: watch::Receiver<u64>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let (shared, mut cut) = (Arc::clone(&shared), cut.clone());
                cut.mark_unchanged();
                connections.spawn(async move {
                    tokio::select! {
                        biased;
                        // Without a word, as when a cable is pulled.
                        _ = cut.changed() => {}
                        _ = serve(stream, &shared) => {}
                    }
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection until it ends; nothing is returned that anybody wants.
async fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let (_, mut socket) = ServerBuilder::new().accept(stream).await.ok()?;
    say(
        &mut socket,
        &json!({"op": 10, "d": {"heartbeat_interval": 41_250}}),
    )
    .await?;
    let (session, mut told) = loop {
        let heard = hear(&mut socket).await?;
        match heard["op"].as_u64() {
            Some(1) => say(&mut socket, &json!({"op": 11})).await?,
            Some(2) => match identify(shared, &heard["d"]) {
                Ok(session) => break (session, 0),
                Err(code) => return close(&mut socket, code).await,
            },
            Some(6) => match resume(shared, &heard["d"]) {
                Some(resumed) => break resumed,
                None => say(&mut socket, &json!({"op": 9, "d": false})).await?,
            },
            _ => return None,
        }
    };
    loop {
        let more = shared.told.notified();
        tokio::pin!(more);
        more.as_mut().enable();
        let events: Vec<Value> = {
            let world = shared.world();
            let session = world.sessions.get(&session)?;
            session.events.get(told..).unwrap_or_default().to_vec()
        };
        for event in &events {
            say(&mut socket, event).await?;
        }
        told += events.len();
        tokio::select! {
            () = more => {}
            heard = hear(&mut socket) => {
                if heard?["op"] == 1 {
                    say(&mut socket, &json!({"op": 11})).await?;
                }
            }
        }
    }
}

fn identify(shared: &Shared, data: &Value) -> Result<String, u16> {
    let token = data["token"].as_str().unwrap_or_default();
    if token.trim_start_matches("Bot ") != TOKEN {
        return Err(4004);
    }
    let mut world = shared.world();
    let wants_words = data["intents"].as_u64().unwrap_or_default() & MESSAGE_CONTENT != 0;
    if wants_words && !world.may_read {
        return Err(4014);
    }
    let id = format!("{:032x}", rand::random::<u128>());
    let ready = json!({
        "v": 10, "user": world.user(world.bot), "session_id": id, "session_type": "normal",
        "guilds": [{"id": world.guild.to_string(), "unavailable": true}], "shard": [0, 1],
        "resume_gateway_url": shared.gateway, "application": {"id": world.bot.to_string(), "flags": 0},
    });
    let mut ready = ready;
    ready["user"]["verified"] = json!(true);
    ready["user"]["mfa_enabled"] = json!(false);
    ready["user"]["email"] = Value::Null;
    let server = world.server_event();
    let events = vec![
        json!({"op": 0, "t": "READY", "s": 1, "d": ready}),
        json!({"op": 0, "t": "GUILD_CREATE", "s": 2, "d": server}),
    ];
    world
        .sessions
        .insert(id.clone(), super::world::Session { events });
    Ok(id)
}

/// The session that is resumed, and how much of it was heard.
fn resume(shared: &Shared, data: &Value) -> Option<(String, usize)> {
    let mut world = shared.world();
    let id = data["session_id"].as_str()?;
    let heard = usize::try_from(data["seq"].as_u64()?).ok()?;
    let session = world.sessions.get_mut(id)?;
    let sequence = session.events.len() + 1;
    let resumed = json!({"op": 0, "t": "RESUMED", "s": sequence, "d": {}});
    session.events.push(resumed);
    world.resumed += 1;
    Some((id.to_owned(), heard))
}

async fn say(socket: &mut Socket, message: &Value) -> Option<()> {
    socket.send(Message::text(message.to_string())).await.ok()
}

async fn hear(socket: &mut Socket) -> Option<Value> {
    loop {
        let message = socket.next().await?.ok()?;
        if let Some(text) = message.as_text() {
            return serde_json::from_str(text).ok();
        }
        if message.is_close() {
            return None;
        }
    }
}

async fn close(socket: &mut Socket, code: u16) -> Option<()> {
    let code = CloseCode::try_from(code).ok()?;
    let message = Message::close(Some(code), "refused");
    socket.send(message).await.ok()?;
    // The other side reads it before the connection ends.
    let ended = tokio::time::timeout(Duration::from_secs(5), socket.next());
    ended.await.ok()?;
    None
}
