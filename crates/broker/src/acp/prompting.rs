//! What an agent is told in a prompt: the words, and what came along with them in a form that it takes.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_core::attachment::{Attachment, AttachmentKind, ImageType, Takes};
use countersign_core::session::{Item, Turn};
use countersign_engine::acp::initialize::{Ability, AgentDescription};
use countersign_engine::acp::session::PromptPart;
use countersign_engine::address::file_address;
use countersign_store::{Attached, StoreError};

use crate::acp::driver::Driver;
use crate::attachments::in_words;

/// What an agent takes along with a prompt, by what it says about itself.
pub(super) fn takes(description: &AgentDescription) -> Takes {
    Takes {
        images: description.can(Ability::Images),
        content: description.can(Ability::EmbeddedContext),
    }
}

impl Driver {
    /// Puts what came along with a turn into the transcript, and returns what the agent is told; in the error stands
    /// why it cannot be told that.
    pub(super) async fn tell_of(
        &mut self,
        turn: &Turn,
    ) -> Result<Result<Vec<PromptPart>, String>, StoreError> {
        let attached = self.shared().store.attachments(turn.id).await?;
        let keys = (1..).map(|place| format!("{}/attachment/{place}", turn.id));
        for (key, Attached { attachment, .. }) in keys.zip(&attached) {
            let attachment = attachment.clone();
            self.page()
                .put(&key, &Item::Attachment { attachment })
                .await?;
        }
        let mut parts = vec![PromptPart::Text(turn.prompt.clone())];
        for one in attached {
            let Some(pieces) = pieces(one, self.takes, &self.session.directory) else {
                let agent = &self.agent.title;
                return Ok(Err(format!(
                    "an image came along with the prompt, and {agent} takes no images any more"
                )));
            };
            parts.extend(pieces);
        }
        Ok(Ok(parts))
    }
}

/// One attachment as pieces of a prompt; nothing if the agent does not take it in any form.
fn pieces(attached: Attached, takes: Takes, directory: &str) -> Option<Vec<PromptPart>> {
    let Attached { attachment, bytes } = attached;
    let bytes = bytes.unwrap_or_default();
    let picture = |attachment: &Attachment| {
        let media_type = attachment.media_type.clone();
        let media_type = media_type.filter(|it| ImageType::from_media_type(it).is_some())?;
        takes.images.then(|| PromptPart::Image {
            base64: BASE64_STANDARD.encode(&bytes),
            media_type,
        })
    };
    let embedded = |uri: String, text: String| PromptPart::EmbeddedText {
        uri,
        media_type: attachment.media_type.clone(),
        text,
    };
    let text = || String::from_utf8(bytes.clone()).ok();
    Some(match attachment.kind {
        AttachmentKind::Image => vec![picture(&attachment)?],
        AttachmentKind::Text => {
            let text = text()?;
            vec![if takes.content {
                // It has no place where the agent could look.
                let name = attachment.name.trim_start_matches('/');
                embedded(
                    file_address(&format!("/{name}")).replacen("file", "attachment", 1),
                    text,
                )
            } else {
                PromptPart::Text(in_words(&attachment, &text))
            }]
        }
        AttachmentKind::File => {
            let uri = file_address(&format!("{directory}/{}", attachment.name));
            let link = PromptPart::Link {
                name: attachment.name.clone(),
                uri: uri.clone(),
            };
            if !attachment.kept {
                vec![link]
            } else if let Some(picture) = picture(&attachment) {
                vec![link, picture]
            } else {
                match text().filter(|_| takes.content) {
                    Some(text) => vec![embedded(uri, text)],
                    // An agent that takes less than the one before it can still look itself.
                    None => vec![link],
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_core::id::AttachmentId;
    use countersign_core::time::Timestamp;

    fn attached(kind: AttachmentKind, media_type: Option<&str>, bytes: Option<&[u8]>) -> Attached {
        Attached {
            attachment: Attachment {
                id: AttachmentId::generate(Timestamp::from_micros(0)),
                kind,
                name: "notes/a b.md".to_owned(),
                media_type: media_type.map(str::to_owned),
                size: 1,
                kept: bytes.is_some(),
            },
            bytes: bytes.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn a_file_is_embedded_for_who_takes_content_and_pointed_at_for_who_does_not() {
        let kept = || attached(AttachmentKind::File, Some("text/plain"), Some(b"text"));
        let link = vec![PromptPart::Link {
            name: "notes/a b.md".to_owned(),
            uri: "file:///srv/notes/a%20b.md".to_owned(),
        }];
        assert_eq!(
            pieces(kept(), Takes::ALL, "/srv").unwrap(),
            [PromptPart::EmbeddedText {
                uri: "file:///srv/notes/a%20b.md".to_owned(),
                media_type: Some("text/plain".to_owned()),
                text: "text".to_owned(),
            }]
        );
        assert_eq!(pieces(kept(), Takes::default(), "/srv").unwrap(), link);
        let pointed_at = attached(AttachmentKind::File, None, None);
        assert_eq!(pieces(pointed_at, Takes::ALL, "/srv").unwrap(), link);
        let picture = attached(AttachmentKind::File, Some("image/png"), Some(b"png"));
        let pieces = pieces(picture, Takes::ALL, "/srv").unwrap();
        assert_eq!(pieces[..1], link);
        assert!(matches!(&pieces[1], PromptPart::Image { base64, .. } if base64 == "cG5n"));
    }

    #[test]
    fn a_text_is_embedded_or_said_in_tags() {
        let text = || attached(AttachmentKind::Text, Some("text/plain"), Some(b"RUN rm"));
        assert!(matches!(
            &pieces(text(), Takes::ALL, "/srv").unwrap()[..],
            [PromptPart::EmbeddedText { uri, .. }] if uri == "attachment:///notes/a%20b.md"
        ));
        assert_eq!(
            pieces(text(), Takes::default(), "/srv").unwrap(),
            [PromptPart::Text(
                "<attached_text name=\"notes/a b.md\">\nRUN rm\n</attached_text>".to_owned()
            )]
        );
    }

    #[test]
    fn an_image_is_never_sent_to_who_takes_none() {
        let image = || attached(AttachmentKind::Image, Some("image/png"), Some(b"png"));
        assert_eq!(pieces(image(), Takes::default(), "/srv"), None);
        assert!(pieces(image(), Takes::ALL, "/srv").is_some());
    }
}
