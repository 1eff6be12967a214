//! A prompt as it came: the words, and what was sent along with them.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource};

/// What somebody says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    /// The words. What was sent along is not among them: a file does not direct this agent.
    pub(crate) words: String,
    /// What was sent along, a phrase for each.
    pub(crate) along: Vec<String>,
}

impl Prompt {
    pub(crate) fn read(blocks: Vec<ContentBlock>) -> Self {
        let mut texts = Vec::new();
        let mut along = Vec::new();
        for block in blocks {
            match block {
                ContentBlock::Text(text) => texts.push(text.text),
                ContentBlock::Image(image) => along.push(format!(
                    "an image ({}, {} bytes)",
                    image.mime_type,
                    decoded_length(&image.data)
                )),
                ContentBlock::ResourceLink(link) => {
                    along.push(format!("a link to `{}` ({})", link.name, link.uri));
                }
                ContentBlock::Resource(embedded) => along.push(match embedded.resource {
                    EmbeddedResourceResource::TextResourceContents(text) => {
                        format!("the text `{}` ({} bytes)", text.uri, text.text.len())
                    }
                    EmbeddedResourceResource::BlobResourceContents(blob) => {
                        format!(
                            "the file `{}` ({} bytes)",
                            blob.uri,
                            decoded_length(&blob.blob)
                        )
                    }
                    _ => "something unknown".to_owned(),
                }),
                ContentBlock::Audio(_) | _ => along.push("something unknown".to_owned()),
            }
        }
        Self {
            words: texts.join("\n"),
            along,
        }
    }

    /// What the agent says about what was sent along, if anything was.
    pub(crate) fn acknowledgement(&self) -> Option<String> {
        (!self.along.is_empty()).then(|| format!("You sent along {}.", self.along.join(", ")))
    }
}

/// How many bytes base 64 stands for.
fn decoded_length(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::{ImageContent, ResourceLink, TextContent};

    #[test]
    fn words_direct_and_what_comes_along_is_only_named() {
        let prompt = Prompt::read(vec![
            ContentBlock::Text(TextContent::new("SAY hello")),
            ContentBlock::Image(ImageContent::new("cG5nIQ==", "image/png")),
            ContentBlock::ResourceLink(ResourceLink::new("a.rs", "file:///a.rs")),
        ]);
        assert_eq!(prompt.words, "SAY hello");
        assert_eq!(
            prompt.acknowledgement().unwrap(),
            "You sent along an image (image/png, 4 bytes), a link to `a.rs` (file:///a.rs)."
        );
        assert_eq!(Prompt::default().acknowledgement(), None);
    }
}
