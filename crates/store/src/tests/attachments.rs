//! What comes along with prompts.

use countersign_core::attachment::{Attachment, AttachmentKind, Takes};
use countersign_core::id::{AttachmentId, TurnId};

use super::backend::each_backend;
use super::scene::{Scene, at};
use crate::{Attached, NewTurn};

fn attached(kind: AttachmentKind, name: &str, bytes: Option<&[u8]>) -> Attached {
    Attached {
        attachment: Attachment {
            id: AttachmentId::generate(at(1)),
            kind,
            name: name.to_owned(),
            media_type: bytes.map(|_| "image/png".to_owned()),
            size: bytes.map_or(7, |bytes| bytes.len() as u64),
            kept: bytes.is_some(),
        },
        bytes: bytes.map(<[u8]>::to_vec),
    }
}

fn turn(scene: &Scene, id: TurnId) -> NewTurn {
    NewTurn {
        id,
        session: scene.session,
        native_id: id.to_string(),
        prompt: "look".to_owned(),
        model: None,
        agent: None,
        follows: None,
        mode: None,
    }
}

#[tokio::test]
async fn what_came_along_with_a_turn_is_there_whole_and_in_order_and_only_once() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let all_bytes: Vec<u8> = (0..=255).collect();
        let given = [
            attached(AttachmentKind::Image, "shot.png", Some(&all_bytes)),
            attached(AttachmentKind::File, "src/main.rs", None),
            attached(AttachmentKind::Text, "empty.txt", Some(b"")),
        ];
        let id = TurnId::generate(at(1));
        let begin = async |given: &[Attached]| {
            let begun =
                store.begin_turn_with(scene.workspace, turn(&scene, id), given, &scene.ada, at(1));
            begun.await.unwrap()
        };
        assert!(begin(&given).await.1);
        // The same turn again keeps what it came with.
        let other = [attached(AttachmentKind::Text, "other.txt", Some(b"other"))];
        assert!(!begin(&other).await.1);
        assert_eq!(store.attachments(id).await.unwrap(), given);
        assert_eq!(store.turn(id).await.unwrap().unwrap().prompt, "look");

        let image = &given[0];
        let found = store.attachment(image.attachment.id).await.unwrap();
        assert_eq!(found, Some((scene.workspace, image.clone())));
        let unknown = AttachmentId::generate(at(9));
        assert_eq!(store.attachment(unknown).await.unwrap(), None);
        let none = TurnId::generate(at(9));
        assert_eq!(store.attachments(none).await.unwrap(), []);
        assert_eq!(store.turn(none).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn the_audit_names_what_came_along_and_does_not_repeat_it() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        let given = [attached(AttachmentKind::Text, "notes.md", Some(b"secret"))];
        let id = TurnId::generate(at(1));
        store
            .begin_turn_with(scene.workspace, turn(&scene, id), &given, &scene.ada, at(1))
            .await
            .unwrap();
        let entries = store.audit(scene.workspace, 0, 100).await.unwrap();
        let said = entries.last().unwrap();
        assert_eq!(said.action, "session.prompt");
        let named = &said.detail["attachments"][0];
        assert_eq!(named["name"], "notes.md");
        assert_eq!(named["size"], 6);
        assert_eq!(named["digest"].as_str().unwrap().len(), 64);
        assert!(!said.detail.to_string().contains("secret"));
    })
    .await;
}

#[tokio::test]
async fn what_an_agent_takes_is_known_after_it_has_said_so() {
    each_backend(async |store| {
        let scene = Scene::new(&store).await;
        assert_eq!(store.takes(scene.session).await.unwrap(), None);
        for takes in [Takes::ALL, Takes::default()] {
            store.set_takes(scene.session, takes).await.unwrap();
            assert_eq!(store.takes(scene.session).await.unwrap(), Some(takes));
        }
    })
    .await;
}
