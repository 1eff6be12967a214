//! Chats: what comes in is taken once, what is said is said once and in order.

use countersign_core::id::SessionId;

use super::backend::each_backend;
use super::scene::at;
use crate::{BridgeThread, ChatPlace, NewBridgeMessage, NewInbound, Store};

const BRIDGE: &str = "matrix";

fn place(thread: &str) -> ChatPlace {
    ChatPlace {
        bridge: BRIDGE.to_owned(),
        channel: "!room".to_owned(),
        thread: thread.to_owned(),
    }
}

fn came(id: &str) -> NewInbound {
    NewInbound {
        id: id.to_owned(),
        place: place("$root"),
        body: format!("{{\"said\":\"{id}\"}}"),
    }
}

fn says(key: &str, body: &str) -> NewBridgeMessage {
    NewBridgeMessage {
        id: format!("id_{key}_{body}"),
        key: key.to_owned(),
        place: place("$root"),
        kind: "say".to_owned(),
        subject: Some("ask_1".to_owned()),
        token: Some(format!("token_{key}")),
        route: "!room".to_owned(),
        body: body.to_owned(),
    }
}

async fn open(store: &Store) -> Vec<(String, String, i64, i64)> {
    let mut open = Vec::new();
    for row in store.open_chat_messages(BRIDGE, 100).await.unwrap() {
        assert_eq!(row.body, "", "what is said is not read by the hundred");
        let row = store.chat_message(&row.id).await.unwrap().unwrap();
        open.push((row.key, row.body, row.version, row.sent_version));
    }
    open
}

#[tokio::test]
async fn what_is_delivered_twice_is_taken_once_and_in_order() {
    each_backend(async |store| {
        let both = [came("one"), came("two")];
        let new = store.take_in(BRIDGE, &both, Some("s1"), at(1)).await;
        assert_eq!(new.unwrap(), 2);
        let again = [came("two"), came("three")];
        let new = store.take_in(BRIDGE, &again, None, at(2)).await;
        assert_eq!(new.unwrap(), 1);
        let cursor = store.bridge_cursor(BRIDGE).await.unwrap();
        assert_eq!(cursor.as_deref(), Some("s1"));
        let waiting = store.waiting_inbound(BRIDGE, 10).await.unwrap();
        let ids: Vec<&str> = waiting.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["one", "two", "three"]);

        store.finish_inbound(BRIDGE, "one").await.unwrap();
        let again = [came("one")];
        let new = store.take_in(BRIDGE, &again, Some("s2"), at(3));
        assert_eq!(new.await.unwrap(), 0, "what is done is not done again");
        assert_eq!(store.waiting_inbound(BRIDGE, 10).await.unwrap().len(), 2);
        assert_eq!(store.forget_inbound(BRIDGE, 100).await.unwrap(), 0);
        assert_eq!(store.forget_inbound(BRIDGE, 0).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_message_that_changes_is_one_message_and_keeps_its_place() {
    each_backend(async |store| {
        store.say_in_chat(&says("a", "1"), at(1)).await.unwrap();
        store.say_in_chat(&says("b", "1"), at(2)).await.unwrap();
        store.say_in_chat(&says("a", "2"), at(3)).await.unwrap();
        store.say_in_chat(&says("a", "2"), at(4)).await.unwrap();
        let row =
            |key: &str, body: &str, version, sent| (key.to_owned(), body.to_owned(), version, sent);
        assert_eq!(
            open(&store).await,
            [row("a", "2", 2, 0), row("b", "1", 1, 0)]
        );

        let first = store.open_chat_messages(BRIDGE, 1).await.unwrap().remove(0);
        store.begin_saying(&first.id, at(60)).await.unwrap();
        store.say_in_chat(&says("a", "3"), at(5)).await.unwrap();
        let said = store.mark_said(&first.id, 2, Some("$event"), None, None, at(6));
        said.await.unwrap();
        assert_eq!(
            open(&store).await,
            [row("a", "3", 3, 2), row("b", "1", 1, 0)]
        );
        let said = store.mark_said(&first.id, 3, None, None, None, at(7));
        said.await.unwrap();
        assert_eq!(open(&store).await, [row("b", "1", 1, 0)]);
        let found = store.chat_message_called(BRIDGE, "!room", "$event").await;
        assert_eq!(found.unwrap().unwrap().key, "a");
        let found = store.chat_message_with_token(BRIDGE, "token_a").await;
        assert_eq!(found.unwrap().unwrap().body, "3");

        let second = store.open_chat_messages(BRIDGE, 1).await.unwrap().remove(0);
        store.give_up_saying(&second.id, "gone").await.unwrap();
        store.say_in_chat(&says("b", "2"), at(8)).await.unwrap();
        assert_eq!(open(&store).await, [], "what was given up stays so");
        let about = store.chat_messages_about(BRIDGE, "ask_1").await.unwrap();
        assert_eq!(about.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_thread_is_found_by_its_place_and_by_its_session() {
    each_backend(async |store| {
        let session = SessionId::generate(at(1));
        let mut thread = BridgeThread {
            place: place("$root"),
            route: "!room".to_owned(),
            session: Some(session),
            engine: None,
            model: Some("m".to_owned()),
            turn: None,
            message: None,
        };
        store.keep_bridge_thread(&thread, at(1)).await.unwrap();
        thread.message = Some("$m".to_owned());
        store.keep_bridge_thread(&thread, at(2)).await.unwrap();
        let found = store.bridge_thread(&thread.place).await.unwrap();
        assert_eq!(found.as_ref(), Some(&thread));
        let found = store.bridge_thread_of(BRIDGE, session).await.unwrap();
        assert_eq!(found, Some(thread));
        assert_eq!(
            store.bridge_thread_of("slack", session).await.unwrap(),
            None
        );
        assert_eq!(store.bridge_thread(&place("")).await.unwrap(), None);
    })
    .await;
}
