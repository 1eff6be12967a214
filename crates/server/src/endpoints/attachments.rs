//! What comes along with prompts: read from requests, and shown again to those who may read the session.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use countersign_api::NewAttachment;
use countersign_broker::AttachmentWish;
use countersign_core::attachment::{ImageType, LARGEST};
use countersign_core::id::AttachmentId;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};

use crate::auth::Admitted;
use crate::endpoints::refusals::{Missing, Refused};
use crate::error::ApiError;
use crate::extract::Id;
use crate::state::Server;

/// Whatever it is, it loads nothing, runs nothing, and is nobody's page.
const NOTHING_ELSE: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

/// Shows something that came along with a prompt: a picture as such, everything else as plain text to be saved.
#[utoipa::path(get, path = "/api/v1/attachments/{id}", tag = "sessions",
    params(("id" = AttachmentId, Path)),
    responses((status = 200, description = "The content", content(
        (Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/gif"), (Vec<u8> = "image/webp"),
        (String = "text/plain"))), Refused, Missing))]
pub(crate) async fn show_attachment(
    State(server): State<Arc<Server>>,
    admitted: Admitted,
    Id(id): Id<AttachmentId>,
) -> Result<Response, ApiError> {
    let attached = server.broker.attachment(&admitted.caller, id).await?;
    let bytes = attached.bytes.ok_or_else(|| {
        ApiError::not_found("only the name of this file was sent, not its content")
    })?;
    // What it was said to be is checked again: a browser must never be told to make a page of it.
    let said = attached.attachment.media_type.unwrap_or_default();
    let image = ImageType::from_media_type(&said)
        .filter(|image| ImageType::of_bytes(&bytes) == Some(*image));
    let (content_type, disposition) = match image {
        Some(image) => (image.media_type(), "inline"),
        None => ("text/plain; charset=utf-8", "attachment"),
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CONTENT_DISPOSITION, disposition),
        (CONTENT_SECURITY_POLICY, NOTHING_ELSE),
        (CACHE_CONTROL, "private, no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Reads what a request wants to send along.
pub(crate) fn wishes(attachments: Vec<NewAttachment>) -> Result<Vec<AttachmentWish>, ApiError> {
    attachments.into_iter().map(wish).collect()
}

fn wish(attachment: NewAttachment) -> Result<AttachmentWish, ApiError> {
    let invalid = |problem: &str| ApiError::invalid("attachments", problem);
    Ok(match attachment {
        NewAttachment::File { path } => AttachmentWish::File { path },
        NewAttachment::Text { name, text } => AttachmentWish::Text { name, text },
        NewAttachment::Image {
            name,
            media_type,
            data,
        } => AttachmentWish::Image {
            name,
            image_type: ImageType::from_media_type(&media_type).ok_or_else(|| {
                invalid("have an image of a kind that is not taken: png, jpeg, gif and webp are")
            })?,
            bytes: decode(&data).ok_or_else(|| {
                invalid("have an image whose `data` is not base 64, or larger than 5 MiB")
            })?,
        },
    })
}

/// The bytes of an image; nothing if they are none, or too many to be worth the memory.
fn decode(data: &str) -> Option<Vec<u8>> {
    let longest = LARGEST.div_ceil(3) * 4;
    let data = Some(data).filter(|data| data.len() <= longest)?;
    BASE64_STANDARD.decode(data).ok()
}
