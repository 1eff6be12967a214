//! What comes along with the prompt of a job, as it is kept until the job is started.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_core::attachment::ImageType;
use serde_json::{Value, json};

use crate::attachments::AttachmentWish;

/// What is written down.
pub(super) fn to_json(wishes: &[AttachmentWish]) -> Value {
    wishes
        .iter()
        .map(|wish| match wish {
            AttachmentWish::File { path } => json!({ "kind": "file", "path": path }),
            AttachmentWish::Text { name, text } => {
                json!({ "kind": "text", "name": name, "text": text })
            }
            AttachmentWish::Image {
                name,
                image_type,
                bytes,
            } => json!({ "kind": "image", "name": name, "media_type": image_type.media_type(),
                         "data": BASE64_STANDARD.encode(bytes) }),
        })
        .collect()
}

/// Reads what [`to_json`] wrote; what cannot be read is left out.
pub(super) fn from_json(kept: &Value) -> Vec<AttachmentWish> {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let read = |value: &Value| match value["kind"].as_str()? {
        "file" => Some(AttachmentWish::File {
            path: text(value, "path")?,
        }),
        "text" => Some(AttachmentWish::Text {
            name: text(value, "name")?,
            text: text(value, "text")?,
        }),
        _ => Some(AttachmentWish::Image {
            name: text(value, "name"),
            image_type: ImageType::from_media_type(value["media_type"].as_str()?)?,
            bytes: BASE64_STANDARD.decode(value["data"].as_str()?).ok()?,
        }),
    };
    kept.as_array()
        .map(|kept| kept.iter().filter_map(read).collect())
        .unwrap_or_default()
}
